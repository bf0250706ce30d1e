//! Detects events that were read before. Such duplicates come from rotated copies of a file, overlapping exports,
//! several audit sinks or at-least-once delivery.
//!
//! Workers share one deduplicator, because the duplicates of an event may reach different workers. The deduplicator
//! identifies an event by its receive time and 48 bits of a keyed hash. Two distinct events may therefore count as
//! duplicates. For 10^9 distinct events at 1,000 a second, the odds that this happens are 1 in 560. The odds grow in
//! proportion to the rate. If events have no receive time, the deduplicator compares 10 more bits of the hash.

use std::collections::VecDeque;
use std::sync::MutexGuard;

use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;

use super::sharded::Sharded;

/// How duplicates are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dedup {
    /// Compares each event with at most 2^21 of the most recent events.
    #[default]
    Auto,
    /// Detects only what servers themselves write twice. Some servers before 1.36 write a second access log line for
    /// a request. Some servers since 1.30 write a second ResponseStarted event for a long-running request.
    Off,
    /// Compares each event with all events. Memory grows with the log: an event takes 6 to 8 bytes. An event that is
    /// read long after other events of the same time takes up to 20 bytes. A long-running request takes twice as
    /// much, because its start is recorded too.
    Exact,
}

/// The maximum number of events in a shard. Above it, the shard drops its oldest time slots.
const PER_SHARD: usize = 1 << 15;
/// The maximum number of time slots in a shard.
const SLOTS_PER_SHARD: usize = 1 << 10;
/// The width of a time slot, in microseconds. Events are nearly in time order, so the processor's cache holds the table
/// of the current slot.
const SLOT: i64 = 8_000_000;
/// The maximum initial capacity of a table, in events. The initial capacity is the mean size of the other tables, up
/// to this maximum.
const AT_FIRST: usize = 1 << 12;
/// The number of tables in a shard that stay open: the newest ones. Several are open, because workers may be some
/// time slots apart. Also, the event at the end of a long request appears in the log long after the request's receive
/// time.
const STILL_OPEN: usize = 2;
/// The number of tables for each time slot. With several tables, workers that read events of the same time slot
/// rarely wait for each other.
const TABLES: u64 = 8;
/// The number of tables for events without a receive time.
const UNDATED: u64 = 1 << 10;

/// Detects duplicate events; see the module's description.
#[derive(Debug)]
pub struct Deduplicator {
    bounded: bool,
    shards: Sharded<DedupShard>,
}

#[derive(Debug, Default)]
struct DedupShard {
    tables: HashMap<i64, SlotTable, FxBuildHasher>,
    /// The numbers of the tables, in the order in which the tables were created.
    order: VecDeque<i64>,
    events: usize,
}

/// The highest 48 bits of an event's hash. They identify an event within its table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ShortHash([u16; 3]);

impl ShortHash {
    fn from_hash(hash: u64) -> Self {
        let bytes = hash.to_be_bytes();
        Self([0, 2, 4].map(|at| u16::from_be_bytes([bytes[at], bytes[at + 1]])))
    }

    /// Returns a 64-bit hash with well-mixed bits. Hash tables use the lowest and the highest bits of a hash, but a
    /// short hash has only 48 bits.
    fn spread(self) -> u64 {
        let [high, middle, low] = self.0.map(u64::from);
        (high << 32 | middle << 16 | low).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The events in one of the [`TABLES`] parts of a time slot.
#[derive(Debug, Default)]
struct SlotTable {
    /// The events that arrived while later time slots did not exist yet, in ascending order. A sorted list takes half
    /// of the memory of a hash table. Empty until the table is closed.
    closed: Vec<ShortHash>,
    /// The other events. Few events arrive after the table is closed.
    open: HashTable<ShortHash>,
}

impl SlotTable {
    fn len(&self) -> usize {
        self.closed.len() + self.open.len()
    }

    fn contains(&self, event: ShortHash) -> bool {
        self.is_closed_over(event) || self.open.find(event.spread(), |own| *own == event).is_some()
    }

    fn is_closed_over(&self, event: ShortHash) -> bool {
        !self.closed.is_empty() && self.closed.binary_search(&event).is_ok()
    }

    /// Adds an event. Returns false if the event is in the table already.
    fn insert(&mut self, event: ShortHash) -> bool {
        if self.is_closed_over(event) {
            return false;
        }
        match self.open.entry(event.spread(), |own| *own == event, |own| own.spread()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(event);
                true
            }
        }
    }

    fn close(&mut self) {
        self.closed = std::mem::take(&mut self.open).into_iter().collect();
        self.closed.sort_unstable();
    }
}

/// An event's hash and its receive time in microseconds since 1970; 0 if unknown.
pub(crate) type EventKey = (u64, i64);

impl Deduplicator {
    #[must_use]
    pub(crate) fn new(dedup: Dedup) -> Self {
        Self { bounded: dedup != Dedup::Exact, shards: Sharded::new(DedupShard::default) }
    }

