//! A value that is split into 64 shards. Each shard has its own lock, so that workers rarely wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) const SHARDS: usize = 64;

#[derive(Debug)]
pub(super) struct Sharded<T>([AlignedMutex<T>; SHARDS]);

/// Aligned to 128 bytes, so that two shards never share a cache line.
#[derive(Debug)]
#[repr(align(128))]
struct AlignedMutex<T>(Mutex<T>);

impl<T> AlignedMutex<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Sharded<T> {
    pub(crate) fn new(new_shard: impl Fn() -> T) -> Self {
        Self(std::array::from_fn(|_| AlignedMutex(Mutex::new(new_shard()))))
    }

    /// Locks the shard for a hash. Bits 32 to 37 of the hash choose the shard. The other bits have other uses: hash
    /// tables use the lowest bits, and samples use the highest bits.
    pub(crate) fn lock_for(&self, hash: u64) -> MutexGuard<'_, T> {
        self.lock_nth(hash >> 32)
    }

    /// Locks the shard with this number, modulo the number of shards.
    pub(crate) fn lock_nth(&self, number: u64) -> MutexGuard<'_, T> {
        let number = usize::try_from(number % SHARDS as u64).expect("a remainder is below SHARDS");
        self.0[number].lock()
    }

    /// Locks the shards one after another.
    pub(crate) fn lock_each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(AlignedMutex::lock)
    }

    /// Locks all shards at the same time, always in the same order. So two workers that call it cannot deadlock.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, T>> {
        self.lock_each().collect()
    }
}
