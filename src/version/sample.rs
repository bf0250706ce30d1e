//! Finds a small set of events that show the same server version as the whole log. An extract of the log includes them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;

use super::facts::VersionSource;
use super::infer::infer_from_evidence;
use super::inferred::{Inferred, Relation};
use crate::apiserver::{Releases, Server};
use crate::k8s::KubeVersion;
use crate::ledger::merge::merge_fields;
use crate::ledger::{BoundedMap, Claim, Merge, TimelineVersion, VersionEvidence};

/// The maximum number of different claims in each source. Equal claims of several instances count once. Logs that
/// nobody tampered with have a few hundred.
const MAX_KINDS: usize = 4_096;
/// The maximum number of stored claims that are counted by instance, such as the version that one kubelet states. It
/// is enough for the nodes of a large cluster. During counting, each worker may store up to twice this number.
const MAX_INSTANCES: usize = 1 << 14;

/// An event with version evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sighting {
    /// Receive time of its request, in microseconds since 1970.
    pub(crate) at: Option<i64>,
    /// A hash that is unique among the events of the log.
    pub(crate) event: u64,
    /// A hash that the events of one request share.
    pub(crate) request: u64,
}

/// The first and the last event that make a claim.
#[derive(Debug, Clone, Copy, Default)]
struct FirstAndLast(Option<(Sighting, Sighting)>);

impl FirstAndLast {
    fn new(seen: Sighting) -> Self {
        Self(Some((seen, seen)))
    }

    fn events(self) -> impl Iterator<Item = Sighting> {
        self.0.into_iter().flat_map(|(first, last)| [first, last])
    }
}

merge_fields!(FirstAndLast: 0);

/// A claim without its instance. The flag is false for a sign and true for a stated version, so that signs are sorted
/// first. If there are too many claims, the last ones are dropped. Signs are few, but a client can state many
/// versions.
type Kind = (bool, Claim);

/// Claims about the server's version, each with its first and its last event. The order of calls does not affect which
/// claims are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claims {
    /// Claims by source. Each source has its own limit, so many claims in one source cannot evict the claims of
    /// another.
    kinds: BTreeMap<u32, BTreeMap<Kind, FirstAndLast>>,
    /// Claims that are counted by instance: each kubelet, for example, has its own entry. The key is the source and
    /// the claim. Above [`MAX_INSTANCES`], the map contains only a sample.
    instances: BoundedMap<(u32, Claim), FirstAndLast, MAX_INSTANCES>,
}

impl Claims {
    /// Adds a claim.
    pub(crate) fn note(&mut self, claim: Claim, source: u32, seen: Sighting) {
        let seen = FirstAndLast::new(seen);
        self.add((matches!(claim, Claim::Stated(..)), claim.of_any_instance()), source, seen);
        if claim.is_counted_by_instance() {
            let key = (source, claim);
            self.instances.entry_with_hash(FxBuildHasher.hash_one(key), &key, || 0, || key).merge(seen);
        }
    }

    /// Moves all claims of `other` into this.
    pub(crate) fn merge(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        for (source, kinds) in other.kinds {
            for (kind, seen) in kinds {
                self.add(kind, source, seen);
            }
        }
        self.instances.merge(other.instances);
    }

    fn add(&mut self, kind: Kind, source: u32, seen: FirstAndLast) {
        let kinds = self.kinds.entry(source).or_default();
        kinds.entry(kind).or_default().merge(seen);
        if kinds.len() > MAX_KINDS {
            kinds.pop_last();
        }
    }

    /// All claims, each with its source, and its first and last event. Equal claims of several instances are one
    /// claim here.
    fn kinds(&self) -> impl Iterator<Item = (u32, Claim, FirstAndLast)> {
        let claims_of = |(source, kinds): (&u32, &BTreeMap<Kind, FirstAndLast>)| {
            let source = *source;
            kinds.iter().map(move |((_, claim), seen)| (source, *claim, *seen)).collect::<Vec<_>>()
        };
        self.kinds.iter().flat_map(claims_of)
    }

