//! Instance histories that all workers share.
//!
//! Tests compare them with [`InstanceHistories`], which stores all instances in one table.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::instance_histories::{Bounds, HistoryEntry, InstanceHistories, Size, step_down};
use super::sharded::Sharded;
use super::{HistoriesByKind, Merge, RowHash};
use crate::requests::{Instance, Request};

/// [`HistoriesByKind`] that all workers share.
#[derive(Debug)]
pub(crate) struct SharedHistoriesByKind {
    lists: SharedInstanceHistories,
    watches: SharedInstanceHistories,
    objects: SharedInstanceHistories,
}

impl Default for SharedHistoriesByKind {
    fn default() -> Self {
        let HistoriesByKind { lists, watches, objects } = HistoriesByKind::default();
        let [lists, watches, objects] =
            [lists, watches, objects].map(|none| SharedInstanceHistories::like(&none));
        Self { lists, watches, objects }
    }
}

impl SharedHistoriesByKind {
    /// Adds a request to the history of its instance.
    pub(crate) fn note(&self, row: RowHash, request: &Request<'_>) {
        let Self { lists, watches, objects } = self;
        if let Some((histories, entry)) = HistoriesByKind::choose([lists, watches, objects], request) {
            histories.add(row, request.client.instance_hash, || request.client.instance(), entry);
        }
    }

    /// Removes and returns all histories.
    #[must_use]
    pub(crate) fn take(&self) -> HistoriesByKind {
        let Self { lists, watches, objects } = self;
        HistoriesByKind { lists: lists.take(), watches: watches.take(), objects: objects.take() }
    }
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

    /// See [`InstanceHistories::add`].
    pub(crate) fn add<'i>(
        &self,
        row: RowHash,
        key: u64,
        instance: impl FnOnce() -> Instance<&'i str>,
        entry: HistoryEntry,
    ) {
        let mut shard = self.shards.lock_for(key);
        let before = shard.size();
        shard.add(row, key, instance, entry);
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
