//! Hands blocks to workers: each reads a source of its own while there are enough, and then helps with those of
//! the others, so that one large file keeps all workers busy.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ahead::Ahead;
use super::block::{Block, Damage};
use super::cut::Cutter;
use super::discover::Source;
use super::framing::Framing;
use super::open::{Stream, open};

/// The blocks of all sources.
pub struct Feed<'a, T> {
    sources: &'a [Source],
    /// Those that are read, by index.
    wanted: Vec<usize>,
    max_record: usize,
    tell: T,
    next: AtomicUsize,
    /// Sources that are read to their end.
    done: AtomicUsize,
    /// Workers that have taken a source and not opened it yet.
    opening: AtomicUsize,
    slots: Vec<Mutex<Option<Reading<T>>>>,
    /// Threads that can run at once.
    cores: usize,
    progress: Arc<AtomicU64>,
}

/// A source that is being read.
enum Reading<T> {
    /// By the worker that needs the next block.
    Here(Box<Cutter<Stream, T>>),
    Ahead(Ahead),
}

impl<T: Fn(&[u8]) -> Framing> Reading<T> {
    fn fill(&mut self, block: &mut Block) -> bool {
        match self {
            Self::Here(cutter) => cutter.fill(block),
            Self::Ahead(ahead) => ahead.fill(block),
        }
    }
}

impl<'a, T: Fn(&[u8]) -> Framing + Clone + Send + 'static> Feed<'a, T> {
    /// A feed of the wanted ones of the sources, by index, for so many workers. Records longer than `max_record` bytes
    /// are passed over; `tell` tells by the start of a source how it falls into records.
    #[must_use]
    pub fn new(
        sources: &'a [Source],
        wanted: Vec<usize>,
        workers: usize,
        max_record: usize,
        tell: T,
        progress: Arc<AtomicU64>,
    ) -> Self {
        Self {
            sources,
            wanted,
            max_record,
            tell,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            opening: AtomicUsize::new(0),
            slots: (0..workers).map(|_| Mutex::default()).collect(),
            cores: std::thread::available_parallelism().map_or(1, usize::from).max(workers),
            progress,
        }
    }

    /// Fills the block for a worker; false when all sources are read.
    ///
    /// Reading, and decompression where no thread does it ahead, are done under the lock of their source, everything
    /// else outside of it.
    pub fn next_block(&self, worker: usize, block: &mut Block) -> bool {
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
            for other in 1..self.slots.len() {
                if self.take((worker + other) % self.slots.len(), block) {
                    return true;
                }
            }
            if !still_opening {
                return false;
            }
            // Rare and short, but for a pipe that no one writes to yet.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The next block of a slot's source, if it has one.
    fn take(&self, slot: usize, block: &mut Block) -> bool {
        let mut slot = self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_mut().is_some_and(|reading| reading.fill(block)) {
            return true;
        }
        if slot.take().is_some() {
            self.done.fetch_add(1, Ordering::AcqRel);
        }
        false
    }

    /// Opens the next source into the worker's slot; false if there is none left. A source that can't be opened
    /// leaves a block that says so.
    fn open_next(&self, worker: usize, block: &mut Block) -> bool {
        self.opening.fetch_add(1, Ordering::AcqRel);
        let found = self.wanted.get(self.next.fetch_add(1, Ordering::AcqRel)).copied();
        if let Some(index) = found {
            let source = &self.sources[index];
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            block.damage = None;
            match open(source.path.as_deref(), Arc::clone(&self.progress)) {
                Ok(stream) => {
                    let reading = self.read(stream, number);
                    *self.slots[worker].lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
                }
                Err(_) => {
                    self.done.fetch_add(1, Ordering::AcqRel);
                    let damage = Some((Damage::Unreadable, 1));
                    *block = Block { source: number, first_line: 1, damage, ..Block::default() };
                }
            }
        }
        self.opening.fetch_sub(1, Ordering::AcqRel);
        found.is_some()
    }

    /// Compressed streams are read ahead where fewer sources are left than cores: else all are busy as it is.
    fn read(&self, stream: Stream, source: u32) -> Reading<T> {
        let left = self.wanted.len() - self.done.load(Ordering::Acquire);
        let is_ahead = stream.is_compressed() && left < self.cores;
        let cutter = Box::new(Cutter::new(stream, source, self.max_record, self.tell.clone()));
        if is_ahead {
            // Where the operating system gives no thread, it goes on as it would without one.
            Ahead::start(cutter, |cutter, block| cutter.fill(block))
                .map_or_else(Reading::Here, Reading::Ahead)
        } else {
            Reading::Here(cutter)
        }
    }
}
