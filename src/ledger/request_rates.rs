//! Requests per minute, summed over timelines whose windows may have any width. A wide window adds its mean to each of
//! its minutes.

use std::borrow::Borrow;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Merge;
use super::timeline::{Rate, Timeline, Windows};

/// One request in one minute, as a fixed-point number. Window widths are powers of two, so means are exact.
const ONE: i128 = 1 << 32;
const MINUTE: i64 = 60_000_000;

/// Requests per minute over time, stored as the changes of this rate.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestRates {
    /// Key: a minute since 1970, and the binary logarithm of a window's width. Value: the change of the rate at that
    /// minute, in units of 1 / [`ONE`] requests per minute.
    changes: HashMap<(u64, u32), i128, FxBuildHasher>,
}

/// The minute with the highest rate. If several minutes have this rate, the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busiest {
    /// Minutes since 1970.
    pub(crate) minute: u64,
    /// The number of requests in a window of `window_minutes` minutes, at the rate of this minute.
    pub(crate) requests: u64,
    /// The width of the widest window that contains this minute, in minutes. It is 1 if `requests` is exact.
    pub(crate) window_minutes: u64,
}

/// The rate from a minute until the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Minutes since 1970.
    pub(crate) minute: u64,
    pub(crate) requests: u64,
}

impl RequestRates {
    /// Adds the requests of a window. `width` must be a power of two, and `minute` a multiple of `width`.
    pub(crate) fn add(&mut self, minute: u64, width: u64, requests: u64) {
        let (shift, mean) = (width.trailing_zeros(), i128::from(requests) * ONE / i128::from(width.max(1)));
        *self.changes.entry((minute, shift)).or_default() += mean;
        *self.changes.entry((minute.saturating_add(width), shift)).or_default() -= mean;
    }

    pub(crate) fn add_all(&mut self, timeline: &Timeline) {
        let Windows { minutes, counts } = timeline.windows();
        for (start, count) in counts {
            self.add(u64::try_from(start / MINUTE).unwrap_or(0), minutes, count);
        }
    }

    /// Returns the minutes at which the rate changes, in ascending order. Each minute comes with the new rate, and
    /// with the binary logarithm of the width of the widest window there.
    fn levels(&self) -> Vec<(u64, i128, u32)> {
        let mut changes: Vec<(u64, u32, i128)> =
            self.changes.iter().map(|(&(minute, shift), &change)| (minute, shift, change)).collect();
        changes.sort_unstable();
        let mut by_shift = [0_i128; u64::BITS as usize + 1];
        let levels = changes.chunk_by(|one, next| one.0 == next.0).map(|changes| {
            for (_, shift, change) in changes {
                by_shift[*shift as usize] += change;
            }
            let widest = by_shift.iter().rposition(|level| *level > 0).unwrap_or(0);
            (changes[0].0, by_shift.iter().sum(), u32::try_from(widest).unwrap_or(0))
        });
        levels.collect()
    }

    /// Returns the steps of the rate in ascending order. The rate of the last step is zero.
    #[must_use]
    pub(crate) fn steps(&self) -> Vec<Step> {
        let levels = self.levels().into_iter();
        let requests = |level: i128| u64::try_from((level + ONE - 1) / ONE).unwrap_or(u64::MAX);
        levels.map(|(minute, level, _)| Step { minute, requests: requests(level) }).collect()
    }

    #[must_use]
    pub(crate) fn busiest(&self) -> Option<Busiest> {
        let levels = self.levels();
        let &(minute, level, shift) = levels.iter().rev().max_by_key(|(_, level, _)| *level)?;
        let requests = u64::try_from((level << shift) / ONE).unwrap_or(u64::MAX);
        Some(Busiest { minute, requests, window_minutes: 1 << shift }).filter(|busiest| busiest.requests > 0)
    }

    /// Returns the rate over all timelines that were added. `all` is the sum of these timelines. The windows of `all`
    /// are as wide as the widest window of any timeline. So one client that is active for days would flatten the peak
    /// in `all`. Therefore the peak comes from these [`RequestRates`] if the windows of `all` are wider than a
    /// minute.
    #[must_use]
    pub(crate) fn rate(&self, all: &Timeline) -> Option<Rate> {
        Self::rate_of(all, || self)
    }

    /// Like [`RequestRates::rate`], but calls `rates` only if the windows of the timeline `all` are wider than a
    /// minute. Otherwise the timeline alone gives the rate.
    pub(crate) fn rate_of<R: Borrow<Self>>(all: &Timeline, rates: impl FnOnce() -> R) -> Option<Rate> {
        let rate = all.rate()?;
        if rate.window_minutes == 1 {
            return Some(rate);
        }
        let Some(busiest) = rates().borrow().busiest() else { return Some(rate) };
        Some(Rate {
            peak: busiest.requests,
            peak_at: i64::try_from(busiest.minute).unwrap_or(0).saturating_mul(MINUTE),
            window_minutes: busiest.window_minutes,
            ..rate
        })
    }
}

impl Merge for RequestRates {
    fn merge(&mut self, other: Self) {
        for (at, change) in other.changes {
            *self.changes.entry(at).or_default() += change;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(windows: &[(u64, u64, u64)]) -> RequestRates {
        let mut rates = RequestRates::default();
        for &(minute, width, requests) in windows {
            rates.add(minute, width, requests);
        }
        rates
    }

    #[test]
    fn exact_minute_exceeds_wide_windows() {
        let rates = rates(&[(8, 4, 6), (12, 4, 6), (13, 1, 600), (40, 1, 600)]);
        // The rate is 601.5 requests per minute.
        assert_eq!(rates.busiest(), Some(Busiest { minute: 13, requests: 2_406, window_minutes: 4 }));
        let steps = [(8, 2), (12, 2), (13, 602), (14, 2), (16, 0), (40, 600), (41, 0)];
        assert_eq!(rates.steps(), steps.map(|(minute, requests)| Step { minute, requests }));
    }

    #[test]
    fn busiest_exact_minute_has_a_window_of_one() {
        let busiest = Busiest { minute: 40, requests: 3, window_minutes: 1 };
        assert_eq!(rates(&[(8, 4, 6), (40, 1, 1), (40, 1, 2), (50, 1, 3)]).busiest(), Some(busiest));
        assert_eq!(rates(&[]).busiest(), None);
        assert_eq!(rates(&[(3, 1, 0)]).busiest(), None);
    }

    #[test]
    fn rate_keeps_a_burst_beside_steady_load() {
        let at = |minutes: &mut dyn Iterator<Item = i64>| {
            let mut timeline = Timeline::default();
            minutes.for_each(|minute| timeline.record(minute * MINUTE));
            timeline
        };
        let (steady, burst) = (at(&mut (0..4_000)), at(&mut std::iter::repeat_n(2_001, 600)));
        let (mut rates, mut all) = (RequestRates::default(), steady.clone());
        rates.add_all(&steady);
        rates.add_all(&burst);
        all.merge(burst);
        let rate = rates.rate(&all).expect("requests");
        assert_eq!((rate.peak, rate.window_minutes, rate.peak_at / MINUTE), (601 * 4, 4, 2_001));
        assert_eq!(rate.active_minutes, 4_000);
        assert_eq!(all.rate().map(|rate| rate.peak), Some(604));
    }
}
