//! The caller of a request: the fields of an event that describe the client.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;

use super::{First, Raw, Text};

/// The fields of an event that describe the client.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Caller<'a> {
    /// The authenticated user.
    pub user: Option<User<'a>>,
    /// The user that the client impersonates, if any.
    pub(crate) impersonated_user: Option<User<'a>>,
    /// `sourceIPs` as raw JSON. The client is first, then proxies follow, and the peer of the connection is last.
    pub(crate) source_ips: Option<Raw<'a>>,
    pub user_agent: Text<'a>,
}

/// The caller of an event. Most callers repeat. So the decoder caches them by their bytes and does not parse them
/// again.
pub enum CallerRef<'a> {
    /// The fields, parsed from this event.
    Read(Caller<'a>),
    /// A caller with the same bytes as the caller of an earlier event. The cache can parse these bytes again.
    Cached(CallerId, &'a dyn CallerCache),
}

/// Gives access to a cached caller.
pub trait CallerCache {
    /// Parses the cached bytes.
    fn caller(&self) -> Caller<'_>;
}

impl CallerRef<'_> {
    /// Calls `then` with the caller, which may borrow from the cache.
    pub fn with<R>(&self, then: impl FnOnce(&Caller<'_>) -> R) -> R {
        match self {
            Self::Read(caller) => then(caller),
            Self::Cached(_, cache) => then(&cache.caller()),
        }
    }

    /// Returns the ID of a cached caller.
    #[must_use]
    pub(crate) fn id(&self) -> Option<CallerId> {
        match self {
            Self::Read(_) => None,
            Self::Cached(id, _) => Some(*id),
        }
    }
}

impl fmt::Debug for CallerRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|caller| caller.fmt(f))
    }
}

impl Default for CallerRef<'_> {
    fn default() -> Self {
        Self::Read(Caller::default())
    }
}

impl PartialEq for CallerRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.with(|own| other.with(|other| own == other))
    }
}

/// The ID of a cached caller. Equal IDs mean equal bytes of `user`, `impersonatedUser`, `sourceIPs` and `userAgent`.
/// Equal bytes can have different IDs, because each decoder has its own cache, which evicts entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerId(NonZeroU64);

impl CallerId {
    /// Returns an unused ID.
    #[must_use]
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    #[must_use]
    pub(crate) fn number(self) -> u64 {
        self.0.get()
    }
}

/// The `user` or `impersonatedUser` field of an event.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct User<'a> {
    #[serde(borrow, default)]
    pub username: Text<'a>,
    /// Additional facts from the authenticator.
    #[serde(borrow, default)]
    pub(crate) extra: Option<Extra<'a>>,
}

/// The entries of `user.extra` that identify an instance of a ServiceAccount. Only tokens that are bound to a pod
/// have them.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Extra<'a> {
    /// The pod that the token is bound to.
    #[serde(borrow, default, rename = "authentication.kubernetes.io/pod-name")]
    pub(crate) pod_name: First<'a>,
    /// The node that this pod runs on.
    #[serde(borrow, default, rename = "authentication.kubernetes.io/node-name")]
    pub(crate) node_name: First<'a>,
}
