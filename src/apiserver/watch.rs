//! Verdicts on WATCH requests: the watch cache or a separate watch in etcd.

use super::features::{Gate, GateState};
use super::get::ignored_limit;
use super::options::{Options, ResourceVersion, ResourceVersionMatch};
use super::reason::Reason;
use super::server::Server;
use super::verdict::{ServedFrom, Verdict};

/// Applies the server's defaults. With `WatchList`, a watch whose resourceVersion is unset or zero gets
/// `sendInitialEvents=true`. A path with the deprecated `/watch/` prefix gets it only if the query has `watch=true`.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/internalversion/defaults.go:SetListOptionsDefaults`.
pub(super) fn defaulted(server: &Server, options: &Options) -> Options {
    let mut options = *options;
    let applies = server.enabled(Gate::WatchList)
        && options.watch
        && options.resource_version.is_unset_or_zero()
        && options.send_initial_events.is_none()
        && options.resource_version_match == ResourceVersionMatch::Unset;
    if applies {
        options.send_initial_events = Some(true);
        options.resource_version_match = ResourceVersionMatch::NotOlderThan;
    }
    options
}

/// Returns the verdict on a valid WATCH of a resource with a watch cache.
///
/// Source: k8s.io/apiserver `pkg/storage/cacher/cacher.go:(*Cacher).Watch` and `getWatchCacheResourceVersion`.
pub(super) fn cached(server: &Server, options: &Options) -> Verdict {
    let options = defaulted(server, options);
    // Servers before 1.27 ignore `sendInitialEvents`.
    let initial_events = options.send_initial_events.filter(|_| server.version.at_least(27, 0));
    let unset = options.resource_version == ResourceVersion::Unset;
    let from_storage = Gate::WatchFromStorageWithoutResourceVersion;
    let route = if unset && initial_events.is_none() && server.enabled(from_storage) {
        let reason = match from_storage.state(server.version) {
            GateState::Absent(_) => Reason::WatchFromEtcd,
            GateState::Default(_) | GateState::Locked(_) => Reason::WatchFromEtcdByGate,
        };
        Verdict::plain(ServedFrom::Etcd, reason)
    } else if initial_events == Some(true)
        && options.allow_watch_bookmarks
        && server.version.at_least(31, 0)
        && !server.etcd_supports_progress()
    {
        Verdict::plain(ServedFrom::WatchCache, Reason::WatchListEtcdTooOld)
    } else if unset && initial_events.is_some() {
        Verdict::plain(ServedFrom::WatchCacheAfterRevisionCheck, Reason::WatchListRevisionCheck)
    } else if initial_events == Some(true) {
        Verdict::plain(ServedFrom::WatchCache, Reason::WatchListFromCache)
    } else {
        Verdict::plain(ServedFrom::WatchCache, Reason::WatchFromCache)
    };
    route.with_limit(ignored_limit(&options))
}

/// Returns the verdict on a valid WATCH of a resource without a watch cache. The WATCH opens a separate watch in etcd.
pub(super) fn uncached(options: &Options) -> Verdict {
    Verdict::plain(ServedFrom::Etcd, Reason::UncachedResource).with_limit(ignored_limit(options))
}
