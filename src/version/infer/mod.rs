//! Infers the release of a server from a log.

use std::collections::BTreeSet;

use super::facts::{Evidence, VersionFacts};
use super::inferred::{Inferred, union};
use super::measured;
use super::several::SeveralVersions;
use crate::apiserver::{Releases, Server};
use crate::k8s::KubeVersion;
use crate::ledger::{Ledger, VersionEvidence};

/// The maximum number of facts in a report.
const MAX_FACTS: usize = 64;

/// Infers the release from a log. `given` is the release that the user sets. `file` returns the name of a source
/// file.
#[must_use]
pub fn infer(
    ledger: &mut Ledger,
    server: &Server,
    given: Option<KubeVersion>,
    file: &dyn Fn(u32) -> String,
) -> Inferred {
    let input = &ledger.input;
    let has_requests = |source: u32| {
        input.sources.get(&source).is_some_and(|counts| {
            counts.events > 0 || counts.foreign.contains_key(&crate::decode::Foreign::Trace)
        })
    };
    ledger.versions.drop_start_lines_of_others(has_requests);
    let read = input.sources.iter().filter(|(_, counts)| counts.events > 0);
    let read: BTreeSet<u32> = read.map(|(source, _)| *source).collect();
    let evidence = Evidence::new(&mut ledger.versions);
    let mut facts = VersionFacts::new(&evidence, server);
    let rows = measured::rows(&mut ledger.clients);
    let groups = facts.groups();
    let possible = union(groups.servers.iter().map(|group| &group.set));
    let measured = measured::contradictions(&rows, server, &possible);
    drop(groups);
    facts.add(measured);
    let mut inferred = match given {
        Some(version) => against(&facts, version),
        None => from_log(&facts, &evidence, server, &read, file),
    };
    inferred.notes.extend(measured::old_etcd(&rows, server, &inferred.timeline));
    inferred.facts = facts.listed();
    inferred.facts.truncate(MAX_FACTS);
    inferred
}

/// Infers the release from version evidence alone, without measurements.
#[must_use]
pub(crate) fn infer_from_evidence(evidence: &mut VersionEvidence, server: &Server) -> Inferred {
    let evidence = Evidence::new(evidence);
    let facts = VersionFacts::new(&evidence, server);
    from_log(&facts, &evidence, server, &BTreeSet::new(), &|_| String::new())
}

/// Uses the release that the user sets, with notes on facts that exclude it.
fn against(facts: &VersionFacts, version: KubeVersion) -> Inferred {
    let given = Releases::exactly(version);
    let excluding = facts.all.iter().filter(|fact| fact.allows.and(&given).is_empty());
    let notes = excluding.take(3).map(|fact| {
        format!("--kube-version {version} contradicts the log: {}, which fits {}", fact.text, fact.fits())
    });
    Inferred { notes: notes.collect(), ..Inferred::given(version) }
}

/// Infers one or several releases from the facts of a log.
fn from_log(
    facts: &VersionFacts,
    evidence: &Evidence,
    server: &Server,
    read: &BTreeSet<u32>,
    file: &dyn Fn(u32) -> String,
) -> Inferred {
    let groups = facts.groups();
    let several = if groups.servers.len() > 1 { SeveralVersions::new(facts, evidence, server) } else { None };
    let mut inferred = several.map_or_else(
        || {
            let set = union(groups.servers.iter().map(|group| &group.set));
            let (version, source, from) = facts.estimate(&set);
            Inferred::one(version, set, source, from)
        },
        |several| several.inferred(read, file),
    );
    inferred.notes.extend(groups.notes());
    inferred
}

#[cfg(test)]
mod tests;
