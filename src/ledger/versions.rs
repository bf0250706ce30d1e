//! All evidence of the server's version.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::merge::merge_fields;
use super::{BoundedMap, Merge, Presence};
use crate::apiserver::ConfiguredNames;
use crate::k8s::{EtcdVersion, KubeVersion, Mark};
use crate::requests::{ClaimSource, VersionClaim};

/// The maximum number of distinct claims. Logs that nobody tampered with have a few in each source.
const MAX_STATEMENTS: usize = 1 << 16;
/// The maximum number of pairs of [`Sign`] and source. Each source has at most a few hundred.
const MAX_SIGNS: usize = 1 << 16;
/// The maximum number of instances whose version claims are kept: enough for the nodes of a large cluster. During
/// counting, memory holds up to twice as many.
const MAX_INSTANCES: usize = 8_192;

/// Evidence of the server's version that does not state a version number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// A built-in API was served. The value is an index into `releases::BUILT_IN`.
    ApiServed(u8),
    /// A request for a built-in API got status 404. The value is an index into `releases::BUILT_IN`.
    ApiAbsent(u8),
    /// The server served a request for an API that it marks as removed in this minor version.
    RemovedIn(u8),
    /// A record has a field or value that only some releases write.
    Mark(Mark),
    /// A WATCH with sendInitialEvents got status 422.
    InitialEventsRefused,
    /// A WATCH with sendInitialEvents was served.
    InitialEventsServed,
    /// A WATCH with sendInitialEvents was served without resourceVersionMatch. A server that knows sendInitialEvents
    /// rejects such a request.
    InitialEventsIgnored,
    /// The source is an apiserver's own log: it has a start line that only an apiserver writes.
    ServersOwnLog,
}

/// Evidence of the server's version in one request. The derived order puts the most trusted claims first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// An instance states a version. The last value is a hash of the instance.
    Stated(ClaimSource, KubeVersion, u64),
    Sign(Sign),
}

impl Claim {
    /// The same claim without its instance. So equal claims of different instances become one claim.
    #[must_use]
    pub(crate) fn of_any_instance(self) -> Self {
        match self {
            Self::Stated(by, version, _) => Self::Stated(by, version, 0),
            Self::Sign(_) => self,
        }
    }

    /// Whether kubetoll counts the instances that make this claim. True for kubelets, kube-proxies and unconfirmed
    /// clients.
    #[must_use]
    pub(crate) fn is_counted_by_instance(self) -> bool {
        matches!(
            self,
            Self::Stated(ClaimSource::Kubelet | ClaimSource::KubeProxy | ClaimSource::Unconfirmed, ..)
        )
    }
}

/// The hash of the instance, then the source, the claim source and the version.
type InstanceKey = (u64, u32, ClaimSource, KubeVersion);

/// All evidence of the server's version.
#[derive(Debug, Clone, Default)]
pub struct VersionEvidence {
    /// The times of version claims, by claim source, source and version.
    stated: BTreeMap<(ClaimSource, u32, KubeVersion), Presence>,
    /// Only the keys matter.
    instances: BoundedMap<InstanceKey, (), MAX_INSTANCES>,
    signs: BTreeMap<(Sign, u32), Presence>,
    etcd: EtcdVersions,
}

impl VersionEvidence {
    /// Records the version that a request's user agent claims.
    pub(crate) fn note_claim(&mut self, claim: VersionClaim, source: u32, received: Option<i64>) {
        let VersionClaim { by, version, instance, .. } = claim;
        self.note(by, version, source, received);
        let rank = match by {
            ClaimSource::Kubelet => 0,
            ClaimSource::KubeProxy => 1,
            ClaimSource::Unconfirmed => 2,
            _ => return,
        };
        let key = (instance, source, by, version);
        self.instances.find_or_insert(FxBuildHasher.hash_one(key), &key, || rank, || key);
    }

    pub(crate) fn claim(&mut self, claim: Claim, source: u32, at: Option<i64>) {
        match claim {
            Claim::Stated(by, version, instance) => {
                self.note_claim(VersionClaim::new(by, version, instance), source, at);
            }
            Claim::Sign(sign) => self.show(sign, source, at),
        }
    }

