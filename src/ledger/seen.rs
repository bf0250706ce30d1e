//! Which events were read already: rotated copies, overlapping exports, several sinks, deliveries at least once.
//!
//! The one thing that workers share, as the two copies of an event may come to different ones. Events are known by a
//! keyed hash of all that tells them apart, of 64 bits: of a billion different events two are taken for one with odds
//! of 1 in 37.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// How duplicates are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dedup {
    /// Among the last [`Seen::WINDOW`] events and more.
    #[default]
    Auto,
    /// Not at all, but for the second line that some servers before 1.36 write for a request into their access log.
    Off,
    /// Among all events, in memory that grows with them: 9 to 20 bytes each.
    Exact,
}

/// How many locks the events are spread over.
const SHARDS: usize = 64;
/// How many events a shard remembers before it forgets those before the last as many: what fills a table of 2¹⁵.
const GENERATION: usize = (1 << 15) / 8 * 7;

/// The events that were read.
#[derive(Debug)]
pub struct Seen {
    bounded: bool,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    young: HashTable<u64>,
    old: HashTable<u64>,
}

impl Seen {
    /// How many events are remembered at least, if their number is bounded.
    pub const WINDOW: usize = SHARDS * GENERATION;

    /// Nothing seen yet.
    #[must_use]
    pub fn new(dedup: Dedup) -> Self {
        Self { bounded: dedup != Dedup::Exact, shards: std::array::from_fn(|_| Mutex::default()) }
    }

    /// Notes an event by its hash; false if it was noted already.
    pub fn insert(&self, hash: u64) -> bool {
        let mut shard = self.shard(hash);
        let same = |own: &u64| *own == hash;
        if !shard.old.is_empty() && shard.old.find(hash, same).is_some() {
            return false;
        }
        if self.bounded && shard.young.len() >= GENERATION {
            if shard.young.find(hash, same).is_some() {
                return false;
            }
            shard.old = std::mem::take(&mut shard.young);
        }
        match shard.young.entry(hash, same, |hash| *hash) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(hash);
                true
            }
        }
    }

    /// Notes an entry by the first of its hashes; false if one of them was noted already.
    pub fn insert_one_of(&self, hashes: [u64; 3]) -> bool {
        let [own, others @ ..] = hashes;
        self.insert(own) && others.iter().all(|hash| *hash == own || !self.contains(*hash))
    }

    fn contains(&self, hash: u64) -> bool {
        let shard = self.shard(hash);
        let same = |own: &u64| *own == hash;
        shard.young.find(hash, same).is_some() || shard.old.find(hash, same).is_some()
    }

    /// The shard of a hash, by bits in its middle: a table tells its entries apart by the highest and the lowest.
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        self.shards[(hash >> 32) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn an_event_is_new_once() {
        for dedup in [Dedup::Auto, Dedup::Exact] {
            let seen = Seen::new(dedup);
            assert_eq!((0..1_000).filter(|n| seen.insert(spread(n % 700))).count(), 700);
        }
    }

    #[test]
    fn the_last_ones_are_remembered_however_many_there_are() {
        let (bounded, exact) = (Seen::new(Dedup::Auto), Seen::new(Dedup::Exact));
        let many = 3 * Seen::WINDOW as u64;
        for n in 0..many {
            assert!(bounded.insert(spread(n)) && exact.insert(spread(n)));
        }
        let window = Seen::WINDOW as u64 * 9 / 10;
        assert!((many - window..many).all(|n| !bounded.insert(spread(n))));
        assert!(bounded.insert(spread(0)) && !exact.insert(spread(0)));
        let held: usize = bounded.shards.iter().map(|shard| shard.lock().expect("no panic").old.len()).sum();
        assert!(held <= Seen::WINDOW);
    }
}
