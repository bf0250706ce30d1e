//! From a record to what it holds: envelopes are opened until an event, an access line or something of another log
//! comes out. Each entry of each record comes out once, as one [`Outcome`].

mod etcd;
mod event_batch;
mod line;
mod object;
pub(super) mod salvage;

pub use event_batch::LocatedEvent;

use super::envelope::{Envelope, cri, yaml};
use super::klog::KlogTime;
use super::line_parts::LineParts;
use super::on_demand::CachedCallers;
use super::outcome::{Extent, Foreign, Layers, Outcome};
use super::skip::SkipReason;
use super::unfinished_lines::UnfinishedLines;
use crate::input::{Record, RecordKind};

/// Takes what a record holds.
pub type OutcomeSink<'o> = &'o mut dyn FnMut(Outcome<'_>, Layers);

/// The length above which an entry of CloudWatch Logs that ends in the middle was cut by it, in bytes: 256 KB with
/// the 26 bytes that it adds.
///
/// Source: Amazon CloudWatch Logs quotas, "Event size".
const CLOUDWATCH_CUT: usize = 262_144 - 26;

/// Buffers of longer records are freed, not reused. In bytes.
const MAX_REUSED_TEXT: usize = 1 << 20;

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
    /// It reads etcd's log.
    is_for_etcd: bool,
    /// The longest line that is put together from parts, in bytes.
    max_record: usize,
    /// By depth: the last object was an envelope and no event. What is tried first changes no outcome.
    wrapped: [bool; Layers::MAX + 1],
    buffers: [Vec<u8>; Layers::MAX + 1],
    /// What the escaped fields of the event at hand mean.
    unescaped: String,
    callers: CachedCallers,
    /// The line that was looked for last with [`Decoder::locate`] is written otherwise: it is not looked for in the same way
    /// again, and the next one is read by itself, as those of a log are written alike. Changes no outcome.
    is_last_line_nonstandard: bool,
    parts: LineParts,
    /// By output stream: where the last part stood.
    parts_at: [Layers; 2],
    unfinished: UnfinishedLines,
    /// Whole pieces of a damaged text are looked for: not in each of them again.
    is_salvaging: bool,
}

/// Where in a record a text stands.
#[derive(Debug, Clone, Copy)]
struct At<'t> {
    layers: Layers,
    /// Other programs' lines come in one of the envelopes that were opened, so that such a line is no damage.
    is_shared: bool,
    /// The innermost envelope's instant.
    time: Option<&'t str>,
    /// The instant in the head of syslog, without year and zone; looked for in etcd's log only, as klog has its own.
    clock: Option<KlogTime>,
    facts: SourceFacts,
    /// The record, if the text is a part of it or comes from a string in it.
    record: &'t [u8],
    /// The outermost string that the text comes from.
    string: Option<Extent>,
}

impl<'t> At<'t> {
    fn of(record: &'t [u8], layers: Layers, facts: SourceFacts) -> Self {
        Self { layers, is_shared: false, time: None, clock: None, facts, record, string: None }
    }

    /// Inside of a string, which may be in another string.
    fn within_string(self, raw: &str) -> Self {
        Self { string: self.string.or_else(|| Some(self.extent(raw))), ..self }
    }

    /// Of a text that was put together from several records.
    fn joined(self) -> Self {
        Self { record: &[], string: None, ..self }
    }

    /// Where a text is in the record.
    fn extent(&self, text: &str) -> Extent {
        if let Some(string) = self.string {
            return string;
        }
        let offset = text.as_ptr().addr().wrapping_sub(self.record.as_ptr().addr());
        // A copy, with bytes replaced, is elsewhere.
        let offset = if offset < self.record.len() { offset as u64 } else { 0 };
        Extent { offset, bytes: text.len() as u64 }
    }

    /// Hands over that so many bytes of a string are lost.
    fn skip_some(&self, reason: SkipReason, bytes: usize, out: OutcomeSink<'_>) {
        let extent = self.extent("");
        let bytes = extent.bytes.min(bytes as u64);
        out(Outcome::Skip(reason, Extent { bytes, ..extent }), self.layers);
    }

    /// Hands over that a text is lost.
    fn skip(&self, reason: SkipReason, text: &str, out: OutcomeSink<'_>) {
        out(Outcome::Skip(reason, self.extent(text)), self.layers);
    }

