//! Verdicts on LIST requests: watch cache or etcd.

use super::features::Gate;
use super::options::{Options, Page, ResourceVersion, ResourceVersionMatch, Single};
use super::reason::Reason;
use super::server::Server;
use super::verdict::{LimitVerdict, ServedFrom, Verdict};

/// Returns the verdict on a valid LIST of a resource with a watch cache.
///
/// The model omits two cases, which a log does not show. In the first case, the watch cache is not ready. In the
/// second case, it lags 3 s behind; then 1.31 and later read from etcd.
pub(super) fn cached(server: &Server, options: &Options) -> Verdict {
    let route = if !server.version.at_least(31, 0) {
        until_1_30(server, options)
    } else if !server.version.at_least(33, 0) {
        in_1_31_and_1_32(server, options)
    } else {
        since_1_33(server, options)
    };
    route.with_limit(limit_verdict(server, options, route))
}

/// Returns the verdict on a valid LIST of a resource without a watch cache.
pub(super) fn uncached(options: &Options) -> Verdict {
    let limit = if options.limit.is_page() { LimitVerdict::Honored } else { LimitVerdict::Absent };
    Verdict::plain(ServedFrom::Etcd, Reason::UncachedResource).with_limit(limit)
}

/// Whether the LIST reads one key.
fn is_single(server: &Server, options: &Options) -> bool {
    match options.single {
        Single::Key => true,
        Single::KeyBySelectedNamespace => server.version.at_least(27, 0),
        Single::No | Single::KeyIfClusterScoped => false,
    }
}

/// Returns the verdict on the limit of a LIST. etcd always honors `limit`. The watch cache ignores it before 1.31.
/// Since then the cache honors it, unless the text of resourceVersion is `0`. A response with at most one object
/// honors any limit.
///
/// Source: k8s.io/apiserver `pkg/storage/cacher/cacher.go:computeListLimit` (v0.31.0 and later).
fn limit_verdict(server: &Server, options: &Options, route: Verdict) -> LimitVerdict {
    if !options.limit.is_page() {
        return LimitVerdict::Absent;
    }
    if !server.enabled(Gate::ApiListChunking) {
        return LimitVerdict::Ignored;
    }
    let from_etcd = route.likely_served_from() == ServedFrom::Etcd;
    let cache_honors = server.version.at_least(31, 0) && options.resource_version != ResourceVersion::Zero;
    if from_etcd || cache_honors || is_single(server, options) {
        LimitVerdict::Honored
    } else {
        LimitVerdict::Ignored
    }
}

/// Source: `pkg/storage/cacher/cacher.go`: `(*Cacher).List` and `GetToList` (v0.19 to v0.21),
/// `shouldDelegateList` (v0.22 to v0.30).
fn until_1_30(server: &Server, options: &Options) -> Verdict {
    let chunking = server.enabled(Gate::ApiListChunking);
    let consistent_from_cache = server.enabled(Gate::ConsistentListFromCache);
    let has_limit = chunking && options.limit.is_page() && options.resource_version != ResourceVersion::Zero;
    let unset = options.resource_version == ResourceVersion::Unset;
    if chunking && options.page != Page::First {
        return etcd(Reason::ListContinueFromEtcd);
    }
    if unset && !consistent_from_cache {
        return etcd(Reason::ListConsistentFromEtcd);
    }
    if has_limit {
        return etcd(match (unset, options.resource_version_match) {
            (true, _) => Reason::ListConsistentLimitAlpha,
            (false, ResourceVersionMatch::Exact) => Reason::ListExactFromEtcd,
            (false, ResourceVersionMatch::NotOlderThan) => Reason::ListNotOlderLimitFromEtcd,
            (false, _) => Reason::ListLimitMeansExactFromEtcd,
        });
    }
    if options.resource_version_match == ResourceVersionMatch::Exact {
        return etcd(Reason::ListExactFromEtcd);
    }
    if unset {
        return revision_check(Reason::ListConsistentFromCache);
    }
    // (*Cacher).GetList of v0.28 and v0.29 has a bug: it tests `listRV == 0` instead of an unset resourceVersion.
    if consistent_from_cache && !server.version.at_least(30, 0) && is_zero(options) {
        return revision_check(Reason::ListAnyConsistentAlpha);
    }
    from_cache(options)
}

/// Source: `pkg/storage/cacher/cacher.go:shouldDelegateList` (v0.31, v0.32).
fn in_1_31_and_1_32(server: &Server, options: &Options) -> Verdict {
    if options.page != Page::First {
        return etcd(Reason::ListContinueFromEtcd);
    }
    if options.resource_version_match == ResourceVersionMatch::Exact {
        return etcd(Reason::ListExactFromEtcd);
    }
    if means_exact(options) {
        return etcd(Reason::ListLimitMeansExactFromEtcd);
    }
    if options.resource_version == ResourceVersion::Unset {
        return consistent(server, Reason::ListConsistentFromCache);
    }
    from_cache(options)
}

