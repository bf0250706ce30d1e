//! The fewest events of a log that show the same version of its server as the whole log, so that a part of the log can
//! be handed on with them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Inferred, Relation, VersionSource};
use crate::apiserver::{Releases, Server};
use crate::k8s::KubeVersion;
use crate::ledger::{Claim, TimelineVersion, VersionEvidence};

/// How many claims of one kind are kept: each node states a version. Then the sample may be incomplete, which is noticed.
const MAX_CLAIMS: usize = 1 << 15;

/// An event that makes a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// When its request was received, in microseconds since 1970.
    pub at: Option<i64>,
    /// A hash that no other event of the log has.
    pub event: u64,
    /// A hash that the events of one request share.
    pub request: u64,
}

/// What events claim of the server's version, by source, each claim with the first and the last event that makes it.
#[derive(Debug, Clone, Default)]
pub struct Claims(HashMap<(u32, Claim), (Sighting, Sighting), FxBuildHasher>);

impl Claims {
    /// Notes a claim. Which events are kept does not depend on the order of notes.
    pub fn note(&mut self, claim: Claim, source: u32, seen: Sighting) {
        self.add((source, claim), (seen, seen));
    }

    /// Adds all claims of another.
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

    /// What these claims show, each source by itself or all as one.
    fn evidence(&self, source: impl Fn(u32) -> u32) -> VersionEvidence {
        let mut evidence = VersionEvidence::default();
        for ((own, claim), (first, last)) in &self.0 {
            for seen in [first, last] {
                evidence.claim(*claim, source(*own), seen.at);
            }
        }
        evidence
    }

    /// The versions that the sources show, if their events in one log would be judged by other versions: each in words.
    #[must_use]
    pub fn versions_apart(&self, server: &Server) -> Option<Vec<KubeVersion>> {
        let found = inferred(&mut self.evidence(|source| source), server);
        let versions: BTreeSet<KubeVersion> = found.timeline.kube_versions().collect();
        let is_apart = matches!(found.relation, Relation::BySource | Relation::Mixed) && versions.len() > 1;
        is_apart.then(|| versions.into_iter().collect())
    }
}

/// When requests were received, by source and version index.
#[derive(Debug, Clone, Default)]
pub struct ClaimSpans(BTreeMap<(u32, u8), (i64, i64)>);

impl ClaimSpans {
    /// Notes a request.
    pub fn note(&mut self, source: u32, version_index: u8, at: i64) {
        self.widen((source, version_index), (at, at));
    }

    /// Adds all of another.
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

    /// Whether another log, of one source, judges these requests by the same versions, with the same releases possible.
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

/// What evidence shows, as a scan finds it.
fn inferred(evidence: &mut VersionEvidence, server: &Server) -> Inferred {
    let mut found = Inferred::from_evidence(evidence, server);
    found.judge_as_one_if_alike();
    found
}

/// Events of the log that show the versions which judge the chosen requests, beside what these show themselves: if one
/// is left out, another version is found. `None` if no events show them: versions that are given, that start lines state
/// or that measurements show. `found` is what the whole log shows, `all` and `chosen` are the claims of all events and of
/// the chosen ones, and `spans` says when the chosen requests were received.
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
        // How many nodes state a version may matter.
        let many = candidates(all, &sources, has_several, false);
        let events: Vec<&Candidate> = many.iter().collect();
        return is_shown_by(&events).then(|| many.iter().map(|event| event.seen).collect());
    }
    // The least trusted first.
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

/// An event that may be added, and what it claims.
#[derive(Debug)]
struct Candidate {
    seen: Sighting,
    claims: Vec<(Claim, Option<i64>)>,
}

/// The first event of each claim in these sources, and the last where versions change over time. Of instances that state
/// the same version one is enough, or all are wanted.
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
