//! Polling: one instance repeats the same read without a watch. This module finds the interval and its regularity.

use compact_str::CompactString;

use super::chain::TargetRead;
use super::informer::ReadRole;
use super::pattern::ShapePatterns;
use crate::ledger::instance_histories::ResponseClass;
use crate::requests::Instance;

/// An instance polls a collection or object if it sends at least this many reads of this target.
const MIN_READS: usize = 3;
/// The minimum number of reads for a meaningful median interval.
const MIN_READS_FOR_MEDIAN: usize = 5;
/// The maximum spread that is recorded, in percent of the median. The median can be 0, so the ratio needs a limit.
const MAX_SPREAD_PERCENT: u64 = 1_000;

/// Adds an instance's standalone reads of one target. Returns the request shape of the polling if the instance polls
/// the target.
pub(super) fn add(
    instance: &Instance<CompactString>,
    reads: &[TargetRead],
    roles: &[ReadRole],
    rows: &mut ShapePatterns,
) -> Option<u32> {
    let alone: Vec<&TargetRead> = reads
        .iter()
        .zip(roles)
        .filter(|(read, role)| {
            **role == ReadRole::Standalone && read.response == ResponseClass::Served && !read.is_headless
        })
        .map(|(read, _)| read)
        .collect();
    let shapes = || alone.chunk_by(|a, b| a.shape == b.shape).map(|same| (same[0].shape, same.len() as u64));
    for (shape, reads) in shapes() {
        rows.pattern(shape).polling.alone += reads;
    }
    if alone.len() < MIN_READS {
        return None;
    }
    let mut intervals: Vec<u64> =
        alone.windows(2).map(|pair| u64::try_from(pair[1].at - pair[0].at).unwrap_or(0)).collect();
    intervals.sort_unstable();
    let quantile = |quarters: usize| intervals[(intervals.len() - 1) * quarters / 4];
    let (median, spread) = (quantile(2), quantile(3) - quantile(1));
    let usual = usual_shape(&alone);
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
    for (shape, reads) in shapes() {
        rows.pattern(shape).polling.reads += reads;
    }
    Some(usual)
}

/// Counts an instance once for each request shape with which it polls. `polled` has one shape for each polled target.
pub(super) fn add_instance(mut polled: Vec<u32>, rows: &mut ShapePatterns) {
    polled.sort_unstable();
    for same in polled.chunk_by(|a, b| a == b) {
        let polling = &mut rows.pattern(same[0]).polling;
        polling.instances += 1;
        polling.most_targets = polling.most_targets.max(same.len() as u64);
    }
}

/// The most frequent request shape. If several shapes are equally frequent, the one with the smallest hash, so that
/// the result is deterministic.
fn usual_shape(reads: &[&TargetRead]) -> u32 {
    if reads.iter().all(|read| read.shape == reads[0].shape) {
        return reads[0].shape;
    }
    let mut shapes: Vec<u32> = reads.iter().map(|read| read.shape).collect();
    shapes.sort_unstable();
    let most = shapes.chunk_by(|a, b| a == b).rev().max_by_key(|same| same.len());
    most.map_or(0, |same| same[0])
}
