//! Widths of text on a terminal: CJK characters take two columns, combining marks none.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// A cut text has at most this many characters for each column. A client may send any number of combining marks.
const CHARS_A_COLUMN: usize = 4;

/// Returns the maximum number of columns that a text can take.
pub(crate) fn width(text: &str) -> usize {
    // On some terminals, a sequence of characters (such as a flag emoji) takes fewer columns than its parts.
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Returns the number of bytes of a text that fit into `room` columns.
pub(crate) fn fitting(text: &str, room: usize) -> usize {
    let (mut used, mut bytes) = (0, 0);
    for c in text.chars().take(room.saturating_mul(CHARS_A_COLUMN)) {
        used += char_width(c);
        if used > room {
            break;
        }
        bytes += c.len_utf8();
    }
    bytes
}

/// Returns the byte offset at which the last `room` columns of a text begin.
fn fitting_end(text: &str, room: usize) -> usize {
    let (mut used, mut at) = (0, text.len());
    for (start, c) in text.char_indices().rev().take(room.saturating_mul(CHARS_A_COLUMN)) {
        used += char_width(c);
        if used > room {
            break;
        }
        // A combining mark stays with its character.
        if char_width(c) > 0 {
            at = start;
        }
    }
    at
}

/// Cuts a text to `room` columns. A cut text ends with `…`.
pub(crate) fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if fitting(text, room) == text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..fitting(text, room.saturating_sub(1))]))
}

/// Cuts a text in the middle to `room` columns, with `…` at the cut. The part before the cut gets `tenths` tenths of
/// the room.
pub(crate) fn cut_middle(text: &str, room: usize, tenths: usize) -> Cow<'_, str> {
    if fitting(text, room) == text.len() {
        return Cow::Borrowed(text);
    }
    let columns = room.saturating_sub(1);
    let begin = &text[..fitting(text, columns * tenths / 10)];
    let end = &text[fitting_end(text, columns - width(begin))..];
    Cow::Owned(format!("{begin}…{end}"))
}

/// Appends spaces to a text until it fills `columns`.
pub(crate) fn left_aligned(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Puts spaces before a text until it fills `columns`.
pub(crate) fn right_aligned(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_counts_terminal_columns() {
        assert_eq!([width("abc"), width("日本"), width("e\u{301}"), width("…")], [3, 4, 1, 1]);
        assert_eq!([left_aligned("日本", 6), right_aligned("日本", 6)], ["日本  ", "  日本"]);
        assert_eq!(left_aligned("abcdef", 4), "abcdef");
    }

    #[test]
    fn cut_keeps_text_within_its_columns() {
        assert_eq!([cut("abcdef", 4), cut("abcd", 4), cut("日本語", 4)], ["abc…", "abcd", "日…"]);
        assert_eq!([cut_middle("abcdefgh", 6, 7), cut_middle("abc", 3, 7)], ["abc…gh", "abc"]);
        assert_eq!(cut_middle("日本語の名前です", 9, 5), "日本…です");
        assert_eq!(cut_middle("abcdefge\u{301}", 6, 7), "abc…ge\u{301}");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn cut_bounds_combining_marks() {
        let marks = format!("a{}", "\u{301}".repeat(1_000_000));
        assert!(cut(&marks, 10).chars().count() <= 41 && cut_middle(&marks, 10, 7).chars().count() <= 81);
    }
}
