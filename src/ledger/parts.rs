//! What all workers share, spread over locks so that few wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many locks.
pub(super) const PARTS: usize = 64;

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

    /// The part that a hash chooses by bits that neither tables, which look at the lowest, nor samples, by the highest, use.
    pub fn of(&self, hash: u64) -> MutexGuard<'_, T> {
        self.at(hash >> 32)
    }

    /// The part with a number, as if there were more of them.
    pub fn at(&self, number: u64) -> MutexGuard<'_, T> {
        let number = usize::try_from(number % PARTS as u64).expect("smaller than their number");
        self.0[number].lock()
    }

    /// The parts one after another, each locked when its turn comes.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(Part::lock)
    }

    /// All parts at once, always in the same order: of two workers that want them neither waits for the other for ever.
    pub fn all(&self) -> Vec<MutexGuard<'_, T>> {
        self.each().collect()
    }
}
