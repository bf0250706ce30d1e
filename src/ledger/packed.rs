//! Counts by number, in four bytes each. A number is a window of a timeline, or a bucket of a histogram. Most numbers
//! of a row are close together, and most counts are small. A map stores the other counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The base is this much below the first number that is added. A log is only nearly in time order, and workers may
/// read parts of it that are days apart.
const BELOW: u32 = 1 << 15;
/// The base is a multiple of this. So two rows often have the same base, and their counts can be merged in one pass.
const ALIGNED: u32 = 1 << 12;
/// The bits of the count in a pair.
const COUNT: u32 = (1 << 16) - 1;

/// The count of each number. Counts are above 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed {
    /// Pairs of number and count, in ascending order. The upper 16 bits contain the distance of the number from
    /// `base`, the lower 16 bits the count.
    pairs: Vec<u32>,
    base: u32,
    /// The counts that do not fit a pair: those above `u16::MAX`, and those of numbers that are too far from `base`.
    #[expect(clippy::box_collection, reason = "most have none, and each row has several that have none")]
    others: Option<Box<BTreeMap<u32, u64>>>,
}

impl Packed {
    pub(crate) fn add(&mut self, number: u32, count: u64) {
        if self.pairs.is_empty() {
            self.base = number.saturating_sub(BELOW) / ALIGNED * ALIGNED;
        }
        let Some(Ok(distance)) = number.checked_sub(self.base).map(u16::try_from) else {
            return self.add_other(number, count);
        };
        let key = u32::from(distance) << 16;
        let at = self.place(key);
        let own = at.map_or(0, |at| u64::from(self.pairs[at] & COUNT));
        match (at, u16::try_from(own.saturating_add(count))) {
            (Ok(at), Ok(sum)) => self.pairs[at] = key | u32::from(sum),
            (Ok(at), Err(_)) => {
                self.pairs.remove(at);
                self.add_other(number, own.saturating_add(count));
            }
            (Err(at), Ok(sum @ 1..)) if !self.is_other(number) => {
                make_room(&mut self.pairs);
                self.pairs.insert(at, key | u32::from(sum));
            }
            (Err(_), _) => self.add_other(number, count),
        }
    }

    /// Returns the index of a distance, or the index at which to insert it.
    fn place(&self, key: u32) -> Result<usize, usize> {
        match self.pairs.last() {
            Some(last) if last & !COUNT == key => Ok(self.pairs.len() - 1),
            Some(last) if *last > key => self.pairs.binary_search_by_key(&key, |pair| pair & !COUNT),
            _ => Err(self.pairs.len()),
        }
    }

    fn is_other(&self, number: u32) -> bool {
        self.others.as_ref().is_some_and(|others| others.contains_key(&number))
    }

    fn add_other(&mut self, number: u32, count: u64) {
        if count > 0 {
            let own = self.others.get_or_insert_default().entry(number).or_default();
            *own = own.saturating_add(count);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        if self.is_empty() {
            return self.clone_from(other);
        }
        if self.base != other.base || self.others.is_some() || other.others.is_some() {
            return other.iter().for_each(|(number, count)| self.add(number, count));
        }
        self.pairs.reserve_exact(other.pairs.len());
        self.pairs.extend_from_slice(&other.pairs);
        // The stable sort of the standard library merges two sorted runs in linear time.
        self.pairs.sort_by_key(|pair| pair >> 16);
        let mut too_large = Vec::new();
        self.pairs.dedup_by(|next, own| {
            let is_same = *next & !COUNT == *own & !COUNT;
            if is_same && (*own & COUNT) + (*next & COUNT) <= COUNT {
                *own += *next & COUNT;
            } else if is_same {
                too_large.push(*next);
            }
            is_same
        });
        for pair in too_large {
            self.add(self.base + (pair >> 16), (pair & COUNT).into());
        }
    }

    /// Frees spare memory. Call it after the last addition.
    pub(crate) fn shrink(&mut self) {
        self.pairs.shrink_to_fit();
    }

    /// The number with the largest count, and this count. If several numbers have the largest count, returns the
    /// first of them.
    pub(crate) fn largest(&self) -> Option<(u32, u64)> {
        self.iter().max_by_key(|(number, count)| (*count, Reverse(*number)))
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len() + self.others.as_ref().map_or(0, |others| others.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers with their counts, in ascending order.
    pub(crate) fn counts(&self) -> Vec<(u32, u64)> {
        let mut counts: Vec<(u32, u64)> = self.iter().collect();
        if self.others.is_some() {
            counts.sort_unstable();
        }
        counts
    }

    /// Iterates over the numbers with their counts: first the pairs, then the others.
    fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let pairs = self.pairs.iter().map(|pair| (self.base + (pair >> 16), u64::from(pair & COUNT)));
        pairs.chain(
            self.others.iter().flat_map(|others| others.iter().map(|(number, count)| (*number, *count))),
        )
    }
}

/// Reserves memory for one more item. A large list grows by only a quarter, because there are tens of thousands of
/// these lists.
pub(super) fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().clamp(4, 32).max(list.len() / 4));
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        self.counts() == other.counts()
    }
}

