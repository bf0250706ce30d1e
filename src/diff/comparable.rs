//! Whether two sides can be compared, and the limits of the comparison.

use std::collections::{BTreeMap, BTreeSet};

use super::side::Side;
use super::unit::{Unit, UnitSize};
use crate::k8s::text::count;
use crate::profile::RunProfile;

/// A verb with at least this many requests on one side and none on the other may be missing in an audit policy.
const MANY: u64 = 20;
/// The error of a smaller number of requests is about a third or more.
const FEW: f64 = 100.0;
/// Messages name at most this many clients.
const NAMED: usize = 3;

/// A side, with its name on the page.
type NamedSides<'a> = [(&'static str, &'a Side); 2];

/// Returns what limits the comparison.
///
/// # Errors
/// If a comparison would mislead, with the way out.
pub(super) fn notes(base: &Side, new: &Side, unit: &Unit) -> Result<Vec<String>, String> {
    let sides = [("base", base), ("new", new)];
    check(&sides)?;
    let mut notes = Vec::new();
    notes.extend(log_notes(&sides));
    notes.extend(version_notes(&sides));
    notes.extend(verb_notes(&sides));
    notes.extend(resource_notes(&sides));
    if matches!(unit, Unit::Minute | Unit::Node) {
        let longest = |side: &Side| side.runs.iter().filter_map(|(_, run)| run.minutes).fold(0.0, f64::max);
        let short = sides.iter().find(|(_, side)| longest(side) < 2.0);
        notes.extend(short.map(|(name, _)| {
            format!("The longest run of the {name} side takes less than 2 minutes, so its steady state is not compared")
        }));
    }
    Ok(notes)
}

fn runs<'a>(sides: &NamedSides<'a>) -> impl Iterator<Item = &'a (String, RunProfile)> {
    sides.map(|(_, side)| &side.runs).into_iter().flatten()
}

fn differs(sides: &NamedSides<'_>, is: fn(&RunProfile) -> bool) -> bool {
    runs(sides).map(|(_, run)| is(run)).collect::<BTreeSet<bool>>().len() > 1
}

fn check(sides: &NamedSides<'_>) -> Result<(), String> {
    let flags = |run: &RunProfile| match &run.filters {
        None => "unknown filters".to_owned(),
        Some(filters) if filters.is_empty() => "no filter".to_owned(),
        Some(filters) => filters.join(" "),
    };
    if let Some((path, run)) = runs(sides).next()
        && let Some((other_path, other)) = runs(sides).find(|(_, other)| other.filters != run.filters)
    {
        return Err(format!(
            "{path} was read with {}, and {other_path} with {}; read all runs with the same filters",
            flags(run),
            flags(other)
        ));
    }
    if differs(sides, |run| run.received_only) {
        return Err(
            "some logs have only RequestReceived events and others have ResponseComplete events; record both sides \
             with one audit policy (`kubetoll audit-policy`)"
                .to_owned(),
        );
    }
    if let Some((path, _)) = runs(sides).find(|(_, run)| !run.has_patterns) {
        return Err(format!(
            "{path} was written with --no-patterns, so it does not show which LISTs belong to informers; write it \
             without --no-patterns"
        ));
    }
    Ok(())
}

fn log_notes(sides: &NamedSides<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if runs(sides).any(|(_, run)| run.received_only) {
        notes.push(
            "The logs have only RequestReceived events, so the comparison does not know the status of a request"
                .to_owned(),
        );
    }
    if differs(sides, |run| run.shows_open_watches) {
        notes.push(
            "Only some logs have ResponseStarted events. The others show a WATCH only when it ends, so numbers of \
             watches may differ for this reason alone"
                .to_owned(),
        );
    }
    let not_followed: u64 = runs(sides).map(|(_, run)| run.not_followed).sum();
    if not_followed > 0 {
        notes.push(format!(
            "kubetoll did not follow {} requests to find informers, because the log has too many instances. First LISTs \
             of informers among them count as steady requests",
            count(not_followed)
        ));
    }
    notes
}

