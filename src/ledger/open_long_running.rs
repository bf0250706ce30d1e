//! Long-running requests, such as WATCH, logs and exec. The server writes a ResponseStarted and a ResponseComplete
//! event for each. Each request counts once, with or without an end in the log.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

use super::{Merge, Timeline};
use crate::requests::{Request, stable_hash};

const MINUTE: i64 = 60_000_000;
/// The maximum number of open requests that a row tracks. Above it, the row tracks only a sample, chosen by the hash of
/// the ID. The number of open requests is then an estimate.
const MAX_OPEN: usize = 1 << 16;
/// The maximum number of tracked requests with a known end but no known start. In a log without ResponseStarted
/// events, all requests are like this, and none of them is open.
const MAX_ENDED: usize = 1 << 13;

/// A hash of a request's audit ID and receive time. The receive time distinguishes requests with the same ID, because
/// a client may reuse an ID. If a record has no receive time, the hash covers only the audit ID.
type Id = u64;

fn id_of(request: &Request<'_>) -> Id {
    stable_hash(&(request.audit_id, request.received.filter(|_| request.says_received)))
}

/// The long-running requests of one row. A request takes no memory once both its start and its end were read, so
/// memory does not grow with the log.
///
/// The number of open requests does not depend on the order of events. This holds as long as a row has at most 65,536
/// open requests, and at most 8,192 ends come before their starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenLongRunning {
    /// Requests whose start or end was read, but not both.
    unpaired: HashMap<Id, Unpaired, FxBuildHasher>,
    /// The number of requests in `unpaired` that have only an end.
    ended: usize,
    /// The number of leading zeros that an ID must have to be tracked.
    sampled: u32,
    /// The number of starts. [`OpenLongRunning::open`] never exceeds it, so clients cannot raise that estimate by
    /// their choice of IDs.
    begun: u64,
}

/// The requests that share one ID. The numbers of their starts and ends differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unpaired {
    /// The number of starts minus the number of ends. Never 0.
    starts: i32,
    /// The receive time of the first open request, in minutes since 1970. It depends on the order of events only if
    /// records lack a receive time and a client reuses an ID.
    minute: u32,
}

impl OpenLongRunning {
    /// Records the start of a request. Call it only for the first ResponseStarted event of a request; see
    /// [`Request::begins_again`].
    pub(crate) fn start(&mut self, request: &Request<'_>) {
        self.begun += 1;
        let minute = request.received.map_or(0, |received| received.div_euclid(MINUTE));
        let minute = u32::try_from(minute).unwrap_or(0);
        self.note(id_of(request), Unpaired { starts: 1, minute });
    }

    /// Records the end of a request.
    pub(crate) fn end(&mut self, request: &Request<'_>) {
        self.note(id_of(request), Unpaired { starts: -1, minute: u32::MAX });
    }

    fn note(&mut self, id: Id, noted: Unpaired) {
        self.pair(id, noted);
        self.sample();
    }

    fn pair(&mut self, id: Id, noted: Unpaired) {
        if id.leading_zeros() < self.sampled {
            return;
        }
        let (before, after) = match self.unpaired.entry(id) {
            Entry::Vacant(vacant) => (0, vacant.insert(noted).starts),
            Entry::Occupied(mut own) => {
                let Unpaired { starts: before, minute } = *own.get();
                let after = before.saturating_add(noted.starts);
                if after == 0 {
                    own.remove();
                } else {
                    own.insert(Unpaired { starts: after, minute: noted.minute.min(minute) });
                }
                (before, after)
            }
        };
        self.ended = self.ended + usize::from(after < 0) - usize::from(before < 0);
    }

    fn sample(&mut self) {
        while self.ended > MAX_ENDED || self.unpaired.len() - self.ended > MAX_OPEN {
            self.sample_by(self.sampled + 1);
        }
    }

    fn sample_by(&mut self, zeros: u32) {
        if zeros > self.sampled {
            self.sampled = zeros;
            self.unpaired.retain(|id, _| id.leading_zeros() >= zeros);
            self.ended = self.unpaired.values().filter(|own| own.starts < 0).count();
        }
    }

    /// The number of requests with a start and without an end.
    #[must_use]
    pub(crate) fn open(&self) -> u64 {
        let followed: u64 = self.open_ones().map(|(_, requests)| requests).sum();
        followed.saturating_mul(1 << self.sampled.min(63)).min(self.begun)
    }

    /// Adds the open requests to a timeline.
    pub(crate) fn add_open_to(&self, timeline: &mut Timeline) {
        let mut open: Vec<(u32, u64)> = self.open_ones().collect();
        // If the row tracks only a sample, each tracked request counts as `all / followed` requests. The remainder of
        // this division goes to the earliest requests, one to each.
        open.sort_unstable();
        let (all, followed) = (self.open(), open.iter().map(|(_, requests)| requests).sum::<u64>());
        let mut before = 0;
        for (minute, requests) in open {
            let one_more = (all % followed).saturating_sub(before).min(requests);
            timeline.record_all(i64::from(minute) * MINUTE, all / followed * requests + one_more);
            before += requests;
        }
    }

