//! Distributes blocks to workers. Each worker first reads a source of its own, and then takes blocks of sources that
//! other workers opened. So one large file keeps all workers busy.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::Source;
use super::block::{Block, Damage};
use super::cut::Cutter;
use super::framing::Framing;
use super::long_records::LongRecords;
use super::open::{Stream, open};
use super::read_ahead::ReadAhead;

/// With this many workers per compressed stream, decompression is the bottleneck. The number is right for gzip, where
/// decompression takes half the time of decoding and counting. For zstd it would be five, because decompression takes
/// a quarter.
const SHARED_BY: usize = 3;

/// Distributes the blocks of all sources.
pub struct Feed<'a, T> {
    sources: &'a [Source],
    /// Indexes of the sources to read.
    wanted: Vec<usize>,
    max_record: usize,
    detect: T,
    next: AtomicUsize,
    /// The number of sources that were read completely.
    done: AtomicUsize,
    /// The number of workers that are opening a source now.
    opening: AtomicUsize,
    slots: Vec<Mutex<Option<OpenSource<T>>>>,
    /// The number of threads that can run at once.
    cores: usize,
    progress: Arc<AtomicU64>,
    long: LongRecords,
}

/// A source that is being read.
enum OpenSource<T> {
    /// The worker that needs the next block reads it.
    Inline(Box<Cutter<Stream, T>>),
    ReadAhead(ReadAhead),
}

impl<T: Fn(&[u8]) -> Framing> OpenSource<T> {
    fn fill(&mut self, block: &mut Block) -> bool {
        match self {
            Self::Inline(cutter) => cutter.fill(block),
            Self::ReadAhead(ahead) => ahead.fill(block),
        }
    }
}

