//! Allows only one block with a long record at a time. So memory does not grow with the number of threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Whether a long record is in memory.
#[derive(Debug, Default)]
struct LongRecordState {
    is_held: Mutex<bool>,
    is_free: Condvar,
}

impl LongRecordState {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Grants the permit to hold a long record.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongRecords(Arc<LongRecordState>);

impl LongRecords {
    /// Waits until no other block holds a long record. This wait cannot cause a deadlock: a worker returns its permit
    /// before it waits for another block.
    pub(super) fn permit(&self) -> Permit {
        let mut is_held = self.0.lock();
        while *is_held {
            is_held = self.0.is_free.wait(is_held).unwrap_or_else(PoisonError::into_inner);
        }
        *is_held = true;
        Permit(Arc::clone(&self.0))
    }
}

/// Allows a block to hold a long record. Dropping it returns the permit.
#[derive(Debug)]
pub struct Permit(Arc<LongRecordState>);

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.is_free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_long_record_is_held_at_a_time() {
        let (records, held) = (LongRecords::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _permit = records.permit();
                        assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        held.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }
}
