//! Text that is no JSON: lines of the apiserver's own log, lines in envelopes of text, and lines in parts.

use super::{At, Decoder, Out, is_headless};
use crate::decode::envelope::{Envelope, syslog};
use crate::decode::klog::{self, ClockContext};
use crate::decode::outcome::{Foreign, Layers, Outcome};
use crate::decode::outer::instant_micros;
use crate::decode::prefix::{self, Prefixed};
use crate::decode::skip::SkipReason;

impl Decoder {
    /// Text that is no JSON.
    pub(super) fn line(&mut self, text: &str, trimmed: &str, at: At<'_>, out: Out<'_>) {
        // No line of klog begins with a digit, and those of containers do.
        let is_dated = trimmed.starts_with(|c: char| c.is_ascii_digit());
        if !is_dated && let Some(line) = klog::read(text) {
            let form = if trimmed.contains("verb=\"") { Envelope::HttpLog } else { Envelope::HttpLogOlder };
            return Self::klog(&line, form, at, out);
        }
        if at.layers.len() < Layers::MAX {
            match prefix::strip(trimmed) {
                Some(Prefixed::Line(envelope, line)) => {
                    let at = if self.of_etcd { at.dated_by(trimmed) } else { at };
                    return self.nested(line.rest, at.within(envelope, line.time), out);
                }
                Some(Prefixed::Cri(line)) => {
                    let at = at.within(Envelope::Cri, line.text.time);
                    if line.goes_on {
                        self.parts_at[line.stream] = at.layers;
                        return self.parts.add(line.stream, line.text.rest.as_bytes(), self.max_record);
                    }
                    if self.parts.is_open(line.stream) {
                        return self.last_part(line.stream, line.text.rest.as_bytes(), at, out);
                    }
                    return self.nested(line.text.rest, at, out);
                }
                Some(Prefixed::Legacy(event)) => {
                    return out(Outcome::Event(&event), at.layers.with(Envelope::Legacy));
                }
                None => {}
            }
        }
        if self.of_etcd {
            return Self::etcd_or_text(trimmed, at, out);
        }
        let outcome = if syslog::is_banner(trimmed) {
            Outcome::Foreign(Foreign::Control)
        } else if at.is_shared() && !is_end_of_json(trimmed) {
            Outcome::Foreign(Foreign::Text)
        } else if serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok() {
            Outcome::Skip(SkipReason::NotAnEvent)
        } else {
            Outcome::Skip(SkipReason::NotJson)
        };
        out(outcome, at.layers);
    }

    pub(super) fn klog(line: &klog::KlogLine<'_>, form: Envelope, at: At<'_>, out: Out<'_>) {
        let written = || {
            let wrapper = at.time.and_then(instant_micros);
            line.clock.resolve(&ClockContext { wrapper, year: at.facts.year, file_time: at.facts.modified })
        };
        match &line.kind {
            klog::Kind::Access(access) => {
                out(Outcome::Access { line: access, written: written() }, at.layers.with(form));
            }
            klog::Kind::Trace(fragment) => out(Outcome::Trace(fragment), at.layers.with(Envelope::Trace)),
            klog::Kind::Continuation => out(Outcome::Foreign(Foreign::Part), at.layers),
            klog::Kind::Other => out(Outcome::Foreign(Foreign::Klog), at.layers),
        }
    }

    /// The text of a string, which may be a string again.
    pub(super) fn nested(&mut self, text: &str, at: At<'_>, out: Out<'_>) {
        let text = text.trim_end_matches(['\n', '\r', '\0', ' ']);
        if !text.starts_with('"') || is_headless(text) {
            self.text(text, at, out);
        } else if at.layers.len() < Layers::MAX {
            self.string(text, at.within(Envelope::Collector, None), out);
        } else {
            out(Outcome::Skip(SkipReason::TooDeep), at.layers);
        }
    }

    /// A line, with what came of it in parts before.
    pub(super) fn last_part(&mut self, stream: usize, part: &[u8], at: At<'_>, out: Out<'_>) {
        let mut whole = self.parts.take(stream).unwrap_or_default();
        for _ in 0..whole.count {
            out(Outcome::Foreign(Foreign::Part), at.layers);
        }
        if whole.too_long {
            return out(Outcome::Skip(SkipReason::TooLong), at.layers);
        }
        whole.text.extend_from_slice(part);
        match String::from_utf8(whole.text) {
            Ok(text) => self.nested(&text, at, out),
            Err(_) => out(Outcome::Skip(SkipReason::NotUtf8), at.layers),
        }
    }
}

/// Whether a text is an object that lost its start.
pub(super) fn is_end_of_json(text: &str) -> bool {
    text.ends_with('}') && text.contains("\":")
}
