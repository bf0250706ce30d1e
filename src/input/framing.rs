//! Finds where a record ends and the next one begins. It does not know what a record means.

/// Whether a block of lines may end after `before`. `after` contains the bytes that follow `before`, as far as they
/// are already read.
pub type MayCut = fn(before: &[u8], after: &[u8]) -> bool;

/// How a stream divides into records.
#[derive(Debug, Clone, Copy, Default)]
pub enum Framing {
    /// A record is a line.
    #[default]
    Lines,
    /// A record is a line, but some lines are related and must be in the same block.
    Joined(MayCut),
    /// A record is a JSON document, or an element of a top-level array. It may span several lines.
    Json,
    /// A record is a YAML document: the text between lines that begin with `---`.
    Yaml,
}

impl Framing {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lines | Self::Joined(_) => "lines",
            Self::Json => "json",
            Self::Yaml => "yaml",
        }
    }
}

/// The kind of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordKind {
    #[default]
    Line,
    /// A JSON document that is not an array.
    Document,
    /// An element of a top-level JSON array.
    Element,
    /// A YAML document.
    Yaml,
}

/// A record in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The number of the record's first line. The first line of the source is 1.
    pub line: u64,
    /// Offset in the source's decompressed stream.
    pub offset: u64,
    /// The record's bytes, without the line feed of a line.
    pub bytes: &'a [u8],
    pub kind: RecordKind,
}

/// The position of a record that is not a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSpan {
    /// Offset of the first byte in the block.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
    /// The number of the record's first line. The first line of the source is 1.
    pub line: u64,
    pub kind: RecordKind,
    pub repeats: Repeats,
}

impl RecordSpan {
    /// Offset after the last byte of the last repetition.
    pub(super) fn end_of_last(&self) -> usize {
        self.end + self.repeats.times * self.repeats.bytes
    }
}

/// How many records with the same bytes follow directly after a record. They are counted, not stored one by one. So
/// gigabytes of `{` or of blank lines need little time and memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The number of further records with the same bytes.
    pub(crate) times: usize,
    /// The distance from one repetition to the next, in bytes.
    pub(crate) bytes: usize,
    /// The distance from one repetition to the next, in lines.
    pub(crate) lines: u64,
}

/// A record and its repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRun<'a> {
    /// The first of the records.
    pub(crate) record: Record<'a>,
    pub(crate) repeats: Repeats,
}

impl<'a> RecordRun<'a> {
    /// Returns one of the records; 0 is the first.
    #[must_use]
    pub(crate) fn nth(&self, nth: usize) -> Record<'a> {
        let Self { record, repeats } = *self;
        Record {
            line: record.line + nth as u64 * repeats.lines,
            offset: record.offset + (nth * repeats.bytes) as u64,
            ..record
        }
    }

    pub(crate) fn records(self) -> impl Iterator<Item = Record<'a>> {
        (0..=self.repeats.times).map(move |nth| self.nth(nth))
    }
}

/// In bytes. Longer records are not checked for repetitions.
pub(super) const LONGEST_REPEATED: usize = 1_024;

/// The length of the common prefix of two texts, in bytes.
pub(super) fn common_start(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP)).take_while(|(one, other)| one == other);
    let same = steps.count() * STEP;
    same + one[same..].iter().zip(&other[same..]).take_while(|(one, other)| one == other).count()
}

/// How often the first `period` bytes of a text repeat directly after themselves.
fn repetitions(text: &[u8], period: usize) -> usize {
    if period > LONGEST_REPEATED || text.len() < 2 * period || text[..period] != text[period..2 * period] {
        return 0;
    }
    common_start(text, &text[period..]) / period
}

/// Splits a text into lines. The text begins at the given line and offset of its source.
pub fn lines(bytes: &[u8], first_line: u64, offset: u64) -> impl Iterator<Item = Record<'_>> {
    noted_runs(bytes, &[], first_line, offset).flat_map(RecordRun::records)
}

