//! EKS through a subscription filter of CloudWatch Logs (Lambda, Kinesis), and what `aws logs filter-log-events`
//! prints.
//!
//! Source: Amazon CloudWatch Logs User Guide, "Log group-level subscription filters".

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Inner, json_array};
use crate::decode::outcome::Foreign;
use crate::decode::outer::{Outer, instant, plain};

#[derive(Deserialize)]
struct LogEvent<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
}

/// The messages of a subscription's object.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    if outer.message_type.and_then(plain) == Some("CONTROL_MESSAGE") {
        return Some(Content::Foreign(Foreign::Control));
    }
    let events = outer.log_events.or(outer.events)?;
    json_array::begins_with(events, |event| read(event).is_some())
        .then_some(Content::Elements(events, message))
}

fn read(event: &RawValue) -> Option<LogEvent<'_>> {
    serde_json::from_str(event.get()).ok()
}

fn message(event: &RawValue) -> Inner<'_> {
    match read(event) {
        Some(read) => Inner { value: read.message, time: instant(read.timestamp) },
        None => Inner::bare(event),
    }
}
