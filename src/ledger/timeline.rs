//! Requests a minute, in bounded memory.
//!
//! A row's active minutes are counted one by one. A row that is active in more of them than fit gets windows of
//! two minutes, then of four, and so on: the smallest width at which its active windows fit. That width is a
//! function of the set of minutes alone, so neither order nor split matters.

use std::collections::BTreeMap;

use super::Merge;
use super::packed::Packed;

/// Windows that are kept per row: the minutes of a day and some more, so that a day's log has exact minutes. Of a row that is
/// active in most of them each takes a byte, two if one has more than 255 requests; otherwise those with requests take 4
/// bytes (in a log of more than 40 days those further on some 26). So 100,000 rows that are all active in each minute of a
/// day, which takes 144 million requests, hold 0.2 GB.
pub const MAX_WINDOWS: usize = 1_536;

/// How many requests began in which window.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// By window number: minutes since 1970 over the width.
    windows: Packed,
    /// The window that was counted last and what is not in `windows` yet: most events belong to it, and it is at
    /// hand where the windows are not.
    current: (u32, u32),
    /// A window is `1 << shift` minutes.
    shift: u8,
}

/// The rate of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// The most requests in one window.
    pub peak: u64,
    /// When that window began, in microseconds since 1970; the first of several.
    pub peak_at: i64,
    /// Minutes in windows with at least one request.
    pub active_minutes: u64,
    /// The width of the window with the peak, in minutes.
    pub window_minutes: u64,
}

/// The windows of a row in which requests began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Windows {
    /// The width of each, in minutes: a power of two.
    pub minutes: u64,
    /// When each began, in microseconds since 1970 and at a multiple of the width, and its requests; ascending.
    pub counts: Vec<(i64, u64)>,
}

impl Windows {
    /// How many requests of both share a window: in each window of the wider ones the lesser of the two counts.
    #[must_use]
    pub fn shared(&self, other: &Self) -> u64 {
        let width = self.minutes.max(other.minutes);
        let [own, other] = [self, other].map(|windows| windows.by(width));
        let shared = own.iter().map(|(at, count)| other.get(at).map_or(0, |other| *count.min(other)));
        shared.sum()
    }

    /// The counts by the start of wider windows.
    fn by(&self, minutes: u64) -> BTreeMap<i64, u64> {
        let width = i64::try_from(minutes).unwrap_or(1).saturating_mul(60_000_000).max(1);
        let mut wider = BTreeMap::new();
        for (at, count) in &self.counts {
            *wider.entry(at.div_euclid(width)).or_default() += count;
        }
        wider
    }

