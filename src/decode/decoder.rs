//! From a record to what it holds: envelopes are opened until an event, an access line or something of another log
//! comes out. Each entry of each record comes out once, as one [`Outcome`].

use super::envelope::{
    Content, Envelope, Inner, audit, azure_parsed, azure_record, azure_records, azure_table,
    cloudwatch_subscription, collector, cri, docker, event_list, firehose, gke, json, json_array,
    logs_insights, otlp, syslog, yaml,
};
use super::klog::{self, ClockContext};
use super::outcome::{Foreign, Layers, Outcome};
use super::outer::{Outer, is_string};
use super::parts::Parts;
use super::prefix::{self, Prefixed};
use super::skip::SkipReason;
use super::unescape::unescape;
use crate::input::{Part, Record};
use crate::k8s::{Event, timestamp};

/// Takes what a record holds.
pub type Out<'o> = &'o mut dyn FnMut(Outcome<'_>, Layers);

/// The length above which an entry of CloudWatch Logs that ends in the middle was cut by it, in bytes: 256 KB with
/// the 26 bytes that it adds.
///
/// Source: Amazon CloudWatch Logs quotas, "Event size".
const CLOUDWATCH_CUT: usize = 262_144 - 26;

/// What is known of a source beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceFacts {
    /// The year that the user states for lines that have none.
    pub year: Option<i32>,
    /// When the file was last written to, in microseconds since 1970.
    pub modified: Option<i64>,
}

/// Opens envelopes. One for each worker: it keeps the memory that strings in strings need, and the parts of lines
/// that are not whole yet.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The form that the user names; others are skipped.
    only: Option<Layers>,
    /// The longest line that is put together from parts, in bytes.
    max_record: usize,
    /// By depth: the last object was an envelope and no event. What is tried first changes no outcome.
    wrapped: [bool; Layers::MAX + 1],
    buffers: [String; Layers::MAX + 1],
    parts: Parts,
    parts_at: Layers,
}

/// Where in a record a text stands.
#[derive(Debug, Clone, Copy)]
struct At<'t> {
    layers: Layers,
    /// The innermost envelope's instant.
    time: Option<&'t str>,
    facts: SourceFacts,
}

impl<'t> At<'t> {
    fn within(self, envelope: Envelope, time: Option<&'t str>) -> Self {
        Self { layers: self.layers.with(envelope), time: time.or(self.time), ..self }
    }

    fn is_shared(&self) -> bool {
        self.layers.iter().any(Envelope::is_shared)
    }
}

impl Decoder {
    /// A decoder. `only` names what must be among the envelopes of what is read; without it each record is told by its content.
    #[must_use]
    pub fn new(only: Option<Layers>, max_record: usize) -> Self {
        Self { only, max_record, ..Self::default() }
    }