    /// Records that a component claims a version at a time.
    pub(crate) fn note(&mut self, by: ClaimSource, version: KubeVersion, source: u32, at: Option<i64>) {
        add(&mut self.stated, MAX_STATEMENTS, (by, source, version), |own| own.add(at));
    }

    pub(crate) fn show(&mut self, sign: Sign, source: u32, at: Option<i64>) {
        add(&mut self.signs, MAX_SIGNS, (sign, source), |own| own.add(at));
    }

    pub(crate) fn note_etcd(&mut self, version: EtcdVersion, source: u32) {
        self.etcd.note(version, source);
    }

    /// Iterates over the etcd versions in start lines, each with its source.
    pub(crate) fn etcd(&self) -> impl Iterator<Item = (EtcdVersion, u32)> {
        self.etcd.iter()
    }

    /// Removes the claims of start lines from sources that are not an apiserver's log. Kubelets and kube-proxies up
    /// to 1.20 write the same start line as the apiserver. `has_requests` returns whether a source has requests or
    /// traces of a server.
    pub(crate) fn drop_start_lines_of_others(&mut self, has_requests: impl Fn(u32) -> bool) {
        let signs = &self.signs;
        let is_servers = |source| has_requests(source) || signs.contains_key(&(Sign::ServersOwnLog, source));
        self.stated.retain(|(by, source, _), _| *by != ClaimSource::StartLine || is_servers(*source));
    }

    /// Iterates over all version claims: claim source, source and version, with the times of each.
    pub(crate) fn stated(&self) -> impl Iterator<Item = (ClaimSource, u32, KubeVersion, Presence)> {
        self.stated.iter().map(|((by, source, version), presence)| (*by, *source, *version, *presence))
    }

    /// Iterates over all signs: each sign with its source and its times.
    pub(crate) fn signs(&self) -> impl Iterator<Item = (Sign, u32, Presence)> {
        self.signs.iter().map(|((sign, source), presence)| (*sign, *source, *presence))
    }

    /// The claims of kubelets, kube-proxies and unconfirmed clients: claim source, hash of the instance, source and
    /// version. An instance with several versions has several entries. Above the limit, this is a sample.
    pub(crate) fn instances(&mut self) -> impl Iterator<Item = (ClaimSource, u64, u32, KubeVersion)> {
        self.instances
            .entries()
            .map(|((instance, source, by, version), ())| (*by, *instance, *source, *version))
    }

    /// Returns all evidence in a fixed order, for comparisons.
    pub fn in_order(&mut self) -> impl PartialEq + std::fmt::Debug + use<> {
        let mut instances: Vec<_> = self.instances().collect();
        instances.sort_unstable();
        (self.stated.clone(), self.signs.clone(), self.etcd.clone(), instances)
    }
}

/// Adds times to an entry. Only the keys decide which entries are evicted. Claims of the least trusted claim source
/// are evicted first.
fn add<K: Ord>(entries: &mut BTreeMap<K, Presence>, bound: usize, key: K, add: impl FnOnce(&mut Presence)) {
    add(entries.entry(key).or_default());
    if entries.len() > bound {
        entries.pop_last();
    }
}

impl Merge for VersionEvidence {
    fn merge(&mut self, other: Self) {
        for (key, presence) in other.stated {
            add(&mut self.stated, MAX_STATEMENTS, key, |own| own.merge(&presence));
        }
        for (key, presence) in other.signs {
            add(&mut self.signs, MAX_SIGNS, key, |own| own.merge(&presence));
        }
        merge_fields!(self, other: instances, etcd);
    }
}

/// The maximum number of pairs of version and source.
const MAX_ETCD_VERSIONS: usize = 1_024;

/// The etcd versions in start lines, each with its source. The apiserver uses some features only if all etcd members
/// are new enough, so the lowest version counts. Above the maximum number, the lowest versions are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdVersions(BTreeSet<(EtcdVersion, u32)>);