    /// Takes out requests that are among these. Of a part the windows are no wider than those of the whole.
    pub fn subtract(&mut self, part: &Self) {
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
    /// Counts a request that began at an instant (microseconds since 1970).
    pub fn record(&mut self, micros: i64) {
        self.record_all(micros, 1);
    }

    /// Counts so many that began at an instant.
    pub fn record_all(&mut self, micros: i64, count: u64) {
        let minute = u32::try_from(micros.div_euclid(60_000_000)).unwrap_or(0);
        let window = minute >> self.shift;
        if window != self.current.0 {
            self.settle();
            self.current.0 = minute >> self.shift;
        }
        self.current.1 = self.current.1.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Moves what was counted last to the other windows: it is for those who record, and costs others time.
    pub fn settle(&mut self) {
        let (window, count) = std::mem::take(&mut self.current);
        if count > 0 {
            self.add(window, count);
        }
    }

    fn add(&mut self, window: u32, count: u32) {
        self.windows.add(window, u64::from(count));
        self.fold();
    }

    /// Makes windows as wide as it takes for them to fit.
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

    /// All requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.windows.counts().into_iter().map(|(_, count)| count).sum::<u64>() + u64::from(self.current.1)
    }

    /// The windows with at least one request.
    #[must_use]
    pub fn windows(&self) -> Windows {
        let mut settled = self.clone();
        settled.settle();
        let shift = settled.shift;
        let start = |window: u32| (i64::from(window) << shift) * 60_000_000;
        let counts = settled.windows.counts().into_iter().map(|(window, count)| (start(window), count));
        Windows { minutes: 1 << shift, counts: counts.collect() }
    }

    /// The peak and the active time, or `None` if nothing was counted.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        if self.current.1 == 0 {
            return self.settled_rate();
        }
        let mut settled = self.clone();
        settled.settle();
        settled.settled_rate()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty() && self.current.1 == 0
    }

    /// Whether each minute is known.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// Whether each minute of both together is known, whatever minutes they are.
    #[must_use]
    pub fn fits(&self, other: &Self) -> bool {
        // Of each, one window may not be among the others yet.
        self.is_exact() && other.is_exact() && self.windows.len() + other.windows.len() + 2 <= MAX_WINDOWS
    }

    /// As [`Merge::merge`], of one that is kept.
    pub fn merge_from(&mut self, other: &Self) {
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

    fn of(minutes: &[i64]) -> Timeline {
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
    fn windows_hold_what_was_counted_last_too() {
        let mut timeline = of(&[3, 3, 5]);
        timeline.record(4 * 60_000_000 + 1);
        let minute = 60_000_000;
        let counts = vec![(3 * minute, 2), (4 * minute, 1), (5 * minute, 1)];
        assert_eq!(timeline.windows(), Windows { minutes: 1, counts });
    }

    #[test]
    fn a_part_is_taken_out_of_wider_windows() {
        let mut whole = of(&(0..1_600).collect::<Vec<_>>()).windows();
        whole.subtract(&of(&[0, 1, 7]).windows());
        assert_eq!(whole.minutes, 2);
        let minute = 60_000_000;
        assert_eq!(whole.counts[..3], [(2 * minute, 2), (4 * minute, 2), (6 * minute, 1)]);
    }

    #[test]
    fn windows_share_the_lesser_count_of_each_window() {
        let own = of(&[3, 3, 3, 5, 9]).windows();
        assert_eq!(own.shared(&of(&[3, 3, 5, 5, 7]).windows()), 3);
        let wide = of(&(0..1_600).collect::<Vec<_>>()).windows();
        assert_eq!(wide.minutes, 2);
        // Minutes 2 and 3, 4 and 5, 8 and 9 are one window each.
        assert_eq!(own.shared(&wide), 2 + 1 + 1);
        assert_eq!(wide.shared(&own), 4);
    }

    proptest! {
        #[test]
        fn neither_order_nor_split_matters(
            minutes in prop::collection::vec(0_i64..5_000, 0..4_000),
            cut in 0_usize..4_000,
        ) {
            let (left, right) = minutes.split_at(cut.min(minutes.len()));
            let mut merged = of(right);
            merged.merge(of(left));
            prop_assert_eq!(&merged, &of(&minutes));
            let mut kept = of(left);
            kept.merge_from(&of(right));
            prop_assert_eq!(&merged, &kept);
            let mut sorted = minutes.clone();
            sorted.sort_unstable();
            prop_assert_eq!(&merged, &of(&sorted));
            prop_assert_eq!(merged.total(), minutes.len() as u64);
        }

        #[test]
        fn windows_hold_each_request_where_it_began(minutes in prop::collection::vec(0_i64..5_000, 0..4_000)) {
            let windows = of(&minutes).windows();
            let width = i64::try_from(windows.minutes).expect("a few minutes") * 60_000_000;
            let mut naive: BTreeMap<i64, u64> = BTreeMap::new();
            for minute in &minutes {
                *naive.entry((minute * 60_000_000).div_euclid(width) * width).or_default() += 1;
            }
            prop_assert_eq!(windows.counts, naive.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn a_days_log_has_exact_minutes(minutes in prop::collection::vec(0_i64..1_500, 1..3_000)) {
            let mut naive: BTreeMap<i64, u64> = BTreeMap::new();
            for minute in &minutes {
                *naive.entry(*minute).or_default() += 1;
            }
            let rate = of(&minutes).rate().expect("not empty");
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
}
