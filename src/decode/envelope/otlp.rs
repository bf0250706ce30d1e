//! OpenTelemetry logs as JSON: the event is the body of a log record.
//!
//! Source: opentelemetry-proto `opentelemetry/proto/logs/v1/logs.proto` in its JSON encoding.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Content, Inner, JsonObject};
use crate::decode::envelope_keys::{may_hold_event, timestamp};

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

/// Returns the bodies of an export request's log records.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let logs: Vec<&RawValue> = serde_json::from_str(object.keys.resource_logs?.get()).ok()?;
    let mut values = Vec::new();
    for resource in logs {
        // If a group of log records has a damaged key, the records in it may still be whole. So the group is returned
        // unopened, and the decoder searches it.
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

/// Returns a group of log records that has a damaged key, as it is; `None` if it contains no event.
fn unknown(group: &RawValue) -> Option<Inner<'_>> {
    may_hold_event(group.get()).then(|| Inner::bare(group))
}

/// The body of a log record. A record without a text body is returned whole, so that the report counts it.
fn inner(raw: &RawValue) -> Inner<'_> {
    let record: LogRecord<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let value = record.body.and_then(|body| body.string_value).unwrap_or(raw);
    Inner { value, time: timestamp(record.time_unix_nano) }
}

/// The body of a log record outside an export request.
#[must_use]
pub(crate) fn record(text: &str) -> Option<Inner<'_>> {
    let LogRecord { body, time_unix_nano } = serde_json::from_str(text).ok()?;
    Some(Inner { value: body?.string_value?, time: timestamp(time_unix_nano) })
}
