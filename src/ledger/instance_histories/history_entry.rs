//! One request of an instance, in 24 bytes.

use compact_str::CompactString;

use crate::apiserver::RequestShape;
use crate::apiserver::options::Page;
use crate::k8s::{Stage, Verb};
use crate::requests::Request;
use crate::requests::stable_hash;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RequestKind {
    /// A GET of one object.
    Get,
    /// The only page or the first page of a LIST.
    List,
    /// A later page, at the revision in its continue token.
    NextPage,
    /// A later page at the newest revision, because the token of the page before had expired.
    InconsistentPage,
    /// A WATCH's ResponseStarted event.
    WatchBegan,
    /// A WATCH's ResponseComplete event.
    WatchEnded,
}

impl RequestKind {
    const ALL: [Self; 6] =
        [Self::Get, Self::List, Self::NextPage, Self::InconsistentPage, Self::WatchBegan, Self::WatchEnded];
}

/// The class of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ResponseClass {
    /// The response has no error status, or its status is unknown.
    Served,
    /// Status 410: the requested revision is too old.
    Expired,
    /// Any status of 400 or above, except 400, 410 and 422.
    Refused,
    /// Status 400 or 422: the server does not support the request.
    Invalid,
}

impl ResponseClass {
    const ALL: [Self; 4] = [Self::Served, Self::Expired, Self::Refused, Self::Invalid];

    fn from_status(status: Option<u16>) -> Self {
        match status {
            Some(410) => Self::Expired,
            Some(400 | 422) => Self::Invalid,
            Some(400..) => Self::Refused,
            _ => Self::Served,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HistoryEntry {
    /// Receive time in microseconds since 1970, shifted left by 8 bits. The lowest 8 bits hold the kind, the response
    /// class and two flags.
    when: i64,
    /// A hash of the path and the selectors.
    pub(crate) target: u32,
    /// A hash of the request shape, from [`shape_hash_of`].
    pub(crate) shape: u32,
    /// For a WATCH: a hash of its audit ID. For a later page: a hash of its revision. For the first page of a LIST: a
    /// hash of its namespace, or 0 without one.
    pub(crate) link: u32,
    /// Duration in milliseconds. For a WATCH, this is its lifetime.
    pub(crate) millis: u32,
}

const LOW_BITS: u32 = 8;
/// In microseconds since 1970: the year 2540. Entries with later timestamps are dropped, because the clock was wrong.
const LATEST: i64 = 1 << 54;

impl HistoryEntry {
    /// The sort key: target, then time.
    #[must_use]
    pub(crate) fn by_target(&self) -> impl Ord + use<> {
        // First compare one number that contains target and time, because this comparison is almost always enough.
        let first = u128::from(self.target) << 64 | u128::from(self.when.cast_unsigned() ^ 1 << 63);
        (first, self.shape, self.link, self.millis)
    }

    /// Creates the entry of a request. Returns `None` if no pattern uses the request.
    pub(super) fn from_request(request: &Request<'_>) -> Option<Self> {
        let received = request.received.filter(|received| *received < LATEST)?;
        let kind = match (request.spec.shape.verb, request.stage) {
            (Verb::Get, Stage::ResponseComplete | Stage::Panic) => RequestKind::Get,
            (Verb::List, Stage::ResponseComplete | Stage::Panic) => match request.spec.shape.options.page {
                Page::AtRevision => RequestKind::NextPage,
                Page::Inconsistent => RequestKind::InconsistentPage,
                Page::First | Page::Invalid => RequestKind::List,
            },
            (Verb::Watch, Stage::ResponseComplete | Stage::Panic) => RequestKind::WatchEnded,
            (Verb::Watch, Stage::ResponseStarted) if request.status != Some(401) => RequestKind::WatchBegan,
            _ => return None,
        };
        let link = match kind {
            RequestKind::WatchBegan | RequestKind::WatchEnded => half(stable_hash(request.audit_id)),
            RequestKind::NextPage => request.spec.revision.map_or(0, |revision| half(stable_hash(&revision))),
            RequestKind::List => request.spec.namespace_hash,
            RequestKind::Get | RequestKind::InconsistentPage => 0,
        };
        let options = &request.spec.shape.options;
        let flags =
            i64::from(options.send_initial_events == Some(true)) | i64::from(options.limit.is_page()) << 1;
        let low = kind as i64 | (ResponseClass::from_status(request.status) as i64) << 3 | flags << 5;
        Some(Self {
            when: received << LOW_BITS | low,
            target: half(request.spec.collection_hash),
            shape: half(request.spec.shape_hash),
            link,
            millis: u32::try_from(request.micros.unwrap_or(0) / 1_000).unwrap_or(u32::MAX),
        })
    }

    /// Creates an entry for tests from `(target, shape)`, link and duration.
    #[cfg(test)]
    pub(crate) fn made_up(
        at: i64,
        kind: RequestKind,
        response: ResponseClass,
        (target, shape): (u32, u32),
        link: u32,
        millis: u32,
    ) -> Self {
        Self { when: at << LOW_BITS | kind as i64 | (response as i64) << 3, target, shape, link, millis }
    }

    /// Adds `sendInitialEvents=true`.
    #[cfg(test)]
    pub(crate) fn with_initial_events(self) -> Self {
        Self { when: self.when | 1 << 5, ..self }
    }

    /// Adds a `limit`.
    #[cfg(test)]
    pub(crate) fn with_limit(self) -> Self {
        Self { when: self.when | 1 << 6, ..self }
    }

    /// Receive time, in microseconds since 1970.
    #[must_use]
    pub(crate) fn at(&self) -> i64 {
        self.when >> LOW_BITS
    }

    /// End time, in microseconds since 1970. For a [`RequestKind::WatchBegan`] entry, this is the receive time.
    #[must_use]
    pub(crate) fn end(&self) -> i64 {
        self.at() + i64::from(self.millis) * 1_000
    }

    fn bits(&self, from: u32, mask: usize) -> usize {
        usize::from(self.when.to_le_bytes()[0] >> from) & mask
    }

    #[must_use]
    pub(crate) fn kind(&self) -> RequestKind {
        RequestKind::ALL[self.bits(0, 7)]
    }

    #[must_use]
    pub(crate) fn response(&self) -> ResponseClass {
        ResponseClass::ALL[self.bits(3, 3)]
    }

    /// Whether the request is a WATCH with `sendInitialEvents=true`.
    #[must_use]
    pub(crate) fn sends_initial_events(&self) -> bool {
        self.bits(5, 1) == 1
    }

    /// Whether the request has a `limit`.
    #[must_use]
    pub(crate) fn has_limit(&self) -> bool {
        self.bits(6, 1) == 1
    }
}

/// The upper half of a hash, whose bits are mixed better than those of the lower half.
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The hash of a request shape, as in [`HistoryEntry::shape`].
#[must_use]
pub(crate) fn shape_hash_of(shape: &RequestShape<CompactString>) -> u32 {
    half(stable_hash(&shape.as_borrowed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_returns_its_packed_fields() {
        let when = 1_700_000_000_123_456_i64 << LOW_BITS | RequestKind::WatchEnded as i64 | 1 << 3 | 1 << 5;
        let entry = HistoryEntry { when, target: 0, shape: 0, link: 0, millis: 2_000 };
        assert_eq!((entry.at(), entry.end()), (1_700_000_000_123_456, 1_700_000_002_123_456));
        assert_eq!((entry.kind(), entry.response()), (RequestKind::WatchEnded, ResponseClass::Expired));
        assert!(entry.sends_initial_events());
        assert_eq!(size_of::<HistoryEntry>(), 24);
    }
}
