//! Whether requests grow with the number of objects.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::{SlopeJudgment, SlopePhase, SlopeReport, SlopeRow, SlopeRun};
use super::file::Budget;
use super::measured::PhaseCounts;
use super::number::plain;
use crate::diff::NameFolding;
use crate::diff::noise::{self, RateChange, RateSample, WithinRuns};
use crate::profile::{ClientProfile, RunProfile};

/// Runs have similar lengths if the longest is at most this many times as long as the shortest.
const SIMILAR: f64 = 1.5;

/// A run with a number of custom resources.
#[derive(Debug)]
pub(crate) struct ObjectRun {
    pub(crate) objects: u64,
    pub(crate) path: String,
    pub(crate) profile: RunProfile,
}

type ClientsByName = BTreeMap<String, ClientProfile>;

/// Computes the slopes between runs with two numbers of objects. Judges the entries of a budget with `perObject`.
///
/// # Errors
/// If the runs do not have exactly two numbers of objects, or if all entries of the budget with `perObject` are for
/// other numbers.
pub(crate) fn slope(runs: &[ObjectRun], budget: Option<&Budget>) -> Result<SlopeReport, String> {
    let numbers: BTreeSet<u64> = runs.iter().map(|run| run.objects).collect();
    let [from, to] = <[u64; 2]>::try_from(numbers.into_iter().collect::<Vec<_>>()).map_err(|numbers| {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        format!(
            "a slope needs runs with two numbers of objects, such as --run 10=a.log --run 100=b.log; these runs have: {}",
            numbers.join(", ")
        )
    })?;
    let folding = NameFolding::default();
    let side = |objects: u64| -> Vec<ClientsByName> {
        let own = runs.iter().filter(|run| run.objects == objects);
        own.map(|run| named(&folding.fold_clients(&run.profile), budget, &folding)).collect()
    };
    let compared =
        Sides { clients: [side(from), side(to)], minutes: [from, to].map(|n| minutes(runs, n)), from, to };
    let rows = compared.rows();
    let judgments = budget.map(|budget| judgments(budget, &rows, from, to)).transpose()?.unwrap_or_default();
    let failures =
        judgments.iter().filter(|one| !one.is_within).filter_map(|one| Some(failure(one, budget?)));
    let failures = failures.collect();
    let (mut growing, rest): (Vec<SlopeRow>, Vec<SlopeRow>) =
        rows.into_iter().partition(|row| row.largest() > 0.0);
    let is_smaller = |row: &SlopeRow| row.phases().iter().any(|(_, phase)| phase.is_decided);
    let (shrinking, unchanged): (Vec<SlopeRow>, Vec<SlopeRow>) = rest.into_iter().partition(is_smaller);
    growing.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
    Ok(SlopeReport {
        schema_version: 1,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        from,
        to,
        runs: runs
            .iter()
            .map(|run| SlopeRun {
                path: run.path.clone(),
                objects: run.objects,
                minutes: run.profile.minutes.unwrap_or(0.0),
            })
            .collect(),
        growing,
        shrinking,
        unchanged: unchanged.len() as u64,
        judgments,
        failures,
    })
}

/// The clients under the names of the budget's entries, so that all clients of an entry count together.
fn named(clients: &ClientsByName, budget: Option<&Budget>, folding: &NameFolding) -> ClientsByName {
    let mut named = ClientsByName::new();
    for (name, client) in clients {
        let entry = budget.and_then(|budget| Some(&budget.clients[budget.entry_of(name, folding)?].client));
        named.entry(entry.unwrap_or(name).clone()).or_default().add_other(client);
    }
    named
}

fn minutes(runs: &[ObjectRun], objects: u64) -> Vec<f64> {
    let own = runs.iter().filter(|run| run.objects == objects);
    own.map(|run| run.profile.minutes.unwrap_or(0.0)).collect()
}

/// The runs with fewer objects and those with more.
struct Sides {
    clients: [Vec<ClientsByName>; 2],
    /// The length of each run.
    minutes: [Vec<f64>; 2],
    from: u64,
    to: u64,
}

impl Sides {
    fn rows(&self) -> Vec<SlopeRow> {
        let names: BTreeSet<(&String, &String)> = self
            .clients
            .iter()
            .flatten()
            .flat_map(|clients| clients.iter())
            .flat_map(|(client, profile)| profile.shapes.keys().map(move |shape| (client, shape)))
            .collect();
        names.into_iter().map(|(client, shape)| self.row(client, shape)).collect()
    }

