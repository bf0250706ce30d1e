//! EKS through a subscription filter of CloudWatch Logs (Lambda, Kinesis), and the output of `aws logs
//! filter-log-events`.
//!
//! Source: Amazon CloudWatch Logs User Guide, "Log group-level subscription filters".

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Content, Inner, JsonObject};
use super::json_array;
use crate::decode::envelope_keys::{plain, timestamp};
use crate::decode::foreign::Foreign;

#[derive(Deserialize)]
struct LogEvent<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
}

/// Returns the messages of a subscription object.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let keys = object.keys;
    if keys.message_type.and_then(plain) == Some("CONTROL_MESSAGE") {
        return Some(Content::Foreign(Foreign::Control));
    }
    let events = keys.log_events.or(keys.events)?;
    json_array::begins_with(events, |event| read(event).is_some())
        .then_some(Content::Elements(events, message))
}

fn read(event: &RawValue) -> Option<LogEvent<'_>> {
    serde_json::from_str(event.get()).ok()
}

fn message(event: &RawValue) -> Inner<'_> {
    match read(event) {
        Some(read) => Inner { value: read.message, time: timestamp(read.timestamp) },
        None => Inner::bare(event),
    }
}
