//! Long-running requests (watches, logs, connections), which write an event when they begin to answer and another
//! when they end, and of which each must count once, whether its end was seen or not.

use std::hash::BuildHasher;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Merge, Timeline};

/// How many requests of a row are followed one by one. Of more, a sample by the hash of their ID is followed, and
/// the number of those without an end is estimated from it.
const MAX_FOLLOWED: usize = 1 << 16;

/// What was seen of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    /// When it was received, in microseconds since 1970, if it was seen to begin.
    started: Option<i64>,
    ended: bool,
}

/// The long-running requests of one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    seen: HashMap<u64, Seen, FxBuildHasher>,
    /// Only IDs whose hash has so many leading zeros are followed.
    sampled: u32,
}

impl Live {
    /// A request began to answer. In some releases since 1.30 a watch says so twice.
    pub fn start(&mut self, audit_id: &str, received: i64) {
        self.note(id_of(audit_id), Seen { started: Some(received), ended: false });
    }

    /// A request ended.
    pub fn end(&mut self, audit_id: &str) {
        self.note(id_of(audit_id), Seen { started: None, ended: true });
    }

    fn note(&mut self, id: u64, seen: Seen) {
        if id.leading_zeros() < self.sampled {
            return;
        }
        let own = self.seen.entry(id).or_default();
        own.started = own.started.into_iter().chain(seen.started).min();
        own.ended |= seen.ended;
        while self.seen.len() > MAX_FOLLOWED {
            self.sampled += 1;
            let sampled = self.sampled;
            self.seen.retain(|id, _| id.leading_zeros() >= sampled);
        }
    }

    /// The number of requests that began and were not seen to end.
    #[must_use]
    pub fn open(&self) -> u64 {
        (self.open_ones().count() as u64) << self.sampled
    }

    /// Whether [`Live::open`] is an estimate.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.sampled > 0
    }

    /// Adds the requests without an end to a timeline.
    pub fn add_open_to(&self, timeline: &mut Timeline) {
        for received in self.open_ones() {
            for _ in 0..(1_u64 << self.sampled) {
                timeline.record(received);
            }
        }
    }

    fn open_ones(&self) -> impl Iterator<Item = i64> {
        self.seen.values().filter(|seen| !seen.ended).filter_map(|seen| seen.started)
    }
}

impl Merge for Live {
    fn merge(&mut self, other: Self) {
        self.sampled = self.sampled.max(other.sampled);
        let sampled = self.sampled;
        self.seen.retain(|id, _| id.leading_zeros() >= sampled);
        for (id, seen) in other.seen {
            self.note(id, seen);
        }
    }
}

fn id_of(audit_id: &str) -> u64 {
    FxBuildHasher.hash_one(audit_id).wrapping_mul(0x9e37_79b9_7f4a_7c15)
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
        assert_eq!(forwards, backwards);
        assert!(forwards.is_estimate());
        let (open, all) = (forwards.open(), ids.len() as u64);
        assert!(open.abs_diff(all) < all / 50, "{open} of {all}");
    }
}
