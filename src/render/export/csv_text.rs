//! Makes text from clients safe to open in a spreadsheet.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::k8s::secrets::{masked, may_hold};
use crate::render::escape::{escaped, without_marks};

/// Some readers start a new cell or line at these characters. For example, the separator of a reader may be `;`, not
/// the comma.
const BREAKS: [char; 4] = [';', '\t', '\r', '\n'];

/// Makes a text safe for a CSV cell. A `'` before a possible formula stops a spreadsheet from running it. Control
/// characters become escapes, except for tabs and line breaks. The CSV writer adds the quotes.
///
/// Source: OWASP, "CSV Injection".
pub(super) fn harden(text: &str) -> Cow<'_, str> {
    if is_harmless(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 1);
    // Mask secrets before splitting, because a secret may contain a separator.
    let masked = masked(text);
    let text = &*masked;
    if text.starts_with(['\t', '\r', '\n']) {
        out.push('\'');
    }
    let mut is_first_line = true;
    for part in text.split_inclusive(BREAKS) {
        // A CI runner reads a command at the start of any line, even inside a quoted cell.
        let is_command = !is_first_line && part.trim_start().starts_with("::");
        if part.starts_with(begins_formula) || is_command {
            out.push('\'');
        }
        is_first_line &= !part.ends_with(['\r', '\n']);
        let body = part.trim_end_matches(BREAKS);
        out.push_str(&without_marks(&escaped(body)));
        out.push_str(&part[body.len()..]);
    }
    Cow::Owned(out)
}

/// Whether a text surely needs no change. This fast check of bytes is true for nearly all cells. It searches for `;`
/// only. The other characters of [`BREAKS`] are not printable ASCII, so a text with one of them is not harmless.
fn is_harmless(text: &str) -> bool {
    let is_printable_ascii = text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    let is_begun = |at: usize| text[at..].starts_with(begins_formula);
    is_printable_ascii
        && !may_hold(text)
        && !text.contains("##")
        && !is_begun(0)
        && !memchr_iter(b';', text.as_bytes()).any(|at| is_begun(at + 1))
}

/// Whether a character begins a formula. Some spreadsheets also accept the full-width forms.
fn begins_formula(c: char) -> bool {
    matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formula_signs_get_a_quote() {
        for (text, cell) in [
            ("=cmd()", "'=cmd()"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t'=1"),
            ("\r=1", "'\r'=1"),
            ("\n=1", "'\n'=1"),
            ("＝cmd()", "'＝cmd()"),
            ("'=1", "'=1"),
        ] {
            assert_eq!(harden(text), cell, "{text:?}");
        }
    }

    #[test]
    fn formula_signs_after_other_separators_get_a_quote() {
        assert_eq!(harden("/a?b;=cmd()"), "/a?b;'=cmd()");
        assert_eq!(harden("a\r\n=1\t@x;;-1"), "a\r\n'=1\t'@x;;'-1");
    }

    #[test]
    fn control_characters_are_escaped_and_other_text_is_kept() {
        assert_eq!(harden("\u{1b}[31m\u{202e}\0"), "\\u{1b}[31m\\u{202e}\\u{0}");
        for text in
            ["", ";", "/api/v1/pods?limit=500&a=-1", "größer, \"so\"\nund \tso", "system:node:*", "a; b"]
        {
            assert_eq!(harden(text), text);
        }
    }
}
