//! The facts of a log, the set of releases that they leave, and the estimate within it.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_UNCONFIRMED_MINORS, VersionSource};
use crate::apiserver::features::State;
use crate::apiserver::releases::{self, BUILT_IN};
use crate::apiserver::{Gate, Releases, Server};
use crate::classify::Witness;
use crate::k8s::{KubeVersion, Mark};
use crate::ledger::{Sign, VersionEvidence};

/// How far a fact is trusted, the most first: one that contradicts those before it is said and not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trust {
    /// The server states its version.
    Stated,
    /// The server wrote or served what only some releases do.
    Shown,
    /// The version skew policy of the control plane.
    ControlPlane,
    /// That of nodes.
    Nodes,
    /// What a setting of the server may cause, too.
    Settings,
    /// Measurements.
    Measured,
}

/// A fact that a log shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The fact in words.
    pub text: String,
    /// The sources that show it; none where it is of all together.
    pub sources: Vec<u32>,
    /// The releases that fit it.
    pub allows: Releases,
    pub(super) trust: Trust,
}

impl Fact {
    /// The releases that fit it, in words.
    #[must_use]
    pub fn fits(&self) -> String {
        let modeled = self.allows.and(&Releases::modeled());
        if modeled.is_empty() { self.allows.to_string() } else { modeled.to_string() }
    }

    /// The releases that it excludes, of those that the model describes.
    #[must_use]
    pub fn excludes(&self) -> Releases {
        self.allows.others().and(&Releases::modeled())
    }
}

/// What is left when facts are put together.
#[derive(Debug)]
pub(super) struct Narrowed<'a> {
    pub set: Releases,
    /// Facts that contradict more trusted ones.
    pub conflicts: Vec<&'a Fact>,
    used: Vec<&'a Fact>,
}

impl Narrowed<'_> {
    /// What a reader should know of the facts that exclude each other.
    pub fn notes(&self) -> Vec<String> {
        let note = |fact: &&Fact| {
            let other = self.used.iter().find(|used| used.allows.and(&fact.allows).is_empty());
            let rest = other.map_or_else(
                || format!("all other evidence together fits {}", self.set),
                |other| format!("{} ({})", other.text, other.fits()),
            );
            format!(
                "evidence of the version contradicts itself: {} ({}), but {rest}; the log may be of two servers or \
                 of an upgrade, or a setting of the server is not at its default",
                fact.text,
                fact.fits()
            )
        };
        self.conflicts.iter().take(3).map(note).collect()
    }
}

/// Who states which version: the instance's hash, its source and the version.
type Statements = Vec<(u64, u32, KubeVersion)>;

/// All facts of a log.
#[derive(Debug)]
pub(super) struct Facts {
    /// The most trusted first.
    pub all: Vec<Fact>,
    stated: BTreeMap<Witness, BTreeSet<(KubeVersion, u32)>>,
    kubelets: Statements,
    unconfirmed: Statements,
}

impl Facts {
    /// The facts that the evidence holds. Gates that the user sets say nothing.
    pub fn of(evidence: &mut VersionEvidence, server: &Server) -> Self {
        let mut by_witness: BTreeMap<Witness, Statements> = BTreeMap::new();
        for (by, instance, source, version) in evidence.instances() {
            by_witness.entry(by).or_default().push((instance, source, version));
        }
        for statements in by_witness.values_mut() {
            statements.sort_unstable();
        }
        let mut stated: BTreeMap<Witness, BTreeSet<(KubeVersion, u32)>> = BTreeMap::new();
        for (by, source, version) in evidence.stated() {
            stated.entry(by).or_default().insert((version, source));
        }
        let mut all = Vec::new();
        for (by, versions) in &stated {
            all.extend(of_statements(*by, versions));
        }
        for by in [Witness::Kubelet, Witness::KubeProxy] {
            all.extend(of_nodes(by, by_witness.get(&by).map_or(&[], |statements| statements)));
        }
        let mut signs: BTreeMap<Sign, Vec<u32>> = BTreeMap::new();
        for (sign, source) in evidence.signs() {
            signs.entry(sign).or_default().push(source);
        }
        let is_set = server
            .gates
            .iter()
            .any(|(name, _)| [Gate::WatchList.name(), "AllAlpha", "AllBeta"].contains(&name));
        all.extend(signs.into_iter().filter_map(|(sign, sources)| of_sign(sign, sources, is_set)));
        let mut take = |by| by_witness.remove(&by).unwrap_or_default();
        let mut facts =
            Self { all, stated, kubelets: take(Witness::Kubelet), unconfirmed: take(Witness::Unconfirmed) };
        facts.sort();
        facts
    }

