//! One client, and each of its request shapes, in the runs of both sides.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::{Difference, PhaseDifference, Phases, RequestDifference};
use super::noise::{self, RateChange, RateSample, WithinRuns};
use super::unit::UnitSize;
use crate::profile::{ClientProfile, ShapeProfile};

/// Runs have similar lengths if the longest is at most this many times as long as the shortest.
const SIMILAR: f64 = 1.5;
/// A run of fewer minutes shows hardly any steady state.
const TOO_SHORT: f64 = 2.0;
/// Rates have rounding errors.
const ROUNDING: f64 = 1e-9;
/// If both sides have fewer requests, a difference without a decision gets no row.
const FEW: u64 = 5;
/// The smallest relative difference without a decision that gets a row.
const MIN_UNDECIDED: f64 = 0.2;

/// One run, with its clients under the names that are compared.
pub(super) struct FoldedRun {
    pub(super) clients: BTreeMap<String, ClientProfile>,
    pub(super) units: UnitSize,
    pub(super) minutes: f64,
}

/// The requests of each run, by side.
pub(super) type Samples = [Vec<RateSample>; 2];

/// A client in one run.
struct ClientInRun<'a> {
    client: &'a ClientProfile,
    minutes: f64,
    units: f64,
    starts: f64,
}

/// A client in the runs of both sides.
pub(super) struct ComparedClient<'a> {
    name: &'a str,
    sides: [Vec<ClientInRun<'a>>; 2],
    has_similar_lengths: bool,
    /// A side shows hardly any steady state.
    pub(super) is_too_short: bool,
}

impl<'a> ComparedClient<'a> {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn new(name: &'a str, sides: &'a [Vec<FoldedRun>; 2], is_over_time: bool) -> Self {
        static ABSENT: ClientProfile =
            ClientProfile { minutes: 0.0, starts: 1, was_running: false, shapes: BTreeMap::new() };
        let in_run = |run: &'a FoldedRun| {
            let present = run.clients.get(name);
            let minutes = present.map_or(run.minutes, |client| client.minutes);
            let client = present.unwrap_or(&ABSENT);
            ClientInRun { client, minutes, units: run.units.of(minutes), starts: client.starts.max(1) as f64 }
        };
        let sides: [Vec<ClientInRun<'a>>; 2] = sides.each_ref().map(|runs| runs.iter().map(in_run).collect());
        let minutes = || sides.iter().flatten().map(|run| run.minutes);
        let (shortest, longest) = (minutes().fold(f64::INFINITY, f64::min), minutes().fold(0.0, f64::max));
        let longest_of = |runs: &Vec<ClientInRun<'_>>| runs.iter().map(|run| run.minutes).fold(0.0, f64::max);
        Self {
            name,
            has_similar_lengths: !is_over_time || longest <= shortest * SIMILAR,
            is_too_short: is_over_time && sides.iter().any(|runs| longest_of(runs) < TOO_SHORT),
            sides,
        }
    }

    /// Whether all runs of a side begin after the client's start.
    pub(super) fn has_no_start(&self) -> bool {
        self.sides.iter().any(|runs| runs.iter().all(|run| run.client.was_running))
    }

