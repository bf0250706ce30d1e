//! What requests cost by the minute.

use std::collections::BTreeMap;

use super::sum::Cost;
use super::unit::Unit;
use crate::ledger::timeline::Windows;
use crate::ledger::{Merge, Timeline};

/// What the requests that began in one window cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minute {
    /// Bytes that etcd reads.
    pub etcd_bytes: u64,
    /// Objects that etcd reads.
    pub etcd_objects: u64,
    /// Objects that the apiserver goes through.
    pub filtered_objects: u64,
    /// Bytes that clients can have received at most.
    pub received_bytes: u64,
}

impl Merge for Minute {
    fn merge(&mut self, other: Self) {
        self.etcd_bytes = self.etcd_bytes.saturating_add(other.etcd_bytes);
        self.etcd_objects = self.etcd_objects.saturating_add(other.etcd_objects);
        self.filtered_objects = self.filtered_objects.saturating_add(other.filtered_objects);
        self.received_bytes = self.received_bytes.saturating_add(other.received_bytes);
    }
}

/// Costs by minute; wider windows where a timeline has them.
#[derive(Debug, Clone, Default)]
pub struct Minutes {
    /// By the number of the window: minutes since 1970 over the width.
    windows: BTreeMap<i64, Minute>,
    /// A window is `1 << shift` minutes.
    shift: u32,
}

impl Minutes {
    /// Adds requests that cost so much together, each as much as the others.
    pub fn add(&mut self, timeline: &Timeline, cost: &Cost) {
        let requests = timeline.total();
        let share = |sum: u64, count: u64| {
            let part = u128::from(sum) * u128::from(count) / u128::from(requests.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let Windows { minutes, counts: windows } = timeline.windows();
        let mut own = Self { windows: BTreeMap::new(), shift: minutes.trailing_zeros() };
        for (start, count) in windows {
            let minute = Minute {
                etcd_bytes: share(cost.etcd.bytes, count),
                etcd_objects: share(cost.etcd.objects, count),
                filtered_objects: share(cost.filtered.objects, count),
                received_bytes: share(cost.received.bytes, count),
            };
            if minute != Minute::default() {
                own.windows.insert(start.div_euclid(60_000_000) >> own.shift, minute);
            }
        }
        self.merge(own);
    }

    /// The width of a window in minutes.
    #[must_use]
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    /// The windows in which etcd read anything, ascending: when each began, in microseconds since 1970, and its costs.
    pub fn with_reads(&self) -> impl Iterator<Item = (i64, &Minute)> {
        let start = |window: i64| (window << self.shift) * 60_000_000;
        let reads = self.windows.iter().filter(|(_, minute)| minute.etcd_objects > 0);
        reads.map(move |(window, minute)| (start(*window), minute))
    }

    /// The window in which etcd read the most in this unit, the first of several.
    #[must_use]
    pub fn peak(&self, unit: Unit) -> Option<(i64, &Minute)> {
        // Of equal ones the last is the greatest; the first of them is wanted.
        let all: Vec<(i64, &Minute)> = self.with_reads().collect();
        all.into_iter().rev().max_by_key(|(_, minute)| match unit {
            Unit::Bytes => (minute.etcd_bytes, minute.etcd_objects),
            Unit::Objects => (minute.etcd_objects, 0),
        })
    }

    fn widen(&mut self, shift: u32) {
        if shift <= self.shift {
            return;
        }
        let by = shift - self.shift;
        for (window, minute) in std::mem::take(&mut self.windows) {
            self.windows.entry(window >> by).or_default().merge(minute);
        }
        self.shift = shift;
    }
}

impl Merge for Minutes {
    fn merge(&mut self, mut other: Self) {
        self.widen(other.shift);
        other.widen(self.shift);
        for (window, minute) in other.windows {
            self.windows.entry(window).or_default().merge(minute);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Sum;

    fn at(minutes: impl IntoIterator<Item = i64>) -> Timeline {
        let mut timeline = Timeline::default();
        minutes.into_iter().for_each(|minute| timeline.record(minute * 60_000_000 + 1));
        timeline
    }

    fn reads(objects: u64) -> Cost {
        Cost { etcd: Sum { objects, bytes: objects * 10, ..Sum::default() }, ..Cost::default() }
    }

    fn peak(minutes: &Minutes) -> Option<(i64, u64)> {
        minutes.peak(Unit::Bytes).map(|(at, minute)| (at / 60_000_000, minute.etcd_objects))
    }

    #[test]
    fn reads_of_several_shapes_meet_in_a_minute() {
        let mut minutes = Minutes::default();
        minutes.add(&at([5, 5, 6]), &reads(30));
        minutes.add(&at([6]), &reads(15));
        minutes.add(&at([9; 100]), &Cost { filtered: reads(900).etcd, ..Cost::default() });
        assert_eq!(peak(&minutes), Some((6, 25)));
        let all: Vec<_> =
            minutes.with_reads().map(|(at, minute)| (at / 60_000_000, minute.etcd_bytes)).collect();
        assert_eq!(all, [(5, 200), (6, 250)]);
        assert_eq!(peak(&Minutes::default()), None);
    }

    #[test]
    fn wider_windows_take_in_the_narrow_ones_whatever_came_first() {
        let wide = at(0..600);
        let (mut one, mut other) = (Minutes::default(), Minutes::default());
        one.add(&wide, &reads(600));
        one.add(&at([7]), &reads(50));
        other.add(&at([7]), &reads(50));
        other.add(&wide, &reads(600));
        assert_eq!((peak(&one), one.width()), (Some((6, 52)), 2));
        assert_eq!((peak(&other), other.width()), (Some((6, 52)), 2));
    }
}
