//! Log collectors, and the stores that they fill. One field holds the event, as a string or as an object. The field
//! is `message` (Beats, Logstash, Vector), `log` (Fluent Bit), `MESSAGE` (journald), `_source` (Elasticsearch) or
//! `textPayload` (Cloud Logging).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Content, JsonObject};
use crate::decode::envelope_keys::{may_hold, timestamp};

#[derive(Deserialize)]
struct NestedMessage<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// Returns the value of the field that holds the event.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let keys = object.keys;
    let nested = || keys.input.and_then(|input| serde_json::from_str::<NestedMessage<'a>>(input.get()).ok());
    let fields = [keys.message, keys.log, keys.journal_message, keys.source, keys.text_payload];
    let mut values = fields.into_iter().flatten();
    // Some collectors write a description of the event into another of these fields. So a field with JSON in a string
    // takes precedence.
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