    /// The claims that are counted by instance, each with its source, and its first and last event.
    fn instances(&mut self) -> impl Iterator<Item = (u32, Claim, FirstAndLast)> {
        self.instances.entries().map(|((source, claim), seen)| (*source, *claim, *seen))
    }

    /// Returns the version evidence that these claims give. `source` maps the number of a source file to the number
    /// under which its claims count.
    fn evidence(&mut self, source: impl Fn(u32) -> u32) -> VersionEvidence {
        let mut evidence = VersionEvidence::default();
        for (own, claim, seen) in self.kinds() {
            for seen in seen.events() {
                match claim {
                    Claim::Stated(by, version, _) => evidence.note(by, version, source(own), seen.at),
                    Claim::Sign(sign) => evidence.show(sign, source(own), seen.at),
                }
            }
        }
        for (own, claim, seen) in self.instances() {
            for seen in seen.events() {
                evidence.claim(claim, source(own), seen.at);
            }
        }
        evidence
    }
}

/// If merging the sources into one log would change the version used to judge them, returns the versions of the sources.
/// Otherwise returns `None`.
#[must_use]
pub(crate) fn mixed_versions(evidence: &mut VersionEvidence, server: &Server) -> Option<Vec<KubeVersion>> {
    let inferred = infer_as_one(evidence, server);
    let versions: BTreeSet<KubeVersion> = inferred.timeline.kube_versions().collect();
    let is_mixed = matches!(inferred.relation, Relation::BySource | Relation::Mixed) && versions.len() > 1;
    is_mixed.then(|| versions.into_iter().collect())
}

/// First and last receive time of requests, by source and version index.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClaimSpans(BTreeMap<(u32, u8), (i64, i64)>);

impl ClaimSpans {
    /// Adds a request.
    pub(crate) fn note(&mut self, source: u32, version_index: u8, at: i64) {
        self.widen((source, version_index), (at, at));
    }

    /// Moves all time spans of `other` into this.
    pub(crate) fn merge(&mut self, other: &mut Self) {
        for (key, span) in std::mem::take(&mut other.0) {
            self.widen(key, span);
        }
    }

    fn widen(&mut self, key: (u32, u8), (first, last): (i64, i64)) {
        let span = self.0.entry(key).or_insert((first, last));
        *span = (span.0.min(first), span.1.max(last));
    }

    /// The versions used to judge these requests.
    #[must_use]
    pub(crate) fn versions(&self, inferred: &Inferred) -> BTreeSet<KubeVersion> {
        let judges =
            self.0.keys().filter_map(|(_, index)| inferred.timeline.versions.get(usize::from(*index)));
        judges.map(|judge| judge.version).collect()
    }

    /// Whether these requests get the same verdicts with `inferred` as with `other`. They do if both have the same
    /// version and the same possible releases for each request. `other` is the result if all events come from one
    /// source.
    fn are_judged_alike(&self, inferred: &Inferred, other: &Inferred) -> bool {
        let versions_at = |inferred: &Inferred, index: u8| -> Option<(TimelineVersion, Releases)> {
            let index = usize::from(index);
            Some((*inferred.timeline.versions.get(index)?, inferred.by_version_index.get(index)?.clone()))
        };
        let mut requests = self.0.iter().flat_map(|((_, index), (first, last))| {
            [first, last].map(|at| (*index, other.timeline.version_index(0, Some(*at))))
        });
        requests.all(|(own, others)| versions_at(inferred, own) == versions_at(other, others))
    }
}

/// Infers the server's versions from this evidence. If all versions give the same verdicts, the result uses only the
/// best estimate to judge requests.
fn infer_as_one(evidence: &mut VersionEvidence, server: &Server) -> Inferred {
    let mut inferred = infer_from_evidence(evidence, server);
    inferred.judge_as_one_if_alike();
    inferred
}

