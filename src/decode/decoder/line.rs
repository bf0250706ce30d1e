//! Decodes text that is not JSON: lines of the apiserver's own log, text envelopes, and lines in parts.

use super::{Decoder, OutcomeSink, TextContext, is_headless};
use crate::decode::envelope::{Envelope, syslog};
use crate::decode::envelope_keys::timestamp_micros;
use crate::decode::foreign::Foreign;
use crate::decode::klog::{self, ClockContext};
use crate::decode::on_demand::START;
use crate::decode::outcome::{Extent, Layers, Outcome};
use crate::decode::prefix::{self, Prefixed};
use crate::decode::skip::SkipReason;

/// At most this many bytes of a part are searched for a klog header (time, thread, file and line).
const MAX_HEADER: usize = 200;

impl Decoder {
    pub(super) fn line(&mut self, text: &str, trimmed: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        // No klog line begins with a digit; lines of container runtimes do.
        let is_dated = trimmed.starts_with(|c: char| c.is_ascii_digit());
        if !is_dated && let Some(line) = klog::read(text) {
            let form = if trimmed.contains("verb=\"") { Envelope::HttpLog } else { Envelope::HttpLogOlder };
            return Self::klog(&line, trimmed, form, context, out);
        }
        if is_dated && !self.is_for_etcd && may_be_etcds(trimmed) && Self::etcd_start(trimmed, context, out) {
            return;
        }
        if context.layers.len() < Layers::MAX {
            match prefix::strip(trimmed) {
                Some(Prefixed::Line(envelope, line)) => {
                    let context = if self.is_for_etcd { context.dated_by(trimmed) } else { context };
                    return self.nested(line.rest, context.within(envelope, line.time), out);
                }
                Some(Prefixed::Cri(line)) => {
                    let context = context.within(Envelope::Cri, line.text.time);
                    if line.is_unfinished {
                        return self.part(line.stream, line.text.rest.as_bytes(), context, out);
                    }
                    if self.parts.is_open(line.stream) {
                        return self.last_part(line.stream, line.text.rest.as_bytes(), context, out);
                    }
                    return self.nested(line.text.rest, context, out);
                }
                Some(Prefixed::Legacy(event)) => {
                    return out(Outcome::Event(&event, None), context.layers.with(Envelope::Legacy));
                }
                None => {}
            }
        }
        if self.is_for_etcd {
            return Self::etcd_or_text(trimmed, context, out);
        }
        if syslog::is_banner(trimmed) {
            out(Outcome::Foreign(Foreign::Control), context.layers);
        } else if context.is_shared && !is_end_of_json(trimmed) {
            if !self.salvage_elements(trimmed, context, out) {
                out(Outcome::Foreign(Foreign::Text), context.layers);
            }
        } else if serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok() {
            context.skip(SkipReason::NotAnEvent, text, out);
        } else {
            self.salvage(trimmed, SkipReason::NotJson, context, out);
        }
    }

    pub(super) fn klog(
        line: &klog::KlogLine<'_>,
        text: &str,
        form: Envelope,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        let logged_at = || {
            let wrapper = context.time.and_then(timestamp_micros);
            line.clock.resolve(&ClockContext {
                wrapper,
                year: context.facts.year,
                file_time: context.facts.modified,
            })
        };
        match &line.kind {
            klog::KlogKind::Access(access) => {
                out(
                    Outcome::Access { line: access, text, logged_at: logged_at() },
                    context.layers.with(form),
                );
            }
            klog::KlogKind::Trace(fragment) => {
                out(Outcome::Trace(fragment), context.layers.with(Envelope::Trace));
            }
            klog::KlogKind::Start(version) => {
                out(Outcome::Start { version: *version, logged_at: logged_at() }, context.layers);
            }
            klog::KlogKind::Continuation => out(Outcome::Foreign(Foreign::Part), context.layers),
            klog::KlogKind::Other => out(Outcome::Foreign(Foreign::Klog), context.layers),
        }
    }

    /// Decodes the text of a string. The text may be another JSON string.
    pub(super) fn nested(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let text = text.trim_end_matches(['\n', '\r', '\0', ' ']);
        if !text.starts_with('"') || is_headless(text) {
            self.text(text, context, out);
        } else if context.layers.len() < Layers::MAX {
            self.string(text, context.within(Envelope::Collector, None), out);
        } else {
            context.skip(SkipReason::TooDeep, text, out);
        }
    }

    /// Keeps a part of a line until its next part arrives.
    pub(super) fn part(
        &mut self,
        stream: usize,
        part: &[u8],
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if is_start(part) {
            self.drop_unfinished_line(stream, out);
        }
        self.parts_at[stream] = context.layers;
        self.parts.add(stream, part, self.max_record);
    }

    /// Joins the last part of a line with the parts before it. If the last part looks like the start of a new line,
    /// it is decoded alone. The earlier parts then count as a truncated line.
    pub(super) fn last_part(
        &mut self,
        stream: usize,
        part: &[u8],
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if is_start(part) {
            self.drop_unfinished_line(stream, out);
        }
        let mut assembled = self.parts.take(stream).unwrap_or_default();
        for _ in 0..assembled.count {
            out(Outcome::Foreign(Foreign::Part), context.layers);
        }
        if assembled.is_too_long {
            let extent = Extent { bytes: (assembled.length + part.len()) as u64, ..Extent::default() };
            return out(Outcome::Skip(SkipReason::TooLong, extent), context.layers);
        }
        assembled.text.extend_from_slice(part);
        let context = if assembled.count > 0 { context.joined() } else { context };
        match String::from_utf8(assembled.text) {
            Ok(text) => self.nested(&text, context, out),
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes());
                self.salvage(&text, SkipReason::NotUtf8, context, out);
            }
        }
    }
}

/// Whether a text begins with a timestamp in etcd's format. This format has a space before the time of day, or a tab
/// after the timestamp. Lines of container runtimes have neither.
fn may_be_etcds(text: &str) -> bool {
    text.as_bytes().iter().take(40).find(|byte| byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'\t')
        || text.as_bytes().get(10) == Some(&b' ')
}

/// Whether a part begins a new line: it starts with a klog header or an audit event.
fn is_start(part: &[u8]) -> bool {
    part.starts_with(START)
        || matches!(part.first(), Some(b'I' | b'W' | b'E' | b'F'))
            && std::str::from_utf8(&part[..part.len().min(MAX_HEADER)]).is_ok_and(klog::is_klog)
}

/// Whether a text is the end of a JSON object whose start is lost.
pub(super) fn is_end_of_json(text: &str) -> bool {
    text.ends_with('}') && text.contains("\":")
}
