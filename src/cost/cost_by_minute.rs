//! The cost of requests by minute.

use std::collections::BTreeMap;

use super::sum::Unit;
use super::work::Work;
use crate::ledger::Merge;
use crate::ledger::merge::merge_fields;
use crate::ledger::timeline::Windows;

/// The cost of the requests that began in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MinuteCost {
    /// Bytes that etcd reads.
    pub(crate) etcd_bytes: u64,
    /// Objects that etcd reads.
    pub(crate) etcd_objects: u64,
    /// Objects that the apiserver scans to find the objects of the response.
    pub(crate) filtered_objects: u64,
    /// An upper bound for the bytes that clients received.
    pub(crate) received_bytes: u64,
}

merge_fields!(MinuteCost: etcd_bytes, etcd_objects, filtered_objects, received_bytes);

/// Costs by minute, or by wider windows if a timeline has wider windows.
#[derive(Debug, Clone, Default)]
pub(crate) struct CostByMinute {
    /// By window number: minutes since 1970, divided by the width.
    windows: BTreeMap<i64, MinuteCost>,
    /// A window is `1 << shift` minutes wide.
    shift: u32,
    /// Requests that read from etcd at an unknown time.
    pub(crate) without_time: u64,
}

impl CostByMinute {
    /// Adds `requests` requests that cost `work` each. `windows` contains the receive times of these requests, as far
    /// as they are known.
    pub(crate) fn add(&mut self, windows: &Windows, requests: u64, work: &Work) {
        let costs = |count: u64| {
            let times = |number: Option<u64>| number.unwrap_or(0).saturating_mul(count);
            MinuteCost {
                etcd_bytes: times(work.etcd.bytes),
                etcd_objects: times(work.etcd.objects),
                filtered_objects: times(work.filtered.objects),
                received_bytes: times(work.received.bytes),
            }
        };
        if costs(1) == MinuteCost::default() {
            return;
        }
        let mut own = Self { shift: windows.minutes.max(1).trailing_zeros(), ..Self::default() };
        let mut timed = 0;
        // Skip windows that start at 0: they contain the requests without a receive time.
        for (start, count) in windows.counts.iter().filter(|(start, _)| *start > 0) {
            timed += count;
            own.windows.insert(start.div_euclid(60_000_000) >> own.shift, costs(*count));
        }
        if costs(1).etcd_objects > 0 {
            own.without_time = requests.saturating_sub(timed);
        }
        self.merge(own);
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.windows.is_empty() && self.without_time == 0
    }

    /// The width of a window, in minutes.
    #[must_use]
    pub(crate) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the windows with reads from etcd, in order of time. Each has its start, in microseconds since 1970,
    /// and its cost.
    pub(crate) fn with_reads(&self) -> impl Iterator<Item = (i64, &MinuteCost)> {
        let start = |window: i64| (window << self.shift) * 60_000_000;
        let reads = self.windows.iter().filter(|(_, minute)| minute.etcd_objects > 0);
        reads.map(move |(window, minute)| (start(*window), minute))
    }

    /// Finds the window in which etcd read the most, measured in `unit`. If several are equal, returns the first.
    #[must_use]
    pub(crate) fn peak(&self, unit: Unit) -> Option<(i64, &MinuteCost)> {
        // Reverse the order, because max_by_key returns the last of equal elements.
        let all: Vec<(i64, &MinuteCost)> = self.with_reads().collect();
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

impl Merge for CostByMinute {
    fn merge(&mut self, mut other: Self) {
        self.widen(other.shift);
        other.widen(self.shift);
        merge_fields!(self, other: windows, without_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Amount;
    use crate::ledger::Timeline;

    fn at(minutes: impl IntoIterator<Item = i64>) -> Windows {
        let mut timeline = Timeline::default();
        minutes.into_iter().for_each(|minute| timeline.record(minute * 60_000_000 + 1));
        timeline.windows()
    }

    fn reads(objects: u64) -> Work {
        let amount =
            |objects| Amount { objects: Some(objects), bytes: Some(objects * 10), ..Amount::default() };
        Work {
            etcd: amount(objects),
            decoded: amount(objects),
            filtered: amount(0),
            received: amount(0),
            seats: None,
        }
    }

    fn peak(minutes: &CostByMinute) -> Option<(i64, u64)> {
        minutes.peak(Unit::Bytes).map(|(at, minute)| (at / 60_000_000, minute.etcd_objects))
    }

    #[test]
    fn reads_of_several_shapes_add_up_in_a_minute() {
        let mut minutes = CostByMinute::default();
        minutes.add(&at([5, 5, 6]), 3, &reads(10));
        minutes.add(&at([6]), 1, &reads(15));
        minutes.add(&at([9; 100]), 100, &Work { filtered: reads(900).etcd, ..reads(0) });
        assert_eq!(peak(&minutes), Some((6, 25)));
        let all: Vec<_> =
            minutes.with_reads().map(|(at, minute)| (at / 60_000_000, minute.etcd_bytes)).collect();
        assert_eq!(all, [(5, 200), (6, 250)]);
        assert_eq!(peak(&CostByMinute::default()), None);
    }

    #[test]
    fn requests_without_a_time_are_counted_apart() {
        let mut minutes = CostByMinute::default();
        minutes.add(&at([0, 0, 7]), 5, &reads(10));
        minutes.add(&at([]), 5, &reads(0));
        assert_eq!((peak(&minutes), minutes.without_time), (Some((7, 10)), 4));
    }

    #[test]
    fn windows_merge_to_the_wider_width_in_any_order() {
        let wide = at(0..1_600);
        let (mut one, mut other) = (CostByMinute::default(), CostByMinute::default());
        one.add(&wide, 1_600, &reads(1));
        one.add(&at([7]), 1, &reads(50));
        other.add(&at([7]), 1, &reads(50));
        other.add(&wide, 1_600, &reads(1));
        assert_eq!((peak(&one), one.width()), (Some((6, 52)), 2));
        assert_eq!((peak(&other), other.width()), (Some((6, 52)), 2));
    }
}
