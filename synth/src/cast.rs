//! The clients of a made-up cluster.

use super::event::quote;
use super::rng::Rng;

/// The release of the whole cluster.
const RELEASE: &str = "v1.34.2 (linux/amd64) kubernetes/8cc511e";
/// Namespaces of the cluster's workloads.
pub const NAMESPACES: [&str; 8] =
    ["web", "shop", "batch", "ops", "data", "payments", "monitoring", "staging"];

/// How a client behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The apiserver's loopback client.
    Server,
    /// kube-scheduler.
    Scheduler,
    /// A controller of kube-controller-manager.
    Controller,
    /// A kubelet.
    Kubelet,
    /// An operator with informers.
    Operator,
    /// Reads whole collections in pages.
    Pager,
    /// Reads whole collections at once, repeatedly.
    Poller,
    /// A person with kubectl.
    Person,
    /// Probes the server's health, without credentials.
    Prober,
}

/// A client.
pub struct Client {
    /// How it behaves.
    pub role: Role,
    /// Its own name: the node's, the ServiceAccount's.
    pub name: String,
    /// Its user name.
    pub username: String,
    /// `user`, as JSON.
    pub user: String,
    /// `impersonatedUser`, as JSON.
    pub impersonated: Option<String>,
    /// The address that it comes from.
    pub address: String,
    /// User agent.
    pub agent: String,
    /// Why it is authorized.
    pub allowed_by: String,
}

/// The control plane's clients, then `others` other clients; and the number of the control plane's clients.
pub fn cast(rng: &mut Rng, others: usize) -> (Vec<Client>, usize) {
    let mut clients = vec![
        named(
            Role::Server,
            "system:apiserver",
            &["system:authenticated", "system:masters"],
            agent("kube-apiserver"),
        ),
        named(
            Role::Scheduler,
            "system:kube-scheduler",
            &["system:authenticated"],
            agent("kube-scheduler") + "/scheduler",
        ),
    ];
    for name in ["deployment", "replicaset", "endpointslice", "node", "job", "generic-garbage-collector"] {
        let name = if name.starts_with("generic") { name.to_owned() } else { format!("{name}-controller") };
        let agent = format!("kube-controller-manager/{RELEASE}/system:serviceaccount:kube-system:{name}");
        clients.push(account(Role::Controller, "kube-system", &name, agent, None, rng));
    }
    let control_plane = clients.len();
    for number in 0..others {
        clients.push(other(number, rng));
    }
    (clients, control_plane)
}

fn agent(product: &str) -> String {
    format!("{product}/{RELEASE}")
}

/// Each hundred clients are 50 kubelets, 20 operators, 8 pagers, 8 pollers, 12 people and 2 probers, evenly
/// mixed.
fn other(number: usize, rng: &mut Rng) -> Client {
    let namespace = *rng.pick(&NAMESPACES);
    let node = format!("node-{}", rng.below(500));
    match number * 37 % 100 {
        0..50 => {
            let name = format!("node-{number}");
            let mut kubelet = named(
                Role::Kubelet,
                &format!("system:node:{name}"),
                &["system:nodes", "system:authenticated"],
                agent("kubelet"),
            );
            kubelet.name = name;
            kubelet
        }
        50..70 => {
            let agent = if rng.percent(70) {
                "manager/v0.0.0 (linux/amd64) kubernetes/$Format".to_owned()
            } else {
                format!("operator-{number}/v1.{}.0 (linux/arm64) kubernetes/{}", number % 9, rng.hex(7))
            };
            account(Role::Operator, namespace, &format!("operator-{number}"), agent, Some(&node), rng)
        }
        70..78 => {
            let agent = "OpenAPI-Generator/31.0.0/python".to_owned();
            account(Role::Pager, namespace, &format!("inventory-{number}"), agent, Some(&node), rng)
        }
        78..86 => {
            let agent = *rng.pick(&["Go-http-client/2.0", "python-requests/2.32.3", "Prometheus/2.53.1"]);
            account(
                Role::Poller,
                namespace,
                &format!("exporter-{number}"),
                agent.to_owned(),
                Some(&node),
                rng,
            )
        }
        86..98 => {
            let agent = format!("kubectl/v1.3{}.1 (darwin/arm64) kubernetes/{}", number % 5, rng.hex(7));
            let username = format!("person-{number}@example.com");
            let mut person = named(Role::Person, &username, &["platform", "system:authenticated"], agent);
            if number.is_multiple_of(7) {
                person.impersonated = Some(user("cluster-admin", "", &["system:masters"], ""));
            }
            person
        }
        _ => named(
            Role::Prober,
            "system:anonymous",
            &["system:unauthenticated"],
            "kube-probe/1.34 <readiness & liveness>".to_owned(),
        ),
    }
}

fn named(role: Role, username: &str, groups: &[&str], agent: String) -> Client {
    Client {
        role,
        name: username.rsplit(':').next().unwrap_or_default().to_owned(),
        username: username.to_owned(),
        user: user(username, "", groups, ""),
        impersonated: None,
        address: format!("10.0.{}.{}", username.len() % 250, groups.len()),
        agent,
        allowed_by: String::new(),
    }
}

fn account(
    role: Role,
    namespace: &str,
    name: &str,
    agent: String,
    node: Option<&str>,
    rng: &mut Rng,
) -> Client {
    let username = format!("system:serviceaccount:{namespace}:{name}");
    let group = format!("system:serviceaccounts:{namespace}");
    let uid = rng.uuid();
    let mut extra = format!(r#""authentication.kubernetes.io/credential-id":["JTI={}"]"#, rng.uuid());
    if let Some(node) = node {
        let pod = format!("{name}-{}-{}", rng.hex(9), rng.suffix(5));
        for (key, value) in
            [("node-name", node), ("node-uid", &rng.uuid()), ("pod-name", &pod), ("pod-uid", &rng.uuid())]
        {
            extra.push_str(",\"authentication.kubernetes.io/");
            extra.push_str(key);
            extra.push_str("\":[");
            quote(&mut extra, value);
            extra.push(']');
        }
    }
    let role_name =
        if namespace == "kube-system" { format!("system:controller:{name}") } else { name.to_owned() };
    Client {
        role,
        name: name.to_owned(),
        user: user(&username, &uid, &["system:serviceaccounts", &group, "system:authenticated"], &extra),
        username,
        impersonated: None,
        address: format!("10.{}.{}.{}", 1 + rng.below(9), rng.below(250), rng.below(250)),
        agent,
        allowed_by: format!(
            "RBAC: allowed by ClusterRoleBinding \"{role_name}\" of ClusterRole \"{role_name}\" to ServiceAccount \
             \"{name}/{namespace}\""
        ),
    }
}

/// A pod of a daemon set, on a node of its own.
pub fn agent_of_fleet(number: usize, rng: &mut Rng) -> Client {
    let node = format!("node-{number:06}");
    let mut pod =
        account(Role::Poller, "monitoring", "node-agent", "node-agent/v2.1.0".to_owned(), Some(&node), rng);
    pod.name = node;
    pod
}

/// A user as JSON; `extra` is JSON without its braces.
pub fn user(username: &str, uid: &str, groups: &[&str], extra: &str) -> String {
    let mut json = String::from("{\"username\":");
    quote(&mut json, username);
    if !uid.is_empty() {
        json.push_str(",\"uid\":");
        quote(&mut json, uid);
    }
    json.push_str(",\"groups\":[");
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        quote(&mut json, group);
    }
    json.push(']');
    if !extra.is_empty() {
        json.push_str(",\"extra\":{");
        json.push_str(extra);
        json.push('}');
    }
    json.push('}');
    json
}
