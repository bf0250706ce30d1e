//! Logs with several versions: an upgrade, files of different servers, or two servers in one file.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Evidence, Fact, VersionFacts, VersionSource, sum};
use super::groups::FactGroup;
use super::inferred::{Inferred, MAX_OWN_FACTS, Relation, ServerVersion, union};
use crate::apiserver::{Releases, Server};
use crate::k8s::KubeVersion;
use crate::k8s::text::more;
use crate::k8s::timestamp::format_second;
use crate::ledger::{Change, ServerTimeline, TimelineVersion, VersionStarts};

/// The maximum number of files that a note names.
const NAMED_FILES: usize = 4;

/// The versions of one source.
#[derive(Debug)]
enum SourceVersions {
    /// One version at all times.
    One(ServerVersion),
    /// One version after another, each with the change from the version before it.
    OverTime(Vec<(Change, ServerVersion)>),
    /// Several versions at the same time.
    Mixed(Vec<ServerVersion>),
}

impl SourceVersions {
    fn versions(&self) -> Vec<&ServerVersion> {
        match self {
            Self::One(version) => vec![version],
            Self::OverTime(versions) => versions.iter().map(|(_, version)| version).collect(),
            Self::Mixed(versions) => versions.iter().collect(),
        }
    }
}

/// Versions in the order of time, each with the change from the version before it.
type Changes = Vec<(Change, KubeVersion)>;

/// Start times, each with the version used to judge requests from then on. During a gradual change, the new version is
/// used, and the old version stays possible.
fn starts(changes: &[(Change, KubeVersion)]) -> VersionStarts {
    let mut starts = VersionStarts::new();
    let mut before: Option<KubeVersion> = None;
    for (change, version) in changes {
        while starts.last().is_some_and(|(start, _)| *start >= change.from) {
            starts.pop();
        }
        if change.is_gradual() {
            starts.push((change.from, TimelineVersion { version: *version, beside: before }));
        }
        starts.push((change.until, (*version).into()));
        before = Some(*version);
    }
    starts
}

/// The versions of each source, if a log shows more than one version.
#[derive(Debug)]
pub(super) struct SeveralVersions<'a> {
    facts: &'a VersionFacts,
    sources: BTreeMap<u32, SourceVersions>,
    /// The changes of the whole log. `None` if its version does not change over time.
    log_changes: Option<Changes>,
}

impl<'a> SeveralVersions<'a> {
    /// Finds the versions of each source. Returns `None` if the sources show fewer than two different versions.
    pub(crate) fn new(facts: &'a VersionFacts, evidence: &Evidence, server: &Server) -> Option<Self> {
        let all = facts.groups();
        let sets: Vec<Releases> = all.servers.iter().map(|group| group.set.clone()).collect();
        let mut sources = BTreeMap::new();
        for (source, evidence) in evidence.by_source() {
            let own = VersionFacts::new(&evidence, server);
            let groups = own.groups().servers;
            let version_of = |group: &FactGroup<'_>| version(&own, facts, &group.set, &sets, source);
            let is_unknown = matches!(&*groups, [only] if only.set == Releases::modeled());
            if is_unknown {
                continue;
            }
            let versions = match (&*groups, own.in_time(&groups)) {
                ([only], _) => SourceVersions::One(version_of(only)),
                (_, Some(order)) => SourceVersions::OverTime(
                    order.into_iter().map(|(change, at)| (change, version_of(&groups[at]))).collect(),
                ),
                (several, None) => {
                    let mut versions: Vec<ServerVersion> = several.iter().map(version_of).collect();
                    versions.sort_by_key(|one| one.version);
                    SourceVersions::Mixed(versions)
                }
            };
            sources.insert(source, versions);
        }
        let distinct: BTreeSet<KubeVersion> =
            sources.values().flat_map(SourceVersions::versions).map(|one| one.version).collect();
        if distinct.len() < 2 {
            return None;
        }
        let order = facts.in_time(&all.servers);
        let changes_of = |order: Vec<(Change, usize)>| -> Changes {
            let estimate = |at: usize| facts.estimate(&all.servers[at].set).0;
            order.into_iter().map(|(change, at)| (change, estimate(at))).collect()
        };
        let mut several = Self { facts, sources, log_changes: order.map(changes_of) };
        // Several servers may be upgraded at different times. So the changes that single sources show take precedence
        // over the changes that all sources show together.
        several.log_changes = several.changes().or(several.log_changes);
        Some(several)
    }

