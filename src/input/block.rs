//! Blocks of whole records, cut from a stream.

use std::io::{ErrorKind, Read};

use super::framing::{Framing, Part, Record, Span, count_feeds, count_lines, lines};
use super::json::JsonScanner;
use super::open::Shrunk;

/// The size at which a block is handed on, in bytes; a longer record makes a longer block.
pub const BLOCK_SIZE: usize = 1 << 20;
/// The least that is read at once, in bytes.
const READ_SIZE: usize = 256 << 10;

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
    /// How the bytes fall into records.
    pub framing: Framing,
    /// Where records that are no lines stand in the bytes.
    pub spans: Vec<Span>,
    /// Lines that end in this block, those of records that were too long too.
    pub lines: u64,
    /// Numbers of the first lines of records before this block that were longer than the cap and so are not in any
    /// block.
    pub too_long: Vec<u64>,
    /// The stream ends here because it is damaged: at this line.
    pub damage: Option<(Damage, u64)>,
}

impl Block {
    /// The records, in their order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let by_line = matches!(self.framing, Framing::Lines | Framing::Joined(_));
        let text: &[u8] = if by_line { &self.bytes } else { &[] };
        let spans = self.spans.iter().map(|span| Record {
            line: span.line,
            offset: self.offset + span.start as u64,
            bytes: &self.bytes[span.start..span.end],
            part: span.part,
        });
        lines(text, self.first_line, self.offset).chain(spans)
    }
}

/// A place in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
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
            Self::Unreadable => "unreadable",
            Self::Shrunk => "shrank-while-read",
        }
    }
}

/// Tells by the start of a stream how it falls into records.
pub type Tell<'a> = &'a (dyn Fn(&[u8]) -> Framing + Sync);

/// How many places a cut is looked for at, from the end of what was read.
const CUTS_TRIED: usize = 256;

/// Cuts a stream into blocks. Records longer than the cap are passed over without being held in memory.
pub struct Cutter<'a, R> {
    reader: R,
    source: u32,
    max_record: usize,
    tell: Tell<'a>,
    framing: Option<Framing>,
    /// The start of a record whose end has not been read yet.
    carry: Vec<u8>,
    json: JsonScanner,
    next_line: u64,
    offset: u64,
    ended: bool,
}

impl<'a, R: Read> Cutter<'a, R> {
    /// A cutter of a stream from its start. A cap below [`BLOCK_SIZE`] is left to whoever reads the block.
    pub fn new(reader: R, source: u32, max_record: usize, tell: Tell<'a>) -> Self {
        Self {
            reader,
            source,
            max_record: max_record.max(BLOCK_SIZE),
            tell,
            framing: None,
            carry: Vec::new(),
            json: JsonScanner::default(),
            next_line: 1,
            offset: 0,
            ended: false,
        }
    }

    /// Fills the block with the next records; false at the end, when there is nothing left to report either.
    pub fn fill(&mut self, block: &mut Block) -> bool {
        block.source = self.source;
        block.too_long.clear();
        block.spans.clear();
        block.damage = None;
        block.lines = 0;
        // A block that held a huge record does not keep its memory.
        if block.bytes.capacity() > 8 * BLOCK_SIZE {
            block.bytes = Vec::new();
        }
        block.bytes.clear();
        block.bytes.append(&mut self.carry);
        while !self.ended {
            self.read_more(block);
            if block.bytes.len() < BLOCK_SIZE && !self.ended {
                continue;
            }
            match self.cut(&block.bytes) {
                Some(cut) if !self.ended => {
                    self.carry.extend_from_slice(&block.bytes[cut..]);
                    block.bytes.truncate(cut);
                    break;
                }
                None if block.bytes.len() > self.max_record => self.pass_over(block),
                _ => {}
            }
        }
        self.hand_over(block);
        !block.bytes.is_empty() || !block.too_long.is_empty() || block.damage.is_some()
    }

