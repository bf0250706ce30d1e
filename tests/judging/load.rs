//! Load: how it ranks clients, what it excludes, and which requests count as writes to etcd.

use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

/// A request and its fields in the log line.
struct Request<'a> {
    user: &'a str,
    verb: &'a str,
    uri: &'a str,
    status: u16,
    millis: u64,
    annotations: Value,
}

fn request<'a>(user: &'a str, verb: &'a str, uri: &'a str) -> Request<'a> {
    Request { user, verb, uri, status: 200, millis: 10, annotations: json!({}) }
}

fn log<'a>(requests: impl IntoIterator<Item = Request<'a>>) -> String {
    let line = |(number, request): (usize, Request<'_>)| {
        let Request { user, verb, uri, status, millis, annotations } = request;
        let micros = millis * 1_000;
        let id = number.to_string();
        let mut event =
            AuditEvent::new(&id, verb, uri).by(user, "agent/v1.0.0").code(status).at(0, micros).value();
        event["annotations"] = annotations;
        format!("{event}\n")
    };
    requests.into_iter().enumerate().map(line).collect()
}

fn report(log: &str, inventory: Option<&str>, more: &[&str]) -> Value {
    let dir =
        Dir::with(&[("audit.log", log.as_bytes()), ("inventory", inventory.unwrap_or_default().as_bytes())]);
    let mut args = vec!["audit.log", "--kube-version", "1.30.4"];
    args.extend(inventory.map(|_| ["--inventory", "inventory"]).into_iter().flatten());
    args.extend(more);
    dir.report(&args)
}

fn clients(report: &Value) -> Vec<(&str, u64)> {
    let clients = report["clients"].as_array().expect("clients").iter();
    let result = |client: &Value| client["load"]["amount"].as_u64().expect("an amount");
    clients.map(|client| (client["identity"].as_str().expect("a name"), result(client))).collect()
}

/// The sum of the shares of a list.
fn shares<'r>(parts: impl Iterator<Item = &'r Value>) -> f64 {
    parts.map(|part| part["load"]["share"].as_f64().expect("a share")).sum()
}

const POD: &str = "/api/v1/namespaces/a/pods/p";

#[test]
fn only_writes_to_etcd_are_counted() {
    for (verb, uri, status, writes) in [
        ("create", "/api/v1/namespaces/a/pods", 201, 1),
        ("update", POD, 200, 1),
        ("patch", "/api/v1/namespaces/a/pods/p/status", 200, 1),
        ("update", "/apis/apps/v1/namespaces/a/deployments/d/scale", 200, 1),
        ("create", "/api/v1/namespaces/a/pods/p/binding", 201, 1),
        ("create", "/api/v1/namespaces/a/pods/p/eviction", 201, 1),
        ("create", "/api/v1/namespaces/a/pods/p/eviction", 429, 0),
        ("delete", POD, 200, 1),
        ("deletecollection", "/api/v1/namespaces/a/pods", 200, 1),
        ("update", POD, 409, 0),
        ("update", POD, 500, 0),
        ("create", "/api/v1/namespaces/a/pods", 403, 0),
        ("patch", "/api/v1/namespaces/a/pods/p?dryRun=All&fieldManager=x", 200, 0),
        ("deletecollection", "/api/v1/namespaces/a/pods?dryRun=All", 200, 0),
        ("create", "/api/v1/namespaces/a/pods?dryRun=None", 400, 0),
        ("create", "/apis/authorization.k8s.io/v1/subjectaccessreviews", 201, 0),
        ("create", "/api/v1/namespaces/a/serviceaccounts/s/token", 201, 0),
        ("create", "/api/v1/namespaces/a/pods/p/exec?command=x", 101, 0),
        ("create", "/apis/metrics.k8s.io/v1beta1/namespaces/a/pods", 201, 0),
        ("get", POD, 200, 0),
    ] {
        let result = report(&log([Request { status, ..request("a", verb, uri) }]), None, &[]);
        let of = |part: &Value| part["etcdWrites"].as_u64();
        let client = &result["clients"][0];
        let all = [of(&result["totals"]), of(client), of(&client["shapes"][0])];
        assert_eq!(all, [Some(writes); 3], "{verb} {uri} {status}");
    }
}