/// Source: `pkg/storage/cacher/delegator/interface.go:ShouldDelegateList` (v0.33 and later).
fn since_1_33(server: &Server, options: &Options) -> Verdict {
    match options.resource_version_match {
        ResourceVersionMatch::Exact => {
            return exact(server, options, Reason::ListExactFromEtcd, Reason::ListExactSnapshot);
        }
        ResourceVersionMatch::NotOlderThan => return from_cache(options),
        ResourceVersionMatch::Unset | ResourceVersionMatch::Unknown => {}
    }
    match options.page {
        Page::First | Page::Invalid => {}
        Page::Inconsistent if !server.enabled(Gate::ListFromCacheSnapshot) => {
            return etcd(Reason::ListContinueFromEtcd);
        }
        Page::Inconsistent => return consistent(server, Reason::ListContinueInconsistentFromCache),
        Page::AtRevision => {
            let snapshot = if options.resource_version == ResourceVersion::Zero && options.limit.is_page() {
                Reason::ListContinueSnapshotIgnoresLimit
            } else {
                Reason::ListContinueSnapshot
            };
            return exact(server, options, Reason::ListContinueFromEtcd, snapshot);
        }
    }
    if means_exact(options) {
        return exact(
            server,
            options,
            Reason::ListLimitMeansExactFromEtcd,
            Reason::ListLimitMeansExactSnapshot,
        );
    }
    if options.resource_version == ResourceVersion::Unset {
        let first_page_falls_back = !server.version.at_least(33, 3)
            && options.limit.is_page()
            && !is_single(server, options)
            && !server.enabled(Gate::ListFromCacheSnapshot);
        if first_page_falls_back && server.consistent_reads_from_cache() {
            return etcd(Reason::ListConsistentPageRegression);
        }
        return consistent(server, Reason::ListConsistentFromCache);
    }
    from_cache(options)
}

/// Whether the server reads exactly the revision in resourceVersion, because the LIST has a limit and no
/// resourceVersionMatch. Upstream calls this "legacy exact".
fn means_exact(options: &Options) -> bool {
    options.limit.is_page()
        && options.resource_version_match == ResourceVersionMatch::Unset
        && !options.resource_version.is_unset_or_zero()
}

/// Source: `pkg/storage/cacher/cacher.go:ShouldDelegateConsistentRead`.
fn consistent(server: &Server, from_cache: Reason) -> Verdict {
    if server.consistent_reads_from_cache() {
        revision_check(from_cache)
    } else if server.enabled(Gate::ConsistentListFromCache) {
        etcd(Reason::ListConsistentEtcdTooOld)
    } else {
        etcd(Reason::ListConsistentGateOff)
    }
}

/// Returns the verdict on a LIST at an exact revision. A snapshot can serve a prefix, but not a single key.
///
/// If etcd does not support progress requests, the server reads the first page from etcd. So the continue token
/// contains etcd's revision. Except on busy resources, the watch cache has not reached that revision when the next
/// page is requested. So the server probably reads the next page from etcd, too. Measured on 1.34 and 1.36 with etcd
/// 3.4.
///
/// Source: `pkg/storage/cacher/cacher.go:shouldDelegateExactRV`.
fn exact(server: &Server, options: &Options, from_etcd: Reason, snapshot: Reason) -> Verdict {
    if is_single(server, options) {
        return etcd(Reason::ListExactSingleKey);
    }
    if !server.enabled(Gate::ListFromCacheSnapshot) || options.resource_version == ResourceVersion::ZeroAlias
    {
        return etcd(from_etcd);
    }
    if options.page == Page::AtRevision && !server.etcd_supports_progress() {
        return Verdict::depends(ServedFrom::Etcd, Reason::ListContinueOldEtcd);
    }
    Verdict::depends(ServedFrom::WatchCache, snapshot)
}

fn from_cache(options: &Options) -> Verdict {
    let reason = match (is_zero(options), options.limit.is_page()) {
        (true, true) if options.resource_version == ResourceVersion::Zero => Reason::ListAnyIgnoresLimit,
        (true, _) => Reason::ListAnyFromCache,
        (false, true) => Reason::ListNotOlderLimitFromCache,
        (false, false) => Reason::ListNotOlderFromCache,
    };
    Verdict::plain(ServedFrom::WatchCache, reason)
}

fn is_zero(options: &Options) -> bool {
    matches!(options.resource_version, ResourceVersion::Zero | ResourceVersion::ZeroAlias)
}

fn etcd(reason: Reason) -> Verdict {
    Verdict::plain(ServedFrom::Etcd, reason)
}

fn revision_check(reason: Reason) -> Verdict {
    Verdict::plain(ServedFrom::WatchCacheAfterRevisionCheck, reason)
}
