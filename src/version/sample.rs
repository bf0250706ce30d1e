//! Finds a small set of events that show the same server version as the whole log. An extract of the log includes them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Inferred, Relation, VersionSource};
use crate::apiserver::{Releases, Server};
use crate::k8s::KubeVersion;
use crate::ledger::{Claim, TimelineVersion, VersionEvidence};

/// At most this many claims are kept, since each node may claim a version. Beyond it, the sample may be incomplete; the final
/// check detects that.
const MAX_CLAIMS: usize = 1 << 15;

/// An event with version evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// Receive time of its request, in microseconds since 1970.
    pub at: Option<i64>,
    /// A hash that is unique among the events of the log.
    pub event: u64,
    /// A hash that the events of one request share.
    pub request: u64,
}

/// Claims about the server's version, by source, each with its first and its last event.
#[derive(Debug, Clone, Default)]
pub struct Claims(HashMap<(u32, Claim), (Sighting, Sighting), FxBuildHasher>);

impl Claims {
    /// Adds a claim. The order of calls does not affect which events are kept.
    pub fn note(&mut self, claim: Claim, source: u32, seen: Sighting) {
        self.add((source, claim), (seen, seen));
    }

    /// Moves all claims of `other` into this.
    pub fn merge(&mut self, other: &mut Self) {
        for (key, seen) in other.0.drain() {
            self.add(key, seen);
        }
    }

    fn add(&mut self, key: (u32, Claim), (first, last): (Sighting, Sighting)) {
        if let Some(known) = self.0.get_mut(&key) {
            *known = (known.0.min(first), known.1.max(last));
        } else if self.0.len() < MAX_CLAIMS {
            self.0.insert(key, (first, last));
        }
    }

    /// The version evidence of these claims. `source` maps each source to the source that it counts for.
    fn evidence(&self, source: impl Fn(u32) -> u32) -> VersionEvidence {
        let mut evidence = VersionEvidence::default();
        for ((own, claim), (first, last)) in &self.0 {
            for seen in [first, last] {
                evidence.claim(*claim, source(*own), seen.at);
            }
        }
        evidence
    }

    /// The versions of the sources, if merging the sources into one log would change the version that judges them.
    #[must_use]
    pub fn versions_apart(&self, server: &Server) -> Option<Vec<KubeVersion>> {
        let found = inferred(&mut self.evidence(|source| source), server);
        let versions: BTreeSet<KubeVersion> = found.timeline.kube_versions().collect();
        let is_apart = matches!(found.relation, Relation::BySource | Relation::Mixed) && versions.len() > 1;
        is_apart.then(|| versions.into_iter().collect())
    }
}

/// First and last receive time of requests, by source and version index.
#[derive(Debug, Clone, Default)]
pub struct ClaimSpans(BTreeMap<(u32, u8), (i64, i64)>);

impl ClaimSpans {
    /// Adds a request.
    pub fn note(&mut self, source: u32, version_index: u8, at: i64) {
        self.widen((source, version_index), (at, at));
    }

    /// Moves all periods of `other` into this.
    pub fn merge(&mut self, other: &mut Self) {
        for (key, span) in std::mem::take(&mut other.0) {
            self.widen(key, span);
        }
    }

    fn widen(&mut self, key: (u32, u8), (first, last): (i64, i64)) {
        let span = self.0.entry(key).or_insert((first, last));
        *span = (span.0.min(first), span.1.max(last));
    }

    /// The versions that judge these requests.
    #[must_use]
    pub fn versions(&self, found: &Inferred) -> BTreeSet<KubeVersion> {
        let judges = self.0.keys().filter_map(|(_, index)| found.timeline.versions.get(usize::from(*index)));
        judges.map(|judge| judge.version).collect()
    }

