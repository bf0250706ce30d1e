//! Clients: control plane components, kubelets, ServiceAccounts with pods, people.

use std::rc::Rc;

use super::version::Version;
use crate::Rng;
use crate::cast::{Client, Role, user};
use crate::event::quote;

/// A client that sends requests.
pub struct Identity {
    /// User, address and user agent, as in events.
    pub client: Client,
    /// Its informers begin with a stream (`sendInitialEvents`) and not with a LIST.
    pub streams: bool,
}

/// A shared handle; actors of one client use the same.
pub type Who = Rc<Identity>;

/// A user that is not a ServiceAccount.
pub fn named(username: &str, groups: &[&str], address: &str, agent: String, streams: bool) -> Who {
    Rc::new(Identity { client: client(username, user(username, "", groups, ""), address, agent), streams })
}

/// A control plane component, such as `kube-scheduler`. `part` follows the commit in its user agent.
pub fn component(version: Version, username: &str, product: &str, part: &str) -> Who {
    let part = if part.is_empty() { String::new() } else { format!("/{part}") };
    let agent = format!("{product}/{}{part}", version.release());
    let groups: &[&str] = if username == "system:apiserver" {
        &["system:authenticated", "system:masters"]
    } else {
        &["system:authenticated"]
    };
    let address = if username == "system:apiserver" { "::1" } else { "10.0.0.10" };
    named(username, groups, address, agent, version.streams())
}

/// A controller of kube-controller-manager, under a ServiceAccount of its own.
pub fn controller(version: Version, name: &str, rng: &mut Rng) -> Who {
    let username = format!("system:serviceaccount:kube-system:{name}");
    let agent = format!("kube-controller-manager/{}/{username}", version.release());
    let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
    let user = user(&username, &rng.uuid(), &groups, "");
    Rc::new(Identity { client: client(&username, user, "10.0.0.10", agent), streams: version.streams() })
}

/// A kubelet.
pub fn kubelet(version: Version, node: &str, address: &str) -> Who {
    let agent = format!("kubelet/{}", version.release());
    named(
        &format!("system:node:{node}"),
        &["system:nodes", "system:authenticated"],
        address,
        agent,
        version.streams(),
    )
}

/// A person with a certificate or a token of an identity provider.
pub fn person(name: &str, agent: String) -> Who {
    named(name, &["platform-team", "system:authenticated"], "172.16.4.21", agent, false)
}

/// kubectl of the cluster's version.
pub fn kubectl(version: Version) -> String {
    format!("kubectl/{}", version.release())
}

/// A pod's ServiceAccount, with the pod and node fields of this version's tokens.
pub fn pod(
    version: Version,
    service_account: (&str, &str),
    pod: &str,
    node: &str,
    agent: &str,
    rng: &mut Rng,
) -> Who {
    let (namespace, name) = service_account;
    let username = format!("system:serviceaccount:{namespace}:{name}");
    let group = format!("system:serviceaccounts:{namespace}");
    let mut extra = String::new();
    let mut add = |key: &str, value: &str| {
        if !extra.is_empty() {
            extra.push(',');
        }
        extra.push_str("\"authentication.kubernetes.io/");
        extra.push_str(key);
        extra.push_str("\":[");
        quote(&mut extra, value);
        extra.push(']');
    };
    // Tokens name the node, and have an ID, from 1.30 on (feature gates ServiceAccountTokenPodNodeInfo and
    // ServiceAccountTokenJTI, beta in 1.30).
    if version.minor >= 30 {
        add("credential-id", &format!("JTI={}", rng.uuid()));
        add("node-name", node);
        add("node-uid", &rng.uuid());
    }
    add("pod-name", pod);
    add("pod-uid", &rng.uuid());
    let groups = ["system:serviceaccounts", &group, "system:authenticated"];
    let user = user(&username, &rng.uuid(), &groups, &extra);
    let address = format!("10.{}.{}.{}", 64 + rng.below(60), rng.below(250), 2 + rng.below(250));
    Rc::new(Identity { client: client(&username, user, &address, agent.to_owned()), streams: false })
}

fn client(username: &str, user: String, address: &str, agent: String) -> Client {
    let allowed_by = match username.strip_prefix("system:serviceaccount:") {
        Some(service_account) => {
            let (namespace, name) = service_account.split_once(':').unwrap_or_default();
            format!(
                "RBAC: allowed by ClusterRoleBinding \"{name}\" of ClusterRole \"{name}\" to ServiceAccount \
                 \"{name}/{namespace}\""
            )
        }
        None => String::new(),
    };
    Client {
        role: Role::Operator,
        name: username.rsplit(':').next().unwrap_or_default().to_owned(),
        username: username.to_owned(),
        user,
        impersonated: None,
        address: address.to_owned(),
        agent,
        allowed_by,
    }
}
