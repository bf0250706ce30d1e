//! The fingerprint of a case, and the location of its client's code.
//!
//! A fingerprint depends on the program or client, the resource, and the kind of requests. It stays the same while
//! rules, severities, counts, ranks and the number of clients change. If it changes, code scanning closes the alert
//! and opens another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Case;
use super::causes::{RequestAction, is_run};
use crate::judged::{ClientSummary, JudgedClients};
use crate::report::findings::hashed;
use crate::rules::group::Group;
use crate::rules::hits::HitRef;
use crate::rules::programs::ProgramName;
use crate::rules::sources::ClientSource;

pub(super) fn on_input(rule: &str) -> String {
    hashed([rule].into_iter())
}

/// The fingerprint of a case on clients. `requests` are the requests of all members. `product` is from their user
/// agents.
pub(super) fn on_clients(
    summary: &ClientSummary,
    product: &str,
    requests: &Group<'_>,
    findings: &[usize],
    hits: &[HitRef<'_, '_>],
) -> String {
    let (resource, kind) = target(requests, findings, hits);
    // The program stays the same if the case later gets more members. The client does not.
    let client = match ProgramName::new(summary, product) {
        Some(ProgramName { kind, product, service_account }) => {
            [format!("program {kind}"), product.unwrap_or_default(), service_account.unwrap_or_default()]
        }
        None => [
            "client".to_owned(),
            summary.identity(),
            summary.impersonated_by().unwrap_or_default().to_owned(),
        ],
    };
    hashed(client.iter().map(String::as_str).chain([resource.as_str(), kind]))
}

/// The resource and kind of most requests. Without a majority, the target is the whole client.
fn target(requests: &Group<'_>, findings: &[usize], hits: &[HitRef<'_, '_>]) -> (String, &'static str) {
    // The next run may show only one resource of a job that reads several. So the resource is left out.
    let is_in_run = |at: &usize| hits[*at].group.is_some_and(|group| is_run(&hits[*at], group));
    if findings.iter().all(is_in_run) {
        return (String::new(), "run");
    }
    let mut by_target: BTreeMap<(Option<&str>, RequestAction), u64> = BTreeMap::new();
    for facts in &requests.rows {
        *by_target.entry((facts.key.resource.as_deref(), RequestAction::new(facts))).or_default() +=
            facts.requests;
    }
    let most = by_target.into_iter().min_by_key(|(target, count)| (Reverse(*count), *target));
    match most {
        Some(((resource, kind), count)) if count * 2 > requests.requests() => {
            // Alternating GETs and writes are one loop. The result must not depend on which of them a rule finds.
            let in_step = requests.in_step();
            let is_loop = kind == RequestAction::Writes && in_step.reads * 2 > requests.requests();
            let read = is_loop.then_some(in_step.resource);
            let kind = if read.is_some() { RequestAction::ReadsOne } else { kind };
            (read.or(resource).unwrap_or_default().to_owned(), kind.as_str())
        }
        _ => (String::new(), "all"),
    }
}

/// Makes the fingerprints distinct, because one program may do two things with one resource.
pub(super) fn make_unique(cases: &mut [Case], hits: &[HitRef<'_, '_>]) {
    let shape = |case: &Case| {
        let lead = case.findings.first().and_then(|at| hits[*at].group);
        lead.map(|group| group.leading().key.name()).unwrap_or_default()
    };
    // Sort by request shape, because ranks change with counts.
    let mut order: Vec<(String, String, Option<&str>, usize)> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| {
            let rule = case.rules.iter().min().map(String::as_str);
            (case.fingerprint.clone(), shape(case), rule, index)
        })
        .collect();
    order.sort_unstable();
    let order: Vec<(String, usize)> = order.into_iter().map(|(_, shape, _, index)| (shape, index)).collect();
    let mut seen = HashSet::new();
    for (shape, index) in order {
        let case = &mut cases[index];
        while !seen.insert(case.fingerprint.clone()) {
            case.fingerprint = hashed([case.fingerprint.as_str(), &shape].into_iter());
        }
    }
}

/// The index of the first entry of `sources` that names a member.
pub(super) fn source(
    members: &BTreeSet<usize>,
    judged_clients: &JudgedClients,
    sources: &[ClientSource],
) -> Option<usize> {
    let is_of_any =
        |source: &ClientSource| members.iter().any(|index| source.is_of(&judged_clients.clients[*index]));
    sources.iter().position(is_of_any)
}