    /// All shapes of the client's requests.
    pub(super) fn shapes(&self) -> BTreeSet<&'a String> {
        self.sides.iter().flatten().flat_map(|run| run.client.shapes.keys()).collect()
    }

    fn profiles(&self, side: usize, shape: &str) -> impl Iterator<Item = &'a ShapeProfile> {
        self.sides[side].iter().filter_map(move |run| run.client.shapes.get(shape))
    }

    /// The part of a shape's requests on a side that `of` counts, from 0 to 1.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn fraction(&self, side: usize, shape: &str, of: fn(&ShapeProfile) -> u64) -> f64 {
        let (part, all) = self
            .profiles(side, shape)
            .fold((0, 0), |(part, all), shape| (part + of(shape), all + shape.requests()));
        part as f64 / all.max(1) as f64
    }

    pub(super) fn shape(&self, shape: &'a str) -> ComparedShape<'a> {
        let profiles = || (0..2).flat_map(|side| self.profiles(side, shape));
        // A shape that one run sends only at its start, and another one also later, is in the steady state of both:
        // the first run may be too short to show more.
        let is_steady = profiles().any(|shape| shape.steady > 0);
        let within = WithinRuns {
            dispersion: profiles().map(|shape| shape.dispersion).fold(1.0, f64::max),
            has_similar_lengths: self.has_similar_lengths,
        };
        let sample =
            |run: &ClientInRun<'_>, requests: &dyn Fn(&ShapeProfile) -> u64, units: f64| RateSample {
                #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
                requests: run.client.shapes.get(shape).map_or(0.0, |shape| requests(shape) as f64),
                units,
            };
        let per_unit = |requests: &dyn Fn(&ShapeProfile) -> u64| -> Samples {
            let of_side = |runs: &Vec<ClientInRun<'_>>| {
                runs.iter().map(|run| sample(run, requests, run.units)).collect()
            };
            self.sides.each_ref().map(of_side)
        };
        let per_start =
            |requests: &dyn Fn(&ShapeProfile) -> u64, is_known: &dyn Fn(&ShapeProfile) -> bool| -> Samples {
                self.sides.each_ref().map(|runs| {
                    let with_start = runs.iter().filter(|run| !run.client.was_running);
                    let known = with_start.filter(|run| run.client.shapes.get(shape).is_none_or(is_known));
                    known.map(|run| sample(run, requests, run.starts)).collect()
                })
            };
        let once = |shape: &ShapeProfile| if is_steady { 0 } else { shape.once };
        let sum = |side: usize| {
            let mut sum = ShapeProfile::default();
            self.profiles(side, shape).for_each(|shape| sum.add(shape));
            sum
        };
        let start = per_start(&|shape| shape.informer_starts + once(shape), &|_| true);
        let informers = ComparedPhase::certain(per_start(&|shape| shape.informer_starts, &|_| true));
        let once_at_start = ComparedPhase::random(per_start(&once, &|_| true), within);
        let mut steady =
            ComparedPhase::random(per_unit(&|shape| shape.steady + shape.once - once(shape)), within);
        steady.is_decided &= !self.is_too_short;
        // If a log has no WATCH requests, an informer's first LIST is one of the other requests of the start.
        let start_differs = (noise::rate(&start[0]) - noise::rate(&start[1])).abs() > ROUNDING;
        ComparedShape {
            client: self.name,
            shape,
            sums: [sum(0), sum(1)],
            start: ComparedPhase {
                is_decided: start_differs && (informers.is_decided || once_at_start.is_decided),
                dispersion: 1.0,
                samples: start,
            },
            informers,
            once: once_at_start,
            steady,
            watches: ComparedPhase::certain(per_start(&|shape| shape.watches, &|shape| !shape.is_partial)),
        }
    }
}

/// The requests of a phase on both sides.
pub(super) struct ComparedPhase {
    pub(super) samples: Samples,
    pub(super) is_decided: bool,
    /// How much the counts vary, compared with a Poisson process.
    pub(super) dispersion: f64,
}

impl ComparedPhase {
    fn random(samples: Samples, within: WithinRuns) -> Self {
        let is_decided = noise::compare(&samples[0], &samples[1], within) != RateChange::Undecided;
        let dispersion = noise::dispersion(&samples[0], &samples[1], within);
        Self { samples, is_decided, dispersion }
    }

    /// Informers and watches. Each start of a program has the same number, so a whole number for each start varies by
    /// chance only if the program changes, and so does a number above zero.
    fn certain(samples: Samples) -> Self {
        let sum = |side: usize| samples[side].iter().map(|sample| sample.requests).sum::<f64>();
        let is_known = samples.iter().all(|samples| !samples.is_empty());
        let appears = is_known && (sum(0) == 0.0) != (sum(1) == 0.0);
        let are_whole =
            samples.iter().flatten().all(|sample| (sample.requests / sample.units).fract() == 0.0);
        if !appears && !are_whole {
            return Self::random(samples, WithinRuns { dispersion: 1.0, has_similar_lengths: true });
        }
        let [before, after] = samples.each_ref().map(|samples| noise::range(samples));
        let is_apart =
            before.zip(after).is_some_and(|(before, after)| after.0 > before.1 || before.0 > after.1);
        Self { is_decided: is_apart, dispersion: 0.0, samples }
    }

