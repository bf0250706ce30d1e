//! Long-running requests (watches, logs, connections), which write an event when they begin to answer and another
//! when they end, and of which each must count once, whether its end was seen or not.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{Merge, Timeline};
use crate::classify::stable_hash;

/// A minute in microseconds.
const MINUTE: i64 = 60_000_000;
/// How many requests of a row are followed one by one. Of more, a sample by the hash of their ID is followed, and
/// the number of those without an end is estimated from it.
const MAX_FOLLOWED: usize = 1 << 13;

/// What was seen of a request, in 8 bytes: in the upper 37 bits a hash of its ID, of which two of 8,192 requests share
/// one with odds of 1 in 4,000, and where half of all are followed with twice these; whether it ended; and the minute in
/// which it was received, if it was seen to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen(u64);

impl Seen {
    const ENDED: u64 = 1 << 26;
    /// No start was seen. Minutes since 1970 reach it in the year 2097.
    const NEVER: u64 = Self::ENDED - 1;
    const ID: u64 = !(Self::ENDED | Self::NEVER);

    fn began(audit_id: &str, received: i64) -> Self {
        let minute = u64::try_from(received.div_euclid(MINUTE)).unwrap_or(0);
        Self(stable_hash(audit_id) & Self::ID | minute.min(Self::NEVER - 1))
    }

    fn ended(audit_id: &str) -> Self {
        Self(stable_hash(audit_id) & Self::ID | Self::ENDED | Self::NEVER)
    }

    fn id(self) -> u64 {
        self.0 & Self::ID
    }

    fn merge(&mut self, other: Self) {
        let minute = (self.0 & Self::NEVER).min(other.0 & Self::NEVER);
        self.0 = self.0 & Self::ID | minute | (self.0 | other.0) & Self::ENDED;
    }

    /// The minute of a request that began and was not seen to end.
    fn open_since(self) -> Option<u64> {
        let state = self.0 & !Self::ID;
        (state < Self::NEVER).then_some(state)
    }
}

/// The long-running requests of one row.
#[derive(Debug, Clone, Default)]
pub struct Live {
    seen: HashTable<Seen>,
    /// Only IDs whose hash has so many leading zeros are followed.
    sampled: u32,
    /// How often one was seen to begin: no more are open, whatever IDs clients choose.
    begun: u64,
}

impl Live {
    /// A request began to answer. In some releases since 1.30 a watch says so twice.
    pub fn start(&mut self, audit_id: &str, received: i64) {
        self.begun += 1;
        self.note(Seen::began(audit_id, received));
    }

    /// A request ended.
    pub fn end(&mut self, audit_id: &str) {
        self.note(Seen::ended(audit_id));
    }

    fn note(&mut self, seen: Seen) {
        let id = seen.id();
        if id.leading_zeros() < self.sampled {
            return;
        }
        match self.seen.entry(place_of(id), |own| own.id() == id, |own| place_of(own.id())) {
            Entry::Occupied(mut own) => own.get_mut().merge(seen),
            Entry::Vacant(vacant) => {
                vacant.insert(seen);
            }
        }
        while self.seen.len() > MAX_FOLLOWED {
            self.sampled += 1;
            let sampled = self.sampled;
            self.seen.retain(|own| own.id().leading_zeros() >= sampled);
        }
    }

    /// The number of requests that began and were not seen to end.
    #[must_use]
    pub fn open(&self) -> u64 {
        (self.open_ones().count() as u64).saturating_mul(1 << self.sampled.min(63)).min(self.begun)
    }

    /// Whether [`Live::open`] is an estimate.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.sampled > 0
    }

    /// Adds the requests without an end to a timeline.
    pub fn add_open_to(&self, timeline: &mut Timeline) {
        let mut received: Vec<i64> = self.open_ones().collect();
        // Each stands for as many, and the earliest for one more where that is no whole number.
        received.sort_unstable();
        let (all, followed) = (self.open(), received.len() as u64);
        for (index, received) in (0..).zip(received) {
            timeline.record_all(received, all / followed + u64::from(index < all % followed));
        }
    }

    /// When the requests without an end were received, in microseconds since 1970, to the minute.
    fn open_ones(&self) -> impl Iterator<Item = i64> {
        let minutes = self.seen.iter().filter_map(|seen| seen.open_since());
        minutes.map(|minute| minute.cast_signed() * MINUTE)
    }
}

impl Merge for Live {
    fn merge(&mut self, other: Self) {
        self.sampled = self.sampled.max(other.sampled);
        let sampled = self.sampled;
        self.begun += other.begun;
        self.seen.retain(|own| own.id().leading_zeros() >= sampled);
        for seen in other.seen {
            self.note(seen);
        }
    }
}

/// Where a table has an ID: tables go by the lower bits, and by the upper ones, which of all that are followed may be 0.
fn place_of(id: u64) -> u64 {
    (id >> Seen::ID.trailing_zeros()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_did_not_end_is_open_once() {
        let mut live = Live::default();
        for id in ["a", "a", "b", "c"] {
            live.start(id, 0);
        }
        live.end("b");
        live.end("d");
        assert_eq!((live.open(), live.is_estimate()), (2, false));
    }

    #[test]
    fn the_end_may_come_first_and_from_elsewhere() {
        let (mut left, mut right) = (Live::default(), Live::default());
        left.end("a");
        right.start("a", 0);
        left.merge(right);
        left.start("a", 0);
        assert_eq!(left.open(), 0);
    }

    #[test]
    fn no_more_are_open_than_were_seen_to_begin() {
        let mut live = Live { sampled: 40, ..Live::default() };
        live.begun = 3;
        for seen in [Seen(7), Seen(1 << 60 | 8)] {
            live.seen.insert_unique(place_of(seen.id()), seen, |own| place_of(own.id()));
        }
        assert_eq!(live.open(), 3);
        let mut timeline = Timeline::default();
        live.add_open_to(&mut timeline);
        let minute = |minute: i64| minute * MINUTE;
        assert_eq!(timeline.windows().counts, [(minute(7), 2), (minute(8), 1)]);
    }

    #[test]
    fn more_than_fit_are_estimated_whatever_the_order() {
        let ids: Vec<String> = (0..3 * MAX_FOLLOWED).map(|n| n.to_string()).collect();
        let mut forwards = Live::default();
        for id in &ids {
            forwards.start(id, 0);
        }
        let (mut backwards, mut other) = (Live::default(), Live::default());
        ids.iter()
            .rev()
            .enumerate()
            .for_each(|(n, id)| if n % 3 == 0 { other.start(id, 0) } else { backwards.start(id, 0) });
        backwards.merge(other);
        let all = |live: &Live| {
            let mut seen: Vec<Seen> = live.seen.iter().copied().collect();
            seen.sort_unstable();
            (seen, live.sampled, live.begun)
        };
        assert_eq!(all(&forwards), all(&backwards));
        assert!(forwards.is_estimate());
        let (open, all) = (forwards.open(), ids.len() as u64);
        assert!(open.abs_diff(all) < all / 20, "{open} of {all}");
    }
}