impl Eq for Packed {}

impl FromIterator<(u32, u64)> for Packed {
    fn from_iter<I: IntoIterator<Item = (u32, u64)>>(counts: I) -> Self {
        let mut packed = Self::default();
        counts.into_iter().for_each(|(number, count)| packed.add(number, count));
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> impl Strategy<Value = Vec<(u32, u64)>> {
        let number = prop_oneof![
            9 => 29_000_000_u32..29_000_040,
            1 => 29_060_000_u32..29_070_000,
            1 => any::<u32>()
        ];
        let count =
            prop_oneof![9 => 1_u64..9, 1 => 250..260_u64, 1 => 65_530..65_540_u64, 1 => Just(u64::MAX)];
        prop::collection::vec((number, count), 0..90)
    }

    fn naive(counts: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let mut naive: BTreeMap<u32, u64> = BTreeMap::new();
        for (number, count) in counts {
            let own = naive.entry(*number).or_default();
            *own = own.saturating_add(*count);
        }
        naive.into_iter().collect()
    }

    /// Numbers that are close together, with small counts.
    fn near() -> impl Strategy<Value = Vec<(u32, u64)>> {
        let begin = prop_oneof![Just(29_000_000_u32), 29_000_000_u32..29_030_000];
        let counts = |begin| prop::collection::btree_map(begin..begin + 30, 1_u64..40_000, 0..30);
        begin.prop_flat_map(counts).prop_map(|counts| counts.into_iter().collect())
    }

    proptest! {
        #[test]
        fn packed_counts_match_a_map(
            one in prop_oneof![counts(), near()],
            two in prop_oneof![counts(), near()],
        ) {
            let (mut packed, other): (Packed, Packed) =
                (one.iter().copied().collect(), two.iter().copied().collect());
            let all = naive(&one);
            prop_assert_eq!(packed.len(), all.len());
            let largest = all.iter().copied().max_by_key(|(number, count)| (*count, Reverse(*number)));
            prop_assert_eq!(packed.largest(), largest);
            prop_assert_eq!(packed.counts(), all);
            packed.add_all(&other);
            prop_assert_eq!(packed.counts(), naive(&[one, two].concat()));
        }
    }

    #[test]
    fn counts_that_do_not_fit_a_pair_are_stored_elsewhere() {
        let mut packed: Packed = (0..1_000).map(|n| (29_500_000 - n, 60_000)).collect();
        packed.add(29_520_000, 1);
        assert!(packed.others.is_none());
        packed.add(29_500_000, 60_000);
        packed.add(29_560_000, 1);
        packed.add(0, 0);
        assert_eq!(packed.others, Some(Box::new(BTreeMap::from([(29_500_000, 120_000), (29_560_000, 1)]))));
        assert_eq!(packed.len(), 1_002);
    }
}
