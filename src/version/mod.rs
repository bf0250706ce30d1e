//! Which release of Kubernetes a log's server is: the facts in the log, the set of releases that they leave, and the
//! best estimate within that set.

mod facts;
mod groups;
mod measured;
mod sample;
mod several;
mod totals;

use std::collections::BTreeSet;

pub use facts::Fact;
pub use sample::{Claims, Sighting, Spans, sample};
pub use totals::{VersionTotals, totals};

use facts::{Evidence, Facts};
use several::Several;

use crate::apiserver::{Releases, Server, epochs, judge_alike};
use crate::k8s::KubeVersion;
use crate::ledger::{Ledger, ServerTimeline, VersionEvidence};

/// How many facts a report lists.
const MAX_FACTS: usize = 64;

/// How many facts are listed for each of several versions.
const MAX_OWN_FACTS: usize = 8;

/// An access log's user agents choose among so many minors at most: nothing confirms them.
const MAX_UNCONFIRMED_MINORS: u16 = 3;

/// Where the version that requests are judged by comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionSource {
    Flag,
    LoopbackUserAgent,
    StartLine,
    ApiserverUserAgent,
    ControlPlaneUserAgent,
    KubeletUserAgent,
    /// User agents in an access log, which nothing confirms.
    UnconfirmedUserAgent,
    /// The newest release that the facts leave.
    NewestPossible,
    /// There are no facts.
    NewestKnown,
}

impl VersionSource {
    /// The value in the public JSON contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::LoopbackUserAgent => "loopback-user-agent",
            Self::StartLine => "start-line",
            Self::ApiserverUserAgent => "apiserver-user-agent",
            Self::ControlPlaneUserAgent => "control-plane-user-agent",
            Self::KubeletUserAgent => "kubelet-user-agent",
            Self::UnconfirmedUserAgent => "unconfirmed-user-agent",
            Self::NewestPossible => "newest-possible",
            Self::NewestKnown => "newest-known",
        }
    }

    /// Whether the version was given, or its server states it.
    #[must_use]
    pub fn is_stated(self) -> bool {
        matches!(self, Self::Flag | Self::LoopbackUserAgent | Self::StartLine)
    }
}

/// How the versions that a log shows are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It shows one.
    One,
    /// One after the other, as after an upgrade.
    OverTime,
    /// Each source shows its own.
    BySource,
    /// One source shows several at the same time.
    Mixed,
}

impl Relation {
    /// The value in the public JSON contract; none for one version.
    #[must_use]
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::One => None,
            Self::OverTime => Some("over-time"),
            Self::BySource => Some("by-file"),
            Self::Mixed => Some("at-the-same-time"),
        }
    }
}

/// One of the versions that a log shows.
#[derive(Debug, Clone)]
pub struct ServerVersion {
    /// The best estimate.
    pub version: KubeVersion,
    /// Where it comes from.
    pub source: VersionSource,
    /// The same in words.
    pub from: String,
    /// The releases that the facts leave.
    pub set: Releases,
    /// The sources that show it.
    pub sources: BTreeSet<u32>,
    /// What shows it: facts that other versions do not fit.
    pub facts: Vec<String>,
    /// When they were seen first and last, in microseconds since 1970.
    pub span: Option<(i64, i64)>,
}

impl ServerVersion {
    fn merge(&mut self, other: Self) {
        if other.source < self.source {
            (self.source, self.from) = (other.source, other.from);
        }
        self.set = self.set.or(&other.set);
        self.sources.extend(other.sources);
        for fact in other.facts {
            if !self.facts.contains(&fact) && self.facts.len() < MAX_OWN_FACTS {
                self.facts.push(fact);
            }
        }
        let widest = |(a, b): ((i64, i64), (i64, i64))| (a.0.min(b.0), a.1.max(b.1));
        self.span = self.span.zip(other.span).map(widest).or(self.span).or(other.span);
    }
}

/// The release of a log's server.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The best estimate: the last one of an upgrade.
    pub version: KubeVersion,
    /// The releases that the facts leave.
    pub candidates: Releases,
    /// Which release is judged by when.
    pub timeline: ServerTimeline,
    /// The releases that are possible for each version of the timeline.
    pub by_version_index: Vec<Releases>,
    /// Where the estimate comes from.
    pub source: VersionSource,
    /// The same in words, such as `from 40 kubelets`.
    pub from: String,
    /// What the log shows, the most trusted first.
    pub facts: Vec<Fact>,
    /// How the versions in `servers` are related.
    pub relation: Relation,
    /// The versions that the log shows, if it shows several: in the order of time, or ascending.
    pub servers: Vec<ServerVersion>,
    /// What a reader should know of facts that exclude each other.
    pub notes: Vec<String>,
}

impl Inferred {
    /// A release that was given; the log is not asked.
    #[must_use]
    pub fn given(version: KubeVersion) -> Self {
        let candidates = Releases::exactly(version);
        Self::one(version, candidates, VersionSource::Flag, "as given".to_owned())
    }

