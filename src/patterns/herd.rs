//! Many instances of one client that make the same LIST within seconds: after a rollout, after the apiserver or the
//! network came back, or as their timers run in step.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Rows, SECOND};
use crate::ledger::Merge;
use crate::ledger::instance_histories::{HistoryEntry, RequestKind, ResponseClass};

/// The least number of instances in a herd.
const FEWEST: u64 = 10;
/// A second belongs to a herd if it has so many times the LISTs of an ordinary one, and two at least; and a herd has so many
/// times the LISTs that its surroundings would have had in that time.
const TIMES_ORDINARY: u64 = 4;
/// What is ordinary is told by so many seconds before and after: three of four of them have no more. So a herd that lasts
/// a minute or longer is ordinary itself.
const AROUND: i64 = 120;
/// Seconds that are so far apart are of one herd.
const GAP: i64 = 2;
/// An instance takes part in a herd with a few LISTs of one collection; what makes more of them is polling.
const MOST_EACH: u64 = 3;
/// A LIST that comes so soon after one that failed, in microseconds, is the same one again.
const AGAIN: i64 = 10 * SECOND;
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
    /// What they ask for together, as far as that is known.
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
    /// Tells what the herds ask for, of which each LIST asks for so much.
    pub fn price(&mut self, each: Asks) {
        for herd in &mut self.greatest {
            herd.asks = each.times(herd.requests);
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
        self.merge_from(&other);
    }
}

impl Herds {
    /// As [`Merge::merge`], of those that are kept.
    pub fn merge_from(&mut self, other: &Self) {
        self.count += other.count;
        self.requests += other.requests;
        other.greatest.iter().for_each(|herd| self.keep(*herd));
    }
}

/// One LIST: when it was received, in microseconds, the number of the instance, what it is of.
type Read = (i64, u32, u32);

/// When which instance made a LIST, by question.
#[derive(Debug, Default)]
pub(super) struct Reads(HashMap<u32, Vec<Read>, FxBuildHasher>);

impl Reads {
    /// LISTs of one instance. What fails is tried again: it counts as one with what follows at once.
    pub(super) fn add(&mut self, instance: u32, entries: &[HistoryEntry]) {
        let mut failed: HashMap<(u32, u32), i64, FxBuildHasher> = HashMap::default();
        for entry in entries.iter().filter(|entry| entry.kind() == RequestKind::List) {
            let (at, of) = (entry.at(), (entry.ask, entry.target));
            let is_again = failed.get(&of).is_some_and(|before| at - before <= AGAIN);
            if entry.response() == ResponseClass::Served {
                failed.remove(&of);
            } else {
                failed.insert(of, entry.end());
            }
            if !is_again {
                self.0.entry(entry.ask).or_default().push((at, instance, entry.target));
            }
        }
    }

    pub(super) fn tell(self, rows: &mut Rows) {
        for (ask, mut reads) in self.0 {
            for herd in herds(&mut reads) {
                rows.of(ask).herds.add(herd);
            }
        }
    }
}

fn second(read: &Read) -> i64 {
    read.0.div_euclid(SECOND)
}

/// The herds among LISTs of one question.
fn herds(reads: &mut [Read]) -> Vec<Herd> {
    if (reads.len() as u64) < FEWEST {
        return Vec::new();
    }
    reads.sort_unstable();
    let seconds: Vec<&[Read]> = reads.chunk_by(|a, b| second(a) == second(b)).collect();
    let counts: Vec<(i64, u64)> =
        seconds.iter().map(|reads| (second(&reads[0]), reads.len() as u64)).collect();
    let ordinary = ordinary(&counts);
    let dense: Vec<usize> =
        (0..seconds.len()).filter(|at| counts[*at].1 > (TIMES_ORDINARY * ordinary[*at]).max(1)).collect();
    dense
        .chunk_by(|a, b| counts[*b].0 - counts[*a].0 <= GAP)
        .filter_map(|dense| {
            let (first, last) = (dense[0], dense[dense.len() - 1]);
            let reads: Vec<Read> = dense.iter().flat_map(|at| seconds[*at].iter().copied()).collect();
            let herd = herd(&reads)?;
            let length = counts[last].0 - counts[first].0 + 1;
            stands_out(&counts, first, last, length, herd.requests).then_some(herd)
        })
        .collect()
}