    /// Hands over what a record holds. True if bytes of it that are no UTF-8 were replaced.
    pub fn record(&mut self, record: &Record<'_>, facts: SourceFacts, out: Out<'_>) -> bool {
        let layers = match record.part {
            Part::Line => Layers::default(),
            Part::Document => Layers::default().with(Envelope::Json),
            Part::Element => Layers::default().with(Envelope::JsonArray),
            Part::Yaml => Layers::default().with(Envelope::Yaml),
        };
        let at = At { layers, time: None, facts };
        let bytes = trim_end(record.bytes);
        // Checked once for the whole record, and faster than serde_json does it string by string.
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            self.enter(record.part, text, at, out);
            return false;
        }
        if let Some((stream, goes_on, part)) = cri::torn_part(bytes)
            && (goes_on || self.parts.is_open(stream))
        {
            // A runtime cuts lines at a number of bytes, perhaps in the middle of a letter.
            let at = at.within(Envelope::Cri, None);
            if goes_on {
                self.parts_at = at.layers;
                self.parts.add(stream, part, self.max_record);
            } else {
                self.last_part(stream, part, at, out);
            }
            return false;
        }
        let mut replaced = false;
        let text = String::from_utf8_lossy(bytes);
        self.enter(record.part, &text, at, &mut |outcome, layers| {
            replaced |= matches!(outcome, Outcome::Event(_) | Outcome::Access { .. });
            let outcome = match outcome {
                Outcome::Skip(_) => Outcome::Skip(SkipReason::NotUtf8),
                whole => whole,
            };
            out(outcome, layers);
        });
        replaced
    }

    /// Hands over what is left of lines whose last part did not come.
    pub fn finish(&mut self, out: Out<'_>) {
        for stream in 0..2 {
            if let Some(whole) = self.parts.take(stream) {
                for _ in 1..whole.count {
                    out(Outcome::Foreign(Foreign::Part), self.parts_at);
                }
                out(Outcome::Skip(SkipReason::Truncated), self.parts_at);
            }
        }
    }

    fn enter(&mut self, part: Part, text: &str, at: At<'_>, out: Out<'_>) {
        let only = self.only;
        let mut checked = |outcome: Outcome<'_>, layers: Layers| {
            let other = only.is_some_and(|only| !only.iter().all(|envelope| layers.contains(envelope)));
            out(
                if other && !is_no_form(&outcome) { Outcome::Skip(SkipReason::OtherFormat) } else { outcome },
                layers,
            );
        };
        let out: Out<'_> = if only.is_some() { &mut checked } else { out };
        if part == Part::Yaml {
            match yaml::to_json(text) {
                Some(json) => self.text(&json, at, out),
                None => out(Outcome::Skip(SkipReason::NotYaml), at.layers),
            }
        } else {
            self.text(text, at, out);
        }
    }

    fn text(&mut self, text: &str, at: At<'_>, out: Out<'_>) {
        let trimmed = trim_start(text);
        match trimmed.as_bytes().first() {
            // An empty line of a value that goes over several.
            None if text.starts_with('\t') => out(Outcome::Foreign(Foreign::Part), at.layers),
            None => out(Outcome::Skip(SkipReason::Blank), at.layers),
            Some(b'{') => self.object(trimmed, at, out),
            Some(b'"') if at.layers.len() < Layers::MAX => self.string(trimmed, at, out),
            Some(b'[') if at.layers.len() < Layers::MAX => self.array(text, trimmed, at, out),
            Some(_) => self.line(text, trimmed, at, out),
        }
    }

    fn object(&mut self, text: &str, at: At<'_>, out: Out<'_>) {
        let depth = at.layers.len();
        if !self.wrapped[depth] && self.event(text, at, out) {
            return;
        }
        match serde_json::from_str::<Outer<'_>>(text) {
            Ok(outer) => {
                if self.wrapped[depth]
                    && outer.audit_id.is_some()
                    && outer.stage.is_some()
                    && self.event(text, at, out)
                {
                    self.wrapped[depth] = false;
                } else {
                    self.envelope(text, &outer, at, out);
                }
            }
            Err(error) if error.is_eof() => out(Outcome::Skip(cut_reason(text, at)), at.layers),
            Err(error) if error.is_data() => out(Outcome::Skip(SkipReason::WrongType), at.layers),
            Err(_) => self.several(text, at, out),
        }
    }

    /// Hands over an object that is an audit event; false if it is none.
    #[allow(clippy::unused_self, reason = "reads as the others do")]
    fn event(&mut self, text: &str, at: At<'_>, out: Out<'_>) -> bool {
        match serde_json::from_str::<Event<'_>>(text) {
            Ok(event) if audit::is_event(&event) => {
                let layers = at.layers.with(audit::form(&event));
                out(Outcome::Event(event), layers);
                true
            }
            _ => false,
        }
    }

    fn envelope(&mut self, text: &str, outer: &Outer<'_>, at: At<'_>, out: Out<'_>) {
        if at.layers.len() >= Layers::MAX {
            return out(Outcome::Skip(SkipReason::TooDeep), at.layers);
        }
        if outer.klog_message.is_some()
            && let Some(line) = klog::read(text)
        {
            return Self::klog(&line, Envelope::HttpLogJson, at, out);
        }
        let Some((envelope, content)) = open(text, outer, at.layers) else {
            let looks_like_an_event = outer.audit_id.is_some() && outer.stage.is_some();
            return out(
                match (looks_like_an_event, at.is_shared()) {
                    (true, _) if serde_json::from_str::<Event<'_>>(text).is_err() => {
                        Outcome::Skip(SkipReason::WrongType)
                    }
                    (false, true) => Outcome::Foreign(Foreign::Json),
                    _ => Outcome::Skip(SkipReason::NotAnEvent),
                },
                at.layers,
            );
        };
        self.wrapped[at.layers.len()] = true;
        let at = at.within(envelope, None);
        match content {
            Content::Foreign(foreign) => out(Outcome::Foreign(foreign), at.layers),
            // Google's insertId is often scrubbed.
            Content::Event(event) if audit::is_event(&event) || envelope == Envelope::Gke => {
                out(Outcome::Event(*event), at.layers);
            }
            Content::Event(_) => out(Outcome::Skip(SkipReason::NotAnEvent), at.layers),
            Content::Values(values) if values.is_empty() => out(Outcome::Foreign(Foreign::Empty), at.layers),
            Content::Values(values) => values.into_iter().for_each(|inner| self.inner(inner, at, out)),
            Content::Elements(array, of) => {
                let take = &mut |value| self.inner(of(value), at, out);
                if matches!(json_array::each_of(array.get(), take), Ok(0) | Err(_)) {
                    out(Outcome::Foreign(Foreign::Empty), at.layers);
                }
            }
            Content::Line { inner, stream } => self.docker(inner, stream, at, out),
        }
    }

    fn inner(&mut self, inner: Inner<'_>, at: At<'_>, out: Out<'_>) {
        let at = At { time: inner.time.or(at.time), ..at };
        if is_string(inner.value) {
            self.string(inner.value.get(), at, out)
        } else {
            self.text(inner.value.get(), at, out)
        }
    }

    /// A JSON string that holds the next layer.
    fn string(&mut self, raw: &str, at: At<'_>, out: Out<'_>) {
        let depth = at.layers.len();
        let mut buffer = std::mem::take(&mut self.buffers[depth]);
        buffer.clear();
        if raw.len() < 2 || !raw.ends_with('"') {
            self.buffers[depth] = buffer;
            return out(Outcome::Skip(cut_reason(raw, at)), at.layers);
        }
        match unescape(raw, &mut buffer) {
            Ok(()) if at.layers.is_empty() => self.nested(&buffer, at.within(Envelope::Json, None), out),
            Ok(()) => self.nested(&buffer, at, out),
            Err(_) => out(Outcome::Skip(SkipReason::NotJson), at.layers),
        }
        self.buffers[depth] = buffer;
    }

    /// The text of a string, which may be a string again.
    fn nested(&mut self, text: &str, at: At<'_>, out: Out<'_>) {
        let text = text.trim_end_matches(['\n', '\r', '\0', ' ']);
        if !text.starts_with('"') {
            self.text(text, at, out);
        } else if at.layers.len() < Layers::MAX {
            self.string(text, at.within(Envelope::Collector, None), out);
        } else {
            out(Outcome::Skip(SkipReason::TooDeep), at.layers);
        }
    }

    fn docker(&mut self, inner: Inner<'_>, stream: usize, at: At<'_>, out: Out<'_>) {
        let mut buffer = std::mem::take(&mut self.buffers[at.layers.len()]);
        buffer.clear();
        let at = At { time: inner.time, ..at };
        if unescape(inner.value.get(), &mut buffer).is_err() {
            out(Outcome::Skip(SkipReason::NotJson), at.layers);
        } else if docker::goes_on(&buffer) {
            self.parts_at = at.layers;
            self.parts.add(stream, buffer.as_bytes(), self.max_record);
        } else if self.parts.is_open(stream) {
            self.last_part(stream, buffer.as_bytes(), at, out);
        } else {
            self.nested(&buffer, at, out);
        }
        self.buffers[at.layers.len()] = buffer;
    }

    /// A line, with what came of it in parts before.
    fn last_part(&mut self, stream: usize, part: &[u8], at: At<'_>, out: Out<'_>) {
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

    fn array(&mut self, text: &str, trimmed: &str, at: At<'_>, out: Out<'_>) {
        let inside = at.within(Envelope::JsonArray, None);
        match json_array::each(trimmed, &mut |value| self.inner(Inner { value, time: None }, inside, out)) {
            Ok(0) => out(Outcome::Foreign(Foreign::Empty), at.layers),
            Ok(_) => {}
            Err(error) if error.is_eof() && trimmed[1..].starts_with(['{', '[', '"']) => {
                out(Outcome::Skip(cut_reason(trimmed, at)), at.layers);
            }
            Err(_) => self.line(text, trimmed, at, out),
        }
    }

    /// Values behind each other on one line: lines that lost the line feed between them.
    fn several(&mut self, text: &str, at: At<'_>, out: Out<'_>) {
        let mut any = false;
        for value in json::values(text) {
            match value {
                Ok(value) if value.get().len() < text.len() && at.layers.len() < Layers::MAX => {
                    any = true;
                    self.inner(Inner { value, time: None }, at, out);
                }
                Err(error) if any && error.is_eof() => out(Outcome::Skip(SkipReason::Truncated), at.layers),
                _ => return out(Outcome::Skip(SkipReason::NotJson), at.layers),
            }
        }
    }

    /// Text that is no JSON.
    fn line(&mut self, text: &str, trimmed: &str, at: At<'_>, out: Out<'_>) {
        if let Some(line) = klog::read(text) {
            let form = if trimmed.contains("verb=\"") { Envelope::HttpLog } else { Envelope::HttpLogOlder };
            return Self::klog(&line, form, at, out);
        }
        if at.layers.len() < Layers::MAX {
            match prefix::strip(trimmed) {
                Some(Prefixed::Line(envelope, line)) => {
                    return self.nested(line.rest, at.within(envelope, line.time), out);
                }
                Some(Prefixed::Cri(line)) => {
                    let at = at.within(Envelope::Cri, line.text.time);
                    if line.goes_on {
                        self.parts_at = at.layers;
                        return self.parts.add(line.stream, line.text.rest.as_bytes(), self.max_record);
                    }
                    if self.parts.is_open(line.stream) {
                        return self.last_part(line.stream, line.text.rest.as_bytes(), at, out);
                    }
                    return self.nested(line.text.rest, at, out);
                }
                Some(Prefixed::Legacy(event)) => {
                    return out(Outcome::Event(*event), at.layers.with(Envelope::Legacy));
                }
                None => {}
            }
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

    fn klog(line: &klog::KlogLine<'_>, form: Envelope, at: At<'_>, out: Out<'_>) {
        let written = || {
            let wrapper = at.time.and_then(instant);
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
}

/// The envelope that an object is, and what it holds.
fn open<'a>(text: &'a str, outer: &Outer<'a>, around: Layers) -> Option<(Envelope, Content<'a>)> {
    let of = |envelope| move |content| (envelope, content);
    None.or_else(|| otlp::open(outer).map(of(Envelope::Otlp)))
        .or_else(|| cloudwatch_subscription::open(outer).map(of(firehose::or_subscription(around, outer))))
        .or_else(|| logs_insights::open(outer).map(of(Envelope::LogsInsights)))
        .or_else(|| azure_records::open(outer).map(of(Envelope::AzureRecords)))
        .or_else(|| azure_parsed::open(outer).map(of(azure_record::or_admin(outer, Envelope::AzureParsed))))
        .or_else(|| azure_record::open(outer).map(of(azure_record::or_admin(outer, Envelope::AzureRecord))))
        .or_else(|| event_list::open(outer).map(of(Envelope::EventList)))
        .or_else(|| outer.proto_payload.and_then(|_| gke::open(text)).map(of(Envelope::Gke)))
        .or_else(|| outer.table_audit_id.and_then(|_| azure_table::open(text)).map(of(Envelope::AzureTable)))
        .or_else(|| docker::open(outer).map(of(Envelope::Docker)))
        .or_else(|| collector::open(outer).map(of(Envelope::Collector)))
}

/// An envelope's instant in microseconds since 1970: RFC 3339, or a number of milli-, micro- or nanoseconds.
fn instant(text: &str) -> Option<i64> {
    let Ok(number) = text.parse::<i64>() else { return timestamp::parse_micros(text) };
    // Until the year 5138 in each unit, and from 1973 on.
    Some(match text.len() {
        ..=11 => number.checked_mul(1_000_000)?,
        12..=14 => number.checked_mul(1_000)?,
        15..=17 => number,
        _ => number / 1_000,
    })
}

/// Why an object ends in its middle.
fn cut_reason(text: &str, at: At<'_>) -> SkipReason {
    if text.len() >= CLOUDWATCH_CUT && at.layers.iter().any(Envelope::is_cloudwatch) {
        SkipReason::CutByCloudwatch
    } else {
        SkipReason::Truncated
    }
}

/// Whether an entry is of no form at all.
fn is_no_form(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Outcome::Skip(SkipReason::Blank) | Outcome::Foreign(Foreign::Part))
}

/// Whether a text is an object that lost its start.
fn is_end_of_json(text: &str) -> bool {
    text.ends_with('}') && text.contains("\":")
}

/// Without NUL bytes (a file system's filling after a crash) and line ends at its end.
fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| !matches!(*b, 0 | b'\r' | b'\n')).map_or(0, |at| at + 1);
    &bytes[..end]
}

/// Without a byte order mark, NUL bytes and white space at its start.
fn trim_start(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.trim_start_matches(|c: char| c == '\0' || c.is_ascii_whitespace())
}