    fn row(&self, client: &str, shape: &str) -> SlopeRow {
        let profiles = || self.clients.iter().flatten().filter_map(|run| run.get(client)?.shapes.get(shape));
        let is_steady = profiles().any(|shape| shape.steady > 0);
        // A run that begins after the client's start does not show what the other run shows.
        let shows_start =
            !self.clients.iter().flatten().filter_map(|run| run.get(client)).any(|client| client.was_running);
        let shows_watches = shows_start && !profiles().any(|shape| shape.is_partial);
        let dispersion = profiles().map(|shape| shape.dispersion).fold(1.0, f64::max);
        let counts = |side: usize| -> Vec<PhaseCounts> {
            let runs = self.clients[side].iter().zip(&self.minutes[side]);
            let in_run = |(run, minutes): (&ClientsByName, &f64)| {
                let absent = ClientProfile { minutes: *minutes, starts: 1, ..ClientProfile::default() };
                let client = run.get(client).unwrap_or(&absent);
                let none = crate::profile::ShapeProfile { dispersion: 1.0, ..Default::default() };
                PhaseCounts::new(client, client.shapes.get(shape).unwrap_or(&none), is_steady)
            };
            runs.map(in_run).collect()
        };
        let sides = [counts(0), counts(1)];
        let minutes = || sides.iter().flatten().map(|counts| counts.minutes);
        let (shortest, longest) = (minutes().fold(f64::INFINITY, f64::min), minutes().fold(0.0, f64::max));
        // A test with more objects repeats its bursts, so in runs of similar lengths they are not chance.
        let has_similar_lengths = longest <= shortest * SIMILAR;
        let within = WithinRuns {
            dispersion: if has_similar_lengths { 1.0 } else { dispersion },
            has_similar_lengths,
        };
        #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let samples = |of: &dyn Fn(&PhaseCounts) -> (u64, f64)| {
            [0, 1].map(|side| -> Vec<RateSample> {
                let sample = |counts: &PhaseCounts| {
                    let (requests, units) = of(counts);
                    RateSample { requests: requests as f64, units }
                };
                sides[side].iter().map(sample).collect()
            })
        };
        #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let per_start = samples(&|counts| (if shows_start { counts.start } else { 0 }, counts.starts as f64));
        let per_minute = samples(&|counts| (counts.steady, counts.minutes));
        #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let watches =
            samples(&|counts| (if shows_watches { counts.watches } else { 0 }, counts.starts as f64));
        let is_decided = noise::compare(&per_minute[0], &per_minute[1], within) != RateChange::Undecided;
        SlopeRow {
            client: client.to_owned(),
            shape: shape.to_owned(),
            per_start: self.phase(&per_start, is_other_count(&per_start)),
            per_minute: self.phase(&per_minute, is_decided),
            watches: self.phase(&watches, is_other_count(&watches)),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers of objects are far below 2^52")]
    fn phase(&self, sides: &[Vec<RateSample>; 2], is_decided: bool) -> SlopePhase {
        let [from, to] = [0, 1].map(|side| noise::rate(&sides[side]));
        SlopePhase { from, to, slope: (to - from) / (self.to - self.from) as f64, is_decided }
    }
}

/// Whether all runs with more objects differ from all other runs by half a request or more. Starts and watches are alike
/// in each run, so less is chance.
fn is_other_count(sides: &[Vec<RateSample>; 2]) -> bool {
    let [few, many] = sides.each_ref().map(|samples| noise::range(samples));
    few.zip(many).is_some_and(|(few, many)| many.0 - few.1 >= 0.5 || few.0 - many.1 >= 0.5)
}

fn judgments(budget: &Budget, rows: &[SlopeRow], from: u64, to: u64) -> Result<Vec<SlopeJudgment>, String> {
    let by_name: BTreeMap<(&str, &str), &SlopeRow> =
        rows.iter().map(|row| ((&*row.client, &*row.shape), row)).collect();
    let (mut judgments, mut others) = (Vec::new(), Vec::new());
    for client in &budget.clients {
        for request in &client.requests {
            let Some(limit) = request.per_object else { continue };
            if (limit.from, limit.to) != (from, to) {
                others.push(limit);
                continue;
            }
            let slope = by_name.get(&(&*client.client, &*request.request)).map(|row| row.largest());
            judgments.push(SlopeJudgment {
                line: limit.at.line,
                client: client.client.clone(),
                shape: request.request.clone(),
                max_slope: limit.max_slope,
                slope,
                is_within: slope.is_some_and(|slope| slope <= limit.max_slope),
            });
        }
    }
    // Entries for other numbers are for other runs. If all are, the runs do not fit the budget.
    match others.first() {
        Some(limit) if judgments.is_empty() => Err(format!(
            "{}:{}: perObject is for runs with {} and {} objects, and these runs have {from} and {to}",
            budget.file, limit.at.line, limit.from, limit.to
        )),
        _ => Ok(judgments),
    }
}

fn failure(judgment: &SlopeJudgment, budget: &Budget) -> String {
    let SlopeJudgment { line, client, shape, max_slope, slope, .. } = judgment;
    let place = format!("{}:{line}", budget.file);
    match slope {
        Some(slope) => format!(
            "{place}: {client}: {shape} grows by {} for each object; maxSlope is {}",
            plain(*slope),
            plain(*max_slope)
        ),
        None => format!("{place}: {client}: the runs have no request {shape}, so its slope is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ShapeProfile;

    fn shape(start: u64, steady: u64, watches: u64) -> ShapeProfile {
        ShapeProfile { informer_starts: start, steady, watches, dispersion: 1.0, ..ShapeProfile::default() }
    }

    fn sides(few: ShapeProfile, many: ShapeProfile) -> SlopeRow {
        let side = |shape: ShapeProfile| {
            let shapes = BTreeMap::from([("list pods".to_owned(), shape)]);
            vec![ClientsByName::from([(
                "a".to_owned(),
                ClientProfile { minutes: 10.0, starts: 1, shapes, ..ClientProfile::default() },
            )])]
        };
        let sides =
            Sides { clients: [side(few), side(many)], minutes: [vec![10.0], vec![10.0]], from: 10, to: 100 };
        sides.row("a", "list pods")
    }

    #[test]
    fn a_slope_is_the_difference_for_each_object() {
        let row = sides(shape(1, 100, 1), shape(91, 1_000, 1));
        assert_eq!((row.per_minute.slope, row.per_minute.is_decided), (1.0, true));
        assert_eq!((row.per_start.slope, row.per_start.is_decided), (1.0, true));
        assert_eq!((row.watches.slope, row.watches.is_decided), (0.0, false));
        assert_eq!(row.largest().to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn chance_is_no_slope() {
        let row = sides(shape(1, 100, 1), shape(1, 125, 1));
        assert!(!row.per_minute.is_decided && row.largest() == 0.0);
        let row = sides(shape(0, 900, 0), shape(0, 100, 0));
        assert!(row.per_minute.is_decided && row.per_minute.slope < 0.0 && row.largest() == 0.0);
    }
}
