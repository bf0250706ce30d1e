//! Counts of numbers with gaps, four bytes each: two for the distance from a base, two for the count.

use crate::ledger::sorted::{add_sorted, make_room};

/// How far the base is below the first number, at least. A log's numbers are nearly in order, so few come below it.
const BELOW: u32 = 1 << 13;
/// The base is a multiple of this, so two rows mostly have the same base.
const ALIGNED: u32 = 1 << 12;
/// Mask of the count in a pair.
const COUNT: u32 = (1 << 16) - 1;

/// Ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    /// Distance from `base` in the upper 16 bits, count in the lower.
    pairs: Vec<u32>,
    base: u32,
}

impl Pairs {
    /// Adds to an existing count. False if the number is missing or the sum does not fit.
    pub fn add_to_own(&mut self, number: u32, count: u64) -> bool {
        let place = number.checked_sub(self.base).and_then(|distance| self.place(distance).ok());
        let Some(pair) = place.map(|at| &mut self.pairs[at]) else { return false };
        let Ok(sum) = u16::try_from(u64::from(*pair & COUNT).saturating_add(count)) else { return false };
        *pair = *pair & !COUNT | u32::from(sum);
        true
    }

    /// The index of a distance, or where to insert it.
    fn place(&self, distance: u32) -> Result<usize, usize> {
        match self.pairs.last() {
            Some(last) if last >> 16 == distance => Ok(self.pairs.len() - 1),
            Some(last) if last >> 16 > distance => {
                self.pairs.binary_search_by_key(&distance, |pair| pair >> 16)
            }
            _ => Err(self.pairs.len()),
        }
    }

    /// Adds to a count. Returns what does not fit: the sum if it is too large, or `count` if the number is too far
    /// away.
    pub fn add(&mut self, number: u32, count: u64) -> Option<u64> {
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

    /// Lowers the base if all numbers still fit. Workers may be days apart.
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

    /// Adds counts with the same base. Returns the counts that were not added because the sum is too large.
    pub fn add_all(&mut self, others: &Self) -> Vec<(u32, u64)> {
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

    pub fn shrink(&mut self) {
        self.pairs.shrink_to_fit();
    }

    /// Whether both have the same base.
    pub fn begin_alike(&self, others: &Self) -> bool {
        self.base == others.base
    }

    /// Whether another number needs an allocation.
    pub fn are_full(&self) -> bool {
        self.pairs.len() == self.pairs.capacity()
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The first and the last number.
    pub fn span(&self) -> Option<(u32, u32)> {
        let number = |pair: &u32| self.base + (pair >> 16);
        Some((number(self.pairs.first()?), number(self.pairs.last()?)))
    }

    /// The number with the largest count, and that count; the first of several.
    pub fn largest(&self) -> Option<(u32, u64)> {
        let pair = self.pairs.iter().rev().max_by_key(|pair| *pair & COUNT)?;
        Some(self.both(*pair))
    }

    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.pairs.iter().map(|pair| self.both(*pair))
    }

    fn both(&self, pair: u32) -> (u32, u64) {
        (self.base + (pair >> 16), u64::from(pair & COUNT))
    }
}
