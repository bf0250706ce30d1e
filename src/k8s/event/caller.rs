//! Who makes a request, as an event tells it.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;

use super::{First, Raw, Text};

/// Who makes a request, and from where.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Caller<'a> {
    /// Who asked.
    pub user: Option<User<'a>>,
    /// Who the request acts as, if the client impersonates.
    pub impersonated_user: Option<User<'a>>,
    /// Where the request came from: the client, proxies, and the connection's other end last.
    pub source_ips: Option<Raw<'a>>,
    /// The client's `User-Agent`.
    pub user_agent: Text<'a>,
}

/// What an event tells of its caller: most callers are met again and again, and are known without being read.
pub enum CallerRef<'a> {
    /// It was read.
    Read(Caller<'a>),
    /// The same was met before, to the letter, and whoever keeps it can read it again.
    Cached(CallerId, &'a dyn CallerCache),
}

/// Keeps what events told of a caller.
pub trait CallerCache {
    /// What they told.
    fn caller(&self) -> Caller<'_>;
}

impl CallerRef<'_> {
    /// Hands over the caller.
    pub fn with<R>(&self, then: impl FnOnce(&Caller<'_>) -> R) -> R {
        match self {
            Self::Read(caller) => then(caller),
            Self::Cached(_, cache) => then(&cache.caller()),
        }
    }

    /// The text that tells of it, if that was met before.
    #[must_use]
    pub fn id(&self) -> Option<CallerId> {
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

/// The text that tells of a caller, as a number: the same in two events only if `user`, `impersonatedUser`, `sourceIPs`
/// and `userAgent` are written the same in both. In two that are written the same it may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerId(NonZeroU64);

impl CallerId {
    /// One that no event had before.
    #[must_use]
    pub fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

/// A user of an event.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct User<'a> {
    /// The authenticated name.
    #[serde(borrow, default)]
    pub username: Text<'a>,
    /// What the authenticator knows beside it.
    #[serde(borrow, default)]
    pub extra: Option<Extra<'a>>,
}

/// The entries of `user.extra` that tell instances of one ServiceAccount apart (tokens bound to a pod).
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Extra<'a> {
    /// The pod that the token is bound to.
    #[serde(borrow, default, rename = "authentication.kubernetes.io/pod-name")]
    pub pod_name: First<'a>,
    /// That pod's node.
    #[serde(borrow, default, rename = "authentication.kubernetes.io/node-name")]
    pub node_name: First<'a>,
}
