//! The requests of each client, with their responses.

mod request_builders;
pub mod response;

use super::cast::{Client, NAMESPACES, Role};
use super::event::Request;
use super::rng::Rng;
use request_builders::{
    CONFIG_MAPS, CRONJOBS, DEPLOYMENTS, EVENTS, Kind, LEASES, NODES, PODS, REPLICA_SETS, SECRETS, SERVICES,
    SLICES, WIDGETS, act_on, continue_token, plain, watch,
};
use response::set_response;

/// Resources that workloads and people read.
const WORKLOADS: [Kind; 9] =
    [PODS, DEPLOYMENTS, REPLICA_SETS, CONFIG_MAPS, SECRETS, SERVICES, SLICES, CRONJOBS, WIDGETS];

/// One request of a client. `revision` is the cluster's resourceVersion.
pub fn act(client: &Client, revision: u64, rng: &mut Rng) -> Request {
    let mut request = match client.role {
        Role::Server => server(revision, rng),
        Role::Scheduler => scheduler(revision, rng),
        Role::Controller => controller(client, revision, rng),
        Role::Kubelet => kubelet(client, revision, rng),
        Role::Operator => operator(client, revision, rng),
        Role::Pager => pager(revision, rng),
        Role::Poller => poller(rng),
        Role::Person => person(rng),
        Role::Prober => plain(rng.pick::<&str>(&["/healthz", "/livez?verbose", "/readyz", "/version"])),
    };
    set_response(client, &mut request, revision, rng);
    request
}

fn server(revision: u64, rng: &mut Rng) -> Request {
    let kind = *rng.pick(&WORKLOADS);
    match rng.below(10) {
        0..4 => act_on("update", &LEASES, "kube-system", "apiserver-gjvvw5z6sxjuhb6tmcnzp4hpmu", ""),
        4..7 => act_on("get", &CONFIG_MAPS, "kube-system", "extension-apiserver-authentication", ""),
        7 => act_on("list", &kind, "", "", "limit=500&resourceVersion=0"),
        8 => watch(&kind, "", "", revision, rng),
        _ => plain("/openapi/v2?timeout=32s"),
    }
}

fn scheduler(revision: u64, rng: &mut Rng) -> Request {
    let (namespace, pod) = (*rng.pick(&NAMESPACES), pod_name(rng));
    match rng.below(20) {
        0..8 => with_subresource(act_on("create", &PODS, namespace, &pod, ""), "binding"),
        8..15 => act_on("create", &EVENTS, namespace, "", ""),
        15..17 => with_subresource(act_on("patch", &PODS, namespace, &pod, ""), "status"),
        17..19 => act_on("update", &LEASES, "kube-system", "kube-scheduler", "timeout=5s"),
        _ => watch(&NODES, "", "", revision, rng),
    }
}

fn controller(client: &Client, revision: u64, rng: &mut Rng) -> Request {
    let namespace = *rng.pick(&NAMESPACES);
    let kind = *rng.pick(&WORKLOADS);
    let name = format!("app-{}", rng.below(300));
    match rng.below(20) {
        0..5 => with_subresource(act_on("update", &DEPLOYMENTS, namespace, &name, ""), "status"),
        5..8 => act_on("update", &REPLICA_SETS, namespace, &format!("{name}-{}", rng.suffix(9)), ""),
        8..11 => act_on("create", &PODS, namespace, "", ""),
        11..13 => act_on("create", &EVENTS, namespace, "", ""),
        13..15 => act_on("delete", &PODS, namespace, &pod_name(rng), ""),
        15 => {
            with_subresource(act_on("patch", &NODES, "", &format!("node-{}", rng.below(500)), ""), "status")
        }
        16 => act_on("update", &LEASES, "kube-system", &client.name, "timeout=5s"),
        17 => act_on("list", &kind, "", "", "limit=500&resourceVersion=0"),
        18 => act_on("deletecollection", &PODS, namespace, "", "labelSelector=job-name%3Dreport"),
        _ => watch(&kind, "", "", revision, rng),
    }
}

fn kubelet(client: &Client, revision: u64, rng: &mut Rng) -> Request {
    let namespace = *rng.pick(&NAMESPACES);
    let node = &client.name;
    let mine = format!("fieldSelector=spec.nodeName%3D{node}");
    match rng.below(50) {
        0..20 => act_on("update", &LEASES, "kube-node-lease", node, "timeout=10s"),
        20..28 => with_subresource(act_on("patch", &NODES, "", node, "timeout=10s"), "status"),
        28..33 => act_on("get", &NODES, "", node, "resourceVersion=0&timeout=10s"),
        33..38 => with_subresource(act_on("patch", &PODS, namespace, &pod_name(rng), ""), "status"),
        38..42 => act_on("get", &PODS, namespace, &pod_name(rng), ""),
        42..44 => watch(&PODS, "", &mine, revision, rng),
        44..47 => {
            watch(&CONFIG_MAPS, namespace, "fieldSelector=metadata.name%3Dkube-root-ca.crt", revision, rng)
        }
        47 => act_on("list", &PODS, "", "", &format!("{mine}&limit=500&resourceVersion=0")),
        _ => {
            with_subresource(act_on("create", &request_builders::ACCOUNTS, namespace, "default", ""), "token")
        }
    }
}

