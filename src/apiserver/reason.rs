//! The reasons of verdicts: stable codes, each with a sentence for people.

/// The reason of a verdict. Its code never changes; its sentence may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    ListAnyFromCache,
    ListAnyIgnoresLimit,
    ListNotOlderFromCache,
    ListNotOlderLimitFromCache,
    ListNotOlderLimitFromEtcd,
    ListConsistentFromCache,
    ListConsistentFromEtcd,
    ListConsistentGateOff,
    ListConsistentEtcdTooOld,
    ListConsistentLimitAlpha,
    ListConsistentPageRegression,
    ListAnyConsistentAlpha,
    ListExactFromEtcd,
    ListLimitMeansExactFromEtcd,
    ListExactSnapshot,
    ListLimitMeansExactSnapshot,
    ListExactSingleKey,
    ListContinueFromEtcd,
    ListContinueSnapshot,
    ListContinueSnapshotIgnoresLimit,
    ListContinueOldEtcd,
    ListContinueInconsistentFromCache,
    UncachedResource,
    GetFromEtcd,
    GetFromCache,
    ConnectReadsObject,
    WatchFromCache,
    WatchListFromCache,
    WatchListRevisionCheck,
    WatchListEtcdTooOld,
    WatchFromEtcd,
    WatchFromEtcdByGate,
    Write,
    DeleteCollectionFromCache,
    DeleteCollectionFromEtcd,
    DeleteCollectionPrecondition,
    NonResource,
    NeverStored,
    AggregatedGroup,
    NoRequestUri,
    UnreadableUri,
    InvalidLimit,
    InvalidTimeoutSeconds,
    InvalidTimeout,
    InvalidLabelSelector,
    InvalidFieldSelector,
    UnsupportedFieldSelector,
    UndeclaredFieldSelector,
    NameConflict,
    MatchWithoutResourceVersion,
    MatchWithContinue,
    UnknownMatch,
    ExactZero,
    SendInitialEventsOnList,
    SendInitialEventsNeedsMatch,
    SendInitialEventsGateOff,
    MatchOnWatch,
    InvalidContinue,
    ContinueWithResourceVersion,
    InvalidResourceVersion,
    HeadNotAllowed,
    MethodNotAllowed,
    NoSuchPath,
    UnresolvablePath,
    AnsweredUnauthorized,
    AnsweredForbidden,
    AnsweredTooManyRequests,
    AnsweredRejected,
    AnsweredNoSuchResource,
    AnsweredExpired,
}

impl Reason {
    /// All reasons in declaration order.
    pub fn all() -> impl Iterator<Item = Self> {
        TEXTS.iter().map(|(reason, _, _)| *reason)
    }

    /// The stable code, such as `list-any-ignores-limit`.
    #[must_use]
    pub fn code(self) -> &'static str {
        TEXTS[self as usize].1
    }

    /// The explanation for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        TEXTS[self as usize].2
    }
}

