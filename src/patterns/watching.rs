//! Watches: how long they last, and which run in parallel.

use compact_str::CompactString;

use super::pattern::{MostInAnHour, ShapePatterns, Watching};
use super::time::{SECOND, START, most_in_an_hour};
use crate::ledger::Merge;
use crate::ledger::instance_histories::{HistoryEntry, RequestKind, ResponseClass};
use crate::requests::Instance;

/// A watch that ends sooner than this is short. In microseconds. client-go requests watches of five to ten minutes.
/// The server closes a watch without a timeout after 30 to 60 minutes. Many load balancers and clients close a watch
/// after one minute, so this limit is a little longer.
pub(crate) const SHORT: i64 = 65 * SECOND;
/// A watch that begins within this time after a LIST follows this LIST. In microseconds.
pub(crate) const SOON: i64 = 30 * SECOND;
/// The time that is cut from both ends of a watch before overlaps are counted, in microseconds. A new connection often
/// begins before the server notices that the old one is gone.
const OVERLAP: i64 = 15 * SECOND;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch {
    /// When the server received the WATCH, in microseconds since 1970.
    pub(crate) at: i64,
    /// When the watch ended; `None` if the log has no end.
    pub(crate) end: Option<i64>,
    /// When the watch ended. If the log has no end of the watch, the start of a later watch; see [`watches`].
    pub(crate) gone: Option<i64>,
    pub(crate) shape: u32,
    pub(crate) response: ResponseClass,
    /// True if the request has `sendInitialEvents=true`.
    pub(crate) sends_initial_events: bool,
}

impl Watch {
    #[cfg(test)]
    pub(super) fn made_up(at: i64, end: Option<i64>, response: ResponseClass) -> Self {
        Self { at, end, gone: end, shape: 2, response, sends_initial_events: false }
    }

    /// Whether the watch was served and ended within [`SHORT`].
    pub(crate) fn is_short(&self) -> bool {
        self.response == ResponseClass::Served && self.end.is_some_and(|end| end - self.at < SHORT)
    }
}

/// Collects the watches of one target. The entries must be in time order.
///
/// A killed server writes no end. So kubetoll assumes that a watch without an end lasts until a later watch begins. A
/// later watch within [`START`] does not count, because it belongs to the same start.
pub(crate) fn watches(entries: &[HistoryEntry]) -> Vec<Watch> {
    let mut watches: Vec<Watch> = entries
        .iter()
        .filter(|entry| matches!(entry.kind(), RequestKind::WatchBegan | RequestKind::WatchEnded))
        .map(|entry| Watch {
            at: entry.at(),
            end: (entry.kind() == RequestKind::WatchEnded).then(|| entry.end()),
            gone: None,
            shape: entry.shape,
            response: entry.response(),
            sends_initial_events: entry.sends_initial_events(),
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

pub(super) fn add(
    instance: &Instance<CompactString>,
    watches: &[Watch],
    log_end: i64,
    rows: &mut ShapePatterns,
) {
    let Some(first) = watches.first() else { return };
    for watch in watches {
        rows.pattern(watch.shape).watching.merge(Watching {
            count: 1,
            ended: u64::from(watch.end.is_some()),
            short: u64::from(watch.is_short()),
            ..Watching::default()
        });
    }
    let short: Vec<&Watch> = watches.iter().filter(|watch| watch.is_short()).collect();
    if let Some(last) = short.last() {
        let pattern = rows.pattern(last.shape);
        pattern.watching.merge(Watching { most_short: short.len() as u64, ..Watching::default() });
        let short_watches = most_in_an_hour(short.iter().map(|watch| watch.at));
        pattern.most_in_an_hour.merge(MostInAnHour { short_watches, ..MostInAnHour::default() });
    }
    let (doubled, most) = beside(watches, log_end);
    // A watch at the end of the log is too short to overlap others.
    let is_served = watches.iter().any(|watch| watch.response == ResponseClass::Served);
    rows.pattern(first.shape)
        .watching
        .merge(Watching { concurrent: most.max(u64::from(is_served)), ..Watching::default() });
    if instance.is_one_process() && most > 1 {
        rows.pattern(first.shape).watching.merge(Watching {
            doubled,
            most_at_once: most,
            doubled_instances: 1,
            ..Watching::default()
        });
    }
}

/// Returns the number of watches that overlap another watch, and the largest number of watches that overlap at the same
/// time.
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
    // An end sorts before a start at the same time.
    edges.sort_unstable();
    let (mut running, mut doubled, mut most) = (0_u64, vec![false; watches.len()], 0);
    // The XOR of the indexes of all open watches. If exactly one watch is open, this is the index of that watch.
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
