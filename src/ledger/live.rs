//! Long-running requests (watches, logs, connections), which write an event when they begin to answer and another
//! when they end, and of which each must count once, whether its end was seen or not.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::{Merge, Timeline};
use crate::classify::{Request, stable_hash};

/// A minute in microseconds.
const MINUTE: i64 = 60_000_000;
/// How many requests of a row are followed one by one that began and did not end yet, and how many that ended and were
/// not seen to begin. Of more, a sample by the hash of their ID is followed, and the number of those without an end is
/// estimated from it.
const MAX_FOLLOWED: usize = 1 << 13;

/// A hash of a request's ID and of when it was received: clients may send an ID again and again.
type Id = u64;

fn id_of(request: &Request<'_>) -> Id {
    stable_hash(&(request.audit_id, request.received))
}

/// The long-running requests of one row. Of one that was seen to begin and to end nothing is kept, so that what is held does
/// not grow with the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    /// Those that began and were not seen to end, and the minute since 1970 in which they were received.
    open: HashMap<Id, u32, FxBuildHasher>,
    /// Those that ended and were not seen to begin: their starts may be read later.
    ended: HashSet<Id, FxBuildHasher>,
    /// Only IDs with so many leading zeros are followed.
    sampled: u32,
    /// How many were seen to begin: no more are open, whatever IDs clients choose.
    begun: u64,
}

impl Live {
    /// A request began to answer, for the first time: see [`Request::begins_again`].
    pub fn start(&mut self, request: &Request<'_>) {
        self.begun += 1;
        let minute = request.received.map_or(0, |received| received.div_euclid(MINUTE));
        self.note_start(id_of(request), u32::try_from(minute).unwrap_or(0));
    }

    /// A request ended.
    pub fn end(&mut self, request: &Request<'_>) {
        self.note_end(id_of(request));
    }

    fn note_start(&mut self, id: Id, minute: u32) {
        if self.follows(id) && !self.ended.remove(&id) {
            let own = self.open.entry(id).or_insert(minute);
            *own = minute.min(*own);
            self.sample();
        }
    }

    fn note_end(&mut self, id: Id) {
        if self.follows(id) && self.open.remove(&id).is_none() {
            self.ended.insert(id);
            self.sample();
        }
    }

    fn follows(&self, id: Id) -> bool {
        id.leading_zeros() >= self.sampled
    }

    fn sample(&mut self) {
        while self.open.len().max(self.ended.len()) > MAX_FOLLOWED {
            self.sample_by(self.sampled + 1);
        }
    }

    fn sample_by(&mut self, zeros: u32) {
        if zeros > self.sampled {
            self.sampled = zeros;
            self.ended.retain(|id| id.leading_zeros() >= zeros);
            self.open.retain(|id, _| id.leading_zeros() >= zeros);
        }
    }

    /// The number of requests that began and were not seen to end.
    #[must_use]
    pub fn open(&self) -> u64 {
        (self.open.len() as u64).saturating_mul(1 << self.sampled.min(63)).min(self.begun)
    }

    /// Adds the requests without an end to a timeline.
    pub fn add_open_to(&self, timeline: &mut Timeline) {
        let mut minutes: Vec<u32> = self.open.values().copied().collect();
        // Each stands for as many, and the earliest for one more where that is no whole number.
        minutes.sort_unstable();
        let (all, followed) = (self.open(), minutes.len() as u64);
        for (index, minute) in (0..).zip(minutes) {
            let each = all / followed + u64::from(index < all % followed);
            timeline.record_all(i64::from(minute) * MINUTE, each);
        }
    }
}

impl Merge for Live {
    fn merge(&mut self, other: Self) {
        self.begun += other.begun;
        self.sample_by(other.sampled);
        other.ended.into_iter().for_each(|id| self.note_end(id));
        other.open.into_iter().for_each(|(id, minute)| self.note_start(id, minute));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Starts (even) and ends (odd) of requests.
    fn of(events: &[u32]) -> Live {
        let mut live = Live::default();
        for event in events {
            let id = stable_hash(&(event / 2));
            if event % 2 == 0 {
                live.begun += 1;
                live.note_start(id, event / 2);
            } else {
                live.note_end(id);
            }
        }
        live
    }

    proptest! {
        #[test]
        fn open_are_those_that_began_and_did_not_end_in_any_order(
            events in prop::collection::btree_set(0_u32..300, 0..200).prop_map(Vec::from_iter).prop_shuffle(),
            cut in 0_usize..200,
        ) {
            let has = |event: &u32| events.contains(event);
            let open: BTreeSet<u32> =
                (0..150).filter(|n| has(&(2 * n)) && !has(&(2 * n + 1))).collect();
            let whole = of(&events);
            prop_assert_eq!(whole.open(), open.len() as u64);
            let minutes: BTreeSet<u32> = whole.open.values().copied().collect();
            prop_assert_eq!(minutes, open);
            let (left, right) = events.split_at(cut.min(events.len()));
            let mut merged = of(right);
            merged.merge(of(left));
            prop_assert_eq!(merged, whole);
        }
    }

    #[test]
    fn what_ended_takes_no_memory() {
        let events: Vec<u32> = (0..100_000).collect();
        let live = of(&events);
        assert_eq!((live.open(), live.sampled), (0, 0));
        assert!(live.open.capacity() + live.ended.capacity() < 10);
    }

    #[test]
    fn no_more_are_open_than_were_seen_to_begin() {
        let live =
            Live { sampled: 20, begun: 3, open: [(7, 7), (8, 8)].into_iter().collect(), ..Live::default() };
        assert_eq!(live.open(), 3);
        let mut timeline = Timeline::default();
        live.add_open_to(&mut timeline);
        let minute = |minute: i64| minute * MINUTE;
        assert_eq!(timeline.windows().counts, [(minute(7), 2), (minute(8), 1)]);
    }

    #[test]
    fn more_than_fit_are_estimated_whatever_the_order() {
        let all = u32::try_from(3 * MAX_FOLLOWED).expect("a few thousand");
        let starts: Vec<u32> = (0..all).map(|n| 2 * n).collect();
        let forwards = of(&starts);
        let (backwards, other): (Vec<u32>, Vec<u32>) = starts.iter().rev().partition(|n| *n % 3 == 0);
        let mut merged = of(&backwards);
        merged.merge(of(&other));
        assert_eq!(forwards, merged);
        assert!(forwards.sampled > 0);
        let (open, all) = (forwards.open(), u64::from(all));
        assert!(open.abs_diff(all) < all / 20, "{open} of {all}");
    }
}
