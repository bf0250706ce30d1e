//! What patterns over time are rebuilt from, which all workers keep together.
//!
//! The naive twin is [`Lives`], with all instances at one place.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::lives::{Bounds, Lives, Record, Size, step_down};
use super::sharded::Sharded;
use super::{Kept, Merge, RowName};
use crate::requests::{Instance, Request};

/// What all instances did, each kind of requests by itself as in [`Kept`].
#[derive(Debug)]
pub struct SharedKept {
    lists: SharedLives,
    watches: SharedLives,
    objects: SharedLives,
}

impl Default for SharedKept {
    fn default() -> Self {
        let Kept { lists, watches, objects } = Kept::default();
        let [lists, watches, objects] = [lists, watches, objects].map(|none| SharedLives::like(&none));
        Self { lists, watches, objects }
    }
}

impl SharedKept {
    /// Keeps what is known of a request of a row.
    pub fn note(&self, row: RowName, request: &Request<'_>) {
        let Self { lists, watches, objects } = self;
        if let Some((lives, record)) = Kept::choose([lists, watches, objects], request) {
            lives.add(row, request.client.instance_hash, || request.client.instance(), record);
        }
    }

    /// All that is kept, which is not here any more.
    #[must_use]
    pub fn take(&self) -> Kept {
        let Self { lists, watches, objects } = self;
        Kept { lists: lists.take(), watches: watches.take(), objects: objects.take() }
    }
}

/// Instances, spread over shards by their hashes. All shards are at the same step of the ladder.
#[derive(Debug)]
pub(super) struct SharedLives {
    shards: Sharded<Lives>,
    bounds: Bounds,
    /// See [`Size`].
    followed: AtomicUsize,
    excess: AtomicUsize,
    records: AtomicUsize,
}

impl SharedLives {
    /// None yet, within the same bounds as these.
    pub fn like(lives: &Lives) -> Self {
        let shards = Sharded::new(|| lives.none_alike());
        let [followed, excess, records] = std::array::from_fn(|_| AtomicUsize::new(0));
        Self { shards, bounds: lives.bounds(), followed, excess, records }
    }

    /// Adds what one request was; see [`Lives::add`].
    pub fn add<'i>(
        &self,
        row: RowName,
        key: u64,
        instance: impl FnOnce() -> Instance<&'i str>,
        record: Record,
    ) {
        let mut shard = self.shards.lock_for(key);
        let before = shard.size();
        shard.add(row, key, instance, record);
        let after = shard.size();
        if before == after {
            return;
        }
        // What is held of one instance may also become less.
        let add = |all: &AtomicUsize, before: usize, after: usize| {
            let change = after.wrapping_sub(before);
            all.fetch_add(change, Ordering::Relaxed).wrapping_add(change)
        };
        let followed = add(&self.followed, before.followed, after.followed);
        let excess = add(&self.excess, before.excess, after.excess);
        let records = add(&self.records, before.records, after.records);
        if self.bounds.are_exceeded(Size { followed, excess, records }) {
            drop(shard);
            self.step_down();
        }
    }

    fn step_down(&self) {
        let mut shards = self.shards.lock_all();
        let mut size = shards.iter().map(|shard| shard.size()).sum();
        // Unless another worker did.
        if self.bounds.are_exceeded(size) {
            let mut all: Vec<&mut Lives> = shards.iter_mut().map(|shard| &mut **shard).collect();
            size = step_down(&mut all);
        }
        self.set_size(size);
    }

    /// While all shards are locked.
    fn set_size(&self, size: Size) {
        self.followed.store(size.followed, Ordering::Relaxed);
        self.excess.store(size.excess, Ordering::Relaxed);
        self.records.store(size.records, Ordering::Relaxed);
    }

    /// Whether what is added up is what all shards hold.
    #[cfg(test)]
    pub fn knows_its_size(&self) -> bool {
        let held = [&self.followed, &self.excess, &self.records].map(|sum| sum.load(Ordering::Relaxed));
        let size: Size = self.shards.lock_all().iter().map(|shard| shard.size()).sum();
        held == [size.followed, size.excess, size.records]
    }

    /// All of them, which are not here any more.
    pub fn take(&self) -> Lives {
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
