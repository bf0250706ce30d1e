//! Requests whose user agent states the version of the server.

use crate::k8s::identity::service_account;
use crate::k8s::user_agent::stated_version;
use crate::k8s::{AddressClass, Identity, Kind, KubeVersion, Product};

/// Whose user agent stated a version, the best witness first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Witness {
    /// The apiserver's own loopback client: it talks to itself, so the log is that server's.
    Loopback,
    /// kube-controller-manager or kube-scheduler, which are upgraded with or just after the apiserver.
    ControlPlane,
    /// kubelets, which are never newer than the apiserver.
    Kubelet,
}

/// A version that a witness states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// Who states it.
    pub by: Witness,
    /// What is stated.
    pub version: KubeVersion,
}

impl Statement {
    /// What a request states. The user agent is the client's to choose; the user's name, which must fit it, is not.
    #[must_use]
    pub fn of(
        username: &str,
        identity: &Identity<'_>,
        product: Product<'_>,
        user_agent: &str,
    ) -> Option<Self> {
        if !product.name.starts_with("kube") {
            return None;
        }
        let by = match (username, product.name) {
            ("system:apiserver" | "system:kube-apiserver", "kube-apiserver") => Witness::Loopback,
            ("system:kube-controller-manager", "kube-controller-manager")
            | ("system:kube-scheduler", "kube-scheduler") => Witness::ControlPlane,
            (_, "kube-controller-manager") if in_kube_system(username) => Witness::ControlPlane,
            (_, "kubelet") if identity.kind == Kind::Node => Witness::Kubelet,
            _ => return None,
        };
        let version = stated_version(user_agent, product.name)?.parse().ok()?;
        Some(Self { by, version })
    }

    /// What a request without a user states: the loopback client calls from the server's own machine. Others there
    /// may be of another version, or of another machine behind a proxy.
    #[must_use]
    pub fn of_address(address: AddressClass, user_agent: &str) -> Option<Self> {
        if address != AddressClass::Loopback {
            return None;
        }
        let version = stated_version(user_agent, "kube-apiserver")?.parse().ok()?;
        Some(Self { by: Witness::Loopback, version })
    }
}

fn in_kube_system(username: &str) -> bool {
    service_account(username).is_some_and(|(namespace, _)| namespace == "kube-system")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(username: &str, user_agent: &str) -> Option<(Witness, String)> {
        let identity = Identity::resolve(username);
        let statement = Statement::of(username, &identity, Product::of(user_agent), user_agent)?;
        Some((statement.by, statement.version.to_string()))
    }

    #[test]
    fn only_the_control_plane_and_kubelets_are_believed() {
        let agent = |name: &str| format!("{name}/v1.30.4 (linux/amd64) kubernetes/a51b3b7");
        let said = |by| Some((by, "1.30.4".to_owned()));
        assert_eq!(stated("system:apiserver", &agent("kube-apiserver")), said(Witness::Loopback));
        assert_eq!(stated("system:kube-scheduler", &agent("kube-scheduler")), said(Witness::ControlPlane));
        let account = "system:serviceaccount:kube-system:job-controller";
        assert_eq!(stated(account, &agent("kube-controller-manager")), said(Witness::ControlPlane));
        assert_eq!(stated("system:node:n", &agent("kubelet")), said(Witness::Kubelet));
        assert_eq!(stated("mallory", &agent("kube-apiserver")), None);
        assert_eq!(stated("system:apiserver", &agent("kubectl")), None);
        let of =
            |address, agent: &str| Statement::of_address(address, agent).map(|said| said.version.to_string());
        assert_eq!(of(AddressClass::Loopback, &agent("kube-apiserver")).as_deref(), Some("1.30.4"));
        assert_eq!(of(AddressClass::Private, &agent("kube-apiserver")), None);
        assert_eq!(of(AddressClass::Loopback, &agent("kubelet")), None);
        assert_eq!(of(AddressClass::Loopback, "kube-apiserver/v0.0.0 (linux/amd64) kubernetes/1"), None);
        assert_eq!(stated("system:apiserver", "kube-apiserver/v0.0.0 (linux/amd64) kubernetes/1"), None);
    }
}
