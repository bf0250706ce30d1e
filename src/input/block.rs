//! Blocks of whole records, and positions in the input.

use super::framing::{Framing, Record, RecordKind, RecordRun, RecordSpan, Repeats, count_feeds, noted_runs};
use super::long_records::Permit;
use crate::named::named;

/// Whole records of one source. A worker processes one block at a time.
#[derive(Debug, Default)]
pub struct Block {
    pub source: u32,
    /// Number of the first line; the source's first line is 1.
    pub first_line: u64,
    /// Offset of the first byte in the decompressed stream.
    pub offset: u64,
    /// The records. Each line includes its line feed; only the last line of a source may lack it.
    pub bytes: Vec<u8>,
    /// For a stream of lines: the positions in `bytes` of the first `FEEDS_NOTED` line feeds. Code that needs a later
    /// line feed must search for it again.
    pub feeds: Vec<usize>,
    /// How the bytes divide into records.
    pub framing: Framing,
    /// The positions of records that are not lines.
    pub spans: Vec<RecordSpan>,
    /// The number of lines that end in this block. Lines of records that were too long count too.
    pub lines: u64,
    /// Records before this block that are longer than the maximum record size. Blocks never contain such records.
    pub too_long: Vec<TooLong>,
    /// Set if the stream can't be read to its end: the reason, and the line at which the readable part ends.
    pub damage: Option<(Damage, u64)>,
    /// Held if the block contains a record longer than [`LONG_RECORD`].
    pub permit: Option<Permit>,
}

/// A record with more bytes than this is a long record. Only one long record is in memory at a time, and its memory is
/// not reused.
pub(super) const LONG_RECORD: usize = 8 << 20;

impl Block {
    /// Frees a long record after it was processed.
    pub(super) fn release(&mut self) {
        if self.bytes.capacity() > LONG_RECORD {
            self.bytes = Vec::new();
        }
        self.permit = None;
    }

    /// The records in their order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.runs().flat_map(RecordRun::records)
    }

    /// The records in their order. A record and its direct repetitions form one run.
    pub(crate) fn runs(&self) -> impl Iterator<Item = RecordRun<'_>> {
        let by_line = matches!(self.framing, Framing::Lines | Framing::Joined(_));
        let text: &[u8] = if by_line { &self.bytes } else { &[] };
        let lines = noted_runs(text, &self.feeds, self.first_line, self.offset);
        let spans = self.spans.iter().map(|span| {
            let record = Record {
                line: span.line,
                offset: self.offset + span.start as u64,
                bytes: &self.bytes[span.start..span.end],
                kind: span.kind,
            };
            RecordRun { record, repeats: span.repeats }
        });
        lines.chain(spans)
    }
}

/// A record that is skipped because it is longer than the maximum record size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// The number of the record's first line. The first line of the source is 1.
    pub(crate) line: u64,
    /// The record's offset in the decompressed stream.
    pub(crate) offset: u64,
    /// The length of the record in bytes. If the record is a line, its line feed counts too.
    pub(crate) bytes: u64,
    /// The number of bytes that were read for the record. White space before the record counts too.
    pub(crate) read: u64,
}

/// A position in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// Index of the source.
    pub source: u32,
    /// Offset of the line in the decompressed stream.
    pub offset: u64,
    /// Line number, from 1.
    pub line: u64,
}

named! {
    /// Why a stream could not be read to its end.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Damage {
        /// The compressed stream ends too early.
        Truncated = "truncated-stream",
        /// The compressed data is invalid, or other bytes follow it.
        Corrupt = "corrupt-stream",
        /// The zstd stream needs a window of more than 128 MiB. kubetoll would have to keep the window in memory.
        LongWindow = "long-window",
        /// The operating system returned an error.
        Unreadable = "unreadable",
        /// The file became shorter while kubetoll read it.
        Shrunk = "shrank-while-read",
    }
    /// The name in reports.
    pub(crate) fn as_str;
}

/// Finds YAML documents. Each extends from its `---`, or from the start of the text, to the next `---`.
pub fn yaml_spans(bytes: &[u8], first_line: u64, spans: &mut Vec<RecordSpan>) {
    let ends = memchr::memmem::find_iter(bytes, b"\n---").map(|feed| feed + 1).chain([bytes.len()]);
    let (mut start, mut line) = (0, first_line);
    for end in ends {
        let text = &bytes[start..end];
        // The text before the first `---` may be empty, and so may a document.
        if !text.trim_ascii().is_empty() && text.trim_ascii() != b"---" {
            spans.push(RecordSpan { start, end, line, kind: RecordKind::Yaml, repeats: Repeats::default() });
        }
        line += count_feeds(text);
        start = end;
    }
}
