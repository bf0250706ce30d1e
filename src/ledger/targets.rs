//! Counts the distinct targets of a row, and the requests for the busiest target. A target is a path with its field
//! selector. A row stores no object names, so a hash identifies a target.
//!
//! A row counts up to 64 targets exactly. Above that, it counts only a sample: targets whose hash begins with enough
//! zeros (adaptive sampling: M. Wegman; P. Flajolet, "On adaptive sampling", 1990). It then also counts the requests
//! for all targets in two tables of cells. Several targets may share a cell. A target with far more requests than
//! others is visible in these tables (as in G. Cormode, S. Muthukrishnan, "An improved data stream summary: the
//! count-min sketch", 2005). The sample depends only on the set of targets, and cells are sums. So neither the order
//! of the requests nor their split among workers affects the result.

use smallvec::SmallVec;

use super::Merge;

/// The maximum number of targets that a row counts individually.
const MAX_COUNTED: usize = 64;
/// The number of cells in a table. It must be a power of two.
const CELLS: usize = 128;

type Table = [u32; CELLS];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// The targets that are counted individually: hash and number of requests, sorted by hash. Most rows have few
    /// targets, which need no allocation.
    counted: SmallVec<[(u32, u32); 4]>,
    /// The number of leading zeros that a hash must have to be counted individually.
    sampled: u32,
    /// The number of calls to [`Targets::record`]. [`Targets::distinct`] never exceeds it, so clients cannot raise
    /// that estimate by their choice of targets.
    records: u64,
    /// Estimated counts of requests by target. Each of the two tables is indexed by another part of the target's
    /// hash. `None` while all targets are counted individually.
    cells: Option<Box<[Table; 2]>>,
}

impl Targets {
    /// Counts requests for a target. Returns true unless the target was already counted individually.
    pub(crate) fn record(&mut self, hash: u64, requests: u32) -> bool {
        self.records += 1;
        self.add(Self::key(hash), requests)
    }

