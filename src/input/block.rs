//! Blocks of whole lines, cut from a stream.

use std::io::{ErrorKind, Read};

/// The size at which a block is handed on, in bytes; a longer line makes a longer block.
pub const BLOCK_SIZE: usize = 1 << 20;
/// The least that is read at once, in bytes.
const READ_SIZE: usize = 256 << 10;

/// Some whole lines of one source.
#[derive(Debug, Default)]
pub struct Block {
    /// Index of the source.
    pub source: u32,
    /// Number of the first line, from 1.
    pub first_line: u64,
    /// Offset of the first byte in the decompressed stream.
    pub offset: u64,
    /// The lines, each with its line feed but for the last of a source, which may lack it.
    pub bytes: Vec<u8>,
    /// Numbers of lines before this block that were longer than the cap and so are not in any block.
    pub too_long: Vec<u64>,
    /// The stream ends here because it is damaged: at this line.
    pub damage: Option<(Damage, u64)>,
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
}

impl Damage {
    /// How reports name the damage.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated-stream",
            Self::Corrupt => "corrupt-stream",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Cuts a stream into blocks. Lines longer than the cap are passed over without being held in memory.
pub struct Cutter<R> {
    reader: R,
    source: u32,
    max_line: usize,
    /// The start of a line whose end has not been read yet.
    carry: Vec<u8>,
    next_line: u64,
    offset: u64,
    ended: bool,
}

impl<R: Read> Cutter<R> {
    /// A cutter of a stream from its start. A cap below [`BLOCK_SIZE`] is left to whoever reads the block.
    pub fn new(reader: R, source: u32, max_line: usize) -> Self {
        let max_line = max_line.max(BLOCK_SIZE);
        Self { reader, source, max_line, carry: Vec::new(), next_line: 1, offset: 0, ended: false }
    }

    /// Fills the block with the next lines; false at the end, when there is nothing left to report either.
    pub fn fill(&mut self, block: &mut Block) -> bool {
        block.source = self.source;
        block.too_long.clear();
        block.damage = None;
        // A block that held a huge line does not keep its memory.
        if block.bytes.capacity() > 8 * BLOCK_SIZE {
            block.bytes = Vec::new();
        }
        block.bytes.clear();
        block.bytes.append(&mut self.carry);
        let mut last_feed = None;
        while !self.ended {
            let old = block.bytes.len();
            self.read_more(block);
            last_feed = memchr::memrchr(b'\n', &block.bytes[old..]).map(|at| old + at).or(last_feed);
            match last_feed {
                Some(feed) if block.bytes.len() >= BLOCK_SIZE && !self.ended => {
                    self.carry.extend_from_slice(&block.bytes[feed + 1..]);
                    block.bytes.truncate(feed + 1);
                    break;
                }
                // Without a line feed all of it is one line.
                None if block.bytes.len() > self.max_line => {
                    self.pass_over_line(block);
                    last_feed = memchr::memrchr(b'\n', &block.bytes);
                }
                _ => {}
            }
        }
        block.first_line = self.next_line;
        block.offset = self.offset;
        self.next_line += count_lines(&block.bytes);
        self.offset += block.bytes.len() as u64;
        if let Some((_, line)) = &mut block.damage {
            *line = self.next_line.saturating_sub(1).max(1);
        }
        !block.bytes.is_empty() || !block.too_long.is_empty() || block.damage.is_some()
    }

    /// Appends what the stream gives next. Doubling keeps the reading of a long line linear.
    fn read_more(&mut self, block: &mut Block) {
        let old = block.bytes.len();
        let more = old.clamp(READ_SIZE, (self.max_line + READ_SIZE).saturating_sub(old).max(READ_SIZE));
        block.bytes.resize(old + more, 0);
        let read = self.reader.read(&mut block.bytes[old..]);
        block.bytes.truncate(old + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                block.damage = Some((damage_of(&error), 0));
            }
        }
    }

    /// Forgets a line of which the block holds the start, and goes on with what follows its line feed.
    fn pass_over_line(&mut self, block: &mut Block) {
        block.too_long.push(self.next_line);
        self.next_line += 1;
        while !self.ended {
            self.offset += block.bytes.len() as u64;
            block.bytes.clear();
            self.read_more(block);
            if let Some(feed) = memchr::memchr(b'\n', &block.bytes) {
                self.offset += feed as u64 + 1;
                block.bytes.drain(..=feed);
                return;
            }
        }
        self.offset += block.bytes.len() as u64;
        block.bytes.clear();
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', bytes).count() as u64;
    feeds + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

fn damage_of(error: &std::io::Error) -> Damage {
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
        let mut cutter = Cutter::new(Trickle(text, step), 0, BLOCK_SIZE);
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
        let mut cutter = Cutter::new(Trickle(b"a\nb", 4).chain(Fails), 7, BLOCK_SIZE);
        let mut block = Block::default();
        assert!(cutter.fill(&mut block));
        assert_eq!((block.source, &*block.bytes), (7, b"a\nb".as_slice()));
        assert_eq!(block.damage, Some((Damage::Truncated, 2)));
        assert!(!cutter.fill(&mut block));
    }
}
