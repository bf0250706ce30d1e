//! Finds the Kubernetes release of the server that wrote a log. Facts in the log narrow the set of possible releases; the
//! estimate is the best release in that set.

mod facts;
mod groups;
mod measured;
mod sample;
mod several;
mod totals;

use std::collections::BTreeSet;

pub use facts::Fact;
pub use sample::{ClaimSpans, Claims, Sighting, mixed_versions, sample};
pub use totals::{VersionTotals, totals};

use facts::{Evidence, VersionFacts};
use several::SeveralVersions;

use crate::apiserver::{Releases, Server, epochs, have_equal_verdicts};
use crate::k8s::KubeVersion;
use crate::ledger::{Ledger, ServerTimeline, VersionEvidence};

/// The maximum number of facts in a report.
const MAX_FACTS: usize = 64;

/// The maximum number of facts that are listed for each version, if a log shows several versions.
const MAX_OWN_FACTS: usize = 8;

/// The maximum number of possible minor versions at which unconfirmed user agents of an access log may decide.
const MAX_UNCONFIRMED_MINORS: u16 = 3;

/// Where the version used to judge requests comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionSource {
    Flag,
    LoopbackUserAgent,
    StartLine,
    ApiserverUserAgent,
    ControlPlaneUserAgent,
    KubeletUserAgent,
    /// User agents in an access log, without proof.
    UnconfirmedUserAgent,
    /// The newest release that fits the facts.
    NewestPossible,
    /// The newest release that kubetoll knows, because the log has no facts.
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

    /// Whether the user sets the version, or the server states it.
    #[must_use]
    pub fn is_stated(self) -> bool {
        matches!(self, Self::Flag | Self::LoopbackUserAgent | Self::StartLine)
    }
}

/// How the versions in a log are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The log shows one version.
    One,
    /// One version follows the other, as in an upgrade.
    OverTime,
    /// Each source shows its own version.
    BySource,
    /// One source shows several versions at the same time.
    Mixed,
}

impl Relation {
    /// The value in the public JSON contract; `None` for one version.
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
    pub version: KubeVersion,
    pub source: VersionSource,
    /// `source` as text.
    pub from: String,
    /// The releases that are consistent with the facts.
    pub set: Releases,
    /// The source files that show this version.
    pub sources: BTreeSet<u32>,
    /// Facts that are consistent with this version and not with the others.
    pub facts: Vec<String>,
    /// First and last time of these facts, in microseconds since 1970.
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

/// The release of the server, inferred from a log.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The best estimate. For an upgrade, it is the newer version.
    pub version: KubeVersion,
    /// The releases that are consistent with the facts.
    pub candidates: Releases,
    /// The versions used to judge requests, by time and source.
    pub timeline: ServerTimeline,
    /// The possible releases for each version of the timeline.
    pub by_version_index: Vec<Releases>,
    /// Where `version` comes from.
    pub source: VersionSource,
    /// `source` as text, such as `from 40 kubelets`.
    pub from: String,
    /// The facts in the log, the most trusted first.
    pub facts: Vec<Fact>,
    /// How the versions in `servers` are related.
    pub relation: Relation,
    /// The versions in the log, if there are several. For an upgrade, they are in the order of time, otherwise in
    /// ascending order.
    pub servers: Vec<ServerVersion>,
    /// Notes for the reader, for example on facts that contradict each other.
    pub notes: Vec<String>,
}

impl Inferred {
    /// Uses the release that the user sets, without looking at the log.
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

    /// Infers the release from a log. `given` is the release that the user sets. `file` returns the name of a source
    /// file.
    #[must_use]
    pub fn infer(
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
    pub fn from_evidence(evidence: &mut VersionEvidence, server: &Server) -> Self {
        let evidence = Evidence::new(evidence);
        let facts = VersionFacts::new(&evidence, server);
        from_log(&facts, &evidence, server, &BTreeSet::new(), &|_| String::new())
    }

    /// If all versions give the same verdicts, uses the best estimate to judge all requests. Returns whether they do.
    pub fn judge_as_one_if_alike(&mut self) -> bool {
        let are_alike =
            self.timeline.kube_versions().all(|version| have_equal_verdicts(version, self.version));
        if are_alike {
            self.judge_as_one();
        }
        are_alike
    }

    /// Uses the best estimate to judge all requests, for callers that cannot separate the requests of several versions.
    pub fn judge_as_one(&mut self) {
        self.timeline = ServerTimeline::always(self.version);
        self.by_version_index = vec![self.candidates.clone()];
    }

    /// Whether all possible releases give the same verdicts.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.by_version_index.iter().all(|set| epochs(set).count() < 2)
    }

    /// A small set of facts that excludes as many releases as all facts together. The facts that exclude the most
    /// releases are first.
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

/// How certain the version is. Rules use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubt {
    /// True if the user sets the version, the log states it, or all possible releases give the same verdicts.
    pub is_settled: bool,
    /// True if a source file contains requests of several servers.
    pub is_mixed: bool,
    pub possible: Releases,
    /// The possible releases for each version of the timeline.
    pub by_version_index: Vec<Releases>,
    /// The totals for each range of releases, such as `1.30: 1,595 LISTs from etcd`. Empty if the totals of all ranges
    /// are equal.
    pub totals: Vec<String>,
    /// The difference between the largest and the smallest number of LISTs from etcd among the possible releases.
    pub etcd_lists_apart: u64,
}

impl Doubt {
    /// The possible releases for a version of the timeline.
    #[must_use]
    pub fn possible_in(&self, version_index: u8) -> &Releases {
        self.by_version_index.get(usize::from(version_index)).unwrap_or(&self.possible)
    }
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

/// The union of sets.
fn union<'a>(sets: impl Iterator<Item = &'a Releases>) -> Releases {
    sets.cloned().reduce(|all, one| all.or(&one)).unwrap_or_else(Releases::modeled)
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