/// A request of a fleet's pod: it lists or watches the pods of its node.
pub fn of_fleet(is_list: bool, node: &str, revision: u64, rng: &mut Rng) -> Request {
    let mine = format!("fieldSelector=spec.nodeName%3D{node}");
    if is_list {
        return act_on("list", &PODS, "", "", &format!("{mine}&limit=500&resourceVersion=0"));
    }
    watch(&PODS, "", &mine, revision, rng)
}

fn operator(client: &Client, revision: u64, rng: &mut Rng) -> Request {
    let namespace = *rng.pick(&NAMESPACES);
    let kind = *rng.pick(&WORKLOADS);
    let name = format!("app-{}", rng.below(300));
    match rng.below(20) {
        0..5 => act_on("update", &LEASES, namespace, &client.name, ""),
        5..9 => act_on("get", &kind, namespace, &name, ""),
        9..12 => act_on("patch", &kind, namespace, &name, "fieldManager=operator&force=true"),
        12..14 => with_subresource(act_on("update", &WIDGETS, namespace, &name, ""), "status"),
        14 => act_on("list", &kind, "", "", "limit=500&resourceVersion=0"),
        15 => act_on("list", &kind, namespace, "", "labelSelector=app.kubernetes.io%2Finstance%3Dshop"),
        16 => act_on(
            "list",
            &kind,
            namespace,
            "",
            &format!("resourceVersion={revision}&resourceVersionMatch=Exact"),
        ),
        17 => watch(&kind, "", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", revision, rng),
        _ => watch(&kind, "", "", revision, rng),
    }
}

fn pager(revision: u64, rng: &mut Rng) -> Request {
    let kind = *rng.pick(&[PODS, EVENTS, CONFIG_MAPS, WIDGETS]);
    let limit = *rng.pick(&["10", "100", "250", "500"]);
    let query = match rng.below(10) {
        0..3 => format!("limit={limit}"),
        3 => format!("limit={limit}&resourceVersion=0"),
        4 => "continue=bm90IGEgdG9rZW4&limit=500".to_owned(),
        drawn => format!("continue={}&limit={limit}", continue_token(drawn == 9, revision, rng)),
    };
    act_on("list", &kind, "", "", &query)
}

fn poller(rng: &mut Rng) -> Request {
    let kind = *rng.pick(&[PODS, NODES, SERVICES, EVENTS, DEPLOYMENTS]);
    let namespace = if kind.namespaced && rng.percent(30) { *rng.pick(&NAMESPACES) } else { "" };
    let query = *rng.pick(&[
        "",
        "",
        "resourceVersion=0",
        "limit=0",
        "labelselector=app%3Dweb",
        "labelSelector=app+in+%28web%2Cshop",
        "fieldSelector=status.phase%21%3DRunning",
        "pretty=true&resourceVersion=",
    ]);
    act_on("list", &kind, namespace, "", query)
}

fn person(rng: &mut Rng) -> Request {
    let namespace = *rng.pick(&NAMESPACES);
    let kind = *rng.pick(&WORKLOADS);
    let name = format!("app-{}", rng.below(300));
    match rng.below(20) {
        0..5 => plain(rng.pick::<&str>(&[
            "/api?timeout=32s",
            "/apis?timeout=32s",
            "/apis/apps/v1?timeout=32s",
            "/openapi/v3?timeout=32s",
        ])),
        5..9 => act_on("list", &kind, namespace, "", "limit=500"),
        9..13 => act_on("get", &kind, namespace, &name, ""),
        13..15 => act_on(
            "patch",
            &kind,
            namespace,
            &name,
            "fieldManager=kubectl-client-side-apply&fieldValidation=Strict",
        ),
        15 => act_on("delete", &kind, namespace, &name, ""),
        16 => act_on("create", &kind, namespace, "", "fieldManager=kubectl-create&fieldValidation=Strict"),
        17 => act_on("list", &EVENTS, namespace, "", "fieldSelector=involvedObject.kind%3DPod&limit=500"),
        18 => request_builders::connect(
            &pod_name(rng),
            namespace,
            "log",
            "container=main&follow=true&tailLines=100",
            rng,
        ),
        _ => request_builders::connect(
            &pod_name(rng),
            namespace,
            "exec",
            "command=sh&container=main&stdin=true&tty=true",
            rng,
        ),
    }
}

fn pod_name(rng: &mut Rng) -> String {
    format!("app-{}-{}-{}", rng.below(300), rng.suffix(9), rng.suffix(5))
}

fn with_subresource(mut request: Request, subresource: &'static str) -> Request {
    if let Some(object) = &mut request.object {
        object.subresource = subresource;
        let path = request.uri.find('?').unwrap_or(request.uri.len());
        request.uri.insert_str(path, &format!("/{subresource}"));
    }
    request
}
