//! Log files of CRI container runtimes: `<RFC 3339> stdout F <line>`. The tag `P` marks a part that the next part
//! continues.
//!
//! Source: kubernetes/design-proposals-archive `node/kubelet-cri-logging.md`.

use super::line::{CriLine, Prefixed, Stripped, TextLine};

/// Parses a line.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let (time, rest) = line.dated?;
    let (stream, rest) = match rest.strip_prefix("stdout ") {
        Some(rest) => (0, rest),
        None => (1, rest.strip_prefix("stderr ")?),
    };
    let (tags, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    // More tags may follow the first one, separated by colons.
    let is_unfinished = match tags.split(':').next() {
        Some("P") => true,
        Some("F") => false,
        _ => return None,
    };
    Some(Prefixed::Cri(CriLine { text: Stripped { rest, time: Some(time) }, stream, is_unfinished }))
}

/// Parses a line that is not UTF-8 because it was cut inside a character. Returns the stream, whether the line is
/// unfinished, and its text.
#[must_use]
pub(crate) fn torn_part(line: &[u8]) -> Option<(usize, bool, &[u8])> {
    let (stream, is_unfinished) = part_of(line)?;
    let behind = memchr::memchr_iter(b' ', line).nth(2)? + 1;
    Some((stream, is_unfinished, &line[behind..]))
}

/// Parses only the head of a line: the stream, and whether the line is unfinished.
#[must_use]
pub(crate) fn part_of(line: &[u8]) -> Option<(usize, bool)> {
    let space = memchr::memchr(b' ', line.get(..64.min(line.len()))?)?;
    let head = line.get(space + 1..)?;
    let stream = usize::from(head.starts_with(b"stderr "));
    match head {
        [b's', b't', b'd', _, _, _, b' ', tag @ (b'P' | b'F'), rest @ ..]
            if matches!(rest.first(), None | Some(b' ' | b':' | b'\n')) =>
        {
            Some((stream, *tag == b'P'))
        }
        _ => None,
    }
}
