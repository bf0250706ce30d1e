//! What a log shows of the server's version: versions that user agents and start lines state, and signs such as an API
//! that only some releases serve. What they say together is another module's part.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::{Bounded, Merge};
use crate::classify::{Statement, Witness};
use crate::k8s::{KubeVersion, Mark};

/// How many different statements are kept. Honest logs hold a few.
const MAX_STATEMENTS: usize = 4_096;
/// How many signs are kept: there are some hundred of each source.
const MAX_SIGNS: usize = 1 << 16;
/// How many instances are kept: the nodes of a large cluster, twice as many while they are counted.
const MAX_INSTANCES: usize = 8_192;

/// What a record shows of the server's version without stating one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// A built-in API was served: an index into `releases::BUILT_IN`.
    ApiServed(u8),
    /// It was answered with 404.
    ApiAbsent(u8),
    /// A request of an API that this minor removes was served.
    RemovedIn(u8),
    /// A record has what only some releases write.
    Mark(Mark),
    /// A WATCH with sendInitialEvents was answered with 422.
    InitialEventsRefused,
    /// One was served.
    InitialEventsServed,
    /// The source is an apiserver's own log, by a start line that only an apiserver writes.
    ServersOwnLog,
}

/// An instance that states a version: its hash, its source and what it is.
type InstanceKey = (u64, u32, Witness);

/// The newest version that an instance stated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Newest(Option<KubeVersion>);

impl Merge for Newest {
    fn merge(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }
}

/// What a log shows of the server's version.
#[derive(Debug, Clone)]
pub struct VersionEvidence {
    /// By witness, source and version: when it was stated first and last, in microseconds since 1970.
    stated: BTreeMap<(Witness, u32, KubeVersion), (i64, i64)>,
    instances: Bounded<InstanceKey, Newest>,
    signs: BTreeSet<(Sign, u32)>,
    recent: Recent,
}

impl Default for VersionEvidence {
    fn default() -> Self {
        Self {
            stated: BTreeMap::new(),
            instances: Bounded::new(MAX_INSTANCES),
            signs: BTreeSet::new(),
            recent: Recent([0; Recent::SLOTS]),
        }
    }
}

/// Hashes of what was noted last, so that what a log repeats costs one comparison.
#[derive(Debug, Clone)]
struct Recent([u64; Self::SLOTS]);

impl Recent {
    const SLOTS: usize = 256;

    /// Whether this was noted before; notes it.
    #[allow(clippy::cast_possible_truncation, reason = "the upper bits choose a slot")]
    fn was_noted(&mut self, what: impl std::hash::Hash) -> bool {
        let hash = FxBuildHasher.hash_one(what) | 1;
        let slot = &mut self.0[(hash >> 56) as usize];
        std::mem::replace(slot, hash) == hash
    }
}

impl VersionEvidence {
    /// Notes what a request's user agent states.
    pub fn state(&mut self, statement: Statement, source: u32, received: i64) {
        let Statement { by, version, instance, .. } = statement;
        if by == Witness::Loopback {
            return self.note(by, version, source, received);
        }
        if self.recent.was_noted((by, source, version, instance)) {
            return;
        }
        let rank = match by {
            Witness::Kubelet => 0,
            Witness::KubeProxy => 1,
            Witness::Unconfirmed => 2,
            _ => return self.note(by, version, source, received),
        };
        let key = (instance, source, by);
        let hash = FxBuildHasher.hash_one(key);
        self.instances.entry_of(hash, &key, || rank, || key).merge(Newest(Some(version)));
    }

    /// Notes a version that was stated at a time.
    pub fn note(&mut self, by: Witness, version: KubeVersion, source: u32, at: i64) {
        // The times of others decide nothing, and who is noted at which of them depends on the order.
        let at = if by <= Witness::StartLine { at } else { 0 };
        self.widen((by, source, version), (at, at));
    }

    fn widen(&mut self, key: (Witness, u32, KubeVersion), (first, last): (i64, i64)) {
        if let Some(span) = self.stated.get_mut(&key) {
            *span = (span.0.min(first), span.1.max(last));
        } else {
            self.stated.insert(key, (first, last));
            // What goes depends on the keys alone, and is of the least trusted witness first.
            if self.stated.len() > MAX_STATEMENTS {
                self.stated.pop_last();
            }
        }
    }

    /// Notes a sign.
    pub fn show(&mut self, sign: Sign, source: u32) {
        if self.recent.was_noted((sign, source)) {
            return;
        }
        self.add_sign((sign, source));
    }

    fn add_sign(&mut self, key: (Sign, u32)) {
        self.signs.insert(key);
        if self.signs.len() > MAX_SIGNS {
            self.signs.pop_last();
        }
    }

