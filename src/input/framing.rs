//! Where one record of a stream ends and the next begins. What a record means is not known here.

/// Whether a stream of lines may be cut between what comes before and what comes after, as far as it is read.
pub type MayCut = fn(before: &[u8], after: &[u8]) -> bool;

/// How a stream falls into records.
#[derive(Debug, Clone, Copy, Default)]
pub enum Framing {
    /// A record is a line.
    #[default]
    Lines,
    /// A record is a line, but some lines belong together and must come in one block.
    Joined(MayCut),
    /// A record is a JSON document, or an element of one that is an array, wherever its lines end.
    Json,
    /// A record is a YAML document: what stands between lines that begin with `---`.
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

/// What a record is a part of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// A line of a stream of lines.
    #[default]
    Line,
    /// A JSON document by itself.
    Document,
    /// An element of a JSON array.
    Element,
    /// A YAML document.
    Yaml,
}

/// A record of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Number of its first line in its source, from 1.
    pub line: u64,
    /// Its offset in its source's decompressed stream.
    pub offset: u64,
    /// The record; a line comes without its line feed.
    pub bytes: &'a [u8],
    /// What it is a part of.
    pub part: Part,
}

/// Where a record that is no line stands in a block's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of its first byte in the block.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
    /// Number of its first line in its source, from 1.
    pub line: u64,
    /// What it is a part of.
    pub part: Part,
}

/// The lines of a text that begins with the given line at the given offset of its source.
pub fn lines(bytes: &[u8], first_line: u64, offset: u64) -> impl Iterator<Item = Record<'_>> {
    noted_lines(bytes, &[], first_line, offset)
}

/// The same, where the offsets of the first line feeds are known.
pub(super) fn noted_lines<'a>(
    bytes: &'a [u8],
    feeds: &'a [usize],
    first_line: u64,
    offset: u64,
) -> impl Iterator<Item = Record<'a>> {
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
        let record = Record { line, offset, bytes: &bytes[start..end], part: Part::Line };
        start = end + 1;
        line += 1;
        Some(record)
    })
}

/// How many line feeds of a text are noted: a text of nothing but line feeds would take eight times its size.
const FEEDS_NOTED: usize = 1 << 14;

/// Counts the lines of a text, and notes where the first of them end.
pub(super) fn note_lines(bytes: &[u8], feeds: &mut Vec<usize>) -> u64 {
    let mut all = memchr::memchr_iter(b'\n', bytes);
    feeds.extend(all.by_ref().take(FEEDS_NOTED));
    let others = all.count();
    (feeds.len() + others) as u64 + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// The number of lines in a text; a last one may lack its line feed.
#[must_use]
pub fn count_lines(bytes: &[u8]) -> u64 {
    count_feeds(bytes) + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// The number of line feeds in a text.
#[must_use]
pub fn count_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_where_they_are() {
        let found: Vec<_> = lines(b"a\n\nbc", 5, 100).map(|l| (l.line, l.offset, l.bytes)).collect();
        assert_eq!(found, [(5, 100, b"a".as_slice()), (6, 102, b""), (7, 103, b"bc")]);
        assert_eq!((count_lines(b"a\n\nbc"), count_lines(b"a\n"), count_lines(b"")), (3, 1, 0));
    }

    #[test]
    fn lines_are_the_same_however_many_are_noted() {
        for text in ["", "a", "a\n", "\n\nbc\n\nd", &"\n".repeat(FEEDS_NOTED), &"x\n\n".repeat(FEEDS_NOTED)] {
            let text = text.as_bytes();
            let mut feeds = Vec::new();
            assert_eq!(note_lines(text, &mut feeds), count_lines(text));
            assert!(feeds.len() <= FEEDS_NOTED);
            let want: Vec<_> = lines(text, 3, 70).collect();
            assert_eq!(noted_lines(text, &feeds, 3, 70).collect::<Vec<_>>(), want);
            assert_eq!(noted_lines(text, &feeds[..feeds.len() / 2], 3, 70).collect::<Vec<_>>(), want);
        }
    }
}
