//! Reads, decompresses and cuts a stream on its own thread, a few blocks ahead of the workers.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use super::block::Block;

/// The number of blocks that are being filled or wait for a worker. A worker that takes a full block gives back its
/// old block, so this number stays the same.
const BLOCKS_AHEAD: usize = 3;

/// The blocks of a stream that a separate thread reads. The thread ends with the stream, or when this value is
/// dropped. Nothing waits for the thread, because a read from a pipe may block forever.
pub(super) struct ReadAhead {
    filled: Receiver<Block>,
    emptied: Sender<Block>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// Starts a thread that fills blocks from a stream until `fill` returns false.
    ///
    /// # Errors
    /// The operating system refuses the thread; the stream is returned.
    pub(super) fn start<S: Send + 'static>(
        stream: S,
        fill: fn(&mut S, &mut Block) -> bool,
    ) -> Result<Self, S> {
        let (to_worker, filled) = channel();
        let (emptied, from_worker) = channel();
        let (give, given) = channel::<S>();
        let run = move || {
            let Ok(mut stream) = given.recv() else { return };
            for mut block in from_worker {
                if !fill(&mut stream, &mut block) || to_worker.send(block).is_err() {
                    return;
                }
            }
        };
        let Ok(thread) = Builder::new().name("ahead".to_owned()).spawn(run) else { return Err(stream) };
        give.send(stream).map_err(|unsent| unsent.0)?;
        for _ in 0..BLOCKS_AHEAD {
            // The send fails only if the thread has ended.
            let _ = emptied.send(Block::default());
        }
        Ok(Self { filled, emptied, thread: Some(thread) })
    }

    /// Fills the block with the next records. Returns false at the end.
    ///
    /// # Panics
    /// Repeats a panic of the thread. Otherwise the stream would seem to end there.
    pub(super) fn fill(&mut self, block: &mut Block) -> bool {
        if let Ok(filled) = self.filled.recv() {
            // A thread that has ended needs no more blocks.
            let _ = self.emptied.send(std::mem::replace(block, filled));
            return true;
        }
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn start(fill: impl FnMut(&mut Block) -> bool + Send + 'static) -> ReadAhead {
        ReadAhead::start(fill, |fill, block| fill(block)).unwrap_or_else(|_| panic!("no thread"))
    }

    /// Returns a function that fills `count` blocks, and numbers them from 1. After these blocks, the function
    /// returns false.
    fn numbers(count: u64) -> impl FnMut(&mut Block) -> bool + Send + 'static {
        let mut next = 0;
        move |block| {
            next += 1;
            block.offset = next;
            next <= count
        }
    }

    fn read(ahead: &mut ReadAhead) -> Vec<u64> {
        let mut block = Block::default();
        std::iter::from_fn(|| ahead.fill(&mut block).then_some(block.offset)).collect()
    }

    #[test]
    fn blocks_arrive_in_order_and_end() {
        for count in [0, 1, 2, 3, 4, 100] {
            let mut ahead = start(numbers(count));
            assert_eq!(read(&mut ahead), (1..=count).collect::<Vec<_>>());
            assert!(!ahead.fill(&mut Block::default()), "the end is final");
        }
    }

    #[test]
    fn blocks_are_reused() {
        let memory = Arc::new(AtomicUsize::new(0));
        let fresh = Arc::clone(&memory);
        let mut left = 100;
        let fill = move |block: &mut Block| {
            fresh.fetch_add(usize::from(block.bytes.capacity() == 0), Ordering::Relaxed);
            block.bytes.resize(100, 0);
            left -= 1;
            left > 0
        };
        let mut ahead = start(fill);
        assert_eq!(read(&mut ahead).len(), 99);
        assert!(memory.load(Ordering::Relaxed) <= BLOCKS_AHEAD + 1);
    }

    #[test]
    fn thread_ends_when_its_receiver_is_dropped() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let mut endless = numbers(u64::MAX);
        let fill = move |block: &mut Block| {
            assert!(Arc::strong_count(&held) > 0);
            endless(block)
        };
        let mut ahead = start(fill);
        assert!(ahead.fill(&mut Block::default()));
        let thread = ahead.thread.take().expect("the thread runs");
        drop(ahead);
        thread.join().expect("the thread did not panic");
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn drop_does_not_wait_for_a_blocked_thread() {
        let (write, pipe) = channel::<()>();
        let mut ahead = start(move |_| pipe.recv().is_ok());
        write.send(()).expect("the thread reads");
        assert!(ahead.fill(&mut Block::default()));
        drop(ahead);
        drop(write);
    }

    #[test]
    #[should_panic(expected = "in the middle")]
    fn panic_of_the_thread_reaches_the_reader() {
        let mut numbers = numbers(2);
        let fill = move |block: &mut Block| numbers(block) || panic!("in the middle");
        let mut ahead = start(fill);
        read(&mut ahead);
    }
}
