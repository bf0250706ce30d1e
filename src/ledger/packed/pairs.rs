//! Counts by number, for numbers with large gaps between them. Each count takes four bytes: two for the distance of
//! its number from a base, and two for the count.

use crate::ledger::sorted::{add_sorted, make_room};

/// The base is at least this much below the first number that is added. A log is only nearly in time order, so a
/// later number can be somewhat smaller than the first one.
const BELOW: u32 = 1 << 13;
/// The base is a multiple of this. So two rows often have the same base, and their counts can be merged in one pass.
const ALIGNED: u32 = 1 << 12;
/// The bits of the count in a pair.
const COUNT: u32 = (1 << 16) - 1;

/// Pairs of number and count, in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    /// The upper 16 bits contain the distance from `base`, the lower 16 bits the count.
    pairs: Vec<u32>,
    base: u32,
}

impl Pairs {
    /// Adds `count` to the count of a number that already has one. Returns false if the number has no count yet, or
    /// if the sum does not fit.
    pub(crate) fn add_to_own(&mut self, number: u32, count: u64) -> bool {
        let place = number.checked_sub(self.base).and_then(|distance| self.place(distance).ok());
        let Some(pair) = place.map(|at| &mut self.pairs[at]) else { return false };
        let Ok(sum) = u16::try_from(u64::from(*pair & COUNT).saturating_add(count)) else { return false };
        *pair = *pair & !COUNT | u32::from(sum);
        true
    }

    /// Returns the index of a distance, or the index at which to insert it.
    fn place(&self, distance: u32) -> Result<usize, usize> {
        match self.pairs.last() {
            Some(last) if last >> 16 == distance => Ok(self.pairs.len() - 1),
            Some(last) if last >> 16 > distance => {
                self.pairs.binary_search_by_key(&distance, |pair| pair >> 16)
            }
            _ => Err(self.pairs.len()),
        }
    }

    /// Adds `count` to the count of a number. If the sum is too large, removes the number and returns the sum. If the
    /// number is too far away, returns `count`.
    pub(crate) fn add(&mut self, number: u32, count: u64) -> Option<u64> {
        if self.pairs.is_empty() {
            self.base = number.saturating_sub(BELOW) / ALIGNED * ALIGNED;
        } else if number < self.base {
            self.begin_at(number / ALIGNED * ALIGNED);
        }
        let Some(Ok(distance)) = number.checked_sub(self.base).map(u16::try_from) else { return Some(count) };
        let key = u32::from(distance);
        let at = self.place(key);
        let sum = count.saturating_add(at.map_or(0, |at| u64::from(self.pairs[at] & COUNT)));
        match (at, u16::try_from(sum)) {
            (Ok(at), Ok(sum)) => self.pairs[at] = key << 16 | u32::from(sum),
            (Err(at), Ok(sum)) => {
                make_room(&mut self.pairs);
                self.pairs.insert(at, key << 16 | u32::from(sum));
            }
            (at, Err(_)) => {
                if let Ok(at) = at {
                    self.pairs.remove(at);
                }
                return Some(sum);
            }
        }
        None
    }

    /// Lowers the base if the distances of all numbers still fit in 16 bits. A number can be far below the base,
    /// because workers may read parts of the log that are days apart.
    fn begin_at(&mut self, base: u32) {
        let down = self.base - base;
        let furthest = self.pairs.last().map_or(0, |pair| pair >> 16);
        if down.checked_add(furthest).is_some_and(|furthest| u16::try_from(furthest).is_ok()) {
            for pair in &mut self.pairs {
                *pair += down << 16;
            }
            self.base = base;
        }
    }

    /// Adds the counts of `others`, which must have the same base. Returns those counts of `others` that were not
    /// added, because the sum is too large.
    pub(crate) fn add_all(&mut self, others: &Self) -> Vec<(u32, u64)> {
        let mut too_large = Vec::new();
        let add = |own: &mut u32, other: &u32| {
            if (*own & COUNT) + (other & COUNT) <= COUNT {
                *own += other & COUNT;
            } else {
                too_large.push(*other);
            }
        };
        add_sorted(&mut self.pairs, &others.pairs, |pair| pair >> 16, add);
        too_large.into_iter().map(|pair| (self.base + (pair >> 16), u64::from(pair & COUNT))).collect()
    }

    pub(crate) fn shrink(&mut self) {
        self.pairs.shrink_to_fit();
    }

    /// Whether both have the same base.
    pub(crate) fn begin_alike(&self, others: &Self) -> bool {
        self.base == others.base
    }

    /// Whether adding another number needs an allocation.
    pub(crate) fn are_full(&self) -> bool {
        self.pairs.len() == self.pairs.capacity()
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The first and the last number.
    pub(crate) fn span(&self) -> Option<(u32, u32)> {
        let number = |pair: &u32| self.base + (pair >> 16);
        Some((number(self.pairs.first()?), number(self.pairs.last()?)))
    }

    /// The number with the largest count, and this count. If several numbers have the largest count, returns the
    /// first of them.
    pub(crate) fn largest(&self) -> Option<(u32, u64)> {
        let pair = self.pairs.iter().rev().max_by_key(|pair| *pair & COUNT)?;
        Some(self.both(*pair))
    }

    /// Iterates over the numbers with their counts, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.pairs.iter().map(|pair| self.both(*pair))
    }

    fn both(&self, pair: u32) -> (u32, u64) {
        (self.base + (pair >> 16), u64::from(pair & COUNT))
    }
}
