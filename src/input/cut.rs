//! Cuts a stream into blocks of whole records.
//!
//! Blocks are reused, and new data overwrites the old data. So once a block has its full size, its memory is neither
//! allocated nor set to zero again.

use std::io::{ErrorKind, Read};

use super::block::{Block, Damage, LONG_RECORD, TooLong, yaml_spans};
use super::block_buffer::BlockBuffer;
use super::framing::{Framing, count_feeds, count_lines, note_lines};
use super::json::JsonScanner;
use super::long_records::LongRecords;
use super::open::Shrunk;

/// The target size of a block in bytes. A longer record makes the block longer.
pub const BLOCK_SIZE: usize = 1 << 19;
/// The minimum number of bytes to read at once for a record that is longer than a block. After each read, the cutter
/// searches again for the end of the record.
const READ_SIZE: usize = 256 << 10;
/// The cutter reads at most this many bytes to find a line feed. If it finds none, it detects the framing from these
/// bytes.
const DETECT_LIMIT: usize = 4 << 20;
/// A block must not end between related lines, such as the parts of one container line. So the cutter tries at most
/// this many line ends as the end of a block, beginning with the last.
const MAX_CUTS_TRIED: usize = 256;
/// Related lines must be in the same block. But if they exceed this total size in bytes, a block may end between
/// them. Without a limit, the related lines of a damaged file might never end.
const MAX_RELATED: usize = 4 << 20;

/// Cuts a stream into blocks. It skips records longer than the cap, and never holds a whole one in memory.
pub struct Cutter<R, T> {
    reader: R,
    source: u32,
    block_size: usize,
    max_record: usize,
    detect: T,
    framing: Option<Framing>,
    /// The start of a record whose end is not read yet.
    partial_record: Vec<u8>,
    json: JsonScanner,
    next_line: u64,
    offset: u64,
    /// The last byte of the previous block. Before the first block, it is a line feed.
    last_byte: u8,
    is_ended: bool,
    long: LongRecords,
}

impl<R: Read, T: Fn(&[u8]) -> Framing> Cutter<R, T> {
    /// Creates a cutter at the start of a stream. `detect` detects the framing from the first bytes. A `max_record`
    /// below [`BLOCK_SIZE`] is raised to that size. The code that reads the blocks must then apply the smaller
    /// maximum.
    pub fn new(reader: R, source: u32, max_record: usize, detect: T) -> Self {
        Self {
            reader,
            source,
            block_size: BLOCK_SIZE,
            max_record: max_record.max(BLOCK_SIZE),
            detect,
            framing: None,
            partial_record: Vec::new(),
            json: JsonScanner::default(),
            next_line: 1,
            offset: 0,
            last_byte: b'\n',
            is_ended: false,
            long: LongRecords::default(),
        }
    }

    /// Makes this cutter share the permit for a long record with all cutters that have the same `long`.
    #[must_use]
    pub(crate) fn with_long_records(self, long: LongRecords) -> Self {
        Self { long, ..self }
    }

    /// Sets the size of blocks in bytes. The records depend on the block size in only two ways. The framing is
    /// detected from the bytes of the first block, and a damaged compressed stream may yield fewer bytes.
    #[must_use]
    pub fn with_block_size(self, block_size: usize) -> Self {
        Self { block_size, ..self }
    }