    /// Takes away the start lines of sources that are not an apiserver's log: kubelets and kube-proxies of 1.20 and
    /// before write the same line. `has_requests` says of a source whether it holds requests or traces of a server.
    pub fn drop_start_lines_of_others(&mut self, has_requests: impl Fn(u32) -> bool) {
        let signs = &self.signs;
        let is_servers = |source| has_requests(source) || signs.contains(&(Sign::ServersOwnLog, source));
        self.stated.retain(|(by, source, _), _| *by != Witness::StartLine || is_servers(*source));
    }

    /// All versions that the control plane stated, by witness and source.
    pub fn stated(&self) -> impl Iterator<Item = (Witness, u32, KubeVersion)> {
        self.stated.keys().copied()
    }

    /// All signs, by source.
    pub fn signs(&self) -> impl Iterator<Item = (Sign, u32)> {
        self.signs.iter().copied()
    }

    /// The kubelets, kube-proxies and unconfirmed clients that stated a version, each with its hash, its source, and the
    /// newest version that it stated; of very many, a sample.
    pub fn instances(&mut self) -> impl Iterator<Item = (Witness, u64, u32, KubeVersion)> {
        let version = |newest: &Newest| newest.0.unwrap_or(KubeVersion::OLDEST);
        self.instances
            .kept()
            .map(move |((instance, source, by), newest)| (*by, *instance, *source, version(newest)))
    }

    /// Everything that it holds, in an order of its own.
    pub fn in_order(&mut self) -> impl PartialEq + std::fmt::Debug + use<> {
        let mut instances: Vec<_> = self.instances().collect();
        instances.sort_unstable();
        (self.stated.clone(), self.signs.clone(), instances)
    }

    /// The versions over time that the server itself states, if it does.
    #[must_use]
    pub fn timeline(&self) -> Option<ServerTimeline> {
        let mut by_source: BTreeMap<u32, BTreeMap<KubeVersion, (i64, i64)>> = BTreeMap::new();
        let mut all: BTreeMap<KubeVersion, (i64, i64)> = BTreeMap::new();
        let exact = self.stated.iter().filter(|((by, ..), _)| *by <= Witness::StartLine);
        for ((_, source, version), span) in exact {
            let own = by_source.entry(*source).or_default();
            for whole in [own.entry(*version).or_insert(*span), all.entry(*version).or_insert(*span)] {
                *whole = (whole.0.min(span.0), whole.1.max(span.1));
            }
        }
        (!all.is_empty()).then(|| ServerTimeline::new(&all, &by_source))
    }

    /// Two versions that one source states by turns, if there are any: two servers wrote it.
    #[must_use]
    pub fn mixed(&self) -> Option<(u32, KubeVersion, KubeVersion)> {
        let own: Vec<_> = self.stated.iter().filter(|((by, ..), _)| *by == Witness::Loopback).collect();
        let is_after = |one: &(i64, i64), other: &(i64, i64)| other.0 > one.1;
        own.iter().enumerate().find_map(|(at, ((_, source, version), span))| {
            let others = own[at + 1..].iter().filter(|((_, of, _), _)| of == source);
            let mixed =
                others.into_iter().find(|(_, other)| !is_after(span, other) && !is_after(other, span));
            mixed.map(|((.., other), _)| (*source, *version, *other))
        })
    }
}

impl Merge for VersionEvidence {
    fn merge(&mut self, other: Self) {
        for (key, span) in other.stated {
            self.widen(key, span);
        }
        for key in other.signs {
            self.add_sign(key);
        }
        self.instances.merge(other.instances);
    }
}

/// Which version answered when. An index into [`ServerTimeline::versions`] is an era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTimeline {
    /// All versions, in the order in which they were first seen.
    pub versions: Vec<KubeVersion>,
    /// Instants from which an era holds, for sources that say nothing of their own server.
    whole: Vec<(i64, u8)>,
    /// The same by source.
    by_source: BTreeMap<u32, Vec<(i64, u8)>>,
}

impl ServerTimeline {
    /// One version at all times.
    #[must_use]
    pub fn always(version: KubeVersion) -> Self {
        Self { versions: vec![version], whole: vec![(i64::MIN, 0)], by_source: BTreeMap::new() }
    }

    /// One version for each source; a source that is not named has the last one.
    #[must_use]
    pub fn by_source(stated: &BTreeMap<u32, KubeVersion>) -> Self {
        let always = (i64::MIN, i64::MIN);
        let all = stated.values().map(|version| (*version, always)).collect();
        let by_source =
            stated.iter().map(|(source, version)| (*source, BTreeMap::from([(*version, always)])));
        Self::new(&all, &by_source.collect())
    }

