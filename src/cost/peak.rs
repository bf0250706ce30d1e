//! The minute in which the most was read from etcd.

use std::collections::BTreeMap;

use crate::ledger::{Merge, Timeline};

/// Bytes by minute; wider windows where a timeline has them.
#[derive(Debug, Clone, Default)]
pub struct Peaks {
    /// By the number of the window: minutes since 1970 over the width.
    windows: BTreeMap<i64, u64>,
    /// A window is `1 << shift` minutes.
    shift: u32,
}

/// The window with the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    /// When it began, in microseconds since 1970; the first of several.
    pub at: i64,
    /// Its width in minutes.
    pub minutes: u64,
    /// Bytes in it.
    pub bytes: u64,
}

impl Peaks {
    /// Adds requests, each of which reads so many bytes.
    pub fn add(&mut self, timeline: &Timeline, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (minutes, windows) = timeline.windows();
        let mut own = Self { windows: BTreeMap::new(), shift: minutes.trailing_zeros() };
        for (start, count) in windows {
            own.windows.insert(start.div_euclid(60_000_000) >> own.shift, bytes.saturating_mul(count));
        }
        self.merge(own);
    }

    /// The peak; `None` if nothing was read.
    #[must_use]
    pub fn peak(&self) -> Option<Peak> {
        let (window, bytes) = self.windows.iter().rev().max_by_key(|(_, bytes)| **bytes)?;
        Some(Peak { at: (window << self.shift) * 60_000_000, minutes: 1 << self.shift, bytes: *bytes })
    }

    fn widen(&mut self, shift: u32) {
        if shift <= self.shift {
            return;
        }
        let by = shift - self.shift;
        for (window, bytes) in std::mem::take(&mut self.windows) {
            let wide = self.windows.entry(window >> by).or_default();
            *wide = wide.saturating_add(bytes);
        }
        self.shift = shift;
    }
}

impl Merge for Peaks {
    fn merge(&mut self, mut other: Self) {
        self.widen(other.shift);
        other.widen(self.shift);
        for (window, bytes) in other.windows {
            let own = self.windows.entry(window).or_default();
            *own = own.saturating_add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: impl IntoIterator<Item = i64>) -> Timeline {
        let mut timeline = Timeline::default();
        minutes.into_iter().for_each(|minute| timeline.record(minute * 60_000_000 + 1));
        timeline
    }

    #[test]
    fn bytes_of_several_shapes_meet_in_a_minute() {
        let mut peaks = Peaks::default();
        peaks.add(&at([5, 5, 6]), 10);
        peaks.add(&at([6]), 15);
        peaks.add(&at([9; 100]), 0);
        assert_eq!(peaks.peak(), Some(Peak { at: 6 * 60_000_000, minutes: 1, bytes: 25 }));
        assert_eq!(Peaks::default().peak(), None);
    }

    #[test]
    fn wider_windows_take_in_the_narrow_ones_whatever_came_first() {
        let wide = at(0..600);
        let (mut one, mut other) = (Peaks::default(), Peaks::default());
        one.add(&wide, 1);
        one.add(&at([7]), 50);
        other.add(&at([7]), 50);
        other.add(&wide, 1);
        let expected = Some(Peak { at: 6 * 60_000_000, minutes: 2, bytes: 52 });
        assert_eq!((one.peak(), other.peak()), (expected, expected));
    }
}