    /// Adds facts.
    pub fn add(&mut self, facts: impl IntoIterator<Item = Fact>) {
        self.all.extend(facts);
        self.sort();
    }

    fn sort(&mut self) {
        // Among facts of nodes the newest first: a node is never newer than the server, and may be older than supported.
        self.all.sort_by(|a, b| {
            let oldest = |fact: &Fact| std::cmp::Reverse(fact.allows.hull().map(|(first, _)| first));
            (a.trust, oldest(a), &a.text).cmp(&(b.trust, oldest(b), &b.text))
        });
    }

    /// Puts facts together: those of all sources, or of one.
    pub fn narrow(&self, source: Option<u32>) -> Narrowed<'_> {
        let mut narrowed = Narrowed { set: Releases::all(), conflicts: Vec::new(), used: Vec::new() };
        let is_of = |fact: &&Fact| source.is_none_or(|source| fact.sources.contains(&source));
        for fact in self.all.iter().filter(is_of) {
            let left = narrowed.set.and(&fact.allows);
            if left.is_empty() {
                narrowed.conflicts.push(fact);
            } else {
                narrowed.set = left;
                narrowed.used.push(fact);
            }
        }
        let modeled = narrowed.set.and(&Releases::modeled());
        if !modeled.is_empty() {
            narrowed.set = modeled;
        }
        narrowed
    }

    /// The facts against what the server states.
    pub fn against(&self, stated: &Releases) -> Narrowed<'_> {
        let (used, others): (Vec<&Fact>, Vec<&Fact>) =
            self.all.iter().partition(|fact| fact.trust == Trust::Stated);
        let conflicts = others.into_iter().filter(|fact| fact.allows.and(stated).is_empty()).collect();
        Narrowed { set: stated.clone(), conflicts, used }
    }

    /// The facts that narrow the set.
    pub fn listed(&self) -> Vec<Fact> {
        self.all.iter().filter(|fact| !fact.excludes().is_empty()).cloned().collect()
    }

    /// The best estimate within a set, where it comes from, and that in words.
    pub fn estimate(&self, set: &Releases, source: Option<u32>) -> (KubeVersion, VersionSource, String) {
        let is_of = |of: u32| source.is_none_or(|source| source == of);
        for (by, from, words) in [
            (Witness::ApiServer, VersionSource::ApiserverUserAgent, "from an apiserver's user agent"),
            (
                Witness::ControllerManager,
                VersionSource::ControlPlaneUserAgent,
                "from kube-controller-manager",
            ),
            (Witness::Scheduler, VersionSource::ControlPlaneUserAgent, "from kube-scheduler"),
        ] {
            let stated = self.stated.get(&by).into_iter().flatten();
            let newest = stated.filter(|(version, of)| is_of(*of) && set.contains(*version)).max();
            if let Some((version, _)) = newest {
                return (*version, from, words.to_owned());
            }
        }
        if let Some((version, count)) = most_frequent(&self.kubelets, set, is_of) {
            return (version, VersionSource::KubeletUserAgent, format!("from {}", counted(count, "kubelet")));
        }
        let (first, last) = set.hull().unwrap_or((KubeVersion::OLDEST, KubeVersion::NEWEST));
        if last.minor - first.minor < MAX_UNCONFIRMED_MINORS
            && let Some((version, count)) = most_frequent(&self.unconfirmed, set, is_of)
        {
            let from = format!("from the user agents of {}", counted(count, "address"));
            return (version, VersionSource::UnconfirmedUserAgent, from);
        }
        if *set == Releases::modeled() {
            (last, VersionSource::NewestKnown, "assumed, as the log does not show it".to_owned())
        } else {
            (last, VersionSource::NewestPossible, "the newest that fits the log".to_owned())
        }
    }
}

