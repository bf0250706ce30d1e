//! Log collectors, and stores that they fill: the event in a field, as a string or as it is. `message` (Beats,
//! Logstash, Vector), `log` (Fluent Bit), `MESSAGE` (journald), `_source` (Elasticsearch), `textPayload` (Cloud
//! Logging).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Content;
use crate::decode::envelope_keys::{EnvelopeKeys, may_hold, timestamp};

#[derive(Deserialize)]
struct NestedMessage<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// What the field holds.
#[must_use]
pub fn open<'a>(keys: &EnvelopeKeys<'a>) -> Option<Content<'a>> {
    let nested = || keys.input.and_then(|input| serde_json::from_str::<NestedMessage<'a>>(input.get()).ok());
    let fields = [keys.message, keys.log, keys.journal_message, keys.source, keys.text_payload];
    let mut values = fields.into_iter().flatten();
    // A text beside an event says what the event is.
    let is_json = |value: &&RawValue| value.get().starts_with("\"{");
    let value = values
        .clone()
        .find(is_json)
        .or_else(|| values.find(|value| may_hold(value)))
        .or_else(|| nested().map(|nested| nested.message).filter(|value| may_hold(value)))?;
    let time = timestamp(keys.at_timestamp)
        .or_else(|| timestamp(keys.journal_time))
        .or_else(|| timestamp(keys.timestamp))
        .or_else(|| timestamp(keys.time));
    Some(Content::one(value, time))
}
