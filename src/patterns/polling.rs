//! The same read again and again by one instance, with no watch: at which intervals, and how regularly.

use std::cmp::Reverse;

use compact_str::CompactString;

use super::Rows;
use super::chain::Read;
use super::informer::ReadRole;
use crate::ledger::instance_histories::ResponseClass;
use crate::ledger::{Histogram, Merge};
use crate::requests::Instance;

/// Fewer reads of one collection or object by one instance are no polling.
const FEWEST: usize = 3;
/// Of fewer reads the median interval may be chance.
const FEWEST_FAST: usize = 5;
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
    /// Instances that poll, the most of one shape.
    pub instances: u64,
    /// The most collections or objects that one instance polls.
    pub most_targets: u64,
    /// The shortest median interval of a poller with some reads.
    pub fastest: Option<u64>,
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
        // An instance that polls in several shapes is one of each.
        self.instances = self.instances.max(other.instances);
        self.most_targets = self.most_targets.max(other.most_targets);
        self.fastest = [self.fastest, other.fastest].into_iter().flatten().min();
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

/// Adds an instance's reads of one target that no watch followed. Returns the shape of those that poll.
pub(super) fn tell(
    instance: &Instance<CompactString>,
    reads: &[Read],
    roles: &[ReadRole],
    rows: &mut Rows,
) -> Option<u32> {
    let alone: Vec<&Read> = reads
        .iter()
        .zip(roles)
        .filter(|(read, role)| {
            **role == ReadRole::Standalone && read.response == ResponseClass::Served && !read.is_headless
        })
        .map(|(read, _)| read)
        .collect();
    let asks = || alone.chunk_by(|a, b| a.ask == b.ask).map(|same| (same[0].ask, same.len() as u64));
    for (ask, reads) in asks() {
        rows.of(ask).polling.alone += reads;
    }
    if alone.len() < FEWEST {
        return None;
    }
    let mut intervals: Vec<u64> =
        alone.windows(2).map(|pair| u64::try_from(pair[1].at - pair[0].at).unwrap_or(0)).collect();
    intervals.sort_unstable();
    let quantile = |quarters: usize| intervals[(intervals.len() - 1) * quarters / 4];
    let (median, spread) = (quantile(2), quantile(3) - quantile(1));
    let usual = usual_ask(&alone);
    let polling = &mut rows.of(usual).polling;
    polling.pollers += 1;
    if alone.len() >= FEWEST_FAST {
        polling.fastest = Some(polling.fastest.map_or(median, |fastest| fastest.min(median)));
    }
    polling.medians.record(median);
    polling.spreads.record((spread.saturating_mul(100) / median.max(1)).min(WIDEST_SPREAD));
    for interval in &intervals {
        polling.intervals.record(*interval);
    }
    polling.name(alone.len() as u64, median, spread, instance);
    for (ask, reads) in asks() {
        rows.of(ask).polling.reads += reads;
    }
    Some(usual)
}

/// Counts an instance once for each shape that it polls in, however many targets that has. `polled` are the shapes of its
/// targets.
pub(super) fn tell_instance(mut polled: Vec<u32>, rows: &mut Rows) {
    polled.sort_unstable();
    for same in polled.chunk_by(|a, b| a == b) {
        let polling = &mut rows.of(same[0]).polling;
        polling.instances += 1;
        polling.most_targets = polling.most_targets.max(same.len() as u64);
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
