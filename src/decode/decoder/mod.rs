//! Opens envelopes until it finds an audit event, an access line or an entry of another log. It emits exactly one
//! [`Outcome`] for each entry of a record.

mod context;
mod etcd_line;
mod pieces;

pub(crate) use context::OutcomeSink;
pub use context::SourceFacts;

use context::{TextContext, cut_reason};
use etcd_line::{etcd_line, line_inside};
use pieces::{Gaps, Pieces, end_of, offset_of, start_of, unescaped_as_far_as_possible};

use super::envelope::{
    self, Content, CriLine, Envelope, Inner, JsonObject, Prefixed, Property, Stripped, audit, cri, docker,
    json, json_array, logs_insights, otlp, syslog, yaml,
};
use super::envelope_keys::{EnvelopeKeys, is_string, may_hold_event, timestamp_micros};
use super::etcd;
use super::foreign::Foreign;
use super::klog::{self, ClockContext};
use super::line_parts::LineParts;
use super::on_demand::{CachedCallers, EventFields, START};
use super::outcome::{Extent, Layers, Outcome};
use super::skip::SkipReason;
use super::unescape::unescape;
use super::unfinished_lines::UnfinishedLines;
use crate::input::{Record, RecordKind};
use crate::k8s::Event;

/// In bytes. After a longer record, the decoder frees its buffers and does not reuse them.
const MAX_REUSED_TEXT: usize = 1 << 20;
/// At most this many bytes of a part are searched for a klog header (time, thread, file and line).
const MAX_HEADER: usize = 200;
/// For each byte of damaged text, at most this many bytes are parsed. Clients choose what is in a log, so damaged text
/// must not be expensive.
const MAX_WORK_PER_BYTE: usize = 16;

/// Opens envelopes. Each worker has its own decoder, because the decoder keeps unfinished lines and reusable buffers
/// for nested strings.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The input format that the user requires. Entries in another format are skipped.
    required_format: Option<Layers>,
    /// True if the decoder reads etcd's log instead of the apiserver's.
    is_for_etcd: bool,
    /// The maximum length of a line joined from parts, in bytes.
    max_record: usize,
    /// For each nesting depth: true if the last object at that depth was an envelope and not an event. The decoder
    /// then tries an envelope first. The flag never changes an outcome.
    is_envelope_at: [bool; Layers::MAX + 1],
    buffers: [Vec<u8>; Layers::MAX + 1],
    /// The values of the current event's escaped fields, without escapes.
    unescaped: String,
    callers: CachedCallers,
    /// True if the last line passed to [`Decoder::locate`] was not in the log backend's format. Then the decoder does
    /// not try this format a second time on that line. It also does not try it first on the next line, because
    /// adjacent lines mostly have the same format. The flag never changes an outcome.
    is_last_line_nonstandard: bool,
    parts: LineParts,
    /// For each output stream: the envelopes around the last part that was read.
    parts_at: [Layers; 2],
    unfinished: UnfinishedLines,
    /// True while the decoder searches damaged text for whole events. The decoder then does not search inside these
    /// events again.
    is_salvaging: bool,
}

/// A record in the log backend's format, with the positions of its fields.
///
/// Events are decoded in batches: first the decoder locates the fields of several lines, then it emits one event after
/// another. The code for both steps does not fit into the processor's instruction cache. Without batches, the processor
/// fetches that code again for each event. Tests compare the outcomes with those of [`Decoder::record`].
#[derive(Debug)]
pub struct LocatedEvent<'r> {
    record: Record<'r>,
    text: &'r str,
    fields: EventFields,
}

impl Decoder {
    /// Creates a decoder of audit logs. Entries must have all envelopes in `required_format`. Without it, the decoder
    /// detects the envelopes of each entry.
    #[must_use]
    pub fn new(required_format: Option<Layers>, max_record: usize) -> Self {
        Self { required_format, max_record, ..Self::default() }
    }

