//! Requests per minute over time, in bounded memory.
//!
//! Time is divided into windows, which are one minute wide at first. If too many windows have requests, all windows
//! become two minutes wide, then four, and so on. The width is the smallest one at which at most [`MAX_WINDOWS`]
//! windows have requests. It depends only on the set of minutes. So neither the order of the requests nor their split
//! among workers affects the result.

use std::collections::BTreeMap;

use super::Merge;
use super::packed::Packed;

/// The maximum number of windows with requests for each row. A day has 1,440 minutes, so a log of one day has exact
/// minutes. Each minute with requests takes 4 bytes. A minute that is more than about 22 days before or after the first
/// one takes about 26 bytes. 100,000 rows with requests in every minute of a day take 0.6 GB. Such a log has at least
/// 144 million requests.
pub(crate) const MAX_WINDOWS: usize = 1_536;

#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    /// Requests by window. The key is minutes since 1970, divided by the width.
    windows: Packed,
    /// The current window and its requests, which are not in `windows` yet. Most requests belong to the same window
    /// as the request before. So they need no access to the memory of `windows`.
    current: (u32, u32),
    /// A window is `1 << shift` minutes wide.
    shift: u8,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    /// The number of requests in the busiest window.
    pub(crate) peak: u64,
    /// The start of the busiest window, in microseconds since 1970. If several windows are equally busy, the first of
    /// them.
    pub(crate) peak_at: i64,
    /// The number of minutes in all windows with requests.
    pub(crate) active_minutes: u64,
    /// The width of the windows, in minutes.
    pub(crate) window_minutes: u64,
}

impl Rate {
    /// Returns the mean number of requests per minute for `count` requests, rounded to tenths. The divisor is
    /// `active_minutes`, or the time from the first to the last request if that time is shorter. The divisor is at
    /// least one minute. For example, a burst of 40 s may fall into two clock minutes, but its divisor is one minute.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
    pub(crate) fn mean_per_minute(&self, count: u64, span: Option<(i64, i64)>) -> f64 {
        let active = self.active_minutes as f64;
        let minutes = span.map_or(active, |(first, last)| active.min((last - first) as f64 / 60_000_000.0));
        (count as f64 * 10.0 / minutes.max(1.0)).round() / 10.0
    }
}

/// The windows of a timeline that have requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Width of each window, in minutes: a power of two.
    pub(crate) minutes: u64,
    /// The start of each window in microseconds since 1970, and its number of requests, in ascending order. A start is
    /// a multiple of the width.
    pub(crate) counts: Vec<(i64, u64)>,
}

impl Windows {
    /// Returns how many requests of both timelines coincide. For each window, the smaller of the two counts is added
    /// to the result. If the widths differ, the larger width is used for both.
    #[must_use]
    pub(crate) fn shared(&self, other: &Self) -> u64 {
        let width = self.minutes.max(other.minutes);
        let [own, other] = [self, other].map(|windows| windows.by(width));
        let shared = own.iter().map(|(at, count)| other.get(at).map_or(0, |other| *count.min(other)));
        shared.sum()
    }

    /// Returns the counts in windows of `minutes` minutes. The key is the start of the window since 1970, divided by
    /// the width of a window.
    fn by(&self, minutes: u64) -> BTreeMap<i64, u64> {
        let width = i64::try_from(minutes).unwrap_or(1).saturating_mul(60_000_000).max(1);
        let mut wider = BTreeMap::new();
        for (at, count) in &self.counts {
            *wider.entry(at.div_euclid(width)).or_default() += count;
        }
        wider
    }

    /// Subtracts the requests of `part`. The windows of `part` must not be wider than these windows.
    pub(crate) fn subtract(&mut self, part: &Self) {
        let width = i64::try_from(self.minutes).unwrap_or(1).saturating_mul(60_000_000);
        for (at, count) in &part.counts {
            let start = at.div_euclid(width) * width;
            if let Ok(own) = self.counts.binary_search_by_key(&start, |(start, _)| *start) {
                self.counts[own].1 = self.counts[own].1.saturating_sub(*count);
            }
        }
        self.counts.retain(|(_, count)| *count > 0);
    }
}

impl Timeline {
    /// Counts a request that was received at `micros`, in microseconds since 1970.
    pub(crate) fn record(&mut self, micros: i64) {
        self.record_all(micros, 1);
    }