    /// The part of a target's hash that a row stores: the upper half, because its bits are mixed better.
    pub(super) fn key(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    /// Iterates over the individually counted targets: hash, and number of requests.
    pub(super) fn counted(&self) -> impl Iterator<Item = (u32, u32)> {
        self.counted.iter().copied()
    }

    fn add(&mut self, hash: u32, requests: u32) -> bool {
        if let Some(cells) = &mut self.cells {
            fill(cells, hash, requests);
        }
        self.count(hash, requests)
    }

    fn count(&mut self, hash: u32, requests: u32) -> bool {
        if hash.leading_zeros() < self.sampled {
            return true;
        }
        if let Ok(at) = self.counted.binary_search_by_key(&hash, |(own, _)| *own) {
            self.counted[at].1 = self.counted[at].1.saturating_add(requests);
            return false;
        }
        self.count_another(hash, requests);
        true
    }

    /// Counts a new target individually, if its hash has enough leading zeros for the sample.
    fn count_another(&mut self, hash: u32, requests: u32) {
        if self.counted.len() == MAX_COUNTED && self.cells.is_none() {
            fill(self.sum_up(), hash, requests);
        }
        while self.counted.len() == MAX_COUNTED && hash.leading_zeros() >= self.sampled {
            self.sample(self.sampled + 1);
        }
        if hash.leading_zeros() >= self.sampled {
            if self.counted.len() == self.counted.capacity() {
                let more = (self.counted.len() / 2).min(MAX_COUNTED - self.counted.len());
                self.counted.reserve_exact(more);
            }
            let at = self.counted.partition_point(|(own, _)| *own < hash);
            self.counted.insert(at, (hash, requests));
        }
    }

    /// Returns the tables. If there are none yet, creates them from the counted targets. Before that, the row counts
    /// all targets individually, so the tables are complete.
    fn sum_up(&mut self) -> &mut [Table; 2] {
        let counted = &self.counted;
        self.cells.get_or_insert_with(|| {
            let mut cells = Box::new([[0; CELLS]; 2]);
            for (hash, requests) in counted {
                fill(&mut cells, *hash, *requests);
            }
            cells
        })
    }

    fn sample(&mut self, sampled: u32) {
        self.sampled = sampled;
        self.counted.retain(|(hash, _)| hash.leading_zeros() >= sampled);
    }

    /// The number of distinct targets. Above 64, it is an estimate.
    #[must_use]
    pub(crate) fn distinct(&self) -> u64 {
        ((self.counted.len() as u64) << self.sampled).min(self.records)
    }

    /// Returns the number of targets that occur in both rows, and the number of requests for them in `other`. Both
    /// numbers are estimates if either row counts a sample.
    #[must_use]
    pub(crate) fn shared_with(&self, other: &Self) -> (u64, u64) {
        let sampled = self.sampled.max(other.sampled);
        let in_sample = self.counted.iter().filter(|(hash, _)| hash.leading_zeros() >= sampled);
        let shared = in_sample.filter_map(|(hash, _)| {
            let at = other.counted.binary_search_by_key(hash, |(own, _)| *own).ok()?;
            Some(u64::from(other.counted[at].1))
        });
        let (targets, requests) =
            shared.fold((0, 0), |(targets, sum), requests| (targets + 1, sum + requests));
        (targets << sampled, requests << sampled)
    }

    /// The number of requests for a target. An upper bound if not all targets are counted individually.
    #[must_use]
    pub(crate) fn requests_for(&self, hash: u64) -> u64 {
        let hash = Self::key(hash);
        if let Ok(at) = self.counted.binary_search_by_key(&hash, |(own, _)| *own) {
            return u64::from(self.counted[at].1);
        }
        let cells = self.cells.as_ref();
        u64::from(cells.map_or(0, |cells| {
            places(hash).zip(cells.iter()).map(|(at, table)| table[at]).min().unwrap_or(0)
        }))
    }

    /// The number of requests for the busiest target. If one target has far more requests than others, this is an
    /// estimate: the count of its cell minus the mean of the other cells. The result is never less than the count of
    /// the busiest individually counted target.
    #[must_use]
    pub(crate) fn busiest(&self) -> u64 {
        let counted = self.counted.iter().map(|(_, requests)| *requests).max().unwrap_or(0);
        let distinct = self.distinct();
        let excess = |table: &Table| outstanding(table, distinct);
        let outstanding = self.cells.as_ref().map_or(0, |cells| excess(&cells[0]).min(excess(&cells[1])));
        u64::from(counted.max(outstanding))
    }
}

fn fill(cells: &mut [Table; 2], hash: u32, requests: u32) {
    for (table, at) in cells.iter_mut().zip(places(hash)) {
        table[at] = table[at].saturating_add(requests);
    }
}

/// The cell of a target in each table. The sample uses the highest bits of the hash, so the cells use lower bits.
fn places(hash: u32) -> impl Iterator<Item = usize> {
    [hash, hash.wrapping_mul(0x9e37_79b1) >> 16].into_iter().map(|bits| bits as usize % CELLS)
}

/// Returns the requests of the fullest cell minus the mean of the other cells. Returns 0 if the fullest cell is not
/// above a bound, because chance can then explain the difference. The bound is the mean of the other cells, plus four
/// standard deviations, plus the requests for four targets. It is computed as if all targets had the same number of
/// requests.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are below 2^52, and the result is between 0 and the largest cell"
)]
fn outstanding(table: &Table, distinct: u64) -> u32 {
    let fullest = table.iter().copied().max().unwrap_or(0);
    let all: u64 = table.iter().map(|cell| u64::from(*cell)).sum();
    let of_one = (all - u64::from(fullest)) as f64 / distinct.max(1) as f64;
    let in_a_cell = distinct as f64 / CELLS as f64;
    let by_chance = of_one * (in_a_cell + 4.0 * in_a_cell.sqrt() + 4.0);
    if f64::from(fullest) > by_chance { (f64::from(fullest) - of_one * in_a_cell).max(0.0) as u32 } else { 0 }
}

