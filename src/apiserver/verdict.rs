//! What the server did with a request, or would do.

use super::reason::Reason;

/// Where a request was answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServedFrom {
    /// The watch cache; etcd was not asked.
    WatchCache,
    /// The watch cache, after one tiny read from etcd that told the current revision (a consistent read).
    WatchCacheAfterRevisionCheck,
    /// etcd.
    Etcd,
    /// The watch cache or etcd, by something that neither the request nor the version tells; see
    /// [`Verdict::likely`].
    Depends,
    /// A write, which always reaches etcd.
    Write,
    /// Something that is not stored: discovery, health, reviews.
    NoStorage,
    /// Another server, to which kube-apiserver passed the request on.
    Aggregated,
    /// Nothing: the server refused the request.
    Rejected,
    /// The record does not hold what would tell it.
    NotObservable,
}

impl ServedFrom {
    /// All values, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::WatchCache,
        Self::WatchCacheAfterRevisionCheck,
        Self::Etcd,
        Self::Depends,
        Self::Write,
        Self::NoStorage,
        Self::Aggregated,
        Self::Rejected,
        Self::NotObservable,
    ];

    /// The value in the public JSON contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WatchCache => "watch-cache",
            Self::WatchCacheAfterRevisionCheck => "watch-cache-after-revision-check",
            Self::Etcd => "etcd",
            Self::Depends => "depends",
            Self::Write => "write",
            Self::NoStorage => "no-storage",
            Self::Aggregated => "aggregated",
            Self::Rejected => "rejected",
            Self::NotObservable => "not-observable",
        }
    }
}

/// What became of `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitVerdict {
    /// The request asks for no page.
    Absent,
    /// The answer holds at most one page.
    Honored,
    /// The answer holds everything.
    Ignored,
}

impl LimitVerdict {
    /// The value in the public JSON contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Honored => "honored",
            Self::Ignored => "ignored",
        }
    }
}

/// What a verdict hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Certainty {
    /// All supported versions agree.
    Certain,
    /// Other supported versions decide otherwise.
    ByVersion,
    /// This version decides otherwise with its defaults and a current etcd.
    ByConfig,
}

impl Certainty {
    /// The value in the public JSON contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::ByVersion => "by-version",
            Self::ByConfig => "by-config",
        }
    }
}

/// The judgment of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// Where the answer came from.
    pub served_from: ServedFrom,
    /// For [`ServedFrom::Depends`], which of the two it was in most cases.
    pub likely: Option<ServedFrom>,
    /// What became of `limit`.
    pub limit: LimitVerdict,
    /// The HTTP status with which the server refuses the request.
    pub rejected: Option<u16>,
    /// Why.
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

    /// Whether two verdicts say the same of a request, be it for different reasons.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        (self.served_from, self.likely, self.limit, self.rejected)
            == (other.served_from, other.likely, other.limit, other.rejected)
            // Where a deletecollection lists from, only its reason says.
            && (self.served_from != ServedFrom::Write || self.reason == other.reason)
    }

    /// Where the answer came from; for one that depends, where it likely came from.
    #[must_use]
    pub fn likely_served_from(&self) -> ServedFrom {
        self.likely.unwrap_or(self.served_from)
    }
}
