//! Lives of watches: how long they lived, whether they were begun again at once, and which ran beside each other.

use compact_str::CompactString;

use super::informer::START;
use super::{Rows, SECOND, most_in_an_hour};
use crate::ledger::Merge;
use crate::ledger::instance_histories::{HistoryEntry, RequestKind, ResponseClass};
use crate::requests::Instance;

/// A watch that ended sooner is short, in microseconds: client-go asks for five to ten minutes, and the server closes a
/// watch without a timeout after half an hour to an hour. A minute, and a little more: load balancers and clients that
/// cut after a minute do it at a minute.
pub const SHORT: i64 = 65 * SECOND;
/// A watch that begins so soon after another's end takes its place, in microseconds.
pub const SOON: i64 = 30 * SECOND;
/// What two watches must have run beside each other on either side to count as two, in microseconds: a new connection
/// often begins before the server has noticed that the old one is gone.
const OVERLAP: i64 = 15 * SECOND;

/// One WATCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// It was received, in microseconds since 1970.
    pub at: i64,
    /// It ended; `None` if that is not in the log.
    pub end: Option<i64>,
    /// It was gone by then, as far as is known.
    pub gone: Option<i64>,
    /// Its shape.
    pub ask: u32,
    /// What came of it.
    pub response: ResponseClass,
    /// It asked for the present objects first.
    pub asks_initial_events: bool,
}

impl Watch {
    /// A watch for tests.
    #[cfg(test)]
    pub(super) fn made_up(at: i64, end: Option<i64>, response: ResponseClass) -> Self {
        Self { at, end, gone: end, ask: 2, response, asks_initial_events: false }
    }

    /// It ended within [`SHORT`], and was served.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.response == ResponseClass::Served && self.end.is_some_and(|end| end - self.at < SHORT)
    }
}

/// The watches of one target, whose records stand in the order of time. A watch of which no end is in the log lived, as far
/// as is known, until the next one began, unless both are of one start: a server that is killed writes no ends.
#[must_use]
pub fn watches(entries: &[HistoryEntry]) -> Vec<Watch> {
    let mut watches: Vec<Watch> = entries
        .iter()
        .filter(|entry| matches!(entry.kind(), RequestKind::WatchBegan | RequestKind::WatchEnded))
        .map(|entry| Watch {
            at: entry.at(),
            end: (entry.kind() == RequestKind::WatchEnded).then(|| entry.end()),
            gone: None,
            ask: entry.ask,
            response: entry.response(),
            asks_initial_events: entry.asks_initial_events(),
        })
        .collect();
    watches.sort_by_key(|watch| watch.at);
    let begins: Vec<i64> = watches.iter().map(|watch| watch.at).collect();
    for watch in &mut watches {
        let next = begins.partition_point(|at| *at <= watch.at + START);
        watch.gone = watch.end.or(begins.get(next).copied());
    }
    watches
}

/// Lives of watches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watching {
    /// Watches.
    pub watches: u64,
    /// Of these, those that ended.
    pub ended: u64,
    /// Of these, those that were served and ended within [`SHORT`].
    pub short: u64,
    /// The most such watches of one collection by one instance.
    pub most_short: u64,
    /// The most of them within an hour.
    pub most_short_in_an_hour: u64,
    /// Watches that ran beside another of the same collection by the same instance.
    pub beside: u64,
    /// The most of them at once.
    pub most_at_once: u64,
    /// Instances that had more than one at once.
    pub doubled_instances: u64,
    /// Watches with `sendInitialEvents` that were refused, with a LIST after them.
    pub fallbacks: u64,
}

impl Merge for Watching {
    fn merge(&mut self, other: Self) {
        self.watches += other.watches;
        self.ended += other.ended;
        self.short += other.short;
        self.most_short = self.most_short.max(other.most_short);
        self.most_short_in_an_hour = self.most_short_in_an_hour.max(other.most_short_in_an_hour);
        self.beside += other.beside;
        self.most_at_once = self.most_at_once.max(other.most_at_once);
        self.doubled_instances += other.doubled_instances;
        self.fallbacks += other.fallbacks;
    }
}

/// Tells of the watches of one target.
pub(super) fn tell(instance: &Instance<CompactString>, watches: &[Watch], log_end: i64, rows: &mut Rows) {
    let Some(first) = watches.first() else { return };
    for watch in watches {
        rows.of(watch.ask).watching.merge(Watching {
            watches: 1,
            ended: u64::from(watch.end.is_some()),
            short: u64::from(watch.is_short()),
            ..Watching::default()
        });
    }
    let short: Vec<&Watch> = watches.iter().filter(|watch| watch.is_short()).collect();
    if let Some(last) = short.last() {
        rows.of(last.ask).watching.merge(Watching {
            most_short: short.len() as u64,
            most_short_in_an_hour: most_in_an_hour(short.iter().map(|watch| watch.at)),
            ..Watching::default()
        });
    }
    if instance.is_one_process() {
        let (beside, most) = beside(watches, log_end);
        if most > 1 {
            rows.of(first.ask).watching.merge(Watching {
                beside,
                most_at_once: most,
                doubled_instances: 1,
                ..Watching::default()
            });
        }
    }
}

/// How many watches ran beside another, and the most at once.
fn beside(watches: &[Watch], log_end: i64) -> (u64, u64) {
    let mut edges: Vec<(i64, bool, usize)> = Vec::new();
    for (index, watch) in
        watches.iter().enumerate().filter(|(_, watch)| watch.response == ResponseClass::Served)
    {
        let (from, to) = (watch.at + OVERLAP, watch.gone.unwrap_or(log_end) - OVERLAP);
        if from < to {
            edges.extend([(from, true, index), (to, false, index)]);
        }
    }
    // Of two edges at one instant an end comes first.
    edges.sort_unstable();
    let (mut running, mut doubled, mut most) = (0_u64, vec![false; watches.len()], 0);
    // The exclusive or of those that run: where one runs alone, that one.
    let mut which = 0;
    for (_, begins, index) in edges {
        if begins {
            if running > 0 {
                doubled[index] = true;
            }
            if running == 1 {
                doubled[which] = true;
            }
            running += 1;
            most = most.max(running);
        } else {
            running -= 1;
        }
        which ^= index;
    }
    (doubled.into_iter().filter(|is| *is).count() as u64, most)
}
