//! etcd's log, in the envelopes in which the apiserver's comes.

use std::borrow::Cow;

use serde_json::Value;

use super::line::is_end_of_json;
use super::{At, Decoder, OutcomeSink};
use crate::decode::envelope::{Envelope, syslog};
use crate::decode::envelope_keys::timestamp_micros;
use crate::decode::etcd::{self, EtcdResult};
use crate::decode::klog::{Clock, ClockContext, pairs};
use crate::decode::outcome::{Foreign, Layers, Outcome};
use crate::decode::prefix;
use crate::decode::skip::SkipReason;

impl At<'_> {
    /// With the instant in the head of a line of syslog, if it has one.
    pub(super) fn dated_by(self, line: &str) -> Self {
        Self { clock: syslog::clock(line).or(self.clock), ..self }
    }
}

impl Decoder {
    /// Hands over a line of etcd's log; false if the text is none, or has an envelope.
    pub(super) fn etcd(text: &str, at: At<'_>, out: OutcomeSink<'_>) -> bool {
        if let Some(found) = etcd::read(text) {
            etcd_line(found, text, at, out);
            return true;
        }
        // A date behind an instant would be taken for a name.
        match prefix::after_instant(text).and_then(|(time, rest)| Some((time, etcd::read(rest)?))) {
            Some((time, found)) if at.layers.len() < Layers::MAX => {
                etcd_line(found, text, at.within(Envelope::CloudwatchExport, Some(time)), out);
                true
            }
            _ => false,
        }
    }

    /// Hands over a start line of etcd's in which it states its version, among the lines of other programs; false for any
    /// other text.
    pub(super) fn etcd_start(text: &str, at: At<'_>, out: OutcomeSink<'_>) -> bool {
        let may_be = memchr::memmem::find(text.as_bytes(), b"etcd").is_some();
        match may_be.then(|| etcd::read(text)).flatten() {
            Some(Ok(line)) if line.version.is_some() => {
                etcd_line(Ok(line), text, at, out);
                true
            }
            _ => false,
        }
    }

    /// An entry that holds etcd's warning. In an envelope that is not known the warning is looked for; what is not found
    /// is lost, and no line of another program.
    pub(super) fn warning(&mut self, text: &str, at: At<'_>, out: OutcomeSink<'_>) {
        let (mut is_found, mut lost) = (false, None);
        self.text(text, at, &mut |outcome, layers| match outcome {
            Outcome::Foreign(Foreign::Json | Foreign::Text | Foreign::Klog)
            | Outcome::Skip(SkipReason::NotJson | SkipReason::NotAnEvent | SkipReason::WrongType, _)
                if lost.is_none() && !is_found =>
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
                is_found |= matches!(outcome, Outcome::Etcd { .. });
                out(outcome, layers);
            }
        });
        let Some((reason, layers)) = lost else { return };
        match inner(text) {
            Some(inner) if !is_found => match etcd::read(&inner) {
                Some(found) => etcd_line(found, text, at, out),
                None => At { layers, ..at }.skip(reason, text, out),
            },
            _ => At { layers, ..at }.skip(reason, text, out),
        }
    }

    /// A line that no envelope is known of. Shells and wrappers write into the same file.
    pub(super) fn etcd_or_text(text: &str, at: At<'_>, out: OutcomeSink<'_>) {
        match etcd::find(text) {
            Some(found) => etcd_line(found, text, at, out),
            None if is_end_of_json(text) => at.skip(SkipReason::NotJson, text, out),
            None => out(Outcome::Foreign(Foreign::Text), at.layers),
        }
    }
}

/// The line of etcd's in a text that is no envelope that is known: the string or the object in an object, the value of
/// `msg="…"`, or the object at the end (`stern`).
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

fn etcd_line(found: EtcdResult<'_>, text: &str, at: At<'_>, out: OutcomeSink<'_>) {
    match found {
        Ok(line) => {
            let clock = match (line.clock, at.clock) {
                (Clock::None, Some(time)) => Clock::Klog(time),
                (clock, _) => clock,
            };
            let wrapper = at.time.and_then(timestamp_micros);
            let context = ClockContext { wrapper, year: at.facts.year, file_time: at.facts.modified };
            let is_zoneless = wrapper.is_none() && matches!(clock, Clock::Klog(_) | Clock::Dated(..));
            out(Outcome::Etcd { line: &line, logged_at: clock.resolve(&context), is_zoneless }, at.layers);
        }
        Err(reason) => at.skip(reason, text, out),
    }
}
