//! The same read again and again by one instance, with no watch: at which intervals, and how regularly.

use std::cmp::Reverse;

use compact_str::CompactString;

use super::Rows;
use super::chain::Read;
use super::informer::Fate;
use crate::classify::Instance;
use crate::ledger::lives::Came;
use crate::ledger::{Histogram, Merge};

/// Fewer reads of one collection or object by one instance are no polling.
const FEWEST: usize = 3;
/// Instances that are named.
const NAMED: usize = 5;
/// In per cent of the median. More tells no more: reads at one instant have a median of nothing.
const WIDEST_SPREAD: u64 = 1_000;

/// One instance that reads the same again and again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poller {
    /// How often it read it.
    pub reads: u64,
    /// Half of the intervals between reads are no longer, in microseconds.
    pub median: u64,
    /// From the interval that a quarter of all do not exceed to the one that three quarters do not, in microseconds.
    pub spread: u64,
    /// Which one.
    pub instance: Instance<CompactString>,
}

/// Reads that are the same again by the same instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polling {
    /// Reads of all that poll.
    pub reads: u64,
    /// Instances, each for each collection or object that it polls.
    pub pollers: u64,
    /// All that no WATCH followed and that were served, polled or not.
    pub alone: u64,
    /// Intervals between successive reads of one poller.
    pub intervals: Histogram,
    /// Each poller's median interval.
    pub medians: Histogram,
    /// Each poller's spread, in per cent of its median.
    pub spreads: Histogram,
    /// Those with the most reads.
    pub busiest: Vec<Poller>,
}

impl Polling {
    /// Names a poller if it is one of the busiest.
    fn name(&mut self, reads: u64, median: u64, spread: u64, instance: &Instance<CompactString>) {
        let order = (Reverse(reads), median, spread, instance);
        let before = |own: &Poller| (Reverse(own.reads), own.median, own.spread, &own.instance) < order;
        let at = self.busiest.partition_point(before);
        if at < NAMED {
            self.busiest.truncate(NAMED - 1);
            self.busiest.insert(at, Poller { reads, median, spread, instance: instance.clone() });
        }
    }

    /// As [`Merge::merge`], of one that is kept.
    pub fn merge_from(&mut self, other: &Self) {
        self.reads += other.reads;
        self.pollers += other.pollers;
        self.alone += other.alone;
        self.intervals.merge_from(&other.intervals);
        self.medians.merge_from(&other.medians);
        self.spreads.merge_from(&other.spreads);
        for Poller { reads, median, spread, instance } in &other.busiest {
            self.name(*reads, *median, *spread, instance);
        }
    }
}

impl Merge for Polling {
    fn merge(&mut self, other: Self) {
        self.merge_from(&other);
    }
}

/// Tells of an instance's reads of one target that no watch followed.
pub(super) fn tell(instance: &Instance<CompactString>, reads: &[Read], fates: &[Fate], rows: &mut Rows) {
    let alone: Vec<&Read> = reads
        .iter()
        .zip(fates)
        .filter(|(read, fate)| **fate == Fate::Alone && read.came == Came::Served && !read.is_headless)
        .map(|(read, _)| read)
        .collect();
    let asks = || alone.chunk_by(|a, b| a.ask == b.ask).map(|same| (same[0].ask, same.len() as u64));
    for (ask, reads) in asks() {
        rows.of(ask).polling.alone += reads;
    }
    if alone.len() < FEWEST {
        return;
    }
    let mut intervals: Vec<u64> =
        alone.windows(2).map(|pair| u64::try_from(pair[1].at - pair[0].at).unwrap_or(0)).collect();
    intervals.sort_unstable();
    let quantile = |quarters: usize| intervals[(intervals.len() - 1) * quarters / 4];
    let (median, spread) = (quantile(2), quantile(3) - quantile(1));
    let polling = &mut rows.of(usual_ask(&alone)).polling;
    polling.pollers += 1;
    polling.medians.record(median);
    polling.spreads.record((spread.saturating_mul(100) / median.max(1)).min(WIDEST_SPREAD));
    for interval in &intervals {
        polling.intervals.record(*interval);
    }
    polling.name(alone.len() as u64, median, spread, instance);
    for (ask, reads) in asks() {
        rows.of(ask).polling.reads += reads;
    }
}

/// The shape that most reads have; of several the least.
fn usual_ask(reads: &[&Read]) -> u32 {
    if reads.iter().all(|read| read.ask == reads[0].ask) {
        return reads[0].ask;
    }
    let mut shapes: Vec<u32> = reads.iter().map(|read| read.ask).collect();
    shapes.sort_unstable();
    let most = shapes.chunk_by(|a, b| a == b).rev().max_by_key(|same| same.len());
    most.map_or(0, |same| same[0])
}
