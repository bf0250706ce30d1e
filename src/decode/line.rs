//! One audit event to a line: the file backend's own form.
//!
//! Source: k8s.io/apiserver `plugin/pkg/audit/log/backend.go`, format `json`.

use super::skip::SkipReason;
use crate::k8s::Event;

/// A line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number of the line in its source, from 1.
    pub number: u64,
    /// Offset of the line in its source's decompressed stream.
    pub offset: u64,
    /// The line without its line feed.
    pub bytes: &'a [u8],
}

/// The lines of a block.
pub fn lines(bytes: &[u8], first_line: u64, offset: u64) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    let mut number = first_line;
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let rest = &bytes[start..];
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = Line { number, offset: offset + start as u64, bytes: &rest[..length] };
        start += length + 1;
        number += 1;
        Some(line)
    })
}

/// Decodes a line.
///
/// NUL bytes around the line (a file system's filling after a crash) and a byte order mark are passed over.
///
/// # Errors
/// The reason why the line is no event.
pub fn decode(line: &[u8]) -> Result<Event<'_>, SkipReason> {
    let line = trim(line);
    if line.is_empty() {
        return Err(SkipReason::Blank);
    }
    // Checked once for the whole line, and faster than serde_json does it string by string.
    let text = simdutf8::basic::from_utf8(line).map_err(|_| SkipReason::NotUtf8)?;
    let event: Event<'_> = serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => SkipReason::Truncated,
        serde_json::error::Category::Data => SkipReason::WrongType,
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => SkipReason::NotJson,
    })?;
    if is_audit_event(&event) { Ok(event) } else { Err(SkipReason::NotAnEvent) }
}

fn is_audit_event(event: &Event<'_>) -> bool {
    // Some exporters drop kind and apiVersion; a stage and an audit ID no other log has.
    matches!(&*event.kind, "Event" | "")
        && (event.api_version.is_empty() || event.api_version.starts_with("audit.k8s.io/"))
        && !event.audit_id.is_empty()
        && event.stage().is_some()
}

fn trim(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let filler = |b: &u8| *b == 0 || b.is_ascii_whitespace();
    let start = line.iter().position(|b| !filler(b)).unwrap_or(line.len());
    let end = line.iter().rposition(|b| !filler(b)).map_or(start, |at| at + 1);
    &line[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"Panic"}"#;

    #[test]
    fn reads_an_event_with_filling_around_it() {
        for line in [EVENT.to_owned(), format!("\u{feff}{EVENT}\r"), format!("\0\0\0{EVENT}  \0")] {
            assert_eq!(&*decode(line.as_bytes()).expect("an event").audit_id, "a");
        }
    }

    #[test]
    fn says_why_a_line_is_no_event() {
        let deep = format!("{{\"x\":{}", "[".repeat(10_000));
        for (line, reason) in [
            ("", SkipReason::Blank),
            (" \0\r", SkipReason::Blank),
            ("hello", SkipReason::NotJson),
            ("{\"auditID\":\"a", SkipReason::Truncated),
            (&deep, SkipReason::Truncated),
            (r#"{"auditID":1,"stage":"Panic"}"#, SkipReason::WrongType),
            (r#"{"auditID":"a","auditID":"a","stage":"Panic"}"#, SkipReason::WrongType),
            ("[]", SkipReason::NotAnEvent),
            ("7", SkipReason::WrongType),
            (r#"{"level":"info","msg":"x"}"#, SkipReason::NotAnEvent),
            (r#"{"kind":"Event","apiVersion":"v1","auditID":"a","stage":"Panic"}"#, SkipReason::NotAnEvent),
            (r#"{"kind":"Pod","auditID":"a","stage":"Panic"}"#, SkipReason::NotAnEvent),
            (r#"{"auditID":"a","stage":"Other"}"#, SkipReason::NotAnEvent),
        ] {
            assert_eq!(decode(line.as_bytes()).err(), Some(reason), "{line:.40}");
        }
    }

    #[test]
    fn lines_know_where_they_are() {
        let found: Vec<_> = lines(b"a\n\nbc", 5, 100).map(|l| (l.number, l.offset, l.bytes)).collect();
        assert_eq!(found, [(5, 100, b"a".as_slice()), (6, 102, b""), (7, 103, b"bc")]);
    }
}
