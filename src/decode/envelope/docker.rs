//! docker's `json-file` driver: the container's output in `log`, in parts of 16 KiB.
//!
//! Source: moby `daemon/logger/jsonfilelog` and `daemon/logger/copier.go:defaultBufSize`.

use super::content::{Content, Inner, JsonObject};
use crate::decode::envelope_keys::{is_string, plain, timestamp};

/// The length at which docker cuts a line, in bytes.
const PART: usize = 16 << 10;

/// Returns a line of a container's output, or a part of one.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let keys = object.keys;
    // An object with `kubernetes` is from a collector, which keeps docker's fields and adds its own.
    if keys.kubernetes.is_some() {
        return None;
    }
    let value = keys.log.filter(|log| is_string(log))?;
    let stream = usize::from(plain(keys.stream?)? == "stderr");
    let inner = Inner { value, time: timestamp(keys.time) };
    keys.time?;
    Some(Content::Line { inner, stream })
}

/// Whether a text is an unfinished line, which the stream's next record continues.
#[must_use]
pub(crate) fn is_unfinished(text: &str) -> bool {
    // If docker cuts inside a character, each broken byte becomes a replacement character of three bytes. So the
    // length may differ from `PART`.
    text.len() >= PART - 3 && !text.ends_with('\n')
}

/// Parses only the start and the end of a raw line: the stream, and whether the line is unfinished.
#[must_use]
pub(crate) fn part_of(line: &[u8]) -> Option<(usize, bool)> {
    const STREAM: &[u8] = b"\",\"stream\":\"";
    if !line.starts_with(b"{\"log\":\"") {
        return None;
    }
    let end = memchr::memmem::rfind(line, STREAM)?;
    let stream = usize::from(line[end + STREAM.len()..].starts_with(b"stderr"));
    Some((stream, end >= PART - 3 && !line[..end].ends_with(b"\\n")))
}
