//! Whether two rates differ by more than chance.

/// A difference counts if it is more than this many standard errors. By chance, one of 1,000 equal pairs differs by
/// more.
const DECIDED: f64 = 3.3;

/// The requests of one run, and the units in which it sent them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateSample {
    pub(crate) requests: f64,
    pub(crate) units: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateChange {
    More,
    Less,
    /// The rates are equal, or differ by no more than chance.
    Undecided,
}

/// The rate of all runs together. Zero without units.
pub(super) fn rate(samples: &[RateSample]) -> f64 {
    let sum = pooled(samples);
    if sum.units > 0.0 { sum.requests / sum.units } else { 0.0 }
}

fn pooled(samples: &[RateSample]) -> RateSample {
    let sum = |of: fn(&RateSample) -> f64| samples.iter().map(of).sum();
    RateSample { requests: sum(|sample| sample.requests), units: sum(|sample| sample.units) }
}

/// The lowest and the highest rate of a run; `None` without units.
pub(super) fn range(samples: &[RateSample]) -> Option<(f64, f64)> {
    let rates =
        || samples.iter().filter(|sample| sample.units > 0.0).map(|sample| sample.requests / sample.units);
    let (low, high) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    Some((low, high))
}

/// Compares the rates of two sides.
///
/// The statistic is the difference of the square roots of both counts, which has the same spread for all rates of a
/// Poisson process. Source: Gu, Ng, Tang, Schucany: "Testing the ratio of two Poisson rates", Biometrical Journal 50
/// (2008), statistic W5 of Huffman. `dispersion` is the variance divided by the mean. It is 1 for a Poisson process
/// and more for bursts.
///
/// With several runs a side, their spread is the dispersion. Then each rate of one side must also be above each rate
/// of the other side.
pub(crate) fn compare(before: &[RateSample], after: &[RateSample], dispersion: f64) -> RateChange {
    let [first, second] = [before, after].map(pooled);
    if first.units <= 0.0 || second.units <= 0.0 {
        return RateChange::Undecided;
    }
    let ratio = second.units / first.units;
    let difference = 2.0 * ((second.requests + 0.375).sqrt() - (ratio * (first.requests + 0.375)).sqrt())
        / (1.0 + ratio).sqrt();
    let statistic = difference / self::dispersion(before, after, dispersion).sqrt();
    let (Some(before), Some(after)) = (range(before), range(after)) else { return RateChange::Undecided };
    if statistic > DECIDED && after.0 > before.1 {
        RateChange::More
    } else if statistic < -DECIDED && after.1 < before.0 {
        RateChange::Less
    } else {
        RateChange::Undecided
    }
}

/// Whether a number of requests is above the number that a limit allows, by more than chance. A limit is not measured,
/// so only the requests vary. For the statistic, see [`compare`].
pub(crate) fn is_above_limit(requests: f64, allowed: f64, dispersion: f64) -> bool {
    let difference = 2.0 * ((requests + 0.375).sqrt() - (allowed + 0.375).sqrt());
    difference > DECIDED * dispersion.max(1.0).sqrt()
}

/// The index of dispersion: from the spread between runs if a side has several, else the given one. At least 1.
pub(super) fn dispersion(before: &[RateSample], after: &[RateSample], given: f64) -> f64 {
    spread(before, after).unwrap_or(given).max(1.0)
}

/// Whether a difference is more than chance, given its variance.
pub(super) fn is_more_than_chance(difference: f64, variance: f64) -> bool {
    difference.abs() > DECIDED * variance.sqrt() && difference != 0.0
}

/// The index of dispersion between the runs of each side; `None` if each side has one run.
fn spread(before: &[RateSample], after: &[RateSample]) -> Option<f64> {
    let (mut sum, mut degrees) = (0.0, 0.0);
    for samples in [before, after] {
        let rate = rate(samples);
        for sample in samples.iter().filter(|sample| sample.units > 0.0 && rate > 0.0) {
            let expected = rate * sample.units;
            sum += (sample.requests - expected).powi(2) / expected;
            degrees += 1.0;
        }
        degrees -= f64::from(u8::from(!samples.is_empty() && rate > 0.0));
    }
    (before.len().max(after.len()) > 1 && degrees > 0.0).then(|| sum / degrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(runs: &[(f64, f64)]) -> Vec<RateSample> {
        runs.iter().map(|(requests, units)| RateSample { requests: *requests, units: *units }).collect()
    }

    #[test]
    fn chance_decides_nothing() {
        let one = |before, after| compare(&runs(&[before]), &runs(&[after]), 1.0);
        assert_eq!(one((100.0, 10.0), (125.0, 10.0)), RateChange::Undecided);
        assert_eq!(one((100.0, 10.0), (160.0, 10.0)), RateChange::More);
        assert_eq!(one((100.0, 10.0), (1_000.0, 100.0)), RateChange::Undecided);
        assert_eq!(one((0.0, 10.0), (3.0, 10.0)), RateChange::Undecided);
        assert_eq!(one((0.0, 10.0), (30.0, 10.0)), RateChange::More);
        assert_eq!(one((30.0, 10.0), (0.0, 10.0)), RateChange::Less);
        assert_eq!(compare(&runs(&[(100.0, 10.0)]), &runs(&[(160.0, 10.0)]), 20.0), RateChange::Undecided);
        assert_eq!(one((1.0, 0.0), (160.0, 10.0)), RateChange::Undecided);
    }

    #[test]
    fn a_limit_is_exceeded_only_beyond_chance() {
        assert!(!is_above_limit(120.0, 100.0, 1.0) && is_above_limit(140.0, 100.0, 1.0));
        assert!(!is_above_limit(140.0, 100.0, 10.0) && !is_above_limit(100.0, 100.0, 1.0));
        assert!(!is_above_limit(4.0, 0.0, 1.0) && is_above_limit(5.0, 0.0, 1.0));
        assert!(!is_above_limit(0.0, 100.0, 1.0));
    }

    #[test]
    fn the_spread_of_runs_is_the_noise() {
        let wide = runs(&[(50.0, 10.0), (150.0, 10.0), (100.0, 10.0)]);
        let narrow = runs(&[(99.0, 10.0), (101.0, 10.0), (100.0, 10.0)]);
        let more = runs(&[(159.0, 10.0), (161.0, 10.0), (160.0, 10.0)]);
        assert_eq!(compare(&wide, &more, 1.0), RateChange::Undecided);
        assert_eq!(compare(&narrow, &more, 1.0), RateChange::More);
        assert_eq!(compare(&more, &narrow, 1.0), RateChange::Less);
    }

    proptest! {
        #[test]
        fn swapped_sides_give_the_opposite(a in 0_u32..500, b in 0_u32..500, t in 1_u32..100, u in 1_u32..100) {
            let [first, second] = [(a, t), (b, u)].map(|(n, t)| runs(&[(f64::from(n), f64::from(t))]));
            let opposite = match compare(&second, &first, 1.0) {
                RateChange::More => RateChange::Less,
                RateChange::Less => RateChange::More,
                RateChange::Undecided => RateChange::Undecided,
            };
            prop_assert_eq!(compare(&first, &second, 1.0), opposite);
            prop_assert_eq!(compare(&first, &first, 1.0), RateChange::Undecided);
        }
    }
}
