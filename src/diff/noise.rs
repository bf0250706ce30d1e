//! Whether two rates differ by more than chance.

/// A difference counts if it is more than this many standard errors. By chance, one of 1,000 equal pairs differs by
/// more.
const DECIDED: f64 = 3.3;

/// The 99th percentile of Student's t: up to these degrees of freedom, the value. With more, it is below [`DECIDED`].
const STUDENT_T: [(f64, f64); 4] = [(2.0, 6.96), (3.0, 4.54), (4.0, 3.75), (5.0, 3.36)];

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
pub(crate) fn rate(samples: &[RateSample]) -> f64 {
    let sum = pooled(samples);
    if sum.units > 0.0 { sum.requests / sum.units } else { 0.0 }
}

fn pooled(samples: &[RateSample]) -> RateSample {
    let sum = |of: fn(&RateSample) -> f64| samples.iter().map(of).sum();
    RateSample { requests: sum(|sample| sample.requests), units: sum(|sample| sample.units) }
}

/// The lowest and the highest rate of a run; `None` without units.
pub(crate) fn range(samples: &[RateSample]) -> Option<(f64, f64)> {
    let rates =
        || samples.iter().filter(|sample| sample.units > 0.0).map(|sample| sample.requests / sample.units);
    let (low, high) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    Some((low, high))
}

/// How the counts of one run vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WithinRuns {
    /// The variance of the requests per minute divided by the mean: 1 for a Poisson process, and more for bursts.
    pub(crate) dispersion: f64,
    /// All runs are about equally long, or rates are not over time.
    pub(crate) has_similar_lengths: bool,
}

/// Compares the rates of two sides.
///
/// The statistic is the difference of the square roots of both counts, which has the same spread for all rates of a
/// Poisson process. Source: Gu, Ng, Tang, Schucany: "Testing the ratio of two Poisson rates", Biometrical Journal 50
/// (2008), statistic W5 of Huffman.
///
/// With several runs a side, each rate of one side must also be above each rate of the other side.
pub(crate) fn compare(before: &[RateSample], after: &[RateSample], within: WithinRuns) -> RateChange {
    let [first, second] = [before, after].map(pooled);
    if first.units <= 0.0 || second.units <= 0.0 {
        return RateChange::Undecided;
    }
    let ratio = second.units / first.units;
    let difference = 2.0 * ((second.requests + 0.375).sqrt() - (ratio * (first.requests + 0.375)).sqrt())
        / (1.0 + ratio).sqrt();
    let statistic = difference / dispersion(before, after, within).sqrt();
    let (Some(before), Some(after)) = (range(before), range(after)) else { return RateChange::Undecided };
    if statistic > DECIDED && after.0 > before.1 {
        RateChange::More
    } else if statistic < -DECIDED && after.1 < before.0 {
        RateChange::Less
    } else {
        RateChange::Undecided
    }
}

/// How much counts vary, compared with a Poisson process; at least 1.
///
/// With several runs a side, it is the spread of the runs. Few runs may have a small spread by chance, so it is enlarged
/// by Student's t. With one run, it is the spread of the minutes. A request that only one side sends has no bursts to
/// compare; then it is 1 if the runs are about equally long.
pub(super) fn dispersion(before: &[RateSample], after: &[RateSample], within: WithinRuns) -> f64 {
    let is_new = [before, after].iter().any(|samples| pooled(samples).requests == 0.0);
    let of_minutes = if is_new && within.has_similar_lengths { 1.0 } else { within.dispersion };
    let Some((spread, degrees)) = spread(before, after) else { return of_minutes.max(1.0) };
    let student_t = STUDENT_T.iter().find(|(most, _)| degrees <= *most).map_or(DECIDED, |(_, value)| *value);
    let enlarged = spread * (student_t / DECIDED).powi(2);
    let is_enough = degrees >= 2.0 && within.has_similar_lengths;
    if is_enough { enlarged.max(1.0) } else { spread.max(of_minutes).max(1.0) }
}

/// Whether a source has another share of the requests, by more than chance. Each side has the requests of the source, and
/// all requests.
pub(super) fn is_other_share([before, after]: [(f64, f64); 2]) -> bool {
    let share = |(own, all): (f64, f64)| own / all;
    let is_all_or_none = before.0 <= 0.0 && after.0 >= after.1;
    let pooled = (before.0 + after.0) / (before.1 + after.1);
    let variance = pooled * (1.0 - pooled) * (1.0 / before.1 + 1.0 / after.1);
    is_all_or_none || is_more_than_chance(share(after) - share(before), variance)
}