    /// For each version, the period in which sources change to it: from the first such change to the last. `None` if
    /// no source changes its version.
    fn changes(&self) -> Option<Changes> {
        let mut changes: BTreeMap<KubeVersion, Change> = BTreeMap::new();
        for own in self.sources.values() {
            let SourceVersions::OverTime(versions) = own else { continue };
            for (change, one) in versions {
                let all = changes.entry(one.version).or_insert(*change);
                *all = Change { from: all.from.min(change.from), until: all.until.max(change.until) };
            }
        }
        let mut changes: Changes = changes.into_iter().map(|(version, change)| (change, version)).collect();
        changes.sort_unstable();
        (!changes.is_empty()).then_some(changes)
    }

    fn relation(&self) -> Relation {
        let is_mixed = self.sources.values().any(|own| matches!(own, SourceVersions::Mixed(_)));
        let changes: BTreeSet<KubeVersion> =
            self.log_changes.iter().flatten().map(|(_, version)| *version).collect();
        let mut versions = self.sources.values().flat_map(SourceVersions::versions);
        match (is_mixed, versions.all(|one| changes.contains(&one.version))) {
            (true, _) => Relation::Mixed,
            (false, true) => Relation::OverTime,
            (false, false) => Relation::BySource,
        }
    }

    /// The distinct versions: in the order of time for an upgrade, else ascending.
    fn versions(&self, relation: Relation) -> Vec<ServerVersion> {
        let mut versions: BTreeMap<KubeVersion, ServerVersion> = BTreeMap::new();
        for one in self.sources.values().flat_map(SourceVersions::versions) {
            match versions.get_mut(&one.version) {
                Some(own) => own.merge(one.clone()),
                None => _ = versions.insert(one.version, one.clone()),
            }
        }
        let mut versions: Vec<ServerVersion> = versions.into_values().collect();
        if let (Relation::OverTime, Some(starts)) = (relation, &self.log_changes) {
            let start = |one: &ServerVersion| starts.iter().find(|(_, version)| *version == one.version);
            versions.sort_by_key(|one| start(one).copied());
        }
        versions
    }

    /// Combines the versions of the sources. `read` contains the sources with requests.
    pub(crate) fn inferred(self, read: &BTreeSet<u32>, file: &dyn Fn(u32) -> String) -> Inferred {
        let relation = self.relation();
        let servers = self.versions(relation);
        let candidates = union(servers.iter().map(|one| &one.set));
        let best = match relation {
            Relation::OverTime => servers.last(),
            _ => servers.iter().max_by_key(|one| self.rank(one)),
        };
        let best = best.expect("a log of several versions has a version");
        let order: Vec<KubeVersion> = servers.iter().map(|one| one.version).collect();
        let starts_of = |own: &SourceVersions| match own {
            // The log may have been rotated during an upgrade. Then the first requests of the file may be from the old
            // version.
            SourceVersions::One(_) if relation == Relation::OverTime && self.changes().is_none() => {
                starts(self.log_changes.as_deref().unwrap_or_default())
            }
            SourceVersions::One(one) => vec![(i64::MIN, one.version.into())],
            SourceVersions::OverTime(versions) => {
                starts(&versions.iter().map(|(change, one)| (*change, one.version)).collect::<Changes>())
            }
            SourceVersions::Mixed(versions) => {
                let best = versions.iter().max_by_key(|one| self.rank(one));
                best.map(|best| (i64::MIN, best.version.into())).into_iter().collect()
            }
        };
        let by_source: BTreeMap<u32, VersionStarts> =
            self.sources.iter().map(|(source, own)| (*source, starts_of(own))).collect();
        let log_starts =
            self.log_changes.as_deref().map_or_else(|| vec![(i64::MIN, best.version.into())], starts);
        let judges: BTreeSet<TimelineVersion> =
            by_source.values().chain([&log_starts]).flatten().map(|(_, judge)| *judge).collect();
        let place = |judge: &TimelineVersion| order.iter().position(|version| *version == judge.version);
        let mut judges: Vec<TimelineVersion> = judges.into_iter().collect();
        judges.sort_by_key(place);
        let timeline = ServerTimeline::new(&judges, &by_source, &log_starts);
        let possible = |judge: &TimelineVersion| {
            let mixed = self.sources.values().filter_map(|own| match own {
                SourceVersions::Mixed(versions) if starts_of(own).iter().any(|(_, other)| other == judge) => {
                    Some(versions.iter())
                }
                _ => None,
            });
            let is_of =
                |one: &&ServerVersion| one.version == judge.version || Some(one.version) == judge.beside;
            union(servers.iter().filter(is_of).chain(mixed.flatten()).map(|one| &one.set))
        };
        let by_version_index = timeline.versions.iter().map(possible).collect();
        let notes = self.notes(relation, &servers, best, read, file);
        Inferred {
            version: best.version,
            candidates,
            timeline,
            by_version_index,
            source: best.source,
            from: best.from.clone(),
            facts: Vec::new(),
            relation,
            notes,
            servers,
        }
    }

