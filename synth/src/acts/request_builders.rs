//! Requests: paths, queries, and the `objectRef` of their events.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::event::{Object, Request, Stages};
use super::super::rng::Rng;

/// A resource of the API.
#[derive(Clone, Copy)]
pub struct Kind {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

const fn kind(group: &'static str, version: &'static str, resource: &'static str, namespaced: bool) -> Kind {
    Kind { group, version, resource, namespaced }
}

pub const PODS: Kind = kind("", "v1", "pods", true);
pub const NODES: Kind = kind("", "v1", "nodes", false);
pub const SERVICES: Kind = kind("", "v1", "services", true);
pub const ACCOUNTS: Kind = kind("", "v1", "serviceaccounts", true);
pub const CONFIG_MAPS: Kind = kind("", "v1", "configmaps", true);
pub const SECRETS: Kind = kind("", "v1", "secrets", true);
pub const EVENTS: Kind = kind("events.k8s.io", "v1", "events", true);
pub const DEPLOYMENTS: Kind = kind("apps", "v1", "deployments", true);
pub const REPLICA_SETS: Kind = kind("apps", "v1", "replicasets", true);
pub const CRONJOBS: Kind = kind("batch", "v1", "cronjobs", true);
pub const LEASES: Kind = kind("coordination.k8s.io", "v1", "leases", true);
pub const SLICES: Kind = kind("discovery.k8s.io", "v1", "endpointslices", true);
pub const WIDGETS: Kind = kind("example.com", "v1beta1", "widgets", true);

/// A request for a resource: with a name for one object, without a name for a collection.
pub fn act_on(verb: &'static str, kind: &Kind, namespace: &str, name: &str, query: &str) -> Request {
    let namespace = if kind.namespaced { namespace } else { "" };
    let mut uri = String::with_capacity(200);
    if kind.group.is_empty() {
        uri.push_str("/api/v1");
    } else {
        for part in ["/apis/", kind.group, "/", kind.version] {
            uri.push_str(part);
        }
    }
    if !namespace.is_empty() {
        uri.push_str("/namespaces/");
        uri.push_str(namespace);
    }
    for part in [kind.resource, name] {
        if !part.is_empty() {
            uri.push('/');
            uri.push_str(part);
        }
    }
    if !query.is_empty() {
        uri.push('?');
        uri.push_str(query);
    }
    // A LIST that selects one object has that object's name in its objectRef.
    let selected = query.split("metadata.name%3D").nth(1).and_then(|rest| rest.split('&').next());
    let object = Object {
        group: kind.group,
        version: kind.version,
        resource: kind.resource,
        subresource: "",
        namespace: namespace.to_owned(),
        name: selected.unwrap_or(name).to_owned(),
    };
    Request { verb, uri, object: Some(object), ..plain("") }
}

/// A GET outside the API's resources.
pub fn plain(uri: &str) -> Request {
    Request {
        verb: "get",
        uri: uri.to_owned(),
        object: None,
        stages: Stages::Two,
        status: 200,
        failure: None,
        micros: 0,
        etcd: false,
        decoded: false,
        annotations: Vec::new(),
    }
}

/// A watch. Many watches end before their timeout.
pub fn watch(kind: &Kind, namespace: &str, options: &str, revision: u64, rng: &mut Rng) -> Request {
    let seconds = 300 + rng.below(300);
    let start = if options.contains("sendInitialEvents") {
        String::new()
    } else {
        format!("resourceVersion={}&", revision - rng.below(400))
    };
    let and = if options.is_empty() { "" } else { "&" };
    let query = format!(
        "allowWatchBookmarks=true&{options}{and}{start}timeout={}m{}s&timeoutSeconds={seconds}&watch=true",
        seconds / 60,
        seconds % 60
    );
    let lived = if rng.percent(40) { rng.below(30) + 1 } else { seconds };
    let micros = lived * 1_000_000 + rng.below(1_000_000);
    Request { stages: Stages::Three, micros, ..act_on("watch", kind, namespace, "", &query) }
}

/// A connection to a pod.
pub fn connect(pod: &str, namespace: &str, subresource: &'static str, query: &str, rng: &mut Rng) -> Request {
    let verb = if subresource == "log" { "get" } else { "create" };
    let micros = rng.below(60_000_000);
    let request = act_on(verb, &PODS, namespace, pod, query);
    let mut request = super::with_subresource(request, subresource);
    request.stages = Stages::Three;
    request.micros = micros;
    request
}

/// A token as the server writes it. An expired token continues at the newest revision.
pub fn continue_token(expired: bool, revision: u64, rng: &mut Rng) -> String {
    let revision = if expired { "-1".to_owned() } else { (revision - rng.below(2_000)).to_string() };
    let start = format!("{}/{}", rng.pick(&super::NAMESPACES), super::pod_name(rng));
    // The NUL after the last key is written as an escape.
    let json = format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":"{start}\u0000"}}"#);
    URL_SAFE_NO_PAD.encode(json)
}