/// Each reason with its code and sentence, in the order of the variants: `Reason as usize` is the index.
const TEXTS: &[(Reason, &str, &str)] = &[
    (
        Reason::ListAnyFromCache,
        "list-any-from-cache",
        "resourceVersion=0 accepts any state in the watch cache; the server does not ask etcd.",
    ),
    (
        Reason::ListAnyIgnoresLimit,
        "list-any-ignores-limit",
        "resourceVersion=0 is served from the watch cache. The server ignores limit and returns the whole collection at once.",
    ),
    (
        Reason::ListNotOlderFromCache,
        "list-not-older-from-cache",
        "A LIST with a resourceVersion and no limit accepts any state at least that new. It is served from the watch cache.",
    ),
    (
        Reason::ListNotOlderLimitFromCache,
        "list-not-older-limit-from-cache",
        "From 1.31, a NotOlderThan LIST with a limit is served from the watch cache, limit honored.",
    ),
    (
        Reason::ListNotOlderLimitFromEtcd,
        "list-not-older-limit-from-etcd",
        "Before 1.31, every LIST with a limit and a resourceVersion other than 0 is read from etcd, even with NotOlderThan.",
    ),
    (
        Reason::ListConsistentFromCache,
        "list-consistent-from-cache",
        "A LIST without resourceVersion is consistent. The server reads the current revision from etcd (one tiny read) and waits for its watch cache. Then it serves the LIST from the cache.",
    ),
    (
        Reason::ListConsistentFromEtcd,
        "list-consistent-from-etcd",
        "Before 1.31, a LIST without resourceVersion is read from etcd, the whole collection or the page.",
    ),
    (
        Reason::ListConsistentGateOff,
        "list-consistent-gate-off",
        "The feature gate ConsistentListFromCache is off, so a LIST without resourceVersion is read from etcd.",
    ),
    (
        Reason::ListConsistentEtcdTooOld,
        "list-consistent-etcd-too-old",
        "This etcd is older than 3.4.31 or 3.5.13 and cannot report progress to the watch cache. So the server reads every LIST without resourceVersion from etcd, without a warning.",
    ),
    (
        Reason::ListConsistentLimitAlpha,
        "list-consistent-limit-from-etcd",
        "With the alpha of consistent reads (1.28 to 1.30), a LIST with a limit is still read from etcd.",
    ),
    (
        Reason::ListConsistentPageRegression,
        "list-first-page-regression",
        "1.33.0 to 1.33.2 have a bug (kubernetes/kubernetes#132132). They read the first page of a LIST without resourceVersion from etcd. 1.33.3 fixes it.",
    ),
    (
        Reason::ListAnyConsistentAlpha,
        "list-any-revision-check",
        "In the alpha of consistent reads (1.28, 1.29), a LIST with resourceVersion=0 first reads the current revision from etcd.",
    ),
    (
        Reason::ListExactFromEtcd,
        "list-exact-from-etcd",
        "A LIST at one exact revision is read from etcd: the watch cache of this server keeps no snapshots.",
    ),
    (
        Reason::ListLimitMeansExactFromEtcd,
        "list-limit-means-exact-from-etcd",
        "A resourceVersion with a limit and no resourceVersionMatch means exactly that revision. This server reads it from etcd.",
    ),
    (
        Reason::ListExactSnapshot,
        "list-exact-snapshot",
        "A LIST at one exact revision is served from a snapshot of the watch cache, if it still has one. Snapshots cover about the last 75 seconds or more. Otherwise the LIST is read from etcd.",
    ),
    (
        Reason::ListLimitMeansExactSnapshot,
        "list-limit-means-exact-snapshot",
        "A resourceVersion with a limit and no resourceVersionMatch means exactly that revision. It is served from a snapshot of the watch cache, if it still has one, else read from etcd.",
    ),
    (
        Reason::ListExactSingleKey,
        "list-exact-single-key",
        "A LIST of one object by metadata.name at an exact revision reads one key from etcd. Snapshots of the watch cache do not serve it.",
    ),
    (
        Reason::ListContinueFromEtcd,
        "list-continue-from-etcd",
        "A further page is read from etcd, at the revision of the first page.",
    ),
    (
        Reason::ListContinueSnapshot,
        "list-continue-snapshot",
        "A further page is served from a snapshot of the watch cache, if it still has the token's revision. Otherwise the page is read from etcd.",
    ),
    (
        Reason::ListContinueSnapshotIgnoresLimit,
        "list-continue-snapshot-ignores-limit",
        "A further page with resourceVersion=0 is served from a snapshot of the watch cache, if it still has one. Then the server ignores limit and returns all the rest at once.",
    ),
    (
        Reason::ListContinueOldEtcd,
        "list-continue-etcd-too-old",
        "This etcd is older than 3.4.31 or 3.5.13 and cannot report progress. So the watch cache seldom has the revision of a token from etcd. A token from the cache is served from a snapshot.",
    ),
    (
        Reason::ListContinueInconsistentFromCache,
        "list-continue-inconsistent-from-cache",
        "The token's revision had expired, so the server returns the rest at the newest revision. It checks the revision in etcd and serves the page from the watch cache.",
    ),
    (
        Reason::UncachedResource,
        "uncached-resource",
        "This resource has no watch cache: every read of it goes to etcd, with any resourceVersion.",
    ),
    (
        Reason::GetFromEtcd,
        "get-from-etcd",
        "A GET without resourceVersion is read from etcd in every version. Consistent reads from the cache cover LISTs only.",
    ),
    (Reason::GetFromCache, "get-from-cache", "A GET with a resourceVersion is served from the watch cache."),
    (
        Reason::ConnectReadsObject,
        "connect-reads-object",
        "The server reads the object behind the connection from etcd (one small read), with any query.",
    ),
    (
        Reason::WatchFromCache,
        "watch-from-cache",
        "A WATCH is served from the watch cache; the server does not ask etcd.",
    ),
    (
        Reason::WatchListFromCache,
        "watch-list-from-cache",
        "A WATCH that begins with the state of the collection gets it from the watch cache; the server does not ask etcd.",
    ),
    (
        Reason::WatchListRevisionCheck,
        "watch-list-revision-check",
        "On a server with WatchList, a WATCH without resourceVersion is a consistent read. The server reads the current revision from etcd (one tiny read) and serves the rest from the watch cache.",
    ),
    (
        Reason::WatchListEtcdTooOld,
        "watch-list-etcd-too-old",
        "This etcd is older than 3.4.31 or 3.5.13, so the watch cache cannot finish the initial events. The client gets HTTP 200 and an ERROR event with code 500.",
    ),
    (
        Reason::WatchFromEtcd,
        "watch-unset-from-etcd",
        "A WATCH without resourceVersion opens its own watch in etcd. This is so on 1.27.0 to 1.27.12, 1.28.0 to 1.28.8 and 1.29.0 to 1.29.3.",
    ),
    (
        Reason::WatchFromEtcdByGate,
        "watch-unset-from-etcd-by-gate",
        "The feature gate WatchFromStorageWithoutResourceVersion is on, so a WATCH without resourceVersion opens a watch in etcd.",
    ),
    (Reason::Write, "write", "A write goes to etcd."),
    (
        Reason::DeleteCollectionFromCache,
        "deletecollection-lists-cache",
        "The server lists what to delete from the watch cache, then reads and deletes each object in etcd.",
    ),
    (
        Reason::DeleteCollectionFromEtcd,
        "deletecollection-lists-etcd",
        "The server lists what to delete from etcd, then reads and deletes each object there.",
    ),
    (
        Reason::DeleteCollectionPrecondition,
        "deletecollection-precondition",
        "A resourceVersion on deletecollection is a precondition on every object. The server lists, returns 409 at the first object with another resourceVersion, and deletes nothing.",
    ),
    (
        Reason::NonResource,
        "non-resource",
        "Discovery, health, metrics and other paths outside the API's resources read no storage.",
    ),
    (
        Reason::NeverStored,
        "never-stored",
        "The server computes reviews, tokens and component statuses; it does not store them.",
    ),
    (
        Reason::AggregatedGroup,
        "aggregated-group",
        "kube-apiserver proxies the request to an aggregated API server. It uses neither its own watch cache nor its etcd.",
    ),
    (
        Reason::NoRequestUri,
        "no-request-uri",
        "The record has no request URI, so resourceVersion, limit and continue are unknown.",
    ),
    (Reason::UnreadableUri, "unreadable-uri", "The request URI cannot be decoded."),
    (Reason::InvalidLimit, "invalid-limit", "limit is not an integer: 400."),
    (Reason::InvalidTimeoutSeconds, "invalid-timeout-seconds", "timeoutSeconds is not an integer: 400."),
    (Reason::InvalidTimeout, "invalid-timeout", "timeout is not a duration: 400."),
    (Reason::InvalidLabelSelector, "invalid-label-selector", "The label selector is not valid: 400."),
    (Reason::InvalidFieldSelector, "invalid-field-selector", "The field selector is not valid: 400."),
    (
        Reason::UnsupportedFieldSelector,
        "unsupported-field-selector",
        "The resource does not support this field in a field selector: 400.",
    ),
    (
        Reason::UndeclaredFieldSelector,
        "undeclared-field-selector",
        "The custom resource does not support this field in a field selector: 400. Its CRD can declare it (selectableFields, 1.30 and later).",
    ),
    (Reason::NameConflict, "name-conflict", "The field selector names another object than the path: 400."),
    (
        Reason::MatchWithoutResourceVersion,
        "match-without-resource-version",
        "resourceVersionMatch needs a resourceVersion: 422.",
    ),
    (
        Reason::MatchWithContinue,
        "match-with-continue",
        "resourceVersionMatch is forbidden with a continue token: 422.",
    ),
    (Reason::UnknownMatch, "unknown-match", "resourceVersionMatch is neither Exact nor NotOlderThan: 422."),
    (Reason::ExactZero, "exact-zero", "resourceVersionMatch=Exact is forbidden with resourceVersion=0: 422."),
    (
        Reason::SendInitialEventsOnList,
        "send-initial-events-on-list",
        "sendInitialEvents is forbidden on a LIST: 422.",
    ),
    (
        Reason::SendInitialEventsNeedsMatch,
        "send-initial-events-needs-match",
        "sendInitialEvents needs resourceVersionMatch=NotOlderThan: 422.",
    ),
    (
        Reason::SendInitialEventsGateOff,
        "send-initial-events-gate-off",
        "The feature gate WatchList is off, so the server refuses sendInitialEvents: 422. client-go then falls back to LIST and WATCH.",
    ),
    (
        Reason::MatchOnWatch,
        "match-on-watch",
        "resourceVersionMatch is forbidden on a WATCH without sendInitialEvents: 422.",
    ),
    (Reason::InvalidContinue, "invalid-continue", "The continue token cannot be decoded: 400."),
    (
        Reason::ContinueWithResourceVersion,
        "continue-with-resource-version",
        "A continue token and a resourceVersion exclude each other: 400.",
    ),
    (
        Reason::InvalidResourceVersion,
        "invalid-resource-version",
        "resourceVersion is not a number. The server returns 400, or 500 where it checks late.",
    ),
    (Reason::HeadNotAllowed, "head-not-allowed", "Built-in resources do not support HEAD: 405."),
    (Reason::MethodNotAllowed, "method-not-allowed", "The API does not support this method: 405."),
    (Reason::NoSuchPath, "no-such-path", "The server has no such path: 404."),
    (Reason::UnresolvablePath, "unresolvable-path", "The server cannot resolve the path to a resource: 500."),
    (
        Reason::AnsweredUnauthorized,
        "answered-unauthorized",
        "The server returned 401 before it read anything.",
    ),
    (Reason::AnsweredForbidden, "answered-forbidden", "The server returned 403 before it read anything."),
    (
        Reason::AnsweredTooManyRequests,
        "answered-too-many-requests",
        "The server returned 429: it throttled the client, or the watch cache was not ready.",
    ),
    (
        Reason::AnsweredRejected,
        "answered-rejected",
        "The server refused the request as malformed before it read anything.",
    ),
    (
        Reason::AnsweredNoSuchResource,
        "answered-no-such-resource",
        "The server returned 404 for a collection: it has no such resource.",
    ),
    (
        Reason::AnsweredExpired,
        "answered-expired",
        "The server returned 410: etcd reported that it no longer has that revision.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_texts_are_in_the_order_of_the_variants() {
        for (index, reason) in Reason::all().enumerate() {
            assert_eq!(reason as usize, index, "{reason:?}");
            assert!(reason.sentence().ends_with('.'), "{reason:?}");
        }
    }

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: std::collections::BTreeSet<_> = Reason::all().map(Reason::code).collect();
        assert_eq!(codes.len(), TEXTS.len());
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    }
}
