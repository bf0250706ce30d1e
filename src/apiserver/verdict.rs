//! The verdict on a request: what the server did with it, or would do.

use super::reason::Reason;
use crate::named::named;

named! {
    /// Where a request was served from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ServedFrom {
        /// The watch cache, without a read from etcd.
        WatchCache = "watch-cache",
        /// The watch cache, after one tiny read of the current revision from etcd (a consistent read).
        WatchCacheAfterRevisionCheck = "watch-cache-after-revision-check",
        /// Read from etcd.
        Etcd = "etcd",
        /// The watch cache or etcd. It depends on facts that the log does not show; see [`Verdict::likely`].
        Depends = "depends",
        /// A write to etcd.
        Write = "write",
        /// Neither the watch cache nor etcd: discovery, health, reviews.
        NoStorage = "no-storage",
        /// An aggregated API server. kube-apiserver only proxied the request.
        Aggregated = "aggregated",
        /// The server refused the request.
        Rejected = "rejected",
        /// Unknown, because the record lacks the needed fields.
        NotObservable = "not-observable",
    }
    /// The value in the public JSON contracts.
    pub(crate) fn as_str;
    pub(crate) const ALL;
}

named! {
    /// Whether the server honored `limit`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum LimitVerdict {
        /// The request has no limit.
        Absent = "absent",
        /// The server honored the limit: the response has at most `limit` objects.
        Honored = "honored",
        /// The server ignored the limit: the response has all objects.
        Ignored = "ignored",
    }
    /// The value in the public JSON contracts.
    pub(crate) fn as_str;
}

named! {
    /// What a verdict depends on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Certainty {
        /// Nothing: all versions in the model give this verdict.
        Certain = "certain",
        /// The version: other versions give another verdict.
        ByVersion = "by-version",
        /// The configuration: with default settings and a current etcd, this version gives another verdict.
        ByConfig = "by-config",
    }
    /// The value in the public JSON contracts.
    pub(crate) fn as_str;
}

/// What the server did with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Verdict {
    pub served_from: ServedFrom,
    /// For [`ServedFrom::Depends`]: the more likely source.
    pub likely: Option<ServedFrom>,
    pub limit: LimitVerdict,
    /// The HTTP status, if the server refuses the request.
    pub rejected: Option<u16>,
    pub reason: Reason,
}

impl Verdict {
    pub(super) fn refused(status: u16, reason: Reason) -> Self {
        Self {
            served_from: ServedFrom::Rejected,
            likely: None,
            limit: LimitVerdict::Absent,
            rejected: Some(status),
            reason,
        }
    }

    pub(super) fn plain(served_from: ServedFrom, reason: Reason) -> Self {
        Self { served_from, likely: None, limit: LimitVerdict::Absent, rejected: None, reason }
    }

    pub(super) fn with_limit(self, limit: LimitVerdict) -> Self {
        Self { limit, ..self }
    }

    pub(super) fn depends(likely: ServedFrom, reason: Reason) -> Self {
        Self { likely: Some(likely), ..Self::plain(ServedFrom::Depends, reason) }
    }

    /// Whether two verdicts are equal, ignoring their reasons.
    #[must_use]
    pub(crate) fn agrees_with(self, other: Self) -> bool {
        (self.served_from, self.likely, self.limit, self.rejected)
            == (other.served_from, other.likely, other.limit, other.rejected)
            // For a deletecollection, only the reason shows where the server lists from.
            && (self.served_from != ServedFrom::Write || self.reason == other.reason)
    }

    /// Where the request was served from; for [`ServedFrom::Depends`], the likely source.
    #[must_use]
    pub fn likely_served_from(&self) -> ServedFrom {
        self.likely.unwrap_or(self.served_from)
    }
}