    /// Records an event. Returns false for a duplicate.
    pub(crate) fn insert(&self, (hash, at): EventKey) -> bool {
        let [is_new] = self.insert_each([hash], at);
        is_new
    }

    /// Records events with the same receive time. Returns false for each duplicate.
    pub(crate) fn insert_each<const N: usize>(&self, hashes: [u64; N], at: i64) -> [bool; N] {
        if at == 0 {
            return hashes.map(|hash| self.insert_into(undated(hash), [hash])).map(|[is_new]| is_new);
        }
        self.insert_into(table_of(at), hashes)
    }

    fn insert_into<const N: usize>(&self, table: i64, hashes: [u64; N]) -> [bool; N] {
        self.shard(table).insert(hashes, table, self.bounded)
    }

    /// Records an event whose start time is not exact, so that duplicates may have slightly different start times.
    /// Time is divided into intervals. `keys` contains the key for the event's interval, then the keys for the
    /// intervals before and after it. Returns false if one of the keys is recorded already. Otherwise records the
    /// first key.
    pub(crate) fn insert_one_of(&self, keys: [EventKey; 3]) -> bool {
        let [own, others @ ..] = keys;
        !others.iter().any(|other| self.contains(*other)) && self.insert(own)
    }

    pub(crate) fn forget(&self) {
        self.shards.lock_each().for_each(|mut shard| *shard = DedupShard::default());
    }

    fn contains(&self, (hash, at): EventKey) -> bool {
        let table = if at == 0 { undated(hash) } else { table_of(at) };
        let shard = self.shard(table);
        shard.tables.get(&table).is_some_and(|own| own.contains(ShortHash::from_hash(hash)))
    }

    fn shard(&self, table: i64) -> MutexGuard<'_, DedupShard> {
        self.shards.lock_nth(table.cast_unsigned())
    }
}

impl DedupShard {
    fn insert<const N: usize>(&mut self, hashes: [u64; N], table: i64, bounded: bool) -> [bool; N] {
        let Self { tables, order, events } = self;
        let begun = order.len();
        let own = tables.entry(table).or_insert_with(|| {
            // Start with the mean size of the other tables. A large initial table would waste memory if each table
            // gets only one event.
            let others = *events / begun.max(1);
            order.push_back(table);
            SlotTable { closed: Vec::new(), open: HashTable::with_capacity(others.min(AT_FIRST)) }
        });
        let are_new = hashes.map(|hash| own.insert(ShortHash::from_hash(hash)));
        *events += are_new.iter().filter(|is_new| **is_new).count();
        if order.len() > begun {
            let late = order.len().checked_sub(STILL_OPEN + 1).and_then(|late| order.get(late));
            if let Some(late) = late.and_then(|late| tables.get_mut(late)) {
                late.close();
            }
        }
        // The newest table stays, even if it exceeds the maximum.
        while bounded && order.len() > 1 && (*events > PER_SHARD || order.len() > SLOTS_PER_SHARD) {
            let oldest = order.pop_front().and_then(|oldest| tables.remove(&oldest));
            *events -= oldest.map_or(0, |table| table.len());
        }
        are_new
    }
}

/// Returns the table for an event without a receive time. The lowest bits of the hash choose it, because [`ShortHash`]
/// does not contain them.
fn undated(hash: u64) -> i64 {
    i64::MIN + i64::try_from(hash % UNDATED).expect("smaller than their number")
}

