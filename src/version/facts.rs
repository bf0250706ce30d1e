//! The facts that a log shows about the server's release, and the best estimate within a set of releases.

use std::collections::{BTreeMap, BTreeSet};

use crate::apiserver::features::GateState;
use crate::apiserver::releases::{self, BUILT_IN};
use crate::apiserver::{Gate, Releases, Server};
use crate::k8s::{KubeVersion, Mark};
use crate::ledger::{Presence, Sign, VersionEvidence};
use crate::named::named;
use crate::requests::ClaimSource;

/// Unconfirmed user agents of an access log decide the version only if at most this many minor versions are possible.
const MAX_UNCONFIRMED_MINORS: u16 = 3;

named! {
    /// Where the version used to judge requests comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum VersionSource {
        Flag = "flag",
        LoopbackUserAgent = "loopback-user-agent",
        StartLine = "start-line",
        ApiserverUserAgent = "apiserver-user-agent",
        ControlPlaneUserAgent = "control-plane-user-agent",
        KubeletUserAgent = "kubelet-user-agent",
        /// User agents in an access log, without proof.
        UnconfirmedUserAgent = "unconfirmed-user-agent",
        /// The newest release that fits the facts.
        NewestPossible = "newest-possible",
        /// The newest release that kubetoll knows, because the log has no facts.
        NewestKnown = "newest-known",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

impl VersionSource {
    /// Whether the user sets the version, or the server states it.
    #[must_use]
    pub(crate) fn is_stated(self) -> bool {
        matches!(self, Self::Flag | Self::LoopbackUserAgent | Self::StartLine)
    }
}

/// How far a fact is trusted, the most trusted first. kubetoll reports a fact that contradicts more trusted ones, but
/// does not use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trust {
    /// The server states its version.
    Stated,
    /// The server wrote or served something that only some releases support.
    Shown,
    /// A control plane component states its version. The version skew policy then limits the version of the server.
    ControlPlane,
    /// A node component states its version. The version skew policy then limits the version of the server.
    Nodes,
    /// A response that only some releases give if the server has its default settings. With other settings, other
    /// releases may also give this response.
    Settings,
    /// Latency annotations show where requests were served from. Only some releases serve the requests from there.
    Measured,
}

/// A fact about the server's release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The fact as text.
    pub(crate) text: String,
    /// The source files that show the fact. Empty if the fact follows from all sources together.
    pub(crate) sources: Vec<u32>,
    /// The releases that are consistent with the fact.
    pub(crate) allows: Releases,
    pub(super) trust: Trust,
    /// True if only a few nodes claim the version.
    pub(super) is_rare: bool,
    /// The times at which the log shows the fact.
    pub(super) presence: Presence,
}

impl Fact {
    /// The releases that are consistent with the fact, as text.
    #[must_use]
    pub(crate) fn fits(&self) -> String {
        let modeled = self.allows.and(&Releases::modeled());
        if modeled.is_empty() { self.allows.to_string() } else { modeled.to_string() }
    }

    /// The modeled releases that are not consistent with the fact.
    #[must_use]
    pub(crate) fn excludes(&self) -> Releases {
        self.allows.others().and(&Releases::modeled())
    }

    /// Whether any release of the set is consistent with the fact.
    pub(super) fn fits_any(&self, set: &Releases) -> bool {
        !self.allows.and(set).is_empty()
    }
}

/// A minor version is rare if at most one in `RARE` kubelets has it.
const RARE: usize = 10;

/// The hashes of instances, each with the version that it claims.
type InstanceVersions = Vec<(u64, KubeVersion)>;

/// Evidence of the server's version, from all sources or from one source.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    stated: Vec<(ClaimSource, u32, KubeVersion, Presence)>,
    instances: Vec<(ClaimSource, u64, u32, KubeVersion)>,
    signs: Vec<(Sign, u32, Presence)>,
}

impl Evidence {
    pub(crate) fn new(evidence: &mut VersionEvidence) -> Self {
        let mut instances: Vec<_> = evidence.instances().collect();
        instances.sort_unstable();
        Self { stated: evidence.stated().collect(), instances, signs: evidence.signs().collect() }
    }

    /// The evidence of each source.
    pub(crate) fn by_source(&self) -> BTreeMap<u32, Self> {
        let mut sources: BTreeMap<u32, Self> = BTreeMap::new();
        for stated in &self.stated {
            sources.entry(stated.1).or_default().stated.push(*stated);
        }
        for instance in &self.instances {
            sources.entry(instance.2).or_default().instances.push(*instance);
        }
        for sign in &self.signs {
            sources.entry(sign.1).or_default().signs.push(*sign);
        }
        sources
    }