/// The most frequent minor that the set holds, by its newest patch level there, and how many instances state it. Of
/// equally frequent ones the newest.
fn most_frequent(
    statements: &Statements,
    set: &Releases,
    is_of: impl Fn(u32) -> bool,
) -> Option<(KubeVersion, usize)> {
    let mut minors: BTreeMap<u16, (BTreeSet<u64>, Option<KubeVersion>)> = BTreeMap::new();
    for (instance, _, version) in statements.iter().filter(|(_, of, _)| is_of(*of)) {
        let Some(version) = nearest(set, *version) else { continue };
        let (instances, newest) = minors.entry(version.minor).or_default();
        instances.insert(*instance);
        *newest = (*newest).max(Some(version));
    }
    let best = minors.into_iter().max_by_key(|(minor, (instances, _))| (instances.len(), *minor));
    best.and_then(|(_, (instances, newest))| Some((newest?, instances.len())))
}

/// The release of a set that has the same minor and is nearest: the server's patch level may differ from a node's.
fn nearest(set: &Releases, stated: KubeVersion) -> Option<KubeVersion> {
    if set.contains(stated) {
        return Some(stated);
    }
    let minor = Releases::exactly(KubeVersion { patch: None, ..stated });
    let newer = Releases::between(stated, KubeVersion::new(stated.minor, u16::MAX));
    let first_newer = set.and(&minor).and(&newer).hull().map(|(first, _)| first);
    first_newer.or_else(|| set.and(&minor).hull().map(|(_, last)| last))
}

fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (count, "address") => format!("{count} addresses"),
        (count, noun) => format!("{count} {noun}s"),
    }
}

/// The facts of versions that the control plane states.
fn of_statements(by: Witness, versions: &BTreeSet<(KubeVersion, u32)>) -> Vec<Fact> {
    let mut sources: BTreeMap<KubeVersion, Vec<u32>> = BTreeMap::new();
    for (version, source) in versions {
        sources.entry(*version).or_default().push(*source);
    }
    let fact = |(version, sources): (KubeVersion, Vec<u32>)| {
        let (who, allows, trust) = match by {
            Witness::Loopback => {
                ("the server's own client states", Releases::exactly(version), Trust::Stated)
            }
            Witness::StartLine => {
                ("a start line of the server states", Releases::exactly(version), Trust::Stated)
            }
            Witness::ApiServer => {
                ("an apiserver states", releases::of_other_server(version), Trust::ControlPlane)
            }
            Witness::ControllerManager => {
                ("kube-controller-manager states", releases::of_control_plane(version), Trust::ControlPlane)
            }
            Witness::Scheduler => {
                ("kube-scheduler states", releases::of_control_plane(version), Trust::ControlPlane)
            }
            Witness::Kubelet | Witness::KubeProxy | Witness::Unconfirmed => return None,
        };
        Some(Fact { text: format!("{who} {version}"), sources, allows, trust })
    };
    sources.into_iter().filter_map(fact).collect()
}

/// The facts of kubelets or kube-proxies: one for each minor.
fn of_nodes(by: Witness, statements: &[(u64, u32, KubeVersion)]) -> Vec<Fact> {
    let mut minors: BTreeMap<u16, Vec<(u64, u32, KubeVersion)>> = BTreeMap::new();
    for statement in statements {
        minors.entry(statement.2.minor).or_default().push(*statement);
    }
    let fact = |statements: Vec<(u64, u32, KubeVersion)>| {
        let instances: BTreeSet<u64> = statements.iter().map(|(instance, ..)| *instance).collect();
        let sources: BTreeSet<u32> = statements.iter().map(|(_, source, _)| *source).collect();
        let oldest = statements.iter().map(|(.., version)| *version).min()?;
        let newest = statements.iter().map(|(.., version)| *version).max()?;
        let versions = if oldest == newest { newest.to_string() } else { format!("{oldest} to {newest}") };
        let text = match by {
            // All of them may have one user.
            Witness::KubeProxy => format!("kube-proxy states {versions}"),
            _ if instances.len() == 1 => format!("1 kubelet states {versions}"),
            _ => format!("{} kubelets state {versions}", instances.len()),
        };
        let allows = releases::of_node_component(newest);
        Some(Fact { text, sources: sources.into_iter().collect(), allows, trust: Trust::Nodes })
    };
    minors.into_values().filter_map(fact).collect()
}