    fn new(
        all: &BTreeMap<KubeVersion, (i64, i64)>,
        by_source: &BTreeMap<u32, BTreeMap<KubeVersion, (i64, i64)>>,
    ) -> Self {
        let mut order: Vec<(i64, KubeVersion)> =
            all.iter().map(|(version, span)| (span.0, *version)).collect();
        order.sort_unstable();
        // An era is a byte; a log with more versions is a hostile one.
        order.truncate(usize::from(u8::MAX));
        let versions: Vec<KubeVersion> = order.iter().map(|(_, version)| *version).collect();
        let starts = |stated: &BTreeMap<KubeVersion, (i64, i64)>| {
            let mut starts: Vec<(i64, u8)> = stated
                .iter()
                .filter_map(|(version, span)| {
                    let era = versions.iter().position(|known| known == version)?;
                    Some((span.0, u8::try_from(era).ok()?))
                })
                .collect();
            starts.sort_unstable();
            starts
        };
        Self {
            whole: starts(all),
            by_source: by_source.iter().map(|(source, stated)| (*source, starts(stated))).collect(),
            versions,
        }
    }

    /// The era of a request of a source at an instant: what the source's own server stated last; before its first
    /// statement, what any did; before all, the first era.
    #[must_use]
    pub fn era(&self, source: u32, received: Option<i64>) -> u8 {
        if self.versions.len() < 2 {
            return 0;
        }
        let last_of = |starts: &[(i64, u8)]| {
            let after = received.map_or(0, |at| starts.partition_point(|(start, _)| *start <= at));
            after.checked_sub(1).map(|last| starts[last].1)
        };
        let own = self.by_source.get(&source).and_then(|own| last_of(own));
        own.or_else(|| last_of(&self.whole)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: KubeVersion = KubeVersion::new(30, 1);
    const NEW: KubeVersion = KubeVersion::new(31, 0);

    #[test]
    fn an_upgrade_is_seen_by_each_server_at_its_own_time() {
        let mut evidence = VersionEvidence::default();
        for (source, version, at) in [(1, OLD, 10), (1, NEW, 100), (2, OLD, 5), (2, OLD, 150), (2, NEW, 200)]
        {
            evidence.note(Witness::Loopback, version, source, at);
        }
        evidence.note(Witness::Scheduler, KubeVersion::new(29, 0), 1, 1);
        let timeline = evidence.timeline().expect("evidence");
        assert_eq!(&*timeline.versions, [OLD, NEW].as_slice());
        let version = |source, at| timeline.versions[usize::from(timeline.era(source, Some(at)))];
        assert_eq!(version(1, 0), OLD);
        assert_eq!(version(1, 99), OLD);
        assert_eq!(version(1, 100), NEW);
        assert_eq!(version(2, 199), OLD);
        assert_eq!(version(2, 200), NEW);
        assert_eq!(version(2, 4), OLD);
        assert_eq!(version(3, 120), NEW, "a source without a statement follows the first that was upgraded");
        assert_eq!(evidence.mixed(), None, "one after the other");
    }

    #[test]
    fn two_servers_in_one_source_are_no_upgrade() {
        let mut evidence = VersionEvidence::default();
        for (version, at) in [(OLD, 10), (NEW, 20), (OLD, 30)] {
            evidence.note(Witness::Loopback, version, 1, at);
        }
        assert_eq!(evidence.mixed(), Some((1, OLD, NEW)));
    }

    #[test]
    fn kubelets_state_nothing_of_the_server() {
        let mut evidence = VersionEvidence::default();
        evidence.note(Witness::Kubelet, OLD, 0, 1);
        assert_eq!(evidence.timeline(), None);
    }

    #[test]
    fn sources_have_versions_of_their_own() {
        let timeline = ServerTimeline::by_source(&BTreeMap::from([(0, NEW), (1, OLD)]));
        let version = |source| timeline.versions[usize::from(timeline.era(source, Some(7)))];
        assert_eq!([version(0), version(1), version(2)], [NEW, OLD, NEW]);
    }

    fn noted(notes: &[(u8, u8, u32, u16, i64)]) -> VersionEvidence {
        let mut evidence = VersionEvidence::default();
        for (kind, instance, source, patch, at) in notes {
            let version = KubeVersion::new(30, *patch);
            match kind {
                0 => evidence.note(Witness::Loopback, version, *source, *at),
                1 => evidence.show(Sign::ApiServed(*instance), *source),
                _ => {
                    let by = if *kind == 2 { Witness::Kubelet } else { Witness::Unconfirmed };
                    evidence.state(Statement::with(by, version, u64::from(*instance)), *source, *at);
                }
            }
        }
        evidence
    }

    proptest! {
        #[test]
        fn neither_order_nor_split_matters(
            notes in prop::collection::vec((0_u8..4, 0_u8..9, 0_u32..3, 0_u16..5, 0_i64..50), 0..60),
            cut in 0_usize..60,
        ) {
            let whole = noted(&notes).in_order();
            let (left, right) = notes.split_at(cut.min(notes.len()));
            let mut merged = noted(right);
            merged.merge(noted(left));
            prop_assert_eq!(&merged.in_order(), &whole);
            let backwards: Vec<_> = notes.iter().rev().copied().collect();
            prop_assert_eq!(&noted(&backwards).in_order(), &whole);
        }
    }
}