    fn one(version: KubeVersion, candidates: Releases, source: VersionSource, from: String) -> Self {
        Self {
            version,
            timeline: ServerTimeline::always(version),
            by_version_index: vec![candidates.clone()],
            candidates,
            source,
            from,
            facts: Vec::new(),
            relation: Relation::One,
            servers: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What a log says of its server. `given` is the release that the user names; `file` names a source.
    #[must_use]
    pub fn of(
        ledger: &mut Ledger,
        server: &Server,
        given: Option<KubeVersion>,
        file: &dyn Fn(u32) -> String,
    ) -> Self {
        let input = &ledger.input;
        let has_requests = |source: u32| {
            input.sources.get(&source).is_some_and(|counts| {
                counts.events > 0 || counts.foreign.contains_key(&crate::decode::Foreign::Trace)
            })
        };
        ledger.versions.drop_start_lines_of_others(has_requests);
        let read = input.sources.iter().filter(|(_, counts)| counts.events > 0);
        let read: BTreeSet<u32> = read.map(|(source, _)| *source).collect();
        let evidence = Evidence::of(&mut ledger.versions);
        let mut facts = Facts::of(&evidence, server);
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

    /// What claims alone show, without measurements.
    #[must_use]
    pub fn of_evidence(evidence: &mut VersionEvidence, server: &Server) -> Self {
        let evidence = Evidence::of(evidence);
        let facts = Facts::of(&evidence, server);
        from_log(&facts, &evidence, server, &BTreeSet::new(), &|_| String::new())
    }

    /// Judges everything by the best estimate, if all versions judge alike. Returns whether they do.
    pub fn judge_as_one_if_alike(&mut self) -> bool {
        let are_alike = self.timeline.kube_versions().all(|version| judge_alike(version, self.version));
        if are_alike {
            self.judge_as_one();
        }
        are_alike
    }

    /// Judges everything by the best estimate, where requests of several versions can't be separated.
    pub fn judge_as_one(&mut self) {
        self.timeline = ServerTimeline::always(self.version);
        self.by_version_index = vec![self.candidates.clone()];
    }

    /// Whether all releases of the set judge every request alike.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.by_version_index.iter().all(|set| epochs(set).count() < 2)
    }

    /// The fewest facts that exclude what all of them exclude, those that exclude most first.
    #[must_use]
    pub fn decisive(&self) -> Vec<&Fact> {
        let mut set = Releases::modeled();
        let mut decisive = Vec::new();
        loop {
            let left = |fact: &&Fact| set.and(&fact.allows);
            let fits = self.facts.iter().filter(|fact| !left(fact).is_empty() && left(fact) != set);
            let Some(best) = fits.min_by_key(|fact| left(fact).span()) else { return decisive };
            set = set.and(&best.allows);
            decisive.push(best);
        }
    }
}

/// How far the version is known, for rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubt {
    /// It was given, the log states it, or all that are possible judge alike.
    pub is_settled: bool,
    /// A file holds the requests of several servers.
    pub is_mixed: bool,
    /// The possible releases.
    pub possible: Releases,
    /// Those for each version that judges.
    pub by_version_index: Vec<Releases>,
    /// What the totals are for each range of releases, such as `1.30: 1,595 LISTs from etcd`; empty if they are equal.
    pub totals: Vec<String>,
    /// The most LISTs from etcd of one range less the fewest.
    pub etcd_lists_apart: u64,
}

impl Doubt {
    /// The releases that are possible for a version index.
    #[must_use]
    pub fn possible_in(&self, version_index: u8) -> &Releases {
        self.by_version_index.get(usize::from(version_index)).unwrap_or(&self.possible)
    }
}

/// A release that was given, and the facts that exclude it.
fn against(facts: &Facts, version: KubeVersion) -> Inferred {
    let given = Releases::exactly(version);
    let excluding = facts.all.iter().filter(|fact| fact.allows.and(&given).is_empty());
    let notes = excluding.take(3).map(|fact| {
        format!("--kube-version {version} contradicts the log: {}, which fits {}", fact.text, fact.fits())
    });
    Inferred { notes: notes.collect(), ..Inferred::given(version) }
}

/// All releases of several sets.
fn union<'a>(sets: impl Iterator<Item = &'a Releases>) -> Releases {
    sets.cloned().reduce(|all, one| all.or(&one)).unwrap_or_else(Releases::modeled)
}

/// The release that a log shows, or several.
fn from_log(
    facts: &Facts,
    evidence: &Evidence,
    server: &Server,
    read: &BTreeSet<u32>,
    file: &dyn Fn(u32) -> String,
) -> Inferred {
    let groups = facts.groups();
    let several = if groups.servers.len() > 1 { Several::of(facts, evidence, server) } else { None };
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