    /// The rank of a version; the highest rank is best. A version that a server states ranks above all others. Then
    /// the number of kubelets with the same minor version decides, then the newer version.
    fn rank(&self, one: &ServerVersion) -> (bool, usize, KubeVersion) {
        (one.source.is_stated(), self.facts.kubelets_of(one.version.minor), one.version)
    }

    fn notes(
        &self,
        relation: Relation,
        servers: &[ServerVersion],
        best: &ServerVersion,
        read: &BTreeSet<u32>,
        file: &dyn Fn(u32) -> String,
    ) -> Vec<String> {
        let words = |versions: &[&ServerVersion], between: &str| {
            versions.iter().map(|one| one.version.to_string()).collect::<Vec<_>>().join(between)
        };
        let mut notes = Vec::new();
        match relation {
            Relation::One => {}
            Relation::OverTime => {
                let all: Vec<&ServerVersion> = servers.iter().collect();
                let is_upgrade = servers.is_sorted_by_key(|one| one.version);
                let what = if is_upgrade { "an upgrade" } else { "a change of version" };
                notes.push(format!(
                    "the log spans {what}, {}: kubetoll judges each request by the version at its time",
                    words(&all, ", then ")
                ));
                let changes = self.log_changes.as_deref().unwrap_or_default();
                let gradual = changes.windows(2).filter_map(|pair| match pair {
                    [(_, old), (change, new)] if change.is_gradual() => Some(format!(
                        "{} from {old} to {new} between {} and {}: servers of both versions run, and kubetoll judges \
                         the requests as {new}",
                        if old < new { "an upgrade" } else { "a change of version" },
                        format_second(change.from),
                        format_second(change.until),
                    )),
                    _ => None,
                });
                notes.extend(gradual);
            }
            Relation::BySource | Relation::Mixed => {
                for (source, own) in &self.sources {
                    let SourceVersions::Mixed(versions) = own else { continue };
                    if notes.len() == NAMED_FILES {
                        break;
                    }
                    let versions: Vec<&ServerVersion> = versions.iter().collect();
                    let judge = versions.iter().max_by_key(|one| self.rank(one));
                    notes.push(format!(
                        "{} shows Kubernetes {} at the same time: it holds the requests of several servers, or of a \
                         cluster during an upgrade of its apiservers. A request does not name its server, so kubetoll \
                         judges all of them as {}; scan each server's log separately",
                        file(*source),
                        words(&versions, " and "),
                        judge.map(|one| one.version.to_string()).unwrap_or_default()
                    ));
                }
                let mut each: Vec<String> = self
                    .sources
                    .iter()
                    .filter(|(_, own)| !matches!(own, SourceVersions::Mixed(_)))
                    .map(|(source, own)| format!("{}: {}", file(*source), words(&own.versions(), ", then ")))
                    .collect();
                // The notes must not depend on the order of the files.
                each.sort_unstable();
                if !each.is_empty() {
                    let more = more(each.len().saturating_sub(NAMED_FILES), "file", "files");
                    let more = more.map_or_else(String::new, |more| format!("; and {more}"));
                    notes.push(format!(
                        "the files come from servers of different versions; kubetoll judges each file by its own: {}{more}",
                        each[..each.len().min(NAMED_FILES)].join("; ")
                    ));
                }
                if self.log_changes.is_none() && read.iter().any(|source| !self.sources.contains_key(source))
                {
                    notes.push(format!("kubetoll judges files that show no version as {}", best.version));
                }
            }
        }
        notes.extend(servers.iter().filter(|_| relation != Relation::One).map(|one| {
            let shown = if one.facts.is_empty() { &one.from } else { &one.facts.join("; ") };
            format!("evidence of {}: {shown}", one.version)
        }));
        notes
    }
}

/// The version of a source, estimated within the releases in `set`. `own` contains the facts of the source. `all`
/// contains the facts of all sources. `sets` contains the releases of each server in the log.
fn version(
    own: &VersionFacts,
    all: &VersionFacts,
    set: &Releases,
    sets: &[Releases],
    source: u32,
) -> ServerVersion {
    let (mut version, mut from, mut words) = own.estimate(set);
    let is_guess = matches!(
        from,
        VersionSource::NewestPossible | VersionSource::NewestKnown | VersionSource::UnconfirmedUserAgent
    );
    if is_guess {
        (version, from, words) = all.estimate(set);
    }
    let others: Vec<Releases> = sets.iter().filter(|other| other.and(set).is_empty()).cloned().collect();
    let shown: Vec<&Fact> = own.that_show(set, &others).collect();
    ServerVersion {
        version,
        source: from,
        from: words,
        set: set.clone(),
        sources: BTreeSet::from([source]),
        facts: shown.iter().take(MAX_OWN_FACTS).map(|fact| fact.text.clone()).collect(),
        span: sum(shown.iter().map(|fact| &fact.presence)).span(),
    }
}