/// Finds events that an extract must contain besides the chosen requests. With these events, kubetoll judges the
/// chosen requests with the same versions as in the whole log. Mostly, each of these events is necessary. But if the
/// number of nodes with a version matters, the events of all instances are returned.
///
/// `inferred` is the result for the whole log. `all` contains the claims of all events, and `chosen` those of the chosen
/// requests. `spans` contains the receive times of the chosen requests.
///
/// Returns `None` if no events show the versions: the user sets the version, a start line states it, or measurements
/// show it.
#[must_use]
pub(crate) fn sample(
    inferred: &Inferred,
    server: &Server,
    all: &mut Claims,
    chosen: &mut Claims,
    spans: &ClaimSpans,
) -> Option<BTreeSet<Sighting>> {
    if inferred.source == VersionSource::Flag {
        return None;
    }
    let own = chosen.evidence(|_| 0);
    let is_shown_by = |events: &mut dyn Iterator<Item = &Candidate>| {
        let mut evidence = own.clone();
        for (claim, at) in events.flat_map(|event| &event.claims) {
            evidence.claim(*claim, 0, *at);
        }
        spans.are_judged_alike(inferred, &infer_as_one(&mut evidence, server))
    };
    let sources: BTreeSet<u32> = spans.0.keys().map(|(source, _)| *source).collect();
    let has_several = inferred.relation != Relation::One;
    let mut few = candidates(all.kinds(), &sources, has_several);
    if !is_shown_by(&mut few.iter()) {
        // The number of nodes with a version may matter, so try all instances.
        let others: Vec<_> = all.kinds().filter(|(_, claim, _)| !claim.is_counted_by_instance()).collect();
        let many = candidates(others.into_iter().chain(all.instances()), &sources, has_several);
        return is_shown_by(&mut many.iter()).then(|| many.iter().map(|event| event.seen).collect());
    }
    // Try to drop the least trusted events first.
    few.sort_by_key(|event| (Reverse(event.claims.iter().map(|(claim, _)| *claim).min()), event.seen));
    Some(needed(&few, is_shown_by).iter().map(|event| event.seen).collect())
}

/// Returns a minimal part of the candidates for which `is_enough` still returns true. Tries to drop many candidates
/// at once, because only a few are needed. Each call of `is_enough` reads all candidates that are left.
fn needed<T>(all: &[T], is_enough: impl Fn(&mut dyn Iterator<Item = &T>) -> bool) -> Vec<&T> {
    let mut needed: Vec<&T> = Vec::new();
    // Slices that may still be dropped. The last slice is tried next.
    let mut untried = vec![all];
    while let Some(slice) = untried.pop() {
        let rest = untried.iter().rev().flat_map(|slice| slice.iter());
        if slice.is_empty() || is_enough(&mut needed.iter().copied().chain(rest)) {
            continue;
        }
        if let [one] = slice {
            needed.push(one);
        } else {
            let (first, second) = slice.split_at(slice.len() / 2);
            untried.extend([second, first]);
        }
    }
    needed
}

/// An event that may be added to the extract, with its claims.
#[derive(Debug)]
struct Candidate {
    seen: Sighting,
    claims: Vec<(Claim, Option<i64>)>,
}

