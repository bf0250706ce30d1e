//! A value that is split into 64 shards. Each shard has its own lock, so that workers rarely wait for each other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

pub(super) const SHARDS: usize = 64;

#[derive(Debug)]
pub(super) struct Sharded<T>([AlignedMutex<T>; SHARDS]);

/// Aligned to 128 bytes, so that two shards never share a cache line.
#[derive(Debug)]
#[repr(align(128))]
struct AlignedMutex<T>(Mutex<T>);

impl<T> Sharded<T> {
    pub(crate) fn new(new_shard: impl Fn() -> T) -> Self {
        Self(std::array::from_fn(|_| AlignedMutex(Mutex::new(new_shard()))))
    }

    /// The number of the shard for a hash. Bits 32 to 37 of the hash choose the shard. The other bits have other uses:
    /// hash tables use the lowest bits, and samples use the highest bits.
    pub(crate) fn number_for(hash: u64) -> u64 {
        (hash >> 32) % SHARDS as u64
    }

    /// Locks the shard for a hash.
    pub(crate) fn lock_for(&self, hash: u64) -> MutexGuard<'_, T> {
        self.lock_nth(Self::number_for(hash))
    }

    /// Locks the shard for a hash. Returns `None` if another worker holds the lock.
    pub(crate) fn try_lock_for(&self, hash: u64) -> Option<MutexGuard<'_, T>> {
        try_lock(self.nth(Self::number_for(hash)))
    }

    /// Locks the shard with this number, modulo the number of shards.
    pub(crate) fn lock_nth(&self, number: u64) -> MutexGuard<'_, T> {
        let shard = self.nth(number);
        try_lock(shard).unwrap_or_else(|| lock(shard))
    }

    fn nth(&self, number: u64) -> &Mutex<T> {
        let number = usize::try_from(number % SHARDS as u64).expect("a remainder is below SHARDS");
        &self.0[number].0
    }

    /// Locks the shards one after another.
    pub(crate) fn lock_each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(|shard| lock(&shard.0))
    }

    /// Locks all shards at the same time, always in the same order. So two workers that call it cannot deadlock.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, T>> {
        self.lock_each().collect()
    }
}

thread_local! {
    static CONTENDED: RefCell<BTreeMap<&'static str, u64>> = RefCell::default();
}

/// How often this thread found a lock taken by another thread, by the type that the lock protects. Benchmarks show it.
#[must_use]
pub fn contended_locks() -> BTreeMap<&'static str, u64> {
    CONTENDED.with_borrow(Clone::clone)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns `None` if another thread holds the lock. In unit tests, also returns `None` at two of three calls, so that
/// all tests include contention.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    #[cfg(test)]
    if tests::is_contended() {
        return None;
    }
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            CONTENDED.with_borrow_mut(|held| *held.entry(std::any::type_name::<T>()).or_default() += 1);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    pub(super) fn is_contended() -> bool {
        thread_local!(static CALLS: Cell<u32> = const { Cell::new(0) });
        CALLS.set(CALLS.get().wrapping_add(1));
        !CALLS.get().is_multiple_of(3)
    }
}
