//! The seats of a request in API Priority and Fairness: the server's own estimate of its work.
//!
//! Source: k8s.io/apiserver `pkg/util/flowcontrol/request/list_work_estimator.go` and `width.go`, v0.23
//! (kubernetes/kubernetes#104599) to v0.37. Up to 1.22 every request has one seat.
//!
//! The model omits two facts:
//! - A write holds seats after its end, for its watchers.
//! - A request can have at most 15 % of the nominal seats of its priority level. On small servers, this lowers the
//!   estimate (kubernetes/kubernetes#118601, in 1.25.13, 1.26.8, 1.27.5, and 1.28 and later).

use super::features::Gate;
use super::list;
use super::options::{Limit, Options, PageSize};
use super::reason::Reason;
use super::request_shape::{RequestShape, Target, is_long_running};
use super::server::Server;
use super::verdict::ServedFrom;
use crate::k8s::{KubeVersion, Verb};

/// The number of objects for each seat, up to 1.33.
const OBJECTS_PER_SEAT: u64 = 100;
/// The maximum number of seats, up to 1.33.
const MAX_SEATS_BY_COUNT: u64 = 10;
/// The number of bytes for each seat, since 1.34.
const BYTES_PER_SEAT: u64 = 100_000;
/// The maximum number of seats, since 1.34 (kubernetes/kubernetes#133034).
const MAX_SEATS_BY_SIZE: u64 = 100;
/// The maximum memory that the server assumes for a response from the watch cache, in bytes, since 1.34
/// (kubernetes/kubernetes#133061).
const MOST_FROM_CACHE: u64 = 1_000_000;
/// The size that the server assumes for an object of unknown size, in bytes.
pub(crate) const LARGEST_OBJECT: u64 = 1_500_000;

/// The server's count and size of a resource's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredObjects {
    /// The number of objects in all namespaces.
    pub(crate) objects: u64,
    /// The mean size of an object in bytes, if known.
    pub(crate) bytes_per_object: Option<u64>,
}

/// Returns the seats of a request while the server executes it. `stored` describes the resource's objects.
///
/// Returns `None` in three cases:
/// - The seats depend on an unknown value.
/// - The server is older than 1.20, so requests have no seats.
/// - The request is long-running and not a WATCH, such as `log` or `exec`. It has no seats.
#[must_use]
pub(crate) fn seats(
    server: &Server,
    shape: &RequestShape<&str>,
    stored: Option<StoredObjects>,
) -> Option<u64> {
    let version = server.version;
    if !version.at_least(20, 0) || (is_long_running(shape) && shape.verb != Verb::Watch) {
        return None;
    }
    let options = &shape.options;
    let is_estimated = match shape.verb {
        Verb::List => version.at_least(23, 0),
        Verb::Watch => begins_with_objects(server, options),
        _ => false,
    };
    if !is_estimated || !matches!(shape.target, Target::Resource { .. }) {
        return Some(1);
    }
    if options.selects_name && !version.at_least(34, 0) && a_name_is_one_seat(version) {
        return Some(1);
    }
    let is_from_cache = shape.verb == Verb::Watch || is_estimated_as_cached(server, options);
    if server.enabled(Gate::SizeBasedListCostEstimate) {
        Some(by_size(options, stored?, is_from_cache)?.clamp(1, MAX_SEATS_BY_SIZE))
    } else {
        let is_one = options.selects_name && version.at_least(34, 0);
        let objects = if is_one { 1 } else { processed(options, stored?.objects, is_from_cache) };
        Some(objects.div_ceil(OBJECTS_PER_SEAT).clamp(1, MAX_SEATS_BY_COUNT))
    }
}

/// Whether the server estimates a watch like a LIST. Since 1.28 it does so for a watch with `sendInitialEvents`
/// (kubernetes/kubernetes#118933). Since 1.35 it does so for every watch that begins with objects
/// (kubernetes/kubernetes#134601).
fn begins_with_objects(server: &Server, options: &Options) -> bool {
    let version = server.version;
    let sends_initial_events = options.send_initial_events == Some(true);
    let legacy = version.at_least(35, 0) && options.resource_version.is_unset_or_zero();
    version.at_least(28, 0) && server.enabled(Gate::WatchList) && (sends_initial_events || legacy)
}

/// Whether a LIST by `metadata.name` has one seat, like a GET. That holds since 1.26, and for some patches of the three
/// minor versions before (kubernetes/kubernetes#112557).
fn a_name_is_one_seat(version: KubeVersion) -> bool {
    match version.minor {
        ..=22 => false,
        23 => version.at_least(23, 13),
        24 => version.at_least(24, 7),
        25 => version.at_least(25, 3),
        26.. => true,
    }
}

/// Whether the server's estimator expects the watch cache to serve the LIST. The estimator does not consider
/// resources without a watch cache, snapshots, or the bug of 1.33.0.
fn is_estimated_as_cached(server: &Server, options: &Options) -> bool {
    let verdict = list::cached(server, options);
    match verdict.served_from {
        ServedFrom::Etcd => verdict.reason == Reason::ListConsistentPageRegression,
        ServedFrom::Depends => false,
        _ => true,
    }
}

/// Returns the number of objects in one page: the page size or the size of the collection, whichever is smaller.
#[must_use]
pub(crate) fn page(options: &Options, objects: u64) -> u64 {
    match options.limit {
        Limit::Page(PageSize::Exactly(size) | PageSize::UpTo(size)) => objects.min(u64::from(size)),
        Limit::Page(PageSize::More) | Limit::Absent | Limit::Unlimited | Limit::Invalid => objects,
    }
}

