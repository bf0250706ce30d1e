//! Compares the clients and request shapes of both sides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::comparable;
use super::contract::{
    DiffFinding, DiffReport, DiffRun, DiffSide, DiffTotal, Difference, PhaseDifference, Phases,
    RequestDifference,
};
use super::fail_on::DiffFailOn;
use super::names::NameFolding;
use super::noise::{self, RateChange, RateSample};
use super::side::Side;
use super::unit::Unit;
use crate::profile::{ClientProfile, RunProfile, ShapeProfile};

/// Sums of whole numbers for each start have rounding errors.
const HALF: f64 = 0.5;
/// Runs are alike if the longest is at most this many times as long as the shortest.
const ALIKE: f64 = 1.5;
/// An undecided difference of this size is reported as undecided.
const WORTH_A_LINE: f64 = 0.2;

/// One run, with its clients under the names that are compared.
struct FoldedRun {
    clients: BTreeMap<String, ClientProfile>,
    /// The unit's size for clients without requests in the run.
    units: f64,
    units_by_client: BTreeMap<String, f64>,
    minutes: f64,
}

/// Compares two sides.
///
/// # Errors
/// If the sides cannot be compared, with the way out.
pub(crate) fn compare(
    base: &Side,
    new: &Side,
    unit: &Unit,
    folding: &NameFolding,
    fail_on: &[DiffFailOn],
) -> Result<DiffReport, String> {
    let sides = [folded(base, unit, folding)?, folded(new, unit, folding)?];
    let mut notes = comparable::notes(base, new, unit)?;
    let clients: [BTreeSet<&String>; 2] =
        [0, 1].map(|side| sides[side].iter().flat_map(|run| run.clients.keys()).collect());
    if clients[0].is_disjoint(&clients[1]) {
        return Err(comparable::no_common_client(&clients));
    }
    let mut totals = Totals::default();
    let (mut changes, mut not_decided, mut unchanged, mut running) = (Vec::new(), Vec::new(), 0, Vec::new());
    for client in clients[0].union(&clients[1]) {
        let own = ComparedClient::new(client, &sides, unit.is_over_time());
        if own.has_no_start() {
            running.push(client.as_str());
        }
        let shapes: BTreeSet<&String> = own.runs().flat_map(|run| run.client.shapes.keys()).collect();
        for shape in shapes {
            let compared = own.shape(shape, &mut totals);
            match compared.change() {
                Some(change) => changes.push(compared.into_difference(change)),
                None => match compared.undecided() {
                    Some(change) => not_decided.push(compared.into_difference(change)),
                    None => unchanged += 1,
                },
            }
        }
    }
    notes.extend(comparable::running_clients(&running));
    for rows in [&mut changes, &mut not_decided] {
        rows.sort_by_cached_key(RequestDifference::order);
        group_by_client(rows);
    }
    let findings = [findings("base", base, folding), findings("new", new, folding)];
    let only_in = |side: usize| -> Vec<DiffFinding> {
        let other: BTreeSet<_> = findings[1 - side].iter().map(DiffFinding::key).collect();
        let mut own: Vec<DiffFinding> = Vec::new();
        for finding in findings[side].iter().filter(|finding| !other.contains(&finding.key())) {
            if !own.iter().any(|known| known.key() == finding.key()) {
                own.push(finding.clone());
            }
        }
        own
    };
    let [(gone_findings, undecided_gone), (new_findings, mut undecided_findings)] = [0, 1].map(|side| {
        let is_decided = |finding: &DiffFinding| changes.iter().any(|change| finding.is_about(change));
        only_in(side).into_iter().partition::<Vec<_>, _>(is_decided)
    });
    undecided_findings.extend(undecided_gone);
    let mut report = DiffReport {
        schema_version: 1,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        per: unit.name(),
        base: side(base),
        new: side(new),
        totals: totals.into_vec(),
        changes,
        not_decided,
        unchanged,
        new_findings,
        gone_findings,
        undecided_findings,
        failures: Vec::new(),
        notes,
    };
    report.failures = fail_on.iter().filter_map(|condition| condition.failure(&report, unit)).collect();
    Ok(report)
}