    /// Numbers what the block holds.
    fn hand_over(&mut self, block: &mut Block) {
        block.framing = self.framing(&block.bytes);
        block.first_line = self.next_line;
        block.offset = self.offset;
        let lines = match block.framing {
            Framing::Lines | Framing::Joined(_) => count_lines(&block.bytes),
            Framing::Json => {
                self.json.scan(&block.bytes, self.ended);
                block.spans = self.json.take(block.bytes.len());
                if self.ended { count_lines(&block.bytes) } else { count_feeds(&block.bytes) }
            }
            Framing::Yaml => {
                yaml_spans(&block.bytes, self.next_line, &mut block.spans);
                count_lines(&block.bytes)
            }
        };
        self.next_line += lines;
        self.offset += block.bytes.len() as u64;
        block.lines += lines;
        if let Some((_, line)) = &mut block.damage {
            *line = self.next_line.saturating_sub(1).max(1);
        }
    }

    fn framing(&mut self, start: &[u8]) -> Framing {
        *self.framing.get_or_insert_with(|| (self.tell)(start))
    }

    /// Where the bytes may be cut, the rest going into the next block.
    fn cut(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.framing(bytes) {
            Framing::Lines => memchr::memrchr(b'\n', bytes).map(|feed| feed + 1),
            Framing::Joined(may_cut) => {
                let mut cuts = memchr::memrchr_iter(b'\n', bytes).map(|feed| feed + 1);
                let last = cuts.clone().next();
                // Damage may leave lines that never come to an end.
                cuts.by_ref()
                    .take(CUTS_TRIED)
                    .find(|cut| may_cut(&bytes[..*cut], &bytes[*cut..]))
                    .or(last.filter(|_| bytes.len() > self.max_record.min(4 * BLOCK_SIZE)))
            }
            Framing::Json => {
                self.json.scan(bytes, self.ended);
                self.json.cut()
            }
            Framing::Yaml => memchr::memmem::rfind(bytes, b"\n---").map(|feed| feed + 1),
        }
    }

    /// Appends what the stream gives next. Doubling keeps the reading of a long record linear.
    fn read_more(&mut self, block: &mut Block) {
        let old = block.bytes.len();
        let more = old.clamp(READ_SIZE, (self.max_record + READ_SIZE).saturating_sub(old).max(READ_SIZE));
        // Pipes give little at a time. All of it is waited for, so that what stands there is looked at once.
        block.bytes.reserve(more);
        let read = self.reader.by_ref().take(more as u64).read_to_end(&mut block.bytes);
        self.ended = read.as_ref().is_ok_and(|read| *read < more);
        if let Err(error) = read {
            self.ended = true;
            block.damage = Some((damage_of(&error), 0));
        }
    }

    /// Forgets a record of which the block holds the start, and goes on with what follows it.
    fn pass_over(&mut self, block: &mut Block) {
        let json = matches!(self.framing, Some(Framing::Json));
        block.too_long.push(if json { self.json.start_line() } else { self.next_line });
        loop {
            let end = match self.framing {
                Some(Framing::Json) => {
                    self.json.scan(&block.bytes, self.ended);
                    self.json.end_of_first()
                }
                Some(Framing::Yaml) => memchr::memmem::find(&block.bytes, b"\n---").map(|feed| feed + 1),
                _ => memchr::memchr(b'\n', &block.bytes).map(|feed| feed + 1),
            };
            let all = if json { self.json.seen() } else { block.bytes.len() };
            let gone = end.unwrap_or(all);
            let mut lines = count_feeds(&block.bytes[..gone]);
            if self.ended && gone == block.bytes.len() && block.bytes.last() != Some(&b'\n') {
                lines += 1;
            }
            self.next_line += lines;
            block.lines += lines;
            self.offset += gone as u64;
            if json {
                self.json.forget(gone);
            }
            block.bytes.drain(..gone);
            if end.is_some() || self.ended {
                return;
            }
            self.read_more(block);
        }
    }
}

/// The documents of a text, each from its `---` or the text's start up to the next.
pub fn yaml_spans(bytes: &[u8], first_line: u64, spans: &mut Vec<Span>) {
    let ends = memchr::memmem::find_iter(bytes, b"\n---").map(|feed| feed + 1).chain([bytes.len()]);
    let (mut start, mut line) = (0, first_line);
    for end in ends {
        let text = &bytes[start..end];
        // What stands before the first mark may be nothing.
        if !text.trim_ascii().is_empty() && text.trim_ascii() != b"---" {
            spans.push(Span { start, end, line, part: Part::Yaml });
        }
        line += count_feeds(text);
        start = end;
    }
}