/// Finds the events that may be added to the extract. For each claim in these sources, it takes the first event that
/// makes the claim. With `with_last`, it also takes the last such event.
fn candidates(
    claims: impl Iterator<Item = (u32, Claim, FirstAndLast)>,
    sources: &BTreeSet<u32>,
    with_last: bool,
) -> Vec<Candidate> {
    let mut events: BTreeMap<Sighting, BTreeSet<Claim>> = BTreeMap::new();
    for (_, claim, seen) in claims.filter(|(source, ..)| sources.contains(source)) {
        for seen in seen.events().take(if with_last { 2 } else { 1 }) {
            events.entry(seen).or_default().insert(claim);
        }
    }
    let candidate = |(seen, claims): (Sighting, BTreeSet<Claim>)| Candidate {
        seen,
        claims: claims.into_iter().map(|claim| (claim, seen.at)).collect(),
    };
    events.into_iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::requests::ClaimSource;

    fn kubelet(node: u64, patch: u16) -> Claim {
        Claim::Stated(ClaimSource::Kubelet, KubeVersion::new(28, patch), node)
    }

    fn seen(event: u64) -> Sighting {
        Sighting {
            at: Some(i64::try_from(event).expect("a small number") * 1_000_000),
            event,
            request: event,
        }
    }

    #[test]
    fn many_nodes_of_one_source_evict_no_evidence_of_another() {
        let nodes = 4 * MAX_INSTANCES as u64;
        let kubelets = |range: std::ops::Range<u64>| range.map(|node| (kubelet(node, 3), 0, seen(node)));
        let stated = |minor, patch| Claim::Stated(ClaimSource::Loopback, KubeVersion::new(minor, patch), 0);
        let other =
            [0, nodes].map(|at| [(stated(28, 3), 0, seen(at)), (stated(34, 1), 1, seen(at))]).concat();
        let claims_of = |notes: Vec<(Claim, u32, Sighting)>| {
            let mut claims = Claims::default();
            for (claim, source, seen) in notes {
                claims.note(claim, source, seen);
            }
            claims
        };
        let mut forward = claims_of(kubelets(0..nodes).chain(other.clone()).collect());
        let mut backward = claims_of(other.iter().copied().chain(kubelets(0..nodes).rev()).collect());
        let mut merged = claims_of(kubelets(nodes / 2..nodes).chain(other).collect());
        merged.merge(&mut claims_of(kubelets(0..nodes / 2).collect()));
        assert!(forward.kinds().any(|(source, claim, _)| (source, claim) == (1, stated(34, 1))));
        let expected = forward.evidence(|source| source).in_order();
        assert_eq!(backward.evidence(|source| source).in_order(), expected);
        assert_eq!(merged.evidence(|source| source).in_order(), expected);
    }

    #[test]
    fn many_nodes_of_one_source_do_not_hide_the_version_of_another() {
        let mut evidence = VersionEvidence::default();
        for node in 0..33_500 {
            evidence.claim(kubelet(node, 3), 0, seen(node).at);
            for (source, version) in [(0, KubeVersion::new(28, 3)), (1, KubeVersion::new(34, 1))] {
                let stated = Claim::Stated(ClaimSource::Loopback, version, 0);
                evidence.claim(stated, source, seen(node).at);
            }
        }
        let server = Server::with_defaults(KubeVersion::NEWEST);
        let versions = mixed_versions(&mut evidence, &server);
        assert_eq!(versions, Some(vec![KubeVersion::new(28, 3), KubeVersion::new(34, 1)]));
    }

    #[test]
    fn many_versions_of_one_client_evict_no_sign_and_no_trusted_claim() {
        let mut claims = Claims::default();
        for patch in 0..2 * u16::try_from(MAX_KINDS).expect("a small number") {
            claims.note(kubelet(1, patch), 0, seen(u64::from(patch)));
        }
        let sign = Claim::Sign(crate::ledger::Sign::InitialEventsServed);
        let stated = Claim::Stated(ClaimSource::Loopback, KubeVersion::new(34, 1), 0);
        claims.note(sign, 0, seen(1));
        claims.note(stated, 0, seen(1));
        let claims_left: Vec<Claim> = claims.kinds().map(|(_, claim, _)| claim).collect();
        assert!(
            claims_left.len() == MAX_KINDS && claims_left.contains(&sign) && claims_left.contains(&stated)
        );
    }

    #[test]
    fn needed_events_are_found_with_few_tests() {
        let all: Vec<u32> = (0..10_000).collect();
        for wanted in [&[][..], &[0], &[4_999, 5_000, 9_999]] {
            let tests = Cell::new(0);
            let events = needed(&all, |rest: &mut dyn Iterator<Item = &u32>| {
                tests.set(tests.get() + 1);
                let rest: BTreeSet<u32> = rest.copied().collect();
                wanted.iter().all(|one| rest.contains(one))
            });
            assert_eq!(events.into_iter().copied().collect::<Vec<u32>>(), wanted);
            assert!(tests.get() < 100, "{} tests", tests.get());
        }
    }
}