/// Puts the rows of each client together, with costlier rows before cheaper ones. The first row of a client decides its
/// place.
fn group_by_client(rows: &mut [RequestDifference]) {
    let mut places = BTreeMap::new();
    for row in &*rows {
        let next = places.len();
        places.entry((row.is_cheaper(), row.client.clone())).or_insert(next);
    }
    rows.sort_by_key(|row| places[&(row.is_cheaper(), row.client.clone())]);
}

fn folded(side: &Side, unit: &Unit, folding: &NameFolding) -> Result<Vec<FoldedRun>, String> {
    let fold = |(path, run): &(String, RunProfile)| {
        let of_run = |message: String| format!("{path}: {message}");
        let name = |name: &str| folding.fold(name);
        let clients = folding.fold_clients(run);
        let units = |client: Option<&ClientProfile>| unit.size(run, client, name).map_err(of_run);
        let units_by_client = clients
            .iter()
            .map(|(name, client)| Ok((name.clone(), units(Some(client))?)))
            .collect::<Result<_, String>>()?;
        Ok(FoldedRun { units: units(None)?, units_by_client, clients, minutes: run.minutes.unwrap_or(0.0) })
    };
    side.runs.iter().map(fold).collect()
}

fn side(side: &Side) -> DiffSide {
    let runs = side.runs.iter().map(|(path, run)| DiffRun {
        path: path.clone(),
        requests: run.verbs.values().sum(),
        clients: run.clients.len() as u64,
        minutes: run.minutes,
    });
    let versions: BTreeSet<&String> = side.runs.iter().map(|(_, run)| &run.kube_version).collect();
    DiffSide { runs: runs.collect(), kube_versions: versions.into_iter().cloned().collect() }
}

fn findings(name: &'static str, side: &Side, folding: &NameFolding) -> Vec<DiffFinding> {
    let all = side.runs.iter().flat_map(|(_, run)| &run.findings);
    let of_clients = all.filter_map(|finding| {
        Some(DiffFinding {
            side: name,
            rule: finding.rule.clone(),
            rule_name: finding.rule_name.clone(),
            severity: finding.severity.clone(),
            client: folding.fold(finding.client.as_ref()?),
            shape: finding.shape.clone(),
            message: finding.message.clone(),
        })
    });
    of_clients.collect()
}

impl DiffFinding {
    /// Rules KT5 judge a client, and not one shape of its requests.
    fn key(&self) -> (&str, &str, Option<&str>) {
        (&self.rule, &self.client, self.shape.as_deref().filter(|_| !self.rule.starts_with("KT5")))
    }

    /// Whether the change is about the finding's requests.
    fn is_about(&self, change: &RequestDifference) -> bool {
        self.client == change.client && self.shape.as_ref().is_none_or(|shape| *shape == change.shape)
    }
}

/// The requests of each run, by side.
type Samples = [Vec<RateSample>; 2];

/// A client in one run.
struct ClientInRun<'a> {
    client: &'a ClientProfile,
    minutes: f64,
    units: f64,
    starts: f64,
}

/// A client in the runs of both sides.
struct ComparedClient<'a> {
    name: &'a str,
    sides: [Vec<ClientInRun<'a>>; 2],
    /// All runs cover about the same time of the client's life, or `--per` does not divide by time. So bursts are in
    /// all runs, and only the Poisson error of counts is chance. A short run may be between two bursts of a long run.
    is_alike: bool,
}

