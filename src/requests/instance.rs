//! Which of a client's instances makes a request: pods share a ServiceAccount, kubelets a group, replicas a certificate.

/// What tells instances of a client apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum By {
    /// The pod that the token is bound to.
    Pod,
    /// The node: a kubelet's own, or the one of the token.
    Node,
    /// The address that the connection comes from. Behind a proxy or a translation of addresses that is one for many,
    /// and several containers of a node may share it.
    Address,
}

/// One instance of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance<S> {
    /// What tells it from others.
    pub by: By,
    /// Its name; empty where the record holds none.
    pub name: S,
}

impl<S: AsRef<str>> Instance<S> {
    /// The same with a borrowed name.
    pub fn as_ref(&self) -> Instance<&str> {
        Instance { by: self.by, name: self.name.as_ref() }
    }
}

impl<S> Instance<S> {
    /// The same with another name.
    pub fn map<T>(self, f: impl FnOnce(S) -> T) -> Instance<T> {
        Instance { by: self.by, name: f(self.name) }
    }

    /// Whether requests that it makes at the same time are surely of one process, or of few in one pod.
    #[must_use]
    pub fn is_one_process(&self) -> bool {
        self.by != By::Address
    }
}