fn damage_of(error: &std::io::Error) -> Damage {
    if Shrunk::is(error) {
        return Damage::Shrunk;
    }
    match error.kind() {
        ErrorKind::UnexpectedEof => Damage::Truncated,
        ErrorKind::InvalidInput | ErrorKind::InvalidData => Damage::Corrupt,
        // zstd's own errors have no kind; so has a frame that ends early.
        ErrorKind::Other => Damage::Corrupt,
        _ => Damage::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(buffer.len()).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    type Numbered = (u64, u64, Vec<u8>);

    /// All lines with their numbers and offsets, and the numbers of the lines that were too long.
    fn cut(text: &[u8], step: usize) -> (Vec<Numbered>, Vec<u64>) {
        let mut cutter = Cutter::new(Trickle(text, step), 0, BLOCK_SIZE, &|_| Framing::Lines);
        let mut block = Block::default();
        let (mut lines, mut too_long) = (Vec::new(), Vec::new());
        while cutter.fill(&mut block) {
            too_long.append(&mut block.too_long);
            let (mut number, mut offset) = (block.first_line, block.offset);
            for line in block.bytes.split_inclusive(|b| *b == b'\n') {
                lines.push((number, offset, line.to_vec()));
                number += 1;
                offset += line.len() as u64;
            }
        }
        (lines, too_long)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn lines_numbers_and_offsets_are_those_of_the_text(
            lengths in prop::collection::vec(prop_oneof![0_usize..100, 1_000_000_usize..1_100_000], 0..6),
            feed_at_end: bool,
            step in prop_oneof![Just(4099_usize), Just(1 << 20)],
        ) {
            let mut text = lengths.iter().map(|n| "x".repeat(*n)).collect::<Vec<_>>().join("\n").into_bytes();
            if feed_at_end {
                text.push(b'\n');
            }
            let (lines, too_long) = cut(&text, step);
            let mut offset = 0;
            let mut want = Vec::new();
            for (index, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
                want.push((index as u64 + 1, offset, line.to_vec()));
                offset += line.len() as u64;
            }
            let got: std::collections::BTreeSet<u64> =
                lines.iter().map(|(number, ..)| *number).chain(too_long.iter().copied()).collect();
            prop_assert_eq!(got.len(), want.len());
            for line in lines {
                prop_assert_eq!(&line, &want[usize::try_from(line.0).expect("small") - 1]);
            }
            for number in too_long {
                let line = &want[usize::try_from(number).expect("small") - 1].2;
                prop_assert!(line.len() > BLOCK_SIZE);
            }
        }
    }

    #[test]
    fn a_failing_stream_gives_what_was_read_and_says_where_it_ends() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(ErrorKind::UnexpectedEof.into())
            }
        }
        let mut cutter = Cutter::new(Trickle(b"a\nb", 4).chain(Fails), 7, BLOCK_SIZE, &|_| Framing::Lines);
        let mut block = Block::default();
        assert!(cutter.fill(&mut block));
        assert_eq!((block.source, &*block.bytes), (7, b"a\nb".as_slice()));
        assert_eq!(block.damage, Some((Damage::Truncated, 2)));
        assert!(!cutter.fill(&mut block));
    }

    #[test]
    fn a_long_document_ends_where_it_ends_however_it_is_read() {
        let long = format!("{{\"a\":\"{}\"}}", "\\\\".repeat(BLOCK_SIZE));
        let text = format!("{long}\n{}{{\"b\":1}}\n", " ".repeat(3 * BLOCK_SIZE));
        let at = text.len() as u64 - 8;
        for step in [READ_SIZE - 1, READ_SIZE, BLOCK_SIZE + 7] {
            let mut cutter = Cutter::new(Trickle(text.as_bytes(), step), 0, BLOCK_SIZE, &|_| Framing::Json);
            let (mut block, mut found, mut too_long) = (Block::default(), Vec::new(), Vec::new());
            while cutter.fill(&mut block) {
                too_long.append(&mut block.too_long);
                found.extend(block.records().map(|record| (record.line, record.offset, record.bytes.len())));
            }
            assert_eq!((too_long, found), (vec![1], vec![(2, at, 7)]), "{step}");
        }
    }
}
