//! What a slow request in etcd's log did.

use crate::decode::etcd::{EtcdOperation, EtcdRequest};

/// What a slow request is to the apiserver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EtcdKind {
    /// A read of a range of keys: a LIST, of a page or of all, or the filling of the watch cache.
    List,
    /// A read of one key.
    Get,
    /// The number of keys, which the apiserver asks for its own metrics.
    Count,
    /// The keys without what they hold, by which the apiserver estimates how much its objects take.
    ///
    /// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:getKeys`.
    Keys,
    /// A read of a resource's bare prefix, by which the apiserver learns the newest revision.
    RevisionCheck,
    /// A transaction that only reads.
    ReadTransaction,
    /// Anything that writes.
    Write,
    /// Leases, compactions and what could not be understood.
    Other,
}

impl EtcdKind {
    /// Whether the apiserver asks it for itself, and for no client.
    #[must_use]
    pub fn is_servers_own(self) -> bool {
        matches!(self, Self::Count | Self::Keys | Self::RevisionCheck)
    }

    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Get => "get",
            Self::Count => "count",
            Self::Keys => "keys",
            Self::RevisionCheck => "revision-check",
            Self::ReadTransaction => "read-transaction",
            Self::Write => "write",
            Self::Other => "other",
        }
    }
}

/// `rest` is what follows the resource in the key.
pub(super) fn kind(asked: &EtcdRequest<'_>, rest: Option<&str>) -> EtcdKind {
    match asked.operation {
        EtcdOperation::Range => match asked.range {
            Some(range) if range.count_only => EtcdKind::Count,
            Some(range) if range.keys_only => EtcdKind::Keys,
            Some(_) => EtcdKind::List,
            None if asked.limit > 0 && rest.is_none_or(str::is_empty) => EtcdKind::RevisionCheck,
            None => EtcdKind::Get,
        },
        EtcdOperation::ReadTxn => EtcdKind::ReadTransaction,
        EtcdOperation::Write => EtcdKind::Write,
        EtcdOperation::Other => EtcdKind::Other,
    }
}
