//! Texts in the columns of a terminal: CJK characters take two, combining marks none.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// A cut text keeps at most so many characters a column: a client may send combining marks without end.
const CHARS_A_COLUMN: usize = 4;

/// The columns that a text takes at most.
#[must_use]
pub fn width(text: &str) -> usize {
    // Sequences of characters, such as a flag's, take fewer columns than their parts. Terminals differ on them.
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// How many bytes of a text fit into so many columns.
#[must_use]
pub fn fitting(text: &str, room: usize) -> usize {
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

/// Where the end of a text begins that fits into so many columns.
fn fitting_end(text: &str, room: usize) -> usize {
    let (mut used, mut at) = (0, text.len());
    for (start, c) in text.char_indices().rev().take(room.saturating_mul(CHARS_A_COLUMN)) {
        used += char_width(c);
        if used > room {
            break;
        }
        // A mark stays with its character.
        if char_width(c) > 0 {
            at = start;
        }
    }
    at
}

/// A text cut to so many columns, the last one then being `…`.
#[must_use]
pub fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if fitting(text, room) == text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..fitting(text, room.saturating_sub(1))]))
}

/// A text cut in its middle to so many columns, with `…` there. Of what is left, so many tenths are its begin.
#[must_use]
pub fn cut_middle(text: &str, room: usize, tenths: usize) -> Cow<'_, str> {
    if fitting(text, room) == text.len() {
        return Cow::Borrowed(text);
    }
    let kept = room.saturating_sub(1);
    let begin = &text[..fitting(text, kept * tenths / 10)];
    let end = &text[fitting_end(text, kept - width(begin))..];
    Cow::Owned(format!("{begin}…{end}"))
}

/// A text with blanks behind it, so that it takes so many columns.
#[must_use]
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A text with blanks before it, so that it takes so many columns.
#[must_use]
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_a_terminal() {
        assert_eq!([width("abc"), width("日本"), width("e\u{301}"), width("…")], [3, 4, 1, 1]);
        assert_eq!([left("日本", 6), right("日本", 6)], ["日本  ", "  日本"]);
        assert_eq!(left("abcdef", 4), "abcdef");
    }

    #[test]
    fn texts_are_cut_to_columns() {
        assert_eq!([cut("abcdef", 4), cut("abcd", 4), cut("日本語", 4)], ["abc…", "abcd", "日…"]);
        assert_eq!([cut_middle("abcdefgh", 6, 7), cut_middle("abc", 3, 7)], ["abc…gh", "abc"]);
        assert_eq!(cut_middle("日本語の名前です", 9, 5), "日本…です");
        assert_eq!(cut_middle("abcdefge\u{301}", 6, 7), "abc…ge\u{301}");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn marks_without_end_are_cut() {
        let marks = format!("a{}", "\u{301}".repeat(1_000_000));
        assert!(cut(&marks, 10).chars().count() <= 41 && cut_middle(&marks, 10, 7).chars().count() <= 81);
    }
}
