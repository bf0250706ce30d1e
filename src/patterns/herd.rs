//! Herds: many instances of one client that send the same LIST within seconds. Causes are a rollout, a restart of the
//! apiserver or network, or synchronized timers.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::pattern::{Herd, ListCost, ShapePatterns};
use super::time::SECOND;
use crate::ledger::instance_histories::{HistoryEntry, RequestKind, ResponseClass};

const MIN_INSTANCES: u64 = 10;
/// How far a herd exceeds the usual number of LISTs:
/// - Each second of a herd has at least two LISTs. It also has more than this many times the LISTs of an ordinary
///   second (see [`AROUND`]).
/// - The mean rate of the whole herd is at least this many times the mean rate around the herd.
const TIMES_ORDINARY: u64 = 4;
/// How long before and after a second kubetoll looks for the usual number of LISTs, in seconds. It counts the LISTs
/// in each second of this window. The third quartile of these counts is the number of LISTs in an ordinary second. So
/// a high rate that lasts for more than a quarter of the window is ordinary, not a herd.
const AROUND: i64 = 120;
/// The maximum distance between successive seconds of a herd, in seconds.
const MAX_GAP: i64 = 2;
/// The maximum number of times that an instance of a herd lists a collection, on average. An instance that lists more
/// often polls.
const MAX_LISTS_EACH: u64 = 3;
/// A LIST within this time after a failed LIST is a retry. In microseconds.
const RETRY: i64 = 10 * SECOND;
/// One LIST: receive time in microseconds since 1970, index of the instance, hash of the target.
type ListAt = (i64, u32, u32);

/// The LISTs of a client's product, by request shape.
#[derive(Debug, Default)]
pub(super) struct ListsByShape(HashMap<u32, Vec<ListAt>, FxBuildHasher>);

impl ListsByShape {
    /// Adds the LISTs of one instance. A failed LIST and its retries count once.
    pub(super) fn add(&mut self, instance: u32, entries: &[HistoryEntry]) {
        let mut failed: HashMap<(u32, u32), i64, FxBuildHasher> = HashMap::default();
        for entry in entries.iter().filter(|entry| entry.kind() == RequestKind::List) {
            let (at, of) = (entry.at(), (entry.shape, entry.target));
            let is_again = failed.get(&of).is_some_and(|before| at - before <= RETRY);
            if entry.response() == ResponseClass::Served {
                failed.remove(&of);
            } else {
                failed.insert(of, entry.end());
            }
            if !is_again {
                self.0.entry(entry.shape).or_default().push((at, instance, entry.target));
            }
        }
    }

    pub(super) fn add_herds(self, rows: &mut ShapePatterns) {
        for (shape, mut reads) in self.0 {
            for herd in herds(&mut reads) {
                rows.pattern(shape).herds.add(herd);
            }
        }
    }
}

fn second(read: &ListAt) -> i64 {
    read.0.div_euclid(SECOND)
}

/// Finds the herds in LISTs of one request shape.
fn herds(reads: &mut [ListAt]) -> Vec<Herd> {
    if (reads.len() as u64) < MIN_INSTANCES {
        return Vec::new();
    }
    reads.sort_unstable();
    let seconds: Vec<&[ListAt]> = reads.chunk_by(|a, b| second(a) == second(b)).collect();
    let counts: Vec<(i64, u64)> =
        seconds.iter().map(|reads| (second(&reads[0]), reads.len() as u64)).collect();
    let ordinary = ordinary(&counts);
    let dense: Vec<usize> =
        (0..seconds.len()).filter(|at| counts[*at].1 > (TIMES_ORDINARY * ordinary[*at]).max(1)).collect();
    dense
        .chunk_by(|a, b| counts[*b].0 - counts[*a].0 <= MAX_GAP)
        .filter_map(|dense| {
            let (first, last) = (dense[0], dense[dense.len() - 1]);
            let reads: Vec<ListAt> = dense.iter().flat_map(|at| seconds[*at].iter().copied()).collect();
            let herd = herd(&reads)?;
            stands_out(&counts, first, last, herd.requests).then_some(herd)
        })
        .collect()
}

/// Creates a herd from LISTs. Returns `None` if there are too few instances, or if they list each collection too often.
fn herd(reads: &[ListAt]) -> Option<Herd> {
    let distinct = |mut of: Vec<(u32, u32)>| {
        of.sort_unstable();
        of.dedup();
        of.len() as u64
    };
    let instances = distinct(reads.iter().map(|(_, instance, _)| (*instance, 0)).collect());
    let lists = distinct(reads.iter().map(|(_, instance, target)| (*instance, *target)).collect());
    let requests = reads.len() as u64;
    let (from, to) = (reads[0].0, reads[reads.len() - 1].0);
    (instances >= MIN_INSTANCES && requests <= MAX_LISTS_EACH * lists).then_some(Herd {
        instances,
        requests,
        from,
        to,
        cost: ListCost::default(),
    })
}

