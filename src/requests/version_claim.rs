//! Kubernetes versions that user agents claim.
//!
//! A client chooses its user agent, so a claim needs proof. In audit logs, the user name must fit the component.
//! Access logs contain no user name. For them, the address or the request itself must fit the component.

use super::stable::stable_hash;
use crate::k8s::address::host;
use crate::k8s::identity::service_account;
use crate::k8s::user_agent::stated_version;
use crate::k8s::{AddressClass, AgentProduct, Identity, Kind, KubeVersion};

/// The component that claims a version. The variants are ordered from the most to the least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimSource {
    /// The apiserver's own loopback client. It calls only its own server, so the log is from that server.
    Loopback,
    /// The line with the version that an apiserver writes to its own log when it starts.
    StartLine,
    /// An apiserver of the cluster. It may be another apiserver than the one that wrote the log.
    ApiServer,
    ControllerManager,
    Scheduler,
    Kubelet,
    KubeProxy,
    /// An access log contains a user agent of one of these components, but no proof.
    Unconfirmed,
}

/// A version that a user agent claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionClaim {
    pub(crate) by: ClaimSource,
    pub(crate) version: KubeVersion,
    /// A hash of the node, user or address that claims the version.
    pub(crate) instance: u64,
    /// For [`ClaimSource::Unconfirmed`]: the component that the user agent names.
    pub(super) claimed: Option<ClaimSource>,
}

impl VersionClaim {
    /// Creates a claim that needs no confirmation.
    #[must_use]
    pub(crate) fn new(by: ClaimSource, version: KubeVersion, instance: u64) -> Self {
        Self { by, version, instance, claimed: None }
    }

    /// The claim of a request with a known user.
    #[must_use]
    pub(crate) fn from_user(
        username: &str,
        identity: &Identity<'_>,
        product: AgentProduct<'_>,
        user_agent: &str,
    ) -> Option<Self> {
        let by = match (username, product.name) {
            // Only the server itself has the token of this user. Some distributions, such as k3s, use their own binary name.
            ("system:apiserver", "kube-apiserver" | "hyperkube" | "k3s") => ClaimSource::Loopback,
            ("system:kube-apiserver", "kube-apiserver") => ClaimSource::ApiServer,
            ("system:kube-controller-manager", "kube-controller-manager" | "k3s") => {
                ClaimSource::ControllerManager
            }
            ("system:kube-scheduler", "kube-scheduler" | "k3s") => ClaimSource::Scheduler,
            ("system:kube-proxy", "kube-proxy") => ClaimSource::KubeProxy,
            (_, "kube-controller-manager") if in_kube_system(username) => ClaimSource::ControllerManager,
            (_, "kube-proxy") if service_account(username) == Some(("kube-system", "kube-proxy")) => {
                ClaimSource::KubeProxy
            }
            (_, "kubelet" | "k3s") if identity.kind == Kind::Node => ClaimSource::Kubelet,
            _ => return None,
        };
        let version = stated_version(user_agent, product.name)?.parse().ok()?;
        Some(Self::new(by, version, stable_hash(username)))
    }

    /// The claim of a request without a user. The loopback client calls from the server's own machine, and the
    /// control plane may do so too. Other clients at that address may have another version, or they may run on
    /// another machine behind a proxy.
    #[must_use]
    pub(crate) fn from_address(source: &str, product: AgentProduct<'_>, user_agent: &str) -> Option<Self> {
        let claimed = match product.name {
            "kube-apiserver" => ClaimSource::Loopback,
            "kube-controller-manager" => ClaimSource::ControllerManager,
            "kube-scheduler" => ClaimSource::Scheduler,
            "kubelet" => ClaimSource::Kubelet,
            _ => return None,
        };
        let address = AddressClass::parse(source);
        let by = match (address, claimed) {
            (AddressClass::Public | AddressClass::Unknown, _) => return None,
            (AddressClass::Loopback, ClaimSource::Kubelet) => ClaimSource::Unconfirmed,
            (AddressClass::Loopback, claimed) => claimed,
            (AddressClass::Private | AddressClass::LinkLocal, _) => ClaimSource::Unconfirmed,
        };
        let version = stated_version(user_agent, product.name)?.parse().ok()?;
        let claimed = if claimed == ClaimSource::Loopback { ClaimSource::ApiServer } else { claimed };
        let claimed = (by == ClaimSource::Unconfirmed).then_some(claimed);
        Some(Self { by, version, instance: stable_hash(host(source)), claimed })
    }
}