/// Like [`lines`], but combines repeated lines. `feeds` contains the offsets of the first line feeds.
pub(super) fn noted_runs<'a>(
    bytes: &'a [u8],
    feeds: &'a [usize],
    first_line: u64,
    offset: u64,
) -> impl Iterator<Item = RecordRun<'a>> {
    let mut feeds = feeds.iter();
    let mut start = 0;
    let mut line = first_line;
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let end = feeds.next().copied().unwrap_or_else(|| {
            let rest = &bytes[start..];
            start + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
        });
        let offset = offset + start as u64;
        let record = Record { line, offset, bytes: &bytes[start..end], kind: RecordKind::Line };
        let period = end + 1 - start;
        let times = repetitions(&bytes[start..], period);
        if times > 0 {
            // Skips the line feeds of the repetitions.
            feeds.nth(times - 1);
        }
        start += (1 + times) * period;
        line += 1 + times as u64;
        Some(RecordRun { record, repeats: Repeats { times, bytes: period, lines: 1 } })
    })
}

/// In each block, the offsets of at most this many line feeds are recorded. If a text contains only line feeds, all
/// offsets would take eight times the size of the text.
const FEEDS_NOTED: usize = 1 << 14;

/// Counts the lines of a text. Records the offsets of the first line feeds.
pub(super) fn note_lines(bytes: &[u8], feeds: &mut Vec<usize>) -> u64 {
    let mut all = memchr::memchr_iter(b'\n', bytes);
    feeds.extend(all.by_ref().take(FEEDS_NOTED));
    let others = all.count();
    (feeds.len() + others) as u64 + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// Counts the lines of a text. The last line may lack its line feed.
#[must_use]
pub fn count_lines(bytes: &[u8]) -> u64 {
    count_feeds(bytes) + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

#[must_use]
pub fn count_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_and_offsets() {
        let found: Vec<_> = lines(b"a\n\nbc", 5, 100).map(|l| (l.line, l.offset, l.bytes)).collect();
        assert_eq!(found, [(5, 100, b"a".as_slice()), (6, 102, b""), (7, 103, b"bc")]);
        assert_eq!((count_lines(b"a\n\nbc"), count_lines(b"a\n"), count_lines(b"")), (3, 1, 0));
    }

    #[test]
    fn lines_do_not_depend_on_noted_line_feeds() {
        let (blank, mixed) = ("\n".repeat(FEEDS_NOTED), "x\n\n".repeat(FEEDS_NOTED));
        let runs = format!("{blank}x{blank}{{\n{{\n{{\n{{\ny\ny");
        for text in ["", "a", "a\n", "a\na", "a\na\n", "\n\nbc\n\nd", &*blank, &*mixed, &*runs] {
            let text = text.as_bytes();
            let mut feeds = Vec::new();
            assert_eq!(note_lines(text, &mut feeds), count_lines(text));
            assert!(feeds.len() <= FEEDS_NOTED);
            let want = split(text);
            let noted =
                |feeds| noted_runs(text, feeds, 3, 70).flat_map(RecordRun::records).collect::<Vec<_>>();
            assert!(lines(text, 3, 70).eq(want.iter().copied()));
            assert!(noted(&feeds) == want);
            assert!(noted(&feeds[..feeds.len() / 2]) == want);
        }
    }

    /// Splits lines with the standard library.
    fn split(text: &[u8]) -> Vec<Record<'_>> {
        let mut offset = 70;
        let lines = (3..).zip(text.split_inclusive(|byte| *byte == b'\n')).map(|(line, with_feed)| {
            let bytes = with_feed.strip_suffix(b"\n").unwrap_or(with_feed);
            let record = Record { line, offset, bytes, kind: RecordKind::Line };
            offset += with_feed.len() as u64;
            record
        });
        lines.collect()
    }

    #[test]
    fn repeated_lines_are_one_run() {
        for (line, times) in [("\n", 10_000), ("{\n", 500), ("\r\n", 3), ("{\"kind\":\"Event\"\n", 70)] {
            let text = format!("a\n{}b", line.repeat(times));
            let runs: Vec<_> =
                noted_runs(text.as_bytes(), &[], 1, 0).map(|run| run.repeats.times + 1).collect();
            assert_eq!(runs, [1, times, 1], "{line:?}");
        }
        let long = format!("{}\n", "x".repeat(LONGEST_REPEATED));
        assert_eq!(noted_runs(long.repeat(3).as_bytes(), &[], 1, 0).count(), 3);
    }
}
