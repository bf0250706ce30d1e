//! Opens envelopes until it finds an audit event, an access line or an entry of another log. It emits exactly one
//! [`Outcome`] for each entry of a record.

mod etcd;
mod event_batch;
mod line;
mod object;
pub(super) mod salvage;

pub use event_batch::LocatedEvent;

use super::envelope::{Envelope, cri, yaml};
use super::foreign::Foreign;
use super::klog::KlogTime;
use super::line_parts::LineParts;
use super::on_demand::CachedCallers;
use super::outcome::{Extent, Layers, Outcome};
use super::skip::SkipReason;
use super::unfinished_lines::UnfinishedLines;
use crate::input::{Record, RecordKind};

/// Receives each outcome of a record, with the envelopes around it.
pub type OutcomeSink<'o> = &'o mut dyn FnMut(Outcome<'_>, Layers);

/// The size limit of a CloudWatch Logs entry, in bytes: 256 KB minus 26 bytes that CloudWatch adds. CloudWatch cuts
/// longer entries. So an incomplete entry with at least this many bytes was cut by CloudWatch.
///
/// Source: Amazon CloudWatch Logs quotas, "Event size".
const CLOUDWATCH_CUT: usize = 262_144 - 26;

/// In bytes. After a longer record, the decoder frees its buffers and does not reuse them.
const MAX_REUSED_TEXT: usize = 1 << 20;

/// Facts about a source that its bytes do not show.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceFacts {
    /// The year from the command line, for lines without a year.
    pub year: Option<i32>,
    /// When the file was last modified, in microseconds since 1970.
    pub modified: Option<i64>,
}

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
    /// For each nesting depth: true if the last object was an envelope and not an event. It only decides what the
    /// decoder tries first, never the outcome.
    is_envelope_at: [bool; Layers::MAX + 1],
    buffers: [Vec<u8>; Layers::MAX + 1],
    /// The values of the current event's escaped fields, without escapes.
    unescaped: String,
    callers: CachedCallers,
    /// True if the last line passed to [`Decoder::locate`] was not in the log backend's format. The decoder then does
    /// not try this format again for that line and the next one. Adjacent lines mostly have the same format. The flag
    /// never changes an outcome.
    is_last_line_nonstandard: bool,
    parts: LineParts,
    /// For each output stream: the envelopes of its last part.
    parts_at: [Layers; 2],
    unfinished: UnfinishedLines,
    /// True while the decoder searches damaged text for whole events. The decoder then does not search inside these
    /// events again.
    is_salvaging: bool,
}

/// A text's context: its envelopes, its timestamps and its position in the record.
#[derive(Debug, Clone, Copy)]
struct TextContext<'t> {
    layers: Layers,
    /// True if an open envelope also carries lines of other programs. Such a line then counts as foreign, not as
    /// damage.
    is_shared: bool,
    /// The timestamp of the innermost envelope that has one.
    time: Option<&'t str>,
    /// The timestamp of a syslog header, without year and zone. Set only for etcd's log, because klog lines have their
    /// own timestamp.
    clock: Option<KlogTime>,
    facts: SourceFacts,
    /// The bytes of the whole record. Empty if the text was joined from several records.
    record: &'t [u8],
    /// The position of the outermost string that contains the text.
    string: Option<Extent>,
}

impl<'t> TextContext<'t> {
    fn new(record: &'t [u8], layers: Layers, facts: SourceFacts) -> Self {
        Self { layers, is_shared: false, time: None, clock: None, facts, record, string: None }
    }

    /// Returns the context of the text inside a string. For nested strings, it keeps the position of the outermost one.
    fn within_string(self, raw: &str) -> Self {
        Self { string: self.string.or_else(|| Some(self.extent(raw))), ..self }
    }

    /// Returns the context of a text that was joined from several records. Such a text has no position in one record.
    fn joined(self) -> Self {
        Self { record: &[], string: None, ..self }
    }

    /// The position of a text in the record.
    fn extent(&self, text: &str) -> Extent {
        if let Some(string) = self.string {
            return string;
        }
        let offset = text.as_ptr().addr().wrapping_sub(self.record.as_ptr().addr());
        // A text with replaced bytes is a copy, and not a part of the record. Its offset is unknown.
        let offset = if offset < self.record.len() { offset as u64 } else { 0 };
        Extent { offset, bytes: text.len() as u64 }
    }

    /// Reports `bytes` bytes of a string as skipped.
    fn skip_some(&self, reason: SkipReason, bytes: usize, out: OutcomeSink<'_>) {
        let extent = self.extent("");
        let bytes = extent.bytes.min(bytes as u64);
        out(Outcome::Skip(reason, Extent { bytes, ..extent }), self.layers);
    }

    /// Reports a text as skipped.
    fn skip(&self, reason: SkipReason, text: &str, out: OutcomeSink<'_>) {
        out(Outcome::Skip(reason, self.extent(text)), self.layers);
    }

    fn within(self, envelope: Envelope, time: Option<&'t str>) -> Self {
        let is_shared = self.is_shared || envelope.is_shared();
        Self { layers: self.layers.with(envelope), is_shared, time: time.or(self.time), ..self }
    }
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
    pub fn has_pending_parts(&self) -> bool {
        (0..2).any(|stream| self.parts.is_open(stream) || self.unfinished.is_open(stream))
    }

    /// Updates the state of unfinished lines for an event record that is decoded elsewhere.
    pub fn note_event(&mut self, record: &Record<'_>, out: OutcomeSink<'_>) {
        let required_format = self.required_format;
        self.update_unfinished_lines(record, &mut |outcome, layers| {
            out(with_required_format(required_format, outcome, layers), layers);
        });
    }

    /// Drops unfinished lines that this record cannot continue.
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

/// Chooses the skip reason for an incomplete object.
fn cut_reason(text: &str, context: TextContext<'_>) -> SkipReason {
    if text.len() >= CLOUDWATCH_CUT && context.layers.iter().any(Envelope::is_cloudwatch) {
        SkipReason::CutByCloudwatch
    } else {
        SkipReason::Truncated
    }
}

/// Whether an entry has no format, because it is a blank line or a part of a line. Such entries are allowed with any
/// required format.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn binary_data_is_not_damaged_text() {
        let noise: Vec<u8> = (0..1_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        assert!(is_binary(&noise));
        assert!(!is_binary("größe\t名前\r".repeat(9).as_bytes()));
        assert!(!is_binary(&[&[0; 400][..], b"{\"kind\":\"Event\",\xff\x01}"].concat()));
    }

    proptest! {
        #[test]
        fn lossy_matches_the_standard_library(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xe2), Just(0x82), Just(b'a')], 0..60),
        ) {
            let text = lossy(&bytes);
            prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
            prop_assert_eq!(text.capacity(), text.len());
        }
    }
}