/// Whether the seconds from `first` to `last` have a far higher rate of LISTs than the seconds around them.
fn stands_out(counts: &[(i64, u64)], first: usize, last: usize, requests: u64) -> bool {
    let (from, to) = (counts[first].0, counts[last].0);
    let sum = |counts: &[(i64, u64)]| counts.iter().map(|(_, count)| count).sum::<u64>();
    let before = counts.partition_point(|(second, _)| *second < from - AROUND);
    let after = counts.partition_point(|(second, _)| *second <= to + AROUND);
    let around = sum(&counts[before..first]) + sum(&counts[last + 1..after]);
    let length = u64::try_from(to - from + 1).unwrap_or(1);
    requests * 2 * u64::try_from(AROUND).unwrap_or(1) >= TIMES_ORDINARY * around * length
}

/// For each second with LISTs, the number of LISTs in an ordinary second around it (third quartile).
fn ordinary(counts: &[(i64, u64)]) -> Vec<u64> {
    let all = usize::try_from(2 * AROUND + 1).unwrap_or(1);
    let mut around = SlidingCounts::default();
    let (mut from, mut to) = (0, 0);
    counts
        .iter()
        .map(|(second, _)| {
            while to < counts.len() && counts[to].0 <= second + AROUND {
                around.add(counts[to].1);
                to += 1;
            }
            while counts[from].0 < second - AROUND {
                around.remove(counts[from].1);
                from += 1;
            }
            around.at_rank(all * 3 / 4, all - (to - from))
        })
        .collect()
}

/// The counts in a sliding window: each count, and how often it occurs.
#[derive(Debug, Default)]
struct SlidingCounts(BTreeMap<u64, usize>);

impl SlidingCounts {
    fn add(&mut self, count: u64) {
        *self.0.entry(count).or_default() += 1;
    }

    fn remove(&mut self, count: u64) {
        if let Some(own) = self.0.get_mut(&count) {
            *own -= 1;
            if *own == 0 {
                self.0.remove(&count);
            }
        }
    }

    /// Sorts the counts of the window in ascending order and returns the count at index `rank`. The window also
    /// contains `zeros` counts of 0, which are not stored.
    fn at_rank(&self, rank: usize, zeros: usize) -> u64 {
        let mut counted = zeros;
        for (count, times) in &self.0 {
            if counted > rank {
                break;
            }
            counted += times;
            if counted > rank {
                return *count;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The LISTs of a simultaneous start. Each instance sends one LIST, `step` microseconds after the LIST before.
    fn start(instances: u32, step: i64) -> Vec<ListAt> {
        (0..instances).map(|instance| (i64::from(instance) * step, instance, 0)).collect()
    }

    #[test]
    fn a_start_of_many_instances_is_a_herd() {
        for step in [0, 10_000, 100_000] {
            let found_herds = herds(&mut start(200, step));
            assert_eq!(found_herds.iter().map(|herd| herd.instances).collect::<Vec<u64>>(), [200], "{step}");
        }
        assert_eq!(herds(&mut start(4_000, 12_500)).len(), 1, "over 50 seconds");
    }

    #[test]
    fn an_even_rate_or_few_instances_are_no_herd() {
        assert_eq!(herds(&mut start(1_000, 500_000)), []);
        assert_eq!(herds(&mut start(1_000, 100_000)), [], "over 100 seconds");
        assert_eq!(herds(&mut start(9, 1_000)), []);
    }

    #[test]
    fn an_ordinary_rate_depends_on_the_seconds_around() {
        // LISTs at an even rate, the same LISTs an hour later, and one LIST years later.
        let mut reads = start(1_200, 300_000);
        let later: Vec<ListAt> =
            reads.iter().map(|(at, instance, of)| (at + 3_600 * SECOND, *instance, *of)).collect();
        reads.extend(later);
        reads.push((400_000_000 * SECOND, 1, 0));
        assert_eq!(herds(&mut reads.clone()), []);
        reads.extend((0..50).map(|instance| (200 * SECOND + i64::from(instance), 5_000 + instance, 0)));
        assert_eq!(herds(&mut reads).len(), 1);
    }

    #[test]
    fn several_namespaces_and_retries_are_one_herd() {
        let mut reads = Vec::new();
        for target in 0..5 {
            reads.extend(
                (0..200).map(|instance| (i64::from(instance) * 5_000 + i64::from(target), instance, target)),
            );
        }
        let found_herds = herds(&mut reads);
        assert_eq!((found_herds.len(), found_herds[0].instances, found_herds[0].requests), (1, 200, 1_000));
        let entry = |at: i64, response| {
            HistoryEntry::made_up(at * SECOND, RequestKind::List, response, (7, 1), 0, 10)
        };
        let tries: Vec<HistoryEntry> = (0..5)
            .map(|at| entry(at, ResponseClass::Refused))
            .chain([entry(5, ResponseClass::Served)])
            .collect();
        let mut reads = ListsByShape::default();
        reads.add(0, &tries);
        assert_eq!(reads.0[&1].len(), 1);
    }
}
