//! The checks that make the server refuse a request, in the server's order.

use super::features::Gate;
use super::options::{
    Limit, Options, Page, ResourceVersion, ResourceVersionMatch, Selector, UnsupportedField,
};
use super::reason::Reason;
use super::request_shape::{NonResource, RequestShape, Target, is_long_running};
use super::resources;
use super::server::Server;
use super::verdict::ServedFrom;
use super::{list, watch};
use crate::k8s::{Scope, Verb};

/// Returns the status and the reason with which the server refuses a request. `None` if the server accepts it.
///
/// Source: k8s.io/apiserver `pkg/endpoints/handlers/get.go:ListResource` and `GetResource`,
/// `pkg/endpoints/filters/request_deadline.go`. For the checks of storage, see [`storage`].
pub(super) fn reject(server: &Server, shape: &RequestShape<&str>) -> Option<(u16, Reason)> {
    let options = &shape.options;
    if options.double_slash {
        return Some((404, Reason::NoSuchPath));
    }
    if options.timeout_invalid && !is_long_running(shape) && server.version.at_least(21, 0) {
        return Some((400, Reason::InvalidTimeout));
    }
    let (group, resource, subresource, scope) = match shape.target {
        Target::Unresolvable => return Some((500, Reason::UnresolvablePath)),
        Target::NonResource(NonResource::Misspelled) => return Some((404, Reason::NoSuchPath)),
        Target::NonResource(_) | Target::Unknown { .. } => return None,
        Target::Resource { group, resource, subresource, scope, .. } => (group, resource, subresource, scope),
    };
    if server.is_aggregated(group) {
        return None;
    }
    let names_object = scope == Scope::Object;
    match shape.verb {
        Verb::Other => return Some((405, Reason::MethodNotAllowed)),
        Verb::Proxy => return Some((404, Reason::NoSuchPath)),
        // POST needs a collection; PUT and PATCH need an object.
        Verb::Update | Verb::Patch if !names_object => return Some((405, Reason::MethodNotAllowed)),
        Verb::Create if names_object && subresource.is_empty() => {
            return Some((405, Reason::MethodNotAllowed));
        }
        _ if options.head && resources::is_built_in_group(group) => {
            return Some((405, Reason::HeadNotAllowed));
        }
        _ => {}
    }
    if resources::is_connection(group, resource, subresource)
        || resources::is_never_stored(group, resource, subresource)
    {
        return None;
    }
    let cached = server.has_watch_cache(group, resource);
    match shape.verb {
        Verb::List | Verb::Watch | Verb::DeleteCollection => undecodable(options)
            .or_else(|| invalid(server, options))
            .or_else(|| unselectable(server, shape.verb, options))
            .or_else(|| storage(server, shape.verb, cached, options)),
        Verb::Get if options.resource_version == ResourceVersion::Garbage => {
            Some((if cached { 500 } else { 400 }, Reason::InvalidResourceVersion))
        }
        _ => None,
    }
}

/// Returns 400 if the server cannot decode the query into `ListOptions`.
fn undecodable(options: &Options) -> Option<(u16, Reason)> {
    let reason = if options.label_selector == Selector::Invalid {
        Reason::InvalidLabelSelector
    } else if options.field_selector == Selector::Invalid {
        Reason::InvalidFieldSelector
    } else if options.timeout_seconds_invalid {
        Reason::InvalidTimeoutSeconds
    } else if options.limit == Limit::Invalid {
        Reason::InvalidLimit
    } else {
        return None;
    };
    Some((400, reason))
}

/// Returns 422 if the options contradict each other.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/internalversion/validation/validation.go:ValidateListOptions`. It has
/// two versions: v0.19 to v0.26, and v0.27 and later.
fn invalid(server: &Server, options: &Options) -> Option<(u16, Reason)> {
    let knows_initial_events = server.version.at_least(27, 0);
    let options = &watch::defaulted(server, options);
    let reason = if options.watch && knows_initial_events {
        invalid_watch(server, options)
    } else {
        let on_watch = options.watch && options.resource_version_match != ResourceVersionMatch::Unset;
        on_watch.then_some(Reason::MatchOnWatch).or_else(|| invalid_match(options)).or_else(|| {
            (knows_initial_events && options.send_initial_events.is_some())
                .then_some(Reason::SendInitialEventsOnList)
        })
    };
    reason.map(|reason| (422, reason))
}

fn invalid_match(options: &Options) -> Option<Reason> {
    match options.resource_version_match {
        ResourceVersionMatch::Unset => None,
        _ if options.resource_version == ResourceVersion::Unset => Some(Reason::MatchWithoutResourceVersion),
        _ if options.page != Page::First => Some(Reason::MatchWithContinue),
        ResourceVersionMatch::Unknown => Some(Reason::UnknownMatch),
        ResourceVersionMatch::Exact if options.resource_version == ResourceVersion::Zero => {
            Some(Reason::ExactZero)
        }
        ResourceVersionMatch::Exact | ResourceVersionMatch::NotOlderThan => None,
    }
}

fn invalid_watch(server: &Server, options: &Options) -> Option<Reason> {
    let matching = options.resource_version_match;
    if options.send_initial_events.is_some() {
        if matching != ResourceVersionMatch::NotOlderThan {
            return Some(Reason::SendInitialEventsNeedsMatch);
        }
        if !server.enabled(Gate::WatchList) {
            return Some(Reason::SendInitialEventsGateOff);
        }
        return (options.page != Page::First).then_some(Reason::MatchWithContinue);
    }
    (matching != ResourceVersionMatch::Unset).then_some(Reason::MatchOnWatch)
}

/// Returns 400 if the field selector has an unsupported field, or contradicts the path.
fn unselectable(server: &Server, verb: Verb, options: &Options) -> Option<(u16, Reason)> {
    match options.unsupported_field {
        UnsupportedField::Certain => Some((400, Reason::UnsupportedFieldSelector)),
        UnsupportedField::UnlessDeclared if server.version.at_least(30, 0) => {
            Some((400, Reason::UndeclaredFieldSelector))
        }
        UnsupportedField::UnlessDeclared => Some((400, Reason::UnsupportedFieldSelector)),
        UnsupportedField::None if options.name_conflict && verb == Verb::Watch => {
            Some((400, Reason::NameConflict))
        }
        UnsupportedField::None => None,
    }
}

/// The checks that the storage layer makes before it reads. The status is 400. It is 500 where the server returns the
/// error of the storage layer unchanged.
///
/// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:GetList`, `pkg/storage/continue.go`. 1.33 and later check
/// earlier, in `pkg/storage/cacher/delegator.go:(*CacheDelegator).GetList` (`storage.ValidateListOptions`).
fn storage(server: &Server, verb: Verb, cached: bool, options: &Options) -> Option<(u16, Reason)> {
    let garbage = options.resource_version == ResourceVersion::Garbage;
    if verb == Verb::Watch {
        return garbage.then_some((500, Reason::InvalidResourceVersion));
    }
    if options.page != Page::First && server.enabled(Gate::ApiListChunking) {
        if !options.resource_version.is_unset_or_zero() {
            return Some((400, Reason::ContinueWithResourceVersion));
        }
        if options.page == Page::Invalid {
            return Some((400, Reason::InvalidContinue));
        }
    }
    if !garbage {
        return None;
    }
    let bypasses = !cached || list::cached(server, options).served_from == ServedFrom::Etcd;
    let status = if bypasses || server.version.at_least(33, 0) { 400 } else { 500 };
    Some((status, Reason::InvalidResourceVersion))
}