    /// Creates a decoder of etcd's log. The log may have the same envelopes as an audit log. Lines of other programs
    /// have the same outcomes as in an audit log.
    #[must_use]
    pub fn for_etcd(max_record: usize) -> Self {
        Self { is_for_etcd: true, max_record, ..Self::default() }
    }

    /// Decodes a record. Returns true if the decoder replaced bytes that are not UTF-8, and still found an event or a
    /// log line.
    pub fn record(&mut self, record: &Record<'_>, facts: SourceFacts, out: OutcomeSink<'_>) -> bool {
        let required_format = self.required_format;
        let out: OutcomeSink<'_> =
            &mut |outcome, layers| out(with_required_format(required_format, outcome, layers), layers);
        let replaced = self.decode_record(record, facts, out);
        self.update_unfinished_lines(record, out);
        if record.bytes.len() > MAX_REUSED_TEXT {
            (self.buffers, self.unescaped) = Default::default();
        }
        replaced
    }

    /// Whether the decoder has an unfinished line and waits for its rest.
    #[must_use]
    pub(crate) fn has_pending_parts(&self) -> bool {
        (0..2).any(|stream| self.parts.is_open(stream) || self.unfinished.is_open(stream))
    }

    /// Informs the decoder about an event record that it does not decode now. An event ends all unfinished lines, so
    /// this function reports them as truncated.
    pub(crate) fn note_event(&mut self, record: &Record<'_>, out: OutcomeSink<'_>) {
        let required_format = self.required_format;
        self.update_unfinished_lines(record, &mut |outcome, layers| {
            out(with_required_format(required_format, outcome, layers), layers);
        });
    }

    /// Records whether this record is an unfinished line. Reports each earlier unfinished line that can no longer
    /// continue as truncated.
    fn update_unfinished_lines(&mut self, record: &Record<'_>, out: OutcomeSink<'_>) {
        match record.kind {
            RecordKind::Line => self.unfinished.line(record.bytes),
            RecordKind::Document | RecordKind::Element | RecordKind::Yaml => {
                self.unfinished = UnfinishedLines::default();
            }
        }
        for stream in 0..2 {
            if !self.unfinished.is_open(stream) {
                self.drop_unfinished_line(stream, out);
            }
        }
    }

