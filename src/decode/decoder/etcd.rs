//! etcd's log, in the envelopes in which the apiserver's comes.

use super::line::is_end_of_json;
use super::{At, Decoder, Out};
use crate::decode::envelope::{Envelope, syslog};
use crate::decode::etcd::{self, Found};
use crate::decode::klog::{Clock, ClockContext};
use crate::decode::outcome::{Foreign, Layers, Outcome};
use crate::decode::outer::instant_micros;
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
    pub(super) fn etcd(text: &str, at: At<'_>, out: Out<'_>) -> bool {
        if let Some(found) = etcd::read(text) {
            etcd_line(found, at, out);
            return true;
        }
        // A date behind an instant would be taken for a name.
        match prefix::after_instant(text).and_then(|(time, rest)| Some((time, etcd::read(rest)?))) {
            Some((time, found)) if at.layers.len() < Layers::MAX => {
                etcd_line(found, at.within(Envelope::CloudwatchExport, Some(time)), out);
                true
            }
            _ => false,
        }
    }

    /// A line that no envelope is known of. Shells and wrappers write into the same file.
    pub(super) fn etcd_or_text(text: &str, at: At<'_>, out: Out<'_>) {
        match etcd::find(text) {
            Some(found) => etcd_line(found, at, out),
            None if is_end_of_json(text) => out(Outcome::Skip(SkipReason::NotJson), at.layers),
            None => out(Outcome::Foreign(Foreign::Text), at.layers),
        }
    }
}

fn etcd_line(found: Found<'_>, at: At<'_>, out: Out<'_>) {
    match found {
        Ok(line) => {
            let clock = match (line.clock, at.clock) {
                (Clock::None, Some(time)) => Clock::Klog(time),
                (clock, _) => clock,
            };
            let wrapper = at.time.and_then(instant_micros);
            let context = ClockContext { wrapper, year: at.facts.year, file_time: at.facts.modified };
            let is_zoneless = wrapper.is_none() && matches!(clock, Clock::Klog(_) | Clock::Dated(..));
            out(Outcome::Etcd { line: &line, written: clock.resolve(&context), is_zoneless }, at.layers);
        }
        Err(reason) => out(Outcome::Skip(reason), at.layers),
    }
}
