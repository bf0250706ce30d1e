//! Kinds of slow requests in etcd's log.

use crate::decode::etcd::{EtcdOperation, EtcdRequest};
use crate::named::named;

named! {
    /// The kind of a request that the apiserver sends to etcd.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(crate) enum EtcdKind {
        /// A read of a key range: for a LIST, for one page of a LIST, or to fill the watch cache.
        List = "list",
        /// A read of one key.
        Get = "get",
        /// A count of keys. The apiserver sends it for its own metrics.
        Count = "count",
        /// A read of keys without values. The apiserver uses it to estimate the size of its objects.
        ///
        /// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:getKeys`.
        Keys = "keys",
        /// A read of one key: the prefix of a resource without an object name. The apiserver only needs the current
        /// revision in the response.
        RevisionCheck = "revision-check",
        /// A transaction that only reads.
        ReadTransaction = "read-transaction",
        /// A write, or a transaction that contains one.
        Write = "write",
        /// Leases, compactions and requests that kubetoll cannot parse.
        Other = "other",
    }
    /// The name in reports.
    pub(crate) fn as_str;
}

impl EtcdKind {
    /// Whether the apiserver sends such requests for itself, not for a client.
    #[must_use]
    pub(crate) fn is_servers_own(self) -> bool {
        matches!(self, Self::Count | Self::Keys | Self::RevisionCheck)
    }
}

/// Finds the kind of a request. `rest` is the part of the key after the resource.
pub(super) fn kind(request: &EtcdRequest<'_>, rest: Option<&str>) -> EtcdKind {
    match request.operation {
        EtcdOperation::Range => match request.range {
            Some(range) if range.count_only => EtcdKind::Count,
            Some(range) if range.keys_only => EtcdKind::Keys,
            Some(_) => EtcdKind::List,
            None if request.limit > 0 && rest.is_none_or(str::is_empty) => EtcdKind::RevisionCheck,
            None => EtcdKind::Get,
        },
        EtcdOperation::ReadTxn => EtcdKind::ReadTransaction,
        EtcdOperation::Write => EtcdKind::Write,
        EtcdOperation::Other => EtcdKind::Other,
    }
}
