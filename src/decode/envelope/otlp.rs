//! OpenTelemetry's logs as JSON: the event is the record's body.
//!
//! Source: opentelemetry-proto `opentelemetry/proto/logs/v1/logs.proto` in its JSON encoding.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Inner};
use crate::decode::outer::{Outer, instant};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    #[serde(borrow, default)]
    scope_logs: Vec<ScopeLogs<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs<'a> {
    #[serde(borrow, default)]
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
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    let logs: Vec<ResourceLogs<'a>> = serde_json::from_str(outer.resource_logs?.get()).ok()?;
    let records = logs.into_iter().flat_map(|logs| logs.scope_logs).flat_map(|logs| logs.log_records);
    Some(Content::Values(
        records
            .map(|raw| {
                // A body that is no text is told by what it is, so that no record is lost unseen.
                let record: LogRecord<'a> = serde_json::from_str(raw.get()).unwrap_or_default();
                let value = record.body.and_then(|body| body.string_value).unwrap_or(raw);
                Inner { value, time: instant(record.time_unix_nano) }
            })
            .collect(),
    ))
}