    /// Fills the block with the next records. Returns false if the stream has ended and the block contains nothing:
    /// neither records nor skipped records nor damage.
    pub fn fill(&mut self, block: &mut Block) -> bool {
        block.source = self.source;
        block.too_long.clear();
        block.spans.clear();
        block.feeds.clear();
        block.damage = None;
        block.lines = 0;
        block.release();
        let mut memory = std::mem::take(&mut block.bytes);
        let mut buffer = BlockBuffer { memory: &mut memory, length: 0 };
        buffer.append(&self.partial_record);
        self.partial_record.clear();
        self.partial_record.shrink_to(LONG_RECORD);
        while !self.is_ended {
            self.read_more(&mut buffer, block);
            if buffer.length < self.block_size.max(self.bytes_to_detect(buffer.bytes())) && !self.is_ended {
                continue;
            }
            match self.cut(buffer.bytes()) {
                Some(cut) if !self.is_ended => {
                    self.partial_record.extend_from_slice(&buffer.bytes()[cut..]);
                    buffer.length = cut;
                    break;
                }
                None if buffer.length > self.max_record => self.skip_long_record(&mut buffer, block),
                _ => {}
            }
        }
        let length = buffer.length;
        memory.truncate(length);
        block.bytes = memory;
        self.finish_block(block);
        !block.bytes.is_empty() || block.lines > 0 || !block.too_long.is_empty() || block.damage.is_some()
    }

    /// The number of bytes that are needed to detect the framing: a whole line, or `DETECT_LIMIT`.
    fn bytes_to_detect(&self, bytes: &[u8]) -> usize {
        let is_detectable = self.framing.is_some() || memchr::memchr(b'\n', bytes).is_some();
        if is_detectable { 0 } else { DETECT_LIMIT.min(self.max_record) }
    }

    /// Sets the positions and line numbers of the block.
    fn finish_block(&mut self, block: &mut Block) {
        block.framing = self.framing(&block.bytes);
        block.first_line = self.next_line;
        block.offset = self.offset;
        let lines = match block.framing {
            Framing::Lines | Framing::Joined(_) => note_lines(&block.bytes, &mut block.feeds),
            Framing::Json => {
                self.json.scan(&block.bytes, self.is_ended);
                block.spans = self.json.take(block.bytes.len());
                // A block of documents may end inside a line, so only line feeds are counted. At the end of the
                // stream, the last line may lack its line feed; it counts too. The last byte of that line may be in
                // the previous block.
                let is_open = self.is_ended && *block.bytes.last().unwrap_or(&self.last_byte) != b'\n';
                count_feeds(&block.bytes) + u64::from(is_open)
            }
            Framing::Yaml => {
                yaml_spans(&block.bytes, self.next_line, &mut block.spans);
                count_lines(&block.bytes)
            }
        };
        self.next_line += lines;
        self.offset += block.bytes.len() as u64;
        block.lines += lines;
        self.last_byte = if self.is_ended { b'\n' } else { *block.bytes.last().unwrap_or(&self.last_byte) };
        if let Some((_, line)) = &mut block.damage {
            *line = self.next_line.saturating_sub(1).max(1);
        }
    }

    fn framing(&mut self, start: &[u8]) -> Framing {
        *self.framing.get_or_insert_with(|| (self.detect)(start))
    }

    /// Returns the offset at which the block ends. The bytes after this offset go into the next block. `None` if the
    /// block cannot end in these bytes.
    fn cut(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.framing(bytes) {
            Framing::Lines => memchr::memrchr(b'\n', bytes).map(|feed| feed + 1),
            Framing::Joined(may_cut) => {
                let mut cuts = memchr::memrchr_iter(b'\n', bytes).map(|feed| feed + 1);
                let last = cuts.clone().next();
                cuts.by_ref()
                    .take(MAX_CUTS_TRIED)
                    .find(|cut| may_cut(&bytes[..*cut], &bytes[*cut..]))
                    .or(last.filter(|_| bytes.len() > self.max_record.min(MAX_RELATED)))
            }
            Framing::Json => {
                self.json.scan(bytes, self.is_ended);
                self.json.cut()
            }
            Framing::Yaml => memchr::memmem::rfind(bytes, b"\n---").map(|feed| feed + 1),
        }
    }

