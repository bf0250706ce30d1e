//! Counts by number, ascending, in four bytes each: as most numbers of a row lie close together and most counts are small,
//! two bytes tell how far a number is from where they begin, and two its count. What does not fit is kept beside them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::sorted::{add_sorted, make_room};

/// How far below the first number that comes others may lie at least: those of a log come nearly in their order.
const BELOW: u32 = 1 << 13;
/// They begin at a multiple of this: those of two rows mostly at the same.
const ALIGNED: u32 = 1 << 12;
/// Where in a packed number its count is.
const COUNT: u32 = (1 << 16) - 1;

/// Numbers, each with a count above 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed {
    /// Distance from `base` in the upper 16 bits, count in the lower.
    near: Vec<u32>,
    base: u32,
    /// Numbers too far from the others, or with too large a count.
    others: BTreeMap<u32, u32>,
}

impl Packed {
    /// Adds to the count of a number.
    pub fn add(&mut self, number: u32, count: u32) {
        if self.near.is_empty() {
            self.base = number.saturating_sub(BELOW) / ALIGNED * ALIGNED;
        } else if number < self.base {
            self.begin_at(number / ALIGNED * ALIGNED);
        }
        match number.checked_sub(self.base).and_then(|distance| u16::try_from(distance).ok()) {
            Some(distance) => self.add_near(number, distance, count),
            None => self.add_other(number, count),
        }
    }

    /// Begins further down, if all still lie near: workers may be days apart.
    fn begin_at(&mut self, base: u32) {
        let down = self.base - base;
        let furthest = self.near.last().map_or(0, |packed| packed >> 16);
        if down.checked_add(furthest).is_some_and(|furthest| u16::try_from(furthest).is_ok()) {
            for packed in &mut self.near {
                *packed += down << 16;
            }
            self.base = base;
        }
    }

    fn add_near(&mut self, number: u32, distance: u16, count: u32) {
        let key = u32::from(distance);
        let at = match self.near.last() {
            Some(last) if last >> 16 == key => Ok(self.near.len() - 1),
            Some(last) if last >> 16 > key => self.near.binary_search_by_key(&key, |packed| packed >> 16),
            _ => Err(self.near.len()),
        };
        let before = at.map_or(0, |at| self.near[at] & COUNT);
        let is_among_others = || self.others.contains_key(&number);
        let sum = before.saturating_add(count);
        match at {
            Ok(at) if sum <= COUNT => self.near[at] = key << 16 | sum,
            Err(at) if sum <= COUNT && !is_among_others() => {
                make_room(&mut self.near);
                self.near.insert(at, key << 16 | sum);
            }
            _ => {
                if let Ok(at) = at {
                    self.near.remove(at);
                }
                self.add_other(number, sum);
            }
        }
    }

    fn add_other(&mut self, number: u32, count: u32) {
        let own = self.others.entry(number).or_default();
        *own = own.saturating_add(count);
    }

    /// Adds the counts of others.
    pub fn add_all(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            return self.clone_from(other);
        }
        if self.base == other.base && self.others.is_empty() && other.others.is_empty() {
            let mut too_large = Vec::new();
            let add = |own: &mut u32, other: &u32| {
                if (*own & COUNT) + (other & COUNT) <= COUNT {
                    *own += other & COUNT;
                } else {
                    too_large.push(*other);
                }
            };
            add_sorted(&mut self.near, &other.near, |packed| packed >> 16, add);
            return too_large
                .into_iter()
                .for_each(|packed| self.add(self.base + (packed >> 16), packed & COUNT));
        }
        let own = std::mem::take(self);
        *self = ascending(own.iter(), other.iter()).collect();
    }

    /// The number with the largest count, and that: of several, the first.
    pub fn largest(&self) -> Option<(u32, u32)> {
        let near = self.near.iter().rev().max_by_key(|packed| *packed & COUNT);
        let near = near.map(|packed| (self.base + (packed >> 16), packed & COUNT));
        let others = self.others.iter().map(|(number, count)| (*number, *count));
        near.into_iter().chain(others).max_by_key(|(number, count)| (*count, Reverse(*number)))
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.near.len() + self.others.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers with their counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let near = self.near.iter().map(|packed| (self.base + (packed >> 16), packed & COUNT));
        ascending(near, self.others.iter().map(|(number, count)| (*number, *count)))
    }
}

/// Two ascending lists as one.
fn ascending(
    one: impl Iterator<Item = (u32, u32)>,
    two: impl Iterator<Item = (u32, u32)>,
) -> impl Iterator<Item = (u32, u32)> {
    let (mut one, mut two) = (one.peekable(), two.peekable());
    std::iter::from_fn(move || match (one.peek(), two.peek()) {
        (Some(own), Some(other)) if own > other => two.next(),
        (None, _) => two.next(),
        _ => one.next(),
    })
}

impl FromIterator<(u32, u32)> for Packed {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(counts: I) -> Self {
        let mut packed = Self::default();
        counts.into_iter().for_each(|(number, count)| packed.add(number, count));
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> impl Strategy<Value = Vec<(u32, u32)>> {
        let number = prop_oneof![29_000_000_u32..29_000_040, 29_060_000_u32..29_070_000, any::<u32>()];
        let count = prop_oneof![1_u32..9, 65_530_u32..65_540, Just(u32::MAX)];
        prop::collection::vec((number, count), 0..60)
    }

    fn naive(counts: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut naive: BTreeMap<u32, u32> = BTreeMap::new();
        for (number, count) in counts {
            let own = naive.entry(*number).or_default();
            *own = own.saturating_add(*count);
        }
        naive.into_iter().collect()
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_map(one in counts(), two in counts()) {
            let (mut packed, other): (Packed, Packed) =
                (one.iter().copied().collect(), two.iter().copied().collect());
            let all = naive(&one);
            prop_assert_eq!(packed.len(), all.len());
            let largest = all.iter().copied().max_by_key(|(number, count)| (*count, Reverse(*number)));
            prop_assert_eq!(packed.largest(), largest);
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), all);
            packed.add_all(&other);
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), naive(&[one, two].concat()));
        }
    }

    /// Few of a number each, close together.
    fn near() -> impl Strategy<Value = Vec<(u32, u32)>> {
        let begin = prop_oneof![Just(29_000_000_u32), 29_000_000_u32..29_030_000];
        let counts = |begin| prop::collection::btree_map(begin..begin + 30, 1_u32..40_000, 0..30);
        begin.prop_flat_map(counts).prop_map(|counts| counts.into_iter().collect())
    }

    proptest! {
        #[test]
        fn those_that_lie_close_together_are_added(one in near(), two in near()) {
            let (mut packed, other): (Packed, Packed) =
                (one.iter().copied().collect(), two.iter().copied().collect());
            prop_assert!(packed.others.is_empty());
            packed.add_all(&other);
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), naive(&[one, two].concat()));
        }
    }

    #[test]
    fn what_lies_together_takes_four_bytes() {
        let packed: Packed = (0..1_000).map(|number| (29_500_000 - number, 60_000)).collect();
        assert_eq!((packed.near.len(), packed.others.is_empty()), (1_000, true));
        let backwards: Packed = (0..60_000).map(|number| (29_560_000 - number, 1)).collect();
        assert_eq!((backwards.near.len(), backwards.others.is_empty()), (60_000, true));
    }
}
