//! The kinds of slow requests in etcd's log.

use crate::decode::etcd::{EtcdOperation, EtcdRequest};

/// What a slow etcd request is for the apiserver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EtcdKind {
    /// A read of a key range: a LIST, one page of it, or filling the watch cache.
    List,
    /// A read of one key.
    Get,
    /// Counts keys. The apiserver sends it for its own metrics.
    Count,
    /// Reads keys without values. The apiserver estimates the size of its objects by it.
    ///
    /// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:getKeys`.
    Keys,
    /// A read of a resource's bare prefix. The apiserver learns the current revision from it.
    RevisionCheck,
    /// A transaction that only reads.
    ReadTransaction,
    /// Anything that writes.
    Write,
    /// Leases, compactions and unparsed requests.
    Other,
}

impl EtcdKind {
    /// Whether the apiserver sends it for itself, not for a client.
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

/// `rest` is the part of the key after the resource.
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
