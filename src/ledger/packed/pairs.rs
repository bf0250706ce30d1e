//! Counts of numbers that lie apart, in four bytes each: two tell how far a number is from where they begin, and two its
//! count.

use crate::ledger::sorted::{add_sorted, make_room};

/// How far below the first number that comes others may lie at least: those of a log come nearly in their order.
const BELOW: u32 = 1 << 13;
/// They begin at a multiple of this: those of two rows mostly at the same.
const ALIGNED: u32 = 1 << 12;
/// Where in a pair its count is.
const COUNT: u32 = (1 << 16) - 1;

/// Numbers with counts, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    /// Distance from `base` in the upper 16 bits, count in the lower.
    pairs: Vec<u32>,
    base: u32,
}

impl Pairs {
    /// Adds to the count of a number that is there, if it still fits.
    pub fn add_to_own(&mut self, number: u32, count: u64) -> bool {
        let place = number.checked_sub(self.base).and_then(|distance| self.place(distance).ok());
        let Some(pair) = place.map(|at| &mut self.pairs[at]) else { return false };
        let Ok(sum) = u16::try_from(u64::from(*pair & COUNT).saturating_add(count)) else { return false };
        *pair = *pair & !COUNT | u32::from(sum);
        true
    }

    /// Where a distance is, or belongs.
    fn place(&self, distance: u32) -> Result<usize, usize> {
        match self.pairs.last() {
            Some(last) if last >> 16 == distance => Ok(self.pairs.len() - 1),
            Some(last) if last >> 16 > distance => {
                self.pairs.binary_search_by_key(&distance, |pair| pair >> 16)
            }
            _ => Err(self.pairs.len()),
        }
    }

    /// Adds to the count of a number. Returns what does not fit: the whole count, if it is too large, or what was to be
    /// added, if the number is too far from others.
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

    /// Begins further down, if all still lie near: workers may be days apart.
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

    /// Adds others that begin at the same number. Returns those whose count is too large, with what was to be added.
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

    /// Keeps no room for others.
    pub fn shrink(&mut self) {
        self.pairs.shrink_to_fit();
    }

    /// Whether others begin at the same number.
    pub fn begin_alike(&self, others: &Self) -> bool {
        self.base == others.base
    }

    /// Whether another takes more memory.
    pub fn are_full(&self) -> bool {
        self.pairs.len() == self.pairs.capacity()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The first and the last number.
    pub fn span(&self) -> Option<(u32, u32)> {
        let number = |pair: &u32| self.base + (pair >> 16);
        Some((number(self.pairs.first()?), number(self.pairs.last()?)))
    }

    /// The number with the largest count, and that: of several, the first.
    pub fn largest(&self) -> Option<(u32, u64)> {
        let pair = self.pairs.iter().rev().max_by_key(|pair| *pair & COUNT)?;
        Some(self.both(*pair))
    }

    /// The numbers with their counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.pairs.iter().map(|pair| self.both(*pair))
    }

    fn both(&self, pair: u32) -> (u32, u64) {
        (self.base + (pair >> 16), u64::from(pair & COUNT))
    }
}
