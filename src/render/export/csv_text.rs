//! Text that clients sent, made harmless for a spreadsheet.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::k8s::secrets::{masked, may_hold};
use crate::render::escape::{escaped, without_marks};

/// Where a cell begins for a reader that was told another separator than the comma, beside the cell's own start.
const BREAKS: [char; 4] = [';', '\t', '\r', '\n'];

/// Text as it is put into a CSV cell: what a spreadsheet would take for a formula gets a `'` before it, control
/// characters are shown as escapes. Tabs and line breaks stay; quoting is left to the writer.
///
/// Source: OWASP, "CSV Injection".
pub(super) fn harden(text: &str) -> Cow<'_, str> {
    if is_harmless(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 1);
    // A value may go on behind a break.
    let masked = masked(text);
    let text = &*masked;
    if text.starts_with(['\t', '\r', '\n']) {
        out.push('\'');
    }
    let mut is_first_line = true;
    for part in text.split_inclusive(BREAKS) {
        // Behind a line break in quotes, a job's runner takes a command for one.
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

/// Whether a look at the bytes alone shows that nothing is to be done, as for nearly all of a million cells. Of the
/// breaks, printable ASCII holds the one.
fn is_harmless(text: &str) -> bool {
    let is_printable_ascii = text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    let is_begun = |at: usize| text[at..].starts_with(begins_formula);
    is_printable_ascii
        && !may_hold(text)
        && !text.contains("##")
        && !is_begun(0)
        && !memchr_iter(b';', text.as_bytes()).any(|at| is_begun(at + 1))
}

/// The signs and their full-width twins, which some spreadsheets take for them.
fn begins_formula(c: char) -> bool {
    matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_a_formula() {
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
    fn nor_does_it_for_a_reader_with_another_separator() {
        assert_eq!(harden("/a?b;=cmd()"), "/a?b;'=cmd()");
        assert_eq!(harden("a\r\n=1\t@x;;-1"), "a\r\n'=1\t'@x;;'-1");
    }

    #[test]
    fn control_characters_are_seen_and_the_rest_is_kept() {
        assert_eq!(harden("\u{1b}[31m\u{202e}\0"), "\\u{1b}[31m\\u{202e}\\u{0}");
        for text in
            ["", ";", "/api/v1/pods?limit=500&a=-1", "größer, \"so\"\nund \tso", "system:node:*", "a; b"]
        {
            assert_eq!(harden(text), text);
        }
    }
}