impl<'a> ComparedClient<'a> {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn new(name: &'a str, sides: &'a [Vec<FoldedRun>; 2], is_over_time: bool) -> Self {
        static ABSENT: ClientProfile =
            ClientProfile { minutes: 0.0, starts: 1, was_running: false, shapes: BTreeMap::new() };
        let in_run = |run: &'a FoldedRun| {
            let present = run.clients.get(name);
            let minutes = present.map_or(run.minutes, |client| client.minutes);
            let units = run.units_by_client.get(name).copied().unwrap_or(run.units);
            let client = present.unwrap_or(&ABSENT);
            ClientInRun { client, minutes, units, starts: client.starts.max(1) as f64 }
        };
        let sides: [Vec<ClientInRun<'a>>; 2] = sides.each_ref().map(|runs| runs.iter().map(in_run).collect());
        let minutes = || sides.iter().flatten().map(|run| run.minutes);
        let (shortest, longest) = (minutes().fold(f64::INFINITY, f64::min), minutes().fold(0.0, f64::max));
        Self { name, is_alike: !is_over_time || longest <= shortest * ALIKE, sides }
    }

    /// Whether all runs of a side begin after the client's start.
    fn has_no_start(&self) -> bool {
        self.sides.iter().any(|runs| runs.iter().all(|run| run.client.was_running))
    }

    fn runs(&self) -> impl Iterator<Item = &ClientInRun<'a>> {
        self.sides.iter().flatten()
    }

    fn shape<'s>(&'s self, shape: &'s str, totals: &mut Totals) -> ComparedShape<'s> {
        let profiles = || self.runs().filter_map(|run| run.client.shapes.get(shape));
        // A shape that one run sends only at its start, and another one also later, is in the steady state of both:
        // the first run may be too short to show more.
        let is_steady = profiles().any(|shape| shape.steady > 0);
        let dispersion =
            if self.is_alike { 1.0 } else { profiles().map(|shape| shape.dispersion).fold(1.0, f64::max) };
        let sample =
            |run: &ClientInRun<'_>, requests: &dyn Fn(&ShapeProfile) -> u64, units: f64| RateSample {
                #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
                requests: run.client.shapes.get(shape).map_or(0.0, |shape| requests(shape) as f64),
                units,
            };
        let per_unit = |requests: &dyn Fn(&ShapeProfile) -> u64| {
            self.sides
                .each_ref()
                .map(|runs| runs.iter().map(|run| sample(run, requests, run.units)).collect())
        };
        let per_start = |requests: &dyn Fn(&ShapeProfile) -> u64,
                         is_known: &dyn Fn(&ShapeProfile) -> bool| {
            self.sides.each_ref().map(|runs| {
                let with_start = runs.iter().filter(|run| !run.client.was_running);
                let known = with_start.filter(|run| run.client.shapes.get(shape).is_none_or(is_known));
                known.map(|run| sample(run, requests, run.starts)).collect()
            })
        };
        let once = |shape: &ShapeProfile| if is_steady { 0 } else { shape.once };
        let steady: Samples = per_unit(&|shape| shape.steady + shape.once - once(shape));
        let random_start: Samples = per_start(&once, &|_| true);
        let start: Samples = per_start(&|shape| shape.informer_starts + once(shape), &|_| true);
        let watches: Samples = per_start(&|shape| shape.watches, &|shape| !shape.is_partial);
        let informers: Samples = per_start(&|shape| shape.informer_starts, &|_| true);
        let is_decided =
            |samples: &Samples| noise::compare(&samples[0], &samples[1], dispersion) != RateChange::Undecided;
        totals.add(self, shape, [&informers, &random_start, &steady, &watches], dispersion);
        let sum = |side: usize| {
            let mut sum = ShapeProfile::default();
            let runs = self.sides[side].iter();
            runs.filter_map(|run| run.client.shapes.get(shape)).for_each(|shape| sum.add(shape));
            sum
        };
        ComparedShape {
            client: self.name,
            shape,
            sums: [sum(0), sum(1)],
            phases: Phases {
                start: phase(&start, differs_at_start(&informers) || is_decided(&random_start)),
                steady: phase(&steady, is_decided(&steady)),
                watches: phase(&watches, differs_at_start(&watches)),
            },
        }
    }
}

