//! Times that several patterns share.

/// One second in microseconds.
pub(super) const SECOND: i64 = 1_000_000;
/// LISTs or watches of one instance within this time belong to one start. In microseconds.
pub(super) const START: i64 = 60 * SECOND;

/// The largest number of timestamps within an hour. The timestamps must be sorted.
pub(super) fn most_in_an_hour(timestamps: impl Iterator<Item = i64>) -> u64 {
    let timestamps: Vec<i64> = timestamps.collect();
    let until = |from: &i64| timestamps.partition_point(|at| *at < from + 3_600 * SECOND);
    timestamps.iter().enumerate().map(|(first, from)| (until(from) - first) as u64).max().unwrap_or(0)
}