impl EtcdVersions {
    pub(crate) fn note(&mut self, version: EtcdVersion, source: u32) {
        self.0.insert((version, source));
        if self.0.len() > MAX_ETCD_VERSIONS {
            self.0.pop_last();
        }
    }

    /// Iterates over the versions, lowest version first, each with its source.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EtcdVersion, u32)> {
        self.0.iter().copied()
    }
}

impl Merge for EtcdVersions {
    fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(version, source)| self.note(version, source));
    }
}

/// The version used to judge requests during a time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimelineVersion {
    pub(crate) version: KubeVersion,
    /// Another version that servers run at the same time, such as during an upgrade.
    pub(crate) beside: Option<KubeVersion>,
}

impl From<KubeVersion> for TimelineVersion {
    fn from(version: KubeVersion) -> Self {
        Self { version, beside: None }
    }
}

/// Maps the source and the time of a request to the version used to judge it. A version index is an index into
/// [`ServerTimeline::versions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTimeline {
    pub(crate) versions: Vec<TimelineVersion>,
    /// The start times of versions, each with its version index. They are for sources without evidence of their own
    /// server's version.
    other_sources: Vec<(i64, u8)>,
    /// The start times of versions, each with its version index, by source. Only sources with evidence of their own
    /// server's version have an entry.
    by_source: BTreeMap<u32, Vec<(i64, u8)>>,
    /// The resources without a watch cache, and the API groups of aggregated servers. They are the same for all
    /// versions.
    pub(crate) names: Arc<ConfiguredNames>,
}

/// Start times in microseconds since 1970, each with the version from then on.
pub type VersionStarts = Vec<(i64, TimelineVersion)>;

impl ServerTimeline {
    /// Creates a timeline with one version.
    #[must_use]
    pub fn always(version: KubeVersion) -> Self {
        Self {
            versions: vec![version.into()],
            other_sources: vec![(i64::MIN, 0)],
            by_source: BTreeMap::new(),
            names: Arc::default(),
        }
    }

    /// Creates a timeline. The versions get their indexes in the order of `order`. `by_source` contains the start
    /// times of versions in each source with evidence. `other_sources` contains the start times of versions in all
    /// other sources.
    #[must_use]
    pub fn new(
        order: &[TimelineVersion],
        by_source: &BTreeMap<u32, VersionStarts>,
        other_sources: &VersionStarts,
    ) -> Self {
        let mut versions: Vec<TimelineVersion> = Vec::new();
        for version in order {
            // A version index is one byte, so further versions get no index. Only a hostile log has so many versions.
            if !versions.contains(version) && versions.len() < usize::from(u8::MAX) {
                versions.push(*version);
            }
        }
        let starts = |stated: &VersionStarts| {
            let version_index = |version: &TimelineVersion| versions.iter().position(|own| own == version);
            let mut starts: Vec<(i64, u8)> = stated
                .iter()
                .filter_map(|(start, version)| Some((*start, u8::try_from(version_index(version)?).ok()?)))
                .collect();
            starts.sort_unstable();
            starts
        };
        Self {
            other_sources: starts(other_sources),
            by_source: by_source.iter().map(|(source, stated)| (*source, starts(stated))).collect(),
            versions,
            names: Arc::default(),
        }
    }

    /// Sets [`ServerTimeline::names`], and returns the timeline.
    #[must_use]
    pub(crate) fn with_names(self, names: ConfiguredNames) -> Self {
        Self { names: Arc::new(names), ..self }
    }

    /// The Kubernetes version for each version index.
    pub fn kube_versions(&self) -> impl Iterator<Item = KubeVersion> {
        self.versions.iter().map(|version| version.version)
    }

