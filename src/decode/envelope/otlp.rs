//! OpenTelemetry's logs as JSON: the event is the record's body.
//!
//! Source: opentelemetry-proto `opentelemetry/proto/logs/v1/logs.proto` in its JSON encoding.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Inner};
use crate::decode::decoder::salvage::may_hold_event;
use crate::decode::envelope_keys::{EnvelopeKeys, timestamp};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    #[serde(borrow)]
    scope_logs: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs<'a> {
    #[serde(borrow)]
    log_records: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogRecord<'a> {
    #[serde(borrow, default)]
    body: Option<Body<'a>>,
    #[serde(borrow, default)]
    time_unix_nano: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(borrow, default)]
    string_value: Option<&'a RawValue>,
}

/// The bodies of an export request's records.
#[must_use]
pub fn open<'a>(keys: &EnvelopeKeys<'a>) -> Option<Content<'a>> {
    let logs: Vec<&RawValue> = serde_json::from_str(keys.resource_logs?.get()).ok()?;
    let mut values = Vec::new();
    for resource in logs {
        // A group with a damaged key is handed over as it is: its records may be whole.
        let Ok(ResourceLogs { scope_logs }) = serde_json::from_str(resource.get()) else {
            values.extend(unknown(resource));
            continue;
        };
        for scope in scope_logs {
            match serde_json::from_str(scope.get()) {
                Ok(ScopeLogs { log_records }) => values.extend(log_records.into_iter().map(inner)),
                Err(_) => values.extend(unknown(scope)),
            }
        }
    }
    Some(Content::Values(values))
}

/// A group of records that was not understood; `None` if it holds none.
fn unknown(group: &RawValue) -> Option<Inner<'_>> {
    may_hold_event(group.get()).then(|| Inner::bare(group))
}

/// A record's body. A body that is no text is told by what it is, so that no record is lost unseen.
fn inner(raw: &RawValue) -> Inner<'_> {
    let record: LogRecord<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let value = record.body.and_then(|body| body.string_value).unwrap_or(raw);
    Inner { value, time: timestamp(record.time_unix_nano) }
}

/// The body of a record outside of an export request.
#[must_use]
pub fn record(text: &str) -> Option<Inner<'_>> {
    let LogRecord { body, time_unix_nano } = serde_json::from_str(text).ok()?;
    Some(Inner { value: body?.string_value?, time: timestamp(time_unix_nano) })
}
