//! What each reason is called and says.

use super::Reason;

/// Every reason with its code and its sentence, in the order of the variants: a variant's number finds its row.
pub(super) const TEXTS: &[(Reason, &str, &str)] = &[
    (
        Reason::ListAnyFromCache,
        "list-any-from-cache",
        "resourceVersion=0 takes whatever the watch cache holds; etcd is not asked.",
    ),
    (
        Reason::ListAnyIgnoresLimit,
        "list-any-ignores-limit",
        "resourceVersion=0 is answered from the watch cache, which ignores limit and returns the whole collection at once.",
    ),
    (
        Reason::ListNotOlderFromCache,
        "list-not-older-from-cache",
        "A list at a resourceVersion without a limit takes any state at least that new, which the watch cache holds.",
    ),
    (
        Reason::ListNotOlderLimitFromCache,
        "list-not-older-limit-from-cache",
        "Since 1.31 a NotOlderThan list with a limit is answered from the watch cache, which honours the limit.",
    ),
    (
        Reason::ListNotOlderLimitFromEtcd,
        "list-not-older-limit-from-etcd",
        "Before 1.31 a limit sends every list with a resourceVersion other than 0 to etcd, NotOlderThan too.",
    ),
    (
        Reason::ListConsistentFromCache,
        "list-consistent-from-cache",
        "A list without resourceVersion is consistent: the server reads the current revision from etcd (one tiny read), waits until its watch cache has caught up, and answers from the cache.",
    ),
    (
        Reason::ListConsistentFromEtcd,
        "list-consistent-from-etcd",
        "Before 1.31 a list without resourceVersion is read from etcd, the whole collection or the page.",
    ),
    (
        Reason::ListConsistentGateOff,
        "list-consistent-gate-off",
        "With the feature gate ConsistentListFromCache off, a list without resourceVersion is read from etcd.",
    ),
    (
        Reason::ListConsistentEtcdTooOld,
        "list-consistent-etcd-too-old",
        "This etcd is older than 3.4.31 or 3.5.13 and can't tell the watch cache how far it is behind, so the server silently reads every list without resourceVersion from etcd.",
    ),
    (
        Reason::ListConsistentLimitAlpha,
        "list-consistent-limit-from-etcd",
        "In the alpha of consistent reads (1.28 to 1.30) a limit still sends a list without resourceVersion to etcd.",
    ),
    (
        Reason::ListConsistentPageRegression,
        "list-first-page-regression",
        "1.33.0 to 1.33.2 have a defect (k/k 132132): the first page of a list without resourceVersion is read from etcd; 1.33.3 mended it.",
    ),
    (
        Reason::ListAnyConsistentAlpha,
        "list-any-revision-check",
        "In the alpha of consistent reads in 1.28 and 1.29 a list with resourceVersion=0 also reads the current revision from etcd first.",
    ),
    (
        Reason::ListExactFromEtcd,
        "list-exact-from-etcd",
        "A list at exactly one revision is read from etcd; the watch cache of this server keeps no snapshots.",
    ),
    (
        Reason::ListLimitMeansExactFromEtcd,
        "list-limit-means-exact-from-etcd",
        "A resourceVersion with a limit and no resourceVersionMatch means exactly that revision, which this server reads from etcd.",
    ),
    (
        Reason::ListExactSnapshot,
        "list-exact-snapshot",
        "A list at exactly one revision is answered from a snapshot of the watch cache if one of that revision is still held (about the last 75 seconds or more), else from etcd.",
    ),
    (
        Reason::ListLimitMeansExactSnapshot,
        "list-limit-means-exact-snapshot",
        "A resourceVersion with a limit and no resourceVersionMatch means exactly that revision: answered from a snapshot of the watch cache if one is still held, else from etcd.",
    ),
    (
        Reason::ListExactSingleKey,
        "list-exact-single-key",
        "A list of one object by metadata.name at an exact revision reads one key from etcd; snapshots of the watch cache do not serve it.",
    ),
    (
        Reason::ListContinueFromEtcd,
        "list-continue-from-etcd",
        "A further page is read from etcd at the revision of the first.",
    ),
    (
        Reason::ListContinueSnapshot,
        "list-continue-snapshot",
        "A further page is answered from a snapshot of the watch cache if one of the token's revision is still held, else from etcd.",
    ),
    (
        Reason::ListContinueSnapshotIgnoresLimit,
        "list-continue-snapshot-ignores-limit",
        "A further page with resourceVersion=0 is answered from a snapshot of the watch cache, if one is still held, and then ignores limit: all the rest comes at once.",
    ),
    (
        Reason::ListContinueOldEtcd,
        "list-continue-etcd-too-old",
        "The token of a list that etcd answered has a revision that this server's watch cache seldom knows, as an etcd older than 3.4.31 or 3.5.13 can't tell it how far it is; a token from the cache itself is answered from a snapshot.",
    ),
    (
        Reason::ListContinueInconsistentFromCache,
        "list-continue-inconsistent-from-cache",
        "The token's revision had expired, so the rest is read at the newest revision: from the watch cache after a revision check.",
    ),
    (
        Reason::UncachedResource,
        "uncached-resource",
        "This resource has no watch cache: every read of it goes to etcd, whatever its resourceVersion.",
    ),
    (
        Reason::GetFromEtcd,
        "get-from-etcd",
        "A get without resourceVersion is read from etcd in every version; consistent reads from the cache cover lists only.",
    ),
    (
        Reason::GetFromCache,
        "get-from-cache",
        "A get with a resourceVersion is answered from the watch cache.",
    ),
    (
        Reason::ConnectReadsObject,
        "connect-reads-object",
        "The server reads the object behind the connection from etcd (one small read), whatever the query says.",
    ),
    (Reason::WatchFromCache, "watch-from-cache", "A watch is fed from the watch cache; etcd is not asked."),
    (
        Reason::WatchListFromCache,
        "watch-list-from-cache",
        "A watch that begins with the state of the collection is fed from the watch cache, which holds that state; etcd is not asked.",
    ),
    (
        Reason::WatchListRevisionCheck,
        "watch-list-revision-check",
        "A watch without resourceVersion on a server with WatchList is a consistent read: one tiny etcd read tells the current revision, the rest comes from the watch cache.",
    ),
    (
        Reason::WatchListEtcdTooOld,
        "watch-list-etcd-too-old",
        "The watch cache can't finish the initial events, as this etcd is older than 3.4.31 or 3.5.13: the client gets HTTP 200 and an ERROR event 500.",
    ),
    (
        Reason::WatchFromEtcd,
        "watch-unset-from-etcd",
        "1.27.0 to 1.27.12, 1.28.0 to 1.28.8 and 1.29.0 to 1.29.3 open a watch of its own in etcd for a client that sends no resourceVersion.",
    ),
    (
        Reason::WatchFromEtcdByGate,
        "watch-unset-from-etcd-by-gate",
        "With the feature gate WatchFromStorageWithoutResourceVersion on, a watch without resourceVersion is opened in etcd.",
    ),
    (Reason::Write, "write", "A write reaches etcd."),
    (
        Reason::DeleteCollectionFromCache,
        "deletecollection-lists-cache",
        "deletecollection lists what to delete from the watch cache, then reads and deletes each object in etcd.",
    ),
    (
        Reason::DeleteCollectionFromEtcd,
        "deletecollection-lists-etcd",
        "deletecollection lists what to delete from etcd, then reads and deletes each object there.",
    ),
    (
        Reason::DeleteCollectionPrecondition,
        "deletecollection-precondition",
        "A resourceVersion on deletecollection is a precondition on every object: the server lists, then answers 409 at the first object that has another one, and deletes nothing.",
    ),
    (
        Reason::NonResource,
        "non-resource",
        "Discovery, health, metrics and other paths outside the API's resources read no storage.",
    ),
    (Reason::NeverStored, "never-stored", "Reviews, tokens and component statuses are computed, not stored."),
    (
        Reason::AggregatedGroup,
        "aggregated-group",
        "The request is passed on to an aggregated API server; neither this server's watch cache nor its etcd is involved.",
    ),
    (
        Reason::NoRequestUri,
        "no-request-uri",
        "The record holds no request URI, so resourceVersion, limit and continue are unknown.",
    ),
    (Reason::UnreadableUri, "unreadable-uri", "The request URI can't be decoded."),
    (Reason::InvalidLimit, "invalid-limit", "limit is no integer: 400."),
    (Reason::InvalidTimeoutSeconds, "invalid-timeout-seconds", "timeoutSeconds is no integer: 400."),
    (Reason::InvalidTimeout, "invalid-timeout", "timeout is no duration: 400."),
    (Reason::InvalidLabelSelector, "invalid-label-selector", "The label selector can't be parsed: 400."),
    (Reason::InvalidFieldSelector, "invalid-field-selector", "The field selector can't be parsed: 400."),
    (
        Reason::UnsupportedFieldSelector,
        "unsupported-field-selector",
        "The resource can't be selected by that field: 400.",
    ),
    (
        Reason::UndeclaredFieldSelector,
        "undeclared-field-selector",
        "A custom resource can't be selected by that field: 400, unless its CRD declares it (selectableFields, 1.30 and later).",
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
        "sendInitialEvents is forbidden on a list: 422.",
    ),
    (
        Reason::SendInitialEventsNeedsMatch,
        "send-initial-events-needs-match",
        "sendInitialEvents needs resourceVersionMatch=NotOlderThan: 422.",
    ),
    (
        Reason::SendInitialEventsGateOff,
        "send-initial-events-gate-off",
        "sendInitialEvents is refused where the feature gate WatchList is off: 422. client-go then falls back to LIST and WATCH.",
    ),
    (
        Reason::MatchOnWatch,
        "match-on-watch",
        "resourceVersionMatch is forbidden on a watch without sendInitialEvents: 422.",
    ),
    (Reason::InvalidContinue, "invalid-continue", "The continue token can't be decoded: 400."),
    (
        Reason::ContinueWithResourceVersion,
        "continue-with-resource-version",
        "A continue token and a resourceVersion exclude each other: 400.",
    ),
    (
        Reason::InvalidResourceVersion,
        "invalid-resource-version",
        "resourceVersion is no number; the server answers 400 or, where it notices late, 500.",
    ),
    (Reason::HeadNotAllowed, "head-not-allowed", "Built-in resources have no HEAD: 405."),
    (Reason::MethodNotAllowed, "method-not-allowed", "The API has no such method: 405."),
    (Reason::NoSuchPath, "no-such-path", "The server has no such path: 404."),
    (
        Reason::UnresolvablePath,
        "unresolvable-path",
        "The server can't tell which resource the path means: 500.",
    ),
    (
        Reason::AnsweredUnauthorized,
        "answered-unauthorized",
        "The server answered 401 before it read anything.",
    ),
    (Reason::AnsweredForbidden, "answered-forbidden", "The server answered 403 before it read anything."),
    (
        Reason::AnsweredTooManyRequests,
        "answered-too-many-requests",
        "The server answered 429: the client was throttled, or the watch cache was not ready.",
    ),
    (
        Reason::AnsweredRejected,
        "answered-rejected",
        "The server refused the request as malformed before it read anything.",
    ),
    (
        Reason::AnsweredNoSuchResource,
        "answered-no-such-resource",
        "The server answered 404 to a collection: it has no such resource.",
    ),
    (
        Reason::AnsweredExpired,
        "answered-expired",
        "The server answered 410: etcd no longer has that revision, and etcd is who said so.",
    ),
];