/// Whether informers or watches differ in all runs. Each start of a program has the same ones, so their number for
/// each start is whole. Otherwise chance has a part in it.
fn differs_at_start(sides: &Samples) -> bool {
    if !are_whole(sides) {
        return noise::compare(&sides[0], &sides[1], 1.0) != RateChange::Undecided;
    }
    let [before, after] = sides.each_ref().map(|samples| noise::range(samples));
    before.zip(after).is_some_and(|(before, after)| after.0 > before.1 || before.0 > after.1)
}

fn are_whole(sides: &Samples) -> bool {
    sides.iter().flatten().all(|sample| (sample.requests / sample.units).fract() == 0.0)
}

fn phase(sides: &Samples, is_decided: bool) -> PhaseDifference {
    PhaseDifference { before: noise::rate(&sides[0]), after: noise::rate(&sides[1]), is_decided }
}

/// A shape of a client in the runs of both sides.
struct ComparedShape<'a> {
    client: &'a str,
    shape: &'a str,
    sums: [ShapeProfile; 2],
    phases: Phases,
}

impl ComparedShape<'_> {
    /// The change, if it is more than chance.
    fn change(&self) -> Option<Difference> {
        let requests = [0, 1].map(|side| self.sums[side].requests());
        let decided: Vec<&PhaseDifference> =
            self.phases.all().into_iter().filter(|phase| phase.is_decided).collect();
        if decided.is_empty() {
            let is_elsewhere = requests.iter().all(|requests| *requests > 0)
                && self.sums[0].main_source() != self.sums[1].main_source();
            return is_elsewhere.then_some(Difference::ServedFromElsewhere);
        }
        Some(match requests {
            [0, _] => Difference::New,
            [_, 0] => Difference::Gone,
            _ if decided.iter().any(|phase| phase.after > phase.before) => Difference::More,
            _ => Difference::Less,
        })
    }

    /// The change that a phase without a decision would be, if it is worth a line.
    fn undecided(&self) -> Option<Difference> {
        let phases = self.phases.all();
        let largest = phases.into_iter().max_by(|a, b| a.size().total_cmp(&b.size()))?;
        if largest.size() < WORTH_A_LINE {
            return None;
        }
        Some(match [0, 1].map(|side| self.sums[side].requests()) {
            [0, _] => Difference::New,
            [_, 0] => Difference::Gone,
            _ if largest.after > largest.before => Difference::More,
            _ => Difference::Less,
        })
    }

    fn into_difference(self, change: Difference) -> RequestDifference {
        let source = |side: usize| {
            Some(self.sums[side].main_source().to_owned()).filter(|_| self.sums[side].requests() > 0)
        };
        RequestDifference {
            client: self.client.to_owned(),
            shape: self.shape.to_owned(),
            change,
            source_before: source(0),
            source_after: source(1),
            phases: self.phases,
        }
    }
}

impl Phases {
    fn all(&self) -> [&PhaseDifference; 3] {
        [&self.start, &self.steady, &self.watches]
    }
}

impl RequestDifference {
    /// Whether the new side reads from etcd for these requests, and the base side does not.
    fn moves_to_etcd(&self) -> bool {
        self.source_after.as_deref() == Some("etcd") && self.source_before.as_deref() != Some("etcd")
    }

    /// Whether the requests cost the control plane less than before.
    pub(crate) fn is_cheaper(&self) -> bool {
        match self.change {
            Difference::Less | Difference::Gone => true,
            Difference::ServedFromElsewhere => !self.moves_to_etcd(),
            Difference::New | Difference::More => false,
        }
    }

    /// Requests that cost more come first, reads from etcd before others, then the largest differences.
    fn order(&self) -> impl Ord + use<> {
        let millis = |phase: &PhaseDifference| {
            #[allow(clippy::cast_possible_truncation, reason = "`as` stops at the limits")]
            let millis = ((phase.after - phase.before).abs() * 1_000.0) as i64;
            millis
        };
        let sizes = self.phases.all().map(millis);
        (
            self.is_cheaper(),
            !self.moves_to_etcd(),
            Reverse(sizes.into_iter().max()),
            self.client.clone(),
            self.shape.clone(),
        )
    }
}