    fn decode_record(&mut self, record: &Record<'_>, facts: SourceFacts, out: OutcomeSink<'_>) -> bool {
        let layers = match record.kind {
            RecordKind::Line => Layers::default(),
            RecordKind::Document => Layers::default().with(Envelope::Json),
            RecordKind::Element => Layers::default().with(Envelope::JsonArray),
            RecordKind::Yaml => Layers::default().with(Envelope::Yaml),
        };
        let context = TextContext::new(record.bytes, layers, facts);
        let bytes = trim_end(record.bytes);
        // One check for the whole record is faster than serde_json's check of each string.
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            self.decode_text(record.kind, text, context, out);
            return false;
        }
        if let Some((stream, is_unfinished, part)) = cri::torn_part(bytes)
            && (is_unfinished || self.parts.is_open(stream))
        {
            // A container runtime counts bytes to cut a line, so it may cut inside a character.
            let context = context.within(Envelope::Cri, None);
            if is_unfinished {
                self.part(stream, part, context, out);
            } else {
                self.last_part(stream, part, context, out);
            }
            return false;
        }
        if is_binary(bytes) {
            let extent = Extent { bytes: bytes.len() as u64, ..Extent::default() };
            out(Outcome::Skip(SkipReason::NotUtf8, extent), context.layers);
            return false;
        }
        let (required_format, mut replaced) = (self.required_format, false);
        let text =
            if bytes.len() > MAX_REUSED_TEXT { lossy(bytes).into() } else { String::from_utf8_lossy(bytes) };
        self.decode_text(record.kind, &text, context, &mut |outcome, layers| {
            let outcome = with_required_format(required_format, outcome, layers);
            replaced |= matches!(outcome, Outcome::Event(..) | Outcome::Access { .. } | Outcome::Etcd { .. });
            let outcome = match outcome {
                Outcome::Skip(reason, extent) if reason != SkipReason::OtherFormat => {
                    Outcome::Skip(SkipReason::NotUtf8, extent)
                }
                outcome => outcome,
            };
            out(outcome, layers);
        });
        replaced
    }

    /// Reports all unfinished lines as skipped, at the end of a source.
    pub fn finish(&mut self, out: OutcomeSink<'_>) {
        let required_format = self.required_format;
        self.unfinished = UnfinishedLines::default();
        for stream in 0..2 {
            self.drop_unfinished_line(stream, &mut |outcome, layers| {
                out(with_required_format(required_format, outcome, layers), layers);
            });
        }
    }

    /// Reports an unfinished line as truncated, because its rest is lost.
    fn drop_unfinished_line(&mut self, stream: usize, out: OutcomeSink<'_>) {
        if let Some(assembled) = self.parts.take(stream) {
            let layers = self.parts_at[stream];
            for _ in 1..assembled.count {
                out(Outcome::Foreign(Foreign::Part), layers);
            }
            let extent = Extent { bytes: assembled.length as u64, ..Extent::default() };
            out(Outcome::Skip(SkipReason::Truncated, extent), layers);
        }
    }

    /// Locates the fields of a record in exactly the log backend's format. Appends the record to `located`. The caller
    /// must emit the batch before it decodes any other record. Returns false for a record in any other format; the
    /// caller then decodes it with [`Decoder::record`].
    pub(crate) fn locate<'r>(
        &mut self,
        record: Record<'r>,
        located: &mut Vec<LocatedEvent<'r>>,
        out: OutcomeSink<'_>,
    ) -> bool {
        let may_be = record.kind == RecordKind::Line && !self.is_for_etcd && record.bytes.starts_with(START);
        if !may_be || std::mem::take(&mut self.is_last_line_nonstandard) {
            return false;
        }
        let Ok(text) = simdutf8::basic::from_utf8(trim_end(record.bytes)) else { return false };
        let own = located.push_mut(LocatedEvent { record, text, fields: EventFields::default() });
        if own.fields.find_in_server_order(text, &mut self.callers).is_none() {
            located.pop();
            self.is_last_line_nonstandard = true;
            return false;
        }
        // This record is an event and not a container line, so it ends all unfinished lines.
        self.note_event(&record, out);
        true
    }

    /// Emits all located events, each with its record, and empties the batch.
    pub(crate) fn decode_located<'r>(
        &mut self,
        located: &mut Vec<LocatedEvent<'r>>,
        facts: SourceFacts,
        out: &mut dyn FnMut(&Record<'r>, Outcome<'_>, Layers),
    ) {
        let required_format = self.required_format;
        for LocatedEvent { record, text, fields } in &mut *located {
            let out: OutcomeSink<'_> = &mut |outcome, layers| {
                out(record, with_required_format(required_format, outcome, layers), layers);
            };
            let context = TextContext::new(record.bytes, Layers::default(), facts);
            if !self.event_of(Some(fields), text, context, out) {
                self.open_object(text, context, out);
            }
        }
        located.clear();
    }

    fn decode_text(&mut self, kind: RecordKind, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        if kind == RecordKind::Yaml {
            match yaml::to_json(text) {
                Some(json) => self.text(&json, context, out),
                None => self.salvage_yaml(text, context, out),
            }
        } else if self.is_for_etcd && crate::decode::etcd::warns(text) {
            self.warning(text, context, out);
        } else {
            self.text(text, context, out);
        }
    }

    fn text(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        // The fast path: most texts are JSON objects.
        if text.starts_with('{') && !self.is_for_etcd {
            return self.object(text, context, out);
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start_matches('\0');
        let trimmed = text.trim_ascii_start();
        if self.is_for_etcd && Self::etcd(trimmed, context, out) {
            return;
        }
        match trimmed.as_bytes().first() {
            // This is an empty line inside a klog value of several lines.
            None if text.starts_with('\t') => out(Outcome::Foreign(Foreign::Part), context.layers),
            None => context.skip(SkipReason::Blank, text, out),
            Some(b'{') => self.object(trimmed, context, out),
            Some(b'"') if context.layers.len() < Layers::MAX && !is_headless(trimmed) => {
                self.string(trimmed.trim_end(), context, out);
            }
            Some(b'[') if context.layers.len() < Layers::MAX => self.array(text, trimmed, context, out),
            Some(_) => self.line(text, trimmed, context, out),
        }
    }

    fn object(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        if self.is_envelope_at[context.layers.len()] || !self.event(text, context, out) {
            self.open_object(text, context, out);
        }
    }

    /// Opens an object as an envelope. The caller has already tried to decode it as an event, with one exception: the
    /// last object at this depth was an envelope. In that case, this function also tries to decode it as an event.
    fn open_object(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let was_wrapped = self.is_envelope_at[context.layers.len()];
        let error = match serde_json::from_str::<EnvelopeKeys<'_>>(text) {
            Ok(keys) => {
                let is_event = was_wrapped && keys.audit_id.is_some() && keys.stage.is_some();
                if is_event && self.event(text, context, out) {
                    self.is_envelope_at[context.layers.len()] = false;
                } else {
                    self.envelope(text, &keys, context, out);
                }
                return;
            }
            Err(error) => error,
        };
        // `EnvelopeKeys` checks the whole JSON, but the event decoder checks only the fields that it needs. So the
        // event is not lost if another field is damaged.
        if was_wrapped && self.event(text, context, out) {
            self.is_envelope_at[context.layers.len()] = false;
        } else if error.is_eof() {
            self.salvage(text, cut_reason(text, context), context, out);
        } else if error.is_data() {
            context.skip(SkipReason::WrongType, text, out);
        } else {
            self.several(text, context, out);
        }
    }

    /// Emits an object that is an audit event. Returns false if it is not one.
    fn event(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        let mut fields = if self.is_last_line_nonstandard && context.layers.is_empty() {
            EventFields::in_any_order(text)
        } else {
            EventFields::find(text, &mut self.callers)
        };
        self.event_of(fields.as_mut(), text, context, out)
    }

    /// Like [`Decoder::event`], with fields that were already located.
    fn event_of(
        &mut self,
        fields: Option<&mut EventFields>,
        text: &str,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) -> bool {
        let event = match fields.and_then(|fields| fields.event(text, &mut self.unescaped)) {
            Some(event) => event,
            None => match serde_json::from_str(text) {
                Ok(event) => event,
                Err(_) => return false,
            },
        };
        let is_event = audit::is_event(&event);
        if is_event {
            out(Outcome::Event(&event, Some(text)), context.layers.with(Envelope::of_event(&event)));
        }
        is_event
    }

    fn envelope(
        &mut self,
        text: &str,
        keys: &EnvelopeKeys<'_>,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if context.layers.len() >= Layers::MAX {
            return context.skip(SkipReason::TooDeep, text, out);
        }
        if keys.klog_message.is_some()
            && let Some(line) = klog::read(text)
        {
            return Self::klog(&line, text, Envelope::HttpLogJson, context, out);
        }
        let Some((envelope, payload)) =
            envelope::open(&JsonObject { text, keys, is_in_stream: context.layers.contains(Envelope::Json) })
        else {
            return self.unknown(text, keys, context, out);
        };
        self.is_envelope_at[context.layers.len()] = true;
        let context = context.within(envelope, None);
        match payload {
            Content::Foreign(foreign) => out(Outcome::Foreign(foreign), context.layers),
            // An entry of Google Cloud may have no audit ID: users often remove its `insertId` before they share a
            // log.
            Content::Event(event) if audit::is_event(&event) || envelope == Envelope::Gke => {
                out(Outcome::Event(&event, None), context.layers);
            }
            Content::Event(_) => context.skip(SkipReason::NotAnEvent, text, out),
            Content::Values(values) if values.is_empty() => {
                out(Outcome::Foreign(Foreign::Empty), context.layers);
            }
            Content::Values(values) => values.into_iter().for_each(|inner| self.inner(inner, context, out)),
            Content::Elements(array, of) => {
                let take = &mut |value| self.inner(of(value), context, out);
                if matches!(json_array::each_of(array.get(), take), Ok(0) | Err(_)) {
                    out(Outcome::Foreign(Foreign::Empty), context.layers);
                }
            }
            Content::Line { inner, stream } => self.docker(inner, stream, context, out),
        }
    }

    /// Decodes an object that is neither an event nor an envelope. The object may be an envelope with a damaged key;
    /// then its elements may still be whole.
    fn unknown(
        &mut self,
        text: &str,
        keys: &EnvelopeKeys<'_>,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        let record = otlp::record(text).map(|inner| (Envelope::Otlp, inner));
        let element = record.or_else(|| Some((Envelope::LogsInsights, logs_insights::field(text)?)));
        if let Some((envelope, inner)) = element {
            return self.inner(inner, context.within(envelope, None), out);
        }
        let looks_like_an_event = keys.audit_id.is_some() && keys.stage.is_some();
        match (looks_like_an_event, context.is_shared) {
            (true, _) if serde_json::from_str::<Event<'_>>(text).is_err() => {
                context.skip(SkipReason::WrongType, text, out);
            }
            (true, _) => context.skip(SkipReason::NotAnEvent, text, out),
            (false, _) if !self.is_for_etcd && Self::etcd_start(text, context, out) => {}
            (false, is_shared) => {
                let is_salvaged = self.salvage_elements(text, context, out);
                match is_shared {
                    _ if is_salvaged => {}
                    true => out(Outcome::Foreign(Foreign::Json), context.layers),
                    false => context.skip(SkipReason::NotAnEvent, text, out),
                }
            }
        }
    }

    fn inner(&mut self, inner: Inner<'_>, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let context = TextContext { time: inner.time.or(context.time), ..context };
        if is_string(inner.value) {
            self.string(inner.value.get(), context, out);
        } else {
            self.text(inner.value.get(), context, out);
        }
    }

    /// Decodes a JSON string that contains an event, a log line or another envelope.
    fn string(&mut self, raw: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let context = if context.layers.is_empty() { context.within(Envelope::Json, None) } else { context };
        self.with_unescaped(raw, context, out, |decoder, text, context, out| {
            decoder.nested(text, context, out);
        });
    }

    /// Removes the escapes of a JSON string and passes the text to `then`. Skips a string that is incomplete or
    /// invalid.
    fn with_unescaped(
        &mut self,
        raw: &str,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
        then: impl FnOnce(&mut Self, &str, TextContext<'_>, OutcomeSink<'_>),
    ) {
        let depth = context.layers.len();
        let context = context.within_string(raw);
        let mut buffer = std::mem::take(&mut self.buffers[depth]);
        buffer.clear();
        let body = raw.get(1..).unwrap_or_default();
        let end = unescape(body, &mut buffer);
        let complete = end.filter(|end| end + 1 == body.len());
        if let Some(text) = complete.and_then(|_| simdutf8::basic::from_utf8(&buffer).ok()) {
            then(self, text, context, out);
        } else {
            let is_cut = end.is_none() && !body.ends_with('"');
            let reason = if is_cut { cut_reason(raw, context) } else { SkipReason::NotJson };
            self.salvage_string(raw, reason, context, out);
        }
        self.buffers[depth] = buffer;
    }

    fn docker(&mut self, inner: Inner<'_>, stream: usize, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let context = TextContext { time: inner.time, ..context };
        self.with_unescaped(inner.value.get(), context, out, |decoder, text, context, out| {
            decoder.container_line(stream, text, docker::is_unfinished(text), context, out);
        });
    }

    /// Decodes a line of a container's output. Keeps a part of a line until its next part arrives.
    fn container_line(
        &mut self,
        stream: usize,
        text: &str,
        is_unfinished: bool,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if is_unfinished {
            self.part(stream, text.as_bytes(), context, out);
        } else if self.parts.is_open(stream) {
            self.last_part(stream, text.as_bytes(), context, out);
        } else {
            self.nested(text, context, out);
        }
    }

    fn array(&mut self, text: &str, trimmed: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let inside = context.within(Envelope::JsonArray, None);
        match json_array::each(trimmed, &mut |value| self.inner(Inner { value, time: None }, inside, out)) {
            Ok(0) => out(Outcome::Foreign(Foreign::Empty), context.layers),
            Ok(_) => {}
            Err(error) if error.is_eof() && trimmed[1..].starts_with(['{', '[', '"']) => {
                self.salvage(trimmed, cut_reason(trimmed, context), context, out);
            }
            Err(_) => self.line(text, trimmed, context, out),
        }
    }

    /// Decodes several JSON values on one line: values without line feeds between them.
    fn several(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let mut end = 0;
        for value in json::values(text) {
            match value {
                Ok(value) if value.get().len() < text.len() && context.layers.len() < Layers::MAX => {
                    end = end_of(value.get(), text);
                    self.inner(Inner { value, time: None }, context, out);
                }
                Err(error) if end > 0 && error.is_eof() => {
                    return self.salvage(&text[end..], SkipReason::Truncated, context, out);
                }
                _ => return self.salvage(&text[end..], SkipReason::NotJson, context, out),
            }
        }
    }

    fn line(&mut self, text: &str, trimmed: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        // Lines of container runtimes begin with a digit, but klog lines do not.
        let is_dated = trimmed.starts_with(|c: char| c.is_ascii_digit());
        if !is_dated && let Some(line) = klog::read(text) {
            let form = if trimmed.contains("verb=\"") { Envelope::HttpLog } else { Envelope::HttpLogOlder };
            return Self::klog(&line, trimmed, form, context, out);
        }
        if is_dated && !self.is_for_etcd && may_be_etcds(trimmed) && Self::etcd_start(trimmed, context, out) {
            return;
        }
        if context.layers.len() < Layers::MAX {
            match envelope::strip(trimmed) {
                Some((envelope, Prefixed::Line(line))) => {
                    let context = if self.is_for_etcd { context.dated_by(trimmed) } else { context };
                    return self.nested(line.rest, context.within(envelope, line.time), out);
                }
                Some((envelope, Prefixed::Cri(line))) => {
                    let CriLine { text: Stripped { rest, time }, stream, is_unfinished } = line;
                    let context = context.within(envelope, time);
                    return self.container_line(stream, rest, is_unfinished, context, out);
                }
                Some((envelope, Prefixed::Legacy(event))) => {
                    return out(Outcome::Event(&event, None), context.layers.with(envelope));
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

    fn klog(
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
    fn nested(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
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
    fn part(&mut self, stream: usize, part: &[u8], context: TextContext<'_>, out: OutcomeSink<'_>) {
        if is_start(part) {
            self.drop_unfinished_line(stream, out);
        }
        self.parts_at[stream] = context.layers;
        self.parts.add(stream, part, self.max_record);
    }

    /// Decodes the last part of a line, joined with the parts before it. If the last part looks like the start of a
    /// new line, it is decoded alone. The earlier parts then count as a truncated line.
    fn last_part(&mut self, stream: usize, part: &[u8], context: TextContext<'_>, out: OutcomeSink<'_>) {
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

    /// Emits a line of etcd's log, with or without a timestamp of CloudWatch Logs before it. Returns false for any
    /// other text.
    fn etcd(text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        if let Some(result) = etcd::read(text) {
            etcd_line(result, text, context, out);
            return true;
        }
        // Try this before the other envelopes: `aws_logs_tail` would take the date of an etcd line for the name of a
        // log stream.
        match envelope::after_timestamp(text).and_then(|(time, rest)| Some((time, etcd::read(rest)?))) {
            Some((time, result)) if context.layers.len() < Layers::MAX => {
                etcd_line(result, text, context.within(Envelope::CloudwatchExport, Some(time)), out);
                true
            }
            _ => false,
        }
    }

    /// Emits an etcd start line that states etcd's version. Such lines also occur in the logs of other programs.
    /// Returns false for any other text.
    fn etcd_start(text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
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
    /// the entry for the etcd line. If it finds none, the entry counts as skipped and not as foreign.
    fn warning(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
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
        match line_inside(text) {
            Some(inner) if !has_etcd_line => match etcd::read(&inner) {
                Some(result) => etcd_line(result, text, context, out),
                None => TextContext { layers, ..context }.skip(reason, text, out),
            },
            _ => TextContext { layers, ..context }.skip(reason, text, out),
        }
    }

    /// Decodes a line of etcd's log that has an unknown prefix. Other text counts as foreign, because shells and
    /// wrappers write to the same file. There is one exception: a text that looks like the end of a JSON object is
    /// skipped as damaged.
    fn etcd_or_text(text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        match etcd::find(text) {
            Some(result) => etcd_line(result, text, context, out),
            None if is_end_of_json(text) => context.skip(SkipReason::NotJson, text, out),
            None => out(Outcome::Foreign(Foreign::Text), context.layers),
        }
    }

    /// Emits the whole events of a damaged text, and skips the rest.
    fn salvage(&mut self, text: &str, reason: SkipReason, context: TextContext<'_>, out: OutcomeSink<'_>) {
        if !self.pieces(text, reason, Pieces::Any, context, out) {
            context.skip(reason, text, out);
        }
    }

    /// Emits the events that are array elements in a text that is not an envelope. Returns false if it finds none.
    fn salvage_elements(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        self.pieces(text, SkipReason::NotAnEvent, Pieces::Elements, context, out)
    }

    /// Like [`Decoder::salvage`], for a JSON string with damaged escapes.
    fn salvage_string(
        &mut self,
        raw: &str,
        reason: SkipReason,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if self.is_salvaging || !may_hold_event(raw) {
            return context.skip(reason, raw, out);
        }
        // The text may be an object with a damaged first byte, which happens to be a quote.
        if !self.pieces(raw, reason, Pieces::Any, context, out) {
            let text = unescaped_as_far_as_possible(raw);
            if !self.pieces(&text, reason, Pieces::Any, context, out) {
                context.skip(reason, raw, out);
            }
        }
    }

    /// Like [`Decoder::salvage`], for a YAML document: it decodes each item of the outermost list.
    fn salvage_yaml(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let items = yaml::items(text);
        if items.is_empty() || !may_hold_event(text) {
            return context.skip(SkipReason::NotYaml, text, out);
        }
        for item in items {
            match yaml::to_json(item) {
                Some(json) => self.text(&json, context.joined(), out),
                None => context.skip(SkipReason::NotYaml, item, out),
            }
        }
    }

    /// Emits the events of a text, and skips the text between them. Returns true if it found at least one event.
    fn pieces(
        &mut self,
        text: &str,
        reason: SkipReason,
        pieces: Pieces,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) -> bool {
        if self.is_salvaging || context.layers.len() >= Layers::MAX || !may_hold_event(text) {
            return false;
        }
        let inside = self.only_batch(context);
        self.is_salvaging = true;
        let mut gaps = Gaps { text, end: 0, lost: Vec::new() };
        let (mut from, mut work) = (0, MAX_WORK_PER_BYTE * text.len());
        while let Some(brace) = memchr::memchr(b'{', &text.as_bytes()[from..]).filter(|_| work > 0) {
            let brace = from + brace;
            from = brace + 1;
            let Some(start) = start_of(text, brace, pieces) else { continue };
            let piece = match json::values(&text[start..]).next() {
                Some(Ok(value)) => value.get(),
                Some(Err(error)) => {
                    work = work.saturating_sub(offset_of(&error, &text[start..]));
                    continue;
                }
                None => continue,
            };
            work = work.saturating_sub(piece.len());
            if self.piece(piece, inside, out) {
                from = start + piece.len();
                gaps.piece(start, from);
            }
        }
        self.is_salvaging = false;
        if gaps.end == 0 {
            return false;
        }
        gaps.give(reason, context, out);
        true
    }

    /// Emits the outcomes of an object or string that contains an event. Returns false if it contains none.
    fn piece(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        let (mut has_event, mut others) = (false, Vec::new());
        self.text(text, context, &mut |outcome, layers| match outcome {
            Outcome::Skip(reason, extent) => others.push((Outcome::Skip(reason, extent), layers)),
            Outcome::Foreign(kind) => others.push((Outcome::Foreign(kind), layers)),
            read => {
                has_event = true;
                out(read, layers);
            }
        });
        if has_event {
            for (outcome, layers) in others {
                out(outcome, layers);
            }
        }
        has_event
    }

    /// Adds the batch format that the user requires to the envelopes. If the start of a damaged batch is lost, its
    /// elements look as if they had another format. Without this function, they would not count.
    fn only_batch<'t>(&self, context: TextContext<'t>) -> TextContext<'t> {
        let named = self.required_format.iter().flat_map(|required_format| required_format.iter());
        named
            .filter(|envelope| envelope.has(Property::Batch) && !context.layers.contains(*envelope))
            // Only `layers` changes here. `is_shared` would turn damaged elements into foreign ones.
            .fold(context, |context, envelope| TextContext {
                layers: context.layers.with(envelope),
                ..context
            })
    }
}

/// Changes an outcome to a skip if its format is not the format that the user requires.
fn with_required_format(
    required_format: Option<Layers>,
    outcome: Outcome<'_>,
    layers: Layers,
) -> Outcome<'_> {
    let other = required_format
        .is_some_and(|required_format| !required_format.iter().all(|envelope| layers.contains(envelope)));
    if other && !has_no_format(&outcome) {
        Outcome::Skip(SkipReason::OtherFormat, Extent::default())
    } else {
        outcome
    }
}

/// Whether an entry is a blank line or a part of a line. Such an entry has no input format, so it fits any format
/// that the user requires.
fn has_no_format(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Outcome::Skip(SkipReason::Blank, _) | Outcome::Foreign(Foreign::Part))
}

/// Whether a text is an access line of a server with `--skip-headers`. Such a line begins with a quote, but is not a
/// JSON string.
fn is_headless(text: &str) -> bool {
    text.starts_with("\"HTTP\" ")
}

/// Whether the bytes are binary data rather than damaged text: more than one byte in 16 is a control character. NUL
/// does not count, because file systems fill holes with it.
fn is_binary(bytes: &[u8]) -> bool {
    let is_control = |byte: &&u8| matches!(**byte, 1..=8 | 11 | 12 | 14..=31 | 127);
    bytes.iter().filter(is_control).count() > bytes.len() / 16
}

/// Like [`String::from_utf8_lossy`], but allocates once. The standard function moves a long text several times.
fn lossy(bytes: &[u8]) -> String {
    const REPLACEMENT: &str = "\u{fffd}";
    let length = |chunk: std::str::Utf8Chunk<'_>| {
        chunk.valid().len() + if chunk.invalid().is_empty() { 0 } else { REPLACEMENT.len() }
    };
    let mut text = String::with_capacity(bytes.utf8_chunks().map(length).sum());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push_str(REPLACEMENT);
        }
    }
    text
}

/// Removes line ends and NUL bytes at the end. File systems fill files with NUL after a crash.
fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| !matches!(*b, 0 | b'\r' | b'\n')).map_or(0, |last| last + 1);
    &bytes[..end]
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
fn is_end_of_json(text: &str) -> bool {
    text.ends_with('}') && text.contains("\":")
}

#[cfg(test)]
mod tests;
