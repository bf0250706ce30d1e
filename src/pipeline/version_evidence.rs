//! Finds evidence of the server's version in a request. Most requests contain no evidence, and a few comparisons are
//! enough to detect that.

use crate::apiserver::Target;
use crate::apiserver::options::{Page, ResourceVersionMatch};
use crate::apiserver::resources::is_built_in_group;
use crate::k8s::{KubeVersion, Verb};
use crate::ledger::{Claim, Sign, VersionEvidence};
use crate::requests::{ClaimSource, Request, VersionClaim, confirmed_claim};

/// Records a start line in an apiserver's own log, with its version.
pub(super) fn note_start(
    version: Option<KubeVersion>,
    written: Option<i64>,
    source: u32,
    evidence: &mut VersionEvidence,
) {
    match version {
        Some(version) => evidence.note(ClaimSource::StartLine, version, source, written),
        None => evidence.show(Sign::ServersOwnLog, source, written),
    }
}

/// Records the version evidence of a request.
pub(super) fn note(request: &Request<'_>, evidence: &mut VersionEvidence) {
    claims(request, |claim| evidence.claim(claim, request.place.source, request.received));
}

/// Calls `claim` with each claim about the server's version that follows from a request.
pub(crate) fn claims(request: &Request<'_>, mut claim: impl FnMut(Claim)) {
    if let Some(VersionClaim { by, version, instance, .. }) = confirmed_claim(request) {
        claim(Claim::Stated(by, version, instance));
    }
    if !request.marks.is_empty() {
        request.marks.iter().for_each(|mark| claim(Claim::Sign(Sign::Mark(mark))));
    }
    if let Some((_, minor)) = request.deprecated.and_then(|deprecation| deprecation.removed_in) {
        claim(Claim::Sign(Sign::RemovedIn(minor)));
    }
    let Some(status) = request.status else { return };
    let sends_initial_events = request.spec.shape.options.send_initial_events.is_some();
    if request.spec.api.is_none() && !sends_initial_events {
        return;
    }
    if let Some(api) = request.spec.api {
        let shape = request.shape();
        let is_collection =
            matches!(shape.verb, Verb::List | Verb::Watch) || matches!(shape.target, Target::NonResource(_));
        match status {
            200..=299 => claim(Claim::Sign(Sign::ApiServed(api))),
            404 if is_collection => claim(Claim::Sign(Sign::ApiAbsent(api))),
            _ => {}
        }
    }
    if sends_initial_events && let Some(sign) = initial_events(request, status) {
        claim(Claim::Sign(sign));
    }
}

/// What the response to a WATCH with `sendInitialEvents` shows about the server's version: it served, refused or
/// ignored the option. `None` if the request is not valid, or if its response shows nothing.
fn initial_events(request: &Request<'_>, status: u16) -> Option<Sign> {
    let shape = request.shape();
    let options = &shape.options;
    let is_valid = shape.verb == Verb::Watch && options.page == Page::First;
    let Target::Resource { group, watch_prefix: false, .. } = shape.target else { return None };
    if !is_valid || !is_built_in_group(group) {
        return None;
    }
    match (&options.resource_version_match, status) {
        (ResourceVersionMatch::NotOlderThan, 200..=299) => Some(Sign::InitialEventsServed),
        (ResourceVersionMatch::NotOlderThan, 422) => Some(Sign::InitialEventsRefused),
        (ResourceVersionMatch::Unset, 200..=299) => Some(Sign::InitialEventsIgnored),
        _ => None,
    }
}