/// Returns the table for a receive time. All events of a request have the same receive time, so they share a table.
fn table_of(at: i64) -> i64 {
    let spread = at.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let of_time = i64::try_from(spread % TABLES).expect("smaller than their number");
    at.div_euclid(SLOT) * TABLES.cast_signed() + of_time
}

#[cfg(test)]
mod tests {
    use super::super::sharded::SHARDS;
    use super::*;

    fn spread(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn an_event_is_new_once() {
        for mode in [Dedup::Auto, Dedup::Exact] {
            let dedup = Deduplicator::new(mode);
            assert_eq!((0..1_000).filter(|n| dedup.insert((spread(n % 700), 0))).count(), 700);
        }
    }

    #[test]
    fn events_without_a_time_use_more_bits_of_the_hash() {
        let dedup = Deduplicator::new(Dedup::Exact);
        let undated = |n: u64| ((spread(n / 100) << 10) | (n % 100), 0);
        assert!((0..50_000).all(|n| dedup.insert(undated(n))));
        assert!((0..50_000).all(|n| !dedup.insert(undated(n))));
    }

    #[test]
    fn late_events_are_distinguished_from_duplicates() {
        let dedup = Deduplicator::new(Dedup::Auto);
        // Insert the events with even numbers, then the late events with odd numbers. Then insert all events again,
        // as duplicates.
        let key = |n: u64| (spread(n), 100_000 * n.cast_signed());
        assert!((0..40_000).step_by(2).all(|n| dedup.insert(key(n))));
        assert!((0..40_000).skip(1).step_by(2).all(|n| dedup.insert(key(n))));
        let closed = |shard: MutexGuard<'_, DedupShard>| {
            shard.tables.values().filter(|table| !table.closed.is_empty()).count()
        };
        assert!(dedup.shards.lock_each().map(closed).sum::<usize>() > 100);
        assert!((0..40_000).all(|n| !dedup.insert(key(n))));
    }

    #[test]
    fn many_late_events_are_recorded() {
        let dedup = Deduplicator::new(Dedup::Exact);
        let key = |n: u64| (spread(n), 1 + 10 * SLOT * (n.cast_signed() % 100));
        assert!((0..5_000).all(|n| dedup.insert(key(n))));
        // All events belong to the first slot, whose table is closed.
        let late = |n: u64| (spread(n), 1);
        assert!((5_000..20_000).all(|n| dedup.insert(late(n))));
        assert!((0..5_000).all(|n| !dedup.insert(key(n))) && (5_000..20_000).all(|n| !dedup.insert(late(n))));
    }

    #[test]
    fn last_events_stay_in_the_window() {
        let (bounded, exact) = (Deduplicator::new(Dedup::Auto), Deduplicator::new(Dedup::Exact));
        let many = (3 * SHARDS * PER_SHARD) as u64;
        let key = |n: u64| (spread(n), 1_000 * n.cast_signed());
        for n in 0..many {
            assert!(bounded.insert(key(n)) && exact.insert(key(n)));
        }
        let window = (SHARDS * PER_SHARD) as u64 * 9 / 10;
        assert!((many - window..many).all(|n| !bounded.insert(key(n))));
        assert!(bounded.insert(key(0)) && !exact.insert(key(0)));
        let held: usize = bounded.shards.lock_each().map(|shard| shard.events).sum();
        assert!(held <= SHARDS * PER_SHARD);
    }

    #[test]
    fn distinct_timestamps_do_not_exceed_the_slot_limit() {
        let dedup = Deduplicator::new(Dedup::Auto);
        for n in 0..300_000 {
            assert!(dedup.insert((spread(n), SLOT * n.cast_signed())));
        }
        let tables: usize = dedup.shards.lock_each().map(|shard| shard.tables.len()).sum();
        assert!(tables <= SHARDS * SLOTS_PER_SHARD);
    }

    #[test]
    fn one_stored_key_of_several_marks_a_duplicate() {
        let dedup = Deduplicator::new(Dedup::Auto);
        let key = |n: u64, at| (spread(n), at);
        assert!(dedup.insert_one_of([key(1, 10), key(2, 20), key(3, 30)]));
        assert!(!dedup.insert_one_of([key(4, 40), key(1, 10), key(5, 50)]));
        assert!(
            dedup.insert_one_of([key(6, 60), key(4, 40), key(5, 50)]),
            "what was there before is not noted by another name"
        );
    }
}