    /// The times at which components of this kind claimed a version of this minor.
    fn presence(&self, wanted: ClaimSource, minor: u16) -> Presence {
        let of_minor =
            self.stated.iter().filter(|(by, _, version, _)| *by == wanted && version.minor == minor);
        sum(of_minor.map(|(.., presence)| presence))
    }
}

/// The times of several facts together.
pub(super) fn sum<'a>(presences: impl Iterator<Item = &'a Presence>) -> Presence {
    presences.fold(Presence::default(), |mut all, one| {
        all.merge(one);
        all
    })
}

/// All facts of a log about the release of its server.
#[derive(Debug)]
pub(super) struct VersionFacts {
    /// The facts, sorted: the most trusted facts are first.
    pub(crate) all: Vec<Fact>,
    stated: BTreeMap<ClaimSource, BTreeSet<KubeVersion>>,
    kubelets: InstanceVersions,
    unconfirmed: InstanceVersions,
}

impl VersionFacts {
    /// Derives the facts from the evidence. A WATCH with `sendInitialEvents` shows whether the gate `WatchList` is
    /// on. If the user sets this gate, `AllAlpha` or `AllBeta`, such a WATCH proves nothing about the release.
    pub(crate) fn new(evidence: &Evidence, server: &Server) -> Self {
        let mut stated: BTreeMap<ClaimSource, BTreeSet<KubeVersion>> = BTreeMap::new();
        let mut exact: BTreeMap<(ClaimSource, KubeVersion), (Vec<u32>, Presence)> = BTreeMap::new();
        for (by, source, version, presence) in &evidence.stated {
            stated.entry(*by).or_default().insert(*version);
            let (sources, all) = exact.entry((*by, *version)).or_default();
            sources.push(*source);
            all.merge(presence);
        }
        let mut all: Vec<Fact> = exact
            .into_iter()
            .filter_map(|((by, version), (sources, presence))| claim_fact(by, version, sources, presence))
            .collect();
        for by in [ClaimSource::Kubelet, ClaimSource::KubeProxy] {
            all.extend(node_facts(by, evidence));
        }
        let mut signs: BTreeMap<Sign, (Vec<u32>, Presence)> = BTreeMap::new();
        for (sign, source, presence) in &evidence.signs {
            let (sources, all) = signs.entry(*sign).or_default();
            sources.push(*source);
            all.merge(presence);
        }
        let is_set = server
            .gates
            .iter()
            .any(|(name, _)| [Gate::WatchList.name(), "AllAlpha", "AllBeta"].contains(&name));
        let sign_facts = |(sign, (sources, presence))| sign_fact(sign, sources, presence, is_set);
        all.extend(signs.into_iter().filter_map(sign_facts));
        let versions_of = |wanted| {
            let own = evidence.instances.iter().filter(|(by, ..)| *by == wanted);
            own.map(|(_, instance, _, version)| (*instance, *version)).collect()
        };
        let (kubelets, unconfirmed) =
            (versions_of(ClaimSource::Kubelet), versions_of(ClaimSource::Unconfirmed));
        let mut facts = Self { all, stated, kubelets, unconfirmed };
        facts.sort();
        facts
    }

    pub(crate) fn add(&mut self, facts: impl IntoIterator<Item = Fact>) {
        self.all.extend(facts);
        self.sort();
    }

    fn sort(&mut self) {
        // Facts from nodes are sorted by version, newest first, because earlier facts take precedence. A node is
        // never newer than the server, but it may be older than the skew policy supports.
        self.all.sort_by(|a, b| {
            let oldest = |fact: &Fact| std::cmp::Reverse(fact.allows.hull().map(|(first, _)| first));
            (a.trust, a.is_rare, oldest(a), &a.text).cmp(&(b.trust, b.is_rare, oldest(b), &b.text))
        });
    }

    /// The facts that exclude at least one modeled release.
    pub(crate) fn listed(&self) -> Vec<Fact> {
        self.all.iter().filter(|fact| !fact.excludes().is_empty()).cloned().collect()
    }

    /// The number of kubelets with a version of this minor.
    pub(crate) fn kubelets_of(&self, minor: u16) -> usize {
        let own = self.kubelets.iter().filter(|(_, version)| version.minor == minor);
        own.map(|(instance, _)| instance).collect::<BTreeSet<_>>().len()
    }

