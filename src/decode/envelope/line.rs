//! Lines in text envelopes: another program wrote a prefix before the line.

use crate::k8s::Event;

/// A line that may be in a text envelope.
pub(crate) struct TextLine<'a> {
    pub(crate) text: &'a str,
    /// The timestamp at the line's start, and the text after it; `None` if the line does not begin with a timestamp.
    pub(crate) dated: Option<(&'a str, &'a str)>,
}

impl<'a> TextLine<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, dated: after_timestamp(text) }
    }
}

/// A line whose text envelope was removed.
#[derive(Debug)]
pub(crate) enum Prefixed<'a> {
    /// The line without its prefix.
    Line(Stripped<'a>),
    /// A line of a container's output, or a part of one.
    Cri(CriLine<'a>),
    /// An event in the apiserver's `legacy` text format.
    Legacy(Box<Event<'a>>),
}

/// A line without its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stripped<'a> {
    /// The text after the prefix.
    pub(crate) rest: &'a str,
    /// The envelope's own timestamp.
    pub(crate) time: Option<&'a str>,
}

/// A line of a container's output, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CriLine<'a> {
    pub(crate) text: Stripped<'a>,
    /// 0 for stdout, 1 for stderr.
    pub(crate) stream: usize,
    /// The stream's next line continues this one.
    pub(crate) is_unfinished: bool,
}

/// Splits a line at its leading timestamp (`kubectl logs --timestamps`).
#[must_use]
pub(crate) fn after_timestamp(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').filter(|(time, _)| is_timestamp(time))
}

/// Whether a word is a timestamp in the format of RFC 3339 or ISO 8601.
fn is_timestamp(word: &str) -> bool {
    let bytes = word.as_bytes();
    (19..=40).contains(&bytes.len())
        && bytes[0].is_ascii_digit()
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && bytes.iter().all(|byte| byte.is_ascii_digit() || b"-:.,TZ+".contains(byte))
}
