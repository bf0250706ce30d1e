//! What the requests of a row are for: how many different targets (paths with their field selector), and how often
//! the one that is asked most. A row holds no object's name, so targets are known by a hash.
//!
//! Up to 64 targets are counted exactly. Of more, those whose hash begins with enough zeros are counted, as many as
//! fit (adaptive sampling: M. Wegman; P. Flajolet, "On adaptive sampling", 1990). Which ones depends on the set of
//! targets alone, so neither order nor split matters, and what is counted of a target is never an estimate.

use super::Merge;

/// How many targets of a row are counted one by one.
const MAX_COUNTED: usize = 64;

/// The targets of one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// Hash and count, ascending.
    counted: Vec<(u32, u32)>,
    /// Only hashes with so many leading zeros are counted.
    sampled: u32,
}

impl Targets {
    /// Counts requests for a target. Tells whether it was not among the counted ones.
    pub fn record(&mut self, hash: u64, requests: u32) -> bool {
        // The upper half is the better mixed one.
        self.add((hash >> 32) as u32, requests)
    }

    fn add(&mut self, hash: u32, requests: u32) -> bool {
        if hash.leading_zeros() < self.sampled {
            return true;
        }
        match self.counted.binary_search_by_key(&hash, |(own, _)| *own) {
            Ok(at) => {
                self.counted[at].1 = self.counted[at].1.saturating_add(requests);
                false
            }
            Err(at) => {
                self.counted.insert(at, (hash, requests));
                while self.counted.len() > MAX_COUNTED {
                    self.sample(self.sampled + 1);
                }
                true
            }
        }
    }

    fn sample(&mut self, sampled: u32) {
        self.sampled = sampled;
        self.counted.retain(|(hash, _)| hash.leading_zeros() >= sampled);
    }

    /// How many different targets there were.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        (self.counted.len() as u64) << self.sampled
    }

    /// Whether [`Targets::distinct`] is an estimate, and [`Targets::busiest`] that of a sample.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.sampled > 0
    }

    /// The requests for the target that was asked most.
    #[must_use]
    pub fn busiest(&self) -> u64 {
        self.counted.iter().map(|(_, requests)| u64::from(*requests)).max().unwrap_or(0)
    }
}

impl Merge for Targets {
    fn merge(&mut self, other: Self) {
        if other.sampled > self.sampled {
            self.sample(other.sampled);
        }
        for (hash, requests) in other.counted {
            self.add(hash, requests);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::bounded::hash_of;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn of(names: &[u16]) -> Targets {
        let mut targets = Targets::default();
        for name in names {
            targets.record(hash_of(&name.to_string()), 1);
        }
        targets
    }

    proptest! {
        #[test]
        fn neither_order_nor_split_matters(
            names in prop::collection::vec(0_u16..400, 0..600),
            cut in 0_usize..600,
        ) {
            let whole = of(&names);
            let (left, right) = names.split_at(cut.min(names.len()));
            let mut merged = of(right);
            merged.merge(of(left));
            prop_assert_eq!(&merged, &whole);
        }

        #[test]
        fn few_are_counted_exactly(names in prop::collection::vec(0_u16..60, 1..300)) {
            let mut naive: BTreeMap<u16, u64> = BTreeMap::new();
            for name in &names {
                *naive.entry(*name).or_default() += 1;
            }
            let targets = of(&names);
            prop_assert_eq!(targets.distinct(), naive.len() as u64);
            prop_assert_eq!(Some(targets.busiest()), naive.values().copied().max());
            prop_assert!(!targets.is_estimate());
        }
    }

    #[test]
    fn many_are_estimated() {
        let names: Vec<u16> = (0..20_000).collect();
        let targets = of(&names);
        assert!(targets.is_estimate());
        let distinct = targets.distinct();
        assert!(distinct.abs_diff(20_000) < 8_000, "{distinct}");
        assert_eq!(targets.busiest(), 1);
    }
}
