//! What all workers share, spread over locks so that few wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many locks.
const PARTS: usize = 64;

/// Parts of a whole, each behind a lock.
#[derive(Debug)]
pub(super) struct Parts<T>([Part<T>; PARTS]);

/// No two are written to at once because they lie side by side.
#[derive(Debug)]
#[repr(align(128))]
struct Part<T>(Mutex<T>);

impl<T> Part<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Parts<T> {
    /// Each as it is made.
    pub fn new(make: impl Fn() -> T) -> Self {
        Self(std::array::from_fn(|_| Part(Mutex::new(make()))))
    }

    /// The part that a hash chooses. Its lowest bits find a place there, and its highest are used to sample.
    pub fn of(&self, hash: u64) -> MutexGuard<'_, T> {
        self.0[(hash >> 32) as usize % PARTS].lock()
    }

    /// The first part.
    pub fn first(&self) -> MutexGuard<'_, T> {
        self.0[0].lock()
    }

    /// All parts, always in the same order: of two workers that want them neither waits for the other for ever.
    pub fn all(&self) -> Vec<MutexGuard<'_, T>> {
        self.0.iter().map(Part::lock).collect()
    }
}
