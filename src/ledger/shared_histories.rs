//! Instance histories that all workers share.
//!
//! Tests compare them with [`InstanceHistories`], which stores all instances in one table.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};

use compact_str::CompactString;

use super::instance_histories::{Bounds, HistoryEntry, InstanceHistories, Size, bounded_name, step_down};
use super::sharded::Sharded;
use super::{HistoriesByKind, Merge, RowHash};
use crate::requests::{Instance, Request};

/// [`HistoriesByKind`] that all workers share.
#[derive(Debug)]
pub(crate) struct SharedHistoriesByKind([SharedInstanceHistories; 3]);

impl Default for SharedHistoriesByKind {
    fn default() -> Self {
        let HistoriesByKind { lists, watches, objects } = HistoriesByKind::default();
        Self([lists, watches, objects].map(|none| SharedInstanceHistories::like(&none)))
    }
}

impl SharedHistoriesByKind {
    /// Adds a request to the history of its instance. If another worker holds the lock, the request waits in
    /// `waiting`.
    pub(crate) fn note(&self, row: RowHash, request: &Request<'_>, waiting: &mut WaitingEntries) {
        if let Some((kind, entry)) = HistoriesByKind::choose([0, 1, 2], request) {
            let (key, instance) = (request.client.instance_hash, || request.client.instance());
            self.0[kind].add(row, key, instance, entry, &mut waiting[kind]);
        }
    }

    /// Adds the requests that still wait. Call it after the last request.
    pub(crate) fn flush(&self, waiting: WaitingEntries) {
        self.0.iter().zip(waiting).for_each(|(histories, mut waiting)| histories.flush(&mut waiting));
    }

    /// Removes and returns all histories.
    #[must_use]
    pub(crate) fn take(&self) -> HistoriesByKind {
        let [lists, watches, objects] = self.0.each_ref().map(SharedInstanceHistories::take);
        HistoriesByKind { lists, watches, objects }
    }
}

/// The requests of one worker that wait for a lock, by kind.
pub(crate) type WaitingEntries = [Vec<WaitingEntry>; 3];

/// The maximum number of requests of a kind that wait. Then the worker waits for the locks.
const MAX_WAITING: usize = 64;

/// A request that waits for the lock of its instance's shard.
#[derive(Debug)]
pub(crate) struct WaitingEntry {
    row: RowHash,
    key: u64,
    instance: Instance<CompactString>,
    entry: HistoryEntry,
}

/// Histories in shards, chosen by the hash of the instance. All shards are on the same step; see
/// [`InstanceHistories`].
#[derive(Debug)]
pub(super) struct SharedInstanceHistories {
    shards: Sharded<InstanceHistories>,
    bounds: Bounds,
    /// The fields of [`Size`], summed over all shards.
    followed: AtomicUsize,
    excess: AtomicUsize,
    entries: AtomicUsize,
}

impl SharedInstanceHistories {
    /// Creates empty histories with the same limits as `histories`.
    pub(crate) fn like(histories: &InstanceHistories) -> Self {
        let shards = Sharded::new(|| histories.none_alike());
        let [followed, excess, entries] = std::array::from_fn(|_| AtomicUsize::new(0));
        Self { shards, bounds: histories.bounds(), followed, excess, entries }
    }

    /// See [`InstanceHistories::add`]. If another worker holds the lock of the shard, the request joins `waiting`.
    pub(crate) fn add<'i>(
        &self,
        row: RowHash,
        key: u64,
        instance: impl FnOnce() -> Instance<&'i str>,
        entry: HistoryEntry,
        waiting: &mut Vec<WaitingEntry>,
    ) {
        if let Some(shard) = self.shards.try_lock_for(key) {
            return self.change(shard, |shard| shard.add(row, key, instance, entry));
        }
        waiting.push(WaitingEntry { row, key, instance: instance().map(bounded_name), entry });
        if waiting.len() == MAX_WAITING {
            self.flush(waiting);
        }
    }

    /// Adds the requests that wait. Locks each of their shards once.
    pub(crate) fn flush(&self, waiting: &mut Vec<WaitingEntry>) {
        let shard_of = |one: &WaitingEntry| Sharded::<InstanceHistories>::number_for(one.key);
        waiting.sort_unstable_by_key(shard_of);
        for same_shard in waiting.chunk_by(|one, next| shard_of(one) == shard_of(next)) {
            self.change(self.shards.lock_nth(shard_of(&same_shard[0])), |shard| {
                for WaitingEntry { row, key, instance, entry } in same_shard {
                    shard.add(*row, *key, || instance.as_ref(), *entry);
                }
            });
        }
        waiting.clear();
    }

    /// Changes a shard, and updates the sizes.
    fn change(
        &self,
        mut shard: MutexGuard<'_, InstanceHistories>,
        change: impl FnOnce(&mut InstanceHistories),
    ) {
        let before = shard.size();
        change(&mut shard);
        let after = shard.size();
        if before == after {
            return;
        }
        // The size of the shard may be smaller than before. Then the difference wraps on purpose, and the addition
        // wraps back.
        let add = |all: &AtomicUsize, before: usize, after: usize| {
            let change = after.wrapping_sub(before);
            all.fetch_add(change, Ordering::Relaxed).wrapping_add(change)
        };
        let followed = add(&self.followed, before.followed, after.followed);
        let excess = add(&self.excess, before.excess, after.excess);
        let entries = add(&self.entries, before.entries, after.entries);
        if self.bounds.are_exceeded(Size { followed, excess, entries }) {
            drop(shard);
            self.step_down();
        }
    }

    fn step_down(&self) {
        let mut shards = self.shards.lock_all();
        let mut size = shards.iter().map(|shard| shard.size()).sum();
        // Another worker may have stepped down in the meantime.
        if self.bounds.are_exceeded(size) {
            let mut all: Vec<&mut InstanceHistories> = shards.iter_mut().map(|shard| &mut **shard).collect();
            size = step_down(&mut all);
        }
        self.set_size(size);
    }

    /// Sets `followed`, `excess` and `entries`. The caller must hold the locks of all shards.
    fn set_size(&self, size: Size) {
        self.followed.store(size.followed, Ordering::Relaxed);
        self.excess.store(size.excess, Ordering::Relaxed);
        self.entries.store(size.entries, Ordering::Relaxed);
    }

    /// Whether `followed`, `excess` and `entries` equal the sums over all shards.
    #[cfg(test)]
    pub(crate) fn knows_its_size(&self) -> bool {
        let held = [&self.followed, &self.excess, &self.entries].map(|sum| sum.load(Ordering::Relaxed));
        let size: Size = self.shards.lock_all().iter().map(|shard| shard.size()).sum();
        held == [size.followed, size.excess, size.entries]
    }

    /// Removes and returns all histories.
    pub(crate) fn take(&self) -> InstanceHistories {
        let mut shards = self.shards.lock_all();
        let none = shards[0].none_alike();
        self.set_size(Size::default());
        let each = shards.iter_mut().map(|shard| std::mem::replace(&mut **shard, none.none_alike()));
        each.reduce(|mut all, one| {
            all.merge(one);
            all
        })
        .unwrap_or(none)
    }
}
