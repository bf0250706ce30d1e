//! Polling: one instance repeats the same read without a watch. This module finds the interval and its regularity.

use std::cmp::Reverse;

use compact_str::CompactString;

use super::ShapePatterns;
use super::chain::Read;
use super::informer::ReadRole;
use crate::ledger::instance_histories::ResponseClass;
use crate::ledger::{Histogram, Merge};
use crate::requests::Instance;

/// An instance polls a collection or object if it reads it at least this many times.
const MIN_READS: usize = 3;
/// A median interval is meaningful from this many reads on.
const MIN_READS_FOR_MEDIAN: usize = 5;
/// The maximum number of instances that reports name.
const MAX_NAMED: usize = 5;
/// The maximum spread that is recorded, in percent of the median. The median can be 0, so the ratio needs a limit.
const MAX_SPREAD_PERCENT: u64 = 1_000;

/// One instance that polls a collection or object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poller {
    /// The number of reads by this instance.
    pub reads: u64,
    /// The median interval between reads, in microseconds.
    pub median: u64,
    /// The interquartile range of the intervals, in microseconds.
    pub spread: u64,
    pub instance: Instance<CompactString>,
}

/// The polling in one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polling {
    /// The reads of all pollers.
    pub reads: u64,
    /// The number of pollers. An instance counts once for each collection or object that it polls.
    pub pollers: u64,
    /// The number of instances that poll. After rows are merged, it is the largest number of any row, because rows may
    /// share instances.
    pub instances: u64,
    /// The largest number of collections or objects that one instance polls.
    pub most_targets: u64,
    /// The shortest median interval of a poller with at least 5 reads, in microseconds.
    pub fastest: Option<u64>,
    /// Served reads that no WATCH follows, whether they are polling or not.
    pub alone: u64,
    /// The intervals between successive reads of each poller.
    pub intervals: Histogram,
    /// The median interval of each poller.
    pub medians: Histogram,
    /// The spread of each poller, in percent of its median.
    pub spreads: Histogram,
    /// The pollers with the most reads.
    pub busiest: Vec<Poller>,
}

impl Polling {
    /// Adds a poller to the busiest pollers if it has enough reads.
    fn name(&mut self, reads: u64, median: u64, spread: u64, instance: &Instance<CompactString>) {
        let order = (Reverse(reads), median, spread, instance);
        let before = |own: &Poller| (Reverse(own.reads), own.median, own.spread, &own.instance) < order;
        let at = self.busiest.partition_point(before);
        if at < MAX_NAMED {
            self.busiest.truncate(MAX_NAMED - 1);
            self.busiest.insert(at, Poller { reads, median, spread, instance: instance.clone() });
        }
    }

    /// As [`Merge::merge`], by reference.
    pub fn merge_from(&mut self, other: &Self) {
        self.reads += other.reads;
        self.pollers += other.pollers;
        self.alone += other.alone;
        // The two rows may share instances, so the sum would be too high.
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

/// Adds an instance's standalone reads of one target. Returns the request shape of the polling if the instance polls
/// the target.
pub(super) fn add(
    instance: &Instance<CompactString>,
    reads: &[Read],
    roles: &[ReadRole],
    rows: &mut ShapePatterns,
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
        rows.pattern(ask).polling.alone += reads;
    }
    if alone.len() < MIN_READS {
        return None;
    }
    let mut intervals: Vec<u64> =
        alone.windows(2).map(|pair| u64::try_from(pair[1].at - pair[0].at).unwrap_or(0)).collect();
    intervals.sort_unstable();
    let quantile = |quarters: usize| intervals[(intervals.len() - 1) * quarters / 4];
    let (median, spread) = (quantile(2), quantile(3) - quantile(1));
    let usual = usual_ask(&alone);
    let polling = &mut rows.pattern(usual).polling;
    polling.pollers += 1;
    if alone.len() >= MIN_READS_FOR_MEDIAN {
        polling.fastest = Some(polling.fastest.map_or(median, |fastest| fastest.min(median)));
    }
    polling.medians.record(median);
    polling.spreads.record((spread.saturating_mul(100) / median.max(1)).min(MAX_SPREAD_PERCENT));
    for interval in &intervals {
        polling.intervals.record(*interval);
    }
    polling.name(alone.len() as u64, median, spread, instance);
    for (ask, reads) in asks() {
        rows.pattern(ask).polling.reads += reads;
    }
    Some(usual)
}

/// Counts an instance once for each request shape of its polling. `polled` has one shape for each polled target.
pub(super) fn add_instance(mut polled: Vec<u32>, rows: &mut ShapePatterns) {
    polled.sort_unstable();
    for same in polled.chunk_by(|a, b| a == b) {
        let polling = &mut rows.pattern(same[0]).polling;
        polling.instances += 1;
        polling.most_targets = polling.most_targets.max(same.len() as u64);
    }
}

/// The most frequent request shape; among equals the smallest hash, so that the result is deterministic.
fn usual_ask(reads: &[&Read]) -> u32 {
    if reads.iter().all(|read| read.ask == reads[0].ask) {
        return reads[0].ask;
    }
    let mut shapes: Vec<u32> = reads.iter().map(|read| read.ask).collect();
    shapes.sort_unstable();
    let most = shapes.chunk_by(|a, b| a == b).rev().max_by_key(|same| same.len());
    most.map_or(0, |same| same[0])
}