fn of_sign(sign: Sign, sources: Vec<u32>, watch_list_is_set: bool) -> Option<Fact> {
    let (text, allows, trust) = match sign {
        Sign::ApiServed(api) => {
            let api = BUILT_IN.get(usize::from(api))?;
            (format!("{api} was served"), api.served_by(), Trust::Shown)
        }
        Sign::ApiAbsent(api) => {
            let api = BUILT_IN.get(usize::from(api))?;
            (format!("{api} was answered with 404"), api.absent_in(), Trust::Settings)
        }
        Sign::RemovedIn(minor) => (
            format!("an API that 1.{minor} removes was served (annotation k8s.io/removed-release)"),
            Releases::before(u16::from(minor)),
            Trust::Shown,
        ),
        Sign::Mark(mark) => {
            let (text, allows) = of_mark(mark);
            (text.to_owned(), allows, Trust::Shown)
        }
        Sign::InitialEventsRefused | Sign::InitialEventsServed if watch_list_is_set => return None,
        Sign::InitialEventsRefused => (
            "WATCHes with sendInitialEvents were answered with 422 (feature gate WatchList is off)"
                .to_owned(),
            watch_list(false),
            Trust::Settings,
        ),
        Sign::InitialEventsServed => (
            "WATCHes with sendInitialEvents were served (feature gate WatchList is on)".to_owned(),
            watch_list(true),
            Trust::Settings,
        ),
        Sign::ServersOwnLog => return None,
    };
    Some(Fact { text, sources, allows, trust })
}

/// The releases whose default for the gate `WatchList` this is.
fn watch_list(is_on: bool) -> Releases {
    let newest = KubeVersion::NEWEST.minor;
    let minors = (0..=newest).filter(|minor| {
        let state = Gate::WatchList.state(KubeVersion { minor: *minor, patch: None });
        let (State::Default(default) | State::Locked(default) | State::Absent(default)) = state;
        default == is_on
    });
    let known = minors.map(|minor| Releases::minors(minor, minor));
    known.fold(Releases::since(newest + 1), |all, one| all.or(&one))
}

/// What a mark shows, and the releases that write it.
fn of_mark(mark: Mark) -> (&'static str, Releases) {
    match mark {
        Mark::LatencyAnnotation => {
            ("slow requests have the annotation apiserver.latency.k8s.io/total", releases::that_measure())
        }
        Mark::DecodeAnnotation => (
            "requests have the annotation apiserver.latency.k8s.io/decode-response-object",
            Releases::since(30),
        ),
        Mark::QueueAnnotation => {
            ("requests have the annotation apiserver.latency.k8s.io/apf-queue-wait", Releases::since(31))
        }
        Mark::AuthenticationAnnotation => {
            ("requests have the annotation apiserver.latency.k8s.io/authentication", Releases::since(33))
        }
        Mark::ImpersonationAnnotation => {
            ("requests have the annotation apiserver.latency.k8s.io/impersonation", Releases::since(36))
        }
        Mark::AuthenticationMetadata => ("events have authenticationMetadata", Releases::since(35)),
        Mark::OldAccessLine => ("access lines have the form of 1.18 and older", Releases::before(19)),
        Mark::AccessLineWithoutAuditId => ("access lines have no audit-ID", Releases::before(22)),
        Mark::AuditIdInLine => ("access lines have an audit-ID", Releases::since(22)),
        Mark::PriorityLevelInLine => ("access lines have apf_pl", Releases::since(23)),
        Mark::SeatsInLine => ("access lines have apf_iseats", Releases::since(24)),
        Mark::AdditionalLatencyInLine => ("access lines have apf_additionalLatency", Releases::since(25)),
        Mark::WatchListLatencyInLine => ("access lines have watchlist_init_latency", Releases::since(36)),
    }
}
