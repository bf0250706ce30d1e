//! Builds the server section of the report, with the version and its evidence.

use super::context::Context;
use super::page::ServerTexts;
use super::v1;
use crate::apiserver::Server;
use crate::apiserver::releases::short;
use crate::k8s::KubeVersion;
use crate::k8s::timestamp::format_micros;
use crate::ledger::Clients;
use crate::rules::figures::{count, more};
use crate::version::{Doubt, Fact, Inferred, Relation, ServerVersion, VersionSource, VersionTotals};

/// The maximum number of files that a fact names.
const NAMED_FILES: usize = 3;

/// Returns the totals for each range of possible versions. Empty if the version is known, or if all ranges have the
/// same totals.
pub(super) fn totals(
    clients: &mut Clients,
    context: &Context<'_>,
    received_only: bool,
) -> Vec<VersionTotals> {
    let version = context.version;
    let versions: Vec<_> = version.timeline.kube_versions().zip(&version.by_version_index).collect();
    crate::version::totals(clients, &context.server, &versions, received_only)
}

/// Returns how certain the version is, for the conditions of rules.
pub(super) fn doubt(version: &Inferred, totals: &[VersionTotals]) -> Doubt {
    let lists = || totals.iter().map(|totals| totals.etcd_lists);
    Doubt {
        is_settled: version.is_settled(),
        is_mixed: version.relation == Relation::Mixed,
        possible: version.candidates.clone(),
        by_version_index: version.by_version_index.clone(),
        totals: format_totals(totals),
        etcd_lists_apart: lists().max().unwrap_or(0) - lists().min().unwrap_or(0),
    }
}

/// Formats the totals of each range, such as `1.31 to 1.33: 5 LISTs from etcd`. Counts that are equal for all ranges
/// are left out. If only one count differs, only the first range has the noun (`LISTs from etcd`).
fn format_totals(totals: &[VersionTotals]) -> Vec<String> {
    let nouns = [
        ["LIST from etcd", "LISTs from etcd"],
        ["GET from etcd", "GETs from etcd"],
        ["ignored limit", "ignored limits"],
    ];
    let differs = |at: usize| totals.iter().any(|one| one.counts()[at] != totals[0].counts()[at]);
    let shown: Vec<usize> = (0..nouns.len()).filter(|at| differs(*at)).collect();
    let range = |(range, totals): (usize, &VersionTotals)| {
        let counts = shown.iter().map(|at| {
            let number = totals.counts()[*at];
            match (shown.len(), range) {
                (1, 1..) => count(number),
                _ => format!("{} {}", count(number), nouns[*at][usize::from(number != 1)]),
            }
        });
        format!("{}: {}", totals.range(), counts.collect::<Vec<String>>().join(" and "))
    };
    totals.iter().enumerate().map(range).collect()
}

/// Returns a server configuration for each version of the timeline, in the timeline's order.
pub(super) fn servers(context: &Context<'_>) -> Vec<Server> {
    let of = |version: KubeVersion| Server { version, ..context.server.clone() };
    context.version.timeline.kube_versions().map(of).collect()
}

pub(super) fn by_version(totals: &[VersionTotals]) -> Vec<v1::VersionTotals> {
    let range = |totals: &VersionTotals| {
        let (min, max) = short(totals.min, totals.max);
        v1::VersionTotals {
            min: min.to_string(),
            max: max.to_string(),
            etcd_lists: totals.etcd_lists,
            etcd_gets: totals.etcd_gets,
            limit_ignored: totals.limit_ignored,
        }
    };
    totals.iter().map(range).collect()
}

/// Returns the server section. Adds `note` to the notes of the context.
pub(super) fn server(context: &Context<'_>, note: Option<String>) -> v1::Server {
    let version = context.version;
    let range = |(min, max): (_, _)| {
        let (min, max) = short(min, max);
        v1::VersionRange { min: min.to_string(), max: max.to_string() }
    };
    let evidence = |fact: &Fact| v1::VersionEvidence {
        fact: fact.text.clone(),
        source: files(context, fact.sources.iter()),
        excludes: fact.excludes().to_string(),
    };
    let own = |one: &ServerVersion| v1::ServerVersion {
        kube_version: one.version.to_string(),
        version_source: one.source.as_str().to_owned(),
        candidates: one.set.hull().map(range).unwrap_or_default(),
        evidence: one.facts.clone(),
        source: files(context, one.sources.iter()),
        first_timestamp: one.span.map(|span| format_micros(span.0)),
        last_timestamp: one.span.map(|span| format_micros(span.1)),
    };
    let etcd = context.etcd_stated.iter().map(|(version, file)| v1::EtcdEvidence {
        fact: format!("a start line of etcd states {version}"),
        source: file.clone(),
    });
    let versions = match &*version.servers {
        [] => vec![version.version.to_string()],
        servers => servers.iter().map(|one| one.version.to_string()).collect(),
    };
    v1::Server {
        kube_version: version.version.to_string(),
        version_source: version.source.as_str().to_owned(),
        kube_versions: versions,
        versions_differ: version.relation.as_str().map(ToOwned::to_owned),
        servers: version.servers.iter().map(own).collect(),
        candidates: version.candidates.hull().map(range).unwrap_or_default(),
        evidence: version.facts.iter().map(evidence).collect(),
        etcd_version: context.server.etcd.map(|version| version.to_string()),
        etcd_evidence: etcd.collect(),
        feature_gates: context.server.gates.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        uncached: context.server.uncached.clone(),
        aggregated: context.server.aggregated.clone(),
        notes: context.notes.iter().cloned().chain(note).collect(),
    }
}

pub(super) fn texts(context: &Context<'_>) -> ServerTexts {
    let version = context.version;
    ServerTexts {
        version_from: from(version),
        decisive: match version.relation {
            Relation::One => {
                let facts = version.decisive().into_iter();
                facts.map(|fact| format!("{} ({})", fact.text, fact.fits())).collect()
            }
            // The notes already list the evidence of each version.
            _ => Vec::new(),
        },
        etcd_from: context.etcd_from,
    }
}

/// Names the source of the version, and the other possible versions.
fn from(version: &Inferred) -> String {
    match version.relation {
        Relation::One => {}
        Relation::OverTime => return version.from.clone(),
        Relation::BySource => return "each file by its own version".to_owned(),
        Relation::Mixed => {
            return format!(
                "both in one log; kubetoll uses {}; --kube-version overrides it",
                version.version
            );
        }
    }
    if version.source.is_stated() || version.candidates.is_one_minor() {
        return version.from.clone();
    }
    let possible = match version.source {
        VersionSource::NewestKnown => "any version is possible".to_owned(),
        _ => format!("{} possible", version.candidates),
    };
    format!("{}; {possible}; pass --kube-version to set", version.from)
}

fn files<'a>(context: &Context<'_>, sources: impl Iterator<Item = &'a u32>) -> String {
    let mut names: Vec<String> = sources.map(|source| context.sources.name(*source)).collect();
    // The result must not depend on the order of the arguments.
    names.sort_unstable();
    let more = more(names.len().saturating_sub(NAMED_FILES), "file", "files");
    names.truncate(NAMED_FILES);
    names.extend(more);
    names.join(", ")
}