    /// The best estimate of the version within a set of releases, and where the estimate comes from: as an enum, and
    /// as text.
    pub(crate) fn estimate(&self, set: &Releases) -> (KubeVersion, VersionSource, String) {
        for (by, from, words) in [
            (ClaimSource::Loopback, VersionSource::LoopbackUserAgent, "the server's own client states it"),
            (ClaimSource::StartLine, VersionSource::StartLine, "a start line of the server states it"),
            (ClaimSource::ApiServer, VersionSource::ApiserverUserAgent, "from an apiserver's user agent"),
            (
                ClaimSource::ControllerManager,
                VersionSource::ControlPlaneUserAgent,
                "from kube-controller-manager",
            ),
            (ClaimSource::Scheduler, VersionSource::ControlPlaneUserAgent, "from kube-scheduler"),
        ] {
            let stated = self.stated.get(&by).into_iter().flatten();
            if let Some(newest) = stated.filter(|version| set.contains(**version)).max() {
                return (*newest, from, words.to_owned());
            }
        }
        if let Some((version, count)) = most_frequent(&self.kubelets, set) {
            return (version, VersionSource::KubeletUserAgent, format!("from {}", counted(count, "kubelet")));
        }
        let (first, last) = set.hull().unwrap_or((KubeVersion::OLDEST, KubeVersion::NEWEST));
        if last.minor - first.minor < MAX_UNCONFIRMED_MINORS
            && let Some((version, count)) = most_frequent(&self.unconfirmed, set)
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

/// Counts the instances of each minor version. A claim counts as the nearest release in `set` with the same minor;
/// see [`nearest`]. Returns the newest such release of the minor with the most instances, and their number. If
/// several minors are equally frequent, the newest minor wins.
fn most_frequent(claims: &InstanceVersions, set: &Releases) -> Option<(KubeVersion, usize)> {
    let mut minors: BTreeMap<u16, (BTreeSet<u64>, Option<KubeVersion>)> = BTreeMap::new();
    for (instance, version) in claims {
        let Some(version) = nearest(set, *version) else { continue };
        let (instances, newest) = minors.entry(version.minor).or_default();
        instances.insert(*instance);
        *newest = (*newest).max(Some(version));
    }
    let best = minors.into_iter().max_by_key(|(minor, (instances, _))| (instances.len(), *minor));
    best.and_then(|(_, (instances, newest))| Some((newest?, instances.len())))
}

/// The release of the set that is nearest to `stated` and has the same minor. The server's patch release may differ
/// from a node's.
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

/// Turns the version claim of a control plane component into a fact about the server's version.
fn claim_fact(by: ClaimSource, version: KubeVersion, sources: Vec<u32>, presence: Presence) -> Option<Fact> {
    let (who, allows, trust) = match by {
        ClaimSource::Loopback => {
            ("the server's own client states", Releases::exactly(version), Trust::Stated)
        }
        ClaimSource::StartLine => {
            ("a start line of the server states", Releases::exactly(version), Trust::Stated)
        }
        ClaimSource::ApiServer => {
            ("an apiserver states", releases::for_other_server(version), Trust::ControlPlane)
        }
        ClaimSource::ControllerManager => {
            ("kube-controller-manager states", releases::for_control_plane(version), Trust::ControlPlane)
        }
        ClaimSource::Scheduler => {
            ("kube-scheduler states", releases::for_control_plane(version), Trust::ControlPlane)
        }
        ClaimSource::Kubelet | ClaimSource::KubeProxy | ClaimSource::Unconfirmed => return None,
    };
    Some(Fact { text: format!("{who} {version}"), sources, allows, trust, is_rare: false, presence })
}

/// Turns the version claims of kubelets or kube-proxies into facts about the server's version. There is one fact for
/// each claimed minor version.
fn node_facts(by: ClaimSource, evidence: &Evidence) -> Vec<Fact> {
    let mut minors: BTreeMap<u16, Vec<(u64, u32, KubeVersion)>> = BTreeMap::new();
    for (_, instance, source, version) in evidence.instances.iter().filter(|(of, ..)| *of == by) {
        minors.entry(version.minor).or_default().push((*instance, *source, *version));
    }
    let kubelets = |minor: Option<u16>| -> usize {
        let own = evidence.instances.iter().filter(|(of, .., version)| {
            *of == ClaimSource::Kubelet && minor.is_none_or(|minor| version.minor == minor)
        });
        own.map(|(_, instance, ..)| instance).collect::<BTreeSet<_>>().len()
    };
    let all = kubelets(None);
    // All kube-proxies may share one user, so their number is unknown. But each kube-proxy has the version of its
    // node's kubelet. So count kubelets.
    let is_rare = |minor: u16| (1..=all / RARE).contains(&kubelets(Some(minor)));
    let fact = |(minor, claims): (u16, Vec<(u64, u32, KubeVersion)>)| {
        let instances: BTreeSet<u64> = claims.iter().map(|(instance, ..)| *instance).collect();
        let sources: BTreeSet<u32> = claims.iter().map(|(_, source, _)| *source).collect();
        let oldest = claims.iter().map(|(.., version)| *version).min()?;
        let newest = claims.iter().map(|(.., version)| *version).max()?;
        let versions = if oldest == newest { newest.to_string() } else { format!("{oldest} to {newest}") };
        let text = match by {
            // All kube-proxies may share one user, so their number is unknown.
            ClaimSource::KubeProxy => format!("kube-proxy states {versions}"),
            _ if instances.len() == 1 => format!("1 kubelet states {versions}"),
            _ => format!("{} kubelets state {versions}", instances.len()),
        };
        Some(Fact {
            text,
            sources: sources.into_iter().collect(),
            allows: releases::for_node_component(newest),
            trust: Trust::Nodes,
            is_rare: is_rare(minor),
            presence: evidence.presence(by, minor),
        })
    };
    minors.into_iter().filter_map(fact).collect()
}

fn sign_fact(sign: Sign, sources: Vec<u32>, presence: Presence, watch_list_is_set: bool) -> Option<Fact> {
    let (text, allows, trust) = match sign {
        Sign::ApiServed(api) => {
            let api = BUILT_IN.get(usize::from(api))?;
            (format!("{api} was served"), api.served_by(), Trust::Shown)
        }
        Sign::ApiAbsent(api) => {
            let api = BUILT_IN.get(usize::from(api))?;
            (format!("{api} got 404"), api.absent_in(), Trust::Settings)
        }
        Sign::RemovedIn(minor) => (
            format!("the server served an API that 1.{minor} removes (annotation k8s.io/removed-release)"),
            Releases::before(u16::from(minor)),
            Trust::Shown,
        ),
        Sign::Mark(mark) => {
            let (text, allows) = mark_releases(mark);
            (text.to_owned(), allows, Trust::Shown)
        }
        Sign::InitialEventsRefused | Sign::InitialEventsServed if watch_list_is_set => return None,
        Sign::InitialEventsRefused => (
            "WATCHes with sendInitialEvents got 422 (feature gate WatchList is off)".to_owned(),
            watch_list(false),
            Trust::Settings,
        ),
        Sign::InitialEventsServed => (
            "WATCHes with sendInitialEvents were served (feature gate WatchList is on)".to_owned(),
            watch_list(true),
            Trust::Settings,
        ),
        // Source: k8s.io/apimachinery `pkg/apis/meta/internalversion/validation/validation.go:validateWatchOptions`.
        Sign::InitialEventsIgnored => (
            "WATCHes with sendInitialEvents and without resourceVersionMatch were served".to_owned(),
            Releases::before(27),
            Trust::Shown,
        ),
        Sign::ServersOwnLog => return None,
    };
    Some(Fact { text, sources, allows, trust, is_rare: false, presence })
}

/// The releases in which the default of the gate `WatchList` is `is_on`. Releases after the newest known one count
/// like the newest known one.
fn watch_list(is_on: bool) -> Releases {
    let newest = KubeVersion::NEWEST.minor;
    let has_it = |minor: &u16| {
        let state = Gate::WatchList.state(KubeVersion { minor: *minor, patch: None });
        let (GateState::Default(default) | GateState::Locked(default) | GateState::Absent(default)) = state;
        default == is_on
    };
    let minors = (0..=newest).filter(has_it).map(|minor| match minor {
        minor if minor == newest => Releases::since(newest),
        minor => Releases::minors(minor, minor),
    });
    minors.reduce(|all, one| all.or(&one)).unwrap_or_else(Releases::all)
}

/// A mark is a feature of log records that only some releases write. Returns the fact that the mark shows, as text,
/// and these releases.
fn mark_releases(mark: Mark) -> (&'static str, Releases) {
    match mark {
        Mark::LatencyAnnotation => (
            "slow requests have the annotation apiserver.latency.k8s.io/total",
            releases::with_latency_annotations(),
        ),
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
        Mark::OldAccessLine => ("access lines have the format of 1.18 and older", Releases::before(19)),
        Mark::AccessLineWithoutAuditId => ("access lines have no audit-ID", Releases::before(22)),
        Mark::AuditIdInLine => ("access lines have an audit-ID", Releases::since(22)),
        Mark::PriorityLevelInLine => ("access lines have apf_pl", Releases::since(23)),
        Mark::SeatsInLine => ("access lines have apf_iseats", Releases::since(24)),
        Mark::AdditionalLatencyInLine => ("access lines have apf_additionalLatency", Releases::since(25)),
        Mark::WatchListLatencyInLine => ("access lines have watchlist_init_latency", Releases::since(36)),
    }
}