fn in_kube_system(username: &str) -> bool {
    service_account(username).is_some_and(|(namespace, _)| namespace == "kube-system")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(username: &str, user_agent: &str) -> Option<(ClaimSource, String)> {
        let identity = Identity::resolve(username);
        let version_claim = VersionClaim::from_user(
            username,
            &identity,
            AgentProduct::from_user_agent(user_agent),
            user_agent,
        )?;
        Some((version_claim.by, version_claim.version.to_string()))
    }

    fn agent(name: &str) -> String {
        format!("{name}/v1.30.4 (linux/amd64) kubernetes/a51b3b7")
    }

    #[test]
    fn claims_are_accepted_only_from_the_component_user() {
        let claimed = |by| Some((by, "1.30.4".to_owned()));
        assert_eq!(stated("system:apiserver", &agent("kube-apiserver")), claimed(ClaimSource::Loopback));
        assert_eq!(stated("system:apiserver", &agent("k3s")), claimed(ClaimSource::Loopback));
        assert_eq!(
            stated("system:kube-apiserver", &agent("kube-apiserver")),
            claimed(ClaimSource::ApiServer)
        );
        assert_eq!(
            stated("system:kube-scheduler", &agent("kube-scheduler")),
            claimed(ClaimSource::Scheduler)
        );
        let account = "system:serviceaccount:kube-system:job-controller";
        assert_eq!(
            stated(account, &agent("kube-controller-manager")),
            claimed(ClaimSource::ControllerManager)
        );
        let account = "system:serviceaccount:kube-system:kube-proxy";
        assert_eq!(stated(account, &agent("kube-proxy")), claimed(ClaimSource::KubeProxy));
        assert_eq!(stated("system:node:n", &agent("kubelet")), claimed(ClaimSource::Kubelet));
        for (mallory, product) in [
            ("mallory", "kube-apiserver"),
            ("system:serviceaccount:team-a:x", "kube-controller-manager"),
            ("system:serviceaccount:kube-system:x", "kubelet"),
            ("system:node:n", "kube-apiserver"),
        ] {
            assert_eq!(stated(mallory, &agent(product)), None, "{mallory} {product}");
        }
        assert_eq!(stated("system:apiserver", "kube-apiserver/v0.0.0 (linux/amd64) kubernetes/1"), None);
    }

    fn by_address(source: &str, user_agent: &str) -> Option<ClaimSource> {
        VersionClaim::from_address(source, AgentProduct::from_user_agent(user_agent), user_agent)
            .map(|version_claim| version_claim.by)
    }

    #[test]
    fn claims_without_a_user_are_confirmed_only_from_loopback_addresses() {
        for (source, product, by) in [
            ("[::1]:5", "kube-apiserver", Some(ClaimSource::Loopback)),
            ("127.0.0.1:5", "kube-scheduler", Some(ClaimSource::Scheduler)),
            ("127.0.0.1:5", "kubelet", Some(ClaimSource::Unconfirmed)),
            ("10.0.0.1:5", "kube-apiserver", Some(ClaimSource::Unconfirmed)),
            ("10.0.0.1:5", "kubectl", None),
            ("8.8.8.8:5", "kubelet", None),
        ] {
            assert_eq!(by_address(source, &agent(product)), by, "{source} {product}");
        }
        assert_eq!(by_address("127.0.0.1:5", "kube-apiserver/v0.0.0 (linux/amd64) kubernetes/1"), None);
    }
}
