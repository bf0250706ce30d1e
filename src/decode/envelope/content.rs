//! JSON objects that may be envelopes, and their content.

use serde_json::value::RawValue;

use crate::decode::envelope_keys::EnvelopeKeys;
use crate::decode::foreign::Foreign;
use crate::k8s::Event;

/// A JSON object that may be an envelope.
pub(crate) struct JsonObject<'k, 'a> {
    pub(crate) text: &'a str,
    pub(crate) keys: &'k EnvelopeKeys<'a>,
    /// Whether the stream holds JSON values that are not one on each line.
    pub(crate) is_in_stream: bool,
}

/// A value in a JSON envelope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inner<'a> {
    /// The inner event, envelope or log line. It is an object, or a string that contains the text.
    pub(crate) value: &'a RawValue,
    /// The envelope's own timestamp.
    pub(crate) time: Option<&'a str>,
}

impl<'a> Inner<'a> {
    /// A value without a timestamp.
    #[must_use]
    pub(crate) fn bare(value: &'a RawValue) -> Self {
        Self { value, time: None }
    }
}

/// The content of a JSON envelope.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// Other envelopes or events.
    Values(Vec<Inner<'a>>),
    /// An array of envelopes or events, and a function that extracts the content of an element.
    Elements(&'a RawValue, fn(&'a RawValue) -> Inner<'a>),
    /// A line of a container's output, or a part of one.
    Line {
        inner: Inner<'a>,
        /// 0 for stdout, 1 for stderr.
        stream: usize,
    },
    /// An event in a format other than the audit API's.
    Event(Box<Event<'a>>),
    /// An entry of another log.
    Foreign(Foreign),
}

impl<'a> Content<'a> {
    /// A single value.
    pub(super) fn one(value: &'a RawValue, time: Option<&'a str>) -> Self {
        Self::Values(vec![Inner { value, time }])
    }
}
