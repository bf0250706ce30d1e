//! The release of a server, inferred from a log.

use std::collections::BTreeSet;

use super::facts::{Fact, VersionSource};
use crate::apiserver::{Releases, epochs, have_equal_verdicts};
use crate::k8s::KubeVersion;
use crate::ledger::{Merge, ServerTimeline};

/// The maximum number of facts that are listed for each version, if a log shows several versions.
pub(super) const MAX_OWN_FACTS: usize = 8;

/// How the versions in a log relate to one another.
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
    pub(crate) fn as_str(self) -> Option<&'static str> {
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
    pub(crate) version: KubeVersion,
    pub(crate) source: VersionSource,
    /// `source` as text.
    pub(crate) from: String,
    /// The releases that are consistent with the facts.
    pub(crate) set: Releases,
    /// The source files that show this version.
    pub(crate) sources: BTreeSet<u32>,
    /// Facts that are consistent with this version and not with the others.
    pub(crate) facts: Vec<String>,
    /// First and last time of these facts, in microseconds since 1970.
    pub(crate) span: Option<(i64, i64)>,
}

impl ServerVersion {
    pub(super) fn merge(&mut self, other: Self) {
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
        self.span.merge(other.span);
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
    /// The possible releases for each version index. A version index refers to an entry of
    /// `ServerTimeline::versions`.
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

    pub(super) fn one(
        version: KubeVersion,
        candidates: Releases,
        source: VersionSource,
        from: String,
    ) -> Self {
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

    /// If all versions of the timeline give the same verdicts, uses the best estimate to judge all requests. Returns
    /// true in this case.
    pub(crate) fn judge_as_one_if_alike(&mut self) -> bool {
        let are_alike =
            self.timeline.kube_versions().all(|version| have_equal_verdicts(version, self.version));
        if are_alike {
            self.judge_as_one();
        }
        are_alike
    }

    /// Uses the best estimate to judge all requests, for callers that cannot separate the requests of several versions.
    pub(crate) fn judge_as_one(&mut self) {
        self.timeline = ServerTimeline::always(self.version);
        self.by_version_index = vec![self.candidates.clone()];
    }

    /// Whether the possible releases give the same verdicts, for each version of the timeline.
    #[must_use]
    pub(crate) fn is_settled(&self) -> bool {
        self.by_version_index.iter().all(|set| epochs(set).count() < 2)
    }

    /// A small set of facts that excludes as many releases as all facts together. The facts that exclude the most
    /// releases are first.
    #[must_use]
    pub(crate) fn decisive(&self) -> Vec<&Fact> {
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

/// How certain the server's version is. The rules of the report depend on this certainty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubt {
    /// True if the user sets the version, the log states it, or all possible releases give the same verdicts.
    pub(crate) is_settled: bool,
    /// True if a source file contains requests of several servers.
    pub(crate) is_mixed: bool,
    pub(crate) possible: Releases,
    /// The possible releases for each version index. A version index refers to an entry of
    /// `ServerTimeline::versions`.
    pub(crate) by_version_index: Vec<Releases>,
    /// For each range of possible releases, a text with the totals that these releases would give. An example is
    /// `1.30: 1,595 LISTs from etcd`. Empty if the totals of all ranges are equal.
    pub(crate) totals: Vec<String>,
    /// The difference between the largest and the smallest number of LISTs from etcd among the possible releases.
    pub(crate) etcd_lists_apart: u64,
}

impl Doubt {
    /// The possible releases for a version index, that is, for an entry of `ServerTimeline::versions`.
    #[must_use]
    pub(crate) fn possible_in(&self, version_index: u8) -> &Releases {
        self.by_version_index.get(usize::from(version_index)).unwrap_or(&self.possible)
    }
}

/// The union of sets. Without any set, all modeled releases.
pub(super) fn union<'a>(sets: impl Iterator<Item = &'a Releases>) -> Releases {
    sets.cloned().reduce(|all, one| all.or(&one)).unwrap_or_else(Releases::modeled)
}