    /// Counts `count` requests that were received at `micros`, in microseconds since 1970.
    pub(crate) fn record_all(&mut self, micros: i64, count: u64) {
        let minute = u32::try_from(micros.div_euclid(60_000_000)).unwrap_or(0);
        let window = minute >> self.shift;
        if window != self.current.0 {
            self.settle();
            self.current.0 = minute >> self.shift;
        }
        self.current.1 = self.current.1.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Moves the requests of the current window to `windows`. Methods that read the timeline also work without this
    /// call, but then they need a copy.
    pub(crate) fn settle(&mut self) {
        let (window, count) = std::mem::take(&mut self.current);
        if count > 0 {
            self.add(window, count);
        }
    }

    fn add(&mut self, window: u32, count: u32) {
        self.windows.add(window, u64::from(count));
        self.fold();
    }

    /// Widens the windows until at most [`MAX_WINDOWS`] have requests.
    fn fold(&mut self) {
        while self.windows.len() > MAX_WINDOWS {
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        self.windows =
            self.windows.counts().into_iter().map(|(window, count)| (window >> 1, count)).collect();
    }

    #[must_use]
    pub(crate) fn total(&self) -> u64 {
        self.windows.counts().into_iter().map(|(_, count)| count).sum::<u64>() + u64::from(self.current.1)
    }

    #[must_use]
    pub(crate) fn windows(&self) -> Windows {
        let mut settled = self.clone();
        settled.settle();
        let shift = settled.shift;
        let start = |window: u32| (i64::from(window) << shift) * 60_000_000;
        let counts = settled.windows.counts().into_iter().map(|(window, count)| (start(window), count));
        Windows { minutes: 1 << shift, counts: counts.collect() }
    }

    /// The rate of the requests; `None` if the timeline has no requests.
    #[must_use]
    pub(crate) fn rate(&self) -> Option<Rate> {
        if self.current.1 == 0 {
            return self.settled_rate();
        }
        let mut settled = self.clone();
        settled.settle();
        settled.settled_rate()
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.windows.is_empty() && self.current.1 == 0
    }

    /// Whether windows are one minute wide, so that minutes are exact.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// Whether minutes stay exact after a merge of both timelines, even if they have no minute in common.
    #[must_use]
    pub(crate) fn fits(&self, other: &Self) -> bool {
        // The current window of each timeline may be missing in `windows`.
        self.is_exact() && other.is_exact() && self.windows.len() + other.windows.len() + 2 <= MAX_WINDOWS
    }

    /// Like [`Merge::merge`], but does not consume `other`.
    pub(crate) fn merge_from(&mut self, other: &Self) {
        if !self.fits(other) {
            return self.merge(other.clone());
        }
        self.settle();
        self.windows.add_all(&other.windows);
        let (window, count) = other.current;
        if count > 0 {
            self.add(window, count);
        }
    }

    fn settled_rate(&self) -> Option<Rate> {
        let (window, peak) = self.windows.largest()?;
        Some(Rate {
            peak,
            peak_at: (i64::from(window) << self.shift) * 60_000_000,
            active_minutes: (self.windows.len() as u64) << self.shift,
            window_minutes: 1 << self.shift,
        })
    }
}

impl Merge for Timeline {
    fn merge(&mut self, mut other: Self) {
        self.settle();
        other.settle();
        if self.windows.is_empty() && self.shift == 0 {
            *self = other;
            return;
        }
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        self.windows.add_all(&other.windows);
        self.fold();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timeline(minutes: &[i64]) -> Timeline {
        let mut timeline = Timeline::default();
        for minute in minutes {
            timeline.record(minute * 60_000_000 + 7);
        }
        timeline.settle();
        timeline
    }

    impl PartialEq for Timeline {
        fn eq(&self, other: &Self) -> bool {
            (&self.windows, self.current, self.shift) == (&other.windows, other.current, other.shift)
        }
    }

    #[test]
    fn windows_include_the_last_requests() {
        let mut timeline = timeline(&[3, 3, 5]);
        timeline.record(4 * 60_000_000 + 1);
        let minute = 60_000_000;
        let counts = vec![(3 * minute, 2), (4 * minute, 1), (5 * minute, 1)];
        assert_eq!(timeline.windows(), Windows { minutes: 1, counts });
    }

    #[test]
    fn narrow_windows_are_subtracted_from_wider_ones() {
        let mut whole = timeline(&(0..1_600).collect::<Vec<_>>()).windows();
        whole.subtract(&timeline(&[0, 1, 7]).windows());
        assert_eq!(whole.minutes, 2);
        let minute = 60_000_000;
        assert_eq!(whole.counts[..3], [(2 * minute, 2), (4 * minute, 2), (6 * minute, 1)]);
    }

    #[test]
    fn windows_share_the_lesser_count_of_each_window() {
        let own = timeline(&[3, 3, 3, 5, 9]).windows();
        assert_eq!(own.shared(&timeline(&[3, 3, 5, 5, 7]).windows()), 3);
        let wide = timeline(&(0..1_600).collect::<Vec<_>>()).windows();
        assert_eq!(wide.minutes, 2);
        // These pairs of minutes are one window each: 2 and 3, 4 and 5, 8 and 9.
        assert_eq!(own.shared(&wide), 2 + 1 + 1);
        assert_eq!(wide.shared(&own), 4);
    }

    proptest! {
        #[test]
        fn timelines_are_independent_of_order_and_split(
            minutes in prop::collection::vec(0_i64..5_000, 0..4_000),
            cut in 0_usize..4_000,
        ) {
            let (left, right) = minutes.split_at(cut.min(minutes.len()));
            let mut merged = timeline(right);
            merged.merge(timeline(left));
            prop_assert_eq!(&merged, &timeline(&minutes));
            let mut kept = timeline(left);
            kept.merge_from(&timeline(right));
            prop_assert_eq!(&merged, &kept);
            let mut sorted = minutes.clone();
            sorted.sort_unstable();
            prop_assert_eq!(&merged, &timeline(&sorted));
            prop_assert_eq!(merged.total(), minutes.len() as u64);
        }

        #[test]
        fn windows_hold_each_request_where_it_began(minutes in prop::collection::vec(0_i64..5_000, 0..4_000)) {
            let windows = timeline(&minutes).windows();
            let width = i64::try_from(windows.minutes).expect("a few minutes") * 60_000_000;
            let mut naive: BTreeMap<i64, u64> = BTreeMap::new();
            for minute in &minutes {
                *naive.entry((minute * 60_000_000).div_euclid(width) * width).or_default() += 1;
            }
            prop_assert_eq!(windows.counts, naive.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn mean_is_at_least_that_over_active_minutes_and_at_most_the_count(
            seconds in prop::collection::vec(0_i64..600, 1..100),
        ) {
            let mut timeline = Timeline::default();
            for second in &seconds {
                timeline.record(second * 1_000_000);
            }
            let span = seconds.iter().min().zip(seconds.iter().max()).map(|(a, b)| (a * 1_000_000, b * 1_000_000));
            let (count, rate) = (timeline.total(), timeline.rate().expect("not empty"));
            let mean = rate.mean_per_minute(count, span);
            prop_assert!(mean >= rate.mean_per_minute(count, None) && mean <= 100.0);
        }

        #[test]
        fn a_days_log_has_exact_minutes(minutes in prop::collection::vec(0_i64..1_500, 1..3_000)) {
            let mut naive: BTreeMap<i64, u64> = BTreeMap::new();
            for minute in &minutes {
                *naive.entry(*minute).or_default() += 1;
            }
            let rate = timeline(&minutes).rate().expect("not empty");
            let peak = *naive.values().max().expect("not empty");
            let first = naive.iter().find(|(_, count)| **count == peak).expect("a peak").0;
            prop_assert_eq!(rate, Rate {
                peak,
                peak_at: first * 60_000_000,
                active_minutes: naive.len() as u64,
                window_minutes: 1,
            });
        }
    }

    #[test]
    fn mean_of_a_burst_across_a_minute_boundary_is_over_one_minute() {
        let mut timeline = Timeline::default();
        let at = |request: i64| 40_000_000 + request * 40_000_000 / 89;
        (0..90).for_each(|request| timeline.record(at(request)));
        let rate = timeline.rate().expect("requests");
        assert_eq!(rate.active_minutes, 2);
        assert_eq!(rate.mean_per_minute(90, Some((at(0), at(89)))).to_bits(), 90.0_f64.to_bits());
    }

    #[test]
    fn mean_is_over_the_span_if_it_is_shorter_than_the_active_minutes() {
        let rate = Rate { active_minutes: 4, ..Rate::default() };
        assert_eq!(rate.mean_per_minute(457, Some((0, 171_000_000))).to_bits(), 160.4_f64.to_bits());
        assert_eq!(rate.mean_per_minute(457, Some((0, 900_000_000))).to_bits(), 114.3_f64.to_bits());
    }
}
