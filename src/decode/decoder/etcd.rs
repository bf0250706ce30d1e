//! Reads etcd's log, in the same envelopes as the apiserver's log.

use std::borrow::Cow;

use serde_json::Value;

use super::line::is_end_of_json;
use super::{Decoder, OutcomeSink, TextContext};
use crate::decode::envelope::{Envelope, syslog};
use crate::decode::envelope_keys::timestamp_micros;
use crate::decode::etcd::{self, EtcdResult};
use crate::decode::foreign::Foreign;
use crate::decode::klog::{Clock, ClockContext, pairs};
use crate::decode::outcome::{Layers, Outcome};
use crate::decode::prefix;
use crate::decode::skip::SkipReason;

impl TextContext<'_> {
    /// Takes the clock from a syslog header, if the line has one.
    pub(super) fn dated_by(self, line: &str) -> Self {
        Self { clock: syslog::clock(line).or(self.clock), ..self }
    }
}

impl Decoder {
    /// Emits a line of etcd's log. Returns false if the text is not an etcd line, or if an envelope is around it.
    pub(super) fn etcd(text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        if let Some(result) = etcd::read(text) {
            etcd_line(result, text, context, out);
            return true;
        }
        // Without this, `aws_logs_tail` would parse the date of an etcd line as the name of a log stream.
        match prefix::after_timestamp(text).and_then(|(time, rest)| Some((time, etcd::read(rest)?))) {
            Some((time, result)) if context.layers.len() < Layers::MAX => {
                etcd_line(result, text, context.within(Envelope::CloudwatchExport, Some(time)), out);
                true
            }
            _ => false,
        }
    }

    /// Emits an etcd start line that states etcd's version. Such lines also occur in the logs of other programs.
    /// Returns false for any other text.
    pub(super) fn etcd_start(text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        let may_be = memchr::memmem::find(text.as_bytes(), b"etcd").is_some();
        match may_be.then(|| etcd::read(text)).flatten() {
            Some(Ok(line)) if line.version.is_some() => {
                etcd_line(Ok(line), text, context, out);
                true
            }
            _ => false,
        }
    }

    /// Decodes an entry that contains etcd's slow-request warning. If the envelope is unknown, this function searches
    /// the entry for the warning. If it finds none, the entry counts as skipped and not as foreign.
    pub(super) fn warning(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let (mut has_etcd_line, mut lost) = (false, None);
        self.text(text, context, &mut |outcome, layers| match outcome {
            Outcome::Foreign(Foreign::Json | Foreign::Text | Foreign::Klog)
            | Outcome::Skip(SkipReason::NotJson | SkipReason::NotAnEvent | SkipReason::WrongType, _)
                if lost.is_none() && !has_etcd_line =>
            {
                lost = Some((
                    match outcome {
                        Outcome::Skip(reason, _) => reason,
                        _ if text.starts_with('{') => SkipReason::WrongType,
                        _ => SkipReason::NotJson,
                    },
                    layers,
                ));
            }
            outcome => {
                has_etcd_line |= matches!(outcome, Outcome::Etcd { .. });
                out(outcome, layers);
            }
        });
        let Some((reason, layers)) = lost else { return };
        match inner(text) {
            Some(inner) if !has_etcd_line => match etcd::read(&inner) {
                Some(result) => etcd_line(result, text, context, out),
                None => TextContext { layers, ..context }.skip(reason, text, out),
            },
            _ => TextContext { layers, ..context }.skip(reason, text, out),
        }
    }

    /// Decodes a line without a known envelope. The line may be foreign, because shells and wrappers write to the same
    /// file.
    pub(super) fn etcd_or_text(text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        match etcd::find(text) {
            Some(result) => etcd_line(result, text, context, out),
            None if is_end_of_json(text) => context.skip(SkipReason::NotJson, text, out),
            None => out(Outcome::Foreign(Foreign::Text), context.layers),
        }
    }
}

/// Finds the etcd line inside an unknown envelope. It looks at three places:
/// - a string or an object inside a JSON object
/// - the value of `msg="…"`
/// - an object at the end of the line (`stern`)
fn inner(text: &str) -> Option<Cow<'_, str>> {
    let is_line = |text: &str| matches!(etcd::read(text), Some(Ok(_)));
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return inner_of(&value, &is_line).map(Cow::Owned);
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

fn inner_of(value: &Value, is_line: &dyn Fn(&str) -> bool) -> Option<String> {
    match value {
        Value::String(text) => is_line(text).then(|| text.clone()),
        Value::Object(fields) => {
            let own = value.to_string();
            if is_line(&own) {
                return Some(own);
            }
            fields.values().find_map(|value| inner_of(value, is_line))
        }
        _ => None,
    }
}

fn etcd_line(result: EtcdResult<'_>, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
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