    /// Returns the index of the version that was current when a request was received. The start times of the
    /// request's source decide. If this source has no start time up to then, `other_sources` decides. If that also
    /// has none, or the receive time is unknown, returns 0.
    #[must_use]
    pub(crate) fn version_index(&self, source: u32, received: Option<i64>) -> u8 {
        if self.versions.len() < 2 {
            return 0;
        }
        let last_of = |starts: &[(i64, u8)]| {
            let after = received.map_or(0, |at| starts.partition_point(|(start, _)| *start <= at));
            after.checked_sub(1).map(|last| starts[last].1)
        };
        let own = self.by_source.get(&source).and_then(|own| last_of(own));
        own.or_else(|| last_of(&self.other_sources)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: KubeVersion = KubeVersion::new(30, 1);
    const NEW: KubeVersion = KubeVersion::new(31, 0);

    #[test]
    fn a_source_has_a_timeline_of_its_own() {
        let by_source = BTreeMap::from([
            (1, vec![(i64::MIN, OLD.into()), (100, NEW.into())]),
            (2, vec![(i64::MIN, OLD.into()), (200, NEW.into())]),
            (4, vec![(i64::MIN, OLD.into())]),
        ]);
        let starts = vec![(5, OLD.into()), (100, NEW.into())];
        let timeline = ServerTimeline::new(&[OLD.into(), NEW.into()], &by_source, &starts);
        let version =
            |source, at| timeline.versions[usize::from(timeline.version_index(source, Some(at)))].version;
        assert_eq!([version(1, 0), version(1, 99), version(1, 100)], [OLD, OLD, NEW]);
        assert_eq!([version(2, 199), version(2, 200)], [OLD, NEW]);
        assert_eq!([version(3, 0), version(3, 120)], [OLD, NEW], "as all sources together");
        assert_eq!(version(4, 900), OLD);
    }

    #[test]
    fn a_node_with_two_versions_states_both() {
        let mut evidence = VersionEvidence::default();
        for version in [OLD, NEW, OLD] {
            evidence.note_claim(VersionClaim::new(ClaimSource::Kubelet, version, 7), 0, Some(1));
        }
        let mut versions: Vec<KubeVersion> = evidence.instances().map(|(.., version)| version).collect();
        versions.sort_unstable();
        assert_eq!(versions, [OLD, NEW]);
    }

    #[test]
    fn the_oldest_versions_are_kept_in_any_order() {
        let version: EtcdVersion = "3.5.13".parse().expect("a version");
        let old: EtcdVersion = "3.4.0".parse().expect("a version");
        let mut versions = EtcdVersions::default();
        (0..2_000).for_each(|source| versions.note(version, source));
        let mut merged = EtcdVersions::default();
        merged.note(old, 7);
        let mut other = merged.clone();
        merged.merge(versions.clone());
        versions.merge(other.clone());
        other.merge(merged.clone());
        assert_eq!((&merged, &other), (&versions, &versions));
        assert_eq!((merged.iter().next(), merged.iter().count()), (Some((old, 7)), MAX_ETCD_VERSIONS));
    }

    fn noted(notes: &[(u8, u8, u32, u16, i64)]) -> VersionEvidence {
        let mut evidence = VersionEvidence::default();
        for (kind, instance, source, patch, at) in notes {
            let version = KubeVersion::new(30, *patch);
            match kind {
                0 => evidence.note(ClaimSource::Loopback, version, *source, Some(*at)),
                1 => evidence.show(Sign::ApiServed(*instance), *source, Some(*at)),
                _ => {
                    let by = if *kind == 2 { ClaimSource::Kubelet } else { ClaimSource::Unconfirmed };
                    evidence.note_claim(
                        VersionClaim::new(by, version, u64::from(*instance)),
                        *source,
                        Some(*at),
                    );
                }
            }
        }
        evidence
    }

    proptest! {
        #[test]
        fn version_evidence_is_independent_of_order_and_split(
            notes in prop::collection::vec((0_u8..4, 0_u8..9, 0_u32..3, 0_u16..5, 0_i64..50), 0..60),
            cut in 0_usize..60,
        ) {
            let whole = noted(&notes).in_order();
            let mut merged = crate::ledger::merge::merged_parts(&notes, cut, noted);
            prop_assert_eq!(&merged.in_order(), &whole);
            let backwards: Vec<_> = notes.iter().rev().copied().collect();
            prop_assert_eq!(&noted(&backwards).in_order(), &whole);
        }
    }
}
