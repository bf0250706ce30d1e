//! The fingerprint of a case, which is the same from run to run, and the place of its client's code.
//!
//! A fingerprint depends on who does what: the program or client, the resource, and the kind of requests. Everything
//! else may change while the cause stays: which rules fire, severities, counts, ranks, and how many clients run the program.
//! Code scanning closes an alert and opens another if the fingerprint changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Case;
use super::causes::{Kind, is_run};
use crate::judged::{ClientSummary, JudgedClients};
use crate::report::findings::hashed;
use crate::rules::group::Group;
use crate::rules::hits::HitRef;
use crate::rules::programs::ProgramName;
use crate::rules::sources::ClientSource;

/// The fingerprint of a case on the input.
pub(super) fn on_input(rule: &str) -> String {
    hashed([rule].into_iter())
}

/// The fingerprint of a case on clients. `requests` are those of all members, `product` is their user agent's.
pub(super) fn on_clients(
    account: &ClientSummary,
    product: &str,
    requests: &Group<'_>,
    findings: &[usize],
    hits: &[HitRef<'_, '_>],
) -> String {
    let (resource, kind) = target(requests, findings, hits);
    // A case of one client may have more members tomorrow: the program is the same then, and the client is not.
    let client = match ProgramName::new(account, product) {
        Some(ProgramName { kind, product, service_account }) => {
            [format!("program {kind}"), product.unwrap_or_default(), service_account.unwrap_or_default()]
        }
        None => [
            "client".to_owned(),
            account.identity(),
            account.impersonated_by().unwrap_or_default().to_owned(),
        ],
    };
    hashed(client.iter().map(String::as_str).chain([resource.as_str(), kind]))
}

/// The resource and the kind of most of a case's requests. Without a majority, the case is on the client as a whole.
fn target(requests: &Group<'_>, findings: &[usize], hits: &[HitRef<'_, '_>]) -> (String, &'static str) {
    // A job that reads several resources may be found for one of them only in the next run.
    let is_in_run = |at: &usize| hits[*at].group.is_some_and(|group| is_run(&hits[*at], group));
    if findings.iter().all(is_in_run) {
        return (String::new(), "run");
    }
    let mut by_target: BTreeMap<(Option<&str>, Kind), u64> = BTreeMap::new();
    for facts in &requests.rows {
        *by_target.entry((facts.key.resource.as_deref(), Kind::of(facts))).or_default() += facts.requests;
    }
    let most = by_target.into_iter().min_by_key(|(target, count)| (Reverse(*count), *target));
    match most {
        Some(((resource, kind), count)) if count * 2 > requests.requests() => {
            // GETs and writes in turn are one loop, whether a rule finds the GETs, the writes or both.
            let in_step = requests.in_step();
            let is_loop = kind == Kind::Writes && in_step.reads * 2 > requests.requests();
            let read = is_loop.then_some(in_step.resource);
            let kind = if read.is_some() { Kind::ReadsOne } else { kind };
            (read.or(resource).unwrap_or_default().to_owned(), kind.as_str())
        }
        _ => (String::new(), "all"),
    }
}

/// Gives each case a fingerprint of its own: one program may do two things with one resource.
pub(super) fn make_unique(cases: &mut [Case], hits: &[HitRef<'_, '_>]) {
    let shape = |case: &Case| {
        let lead = case.findings.first().and_then(|at| hits[*at].group);
        lead.map(|group| group.leading().key.name()).unwrap_or_default()
    };
    // By request shape, not by rank: ranks change with counts.
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

/// The first source that names one of the members.
pub(super) fn source(
    members: &BTreeSet<usize>,
    accounts: &JudgedClients,
    sources: &[ClientSource],
) -> Option<usize> {
    let is_of_any =
        |source: &ClientSource| members.iter().any(|index| source.is_of(&accounts.clients[*index]));
    sources.iter().position(is_of_any)
}