fn version_notes(sides: &NamedSides<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((path, run)) = runs(sides).find(|(_, run)| run.version_is_assumed) {
        notes.push(format!(
            "{path} does not show the version of Kubernetes, so kubetoll assumes {}. Other versions may serve requests \
             from elsewhere; --kube-version sets the version",
            run.kube_version
        ));
    }
    let versions = sides.map(|(_, side)| {
        side.runs.iter().map(|(_, run)| (&run.kube_version, &run.etcd_version)).collect::<BTreeSet<_>>()
    });
    let text = |side: usize| {
        let names: BTreeSet<&str> = versions[side].iter().map(|(version, _)| version.as_str()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    if versions[0] == versions[1] {
        return notes;
    }
    notes.push(if text(0) == text(1) {
        "The sides have different versions of etcd, which may move requests between etcd and the watch cache".to_owned()
    } else {
        format!(
            "The base side is from Kubernetes {}, the new side from {}. Requests may be served from elsewhere for this \
             reason alone. `kubetoll upgrade` shows that part. For logs, --kube-version judges both sides as one version",
            text(0),
            text(1)
        )
    });
    notes
}

fn verb_notes(sides: &NamedSides<'_>) -> Vec<String> {
    let verbs = sides.map(|(_, side)| {
        let mut verbs = BTreeMap::<&str, u64>::new();
        for (verb, requests) in side.runs.iter().flat_map(|(_, run)| &run.verbs) {
            *verbs.entry(verb).or_default() += requests;
        }
        verbs
    });
    let mut notes = Vec::new();
    for (side, other) in [(0, 1), (1, 0)] {
        let missing = verbs[side].iter().filter(|(verb, n)| **n >= MANY && !verbs[other].contains_key(*verb));
        notes.extend(missing.map(|(verb, requests)| {
            format!(
                "The {} side has {} requests with the verb {verb}, and the {} side has none. Check that both audit \
                 policies record them",
                sides[side].0,
                count(*requests),
                sides[other].0
            )
        }));
    }
    notes
}

/// Notes on resources that an audit policy may drop: several clients request one on one side, and none on the other.
fn resource_notes(sides: &NamedSides<'_>) -> Vec<String> {
    let resources = sides.map(|(_, side)| {
        let mut resources = BTreeMap::<&str, (u64, BTreeSet<&str>)>::new();
        for (client, profile) in side.runs.iter().flat_map(|(_, run)| &run.clients) {
            for (name, shape) in &profile.shapes {
                let resource = name.split(' ').nth(1).unwrap_or_default();
                let (requests, clients) = resources.entry(resource).or_default();
                *requests += shape.requests();
                clients.insert(client);
            }
        }
        resources
    });
    let mut notes = Vec::new();
    for (side, other) in [(0, 1), (1, 0)] {
        let missing = resources[side].iter().filter(|(resource, (requests, clients))| {
            *requests >= MANY && clients.len() > 1 && !resources[other].contains_key(*resource)
        });
        notes.extend(missing.take(NAMED).map(|(resource, (requests, clients))| {
            format!(
                "The {} side has {} requests of {} clients for {resource}, and the {} side has none. Check that both \
                 audit policies record them",
                sides[side].0,
                count(*requests),
                clients.len(),
                sides[other].0
            )
        }));
    }
    notes
}

/// The note on a unit that a run has only a few times.
pub(super) fn small_unit(path: &str, unit: &Unit, size: UnitSize) -> Option<String> {
    let UnitSize::Fixed(requests) = size else { return None };
    (matches!(unit, Unit::RequestOf(_)) && requests < FEW).then(|| {
        format!("{path} has only {requests} requests of the unit, so by chance rates differ by up to a third or more")
    })
}

/// The note on clients whose start a side does not show.
pub(super) fn running_clients(clients: &[&str]) -> Option<String> {
    let names = clients.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = clients.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!clients.is_empty()).then(|| {
        format!("Some clients were running before a log begins, so their starts and watches are not compared: {names}{more}")
    })
}

/// The error for sides without a common client.
pub(super) fn no_common_client(clients: &[BTreeSet<&String>; 2]) -> String {
    let [base, new] = [0, 1].map(|side| {
        let names: Vec<&str> = clients[side].iter().take(NAMED).map(|name| name.as_str()).collect();
        let more = clients[side].len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if names.is_empty() { "none".to_owned() } else { format!("{}{more}", names.join(", ")) }
    });
    if let Some(side) = clients.iter().position(BTreeSet::is_empty) {
        let side = ["base", "new"][side];
        return format!("the {side} side has no requests. Check the filters, such as --user");
    }
    format!(
        "the sides have no common client. Base: {base}. New: {new}. If a name differs from run to run, give it one name \
         with --map REGEX=NAME"
    )
}
