//! Computes the verdict on a request. It states whether the server refuses the request, where the request is served
//! from, and how certain that is.

use super::options::{Limit, Options, PageSize, ResourceVersion, UnsupportedField};
use super::reason::Reason;
use super::reject::reject;
use super::releases::{EPOCHS, Releases, epochs};
use super::request_shape::{RequestShape, Target};
use super::resources;
use super::server::Server;
use super::verdict::{Certainty, LimitVerdict, ServedFrom, Verdict};
use super::{get, list, watch};
use crate::k8s::{KubeVersion, Verb};

/// Returns the verdict on a request. `status` is the HTTP status in the record, if it has one; it overrides the model.
#[must_use]
pub fn judge(server: &Server, shape: &RequestShape<&str>, status: Option<u16>) -> Verdict {
    let refusal = reject(server, shape);
    let Some(status) = status else {
        return match refusal {
            Some((status, reason)) => Verdict::refused(status, reason),
            None => route(server, shape),
        };
    };
    if let Some((expected, reason)) = refusal
        && expected == status
    {
        return Verdict::refused(status, reason);
    }
    let routed = route(server, shape);
    match refusal_from_status(shape, routed, status) {
        Some(reason) => Verdict::refused(status, reason),
        // Only etcd reports a compacted revision. So the snapshot was gone and the server read from etcd.
        None if status == 410 && routed.served_from == ServedFrom::Depends => {
            Verdict { served_from: ServedFrom::Etcd, likely: None, reason: Reason::AnsweredExpired, ..routed }
        }
        None => routed,
    }
}

/// Whether the server served a request that the model refuses. Then the assumed version is wrong, or an assumed
/// feature gate is wrong.
#[must_use]
pub fn served_against_model(server: &Server, shape: &RequestShape<&str>, status: Option<u16>) -> bool {
    status.is_some_and(|status| (200..300).contains(&status))
        && shape.options.unsupported_field != UnsupportedField::UnlessDeclared
        && reject(server, shape).is_some()
}

/// Returns the reason if the status shows that the server refused the request before it read anything.
fn refusal_from_status(shape: &RequestShape<&str>, routed: Verdict, status: u16) -> Option<Reason> {
    if status == 401 {
        return Some(Reason::AnsweredUnauthorized);
    }
    if status == 403 {
        return Some(Reason::AnsweredForbidden);
    }
    // An eviction also gets 429 if a PodDisruptionBudget does not allow it.
    let eviction = matches!(shape.target, Target::Resource { subresource: "eviction", .. });
    match status {
        429 if !eviction => Some(Reason::AnsweredTooManyRequests),
        400 | 405 | 406 | 413 | 415 | 422 if routed.served_from != ServedFrom::Aggregated => {
            Some(Reason::AnsweredRejected)
        }
        404 if matches!(shape.verb, Verb::List | Verb::Watch | Verb::DeleteCollection)
            && routed.served_from != ServedFrom::Aggregated =>
        {
            Some(Reason::AnsweredNoSuchResource)
        }
        _ => None,
    }
}

/// Returns the verdict on a request that the server does not refuse.
fn route(server: &Server, shape: &RequestShape<&str>) -> Verdict {
    let options = &shape.options;
    let (group, resource, subresource) = match shape.target {
        Target::NonResource(_) | Target::Unresolvable => {
            return Verdict::plain(ServedFrom::NoStorage, Reason::NonResource);
        }
        Target::Unknown { group, resource, unreadable } => {
            return route_unknown(server, shape.verb, group, resource, unreadable);
        }
        Target::Resource { group, resource, subresource, .. } => (group, resource, subresource),
    };
    if server.is_aggregated(group) {
        return Verdict::plain(ServedFrom::Aggregated, Reason::AggregatedGroup);
    }
    if resources::is_never_stored(group, resource, subresource) {
        return Verdict::plain(ServedFrom::NoStorage, Reason::NeverStored);
    }
    if resources::is_connection(group, resource, subresource) {
        return Verdict::plain(ServedFrom::Etcd, Reason::ConnectReadsObject);
    }
    let cached = server.has_watch_cache(group, resource);
    match shape.verb {
        Verb::Get if cached => get::cached(options),
        Verb::Get => get::uncached(options),
        Verb::List if cached => list::cached(server, options),
        Verb::List => list::uncached(options),
        Verb::Watch if cached => watch::cached(server, options),
        Verb::Watch => watch::uncached(options),
        Verb::DeleteCollection => delete_collection(server, cached, options),
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => {
            Verdict::plain(ServedFrom::Write, Reason::Write)
        }
        Verb::Post | Verb::Put | Verb::Head | Verb::Options | Verb::Connect | Verb::Proxy | Verb::Other => {
            Verdict::plain(ServedFrom::NoStorage, Reason::NonResource)
        }
    }
}

