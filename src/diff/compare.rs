//! Compares two sides: rows of changes, totals and findings.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::comparable;
use super::compared_client::{ComparedClient, FoldedRun};
use super::contract::{DiffReport, DiffRun, DiffSide, Difference, RequestDifference};
use super::fail_on::DiffFailOn;
use super::findings::FindingDifferences;
use super::names::{NameFolding, NameMap};
use super::side::Side;
use super::totals::Totals;
use super::unit::Unit;
use crate::profile::RunProfile;

/// Compares two sides.
///
/// # Errors
/// If the sides cannot be compared, with the way out.
pub(crate) fn compare(
    base: &Side,
    new: &Side,
    unit: &Unit,
    maps: &[NameMap],
    fail_on: &[DiffFailOn],
) -> Result<DiffReport, String> {
    let names = |side: &Side| side.runs.iter().flat_map(|(_, run)| run.clients.keys().cloned()).collect();
    let folding = NameFolding::new(maps, names(base), names(new));
    let mut notes = comparable::notes(base, new, unit)?;
    let sides = [folded(base, unit, &folding, &mut notes)?, folded(new, unit, &folding, &mut notes)?];
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
        for shape in own.shapes() {
            let compared = own.shape(shape);
            totals.add(&own, &compared);
            match (compared.change(), compared.undecided()) {
                (Some(change), _) => changes.push(compared.into_difference(change)),
                (None, Some(change)) => not_decided.push(compared.into_difference(change)),
                (None, None) => unchanged += 1,
            }
        }
    }
    notes.extend(comparable::running_clients(&running));
    for rows in [&mut changes, &mut not_decided] {
        rows.sort_by_cached_key(RequestDifference::order);
        group_by_client(rows);
    }
    let findings = FindingDifferences::new(base, new, &folding, &changes);
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
        new_findings: findings.new,
        gone_findings: findings.gone,
        undecided_findings: findings.undecided,
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
    rows.sort_by_cached_key(|row| places[&(row.is_cheaper(), row.client.clone())]);
}

fn folded(
    side: &Side,
    unit: &Unit,
    folding: &NameFolding,
    notes: &mut Vec<String>,
) -> Result<Vec<FoldedRun>, String> {
    let mut fold = |(path, run): &(String, RunProfile)| {
        let units =
            unit.size(run, |name| folding.fold(name)).map_err(|message| format!("{path}: {message}"))?;
        notes.extend(comparable::small_unit(path, unit, units));
        Ok(FoldedRun { clients: folding.fold_clients(run), units, minutes: run.minutes.unwrap_or(0.0) })
    };
    side.runs.iter().map(&mut fold).collect()
}

fn side(side: &Side) -> DiffSide {
    let runs = side.runs.iter().map(|(path, run)| DiffRun {
        path: path.clone(),
        requests: run.verbs.values().sum(),
        clients: run.clients.len() as u64,
        minutes: run.minutes,
    });
    let versions: BTreeSet<&String> = side.runs.iter().map(|(_, run)| &run.kube_version).collect();
    DiffSide {
        runs: runs.collect(),
        kube_versions: versions.into_iter().cloned().collect(),
        version_is_assumed: side.runs.iter().any(|(_, run)| run.version_is_assumed),
    }
}

impl RequestDifference {
    /// Whether the new side reads from etcd for these requests, and the base side does not.
    fn moves_to_etcd(&self) -> bool {
        let [before, after] = [&self.source_before, &self.source_after].map(Option::as_deref);
        after == Some("etcd") && before.is_some_and(|source| source != "etcd")
    }

    /// Whether the requests cost the control plane less than before.
    pub(crate) fn is_cheaper(&self) -> bool {
        match self.change {
            Difference::Gone => true,
            Difference::Less | Difference::ServedFromElsewhere => !self.moves_to_etcd(),
            Difference::New | Difference::More => false,
        }
    }

    /// Requests that cost more come first, reads from etcd before others, then the largest differences.
    fn order(&self) -> impl Ord + use<> {
        let millis = |rates: (f64, f64)| {
            #[allow(clippy::cast_possible_truncation, reason = "`as` stops at the limits")]
            let millis = ((rates.1 - rates.0).abs() * 1_000.0) as i64;
            millis
        };
        let largest = self.phases.all().into_iter().filter_map(|phase| phase.rates().map(millis)).max();
        let reads_etcd = self.source_after.as_deref() == Some("etcd");
        (self.is_cheaper(), !reads_etcd, Reverse(largest), self.client.clone(), self.shape.clone())
    }
}
