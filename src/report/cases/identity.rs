//! The fingerprint of a case, and the location of its client's code.
//!
//! A fingerprint depends on the program or client, the resource, and the kind of requests. It stays the same while
//! rules, severities, counts, ranks and the number of clients change. If it changes, code scanning closes the alert
//! and opens another.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::case::Case;
use super::causes::{RequestAction, is_of_whole_client, is_run};
use crate::judged::{ClientSummary, JudgedClients};
use crate::rules::HitRef;
use crate::rules::facts::RowFacts;
use crate::rules::group::RowGroup;
use crate::rules::programs::ProgramName;
use crate::rules::sources::ClientSource;

/// Returns the fingerprint of the parts: a hash.
pub(in crate::report) fn hashed<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let text = parts.collect::<Vec<_>>().join("\0");
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

pub(super) fn on_input(rule: &str) -> String {
    hashed([rule].into_iter())
}

/// The fingerprint of a case on clients. `requests` are the requests of all members. `product` is from their user
/// agents.
pub(super) fn on_clients(
    summary: &ClientSummary,
    product: &str,
    requests: &RowGroup<'_>,
    findings: &[usize],
    hits: &[HitRef<'_, '_>],
) -> String {
    let (resource, kind) = target(requests, findings, hits);
    // Prefer the program to the client. If the case later gets more members, the program stays the same, but the
    // worst client may change.
    let client = match ProgramName::new(summary, product) {
        Some(name) => name.fingerprint_parts(),
        None => [
            format!("client {product}"),
            summary.identity(),
            summary.impersonated_by().unwrap_or_default().to_owned(),
        ],
    };
    hashed(client.iter().map(String::as_str).chain([resource.as_str(), kind]))
}

/// Returns the resource and the kind of more than half of the requests, for the fingerprint. Without such a majority,
/// the kind is `all`, and the resource is empty.
///
/// A finding on a whole client joins a case if the case has most of the client's requests. So the requests of such a
/// finding do not count. If the case has only such findings, the kind is `client`.
fn target(requests: &RowGroup<'_>, findings: &[usize], hits: &[HitRef<'_, '_>]) -> (String, &'static str) {
    let own: Vec<&HitRef<'_, '_>> =
        findings.iter().map(|at| &hits[*at]).filter(|hit| !is_of_whole_client(hit)).collect();
    if own.is_empty() {
        return (String::new(), "client");
    }
    // The next run may show only one resource of a job that reads several. So the resource is left out.
    if own.iter().all(|hit| hit.group.is_some_and(|group| is_run(hit, group))) {
        return (String::new(), "run");
    }
    let of_own = own.iter().filter_map(|hit| hit.group).flat_map(|group| &group.rows);
    let of_own: HashSet<*const RowFacts<'_>> = of_own.map(|facts| std::ptr::from_ref(*facts)).collect();
    let rows = || requests.rows.iter().copied().filter(|facts| of_own.contains(&std::ptr::from_ref(*facts)));
    let is_write = |facts: &&RowFacts<'_>| RequestAction::new(facts) == RequestAction::Writes;
    // Alternating GETs and writes are one loop, so both get the same resource and kind. The result must be the same
    // if a rule finds only the GETs or only the writes. It must also not change if the log has one more GET or write.
    let writes = RowGroup::new(rows().filter(is_write).collect(), requests.client, requests.totals);
    let in_step = writes.in_step();
    let is_loop = in_step.reads * 2 > writes.requests();
    let target_of = |facts: &RowFacts<'_>| match RequestAction::new(facts) {
        RequestAction::Writes if is_loop => (Some(in_step.resource.to_owned()), RequestAction::ReadsOne),
        kind => (facts.key.resource.as_deref().map(str::to_owned), kind),
    };
    let mut by_target: BTreeMap<(Option<String>, RequestAction), u64> = BTreeMap::new();
    for facts in rows() {
        *by_target.entry(target_of(facts)).or_default() += facts.requests;
    }
    let all: u64 = by_target.values().sum();
    match by_target.into_iter().find(|(_, count)| count * 2 > all) {
        Some(((resource, kind), _)) => (resource.unwrap_or_default(), kind.as_str()),
        None => (String::new(), "all"),
    }
}

/// Makes the fingerprints distinct, because one program may do two things with one resource.
pub(super) fn make_unique(cases: &mut [Case], hits: &[HitRef<'_, '_>]) {
    let shape = |case: &Case| {
        let lead = case.findings.first().map(|at| &hits[*at]);
        if lead.is_some_and(is_of_whole_client) {
            return case.rules.iter().min().cloned().unwrap_or_default();
        }
        let lead = lead.and_then(|hit| hit.group);
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