#[test]
fn request_time_ranks_clients_without_watches_and_queues() {
    let slow = |user, millis, queue: &str| Request {
        millis,
        annotations: json!({
            "apiserver.latency.k8s.io/total": format!("{millis}ms"),
            "apiserver.latency.k8s.io/apf-queue-wait": queue,
        }),
        ..request(user, "list", "/api/v1/pods?resourceVersion=0")
    };
    let result = report(
        &log([
            Request {
                millis: 500_000,
                ..request("watcher", "watch", "/api/v1/pods?watch=true&resourceVersion=5")
            },
            Request { millis: 3_000, ..request("writer", "update", POD) },
            slow("queued", 9_000, "8s"),
            request("reader", "get", POD),
        ]),
        None,
        &[],
    );
    let expected = [("writer", 3_000_000), ("queued", 1_000_000), ("reader", 10_000), ("watcher", 0)];
    assert_eq!(clients(&result), expected);
    assert_eq!(result["ranking"]["unit"], "requestMicros");
    assert_eq!(result["clients"][1]["load"]["unit"], "requestMicros");
    let of_clients = result["clients"].as_array().expect("clients").iter();
    let of_shapes = of_clients.clone().flat_map(|client| client["shapes"].as_array().expect("shapes"));
    for sum in [shares(of_clients), shares(of_shapes)] {
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }
}

#[test]
fn an_access_line_shows_the_wait_in_a_queue() {
    let line = r#"I0723 10:00:09.000000       1 httplog.go:134] "HTTP" verb="LIST" URI="/api/v1/pods" latency="9s" userAgent="agent/v1" audit-ID="a" srcIP="10.0.0.1:5" apf_pl="workload-low" apf_fs="x" apf_iseats=1 apf_fseats=0 apf_additionalLatency="0s" fl_priorityandfairness="8s" apf_execution_time="900ms" resp=200"#;
    let result = report(&format!("{line}\n"), None, &["--year", "2026"]);
    assert_eq!(clients(&result), [("agent (private address)", 1_000_000)]);
}

#[test]
fn with_an_inventory_objects_handled_and_writes_rank_clients() {
    let inventory = "resource,objects,bytesPerObject\npods,1000,\n";
    let many = (0..1_500).map(|_| request("writer", "patch", POD));
    let result = report(
        &log(many.chain([
            request("etcd", "list", "/api/v1/pods"),
            request("cache", "list", "/api/v1/pods?resourceVersion=0"),
            request("reader", "get", POD),
        ])),
        Some(inventory),
        &[],
    );
    assert_eq!(clients(&result), [("writer", 1_500), ("etcd", 1_000), ("cache", 1_000), ("reader", 1)]);
    assert_eq!(result["ranking"]["unit"], "objects");
}

#[test]
fn a_namespace_is_weighed_by_the_objects_that_the_log_names_in_it() {
    let inventory = "resource,objects,bytesPerObject\npods,1000,100\nnamespaces,20,\n";
    let pods: Vec<String> = (0..60)
        .map(|number| {
            let namespace = if number < 54 { "big" } else { "small" };
            format!("/api/v1/namespaces/{namespace}/pods/p-{number}/status")
        })
        .collect();
    let named = || pods.iter().map(|uri| request("system:node:n", "patch", uri));
    let lists = || {
        ["big", "small", "unseen"].map(|name| match name {
            "big" => request("big", "list", "/api/v1/namespaces/big/pods"),
            "small" => request("small", "list", "/api/v1/namespaces/small/pods"),
            _ => request("unseen", "list", "/api/v1/namespaces/unseen/pods"),
        })
    };
    let etcd = |result: &Value, name: &str| {
        let clients = result["clients"].as_array().expect("clients");
        let client = clients.iter().find(|client| client["identity"] == name).expect("the client");
        let etcd = &client["cost"]["total"]["etcd"];
        (etcd["objects"].as_u64().expect("objects"), etcd["bound"].as_str().expect("a bound").to_owned())
    };
    let result = report(&log(named().chain(lists())), Some(inventory), &[]);
    let estimate = |objects| (objects, "estimate".to_owned());
    // 55, 7 and 1 named objects, from 60 names plus one for each of the 20 namespaces.
    assert_eq!(etcd(&result, "big"), estimate(688));
    assert_eq!(etcd(&result, "small"), estimate(88));
    assert_eq!(etcd(&result, "unseen"), estimate(13));
    assert_eq!(result["clients"][0]["load"]["bound"], "estimate");
    let even = report(&log(lists()), Some(inventory), &[]);
    assert_eq!(etcd(&even, "big"), (50, "mean".to_owned()), "without names of objects the split is even");
    let unknown =
        report(&log(named().chain(lists())), Some("resource,objects,bytesPerObject\npods,1000,100\n"), &[]);
    assert_eq!(etcd(&unknown, "big"), estimate(888));
    let threads = |threads| report(&log(named().chain(lists())), Some(inventory), &["--threads", threads]);
    assert_eq!(threads("1"), threads("3"));
}

