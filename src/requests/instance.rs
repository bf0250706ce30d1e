//! The instance of a client that sends a request. Pods may share a ServiceAccount, and replicas may share a
//! certificate.

/// What identifies an instance of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum InstanceKind {
    /// The pod that the token is bound to.
    Pod,
    /// The node of the kubelet, or the node that the client's token names.
    Node,
    /// The peer address of the connection. Clients behind a proxy or NAT share one address. Containers of one node
    /// may share one, too.
    Address,
}

/// One instance of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Instance<S> {
    pub(crate) by: InstanceKind,
    /// The name; empty if the record has none.
    pub(crate) name: S,
}

impl<S: AsRef<str>> Instance<S> {
    /// Borrows the name.
    pub(crate) fn as_ref(&self) -> Instance<&str> {
        Instance { by: self.by, name: self.name.as_ref() }
    }
}

impl<S> Instance<S> {
    pub(crate) fn map<T>(self, f: impl FnOnce(S) -> T) -> Instance<T> {
        Instance { by: self.by, name: f(self.name) }
    }

    /// Whether the instance is certainly one process, or a few processes in one pod.
    #[must_use]
    pub(crate) fn is_one_process(&self) -> bool {
        self.by != InstanceKind::Address
    }
}