/// Returns the verdict on a record without a request URI, such as a record of GKE.
fn route_unknown(server: &Server, verb: Verb, group: &str, resource: &str, unreadable: bool) -> Verdict {
    if server.is_aggregated(group) {
        return Verdict::plain(ServedFrom::Aggregated, Reason::AggregatedGroup);
    }
    if resources::is_never_stored(group, resource, "") {
        return Verdict::plain(ServedFrom::NoStorage, Reason::NeverStored);
    }
    match verb {
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection => {
            Verdict::plain(ServedFrom::Write, Reason::Write)
        }
        Verb::Get | Verb::List | Verb::Watch
            if !resource.is_empty() && !server.has_watch_cache(group, resource) =>
        {
            Verdict::plain(ServedFrom::Etcd, Reason::UncachedResource)
        }
        _ if unreadable => Verdict::plain(ServedFrom::NotObservable, Reason::UnreadableUri),
        _ => Verdict::plain(ServedFrom::NotObservable, Reason::NoRequestUri),
    }
}

/// Returns the verdict on a deletecollection. The server lists with the request's own options, since 1.28 in pages of
/// 10,000. Then it deletes each object. A resourceVersion becomes a precondition of each deletion.
///
/// Source: k8s.io/apiserver `pkg/registry/generic/registry/store.go:DeleteCollection`.
fn delete_collection(server: &Server, cached: bool, options: &Options) -> Verdict {
    let mut listed = *options;
    if server.version.at_least(28, 0) && !listed.limit.is_page() {
        listed.limit = Limit::Page(PageSize::Exactly(10_000));
    }
    let list = if cached { list::cached(server, &listed) } else { list::uncached(&listed) };
    let reason = if options.resource_version != ResourceVersion::Unset {
        Reason::DeleteCollectionPrecondition
    } else if list.likely_served_from() == ServedFrom::Etcd {
        Reason::DeleteCollectionFromEtcd
    } else {
        Reason::DeleteCollectionFromCache
    };
    let limit = if options.limit.is_page() { list.limit } else { LimitVerdict::Absent };
    Verdict::plain(ServedFrom::Write, reason).with_limit(limit)
}

/// Returns whether a verdict depends on the version or on the configuration. Compares the verdicts of all releases in
/// the model.
#[must_use]
pub fn certainty(server: &Server, shape: &RequestShape<&str>, status: Option<u16>) -> Certainty {
    certainty_within(&Releases::modeled(), server, shape, status)
}

/// Returns whether a verdict depends on the version or on the configuration. Compares the verdicts of the releases in
/// `set`.
#[must_use]
pub(crate) fn certainty_within(
    set: &Releases,
    server: &Server,
    shape: &RequestShape<&str>,
    status: Option<u16>,
) -> Certainty {
    let verdict = judge(server, shape, status);
    let by_default = |version| judge(&Server::with_defaults(version), shape, status);
    if !by_default(server.version).agrees_with(verdict) {
        Certainty::ByConfig
    } else if epochs(set).all(|(_, last)| by_default(last).agrees_with(verdict)) {
        Certainty::Certain
    } else {
        Certainty::ByVersion
    }
}

/// A range of releases with the same verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    pub first: KubeVersion,
    pub last: KubeVersion,
    pub(crate) verdict: Verdict,
}

impl std::fmt::Display for VersionRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first, last, .. } = self;
        let is_first_patch = first.patch.unwrap_or(0) == 0;
        match (first.minor == last.minor, first.patch, last.patch) {
            (true, _, None) if is_first_patch => write!(f, "1.{}.x", first.minor),
            (true, _, None) => write!(f, "{first}+"),
            (true, from, to) if from == to => first.fmt(f),
            (false, ..) if is_first_patch => write!(f, "1.{} – {last}", first.minor),
            _ => write!(f, "{first} – {last}"),
        }
    }
}

/// Returns the verdicts on a request over all releases in the model, oldest first. `server` has the configuration; its
/// version does not matter.
#[must_use]
pub fn across_versions(server: &Server, shape: &RequestShape<&str>) -> Vec<VersionRange> {
    across_versions_with(server, shape, |_, _| ()).into_iter().map(|(range, ())| range).collect()
}

/// Like [`across_versions`], but each range also has a value that `detail` computes. A new range begins where the
/// verdict or this value changes.
#[must_use]
pub(crate) fn across_versions_with<T: PartialEq>(
    server: &Server,
    shape: &RequestShape<&str>,
    detail: impl Fn(&Server, &Verdict) -> T,
) -> Vec<(VersionRange, T)> {
    let mut ranges: Vec<(VersionRange, T)> = Vec::new();
    for epoch in &EPOCHS {
        let server = Server { version: epoch.first, ..server.clone() };
        let verdict = judge(&server, shape, None);
        let own = detail(&server, &verdict);
        match ranges.last_mut() {
            Some((range, last)) if range.verdict.agrees_with(verdict) && *last == own => {
                range.last = epoch.last;
            }
            _ => ranges.push((VersionRange { first: epoch.first, last: epoch.last, verdict }, own)),
        }
    }
    ranges
}