    fn within(self, envelope: Envelope, time: Option<&'t str>) -> Self {
        let is_shared = self.is_shared || envelope.is_shared();
        Self { layers: self.layers.with(envelope), is_shared, time: time.or(self.time), ..self }
    }
}

impl Decoder {
    /// A decoder. `only` names what must be among the envelopes of what is read; without it each record is told by its
    /// content.
    #[must_use]
    pub fn new(only: Option<Layers>, max_record: usize) -> Self {
        Self { only, max_record, ..Self::default() }
    }

    /// A decoder of etcd's log, in the same envelopes. What is no line of etcd's comes out as what it is otherwise.
    #[must_use]
    pub fn for_etcd(max_record: usize) -> Self {
        Self { is_for_etcd: true, max_record, ..Self::default() }
    }

    /// Hands over what a record holds. True if bytes of it that are no UTF-8 were replaced.
    pub fn record(&mut self, record: &Record<'_>, facts: SourceFacts, out: OutcomeSink<'_>) -> bool {
        let only = self.only;
        let out: OutcomeSink<'_> = &mut |outcome, layers| out(checked(only, outcome, layers), layers);
        let replaced = self.whole(record, facts, out);
        self.settle(record, out);
        if record.bytes.len() > MAX_REUSED_TEXT {
            (self.buffers, self.unescaped) = Default::default();
        }
        replaced
    }

    /// Whether parts of a line wait for its end.
    #[must_use]
    pub fn has_pending_parts(&self) -> bool {
        (0..2).any(|stream| self.parts.is_open(stream) || self.unfinished.is_open(stream))
    }

    /// Takes note of a record that is an event and is read elsewhere.
    pub fn note_event(&mut self, record: &Record<'_>, out: OutcomeSink<'_>) {
        let only = self.only;
        self.settle(record, &mut |outcome, layers| out(checked(only, outcome, layers), layers));
    }

    /// Gives up the parts that a record leaves without an end.
    fn settle(&mut self, record: &Record<'_>, out: OutcomeSink<'_>) {
        match record.kind {
            RecordKind::Line => self.unfinished.line(record.bytes),
            RecordKind::Document | RecordKind::Element | RecordKind::Yaml => {
                self.unfinished = UnfinishedLines::default();
            }
        }
        for stream in 0..2 {
            if !self.unfinished.is_open(stream) {
                self.give_up(stream, out);
            }
        }
    }

