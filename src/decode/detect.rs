//! Detects from a stream's first bytes how the stream divides into records.

use super::envelope::{Envelope, Property, json, yaml};
use super::klog;
use super::outcome::Layers;
use super::unfinished_lines::ends_unfinished;
use crate::input::Framing;

/// The framing is detected from at most this many bytes at the start of a stream. For example, they are searched for
/// a whole JSON line.
const MAX_LINE_SEARCH: usize = 4 << 20;
/// The maximum number of bytes that are searched for array elements in a text without a line feed.
const MAX_ARRAY_SEARCH: usize = 1 << 20;
/// The number of lines that are checked to detect pretty-printed JSON. The lines that look like JSON must be more
/// than `PRETTY_MIN_RATIO` times the other lines.
const PRETTY_LINES: usize = 32;
const PRETTY_MIN_RATIO: usize = 4;

/// Detects the framing from the first bytes. The framing is lines, unless these bytes show records that are not
/// lines.
#[must_use]
pub fn framing(start: &[u8]) -> Framing {
    let start = &start[..start.len().min(MAX_LINE_SEARCH)];
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let text = text.trim_ascii_start();
    match text.first() {
        Some(b'[') if is_array(text) => Framing::Json,
        Some(_) if has_complete_line(text) => lines(),
        Some(b'{') if is_object(text) => Framing::Json,
        // The keys of a YAML log are in its first kilobytes.
        Some(_) if yaml::is_yaml(&String::from_utf8_lossy(&text[..text.len().min(64 << 10)])) => {
            Framing::Yaml
        }
        Some(_) if is_json_with_damaged_start(text) => Framing::Json,
        _ => lines(),
    }
}

/// Returns a function that detects the framing from the first bytes, if the user requires this input format.
pub fn framing_of(format: Option<Layers>) -> impl Fn(&[u8]) -> Framing + Clone {
    move |start| match format.and_then(|layers| layers.iter().next()) {
        Some(envelope) if envelope.has(Property::Documents) => Framing::Json,
        Some(Envelope::Yaml) => Framing::Yaml,
        _ => framing(start),
    }
}

fn lines() -> Framing {
    Framing::Joined(may_cut)
}

/// Whether one of the text's lines is a complete JSON object. This is false if documents span several lines, or
/// follow each other without line feeds.
fn has_complete_line(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")).take(64).any(|line| {
        let Ok(line) = std::str::from_utf8(line) else { return true };
        let mut values = json::values(line);
        matches!(values.next(), Some(Ok(value)) if value.get().len() > 2) && values.next().is_none()
    })
}

/// Whether a text that begins with `[` is a JSON array of objects, strings or arrays. Other texts also begin with
/// `[`: trace steps (`[1.5s] [1.5s] END`), program names in brackets, and lines with a damaged first byte.
fn is_array(text: &[u8]) -> bool {
    let inside = text[1..].trim_ascii_start();
    match inside.first() {
        Some(b'"') => !begins_with_key(inside),
        Some(b'{') => is_object(inside),
        None | Some(b'[' | b']') => true,
        _ => false,
    }
}

/// Whether a text that begins with `{` is an object. Otherwise it is a line whose first byte is damaged.
fn is_object(text: &[u8]) -> bool {
    matches!(text[1..].trim_ascii_start().first(), None | Some(b'"' | b'}'))
}

/// Whether a text begins with an object key and a colon.
fn begins_with_key(text: &[u8]) -> bool {
    let key = text.strip_prefix(b"\"").and_then(|text| Some(&text[memchr::memchr(b'"', text)? + 1..]));
    key.is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
}

/// Whether a text is JSON with a damaged start, and does not have one document per line. Such a text is
/// pretty-printed, or it is one line that is longer than the lines of any other format.
fn is_json_with_damaged_start(text: &[u8]) -> bool {
    let Some(feed) = memchr::memchr(b'\n', text) else {
        return text.len() >= MAX_LINE_SEARCH
            && memchr::memmem::find(&text[..MAX_ARRAY_SEARCH], b"},{\"").is_some();
    };
    let lines = text[feed + 1..].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty()).take(PRETTY_LINES);
    let is_part = |line: &[u8]| match line {
        [b'{' | b'}' | b'[' | b']', rest @ ..] => matches!(rest, b"" | b"," | b"}" | b"]" | b"}," | b"],"),
        [b'"', ..] if line.ends_with(b"\"") || line.ends_with(b"\",") => !line.contains(&b'\\'),
        _ => begins_with_key(line),
    };
    let (parts, others): (Vec<&[u8]>, Vec<&[u8]>) = lines.partition(|line| is_part(line));
    parts.len() > PRETTY_MIN_RATIO * others.len().max(1)
}

