//! The server's version in the report.

use super::build::{Context, file_name};
use super::v1;
use crate::apiserver::Server;
use crate::apiserver::releases::short;
use crate::k8s::KubeVersion;
use crate::ledger::Clients;
use crate::rules::figures::count;
use crate::version::{Doubt, Fact, Inferred, VersionSource, VersionTotals};

/// How many files of a fact are named.
const NAMED_FILES: usize = 3;

/// The totals of each range of releases that the log leaves; none if the version is known or they are equal.
pub(super) fn totals(
    clients: &mut Clients,
    context: &Context<'_>,
    received_only: bool,
) -> Vec<VersionTotals> {
    let version = context.version;
    if version.source.is_stated() || version.timeline.versions.len() > 1 {
        return Vec::new();
    }
    crate::version::totals(clients, &context.server, &version.candidates, received_only)
}

/// What rules may ask of the version.
pub(super) fn doubt(version: &Inferred, totals: &[VersionTotals]) -> Doubt {
    let lists = || totals.iter().map(|totals| totals.etcd_lists);
    Doubt {
        is_settled: version.is_settled(),
        possible: version.candidates.clone(),
        totals: in_words(totals),
        etcd_lists_apart: lists().max().unwrap_or(0) - lists().min().unwrap_or(0),
    }
}

/// The totals in words. What is equal for all ranges is left out; where one count differs, its noun is written once.
fn in_words(totals: &[VersionTotals]) -> Vec<String> {
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

/// The servers of the versions that judge.
pub(super) fn servers(context: &Context<'_>) -> Vec<Server> {
    let of = |version: &KubeVersion| Server { version: *version, ..context.server.clone() };
    context.version.timeline.versions.iter().map(of).collect()
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

pub(super) fn server(context: &Context<'_>) -> v1::Server {
    let version = context.version;
    let versions = &version.timeline.versions;
    let range = |(min, max): (_, _)| {
        let (min, max) = short(min, max);
        v1::VersionRange { min: min.to_string(), max: max.to_string() }
    };
    let evidence = |fact: &Fact| v1::VersionEvidence {
        fact: fact.text.clone(),
        source: files(context, &fact.sources),
        excludes: fact.excludes().to_string(),
    };
    v1::Server {
        kube_version: versions.last().map(ToString::to_string).unwrap_or_default(),
        version_source: version.source.as_str().to_owned(),
        version_from: from(version),
        kube_versions: versions.iter().map(ToString::to_string).collect(),
        candidates: version.candidates.hull().map(range).unwrap_or_default(),
        evidence: version.facts.iter().map(evidence).collect(),
        decisive: version.decisive().into_iter().map(in_short).collect(),
        etcd_version: context.server.etcd.map(|version| version.to_string()),
        etcd_from: context.etcd_from,
        feature_gates: context.server.gates.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        uncached: context.server.uncached.clone(),
        aggregated: context.server.aggregated.clone(),
        notes: context.notes.clone(),
    }
}

/// Where the version comes from, and which others are possible.
fn from(version: &Inferred) -> String {
    if version.source.is_stated() || version.timeline.versions.len() > 1 || version.candidates.is_one_minor()
    {
        return version.from.clone();
    }
    let possible = match version.source {
        VersionSource::NewestKnown => "any version is possible".to_owned(),
        _ => format!("{} possible", version.candidates),
    };
    format!("{}; {possible}; pass --kube-version to set", version.from)
}

/// A fact and the versions that fit it.
fn in_short(fact: &Fact) -> String {
    format!("{} ({})", fact.text, fact.fits())
}

fn files(context: &Context<'_>, sources: &[u32]) -> String {
    let name = |source: &u32| file_name(&context.sources.list, *source);
    let mut names: Vec<String> = sources.iter().take(NAMED_FILES).map(name).collect();
    match sources.len().saturating_sub(names.len()) {
        0 => {}
        1 => names.push("1 more file".to_owned()),
        more => names.push(format!("{more} more files")),
    }
    names.join(", ")
}
