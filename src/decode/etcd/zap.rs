//! etcd's lines in zap's format: one JSON object per line. With `--log-format=console`, a line has columns, and an
//! object at its end.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::line::{EtcdLine, EtcdResult, SLOW, SlowRequest};
use crate::decode::envelope_keys::{plain, timestamp_micros};
use crate::decode::klog::Clock;
use crate::decode::skip::SkipReason;

/// Fields of every line.
#[derive(Deserialize)]
struct HeadFields<'a> {
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    ts: &'a RawValue,
    #[serde(borrow, rename = "caller")]
    _caller: Cow<'a, str>,
    #[serde(borrow)]
    msg: Cow<'a, str>,
}

/// Fields of the slow-request warning.
#[derive(Deserialize)]
struct SlowFields<'a> {
    #[serde(borrow)]
    took: Cow<'a, str>,
    #[serde(borrow, default)]
    request: Cow<'a, str>,
    #[serde(borrow, default)]
    response: Cow<'a, str>,
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
}

/// Fields of a start line.
///
/// Source: etcd `server/embed/etcd.go:print`, `server/etcdserver/server.go:start`.
#[derive(Deserialize)]
struct StartFields<'a> {
    #[serde(borrow, alias = "etcd-version", rename = "local-server-version")]
    version: Cow<'a, str>,
}

/// Parses an object; `None` if it is not a zap line, or is incomplete.
pub(super) fn read(text: &str) -> Option<EtcdResult<'_>> {
    let head: HeadFields<'_> = serde_json::from_str(text).ok()?;
    is_level(&head.level).then_some(())?;
    Some(line(plain(head.ts).or(Some(head.ts.get())), &head.msg, text))
}

/// Parses console columns; `None` if the text is not in that format.
pub(super) fn console(text: &str) -> Option<EtcdResult<'_>> {
    let mut columns = text.splitn(5, '\t');
    let (time, level, _) = (columns.next()?, columns.next()?, columns.next()?);
    let message = columns.next()?;
    is_level(level).then_some(())?;
    timestamp_micros(time)?;
    Some(line(Some(time), message, columns.next().unwrap_or("{}")))
}

fn line<'a>(time: Option<&str>, message: &str, object: &'a str) -> EtcdResult<'a> {
    let clock = time.and_then(timestamp_micros).map(Clock::Absolute).ok_or(SkipReason::WrongType)?;
    if message != SLOW {
        let is_start = message.starts_with("starting ");
        let start: Option<StartFields<'_>> = if is_start { serde_json::from_str(object).ok() } else { None };
        let version = start.and_then(|start| start.version.parse().ok());
        return Ok(EtcdLine { clock, slow: None, version });
    }
    let SlowFields { took, request, response, error } = serde_json::from_str(object)
        .map_err(|error| if error.is_eof() { SkipReason::Truncated } else { SkipReason::WrongType })?;
    let slow = SlowRequest::new(took, request, response, error)?;
    Ok(EtcdLine { clock, slow: Some(slow), version: None })
}

/// Source: go.uber.org/zap `zapcore/level.go`.
fn is_level(text: &str) -> bool {
    ["debug", "info", "warn", "error", "dpanic", "panic", "fatal"]
        .iter()
        .any(|level| text.eq_ignore_ascii_case(level))
}
