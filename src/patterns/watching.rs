//! Lives of watches: how long they lived, whether they were begun again at once, and which ran beside each other.

use std::cmp::Reverse;

use compact_str::CompactString;

use super::{Rows, SECOND};
use crate::classify::Instance;
use crate::ledger::Merge;
use crate::ledger::lives::{Came, Record, What};

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
    /// Its shape.
    pub shape: u32,
    /// What came of it.
    pub came: Came,
    /// It asked for the present objects first.
    pub asks_initial_events: bool,
}

impl Watch {
    /// It ended within [`SHORT`], and was served.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.came == Came::Served && self.end.is_some_and(|end| end - self.at < SHORT)
    }
}

/// The watches of one target, whose records stand in the order of time. Of a watch that began and ended there are two
/// records, or three, with the same instant and ID.
#[must_use]
pub fn watches(records: &[Record]) -> Vec<Watch> {
    let mut found: Vec<&Record> = records
        .iter()
        .filter(|record| matches!(record.what(), What::WatchBegan | What::WatchEnded))
        .collect();
    found.sort_by_key(|record| (record.at(), record.link, Reverse(record.what())));
    found.dedup_by_key(|record| (record.at(), record.link));
    found
        .into_iter()
        .map(|record| Watch {
            at: record.at(),
            end: (record.what() == What::WatchEnded).then(|| record.end()),
            shape: record.shape,
            came: record.came(),
            asks_initial_events: record.asks_initial_events(),
        })
        .collect()
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
        rows.of(watch.shape).watching.merge(Watching {
            watches: 1,
            ended: u64::from(watch.end.is_some()),
            short: u64::from(watch.is_short()),
            ..Watching::default()
        });
    }
    let short = watches.iter().filter(|watch| watch.is_short());
    if let Some(last) = short.clone().next_back() {
        rows.of(last.shape)
            .watching
            .merge(Watching { most_short: short.count() as u64, ..Watching::default() });
    }
    if instance.is_one_process() {
        let (beside, most) = beside(watches, log_end);
        if most > 1 {
            rows.of(first.shape).watching.merge(Watching {
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
    for (index, watch) in watches.iter().enumerate().filter(|(_, watch)| watch.came == Came::Served) {
        let (from, to) = (watch.at + OVERLAP, watch.end.unwrap_or(log_end) - OVERLAP);
        if from < to {
            edges.extend([(from, true, index), (to, false, index)]);
        }
    }
    // Of two edges at one instant an end comes first.
    edges.sort_unstable();
    let (mut running, mut doubled, mut most) = (Vec::new(), vec![false; watches.len()], 0);
    for (_, begins, index) in edges {
        if begins {
            running.push(index);
            most = most.max(running.len() as u64);
            if running.len() > 1 {
                for index in &running {
                    doubled[*index] = true;
                }
            }
        } else {
            running.retain(|other| *other != index);
        }
    }
    (doubled.into_iter().filter(|is| *is).count() as u64, most)
}