/// Whether a block may end between two lines. A block must contain all parts of a container line, and both access
/// lines of a request.
fn may_cut(before: &[u8], after: &[u8]) -> bool {
    let body = before.strip_suffix(b"\n").unwrap_or(before);
    let last = &body[memchr::memrchr(b'\n', body).map_or(0, |at| at + 1)..];
    !ends_unfinished(body) && !is_second(last, after)
}

/// Whether the next line is the second access line of the request in the last line. In recorded logs, servers of 1.25
/// to 1.33 write two access lines for each request.
fn is_second(last: &[u8], after: &[u8]) -> bool {
    let Some(id) = klog::audit_id(last) else { return false };
    match memchr::memchr(b'\n', after) {
        Some(end) => klog::audit_id(&after[..end]) == Some(id),
        // The next line is not read yet, so it could be the second one.
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> &'static str {
        framing(text.as_bytes()).as_str()
    }

    #[test]
    fn framing_is_lines_unless_impossible() {
        for lines in [
            "",
            "{\"a\":1}\n{\"b\":2}\n",
            "{\"a\": \"torn\n{\"b\":2}\n",
            "\":\"torn\"}\n{\"b\":2}\n",
            "\u{feff}{\"a\":1}",
            "[1.5s] [1.5s] END\n",
            "2026-01-01T00:00:00Z stdout F {\"a\":1}\n",
            "I0101 00:00:00.000000 1 x.go:1] y\n",
            "{\"a\":1} \r\n{\"b\":2}",
        ] {
            assert_eq!(detected(lines), "lines", "{lines}");
        }
        for json in [
            "{\n  \"a\": 1\n}\n",
            "{\"a\":1}{\"b\":2}",
            "[\n{\"a\":1},\n{\"b\":2}\n]",
            "[{\"a\":1}]",
            "[]",
            "{\"a\":{},\"b\":",
        ] {
            assert_eq!(detected(json), "json", "{json}");
        }
        assert_eq!(detected("---\nkind: Event\nauditID: a\n"), "yaml");
    }

    #[test]
    fn blocks_do_not_separate_related_lines() {
        let cut = |before: &str, after: &str| may_cut(before.as_bytes(), after.as_bytes());
        let cri = |stream: &str, tag: &str| format!("2026-01-01T00:00:00Z {stream} {tag} x\n");
        assert!(cut(&cri("stdout", "F"), ""));
        assert!(!cut(&cri("stdout", "P"), ""));
        assert!(!cut(&[cri("stdout", "P"), cri("stderr", "F")].concat(), ""));
        assert!(cut(&[cri("stdout", "P"), cri("stdout", "F"), cri("stderr", "F")].concat(), ""));
        let http = |id: &str| {
            format!(
                "I1120 20:35:54.665582 1 httplog.go:1] \"HTTP\" verb=\"GET\" URI=\"/\" audit-ID=\"{id}\" resp=200\n"
            )
        };
        assert!(!cut(&http("a"), &http("a")));
        assert!(!cut(&http("a"), &http("a")[..20]));
        assert!(cut(&http("a"), &http("b")));
        let docker = |id: &str| format!("{}\n", serde_json::json!({ "log": http(id), "stream": "stderr" }));
        assert!(!cut(&docker("a"), &docker("a")) && cut(&docker("a"), &docker("b")));
        let json = |id: &str| format!("{{\"ts\":1,\"msg\":\"HTTP\",\"audit-ID\":\"{id}\"}}\n");
        assert!(!cut(&json("a"), &json("a")) && cut(&json("a"), &json("b")));
        assert!(cut("{\"log\":\"x\\n\",\"stream\":\"stdout\"}\n", ""));
        assert!(cut(&[cri("stdout", "P"), "{}\n".to_owned()].concat(), ""));
        assert!(!cut(&format!("{{\"log\":\"{}\",\"stream\":\"stdout\"}}\n", "x".repeat(16384)), ""));
    }
}