impl<'a, T: Fn(&[u8]) -> Framing + Clone + Send + 'static> Feed<'a, T> {
    /// Creates a feed of the sources at the indexes `wanted`. Records longer than `max_record` bytes are skipped.
    /// `detect` detects the framing from a source's first bytes.
    #[must_use]
    pub fn new(
        sources: &'a [Source],
        wanted: Vec<usize>,
        workers: usize,
        max_record: usize,
        detect: T,
        progress: Arc<AtomicU64>,
    ) -> Self {
        Self {
            sources,
            wanted,
            max_record,
            detect,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            opening: AtomicUsize::new(0),
            slots: (0..workers).map(|_| Mutex::default()).collect(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            progress,
            long: LongRecords::default(),
        }
    }

    /// Fills the block for a worker. Returns false when all sources are read.
    ///
    /// A worker locks a source only while it reads and decompresses a block. Streams that are read ahead are
    /// decompressed without the lock.
    pub fn next_block(&self, worker: usize, block: &mut Block) -> bool {
        // Release the permit first: another worker may wait for it.
        block.release();
        loop {
            if self.take(worker, block) {
                return true;
            }
            if !self.open_next(worker, block) {
                break;
            }
            if block.damage.is_some() {
                return true;
            }
        }
        loop {
            let still_opening = self.opening.load(Ordering::Acquire) > 0;
            let others = (1..self.slots.len()).map(|other| (worker + other) % self.slots.len());
            // If another worker uses a source, this worker tries the other sources first. It waits only if none of
            // them has a block.
            let (mut busy, mut is_filled) = (None, false);
            for other in others {
                match self.slots[other].try_lock() {
                    Ok(slot) => is_filled = self.fill(slot, block),
                    Err(TryLockError::Poisoned(slot)) => is_filled = self.fill(slot.into_inner(), block),
                    Err(TryLockError::WouldBlock) => busy = busy.or(Some(other)),
                }
                if is_filled {
                    return true;
                }
            }
            match busy {
                Some(busy) if self.take(busy, block) => return true,
                Some(_) => continue,
                None if !still_opening => return false,
                None => {}
            }
            // Waits for another worker that is opening a source. This wait is rare and short, except if the source is
            // a pipe without a writer.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Fills the block with the next records of the source in this slot. Returns false if the slot has no source, or
    /// if its source has ended.
    fn take(&self, slot: usize, block: &mut Block) -> bool {
        self.fill(self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner), block)
    }

    fn fill(&self, mut slot: MutexGuard<'_, Option<OpenSource<T>>>, block: &mut Block) -> bool {
        if slot.as_mut().is_some_and(|reading| reading.fill(block)) {
            return true;
        }
        if slot.take().is_some() {
            self.done.fetch_add(1, Ordering::AcqRel);
        }
        false
    }

    /// Opens the next source for a worker. Returns false if none is left. For a source that can't be opened, it fills
    /// the block with the error.
    fn open_next(&self, worker: usize, block: &mut Block) -> bool {
        self.opening.fetch_add(1, Ordering::AcqRel);
        let index = self.wanted.get(self.next.fetch_add(1, Ordering::AcqRel)).copied();
        if let Some(index) = index {
            let source = &self.sources[index];
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            block.damage = None;
            if let Ok(opened) = open(source.path.as_deref(), Arc::clone(&self.progress)) {
                let reading = self.read(opened, number);
                *self.slots[worker].lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
            } else {
                self.done.fetch_add(1, Ordering::AcqRel);
                let damage = Some((Damage::Unreadable, 1));
                *block = Block { source: number, first_line: 1, damage, ..Block::default() };
            }
        }
        self.opening.fetch_sub(1, Ordering::AcqRel);
        index.is_some()
    }

    /// Decides how to read a stream. A compressed stream is read ahead on its own thread in two cases. In the first
    /// case, a core is free for the thread. In the second case, so many workers share the stream that they would wait
    /// for its decompression. Otherwise the workers decompress it in turns, because another thread would only compete
    /// for the same cores.
    fn read(&self, (stream, is_compressed): (Stream, bool), source: u32) -> OpenSource<T> {
        let workers = self.slots.len();
        let left = self.wanted.len() - self.done.load(Ordering::Acquire);
        let has_room = workers + left.min(workers) <= self.cores;
        let is_ahead = is_compressed && (has_room || workers >= SHARED_BY * left);
        let cutter = Cutter::new(stream, source, self.max_record, self.detect.clone());
        let cutter = Box::new(cutter.with_long_records(self.long.clone()));
        if is_ahead {
            // If the thread cannot start, the worker reads the stream itself.
            ReadAhead::start(cutter, |cutter, block| cutter.fill(block))
                .map_or_else(OpenSource::Inline, OpenSource::ReadAhead)
        } else {
            OpenSource::Inline(cutter)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decompress::tests::gzip;
    use super::*;
    use crate::input::Sources;

    /// The position and bytes of each record, and the position and reason of each damage.
    type ReadResult = (Vec<(u32, u64, u64, Vec<u8>)>, Vec<(u32, Damage, u64)>);

    fn log(lines: usize) -> Vec<u8> {
        (0..lines).flat_map(|n| format!("{n}{}\n", "x".repeat(n * 7 % 900)).into_bytes()).collect()
    }

    /// Files of all supported formats, undamaged and damaged.
    fn files() -> Vec<Vec<u8>> {
        let (long, short) = (log(3000), log(9));
        let (packed, frame) = (gzip(&long, 1), zstd::encode_all(&*long, 1).expect("zstd"));
        let broken = (1..8).map(|eighths| {
            let mut broken = packed.clone();
            broken[packed.len() * eighths / 8] ^= 0x55;
            broken
        });
        let cut = |bytes: &[u8]| bytes[..bytes.len() * 2 / 3].to_vec();
        let members = [&*packed, &*gzip(b"", 1), &*gzip(&short, 1)].concat();
        let garbage = [&*packed, b"garbage"].concat();
        let frames = [&*frame, &[0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9], &*frame].concat();
        let files = [cut(&packed), cut(&frame), members, garbage, frames, gzip(b"", 1), Vec::new()];
        broken.chain(files).chain([long.clone(), short, packed.clone(), frame]).collect()
    }

    /// What `workers` workers read on a machine with `cores` cores.
    fn read(sources: &[Source], workers: usize, cores: usize) -> ReadResult {
        let detect = |_: &[u8]| Framing::Lines;
        let wanted = (0..sources.len()).collect();
        let mut feed = Feed::new(sources, wanted, workers, 1 << 24, detect, Arc::default());
        feed.cores = cores;
        let work = |worker| {
            let (mut block, mut records, mut damaged) = (Block::default(), Vec::new(), Vec::new());
            while feed.next_block(worker, &mut block) {
                let source = block.source;
                records.extend(block.records().map(|r| (source, r.offset, r.line, r.bytes.to_vec())));
                damaged.extend(block.damage.map(|(damage, line)| (source, damage, line)));
            }
            (records, damaged)
        };
        let (mut records, mut damaged) = (Vec::new(), Vec::new());
        std::thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
            for worker in workers {
                let (more, worse) = worker.join().expect("no panic");
                records.extend(more);
                damaged.extend(worse);
            }
        });
        records.sort_unstable();
        damaged.sort_unstable();
        (records, damaged)
    }

    #[test]
    fn long_lines_of_two_sources_are_never_both_in_memory() {
        use super::super::block::LONG_RECORD;
        let dir = tempfile::tempdir().expect("a directory");
        // A line must be longer than `LONG_RECORD` to need a permit.
        let long = [&*vec![b'x'; 2 * LONG_RECORD + 1], b"\n"].concat();
        for name in ["a", "b"] {
            std::fs::write(dir.path().join(name), long.repeat(2)).expect("a file");
        }
        let sources = Sources::discover(&[dir.path().to_owned()]).expect("sources").list;
        let feed = Feed::new(&sources, vec![0, 1], 2, 1 << 25, |_: &[u8]| Framing::Lines, Arc::default());
        let (held, lines) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for worker in 0..2 {
                let (feed, held, lines) = (&feed, &held, &lines);
                scope.spawn(move || {
                    let mut block = Block::default();
                    while feed.next_block(worker, &mut block) {
                        assert!(block.permit.is_some(), "a block of {} bytes", block.bytes.len());
                        assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::sleep(Duration::from_millis(5));
                        lines.fetch_add(block.records().count(), Ordering::SeqCst);
                        held.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(lines.into_inner(), 4);
    }

    #[test]
    fn records_do_not_depend_on_workers_or_read_ahead() {
        let dir = tempfile::tempdir().expect("a directory");
        for (index, bytes) in files().iter().enumerate() {
            std::fs::write(dir.path().join(format!("{index:02}")), bytes).expect("a file");
        }
        let sources = Sources::discover(&[dir.path().to_owned()]).expect("sources").list;
        let want = read(&sources, 1, 0);
        assert!(want.0.len() > 20_000 && want.1.len() == 10, "{} records, {:?}", want.0.len(), want.1);
        for workers in [1, 3] {
            for cores in [0, usize::MAX] {
                assert!(read(&sources, workers, cores) == want, "{workers} workers, {cores} cores");
            }
        }
        // With a single source, the other workers take blocks of this source from the start.
        for index in 0..sources.len() {
            let one = &sources[index..=index];
            assert!(read(one, 3, usize::MAX) == read(one, 1, 0), "{index}");
        }
    }
}