    /// Appends the next bytes of the stream. The first call fills the block. Further calls let a long record grow
    /// step by step.
    fn read_more(&mut self, buffer: &mut BlockBuffer<'_>, block: &mut Block) {
        let old = buffer.length;
        if old >= LONG_RECORD && block.permit.is_none() {
            block.permit = Some(self.long.permit());
            buffer.reserve(self.max_record + READ_SIZE);
        }
        let more = if old < self.block_size {
            self.block_size - old
        } else {
            old.min(LONG_RECORD).min((self.max_record + READ_SIZE).saturating_sub(old)).max(READ_SIZE)
        };
        match buffer.read(&mut self.reader, more) {
            Ok(all) => self.is_ended = !all,
            Err(error) => {
                self.is_ended = true;
                block.damage = Some((damage_of(&error), 0));
            }
        }
    }

    /// Skips a record that exceeds the cap, and continues with the bytes after it.
    fn skip_long_record(&mut self, buffer: &mut BlockBuffer<'_>, block: &mut Block) {
        let json = matches!(self.framing, Some(Framing::Json));
        let (line, start) = if json { self.json.start() } else { (self.next_line, 0) };
        let (from, offset) = (self.offset, self.offset + start as u64);
        loop {
            let bytes = buffer.bytes();
            let end = match self.framing {
                Some(Framing::Json) => {
                    self.json.scan(bytes, self.is_ended);
                    self.json.end_of_first()
                }
                Some(Framing::Yaml) => memchr::memmem::find(bytes, b"\n---").map(|feed| feed + 1),
                _ => memchr::memchr(b'\n', bytes).map(|feed| feed + 1),
            };
            let all = if json { self.json.scanned() } else { bytes.len() };
            let gone = end.unwrap_or(all);
            let mut lines = count_feeds(&bytes[..gone]);
            if self.is_ended && gone == bytes.len() && bytes.last() != Some(&b'\n') {
                lines += 1;
                self.last_byte = b'\n';
            } else if let Some(last) = bytes[..gone].last() {
                self.last_byte = *last;
            }
            self.next_line += lines;
            block.lines += lines;
            self.offset += gone as u64;
            if json {
                self.json.forget(gone);
            }
            buffer.drop_front(gone);
            if end.is_some() || self.is_ended {
                let (bytes, read) = (self.offset - offset, self.offset - from);
                block.too_long.push(TooLong { line, offset, bytes, read });
                return;
            }
            self.read_more(buffer, block);
        }
    }
}

