//! GET of one object.

use super::options::{Options, ResourceVersion};
use super::reason::Reason;
use super::verdict::{LimitVerdict, ServedFrom, Verdict};

/// Returns the verdict on a GET of a resource with a watch cache. It is the same in each version, and depends only on
/// resourceVersion.
///
/// Source: k8s.io/apiserver `pkg/storage/cacher/cacher.go:(*Cacher).Get` (to v0.32),
/// `delegator.go:(*CacheDelegator).Get` (since v0.33).
pub(super) fn cached(options: &Options) -> Verdict {
    let route = if options.resource_version == ResourceVersion::Unset {
        Verdict::plain(ServedFrom::Etcd, Reason::GetFromEtcd)
    } else {
        Verdict::plain(ServedFrom::WatchCache, Reason::GetFromCache)
    };
    route.with_limit(ignored_limit(options))
}

/// Returns the verdict on a GET of a resource without a watch cache.
pub(super) fn uncached(options: &Options) -> Verdict {
    Verdict::plain(ServedFrom::Etcd, Reason::UncachedResource).with_limit(ignored_limit(options))
}

/// Returns the verdict on the limit of a GET or WATCH, which ignores `limit`.
pub(super) fn ignored_limit(options: &Options) -> LimitVerdict {
    if options.limit.is_page() { LimitVerdict::Ignored } else { LimitVerdict::Absent }
}