/// The sums over all clients.
#[derive(Debug, Default)]
struct Totals {
    sums: BTreeMap<(&'static str, &'static str), TotalSum>,
}

/// How much a difference may be chance.
#[derive(Debug, Clone, Copy)]
enum Noise {
    None,
    /// As much as the Poisson error, times this index of dispersion.
    Dispersion(f64),
}

#[derive(Debug, Default)]
struct TotalSum {
    before: f64,
    after: f64,
    /// Variance of the difference of both rates.
    variance: f64,
    /// The part of the difference that comes from informers and watches that each start has.
    certain: f64,
}

impl Totals {
    /// Adds the requests of a shape: the first LISTs of informers, other requests of the start, the steady state, and
    /// watches.
    fn add(&mut self, client: &ComparedClient<'_>, shape: &str, counts: [&Samples; 4], dispersion: f64) {
        let [informers, once, steady, watches] = counts;
        #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let fraction = |side: usize, of: fn(&ShapeProfile) -> u64| {
            let own = client.sides[side].iter().filter_map(|run| run.client.shapes.get(shape));
            let (part, all) =
                own.fold((0, 0), |(part, all), shape| (part + of(shape), all + shape.requests()));
            part as f64 / all.max(1) as f64
        };
        let at_start = |samples: &Samples| {
            if differs_at_start(samples) {
                Noise::None
            } else if are_whole(samples) {
                Noise::Dispersion(0.0)
            } else {
                Noise::Dispersion(1.0)
            }
        };
        let random =
            |samples: &Samples| Noise::Dispersion(noise::dispersion(&samples[0], &samples[1], dispersion));
        self.count("watches", "start", watches, [1.0; 2], at_start(watches));
        for (phase, samples, noise) in [
            ("start", informers, at_start(informers)),
            ("start", once, random(once)),
            ("steady", steady, random(steady)),
        ] {
            self.count("requests", phase, samples, [1.0; 2], noise);
            for (metric, of) in [
                ("etcd-reads", (|shape| shape.etcd_reads) as fn(&ShapeProfile) -> u64),
                ("writes", |shape| shape.writes),
            ] {
                self.count(metric, phase, samples, [fraction(0, of), fraction(1, of)], noise);
            }
        }
    }

    fn count(
        &mut self,
        metric: &'static str,
        phase: &'static str,
        sides: &Samples,
        shares: [f64; 2],
        noise: Noise,
    ) {
        if sides.iter().any(Vec::is_empty) {
            return;
        }
        let sum = self.sums.entry((metric, phase)).or_default();
        let [before, after] = [0, 1].map(|side| noise::rate(&sides[side]) * shares[side]);
        sum.before += before;
        sum.after += after;
        match noise {
            Noise::None => sum.certain += after - before,
            Noise::Dispersion(dispersion) => {
                for (samples, rate) in sides.iter().zip([before, after]) {
                    let units: f64 = samples.iter().map(|sample| sample.units).sum();
                    if units > 0.0 {
                        sum.variance += rate * dispersion / units;
                    }
                }
            }
        }
    }

    fn into_vec(self) -> Vec<DiffTotal> {
        let total = |((metric, phase), sum): (_, TotalSum)| {
            let difference = sum.after - sum.before;
            let is_certain = sum.certain.abs() >= HALF && sum.certain.signum() == difference.signum();
            let is_decided = noise::is_more_than_chance(difference, sum.variance)
                && (phase == "steady" || difference.abs() >= HALF);
            DiffTotal {
                metric,
                phase,
                before: sum.before,
                after: sum.after,
                is_decided: is_certain || is_decided,
            }
        };
        let mut totals: Vec<DiffTotal> = self.sums.into_iter().map(total).collect();
        totals.sort_by_key(|total| {
            (
                Reverse(total.phase),
                ["requests", "etcd-reads", "writes", "watches"].iter().position(|name| *name == total.metric),
            )
        });
        totals
    }
}