    fn whole(&mut self, record: &Record<'_>, facts: SourceFacts, out: OutcomeSink<'_>) -> bool {
        let layers = match record.kind {
            RecordKind::Line => Layers::default(),
            RecordKind::Document => Layers::default().with(Envelope::Json),
            RecordKind::Element => Layers::default().with(Envelope::JsonArray),
            RecordKind::Yaml => Layers::default().with(Envelope::Yaml),
        };
        let at = At::of(record.bytes, layers, facts);
        let bytes = trim_end(record.bytes);
        // Checked once for the whole record, and faster than serde_json does it string by string.
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            self.enter(record.kind, text, at, out);
            return false;
        }
        if let Some((stream, is_unfinished, part)) = cri::torn_part(bytes)
            && (is_unfinished || self.parts.is_open(stream))
        {
            // A runtime cuts lines at a number of bytes, perhaps in the middle of a letter.
            let at = at.within(Envelope::Cri, None);
            if is_unfinished {
                self.part(stream, part, at, out);
            } else {
                self.last_part(stream, part, at, out);
            }
            return false;
        }
        if is_binary(bytes) {
            let extent = Extent { bytes: bytes.len() as u64, ..Extent::default() };
            out(Outcome::Skip(SkipReason::NotUtf8, extent), at.layers);
            return false;
        }
        let (only, mut replaced) = (self.only, false);
        let text =
            if bytes.len() > MAX_REUSED_TEXT { lossy(bytes).into() } else { String::from_utf8_lossy(bytes) };
        self.enter(record.kind, &text, at, &mut |outcome, layers| {
            let outcome = checked(only, outcome, layers);
            replaced |= matches!(outcome, Outcome::Event(..) | Outcome::Access { .. } | Outcome::Etcd { .. });
            let outcome = match outcome {
                Outcome::Skip(reason, at) if reason != SkipReason::OtherFormat => {
                    Outcome::Skip(SkipReason::NotUtf8, at)
                }
                whole => whole,
            };
            out(outcome, layers);
        });
        replaced
    }

    /// Hands over what is left of lines whose last part did not come.
    pub fn finish(&mut self, out: OutcomeSink<'_>) {
        let only = self.only;
        self.unfinished = UnfinishedLines::default();
        for stream in 0..2 {
            self.give_up(stream, &mut |outcome, layers| out(checked(only, outcome, layers), layers));
        }
    }

    /// Hands over the parts of a line whose last part won't come.
    fn give_up(&mut self, stream: usize, out: OutcomeSink<'_>) {
        if let Some(whole) = self.parts.take(stream) {
            let layers = self.parts_at[stream];
            for _ in 1..whole.count {
                out(Outcome::Foreign(Foreign::Part), layers);
            }
            let at = Extent { bytes: whole.length as u64, ..Extent::default() };
            out(Outcome::Skip(SkipReason::Truncated, at), layers);
        }
    }

    fn enter(&mut self, kind: RecordKind, text: &str, at: At<'_>, out: OutcomeSink<'_>) {
        if kind == RecordKind::Yaml {
            match yaml::to_json(text) {
                Some(json) => self.text(&json, at, out),
                None => self.salvage_yaml(text, at, out),
            }
        } else if self.is_for_etcd && crate::decode::etcd::warns(text) {
            self.warning(text, at, out);
        } else {
            self.text(text, at, out);
        }
    }

    fn text(&mut self, text: &str, at: At<'_>, out: OutcomeSink<'_>) {
        // Most are nothing else.
        if text.starts_with('{') && !self.is_for_etcd {
            return self.object(text, at, out);
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start_matches('\0');
        let trimmed = text.trim_ascii_start();
        if self.is_for_etcd && Self::etcd(trimmed, at, out) {
            return;
        }
        match trimmed.as_bytes().first() {
            // An empty line of a value that goes over several.
            None if text.starts_with('\t') => out(Outcome::Foreign(Foreign::Part), at.layers),
            None => at.skip(SkipReason::Blank, text, out),
            Some(b'{') => self.object(trimmed, at, out),
            Some(b'"') if at.layers.len() < Layers::MAX && !is_headless(trimmed) => {
                self.string(trimmed.trim_end(), at, out);
            }
            Some(b'[') if at.layers.len() < Layers::MAX => self.array(text, trimmed, at, out),
            Some(_) => self.line(text, trimmed, at, out),
        }
    }
}

/// What is not of all the forms that the user names is skipped.
fn checked(only: Option<Layers>, outcome: Outcome<'_>, layers: Layers) -> Outcome<'_> {
    let other = only.is_some_and(|only| !only.iter().all(|envelope| layers.contains(envelope)));
    if other && !is_no_form(&outcome) {
        Outcome::Skip(SkipReason::OtherFormat, Extent::default())
    } else {
        outcome
    }
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
    matches!(outcome, Outcome::Skip(SkipReason::Blank, _) | Outcome::Foreign(Foreign::Part))
}

/// Whether a text is no JSON string but an access line of a server with `--skip-headers`.
fn is_headless(text: &str) -> bool {
    text.starts_with("\"HTTP\" ")
}

/// Whether the bytes are binary, not damaged text: more than one in 16 is a control character. NUL bytes are a file
/// system's filling.
fn is_binary(bytes: &[u8]) -> bool {
    let is_control = |byte: &&u8| matches!(**byte, 1..=8 | 11 | 12 | 14..=31 | 127);
    bytes.iter().filter(is_control).count() > bytes.len() / 16
}

/// As [`String::from_utf8_lossy`], which moves a long text several times while it grows.
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

/// Without NUL bytes (a file system's filling after a crash) and line ends at its end.
fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| !matches!(*b, 0 | b'\r' | b'\n')).map_or(0, |at| at + 1);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn binary_is_no_text_with_damage() {
        let noise: Vec<u8> = (0..1_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        assert!(is_binary(&noise));
        assert!(!is_binary("größe\t名前\r".repeat(9).as_bytes()));
        assert!(!is_binary(&[&[0; 400][..], b"{\"kind\":\"Event\",\xff\x01}"].concat()));
    }

    proptest! {
        #[test]
        fn replaced_bytes_are_those_of_the_standard_library(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xe2), Just(0x82), Just(b'a')], 0..60),
        ) {
            let text = lossy(&bytes);
            prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
            prop_assert_eq!(text.capacity(), text.len());
        }
    }
}
