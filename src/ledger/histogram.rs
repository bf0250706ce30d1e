//! A histogram of durations. Its buckets are fixed, with eight buckets for each doubling of the duration. A percentile
//! is at most 12.5 % too large. Only buckets with counts take memory.

use super::Merge;
use super::packed::Packed;

/// A histogram of durations in microseconds. Count, sum, minimum and maximum are exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Packed,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn record(&mut self, micros: u64) {
        self.buckets.add(bucket_of(micros), 1);
        self.min = if self.count == 0 { micros } else { self.min.min(micros) };
        self.max = self.max.max(micros);
        self.count += 1;
        self.sum = self.sum.saturating_add(micros);
    }

    #[must_use]
    pub(crate) fn into_buckets(mut self) -> Buckets {
        self.buckets.shrink();
        Buckets(self.buckets)
    }

    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all durations, in microseconds.
    #[must_use]
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// The shortest duration, in microseconds. `None` if the histogram is empty.
    #[must_use]
    pub(crate) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The longest duration, in microseconds. `None` if the histogram is empty.
    #[must_use]
    pub(crate) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The upper end of the bucket that contains this percentile, or the maximum if that is smaller.
    #[must_use]
    pub(crate) fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut counted = 0;
        for (bucket, count) in self.buckets.counts() {
            counted += count;
            if counted >= rank {
                return Some(upper_end(bucket).clamp(self.min, self.max));
            }
        }
        None
    }
}

impl Merge for Histogram {
    fn merge(&mut self, other: Self) {
        if self.count == 0 { *self = other } else { self.merge_from(&other) }
    }
}

/// The counts of a histogram, by bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Buckets(Packed);

impl Buckets {
    /// Iterates over the buckets in ascending order: the largest duration of each bucket, and its count.
    pub(crate) fn upper_ends(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.counts().into_iter().map(|(bucket, count)| (upper_end(bucket), count))
    }
}

impl Histogram {
    /// Like [`Merge::merge`], but does not consume `other`.
    pub(crate) fn merge_from(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.buckets.add_all(&other.buckets);
    }
}

/// Below 8, each value has its own bucket. For larger values, the highest bit that is set and the three bits after it
/// choose the bucket.
#[allow(clippy::cast_possible_truncation, reason = "there are 496 buckets")]
fn bucket_of(micros: u64) -> u32 {
    if micros < 8 {
        return micros as u32;
    }
    let exponent = micros.ilog2();
    (exponent - 2) * 8 + ((micros >> (exponent - 3)) & 7) as u32
}

fn upper_end(bucket: u32) -> u64 {
    if bucket < 8 {
        return bucket.into();
    }
    let shift = bucket / 8 - 1;
    // The last bucket ends at `u64::MAX`.
    ((u128::from(8 + bucket % 8 + 1) << shift) - 1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for value in values {
            histogram.record(*value);
        }
        histogram
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_values(micros: u64) {
            let bucket = bucket_of(micros);
            prop_assert!(upper_end(bucket) >= micros);
            prop_assert!(bucket == 0 || upper_end(bucket - 1) < micros);
        }

        #[test]
        fn quantiles_are_off_by_an_eighth_at_most(
            mut values in prop::collection::vec(0_u64..100_000_000, 1..200),
            percent in 1_u64..=100,
        ) {
            let got = histogram(&values).percentile(percent).expect("not empty");
            values.sort_unstable();
            let rank = (values.len() as u64 * percent).div_ceil(100).max(1);
            let exact = values[usize::try_from(rank).expect("small") - 1];
            prop_assert!(got >= exact && got <= exact + exact / 8, "{} for {}", got, exact);
        }

        #[test]
        fn merged_histograms_equal_one_of_all_values(
            left in prop::collection::vec(0_u64..1 << 40, 0..50),
            right in prop::collection::vec(0_u64..1 << 40, 0..50),
        ) {
            let mut merged = histogram(&left);
            merged.merge(histogram(&right));
            prop_assert_eq!(merged, histogram(&[left, right].concat()));
        }
    }

    #[test]
    fn longest_duration_is_counted_in_the_last_bucket() {
        for hits in 1..40_u64 {
            let histogram = histogram(&(0..hits).collect::<Vec<_>>());
            assert_eq!(histogram.percentile(100), Some(hits - 1));
            assert_eq!(histogram.into_buckets().upper_ends().map(|(_, count)| count).sum::<u64>(), hits);
        }
    }

    #[test]
    fn empty_histogram_has_no_quantiles() {
        assert_eq!(Histogram::default().percentile(50), None);
        assert_eq!(Histogram::default().min(), None);
    }
}