    /// Iterates over the tracked open requests, grouped by ID. Each item has the receive time, in minutes since 1970,
    /// and the number of open requests with this ID.
    fn open_ones(&self) -> impl Iterator<Item = (u32, u64)> {
        let open = |own: &Unpaired| Some((own.minute, u64::try_from(own.starts).ok()?));
        self.unpaired.values().filter_map(open)
    }
}

impl Merge for OpenLongRunning {
    fn merge(&mut self, other: Self) {
        self.begun += other.begun;
        self.sample_by(other.sampled);
        for (id, noted) in other.unpaired {
            self.pair(id, noted);
        }
        self.sample();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Builds the state from events. The number of an event divided by two selects its request. Even numbers are
    /// starts, odd numbers are ends.
    fn tracker(events: &[u32]) -> OpenLongRunning {
        let mut open_requests = OpenLongRunning::default();
        for event in events {
            let id = stable_hash(&(event / 2));
            let (starts, minute) = if event % 2 == 0 { (1, event / 2) } else { (-1, u32::MAX) };
            open_requests.begun += u64::from(starts > 0);
            open_requests.note(id, Unpaired { starts, minute });
        }
        open_requests
    }

    proptest! {
        #[test]
        fn open_requests_have_a_start_and_no_end_in_any_order(
            events in prop::collection::vec(0_u32..120, 0..200),
            cut in 0_usize..200,
        ) {
            let mut naive: BTreeMap<u32, i64> = BTreeMap::new();
            for event in &events {
                *naive.entry(event / 2).or_default() += if event % 2 == 0 { 1 } else { -1 };
            }
            let all_events = tracker(&events);
            naive.retain(|_, starts| *starts > 0);
            let open: Vec<(u32, u64)> =
                naive.into_iter().map(|(minute, starts)| (minute, starts.unsigned_abs())).collect();
            prop_assert_eq!(all_events.open(), open.iter().map(|(_, requests)| requests).sum::<u64>());
            let mut minutes: Vec<(u32, u64)> = all_events.open_ones().collect();
            minutes.sort_unstable();
            prop_assert_eq!(minutes, open);
            let mut backwards = events.clone();
            backwards.reverse();
            prop_assert_eq!(tracker(&backwards).open(), all_events.open());
            let merged = crate::ledger::merge::merged_parts(&events, cut, tracker);
            prop_assert_eq!((merged.open(), merged.ended), (all_events.open(), all_events.ended));
        }
    }

    #[test]
    fn ended_requests_take_no_memory_and_leave_the_count_exact() {
        // Each request ends after 1,000 others have begun.
        let starts = (0..200_000_u32).map(|n| (n, 2 * n));
        let ends = (0..200_000_u32).map(|n| (n + 1_000, 2 * n + 1));
        let mut events: Vec<(u32, u32)> = starts.chain(ends).collect();
        events.sort_unstable();
        let events: Vec<u32> = events.into_iter().map(|(_, event)| event).collect();
        let open_requests = tracker(&events[..events.len() - 7]);
        assert_eq!((open_requests.open(), open_requests.sampled), (7, 0));
        assert!(open_requests.unpaired.capacity() < 5_000);
    }

    #[test]
    fn ends_without_starts_leave_no_request_open() {
        let ends: Vec<u32> = (0..100_000).map(|n| 2 * n + 1).collect();
        let open_requests = tracker(&ends);
        assert_eq!(open_requests.open(), 0);
        assert!(open_requests.unpaired.len() <= MAX_ENDED);
    }

    #[test]
    fn open_requests_never_exceed_starts() {
        let one = |minute| (u64::from(minute), Unpaired { starts: 1, minute });
        let unpaired = [one(7), one(8)].into_iter().collect();
        let open_requests = OpenLongRunning { sampled: 20, begun: 3, unpaired, ended: 0 };
        assert_eq!(open_requests.open(), 3);
        let mut timeline = Timeline::default();
        open_requests.add_open_to(&mut timeline);
        let minute = |minute: i64| minute * MINUTE;
        assert_eq!(timeline.windows().counts, [(minute(7), 2), (minute(8), 1)]);
    }

    #[test]
    fn open_requests_above_the_limit_are_estimated_in_any_order() {
        let all = u32::try_from(3 * MAX_OPEN).expect("some thousands");
        let starts: Vec<u32> = (0..all).map(|n| 2 * n).collect();
        let forwards = tracker(&starts);
        let (backwards, other): (Vec<u32>, Vec<u32>) = starts.iter().rev().partition(|n| *n % 3 == 0);
        let mut merged = tracker(&backwards);
        merged.merge(tracker(&other));
        assert_eq!(forwards, merged);
        assert!(forwards.sampled > 0);
        let (open, all) = (forwards.open(), u64::from(all));
        assert!(open.abs_diff(all) < all / 20, "{open} of {all}");
    }
}