fn damage_of(error: &std::io::Error) -> Damage {
    if Shrunk::is(error) {
        return Damage::Shrunk;
    }
    // zstd reports its own errors only as text.
    if error.to_string().contains("requires too much memory for decoding") {
        return Damage::LongWindow;
    }
    match error.kind() {
        ErrorKind::UnexpectedEof => Damage::Truncated,
        ErrorKind::InvalidInput | ErrorKind::InvalidData => Damage::Corrupt,
        // The zstd library reports all its errors with this kind, also those for invalid data.
        ErrorKind::Other => Damage::Corrupt,
        _ => Damage::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a few bytes per read.
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
    fn cut(text: &[u8], step: usize, block_size: usize) -> (Vec<Numbered>, Vec<u64>) {
        let mut cutter = Cutter::new(Trickle(text, step), 0, BLOCK_SIZE, |_: &[u8]| Framing::Lines)
            .with_block_size(block_size);
        let mut block = Block::default();
        let (mut lines, mut too_long) = (Vec::new(), Vec::new());
        while cutter.fill(&mut block) {
            too_long.extend(block.too_long.iter().map(|long| long.line));
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
        fn blocks_keep_lines_numbers_and_offsets(
            lengths in prop::collection::vec(prop_oneof![0_usize..100, 1_000_000_usize..1_100_000], 0..6),
            feed_at_end: bool,
            step in prop_oneof![Just(4099_usize), Just(1 << 20)],
            block_size in prop_oneof![Just(1_usize), Just(300 << 10), Just(BLOCK_SIZE), Just(3 * BLOCK_SIZE)],
        ) {
            let mut text = lengths.iter().map(|n| "x".repeat(*n)).collect::<Vec<_>>().join("\n").into_bytes();
            if feed_at_end {
                text.push(b'\n');
            }
            let (lines, too_long) = cut(&text, step, block_size);
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
    fn reused_block_keeps_nothing_of_its_old_content() {
        let text: Vec<u8> =
            (0..3000).flat_map(|n| format!("{}\n", "x".repeat(n % 2000)).into_bytes()).collect();
        let mut cutter =
            Cutter::new(&*text, 0, BLOCK_SIZE, |_: &[u8]| Framing::Lines).with_block_size(100 << 10);
        let mut used = Block {
            bytes: vec![b'\n'; 200 << 10],
            feeds: vec![1, 2],
            too_long: vec![TooLong { line: 7, offset: 0, bytes: 1, read: 1 }],
            lines: 9,
            damage: Some((Damage::Corrupt, 1)),
            ..Block::default()
        };
        let (mut all, mut memory) = (Vec::new(), Vec::new());
        while cutter.fill(&mut used) {
            assert_eq!((&*used.too_long, used.damage), ([].as_slice(), None));
            assert_eq!(used.feeds, memchr::memchr_iter(b'\n', &used.bytes).collect::<Vec<_>>());
            assert_eq!(used.lines, used.feeds.len() as u64);
            all.extend_from_slice(&used.bytes);
            memory.push((used.bytes.as_ptr(), used.bytes.capacity()));
        }
        assert!(all == text, "other bytes");
        memory.dedup();
        assert_eq!(memory.len(), 1, "the memory is reused");
    }

    #[test]
    fn failing_stream_yields_its_bytes_and_the_damage() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(ErrorKind::UnexpectedEof.into())
            }
        }
        let mut cutter =
            Cutter::new(Trickle(b"a\nb", 4).chain(Fails), 7, BLOCK_SIZE, |_: &[u8]| Framing::Lines);
        let mut block = Block::default();
        assert!(cutter.fill(&mut block));
        assert_eq!((block.source, &*block.bytes), (7, b"a\nb".as_slice()));
        assert_eq!(block.damage, Some((Damage::Truncated, 2)));
        assert!(!cutter.fill(&mut block));
    }

    #[test]
    fn end_of_a_long_document_is_independent_of_read_size() {
        let long = format!("{{\"a\":\"{}\"}}", "\\\\".repeat(BLOCK_SIZE));
        let text = format!("{long}\n{}{{\"b\":1}}\n", " ".repeat(3 * BLOCK_SIZE));
        let at = text.len() as u64 - 8;
        for step in [READ_SIZE - 1, READ_SIZE, BLOCK_SIZE + 7] {
            let mut cutter =
                Cutter::new(Trickle(text.as_bytes(), step), 0, BLOCK_SIZE, |_: &[u8]| Framing::Json);
            let (mut block, mut found, mut too_long) = (Block::default(), Vec::new(), Vec::new());
            while cutter.fill(&mut block) {
                too_long.append(&mut block.too_long);
                found.extend(block.records().map(|record| (record.line, record.offset, record.bytes.len())));
            }
            let bytes = long.len() as u64;
            assert_eq!(too_long, [TooLong { line: 1, offset: 0, bytes, read: bytes }], "{step}");
            assert_eq!(found, [(2, at, 7)], "{step}");
        }
    }

    #[test]
    fn framing_is_detected_after_the_complete_first_line() {
        let detect = |start: &[u8]| if start.contains(&b'\n') { Framing::Lines } else { Framing::Yaml };
        for (length, framing) in [(3 * BLOCK_SIZE, Framing::Lines), (2 * DETECT_LIMIT, Framing::Yaml)] {
            let text = [vec![b'x'; length], b"\ny\n".to_vec()].concat();
            let mut block = Block::default();
            assert!(Cutter::new(&*text, 0, 64 << 20, detect).fill(&mut block));
            assert_eq!(block.framing.as_str(), framing.as_str(), "{length}");
        }
    }
}