/// LISTs as a herd, if enough instances made them, and each only a few of one collection.
fn herd(reads: &[Read]) -> Option<Herd> {
    let distinct = |mut of: Vec<(u32, u32)>| {
        of.sort_unstable();
        of.dedup();
        of.len() as u64
    };
    let instances = distinct(reads.iter().map(|(_, instance, _)| (*instance, 0)).collect());
    let lists = distinct(reads.iter().map(|(_, instance, target)| (*instance, *target)).collect());
    let requests = reads.len() as u64;
    let (from, to) = (reads[0].0, reads[reads.len() - 1].0);
    (instances >= FEWEST && requests <= MOST_EACH * lists).then_some(Herd {
        instances,
        requests,
        from,
        to,
        asks: Asks::default(),
    })
}

/// Whether seconds from one to another have far more LISTs than those around them.
fn stands_out(counts: &[(i64, u64)], first: usize, last: usize, length: i64, requests: u64) -> bool {
    let (from, to) = (counts[first].0, counts[last].0);
    let sum = |counts: &[(i64, u64)]| counts.iter().map(|(_, count)| count).sum::<u64>();
    let before = counts.partition_point(|(second, _)| *second < from - AROUND);
    let after = counts.partition_point(|(second, _)| *second <= to + AROUND);
    let around = sum(&counts[before..first]) + sum(&counts[last + 1..after]);
    let length = u64::try_from(length).unwrap_or(1);
    requests * 2 * u64::try_from(AROUND).unwrap_or(1) >= TIMES_ORDINARY * around * length
}

/// For each second with LISTs, how many an ordinary one around it has: three of four have no more.
fn ordinary(counts: &[(i64, u64)]) -> Vec<u64> {
    let all = usize::try_from(2 * AROUND + 1).unwrap_or(1);
    let mut around = Sliding::default();
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

/// Counts that come and go, by size.
#[derive(Debug, Default)]
struct Sliding(BTreeMap<u64, usize>);

impl Sliding {
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

    /// The count of that rank, the least first, where so many more are zero.
    fn at_rank(&self, rank: usize, zeros: usize) -> u64 {
        let mut seen = zeros;
        for (count, times) in &self.0 {
            if seen > rank {
                break;
            }
            seen += times;
            if seen > rank {
                return *count;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LISTs of so many instances, one each, `step` microseconds after one another.
    fn start(instances: u32, step: i64) -> Vec<Read> {
        (0..instances).map(|instance| (i64::from(instance) * step, instance, 0)).collect()
    }

    #[test]
    fn a_start_that_is_all_that_a_log_holds_is_a_herd() {
        for step in [0, 10_000, 100_000] {
            let found = herds(&mut start(200, step));
            assert_eq!(found.iter().map(|herd| herd.instances).collect::<Vec<u64>>(), [200], "{step}");
        }
        assert_eq!(herds(&mut start(4_000, 12_500)).len(), 1, "over 50 seconds");
    }

    #[test]
    fn an_even_rate_and_few_instances_are_none() {
        assert_eq!(herds(&mut start(1_000, 500_000)), []);
        assert_eq!(herds(&mut start(1_000, 100_000)), [], "over 100 seconds");
        assert_eq!(herds(&mut start(9, 1_000)), []);
    }

    #[test]
    fn what_is_ordinary_is_what_is_around() {
        // An even fleet, an hour later the same, and an event of another year.
        let mut reads = start(1_200, 300_000);
        let later: Vec<Read> = reads.iter().map(|(at, who, of)| (at + 3_600 * SECOND, *who, *of)).collect();
        reads.extend(later);
        reads.push((400_000_000 * SECOND, 1, 0));
        assert_eq!(herds(&mut reads.clone()), []);
        reads.extend((0..50).map(|who| (200 * SECOND + i64::from(who), 5_000 + who, 0)));
        assert_eq!(herds(&mut reads).len(), 1);
    }

    #[test]
    fn several_namespaces_and_tries_again_are_one_start() {
        let mut reads = Vec::new();
        for target in 0..5 {
            reads.extend((0..200).map(|who| (i64::from(who) * 5_000 + i64::from(target), who, target)));
        }
        let found = herds(&mut reads);
        assert_eq!((found.len(), found[0].instances, found[0].requests), (1, 200, 1_000));
        let entry = |at: i64, response| {
            HistoryEntry::made_up(at * SECOND, RequestKind::List, response, (7, 1), 0, 10)
        };
        let tries: Vec<HistoryEntry> = (0..5)
            .map(|at| entry(at, ResponseClass::Refused))
            .chain([entry(5, ResponseClass::Served)])
            .collect();
        let mut reads = Reads::default();
        reads.add(0, &tries);
        assert_eq!(reads.0[&1].len(), 1);
    }
}
