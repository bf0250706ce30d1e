//! Hands blocks to workers: each reads a source of its own while there are enough, and then helps with those of
//! the others, so that one large file keeps all workers busy.

use std::io::Read;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::block::{Block, Cutter, Damage, Tell};
use super::discover::Source;
use super::open::open;

type Slot<'a> = Mutex<Option<Cutter<'a, Box<dyn Read + Send>>>>;

/// The blocks of all sources.
pub struct Feed<'a> {
    sources: &'a [Source],
    /// Those that are read, by index.
    wanted: Vec<usize>,
    max_record: usize,
    tell: Tell<'a>,
    next: AtomicUsize,
    /// Workers that have taken a source and not opened it yet.
    opening: AtomicUsize,
    slots: Vec<Slot<'a>>,
    progress: Arc<AtomicU64>,
}

impl<'a> Feed<'a> {
    /// A feed of the wanted ones of the sources, by index, for so many workers. Records longer than `max_record` bytes are passed over; `tell` tells by the start
    /// of a source how it falls into records.
    #[must_use]
    pub fn new(
        sources: &'a [Source],
        wanted: Vec<usize>,
        workers: usize,
        max_record: usize,
        tell: Tell<'a>,
        progress: Arc<AtomicU64>,
    ) -> Self {
        Self {
            sources,
            wanted,
            max_record,
            tell,
            next: AtomicUsize::new(0),
            opening: AtomicUsize::new(0),
            slots: (0..workers).map(|_| Slot::default()).collect(),
            progress,
        }
    }

    /// Fills the block for a worker; false when all sources are read.
    ///
    /// Reading and decompression are done under the lock of their source, everything else outside of it.
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
        if slot.as_mut().is_some_and(|cutter| cutter.fill(block)) {
            return true;
        }
        *slot = None;
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
            *block = Block { source: number, first_line: 1, ..Block::default() };
            match open(source.path.as_deref(), Arc::clone(&self.progress)) {
                Ok(stream) => {
                    let cutter = Cutter::new(stream, number, self.max_record, self.tell);
                    *self.slots[worker].lock().unwrap_or_else(PoisonError::into_inner) = Some(cutter);
                }
                Err(_) => block.damage = Some((Damage::Unreadable, 1)),
            }
        }
        self.opening.fetch_sub(1, Ordering::AcqRel);
        found.is_some()
    }
}
