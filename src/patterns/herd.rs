//! Many instances of one client that make the same LIST within seconds: after a rollout, after the apiserver or the
//! network came back, or as their timers run in step.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Rows, SECOND};
use crate::ledger::Merge;
use crate::ledger::lives::{Came, Record, What};

/// The least number of instances in a herd.
const FEWEST: u64 = 10;
/// A second belongs to a herd if it has so many times the LISTs of an ordinary one, and two at least.
const TIMES_ORDINARY: u64 = 4;
/// Seconds that are so far apart are of one herd.
const GAP: i64 = 2;
/// An instance takes part in a herd with a few LISTs; what makes more of them is polling.
const MOST_EACH: u64 = 3;
/// A log that is shorter is taken for a part of one with so many seconds, which were silent: else a start that is all
/// that a log holds would be its ordinary state.
const SHORTEST_LOG: i64 = 120;
/// Herds that are told of one by one, of each row.
const TOLD: usize = 32;

/// Many instances at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Herd {
    /// How many.
    pub instances: u64,
    /// Their LISTs.
    pub requests: u64,
    /// The first was received, in microseconds since 1970.
    pub from: i64,
    /// The last was received.
    pub to: i64,
    /// The LISTs that were served.
    pub served: u64,
    /// The LISTs that the server failed (5xx).
    pub failed: u64,
    /// What these two ask for together, as far as that is known.
    pub asks: Asks,
}

/// What LISTs ask for, as far as it is known: where the sizes of objects are not, their number may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asks {
    /// Objects that etcd reads for them.
    pub etcd_objects: Option<u64>,
    /// The bytes of these.
    pub etcd_bytes: Option<u64>,
    /// Objects that the clients can have received at most.
    pub received_objects: Option<u64>,
    /// The bytes of these.
    pub received_bytes: Option<u64>,
    /// They are a mean.
    pub received_is_mean: bool,
}

impl Asks {
    fn and(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            etcd_objects: add(self.etcd_objects, other.etcd_objects),
            etcd_bytes: add(self.etcd_bytes, other.etcd_bytes),
            received_objects: add(self.received_objects, other.received_objects),
            received_bytes: add(self.received_bytes, other.received_bytes),
            received_is_mean: self.received_is_mean || other.received_is_mean,
        }
    }

    fn times(self, requests: u64) -> Self {
        let times = |number: Option<u64>| number.map(|number| number.saturating_mul(requests));
        Self {
            etcd_objects: times(self.etcd_objects),
            etcd_bytes: times(self.etcd_bytes),
            received_objects: times(self.received_objects),
            received_bytes: times(self.received_bytes),
            received_is_mean: self.received_is_mean,
        }
    }
}

/// The herds of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Herds {
    /// How many there were.
    pub count: u64,
    /// LISTs of all herds.
    pub requests: u64,
    /// The greatest, the one with the most instances first.
    pub greatest: Vec<Herd>,
}

impl Herds {
    /// Tells what the herds ask for, of which each LIST asks for so much, if it is served and if the server fails it.
    pub fn price(&mut self, served: Asks, failed: Asks) {
        for herd in &mut self.greatest {
            herd.asks = served.times(herd.served).and(failed.times(herd.failed));
        }
    }

    fn add(&mut self, herd: Herd) {
        self.count += 1;
        self.requests += herd.requests;
        self.keep(herd);
    }

    fn keep(&mut self, herd: Herd) {
        self.greatest.push(herd);
        self.greatest.sort_unstable_by(|a, b| b.cmp(a));
        self.greatest.truncate(TOLD);
    }
}

impl Merge for Herds {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.requests += other.requests;
        other.greatest.into_iter().for_each(|herd| self.keep(herd));
    }
}

/// When a LIST was made, by which instance, and what came of it.
type Read = (i64, u32, Came);

/// The LISTs by row.
#[derive(Debug, Default)]
pub(super) struct Reads(HashMap<u32, Vec<Read>, FxBuildHasher>);

impl Reads {
    pub(super) fn add(&mut self, instance: u32, records: &[Record]) {
        for record in records.iter().filter(|record| record.what() == What::List) {
            self.0.entry(record.shape).or_default().push((record.at(), instance, record.came()));
        }
    }

    /// `seconds` is how long the log is.
    pub(super) fn tell(self, seconds: i64, rows: &mut Rows) {
        for (shape, mut reads) in self.0 {
            for herd in herds(&mut reads, seconds) {
                rows.of(shape).herds.add(herd);
            }
        }
    }
}

/// The herds among LISTs of one shape.
fn herds(reads: &mut [Read], log: i64) -> Vec<Herd> {
    if (reads.len() as u64) < FEWEST {
        return Vec::new();
    }
    reads.sort_unstable();
    let second = |read: &Read| read.0.div_euclid(SECOND);
    let seconds: Vec<&[Read]> = reads.chunk_by(|a, b| second(a) == second(b)).collect();
    let ordinary = ordinary(&seconds, log.max(SHORTEST_LOG));
    let dense: Vec<&[Read]> = seconds
        .into_iter()
        .filter(|reads| reads.len() as u64 > TIMES_ORDINARY * ordinary && reads.len() > 1)
        .collect();
    dense
        .chunk_by(|a, b| second(&b[0]) - second(&a[0]) <= GAP)
        .map(|seconds| {
            let reads: Vec<Read> = seconds.iter().flat_map(|reads| reads.iter().copied()).collect();
            let mut instances: Vec<u32> = reads.iter().map(|(_, instance, _)| *instance).collect();
            instances.sort_unstable();
            instances.dedup();
            let (from, to) = (reads[0].0, reads[reads.len() - 1].0);
            let came = |wanted: Came| reads.iter().filter(|(_, _, came)| *came == wanted).count() as u64;
            Herd {
                instances: instances.len() as u64,
                requests: reads.len() as u64,
                from,
                to,
                served: came(Came::Served),
                failed: came(Came::Failed),
                asks: Asks::default(),
            }
        })
        .filter(|herd| herd.instances >= FEWEST && herd.requests <= MOST_EACH * herd.instances)
        .collect()
}

/// How many LISTs an ordinary second has: the median of all seconds of the log.
fn ordinary(seconds: &[&[Read]], all: i64) -> u64 {
    let all = usize::try_from(all).unwrap_or(usize::MAX);
    let silent = all.saturating_sub(seconds.len());
    let mut counts: Vec<u64> = seconds.iter().map(|reads| reads.len() as u64).collect();
    counts.sort_unstable();
    (all / 2).checked_sub(silent).and_then(|at| counts.get(at)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LISTs of so many instances, one each, `step` microseconds after one another.
    fn start(instances: u32, step: i64) -> Vec<Read> {
        (0..instances).map(|instance| (i64::from(instance) * step, instance, Came::Served)).collect()
    }

    #[test]
    fn a_start_that_is_all_that_a_log_holds_is_a_herd() {
        for step in [0, 10_000, 100_000] {
            let found = herds(&mut start(200, step), 0);
            assert_eq!(found.iter().map(|herd| herd.instances).collect::<Vec<u64>>(), [200], "{step}");
        }
    }

    #[test]
    fn an_even_rate_and_few_instances_are_none() {
        assert_eq!(herds(&mut start(1_000, 500_000), 500), []);
        assert_eq!(herds(&mut start(9, 1_000), 500), []);
    }
}
