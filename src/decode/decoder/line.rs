//! Text that is no JSON: lines of the apiserver's own log, lines in envelopes of text, and lines in parts.

use super::{At, Decoder, OutcomeSink, is_headless};
use crate::decode::envelope::{Envelope, syslog};
use crate::decode::envelope_keys::timestamp_micros;
use crate::decode::klog::{self, ClockContext};
use crate::decode::on_demand::START;
use crate::decode::outcome::{Extent, Foreign, Layers, Outcome};
use crate::decode::prefix::{self, Prefixed};
use crate::decode::skip::SkipReason;

/// How much of a part is looked at for a header of klog, in bytes: time, thread, file and line.
const LONGEST_HEADER: usize = 200;

impl Decoder {
    /// Text that is no JSON.
    pub(super) fn line(&mut self, text: &str, trimmed: &str, at: At<'_>, out: OutcomeSink<'_>) {
        // No line of klog begins with a digit, and those of containers do.
        let is_dated = trimmed.starts_with(|c: char| c.is_ascii_digit());
        if !is_dated && let Some(line) = klog::read(text) {
            let form = if trimmed.contains("verb=\"") { Envelope::HttpLog } else { Envelope::HttpLogOlder };
            return Self::klog(&line, trimmed, form, at, out);
        }
        if is_dated && !self.is_for_etcd && may_be_etcds(trimmed) && Self::etcd_start(trimmed, at, out) {
            return;
        }
        if at.layers.len() < Layers::MAX {
            match prefix::strip(trimmed) {
                Some(Prefixed::Line(envelope, line)) => {
                    let at = if self.is_for_etcd { at.dated_by(trimmed) } else { at };
                    return self.nested(line.rest, at.within(envelope, line.time), out);
                }
                Some(Prefixed::Cri(line)) => {
                    let at = at.within(Envelope::Cri, line.text.time);
                    if line.is_unfinished {
                        return self.part(line.stream, line.text.rest.as_bytes(), at, out);
                    }
                    if self.parts.is_open(line.stream) {
                        return self.last_part(line.stream, line.text.rest.as_bytes(), at, out);
                    }
                    return self.nested(line.text.rest, at, out);
                }
                Some(Prefixed::Legacy(event)) => {
                    return out(Outcome::Event(&event, None), at.layers.with(Envelope::Legacy));
                }
                None => {}
            }
        }
        if self.is_for_etcd {
            return Self::etcd_or_text(trimmed, at, out);
        }
        if syslog::is_banner(trimmed) {
            out(Outcome::Foreign(Foreign::Control), at.layers);
        } else if at.is_shared && !is_end_of_json(trimmed) {
            if !self.salvage_elements(trimmed, at, out) {
                out(Outcome::Foreign(Foreign::Text), at.layers);
            }
        } else if serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok() {
            at.skip(SkipReason::NotAnEvent, text, out);
        } else {
            self.salvage(trimmed, SkipReason::NotJson, at, out);
        }
    }

    pub(super) fn klog(
        line: &klog::KlogLine<'_>,
        text: &str,
        form: Envelope,
        at: At<'_>,
        out: OutcomeSink<'_>,
    ) {
        let logged_at = || {
            let wrapper = at.time.and_then(timestamp_micros);
            line.clock.resolve(&ClockContext { wrapper, year: at.facts.year, file_time: at.facts.modified })
        };
        match &line.kind {
            klog::KlogKind::Access(access) => {
                out(Outcome::Access { line: access, text, logged_at: logged_at() }, at.layers.with(form));
            }
            klog::KlogKind::Trace(fragment) => out(Outcome::Trace(fragment), at.layers.with(Envelope::Trace)),
            klog::KlogKind::Start(version) => {
                out(Outcome::Start { version: *version, logged_at: logged_at() }, at.layers);
            }
            klog::KlogKind::Continuation => out(Outcome::Foreign(Foreign::Part), at.layers),
            klog::KlogKind::Other => out(Outcome::Foreign(Foreign::Klog), at.layers),
        }
    }

    /// The text of a string, which may be a string again.
    pub(super) fn nested(&mut self, text: &str, at: At<'_>, out: OutcomeSink<'_>) {
        let text = text.trim_end_matches(['\n', '\r', '\0', ' ']);
        if !text.starts_with('"') || is_headless(text) {
            self.text(text, at, out);
        } else if at.layers.len() < Layers::MAX {
            self.string(text, at.within(Envelope::Collector, None), out);
        } else {
            at.skip(SkipReason::TooDeep, text, out);
        }
    }

    /// Keeps a part of a line that another goes on.
    pub(super) fn part(&mut self, stream: usize, part: &[u8], at: At<'_>, out: OutcomeSink<'_>) {
        if is_start(part) {
            self.give_up(stream, out);
        }
        self.parts_at[stream] = at.layers;
        self.parts.add(stream, part, self.max_record);
    }

    /// A line, with what came of it in parts before. Where those belong to a line whose end is lost, this one is whole.
    pub(super) fn last_part(&mut self, stream: usize, part: &[u8], at: At<'_>, out: OutcomeSink<'_>) {
        if is_start(part) {
            self.give_up(stream, out);
        }
        let mut whole = self.parts.take(stream).unwrap_or_default();
        for _ in 0..whole.count {
            out(Outcome::Foreign(Foreign::Part), at.layers);
        }
        if whole.is_too_long {
            let extent = Extent { bytes: (whole.length + part.len()) as u64, ..Extent::default() };
            return out(Outcome::Skip(SkipReason::TooLong, extent), at.layers);
        }
        whole.text.extend_from_slice(part);
        let at = if whole.count > 0 { at.joined() } else { at };
        match String::from_utf8(whole.text) {
            Ok(text) => self.nested(&text, at, out),
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes());
                self.salvage(&text, SkipReason::NotUtf8, at, out);
            }
        }
    }
}

/// Whether a text begins with a time as etcd writes it: with a space before the clock, or a tab behind it. Containers'
/// lines have neither.
fn may_be_etcds(text: &str) -> bool {
    text.as_bytes().iter().take(40).find(|byte| byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'\t')
        || text.as_bytes().get(10) == Some(&b' ')
}

/// Whether a part can't go on with another: a line of klog or an event begins there.
fn is_start(part: &[u8]) -> bool {
    part.starts_with(START)
        || matches!(part.first(), Some(b'I' | b'W' | b'E' | b'F'))
            && std::str::from_utf8(&part[..part.len().min(LONGEST_HEADER)]).is_ok_and(klog::is_klog)
}

/// Whether a text is an object that lost its start.
pub(super) fn is_end_of_json(text: &str) -> bool {
    text.ends_with('}') && text.contains("\":")
}
