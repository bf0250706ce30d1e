//! Finds whole values in damaged text, and the gaps between them.

use super::context::{OutcomeSink, TextContext};
use crate::decode::skip::SkipReason;

/// Which objects of a text may be events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pieces {
    Any,
    /// Only elements of arrays, because the text itself is valid JSON.
    Elements,
}

/// Returns where a JSON value with this brace may begin: at the brace, or at the quote before it if the value is a
/// string. Returns `None` if no event can begin here.
pub(super) fn start_of(text: &str, brace: usize, pieces: Pieces) -> Option<usize> {
    let (before, behind) = (&text.as_bytes()[..brace], &text.as_bytes()[brace + 1..]);
    let is_element = |before: &[u8]| matches!(before.trim_ascii_end().last(), Some(b'[' | b','));
    match behind.first()? {
        b'\\' => {
            let before = before.strip_suffix(b"\"")?;
            is_element(before).then_some(before.len())
        }
        b'"' | b' ' | b'\n' | b'\r' | b'\t' => {
            let is_wanted = pieces == Pieces::Any || is_element(before);
            (is_wanted && behind.trim_ascii_start().first() == Some(&b'"')).then_some(brace)
        }
        _ => None,
    }
}

/// How many bytes `serde_json` parsed before the error.
pub(super) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let mut feeds = memchr::memchr_iter(b'\n', text.as_bytes());
    let line = match error.line() {
        0 | 1 => 0,
        line => feeds.nth(line - 2).map_or(text.len(), |feed| feed + 1),
    };
    line + error.column()
}

/// The text between the events that were found.
pub(super) struct Gaps<'t> {
    pub(crate) text: &'t str,
    /// The end of the last event.
    pub(crate) end: usize,
    pub(crate) lost: Vec<&'t str>,
}

impl<'t> Gaps<'t> {
    pub(crate) fn piece(&mut self, start: usize, end: usize) {
        self.gap(&self.text[self.end..start]);
        self.end = end;
    }

    /// Adds a gap, unless it holds only separators of elements.
    fn gap(&mut self, text: &'t str) {
        if !text.bytes().all(|byte| byte.is_ascii_whitespace() || b",[]{}".contains(&byte)) {
            self.lost.push(text);
        }
    }

    /// Reports the gaps as skipped. The text after the last event is a gap too. If all gaps hold only separators, it
    /// still reports the text after the last event. So the report always counts the damage.
    pub(crate) fn give(mut self, reason: SkipReason, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let rest = &self.text[self.end..];
        self.gap(rest);
        if self.lost.is_empty() {
            self.lost.push(rest);
        }
        if context.string.is_none() {
            self.lost.iter().for_each(|gap| context.skip(reason, gap, out));
        } else {
            context.skip_some(reason, self.lost.iter().map(|gap| gap.len()).sum(), out);
        }
    }
}

/// Removes the escapes of a JSON string. Invalid escapes become U+FFFD.
pub(super) fn unescaped_as_far_as_possible(raw: &str) -> String {
    let body = raw.strip_prefix('"').unwrap_or(raw);
    let body = body.strip_suffix('"').unwrap_or(body);
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(backslash) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..backslash]);
        let escaped = rest[backslash + 1..].chars().next();
        let length = if escaped == Some('u') { 6 } else { 1 + escaped.map_or(0, char::len_utf8) };
        let escape = rest.get(backslash..backslash + length).unwrap_or(&rest[backslash..=backslash]);
        // serde_json also rejects half of a surrogate pair.
        let character: Option<char> = serde_json::from_str(&format!("\"{escape}\"")).ok();
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[backslash + escape.len()..];
    }
    text + rest
}

/// The offset in `text` at which its slice `part` ends.
pub(super) fn end_of(part: &str, text: &str) -> usize {
    (part.as_ptr().addr() - text.as_ptr().addr()) + part.len()
}
