//! Counts by number, in few bytes. A number is a window of a timeline, or a bucket of a histogram. Most numbers of a
//! row are close together, and most counts are small. There are two encodings, and a row uses the smaller one. A map
//! stores the counts that do not fit the encoding.

mod dense;
mod pairs;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dense::Dense;
use pairs::Pairs;

/// kubetoll switches to the dense encoding when that encoding takes at most this many bytes for each count. It leaves
/// the dense encoding above `DENSE_TO` bytes for each count. The other encoding takes four bytes. The two limits
/// differ, so that the encoding does not switch back and forth.
const DENSE_FROM: usize = 3;
const DENSE_TO: usize = 6;

/// The count of each number. Counts are above 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed {
    near: Near,
    /// The counts that do not fit the encoding: those above `u16::MAX`, and those of numbers that are too far from
    /// the others.
    #[expect(clippy::box_collection, reason = "most have none, and each row has several that have none")]
    others: Option<Box<BTreeMap<u32, u64>>>,
}

#[derive(Debug, Clone)]
enum Near {
    Pairs(Pairs),
    Dense(Dense),
}

impl Default for Near {
    fn default() -> Self {
        Self::Pairs(Pairs::default())
    }
}

impl Near {
    /// Adds `count` to the count of a number. If the result does not fit the encoding, returns the count that the
    /// caller must store in `others`.
    fn add(&mut self, number: u32, count: u64) -> Option<u64> {
        match self {
            Self::Pairs(pairs) => pairs.add(number, count),
            Self::Dense(dense) => dense.add(number, count),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Pairs(pairs) => pairs.len(),
            Self::Dense(dense) => dense.len(),
        }
    }

    fn largest(&self) -> Option<(u32, u64)> {
        match self {
            Self::Pairs(pairs) => pairs.largest(),
            Self::Dense(dense) => dense.largest(),
        }
    }

    fn counts(&self) -> Vec<(u32, u64)> {
        let mut counts = Vec::with_capacity(self.len());
        match self {
            Self::Pairs(pairs) => counts.extend(pairs.iter()),
            Self::Dense(dense) => counts.extend(dense.iter()),
        }
        counts
    }
}

impl Packed {
    pub(crate) fn add(&mut self, number: u32, count: u64) {
        let is_added = match &mut self.near {
            Near::Pairs(pairs) => pairs.add_to_own(number, count),
            Near::Dense(dense) => dense.add_to_own(number, count),
        };
        if !is_added && count > 0 {
            self.add_another(number, count);
        }
    }

    fn add_another(&mut self, number: u32, count: u64) {
        if let Some(own) = self.others.as_mut().and_then(|others| others.get_mut(&number)) {
            *own = own.saturating_add(count);
            return;
        }
        if let Near::Dense(dense) = &self.near
            && dense.bytes_with(number, count) > DENSE_TO * (dense.len() + 1)
        {
            self.become_other(Near::default());
            // The change of the encoding may have moved the number to `others`.
            return self.add(number, count);
        }
        let before = self.near.len();
        self.put(number, count);
        if let Near::Pairs(pairs) = &self.near
            && pairs.len() > before
            && pairs.are_full()
            && let (Some((first, last)), Some((_, largest))) = (pairs.span(), pairs.largest())
            && dense::bytes((last - first) as usize + 1, largest) <= DENSE_FROM * pairs.len()
        {
            self.become_other(Near::Dense(Dense::from(first)));
        }
    }

    fn become_other(&mut self, near: Near) {
        for (number, count) in std::mem::replace(&mut self.near, near).counts() {
            self.put(number, count);
        }
    }