    /// Whether `other`, the result for a log of one source, judges these requests by the same versions and possible releases.
    fn are_judged_alike(&self, found: &Inferred, other: &Inferred) -> bool {
        let of = |found: &Inferred, index: u8| -> Option<(TimelineVersion, Releases)> {
            let index = usize::from(index);
            Some((*found.timeline.versions.get(index)?, found.by_version_index.get(index)?.clone()))
        };
        let mut requests = self.0.iter().flat_map(|((_, index), (first, last))| {
            [first, last].map(|at| (*index, other.timeline.version_index(0, Some(*at))))
        });
        requests.all(|(own, others)| of(found, own) == of(other, others))
    }
}

/// The result that a scan would compute from this evidence.
fn inferred(evidence: &mut VersionEvidence, server: &Server) -> Inferred {
    let mut found = Inferred::from_evidence(evidence, server);
    found.judge_as_one_if_alike();
    found
}

/// Finds events that must be added to the chosen requests, so that the versions that judge them stay the same. Without any
/// one of these events, the result would change.
///
/// Returns `None` if no events show the versions: the user names the version, a start line states it, or measurements show it.
/// `found` is the result for the whole log. `all` and `chosen` are the claims of all events and of the chosen requests.
/// `spans` holds the receive times of the chosen requests.
#[must_use]
pub fn sample(
    found: &Inferred,
    server: &Server,
    all: &Claims,
    chosen: &Claims,
    spans: &ClaimSpans,
) -> Option<BTreeSet<Sighting>> {
    if found.source == VersionSource::Flag {
        return None;
    }
    let own = chosen.evidence(|_| 0);
    let is_shown_by = |events: &[&Candidate]| {
        let mut evidence = own.clone();
        for (claim, at) in events.iter().flat_map(|event| &event.claims) {
            evidence.claim(*claim, 0, *at);
        }
        spans.are_judged_alike(found, &inferred(&mut evidence, server))
    };
    let sources: BTreeSet<u32> = spans.0.keys().map(|(source, _)| *source).collect();
    let has_several = found.relation != Relation::One;
    let few = candidates(all, &sources, has_several, true);
    let mut events: Vec<&Candidate> = few.iter().collect();
    if !is_shown_by(&events) {
        // The number of nodes with a version may matter, so try all instances.
        let many = candidates(all, &sources, has_several, false);
        let events: Vec<&Candidate> = many.iter().collect();
        return is_shown_by(&events).then(|| many.iter().map(|event| event.seen).collect());
    }
    // Try to drop the least trusted events first.
    events.sort_by_key(|event| (Reverse(event.claims.iter().map(|(claim, _)| *claim).min()), event.seen));
    let mut at = 0;
    while at < events.len() {
        let event = events.remove(at);
        if !is_shown_by(&events) {
            events.insert(at, event);
            at += 1;
        }
    }
    Some(events.iter().map(|event| event.seen).collect())
}

/// An event that may be added, with its claims.
#[derive(Debug)]
struct Candidate {
    seen: Sighting,
    claims: Vec<(Claim, Option<i64>)>,
}

/// The first event of each claim in these sources, and the last event too if `with_last`. With `one_instance`, one instance
/// of each version is enough.
fn candidates(all: &Claims, sources: &BTreeSet<u32>, with_last: bool, one_instance: bool) -> Vec<Candidate> {
    let mut kinds: BTreeMap<(u32, Claim), (Sighting, Sighting)> = BTreeMap::new();
    for ((source, claim), (first, last)) in &all.0 {
        if sources.contains(source) {
            let kind = if one_instance { claim.of_any_instance() } else { *claim };
            let seen = kinds.entry((*source, kind)).or_insert((*first, *last));
            *seen = (seen.0.min(*first), seen.1.max(*last));
        }
    }
    let mut events: BTreeMap<Sighting, Vec<(Claim, Option<i64>)>> = BTreeMap::new();
    for ((_, claim), (first, last)) in kinds {
        for seen in [Some(first), Some(last).filter(|_| with_last)].into_iter().flatten() {
            events.entry(seen).or_default().push((claim, seen.at));
        }
    }
    events.into_iter().map(|(seen, claims)| Candidate { seen, claims }).collect()
}
