//! Blocks of whole records, and what is known of the place where one was read.

use super::framing::{Framing, Record, RecordKind, RecordRun, RecordSpan, Repeats, count_feeds, noted_runs};
use super::long_records::Permit;

/// Some whole records of one source.
#[derive(Debug, Default)]
pub struct Block {
    /// Index of the source.
    pub source: u32,
    /// Number of the first line, from 1.
    pub first_line: u64,
    /// Offset of the first byte in the decompressed stream.
    pub offset: u64,
    /// The records. Lines come each with its line feed but for the last of a source, which may lack it.
    pub bytes: Vec<u8>,
    /// Where the first line feeds stand in the bytes of a stream of lines. Those that are not noted are searched for.
    pub feeds: Vec<usize>,
    /// How the bytes fall into records.
    pub framing: Framing,
    /// Where records that are no lines stand in the bytes.
    pub spans: Vec<RecordSpan>,
    /// Lines that end in this block, those of records that were too long too.
    pub lines: u64,
    /// Records before this block that were longer than the cap and so are not in any block.
    pub too_long: Vec<TooLong>,
    /// The stream ends here because it is damaged: at this line.
    pub damage: Option<(Damage, u64)>,
    /// It holds a record that is longer than [`LONG_RECORD`].
    pub permit: Option<Permit>,
}

/// A longer record is a long one, in bytes: one is in memory at a time, and its memory is not reused.
pub(super) const LONG_RECORD: usize = 8 << 20;

impl Block {
    /// Lets go of a long record that was read.
    pub(super) fn release(&mut self) {
        if self.bytes.capacity() > LONG_RECORD {
            self.bytes = Vec::new();
        }
        self.permit = None;
    }

    /// The records, in their order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.runs().flat_map(RecordRun::records)
    }

    /// The records, in their order, those that repeat with how often they do.
    pub fn runs(&self) -> impl Iterator<Item = RecordRun<'_>> {
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

/// A record that was longer than the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Number of its first line, from 1.
    pub line: u64,
    /// Its offset in the decompressed stream.
    pub offset: u64,
    /// Its length in bytes, with its line feed if it is a line.
    pub bytes: u64,
    /// How many bytes were read for it: white space before it too.
    pub read: u64,
}

/// A place in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// Index of the source.
    pub source: u32,
    /// Offset of the line in the decompressed stream.
    pub offset: u64,
    /// Number of the line, from 1.
    pub line: u64,
}

/// Why a stream could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// The compressed stream ends before its end.
    Truncated,
    /// The compressed stream is not what its header says, or bytes follow its end.
    Corrupt,
    /// zstd with a window of more than 128 MiB, which would have to be held in memory.
    LongWindow,
    /// The operating system answered with an error.
    Unreadable,
    /// The file became shorter while it was read.
    Shrunk,
}

impl Damage {
    /// How reports name the damage.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated-stream",
            Self::Corrupt => "corrupt-stream",
            Self::LongWindow => "long-window",
            Self::Unreadable => "unreadable",
            Self::Shrunk => "shrank-while-read",
        }
    }
}

/// The documents of a text, each from its `---` or the text's start up to the next.
pub fn yaml_spans(bytes: &[u8], first_line: u64, spans: &mut Vec<RecordSpan>) {
    let ends = memchr::memmem::find_iter(bytes, b"\n---").map(|feed| feed + 1).chain([bytes.len()]);
    let (mut start, mut line) = (0, first_line);
    for end in ends {
        let text = &bytes[start..end];
        // What stands before the first mark may be nothing.
        if !text.trim_ascii().is_empty() && text.trim_ascii() != b"---" {
            spans.push(RecordSpan { start, end, line, kind: RecordKind::Yaml, repeats: Repeats::default() });
        }
        line += count_feeds(text);
        start = end;
    }
}