    fn put(&mut self, number: u32, count: u64) {
        if let Some(count) = self.near.add(number, count) {
            let own = self.others.get_or_insert_default().entry(number).or_default();
            *own = own.saturating_add(count);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        if self.is_empty() {
            return self.clone_from(other);
        }
        if let (Near::Pairs(own), Near::Pairs(others)) = (&mut self.near, &other.near)
            && own.begin_alike(others)
            && self.others.is_none()
            && other.others.is_none()
        {
            for (number, count) in own.add_all(others) {
                self.add(number, count);
            }
            return;
        }
        if self.len() < other.len() {
            let own = std::mem::replace(self, other.clone());
            return self.add_all(&own);
        }
        for (number, count) in other.counts() {
            self.add(number, count);
        }
    }

    /// Frees spare memory. Call it after the last addition.
    pub(crate) fn shrink(&mut self) {
        match &mut self.near {
            Near::Pairs(pairs) => pairs.shrink(),
            Near::Dense(dense) => dense.shrink(),
        }
    }

    /// The number with the largest count, and this count. If several numbers have the largest count, returns the
    /// first of them.
    pub(crate) fn largest(&self) -> Option<(u32, u64)> {
        let others = self.others.iter().flat_map(|others| others.iter());
        let others = others.map(|(number, count)| (*number, *count));
        self.near.largest().into_iter().chain(others).max_by_key(|(number, count)| (*count, Reverse(*number)))
    }

    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.others.as_ref().map_or(0, |others| others.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers with their counts, in ascending order.
    pub(crate) fn counts(&self) -> Vec<(u32, u64)> {
        let mut counts = self.near.counts();
        if let Some(others) = &self.others {
            counts.extend(others.iter().map(|(number, count)| (*number, *count)));
            counts.sort_unstable();
        }
        counts
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

    proptest! {
        #[test]
        fn packed_counts_match_a_map(one in counts(), two in counts()) {
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

    /// Numbers that are close together, with small counts.
    fn near() -> impl Strategy<Value = Vec<(u32, u64)>> {
        let begin = prop_oneof![Just(29_000_000_u32), 29_000_000_u32..29_030_000];
        let counts = |begin| prop::collection::btree_map(begin..begin + 30, 1_u64..40_000, 0..30);
        begin.prop_flat_map(counts).prop_map(|counts| counts.into_iter().collect())
    }

    proptest! {
        #[test]
        fn close_numbers_are_merged(one in near(), two in near()) {
            let (mut packed, other): (Packed, Packed) =
                (one.iter().copied().collect(), two.iter().copied().collect());
            prop_assert!(packed.others.is_none());
            packed.add_all(&other);
            prop_assert_eq!(packed.counts(), naive(&[one, two].concat()));
        }
    }

    fn form(packed: &Packed) -> (&str, usize, bool) {
        match &packed.near {
            Near::Pairs(pairs) => ("pairs", pairs.len(), packed.others.is_none()),
            Near::Dense(dense) => ("dense", dense.len(), packed.others.is_none()),
        }
    }

    #[test]
    fn smaller_encoding_is_chosen() {
        let packed =
            |far: u32, count: u64| (0..1_000).map(|n| (29_500_000 - far * n, count)).collect::<Packed>();
        assert_eq!(form(&packed(1, 60_000)), ("dense", 1_000, true));
        assert_eq!(form(&packed(2, 200)), ("dense", 1_000, true));
        assert_eq!(form(&packed(2, 60_000)), ("pairs", 1_000, true));
        assert_eq!(form(&packed(50, 1)), ("pairs", 1_000, true));
    }

    #[test]
    fn counts_stay_exact_when_the_encoding_changes() {
        let steps = [(30_000, 3), (4_000, 6), (3_000, 12)];
        let steps = steps.into_iter().flat_map(|(numbers, step)| std::iter::repeat_n(step, numbers));
        let numbers = steps.scan(0_u32, |number, step| {
            *number += step;
            Some((*number, 1))
        });
        let mut counts: Vec<(u32, u64)> = numbers.collect();
        counts.extend(counts.iter().step_by(1_000).map(|(number, _)| (*number, 300)).collect::<Vec<_>>());
        for _ in 0..2 {
            let packed: Packed = counts.iter().copied().collect();
            assert_eq!(packed.counts(), naive(&counts));
            counts.reverse();
        }
    }

    #[test]
    fn a_distant_number_does_not_grow_the_encoding() {
        let mut packed: Packed = (0..1_000).map(|n| (29_500_000 + n, 1)).collect();
        packed.add(29_540_000, 1);
        assert_eq!(form(&packed), ("pairs", 1_001, true));
        packed.add(0, 1);
        assert_eq!(packed.counts().first(), Some(&(0, 1)));
        assert_eq!(form(&packed), ("pairs", 1_001, false));
    }
}
