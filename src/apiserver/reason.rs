//! The reasons of verdicts: stable codes, each with a sentence for people.

use crate::named::named;

/// Defines [`Reason`]. The description of a variant is its sentence, and its name is the code.
macro_rules! reasons {
    ($($(#[doc = $sentence:literal])+ $reason:ident = $code:literal,)+) => {
        named! {
            /// The reason of a verdict. Its code never changes; its sentence may.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum Reason {
                $($reason = $code,)+
            }
            /// The stable code, such as `list-any-ignores-limit`.
            pub fn code;
            pub const ALL;
        }

        impl Reason {
            /// The explanation for people.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$reason => const { concat!($($sentence),+).trim_ascii_start() },)+
                }
            }
        }
    };
}

reasons! {
    /// resourceVersion=0 accepts any state in the watch cache; the server does not ask etcd.
    ListAnyFromCache = "list-any-from-cache",
    /// resourceVersion=0 is served from the watch cache. The server ignores limit and returns the whole collection at
    /// once.
    ListAnyIgnoresLimit = "list-any-ignores-limit",
    /// A LIST with a resourceVersion and no limit accepts any state at least that new. It is served from the watch
    /// cache.
    ListNotOlderFromCache = "list-not-older-from-cache",
    /// From 1.31, a NotOlderThan LIST with a limit is served from the watch cache, limit honored.
    ListNotOlderLimitFromCache = "list-not-older-limit-from-cache",
    /// Before 1.31, every LIST with a limit and a resourceVersion other than 0 is read from etcd, even with
    /// NotOlderThan.
    ListNotOlderLimitFromEtcd = "list-not-older-limit-from-etcd",
    /// A LIST without resourceVersion is consistent. The server reads the current revision from etcd (one tiny read)
    /// and waits for its watch cache. Then it serves the LIST from the cache.
    ListConsistentFromCache = "list-consistent-from-cache",
    /// Before 1.31, a LIST without resourceVersion is read from etcd, the whole collection or the page.
    ListConsistentFromEtcd = "list-consistent-from-etcd",
    /// The feature gate ConsistentListFromCache is off, so a LIST without resourceVersion is read from etcd.
    ListConsistentGateOff = "list-consistent-gate-off",
    /// This etcd is older than 3.4.31 or 3.5.13 and cannot report progress to the watch cache. So the server reads
    /// every LIST without resourceVersion from etcd, without a warning.
    ListConsistentEtcdTooOld = "list-consistent-etcd-too-old",
    /// With the alpha of consistent reads (1.28 to 1.30), a LIST with a limit is still read from etcd.
    ListConsistentLimitAlpha = "list-consistent-limit-from-etcd",
    /// 1.33.0 to 1.33.2 have a bug (kubernetes/kubernetes#132132). They read the first page of a LIST without
    /// resourceVersion from etcd. 1.33.3 fixes it.
    ListConsistentPageRegression = "list-first-page-regression",
    /// In the alpha of consistent reads (1.28, 1.29), a LIST with resourceVersion=0 first reads the current revision
    /// from etcd.
    ListAnyConsistentAlpha = "list-any-revision-check",
    /// A LIST at one exact revision is read from etcd: the watch cache of this server keeps no snapshots.
    ListExactFromEtcd = "list-exact-from-etcd",
    /// A resourceVersion with a limit and no resourceVersionMatch means exactly that revision. This server reads it
    /// from etcd.
    ListLimitMeansExactFromEtcd = "list-limit-means-exact-from-etcd",
    /// A LIST at one exact revision is served from a snapshot of the watch cache, if it still has one. Snapshots cover
    /// about the last 75 seconds or more. Otherwise the LIST is read from etcd.
    ListExactSnapshot = "list-exact-snapshot",
    /// A resourceVersion with a limit and no resourceVersionMatch means exactly that revision. It is served from a
    /// snapshot of the watch cache, if it still has one, else read from etcd.
    ListLimitMeansExactSnapshot = "list-limit-means-exact-snapshot",
    /// A LIST of one object by metadata.name at an exact revision reads one key from etcd. Snapshots of the watch cache
    /// do not serve it.
    ListExactSingleKey = "list-exact-single-key",
    /// A further page is read from etcd, at the revision of the first page.
    ListContinueFromEtcd = "list-continue-from-etcd",
    /// A further page is served from a snapshot of the watch cache, if it still has the token's revision. Otherwise the
    /// page is read from etcd.
    ListContinueSnapshot = "list-continue-snapshot",
    /// A further page with resourceVersion=0 is served from a snapshot of the watch cache, if it still has one. Then
    /// the server ignores limit and returns all the rest at once.
    ListContinueSnapshotIgnoresLimit = "list-continue-snapshot-ignores-limit",
    /// This etcd is older than 3.4.31 or 3.5.13 and cannot report progress. So the watch cache seldom has the revision
    /// of a token from etcd. A token from the cache is served from a snapshot.
    ListContinueOldEtcd = "list-continue-etcd-too-old",
    /// The token's revision had expired, so the server returns the rest at the newest revision. It checks the revision
    /// in etcd and serves the page from the watch cache.
    ListContinueInconsistentFromCache = "list-continue-inconsistent-from-cache",
    /// This resource has no watch cache: every read of it goes to etcd, with any resourceVersion.
    UncachedResource = "uncached-resource",
    /// A GET without resourceVersion is read from etcd in every version. Consistent reads from the cache cover LISTs
    /// only.
    GetFromEtcd = "get-from-etcd",
    /// A GET with a resourceVersion is served from the watch cache.
    GetFromCache = "get-from-cache",
    /// The server reads the object behind the connection from etcd (one small read), with any query.
    ConnectReadsObject = "connect-reads-object",
    /// A WATCH is served from the watch cache; the server does not ask etcd.
    WatchFromCache = "watch-from-cache",
    /// A WATCH that begins with the state of the collection gets it from the watch cache; the server does not ask etcd.
    WatchListFromCache = "watch-list-from-cache",
    /// On a server with WatchList, a WATCH without resourceVersion is a consistent read. The server reads the current
    /// revision from etcd (one tiny read) and serves the rest from the watch cache.
    WatchListRevisionCheck = "watch-list-revision-check",
    /// This etcd is older than 3.4.31 or 3.5.13, so the watch cache cannot finish the initial events. The client gets
    /// HTTP 200 and an ERROR event with code 500.
    WatchListEtcdTooOld = "watch-list-etcd-too-old",
    /// A WATCH without resourceVersion opens its own watch in etcd. This is so on 1.27.0 to 1.27.12, 1.28.0 to 1.28.8
    /// and 1.29.0 to 1.29.3.
    WatchFromEtcd = "watch-unset-from-etcd",
    /// The feature gate WatchFromStorageWithoutResourceVersion is on, so a WATCH without resourceVersion opens a watch
    /// in etcd.
    WatchFromEtcdByGate = "watch-unset-from-etcd-by-gate",
    /// A write goes to etcd.
    Write = "write",
    /// The server lists what to delete from the watch cache, then reads and deletes each object in etcd.
    DeleteCollectionFromCache = "deletecollection-lists-cache",
    /// The server lists what to delete from etcd, then reads and deletes each object there.
    DeleteCollectionFromEtcd = "deletecollection-lists-etcd",
    /// A resourceVersion on deletecollection is a precondition on every object. The server lists, returns 409 at the
    /// first object with another resourceVersion, and deletes nothing.
    DeleteCollectionPrecondition = "deletecollection-precondition",
    /// Discovery, health, metrics and other paths outside the API's resources read no storage.
    NonResource = "non-resource",
    /// The server computes reviews, tokens and component statuses; it does not store them.
    NeverStored = "never-stored",
    /// kube-apiserver proxies the request to an aggregated API server. It uses neither its own watch cache nor its
    /// etcd.
    AggregatedGroup = "aggregated-group",
    /// The record has no request URI, so resourceVersion, limit and continue are unknown.
    NoRequestUri = "no-request-uri",
    /// The request URI cannot be decoded.
    UnreadableUri = "unreadable-uri",
    /// limit is not an integer: 400.
    InvalidLimit = "invalid-limit",
    /// timeoutSeconds is not an integer: 400.
    InvalidTimeoutSeconds = "invalid-timeout-seconds",
    /// timeout is not a duration: 400.
    InvalidTimeout = "invalid-timeout",
    /// The label selector is not valid: 400.
    InvalidLabelSelector = "invalid-label-selector",
    /// The field selector is not valid: 400.
    InvalidFieldSelector = "invalid-field-selector",
    /// The resource does not support this field in a field selector: 400.
    UnsupportedFieldSelector = "unsupported-field-selector",
    /// The custom resource does not support this field in a field selector: 400. Its CRD can declare it
    /// (selectableFields, 1.30 and later).
    UndeclaredFieldSelector = "undeclared-field-selector",
    /// The field selector names another object than the path: 400.
    NameConflict = "name-conflict",
    /// resourceVersionMatch needs a resourceVersion: 422.
    MatchWithoutResourceVersion = "match-without-resource-version",
    /// resourceVersionMatch is forbidden with a continue token: 422.
    MatchWithContinue = "match-with-continue",
    /// resourceVersionMatch is neither Exact nor NotOlderThan: 422.
    UnknownMatch = "unknown-match",
    /// resourceVersionMatch=Exact is forbidden with resourceVersion=0: 422.
    ExactZero = "exact-zero",
    /// sendInitialEvents is forbidden on a LIST: 422.
    SendInitialEventsOnList = "send-initial-events-on-list",
    /// sendInitialEvents needs resourceVersionMatch=NotOlderThan: 422.
    SendInitialEventsNeedsMatch = "send-initial-events-needs-match",
    /// The feature gate WatchList is off, so the server refuses sendInitialEvents: 422. client-go then falls back to
    /// LIST and WATCH.
    SendInitialEventsGateOff = "send-initial-events-gate-off",
    /// resourceVersionMatch is forbidden on a WATCH without sendInitialEvents: 422.
    MatchOnWatch = "match-on-watch",
    /// The continue token cannot be decoded: 400.
    InvalidContinue = "invalid-continue",
    /// A continue token and a resourceVersion exclude each other: 400.
    ContinueWithResourceVersion = "continue-with-resource-version",
    /// resourceVersion is not a number. The server returns 400, or 500 where it checks late.
    InvalidResourceVersion = "invalid-resource-version",
    /// Built-in resources do not support HEAD: 405.
    HeadNotAllowed = "head-not-allowed",
    /// The API does not support this method: 405.
    MethodNotAllowed = "method-not-allowed",
    /// The server has no such path: 404.
    NoSuchPath = "no-such-path",
    /// The server cannot resolve the path to a resource: 500.
    UnresolvablePath = "unresolvable-path",
    /// The server returned 401 before it read anything.
    AnsweredUnauthorized = "answered-unauthorized",
    /// The server returned 403 before it read anything.
    AnsweredForbidden = "answered-forbidden",
    /// The server returned 429: it throttled the client, or the watch cache was not ready.
    AnsweredTooManyRequests = "answered-too-many-requests",
    /// The server refused the request as malformed before it read anything.
    AnsweredRejected = "answered-rejected",
    /// The server returned 404 for a collection: it has no such resource.
    AnsweredNoSuchResource = "answered-no-such-resource",
    /// The server returned 410: etcd reported that it no longer has that revision.
    AnsweredExpired = "answered-expired",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_with_a_point() {
        for reason in Reason::ALL {
            assert!(reason.sentence().ends_with('.'), "{reason:?}");
        }
    }

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: std::collections::BTreeSet<_> = Reason::ALL.map(Reason::code).into();
        assert_eq!(codes.len(), Reason::ALL.len());
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    }
}
