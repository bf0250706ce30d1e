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

/// Informers start alike in each run, so half a request for each start is more than chance.
const HALF: f64 = 0.5;
/// An undecided difference of this size is reported as undecided.
const WORTH_A_LINE: f64 = 0.2;

/// One run, with its clients under the names that are compared.
struct FoldedRun {
    clients: BTreeMap<String, ClientProfile>,
    /// The unit's size for clients without requests in the run.
    units: f64,
    units_by_client: BTreeMap<String, f64>,
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
    let notes = comparable::notes(base, new, unit)?;
    let clients: [BTreeSet<&String>; 2] =
        [0, 1].map(|side| sides[side].iter().flat_map(|run| run.clients.keys()).collect());
    if clients[0].is_disjoint(&clients[1]) {
        return Err(comparable::no_common_client(&clients));
    }
    let mut totals = Totals::default();
    let (mut changes, mut not_decided, mut unchanged) = (Vec::new(), Vec::new(), 0);
    for client in clients[0].union(&clients[1]) {
        let own = ComparedClient::new(client, &sides);
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
    changes.sort_by_cached_key(RequestDifference::order);
    not_decided.sort_by_cached_key(RequestDifference::order);
    let findings = [findings(base, folding), findings(new, folding)];
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
        new_findings: only_in(1),
        gone_findings: only_in(0),
        failures: Vec::new(),
        notes,
    };
    report.failures = fail_on.iter().filter_map(|condition| condition.failure(&report, unit)).collect();
    Ok(report)
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
        Ok(FoldedRun { units: units(None)?, units_by_client, clients })
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

fn findings(side: &Side, folding: &NameFolding) -> Vec<DiffFinding> {
    let all = side.runs.iter().flat_map(|(_, run)| &run.findings);
    let of_clients = all.filter_map(|finding| {
        Some(DiffFinding {
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
    fn key(&self) -> (&str, &str, Option<&str>) {
        (&self.rule, &self.client, self.shape.as_deref())
    }
}

/// A client in one run.
struct ClientInRun<'a> {
    client: &'a ClientProfile,
    units: f64,
    starts: f64,
}

/// A client in the runs of both sides.
struct ComparedClient<'a> {
    name: &'a str,
    sides: [Vec<ClientInRun<'a>>; 2],
}

impl<'a> ComparedClient<'a> {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn new(name: &'a str, sides: &'a [Vec<FoldedRun>; 2]) -> Self {
        static ABSENT: ClientProfile = ClientProfile { minutes: 0.0, starts: 1, shapes: BTreeMap::new() };
        let in_run = |run: &'a FoldedRun| {
            let client = run.clients.get(name).unwrap_or(&ABSENT);
            let units = run.units_by_client.get(name).copied().unwrap_or(run.units);
            ClientInRun { client, units, starts: client.starts.max(1) as f64 }
        };
        Self { name, sides: [0, 1].map(|side| sides[side].iter().map(in_run).collect()) }
    }

    fn runs(&self) -> impl Iterator<Item = &ClientInRun<'a>> {
        self.sides.iter().flatten()
    }

    fn shape<'s>(&'s self, shape: &'s str, totals: &mut Totals) -> ComparedShape<'s> {
        let profiles = || self.runs().filter_map(|run| run.client.shapes.get(shape));
        // A shape that one run sends only at its start, and another one also later, is in the steady state of both:
        // the first run may be too short to show more.
        let is_steady = profiles().any(|shape| shape.steady > 0);
        let dispersion = profiles().map(|shape| shape.dispersion).fold(1.0, f64::max);
        let samples =
            |side: usize, count: &dyn Fn(&ShapeProfile) -> u64, per_start: bool| -> Vec<RateSample> {
                let sample = |run: &ClientInRun<'_>| RateSample {
                    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
                    requests: run.client.shapes.get(shape).map_or(0.0, |shape| count(shape) as f64),
                    units: if per_start { run.starts } else { run.units },
                };
                self.sides[side].iter().map(sample).collect()
            };
        let both = |count: &dyn Fn(&ShapeProfile) -> u64, per_start: bool| {
            [0, 1].map(|side| samples(side, count, per_start))
        };
        let once = |shape: &ShapeProfile| if is_steady { 0 } else { shape.once };
        let steady = both(&|shape| shape.steady + shape.once - once(shape), false);
        let random_start = both(&once, true);
        let start = both(&|shape| shape.informer_starts + once(shape), true);
        let watches = both(&|shape| shape.watches, true);
        let informers = both(&|shape| shape.informer_starts, true);
        let start_is_decided = is_other_start(&informers)
            || noise::compare(&random_start[0], &random_start[1], dispersion) != RateChange::Undecided;
        let steady_is_decided = noise::compare(&steady[0], &steady[1], dispersion) != RateChange::Undecided;
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
                start: phase(&start, start_is_decided),
                steady: phase(&steady, steady_is_decided),
                watches: phase(&watches, is_other_start(&watches)),
            },
        }
    }
}

