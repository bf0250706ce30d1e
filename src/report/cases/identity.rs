//! What a case is recognized by from run to run, and where its client's code is.
//!
//! A fingerprint depends on the rule, the client and the resource. Severities change with counts, so that of a case's rules
//! the one with the lowest id is taken, and not the worst one.

use std::collections::{BTreeSet, HashSet};

use super::Case;
use super::causes::{has_one_resource, is_on_log};
use crate::accounts::{Account, Accounts};
use crate::report::findings::hashed;
use crate::rules::hits::HitRef;
use crate::rules::sources::ClientSource;

/// The fingerprint of a case on the input.
pub(super) fn on_input(rule: &str) -> String {
    hashed([rule].into_iter())
}

/// The fingerprint of a case on clients. Several clients run one program, whose members may change; `name` names it.
pub(super) fn of(
    members: &BTreeSet<usize>,
    name: &str,
    findings: &[usize],
    hits: &[HitRef<'_, '_>],
    accounts: &Accounts,
) -> String {
    let hits = || findings.iter().map(|at| &hits[*at]);
    let Some(rule) = hits().map(|hit| hit.rule.id.as_str()).min() else { return on_input("") };
    if hits().all(is_on_log) {
        return on_input(rule);
    }
    let account: Option<&Account> =
        members.first().filter(|_| members.len() == 1).map(|index| &accounts.clients[*index]);
    let identity = account.map(Account::identity);
    let client = match (&identity, account) {
        (Some(identity), Some(account)) => {
            vec!["client", identity.as_str(), account.impersonated_by().unwrap_or_default()]
        }
        _ => vec!["program", name, ""],
    };
    // A rule may have found several resources of one client: a backup reads one after the other.
    let groups = hits().filter(|hit| hit.rule.id == rule).filter_map(|hit| hit.group);
    let resources: BTreeSet<Option<&str>> = groups
        .map(|group| group.leading().key.resource.as_deref().filter(|_| has_one_resource(group)))
        .collect();
    let resource = resources.first().copied().flatten().filter(|_| resources.len() == 1);
    hashed([rule].into_iter().chain(client).chain([resource.unwrap_or_default()]))
}

/// Gives each case a fingerprint of its own: one program may do two things with one resource.
pub(super) fn tell_apart(cases: &mut [Case], hits: &[HitRef<'_, '_>]) {
    let mut seen = HashSet::new();
    for case in cases {
        let lead = case.findings.first().and_then(|at| hits[*at].group);
        let shape = lead.map(|group| group.leading().key.name()).unwrap_or_default();
        while !seen.insert(case.fingerprint.clone()) {
            case.fingerprint = hashed([case.fingerprint.as_str(), &shape].into_iter());
        }
    }
}

/// The first source that names one of the members.
pub(super) fn source(
    members: &BTreeSet<usize>,
    accounts: &Accounts,
    sources: &[ClientSource],
) -> Option<usize> {
    let is_of_any =
        |source: &ClientSource| members.iter().any(|index| source.is_of(&accounts.clients[*index]));
    sources.iter().position(is_of_any)
}
