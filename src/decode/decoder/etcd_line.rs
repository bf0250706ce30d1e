//! Finds and emits lines of etcd's log.

use std::borrow::Cow;

use serde_json::Value;

use super::context::{OutcomeSink, TextContext};
use crate::decode::envelope_keys::timestamp_micros;
use crate::decode::etcd::{self, EtcdResult};
use crate::decode::klog::{Clock, ClockContext, pairs};
use crate::decode::outcome::Outcome;

/// Finds the etcd line inside an unknown envelope. It looks at three places:
/// - a string or an object inside a JSON object
/// - the value of `msg="…"`
/// - an object at the end of the line (`stern`)
pub(super) fn line_inside(text: &str) -> Option<Cow<'_, str>> {
    let is_line = |text: &str| matches!(etcd::read(text), Some(Ok(_)));
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return line_inside_value(&value, &is_line).map(Cow::Owned);
    }
    if let Some((_, rest)) = text.split_once("msg=\"")
        && let Some((message, _)) = pairs::quoted(rest)
    {
        let message = message.text();
        return is_line(&message).then_some(message);
    }
    let object = &text[text.find('{')?..];
    is_line(object).then_some(Cow::Borrowed(object))
}

fn line_inside_value(value: &Value, is_line: &dyn Fn(&str) -> bool) -> Option<String> {
    match value {
        Value::String(text) => is_line(text).then(|| text.clone()),
        Value::Object(fields) => {
            let own = value.to_string();
            if is_line(&own) {
                return Some(own);
            }
            fields.values().find_map(|value| line_inside_value(value, is_line))
        }
        _ => None,
    }
}

pub(super) fn etcd_line(result: EtcdResult<'_>, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
    match result {
        Ok(line) => {
            let clock = match (line.clock, context.clock) {
                (Clock::None, Some(time)) => Clock::Klog(time),
                (clock, _) => clock,
            };
            let wrapper = context.time.and_then(timestamp_micros);
            let clock_context =
                ClockContext { wrapper, year: context.facts.year, file_time: context.facts.modified };
            let is_zoneless = wrapper.is_none() && matches!(clock, Clock::Klog(_) | Clock::Dated(..));
            out(
                Outcome::Etcd { line: &line, logged_at: clock.resolve(&clock_context), is_zoneless },
                context.layers,
            );
        }
        Err(reason) => context.skip(reason, text, out),
    }
}
