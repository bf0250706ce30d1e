//! Counts by number, for numbers without large gaps between them. Every number between the first and the last takes
//! one byte, or two if any count exceeds 255.

use std::cmp::Reverse;

use crate::ledger::sorted::make_room;

#[derive(Debug, Clone, Default)]
pub(super) struct Dense {
    /// The counts of successive numbers, from `base` on. 0 for a missing number.
    cells: Vec<u8>,
    base: u32,
    /// The number of counts above 0.
    held: u32,
    is_wide: bool,
}

impl Dense {
    /// Creates empty counts. `base` should be near the first number.
    pub(crate) fn from(base: u32) -> Self {
        Self { base, ..Self::default() }
    }

    /// Adds `count` to the count of a number that already has one. Returns false if the number has no count yet, or
    /// if the sum does not fit.
    pub(crate) fn add_to_own(&mut self, number: u32, count: u64) -> bool {
        let at = number.wrapping_sub(self.base) as usize;
        if at >= self.numbers() || self.cell(at) == 0 {
            return false;
        }
        match u16::try_from(self.cell(at).saturating_add(count)) {
            Ok(sum) if self.is_wide || sum <= u8::MAX.into() => self.set(at, sum),
            _ => return false,
        }
        true
    }

    /// Adds `count` to the count of a number. If the sum is too large, removes the number and returns the sum.
    pub(crate) fn add(&mut self, number: u32, count: u64) -> Option<u64> {
        if number < self.base {
            self.begin_at(number.saturating_sub(self.held / 4));
        }
        let at = (number - self.base) as usize;
        self.grow_to(at + 1);
        let before = self.cell(at);
        let sum = before.saturating_add(count);
        let (small, too_large) = match u16::try_from(sum) {
            Ok(sum) => (sum, None),
            Err(_) => (0, Some(sum)),
        };
        self.held += u32::from(small > 0);
        self.held -= u32::from(before > 0);
        self.set(at, small);
        too_large
    }

    /// The size in bytes after `count` is added to the count of `number`.
    pub(crate) fn bytes_with(&self, number: u32, count: u64) -> usize {
        let end = (self.base as usize + self.numbers()).max(number as usize + 1);
        let at = number.wrapping_sub(self.base) as usize;
        let own = if at < self.numbers() { self.cell(at) } else { 0 };
        // A count that needs more than two bytes is stored elsewhere.
        let largest = u16::try_from(own.saturating_add(count)).map_or(0, u64::from);
        bytes(end - self.base.min(number) as usize, if self.is_wide { u64::MAX } else { largest })
    }

    pub(crate) fn shrink(&mut self) {
        self.cells.shrink_to_fit();
    }

    fn begin_at(&mut self, base: u32) {
        let before = (self.base - base) as usize * width(self.is_wide);
        self.cells.splice(0..0, std::iter::repeat_n(0, before));
        self.base = base;
    }

    fn grow_to(&mut self, numbers: usize) {
        let bytes = numbers * width(self.is_wide);
        while self.cells.len() < bytes {
            make_room(&mut self.cells);
            self.cells.resize(bytes.min(self.cells.capacity()), 0);
        }
    }

    fn set(&mut self, at: usize, count: u16) {
        match u8::try_from(count) {
            Ok(count) if !self.is_wide => self.cells[at] = count,
            _ => {
                if !self.is_wide {
                    self.cells = self.cells.iter().flat_map(|cell| [*cell, 0]).collect();
                    self.is_wide = true;
                }
                self.cells[2 * at..2 * at + 2].copy_from_slice(&count.to_le_bytes());
            }
        }
    }

    fn cell(&self, at: usize) -> u64 {
        if self.is_wide {
            u16::from_le_bytes([self.cells[2 * at], self.cells[2 * at + 1]]).into()
        } else {
            self.cells[at].into()
        }
    }

    /// The number of cells, including those of missing numbers.
    fn numbers(&self) -> usize {
        self.cells.len() / width(self.is_wide)
    }

    /// The number of counts above 0.
    pub(crate) fn len(&self) -> usize {
        self.held as usize
    }

    /// The number with the largest count, and this count. If several numbers have the largest count, returns the
    /// first of them.
    pub(crate) fn largest(&self) -> Option<(u32, u64)> {
        self.iter().max_by_key(|(number, count)| (*count, Reverse(*number)))
    }

    /// Returns the numbers with their counts in ascending order, without missing numbers.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the distance of two numbers is at most the larger number"
    )]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let all = (0..self.numbers()).map(|at| (self.base + at as u32, self.cell(at)));
        all.filter(|(_, count)| *count > 0)
    }
}

/// The size in bytes of cells for `numbers` successive numbers, if no count exceeds `largest`.
pub(super) fn bytes(numbers: usize, largest: u64) -> usize {
    numbers * width(largest > u64::from(u8::MAX))
}

fn width(is_wide: bool) -> usize {
    if is_wide { 2 } else { 1 }
}
