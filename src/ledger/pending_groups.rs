//! Items that wait for the other items of their group. For example, the access log lines of one request are a group.
//! Several workers may read the items of one group, in any order.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::sharded::{SHARDS, Sharded};

/// Items by group, shared by workers.
#[derive(Debug)]
pub(crate) struct PendingGroups<T> {
    /// The limit of a shard in bytes. Above it, the shard returns its oldest group.
    room: usize,
    shards: Sharded<PendingShard<T>>,
}

#[derive(Debug)]
struct PendingShard<T> {
    groups: HashMap<u64, PendingGroup<T>, FxBuildHasher>,
    /// Groups in the order of their first item.
    order: VecDeque<u64>,
    bytes: usize,
}

/// The items of a group, and their total size in bytes.
type PendingGroup<T> = (Vec<T>, usize);

impl<T> PendingGroups<T> {
    /// `room` is the limit in bytes for all shards together.
    #[must_use]
    pub(crate) fn new(room: usize) -> Self {
        let shard = || PendingShard { groups: HashMap::default(), order: VecDeque::new(), bytes: 0 };
        Self { room: room / SHARDS, shards: Sharded::new(shard) }
    }

    /// Adds an item of `size` bytes. If the shard then exceeds its limit, removes its oldest group, and returns that
    /// group's hash and items.
    pub(crate) fn add(&self, group: u64, item: T, size: usize) -> Option<(u64, Vec<T>)> {
        let mut shard = self.shards.lock_for(group);
        let PendingShard { groups, order, bytes } = &mut *shard;
        *bytes += size;
        let (items, group_bytes) = groups.entry(group).or_insert_with(|| {
            order.push_back(group);
            (Vec::with_capacity(1), 0)
        });
        items.push(item);
        *group_bytes += size;
        if *bytes <= self.room {
            return None;
        }
        let oldest = order.pop_front()?;
        let (gone, group_bytes) = groups.remove(&oldest)?;
        *bytes -= group_bytes;
        Some((oldest, gone))
    }

    /// Removes and returns all groups.
    pub(crate) fn take(&self) -> impl Iterator<Item = (u64, Vec<T>)> {
        self.shards.lock_each().flat_map(|mut shard| {
            shard.order.clear();
            shard.bytes = 0;
            std::mem::take(&mut shard.groups).into_iter().map(|(group, (items, _))| (group, items))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn groups_stay_together_and_no_item_is_lost() {
        let pending = PendingGroups::new(1 << 10);
        let mut gone: Vec<(u64, Vec<u64>)> = Vec::new();
        for n in 0..10_000_u64 {
            gone.extend(pending.add(spread(n / 2), n, 1));
        }
        assert!(!gone.is_empty());
        gone.extend(pending.take());
        assert!(gone.iter().all(|(_, items)| items.len() == 2));
        let mut all: Vec<u64> = gone.into_iter().flat_map(|(_, items)| items).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10_000));
        assert_eq!(pending.take().count(), 0);
    }

    #[test]
    fn a_single_large_group_is_bounded() {
        let pending = PendingGroups::new(1 << 10);
        let largest = (0..1_000)
            .filter_map(|n| pending.add(7, n, 1))
            .map(|(_, items)| items.len())
            .max()
            .expect("some");
        assert_eq!(largest, (1 << 10) / SHARDS + 1);
    }
}
