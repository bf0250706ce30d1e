//! Whether two sides can be compared, and the limits of the comparison.

use std::collections::BTreeSet;

use super::side::Side;
use super::unit::Unit;
use crate::k8s::text::count;

/// A verb with at least this many requests on one side and none on the other may be missing in an audit policy.
const MANY: u64 = 20;
/// Messages name at most this many clients.
const NAMED: usize = 3;

/// Returns what limits the comparison.
///
/// # Errors
/// If a comparison would mislead, with the way out.
pub(super) fn notes(base: &Side, new: &Side, unit: &Unit) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    let sides = [("base", base), ("new", new)];
    let each = |is: fn(&crate::profile::RunProfile) -> bool| {
        sides.map(|(_, side)| side.runs.iter().map(|(_, run)| is(run)).collect::<BTreeSet<bool>>())
    };
    let differs = |found: [BTreeSet<bool>; 2]| found[0].union(&found[1]).count() > 1;
    if differs(each(|run| run.is_filtered)) {
        return Err(
            "some runs were read with a filter (such as --user) and others without; read all runs with the same \
             filters"
                .to_owned(),
        );
    }
    if differs(each(|run| run.received_only)) {
        return Err(
            "some logs have only RequestReceived events and others have ResponseComplete events; record both sides \
             with one audit policy (`kubetoll audit-policy`)"
                .to_owned(),
        );
    }
    for (name, side) in sides {
        if let Some((path, _)) = side.runs.iter().find(|(_, run)| !run.has_patterns) {
            return Err(format!(
                "--{name}: {path} was written with --no-patterns, so it does not show which LISTs belong to informers; \
                 write it without --no-patterns"
            ));
        }
    }
    if differs(each(|run| run.shows_open_watches)) {
        notes.push(
            "Only some logs have ResponseStarted events. The others show a WATCH only when it ends, so numbers of \
             watches may differ for this reason alone"
                .to_owned(),
        );
    }
    let versions = sides.map(|(_, side)| {
        side.runs.iter().map(|(_, run)| (&run.kube_version, &run.etcd_version)).collect::<BTreeSet<_>>()
    });
    if versions[0] != versions[1] {
        let text = |side: usize| {
            let names: Vec<String> = versions[side].iter().map(|(version, _)| (*version).clone()).collect();
            names.join(", ")
        };
        notes.push(if text(0) == text(1) {
            "The sides have different versions of etcd, which may move requests between etcd and the watch cache"
                .to_owned()
        } else {
            format!(
                "The base side is from Kubernetes {}, the new side from {}. Requests may be served from elsewhere for \
                 this reason alone. `kubetoll upgrade` shows that part; --kube-version judges both sides as one version",
                text(0),
                text(1)
            )
        });
    }
    let verbs = |side: &Side| {
        let mut verbs = std::collections::BTreeMap::<String, u64>::new();
        for (verb, requests) in side.runs.iter().flat_map(|(_, run)| &run.verbs) {
            *verbs.entry(verb.clone()).or_default() += requests;
        }
        verbs
    };
    let verbs = [verbs(base), verbs(new)];
    for (side, other) in [(0, 1), (1, 0)] {
        let missing = verbs[side].iter().filter(|(verb, n)| **n >= MANY && !verbs[other].contains_key(*verb));
        for (verb, requests) in missing {
            notes.push(format!(
                "The {} side has {} requests with the verb {verb}, and the {} side has none. Check that both audit \
                 policies record them",
                sides[side].0,
                count(*requests),
                sides[other].0
            ));
        }
    }
    let not_followed: u64 =
        sides.iter().flat_map(|(_, side)| &side.runs).map(|(_, run)| run.not_followed).sum();
    if not_followed > 0 {
        notes.push(format!(
            "kubetoll did not follow {} requests to find informers, because the log has too many instances. First LISTs \
             of informers among them count as steady requests",
            count(not_followed)
        ));
    }
    if matches!(unit, Unit::Minute | Unit::Node) {
        let minutes =
            sides.map(|(_, side)| side.runs.iter().filter_map(|(_, run)| run.minutes).fold(0.0, f64::max));
        if let Some(side) = (0..2).find(|side| minutes[*side] < 2.0) {
            notes.push(format!(
                "The longest run of the {} side takes less than 2 minutes, so it shows hardly any steady state",
                sides[side].0
            ));
        }
    }
    Ok(notes)
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
    format!(
        "the sides have no common client. Base: {base}. New: {new}. If a name differs from run to run, give it one name \
         with --map REGEX=NAME"
    )
}