/// Source: `seatsBasedOnObjectCount`.
fn processed(options: &Options, objects: u64, is_from_cache: bool) -> u64 {
    if is_from_cache {
        objects
    } else if options.selects() {
        objects + page(options, objects)
    } else {
        2 * page(options, objects)
    }
}

/// Source: `seatsBasedOnObjectSize`.
fn by_size(options: &Options, stored: StoredObjects, is_from_cache: bool) -> Option<u64> {
    let StoredObjects { objects, bytes_per_object } = stored;
    let loaded = if options.selects_name {
        1
    } else if options.selects() && !is_from_cache {
        page(options, objects).max(objects / 2)
    } else {
        page(options, objects)
    };
    let bytes = if loaded == 0 { 0 } else { loaded.saturating_mul(bytes_per_object?) };
    let at_once = if is_from_cache { bytes.min(MOST_FROM_CACHE) } else { bytes };
    Some(at_once.div_ceil(BYTES_PER_SEAT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::ParsedTarget;
    use crate::k8s::request_info::Method;

    fn estimate(version: &str, uri: &str, objects: u64, bytes: u64) -> Option<u64> {
        let server = Server::with_defaults(version.parse().expect("a version"));
        let target = ParsedTarget::parse(uri).expect("a target");
        let shape = RequestShape::new(Method::Get, &target.path, &target.options);
        let stored = StoredObjects { objects, bytes_per_object: Some(bytes / objects.max(1)) };
        seats(&server, &shape, Some(stored))
    }

    const FROM_ETCD: &str = "/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact";
    const FROM_CACHE: &str = "/api/v1/pods?resourceVersion=0";

    /// The table of `list_work_estimator_test.go` (v0.34). Its columns: bytes, objects, the end of the query, served
    /// from the cache or not, seats by count, seats by size.
    #[test]
    fn seats_agree_with_the_table_of_upstream() {
        let selector = "&limit=100&labelSelector=a";
        let ten = "&limit=10&labelSelector=a";
        let rows: [(u64, u64, &str, bool, u64, u64); 18] = [
            (99_999, 99, "", false, 2, 1),
            (99_999, 10, "", false, 1, 1),
            (99_999, 99, "", true, 1, 1),
            (999_999, 1_000, "", false, 20, 10),
            (999_999, 1_000, "&limit=100", false, 2, 1),
            (999_999, 1_000, selector, false, 11, 5),
            (999_999, 1_000, "", true, 10, 10),
            (999_999, 1_000, "&limit=100", true, 10, 1),
            (999_999, 1_000, selector, true, 10, 1),
            (999_999, 99, "", false, 2, 10),
            (999_999, 99, "&limit=10", false, 1, 2),
            (999_999, 99, ten, false, 2, 5),
            (9_999_999, 1_000, "", false, 20, 100),
            (9_999_999, 1_000, "&limit=100", false, 2, 10),
            (9_999_999, 1_000, selector, false, 11, 50),
            (9_999_999, 1_000, selector, true, 10, 10),
            (9_999_999, 99, "&limit=10", false, 1, 11),
            (9_999_999, 99, "&limit=10", true, 1, 10),
        ];
        for (bytes, objects, query, is_cached, by_count, by_size) in rows {
            let uri = format!("{}{query}", if is_cached { FROM_CACHE } else { FROM_ETCD });
            let expected = (Some(by_count.min(10)), Some(by_size));
            let estimates =
                (estimate("1.32.0", &uri, objects, bytes), estimate("1.34.0", &uri, objects, bytes));
            assert_eq!(estimates, expected, "{bytes} bytes, {objects} objects, {uri}");
        }
    }

    #[test]
    fn each_branch_starts_with_its_version() {
        let pods =
            |version, query: &str| estimate(version, &format!("/api/v1/pods{query}"), 2_000, 40_000_000);
        assert_eq!(pods("1.19.0", ""), None);
        assert_eq!((pods("1.22.17", ""), pods("1.23.0", "")), (Some(1), Some(10)));
        let name = "?fieldSelector=metadata.name%3Da";
        assert_eq!(
            (pods("1.24.6", name), pods("1.24.7", name), pods("1.34.0", name)),
            (Some(10), Some(1), Some(1))
        );
        let initial = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        assert_eq!((pods("1.33.1", initial), pods("1.32.0", initial)), (Some(1), Some(10)), "by the gate");
        let legacy = "?watch=1&resourceVersion=0";
        assert_eq!((pods("1.34.1", legacy), pods("1.35.0", legacy)), (Some(1), Some(10)));
        assert_eq!(
            (pods("1.33.0", ""), pods("1.34.0", FROM_ETCD.trim_start_matches("/api/v1/pods"))),
            (Some(10), Some(100))
        );
        assert_eq!(pods("1.34.0", "/a/log"), None);
        assert_eq!(pods("1.34.0", "/a"), Some(1));
    }

    #[test]
    fn seats_are_none_if_they_depend_on_an_unknown_size() {
        let server = Server::with_defaults(KubeVersion::new(34, 0));
        let target = ParsedTarget::parse("/api/v1/pods").expect("a target");
        let shape = RequestShape::new(Method::Get, &target.path, &target.options);
        assert_eq!(seats(&server, &shape, None), None);
        let stored = |objects, bytes_per_object| {
            seats(&server, &shape, Some(StoredObjects { objects, bytes_per_object }))
        };
        assert_eq!(stored(5, None), None);
        assert_eq!(stored(0, None), Some(1));
        assert_eq!(stored(5, Some(LARGEST_OBJECT)), Some(10));
    }
}