#[test]
fn estimated_loads_are_marked() {
    let inventory = "resource,objects,bytesPerObject\npods,1000,\nnamespaces,20,\n";
    let log = log([
        request("system:node:n", "patch", "/api/v1/namespaces/big/pods/p/status"),
        request("lister", "list", "/api/v1/namespaces/big/pods"),
    ]);
    let dir = Dir::with(&[("audit.log", log.as_bytes()), ("inventory", inventory.as_bytes())]);
    let text = dir.text(&["audit.log", "--inventory", "inventory", "--kube-version", "1.30.4", "--details"]);
    let row = text.lines().find(|line| line.starts_with("user lister")).expect("the client's row");
    assert!(row.contains("≈96 obj.") && row.contains("≈99.0 %"), "{row}");
}

#[test]
fn totals_are_exact_if_shapes_are_folded() {
    let uris: Vec<String> = (0..1_500)
        .flat_map(|number| {
            let list = format!("/apis/g{number}.example.com/v1/things");
            [list.clone(), format!("{list}?resourceVersion=0&limit=5"), format!("{list}/t")]
        })
        .collect();
    let verb = |uri: &str| if uri.ends_with("/t") { "get" } else { "list" };
    let all = || uris.iter().map(|uri| request("crawler", verb(uri), uri));
    let result = report(&log(all()), None, &[]);
    for counts in [&result["totals"], &result["clients"][0]] {
        let names = ["requests", "etcdLists", "etcdGets", "limitIgnored"];
        assert_eq!(
            names.map(|name| counts[name].as_u64()),
            [4_500, 1_500, 1_500, 1_500].map(Some),
            "{names:?}"
        );
        assert_eq!(counts["byVerb"], json!({"get": 1_500, "list": 3_000}));
    }
    let shapes = result["clients"][0]["shapes"].as_array().expect("shapes");
    assert_eq!(shapes.len(), 1_024 + 3);
    let folded = shapes.iter().filter(|shape| shape["resource"] == "(other resources)");
    assert_eq!(folded.count(), 3, "LISTs from etcd, LISTs from the cache, and GETs");
    let backwards = report(&log(all().rev()), None, &["--threads", "3"]);
    assert_eq!(backwards["totals"]["byServedFrom"], result["totals"]["byServedFrom"]);
    let versions = report(&log(all()), None, &["--threads", "2"]);
    assert_eq!(versions["totals"], result["totals"]);
}

#[test]
fn totals_by_version_are_exact_if_shapes_are_folded() {
    let uris: Vec<String> =
        (0..1_500).map(|number| format!("/apis/g{number}.example.com/v1/things")).collect();
    let log = log(uris.iter().map(|uri| request("crawler", "list", uri)));
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let result = dir.report(&["audit.log"]);
    let by_version = result["totals"]["byVersion"].as_array().expect("totals by version");
    assert!(by_version.iter().any(|totals| totals["etcdLists"] == 1_500), "{by_version:?}");
}

#[test]
fn a_refused_request_for_logs_has_a_load() {
    let logs = "/api/v1/namespaces/team/pods/web-0/log?follow=true";
    let result = report(
        &log([
            Request { status: 403, millis: 50, ..request("refused", "get", logs) },
            Request { millis: 5_000, ..request("served", "get", logs) },
        ]),
        None,
        &[],
    );
    assert_eq!(clients(&result), [("refused", 50_000), ("served", 0)]);
    assert_eq!(result["clients"][0]["shapes"][0]["longRunning"], false);
}
