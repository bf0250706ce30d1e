//! Which release of Kubernetes a log's server is: the facts in the log, the set of releases that they leave, and the
//! best estimate within that set.

mod facts;
mod measured;
mod totals;

use std::collections::{BTreeMap, BTreeSet};

pub use facts::Fact;
pub use totals::{VersionTotals, totals};

use facts::Facts;

use crate::apiserver::{Releases, Server, epochs};
use crate::classify::Witness;
use crate::k8s::KubeVersion;
use crate::ledger::{Ledger, ServerTimeline};

/// How many facts a report lists.
const MAX_FACTS: usize = 64;

/// An access log's user agents choose among so many minors at most: nothing confirms them.
const MAX_UNCONFIRMED_MINORS: u16 = 3;

/// Where the version that requests are judged by comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
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

/// The release of a log's server.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The releases that the facts leave.
    pub candidates: Releases,
    /// Which release is judged by when.
    pub timeline: ServerTimeline,
    /// Where the estimate comes from.
    pub source: VersionSource,
    /// The same in words, such as `from 40 kubelets`.
    pub from: String,
    /// What the log shows, the most trusted first.
    pub facts: Vec<Fact>,
    /// What a reader should know of facts that exclude each other.
    pub notes: Vec<String>,
}

impl Inferred {
    /// A release that was given; the log is not asked.
    #[must_use]
    pub fn given(version: KubeVersion) -> Self {
        Self {
            candidates: Releases::exactly(version),
            timeline: ServerTimeline::always(version),
            source: VersionSource::Flag,
            from: "as given".to_owned(),
            facts: Vec::new(),
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
        let mut facts = Facts::of(&mut ledger.versions, server);
        let rows = measured::rows(&mut ledger.clients);
        let narrowed = facts.narrow(None);
        facts.add(measured::contradictions(&rows, server, &narrowed.set));
        let mut inferred = match given {
            Some(version) => against(&facts, version),
            None => from_log(&facts, ledger, file),
        };
        inferred.notes.extend(measured::old_etcd(&rows, server, &inferred.timeline));
        inferred.facts = facts.listed();
        inferred.facts.truncate(MAX_FACTS);
        inferred
    }

    /// Whether all releases of the set judge every request alike.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.source.is_stated() || epochs(&self.candidates).count() < 2
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
    /// The possible releases.
    pub possible: Releases,
    /// What the totals are for each range of releases, such as `1.30: 1,595 LISTs from etcd`; empty if they are equal.
    pub totals: Vec<String>,
    /// The most LISTs from etcd of one range less the fewest.
    pub etcd_lists_apart: u64,
}

/// A release that was given, and the facts that exclude it.
fn against(facts: &Facts, version: KubeVersion) -> Inferred {
    let given = Releases::exactly(version);
    let excluding = facts.all.iter().filter(|fact| fact.allows.and(&given).is_empty());
    let notes = excluding.take(3).map(|fact| {
        format!("--kube-version {version} contradicts the log: {}; that fits {}", fact.text, fact.fits())
    });
    Inferred { notes: notes.collect(), ..Inferred::given(version) }
}

/// The release that a log shows.
fn from_log(facts: &Facts, ledger: &mut Ledger, file: &dyn Fn(u32) -> String) -> Inferred {
    let narrowed = facts.narrow(None);
    let mut notes = Vec::new();
    if let Some(timeline) = ledger.versions.timeline() {
        notes.extend(ledger.versions.mixed().map(|(source, one, other)| {
            format!(
                "{} holds the requests of two servers, {one} and {other}, mixed: each request is judged by the \
                 version that was stated last, which may be the other server's; scan one server's log at a time",
                file(source)
            )
        }));
        let is_loopback = ledger.versions.stated().any(|(by, ..)| by == Witness::Loopback);
        let (source, from) = if is_loopback {
            (VersionSource::LoopbackUserAgent, "the server's own client states it")
        } else {
            (VersionSource::StartLine, "a start line of the server states it")
        };
        let stated = timeline.versions.iter().map(|version| Releases::exactly(*version));
        let candidates = stated.reduce(|all, one| all.or(&one)).unwrap_or_else(Releases::modeled);
        notes.extend(facts.against(&candidates).notes());
        return Inferred { candidates, timeline, source, from: from.to_owned(), facts: Vec::new(), notes };
    }
    if !narrowed.conflicts.is_empty()
        && let Some(inferred) = by_source(facts, file)
    {
        return inferred;
    }
    notes.extend(narrowed.notes());
    let (version, source, from) = facts.estimate(&narrowed.set, None);
    Inferred {
        candidates: narrowed.set,
        timeline: ServerTimeline::always(version),
        source,
        from,
        facts: Vec::new(),
        notes,
    }
}

/// The releases of several servers, if each source fits one and they do not fit together.
fn by_source(facts: &Facts, file: &dyn Fn(u32) -> String) -> Option<Inferred> {
    let sources: BTreeSet<u32> = facts.all.iter().flat_map(|fact| fact.sources.iter().copied()).collect();
    let sets: BTreeMap<u32, Releases> = sources
        .into_iter()
        .map(|source| (source, facts.narrow(Some(source))))
        .filter(|(_, narrowed)| narrowed.conflicts.is_empty())
        .map(|(source, narrowed)| (source, narrowed.set))
        .collect();
    let (first, second) = sets.iter().enumerate().find_map(|(at, one)| {
        sets.iter().skip(at + 1).find(|other| one.1.and(other.1).is_empty()).map(|other| (one, other))
    })?;
    let mut estimates: BTreeMap<u32, KubeVersion> = BTreeMap::new();
    let mut best: Option<(KubeVersion, VersionSource, String)> = None;
    for (source, set) in &sets {
        let (version, from_where, from) = facts.estimate(set, Some(*source));
        estimates.insert(*source, version);
        if best.as_ref().is_none_or(|(newest, ..)| version > *newest) {
            best = Some((version, from_where, from));
        }
    }
    let (_, source, from) = best?;
    let candidates = sets.values().cloned().reduce(|all, one| all.or(&one))?;
    let note = format!(
        "the logs are of servers of different versions: {} fits {}, and {} fits {}; each is judged by its own",
        file(*first.0),
        first.1,
        file(*second.0),
        second.1
    );
    let timeline = ServerTimeline::by_source(&estimates);
    Some(Inferred { candidates, timeline, source, from, facts: Vec::new(), notes: vec![note] })
}

#[cfg(test)]
mod tests;