    /// The rates before and after; `None` if the logs of a side do not show the phase.
    pub(super) fn rates(&self) -> Option<[f64; 2]> {
        let is_known = self.samples.iter().all(|samples| !samples.is_empty());
        is_known.then(|| self.samples.each_ref().map(|samples| noise::rate(samples)))
    }

    fn difference(&self) -> PhaseDifference {
        let rate = |side: usize| (!self.samples[side].is_empty()).then(|| noise::rate(&self.samples[side]));
        PhaseDifference { before: rate(0), after: rate(1), is_decided: self.is_decided }
    }
}

/// A shape of a client in the runs of both sides.
pub(super) struct ComparedShape<'a> {
    client: &'a str,
    pub(super) shape: &'a str,
    sums: [ShapeProfile; 2],
    /// The first LISTs of informers, and other requests of the start.
    start: ComparedPhase,
    pub(super) informers: ComparedPhase,
    pub(super) once: ComparedPhase,
    pub(super) steady: ComparedPhase,
    pub(super) watches: ComparedPhase,
}

impl ComparedShape<'_> {
    fn phases(&self) -> Phases {
        Phases {
            start: self.start.difference(),
            steady: self.steady.difference(),
            watches: self.watches.difference(),
        }
    }

    /// The change, if it is more than chance.
    pub(super) fn change(&self) -> Option<Difference> {
        let phases = self.phases();
        let decided =
            || phases.all().into_iter().filter(|phase| phase.is_decided).filter_map(PhaseDifference::rates);
        if decided().next().is_none() {
            return self.is_served_from_elsewhere().then_some(Difference::ServedFromElsewhere);
        }
        Some(match [0, 1].map(|side| self.sums[side].requests()) {
            [0, _] => Difference::New,
            [_, 0] => Difference::Gone,
            _ if decided().any(|(before, after)| after > before) => Difference::More,
            _ => Difference::Less,
        })
    }

    /// Whether the source of most requests differs by more than chance. A source that has all requests of one side and
    /// none of the other cannot do so by chance, because one server serves equal requests from one place.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn is_served_from_elsewhere(&self) -> bool {
        let source = self.sums[1].main_source();
        let counts = self.sums.each_ref().map(|sum| {
            let all = sum.accepted().map(|(_, requests)| requests).sum::<u64>();
            let own =
                sum.accepted().filter(|(name, _)| *name == source).map(|(_, requests)| requests).sum::<u64>();
            (own as f64, all as f64)
        });
        let is_other = self.sums[0].main_source() != source && counts.iter().all(|(_, all)| *all > 0.0);
        is_other && noise::is_other_share(counts)
    }

    /// The change that a phase without a decision would be, if it is worth a row.
    pub(super) fn undecided(&self) -> Option<Difference> {
        let phases = self.phases();
        let rates = |phase: &PhaseDifference| phase.rates().filter(|_| phase.size() >= MIN_UNDECIDED);
        let largest = phases.all().into_iter().max_by(|a, b| a.size().total_cmp(&b.size()))?;
        let requests = [0, 1].map(|side| self.sums[side].requests());
        if requests.iter().all(|requests| (1..FEW).contains(requests)) {
            return None;
        }
        // Without a start on one side, only the other side shows the phase.
        let is_on_one_side = |phase: &PhaseDifference| {
            phase.rates().is_none() && phase.before.or(phase.after).is_some_and(|rate| rate > 0.0)
        };
        let is_new_or_gone = requests.contains(&0) && phases.all().into_iter().any(is_on_one_side);
        if rates(largest).is_none() && !is_new_or_gone {
            return None;
        }
        Some(match requests {
            [0, 0] => return None,
            [0, _] => Difference::New,
            [_, 0] => Difference::Gone,
            _ if rates(largest).is_some_and(|(before, after)| after > before) => Difference::More,
            _ => Difference::Less,
        })
    }

    pub(super) fn into_difference(self, change: Difference) -> RequestDifference {
        let source = |side: usize| {
            Some(self.sums[side].main_source().to_owned()).filter(|_| self.sums[side].requests() > 0)
        };
        RequestDifference {
            client: self.client.to_owned(),
            shape: self.shape.to_owned(),
            change,
            source_before: source(0),
            source_after: source(1),
            phases: self.phases(),
        }
    }
}
