//! The identity of a client: its user name, as the apiserver authenticated it.

use std::borrow::Cow;
use std::fmt;

use crate::named::named;

named! {
    /// The kind of a client.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Kind {
        /// A ServiceAccount: `system:serviceaccount:<namespace>:<name>`.
        ServiceAccount = "service-account",
        /// A kubelet: `system:node:<name>`.
        Node = "node",
        /// The apiserver itself, kube-controller-manager, kube-scheduler, the cloud controller manager.
        ControlPlane = "control-plane",
        /// Any other authenticated user.
        User = "user",
        /// `system:anonymous`, or a request without a user because its authentication failed.
        #[default]
        Anonymous = "anonymous",
        /// A product in a user agent. Used for records without a user, such as the apiserver's access log.
        UserAgent = "user-agent",
    }
    /// Returns the name of this variant, as reports show it.
    pub(crate) fn as_str;
    pub(crate) const ALL;
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A resolved user name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    pub(crate) kind: Kind,
    /// The name under which requests are counted. All nodes share one name, [`Identity::NODES`].
    pub(crate) name: &'a str,
    /// The name of the node, if the client is a kubelet.
    pub(crate) node: Option<&'a str>,
}

impl<'a> Identity<'a> {
    /// The shared name of all nodes.
    pub(crate) const NODES: &'static str = "system:node:*";
    /// The name for requests without a user, because their authentication failed (401).
    pub(crate) const UNAUTHENTICATED: &'static str = "(unauthenticated)";

    /// Resolves a user name.
    ///
    /// Source: k8s.io/apiserver `pkg/authentication/user/user.go` and
    /// `pkg/authentication/serviceaccount/util.go:MakeUsername`.
    #[must_use]
    pub(crate) fn resolve(username: &'a str) -> Self {
        let plain = |kind| Self { kind, name: username, node: None };
        match username {
            "" => Self { kind: Kind::Anonymous, name: Self::UNAUTHENTICATED, node: None },
            "system:anonymous" => plain(Kind::Anonymous),
            "system:apiserver"
            | "system:kube-apiserver"
            | "system:kube-controller-manager"
            | "system:kube-scheduler"
            | "system:cloud-controller-manager" => plain(Kind::ControlPlane),
            _ => match username.strip_prefix("system:node:") {
                Some(node) if !node.is_empty() => {
                    Self { kind: Kind::Node, name: Self::NODES, node: Some(node) }
                }
                _ if service_account(username).is_some() => plain(Kind::ServiceAccount),
                _ => plain(Kind::User),
            },
        }
    }
}

/// Returns the namespace and the name of a ServiceAccount from its user name.
#[must_use]
pub(crate) fn service_account(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Returns the short name of a client in reports: `monitoring/poller`, `user bob`, `kubelet`.
#[must_use]
pub(crate) fn short_name<'a>(kind: &str, identity: &'a str) -> Cow<'a, str> {
    match kind {
        "service-account" => service_account(identity)
            .map_or(Cow::Borrowed(identity), |(namespace, name)| format!("{namespace}/{name}").into()),
        "node" => "kubelet".into(),
        "control-plane" => identity.strip_prefix("system:").unwrap_or(identity).into(),
        "user" if !identity.starts_with('(') => format!("user {identity}").into(),
        _ => identity.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_resolve_to_kinds() {
        for (username, kind) in [
            ("system:serviceaccount:monitoring:poller", Kind::ServiceAccount),
            ("system:serviceaccount:monitoring", Kind::User),
            ("system:serviceaccount:a:b:c", Kind::User),
            ("system:node:node-1", Kind::Node),
            ("system:node:", Kind::User),
            ("system:apiserver", Kind::ControlPlane),
            ("system:kube-scheduler", Kind::ControlPlane),
            ("system:anonymous", Kind::Anonymous),
            ("", Kind::Anonymous),
            ("alice@example.com", Kind::User),
        ] {
            assert_eq!(Identity::resolve(username).kind, kind, "{username}");
        }
    }

    #[test]
    fn nodes_share_one_client_name_and_keep_the_node_name() {
        let node = Identity::resolve("system:node:node-1");
        assert_eq!((node.name, node.node), (Identity::NODES, Some("node-1")));
    }
}