impl Merge for Targets {
    fn merge(&mut self, other: Self) {
        self.records += other.records;
        match other.cells {
            // The cells of `other` include its individually counted targets.
            Some(cells) => {
                let own = self.sum_up();
                for (own, other) in own.iter_mut().flatten().zip(cells.iter().flatten()) {
                    *own = own.saturating_add(*other);
                }
                if other.sampled > self.sampled {
                    self.sample(other.sampled);
                }
                other.counted.into_iter().for_each(|(hash, requests)| _ = self.count(hash, requests));
            }
            None => other.counted.into_iter().for_each(|(hash, requests)| _ = self.add(hash, requests)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::stable_hash;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn targets(names: &[u16]) -> Targets {
        let mut targets = Targets::default();
        for name in names {
            targets.record(stable_hash(&name.to_string()), 1);
        }
        targets
    }

    proptest! {
        #[test]
        fn targets_are_independent_of_order_and_split(
            names in prop::collection::vec(0_u16..400, 0..600),
            cut in 0_usize..600,
        ) {
            let whole = targets(&names);
            let merged = crate::ledger::merge::merged_parts(&names, cut, targets);
            prop_assert_eq!(&merged, &whole);
        }

        #[test]
        fn few_targets_are_counted_exactly(names in prop::collection::vec(0_u16..60, 1..300)) {
            let mut naive: BTreeMap<u16, u64> = BTreeMap::new();
            for name in &names {
                *naive.entry(*name).or_default() += 1;
            }
            let targets = targets(&names);
            for (name, requests) in &naive {
                prop_assert_eq!(targets.requests_for(stable_hash(&name.to_string())), *requests);
            }
            prop_assert_eq!(targets.distinct(), naive.len() as u64);
            prop_assert_eq!(Some(targets.busiest()), naive.values().copied().max());
            prop_assert!(targets.sampled == 0);
        }
    }

    #[test]
    fn shared_targets_are_counted_with_the_others_requests() {
        let (one, other) = (targets(&[1, 2, 2, 3]), targets(&[2, 3, 3, 3, 4]));
        assert_eq!(one.shared_with(&other), (2, 4));
        assert_eq!(other.shared_with(&one), (2, 3));
        assert_eq!(one.shared_with(&targets(&[7])), (0, 0));
        let many = targets(&(0..2_000).collect::<Vec<u16>>());
        let half = targets(&(1_000..3_000).collect::<Vec<u16>>());
        let (shared, requests) = many.shared_with(&half);
        assert!((500..=2_000).contains(&shared) && shared == requests, "{shared}");
    }

    #[test]
    fn many_targets_are_estimated() {
        let names: Vec<u16> = (0..20_000).collect();
        let targets = targets(&names);
        assert!(targets.sampled > 0);
        let distinct = targets.distinct();
        assert!(distinct.abs_diff(20_000) < 8_000, "{distinct}");
        assert_eq!(targets.busiest(), 1);
    }

    #[test]
    fn busiest_target_among_many_is_found() {
        for others in [100, 300, 1_000, 5_000_u16] {
            let mut names: Vec<u16> = (0..others).collect();
            names.extend(std::iter::repeat_n(7, 9_000));
            let busiest = targets(&names).busiest();
            assert!((8_900..=9_100).contains(&busiest), "{others}: {busiest}");
        }
    }

    #[test]
    fn equal_targets_have_no_outlier() {
        for others in [70, 100, 200, 500, 1_000, 3_000_u16] {
            let names: Vec<u16> = (0..others).flat_map(|name| std::iter::repeat_n(name, 100)).collect();
            assert_eq!(targets(&names).busiest(), 100, "{others}");
        }
    }
}