/// Whether a number of requests is above the number that a limit allows, by more than chance. A limit is not measured,
/// so only the requests vary. For the statistic, see [`compare`].
pub(crate) fn is_above_limit(requests: f64, allowed: f64, dispersion: f64) -> bool {
    let difference = 2.0 * ((requests + 0.375).sqrt() - (allowed + 0.375).sqrt());
    difference > DECIDED * dispersion.max(1.0).sqrt()
}

/// Whether a difference is more than chance, given its variance.
pub(super) fn is_more_than_chance(difference: f64, variance: f64) -> bool {
    difference.abs() > DECIDED * variance.sqrt() && difference != 0.0
}

/// The index of dispersion between the runs of each side, with its degrees of freedom; `None` if each side has one run.
fn spread(before: &[RateSample], after: &[RateSample]) -> Option<(f64, f64)> {
    let (mut sum, mut degrees) = (0.0, 0.0);
    for samples in [before, after] {
        let rate = rate(samples);
        let runs = samples.iter().filter(|sample| sample.units > 0.0 && rate > 0.0);
        let mut count = 0.0;
        for sample in runs {
            let expected = rate * sample.units;
            sum += (sample.requests - expected).powi(2) / expected;
            count += 1.0;
        }
        degrees += f64::max(count - 1.0, 0.0);
    }
    (degrees > 0.0).then(|| (sum / degrees, degrees))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POISSON: WithinRuns = WithinRuns { dispersion: 1.0, has_similar_lengths: true };

    fn runs(runs: &[(f64, f64)]) -> Vec<RateSample> {
        runs.iter().map(|(requests, units)| RateSample { requests: *requests, units: *units }).collect()
    }

    #[test]
    fn chance_decides_nothing() {
        let one = |before, after| compare(&runs(&[before]), &runs(&[after]), POISSON);
        assert_eq!(one((100.0, 10.0), (125.0, 10.0)), RateChange::Undecided);
        assert_eq!(one((100.0, 10.0), (160.0, 10.0)), RateChange::More);
        assert_eq!(one((100.0, 10.0), (1_000.0, 100.0)), RateChange::Undecided);
        assert_eq!(one((0.0, 10.0), (3.0, 10.0)), RateChange::Undecided);
        assert_eq!(one((0.0, 10.0), (30.0, 10.0)), RateChange::More);
        assert_eq!(one((30.0, 10.0), (0.0, 10.0)), RateChange::Less);
        let bursts = WithinRuns { dispersion: 20.0, has_similar_lengths: true };
        assert_eq!(compare(&runs(&[(100.0, 10.0)]), &runs(&[(160.0, 10.0)]), bursts), RateChange::Undecided);
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
        assert_eq!(compare(&wide, &more, POISSON), RateChange::Undecided);
        assert_eq!(compare(&narrow, &more, POISSON), RateChange::More);
        assert_eq!(compare(&more, &narrow, POISSON), RateChange::Less);
    }

    /// The promise of docs/diff.md for several runs: bursts of 20 requests, at random times.
    #[test]
    fn bursts_in_several_runs_decide_in_less_than_three_of_a_hundred_pairs() {
        let mut rng = synth::Rng::new(1);
        let mut run = || {
            let bursts = (0..400).filter(|_| rng.below(20) == 0).count();
            RateSample { requests: 20.0 * f64::from(u32::try_from(bursts).expect("few")), units: 10.0 }
        };
        for runs in [2, 3, 5] {
            let mut side = || (0..runs).map(|_| run()).collect::<Vec<RateSample>>();
            let decided =
                (0..1_000).filter(|_| compare(&side(), &side(), POISSON) != RateChange::Undecided).count();
            assert!(decided < 30, "{decided} of 1,000 pairs with {runs} runs a side");
        }
    }

    proptest! {
        #[test]
        fn swapped_sides_give_the_opposite(a in 0_u32..500, b in 0_u32..500, t in 1_u32..100, u in 1_u32..100) {
            let [first, second] = [(a, t), (b, u)].map(|(n, t)| runs(&[(f64::from(n), f64::from(t))]));
            let opposite = match compare(&second, &first, POISSON) {
                RateChange::More => RateChange::Less,
                RateChange::Less => RateChange::More,
                RateChange::Undecided => RateChange::Undecided,
            };
            prop_assert_eq!(compare(&first, &second, POISSON), opposite);
            prop_assert_eq!(compare(&first, &first, POISSON), RateChange::Undecided);
        }
    }
}