/// Whether informers or watches of a start differ in all runs.
fn is_other_start(sides: &[Vec<RateSample>; 2]) -> bool {
    let [before, after] = [0, 1].map(|side| {
        let rates = sides[side].iter().map(|sample| sample.requests / sample.units);
        rates.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), rate| (low.min(rate), high.max(rate)))
    });
    after.0 - before.1 >= HALF || before.0 - after.1 >= HALF
}

fn phase(sides: &[Vec<RateSample>; 2], is_decided: bool) -> PhaseDifference {
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

    /// Requests that cost more come first, reads from etcd before others, then the largest differences.
    fn order(&self) -> impl Ord + use<> {
        let is_cheaper = matches!(self.change, Difference::Less | Difference::Gone)
            || (self.change == Difference::ServedFromElsewhere && !self.moves_to_etcd());
        let millis = |phase: &PhaseDifference| {
            #[allow(clippy::cast_possible_truncation, reason = "`as` stops at the limits")]
            let millis = ((phase.after - phase.before).abs() * 1_000.0) as i64;
            millis
        };
        let sizes = self.phases.all().map(millis);
        (
            is_cheaper,
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

#[derive(Debug, Default)]
struct TotalSum {
    before: f64,
    after: f64,
    /// Variance of the difference of both rates.
    variance: f64,
}

impl Totals {
    /// Adds the requests of a shape: the first LISTs of informers, other requests of the start, the steady state, and
    /// watches.
    fn add(
        &mut self,
        client: &ComparedClient<'_>,
        shape: &str,
        counts: [&[Vec<RateSample>; 2]; 4],
        dispersion: f64,
    ) {
        let [informers, once, steady, watches] = counts;
        #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let fraction = |side: usize, of: fn(&ShapeProfile) -> u64| {
            let own = client.sides[side].iter().filter_map(|run| run.client.shapes.get(shape));
            let (part, all) =
                own.fold((0, 0), |(part, all), shape| (part + of(shape), all + shape.requests()));
            part as f64 / all.max(1) as f64
        };
        // Informers start alike in each run, so their counts do not vary by chance.
        self.count("watches", "start", watches, [1.0; 2], 0.0);
        for (phase, samples, dispersion) in
            [("start", informers, 0.0), ("start", once, dispersion), ("steady", steady, dispersion)]
        {
            self.count("requests", phase, samples, [1.0; 2], dispersion);
            for (metric, of) in [
                ("etcd-reads", (|shape| shape.etcd_reads) as fn(&ShapeProfile) -> u64),
                ("writes", |shape| shape.writes),
            ] {
                self.count(metric, phase, samples, [fraction(0, of), fraction(1, of)], dispersion);
            }
        }
    }

    fn count(
        &mut self,
        metric: &'static str,
        phase: &'static str,
        sides: &[Vec<RateSample>; 2],
        shares: [f64; 2],
        dispersion: f64,
    ) {
        let sum = self.sums.entry((metric, phase)).or_default();
        for (side, share) in shares.into_iter().enumerate() {
            let rate = noise::rate(&sides[side]) * share;
            *if side == 0 { &mut sum.before } else { &mut sum.after } += rate;
            let units: f64 = sides[side].iter().map(|sample| sample.units).sum();
            if units > 0.0 {
                sum.variance += rate * dispersion / units;
            }
        }
    }

    fn into_vec(self) -> Vec<DiffTotal> {
        let total = |((metric, phase), sum): (_, TotalSum)| DiffTotal {
            metric,
            phase,
            before: sum.before,
            after: sum.after,
            is_decided: noise::is_more_than_chance(sum.after - sum.before, sum.variance)
                && (phase == "steady" || (sum.after - sum.before).abs() >= HALF),
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
