//! Costs with unknown sizes, failed requests and pages: the report never shows a number that the log cannot
//! support.

use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

/// A request: client, target, second within the log's hour, and status.
struct Request<'a> {
    user: &'a str,
    uri: String,
    received: Option<&'a str>,
    status: u16,
}

fn get<'a>(user: &'a str, uri: &str, status: u16) -> Request<'a> {
    Request { user, uri: uri.to_owned(), received: Some("10:00:01"), status }
}

fn log(requests: impl IntoIterator<Item = Request<'static>>) -> String {
    let line = |(number, request): (usize, Request<'_>)| {
        let Request { user, uri, received, status } = request;
        let verb = if uri.contains("watch=") {
            "watch"
        } else if uri.contains("/one") {
            "get"
        } else {
            "list"
        };
        let event = AuditEvent::new(&number, verb, &uri).by(user, "agent/v1.0.0").code(status);
        let event = match received {
            Some(received) => event.since(&format!("2026-07-23T{received}Z")).at(0, 0),
            None => ["requestReceivedTimestamp", "stageTimestamp"]
                .into_iter()
                .fold(event, |event, field| event.with(field, Value::Null)),
        };
        event.line()
    };
    requests.into_iter().enumerate().map(line).collect()
}

fn dir(log: &str, inventory: &str) -> Dir {
    Dir::with(&[("audit.log", log.as_bytes()), ("inventory", inventory.as_bytes())])
}

fn report(log: &str, inventory: &str, version: &str) -> Value {
    dir(log, inventory).report(&["audit.log", "--inventory", "inventory", "--kube-version", version])
}

fn clients(report: &Value) -> Vec<&str> {
    let clients = report["clients"].as_array().expect("clients").iter();
    clients.map(|client| client["identity"].as_str().expect("a name")).collect()
}

fn repeated(count: usize, user: &'static str, uri: &'static str) -> impl Iterator<Item = Request<'static>> {
    (0..count).map(move |_| get(user, uri, 200))
}

#[test]
fn missing_size_makes_objects_the_ranking_unit() {
    let inventory = "resource,objects,bytesPerObject\nsecrets,1000000,\nconfigmaps,10,500\n";
    let log = log(repeated(100, "big", "/api/v1/secrets").chain(repeated(10, "small", "/api/v1/configmaps")));
    let result = report(&log, inventory, "1.24.0");
    assert_eq!(clients(&result), ["big", "small"]);
    assert_eq!(result["ranking"]["handledUnit"], "objects");
    assert_eq!(result["clients"][0]["cost"]["handled"], 300_000_000);
    let args = ["audit.log", "--inventory", "inventory", "--kube-version", "1.24.0", "--details"];
    let text = dir(&log, inventory).text(&args);
    let table = text.split("most load first (").nth(1).expect("a table");
    assert!(table.starts_with("objects") && table.contains("100,000,000 obj."), "{text}");
    assert!(!table.contains("kB"), "one unit in the table: {text}");
}

#[test]
fn small_etcd_read_ranks_below_large_cache_reads() {
    let inventory = "resource,objects,bytesPerObject\npods,100000,20000\nnodes,10,100\n";
    let dear = repeated(50, "cache", "/api/v1/pods?resourceVersion=0&limit=500");
    let log = log(dear.chain(repeated(1, "etcd", "/api/v1/nodes")));
    let result = report(&log, inventory, "1.24.0");
    assert_eq!(clients(&result), ["cache", "etcd"]);
    assert_eq!(result["ranking"]["handledUnit"], "bytes");
    // 50 times 2 GB gone through and 2 GB sent; of nodes a kB each read, gone through and sent.
    let handled = |at: usize| result["clients"][at]["cost"]["handled"].as_u64();
    assert_eq!((handled(0), handled(1)), (Some(200_000_000_000), Some(3_000)));
}

#[test]
fn a_client_of_unknown_cost_is_not_hidden_among_the_others() {
    let inventory = "resource,objects,bytesPerObject\npods,100,20\n";
    let mut requests: Vec<Request<'static>> =
        ["a", "b", "c"].map(|user| get(user, "/api/v1/pods", 200)).into();
    requests.extend(repeated(1, "doubtful", "/api/v1/secrets"));
    let args =
        ["audit.log", "--inventory", "inventory", "--kube-version", "1.24.0", "--top", "2", "--details"];
    let text = dir(&log(requests), inventory).text(&args);
    let table = text.split("most load first").nth(1).expect("a table");
    assert!(table.contains("doubtful") && table.contains("(1 others)"), "{text}");
}

const PODS: &str = "resource,objects,bytesPerObject\npods,100000,20000\nnodes,4000,5000\n";

fn total<'r>(report: &'r Value, of: &str) -> &'r Value {
    &report["totals"]["cost"]["total"][of]
}

#[test]
fn failed_requests_receive_nothing_and_filter_nothing_in_the_cache() {
    let failed = |uri| log([get("a", "/api/v1/pods?resourceVersion=0", 503), get("a", uri, 504)]);
    let result = report(&failed("/api/v1/pods?resourceVersion=0"), PODS, "1.24.0");
    for of in ["etcd", "filtered", "received"] {
        assert_eq!(total(&result, of)["objects"], 0, "{of}");
    }
    let result = report(&failed("/api/v1/pods"), PODS, "1.24.0");
    let etcd = total(&result, "etcd");
    assert_eq!((&etcd["objects"], &etcd["bound"]), (&json!(100_000), &json!("at-most")));
    assert_eq!(total(&result, "filtered"), etcd);
    assert_eq!(total(&result, "received")["bytes"], 0);
}

#[test]
fn minutes_hold_reads_of_their_own_requests_alone() {
    let at = |received, status| Request { received, ..get("a", "/api/v1/namespaces/a/pods/one", status) };
    let refused = (0..100).map(|_| at(Some("10:00:01"), 404));
    let served = (0..10).map(|_| at(Some("10:10:01"), 200));
    let failed = (0..5).map(|_| at(Some("10:10:01"), 500));
    let untimed = (0..3).map(|_| at(None, 200));
    let result = report(&log(refused.chain(served).chain(failed).chain(untimed)), PODS, "1.24.0");
    let cost = &result["totals"]["cost"];
    let minute = json!({
        "at": "2026-07-23T10:10:00.000000Z", "etcdObjects": 15, "etcdBytes": 300_000, "filteredObjects": 15,
        "receivedBytes": 200_000,
    });
    assert_eq!((&cost["minutes"], &cost["peak"]), (&json!([minute]), &minute));
    assert_eq!((&cost["withoutTime"], &total(&result, "etcd")["objects"]), (&json!(3), &json!(18)));
}

/// 4,000 agents that list their own node's pods at the same time.
fn herd() -> String {
    let list = |node: u32| {
        get(
            "system:serviceaccount:a:agent",
            &format!("/api/v1/pods?fieldSelector=spec.nodeName%3Dn-{node}"),
            200,
        )
    };
    let with_pod = |(node, line): (usize, &str)| {
        let mut event: Value = serde_json::from_str(line).expect("JSON");
        event["user"]["extra"] = json!({"authentication.kubernetes.io/pod-name": [format!("agent-{node}")]});
        format!("{event}\n")
    };
    log((0..4_000).map(list)).lines().enumerate().map(with_pod).collect()
}

fn greatest_herd(report: &Value) -> Value {
    let findings = report["findings"].as_array().expect("findings");
    let herd = findings.iter().find(|finding| finding["rule"]["name"] == "node-herd").expect("a herd");
    herd["pattern"]["herds"]["greatest"][0].clone()
}

#[test]
fn herd_cost_is_in_objects_if_sizes_are_unknown() {
    let inventory = "resource,objects\npods,100000\nnodes,4000\n";
    let all = herd();
    let greatest = greatest_herd(&report(&all, inventory, "1.24.0"));
    assert_eq!((&greatest["etcdObjects"], &greatest["etcdBytes"]), (&json!(400_000_000), &Value::Null));
    assert_eq!((&greatest["receivedObjects"], &greatest["receivedBytes"]), (&json!(100_000), &Value::Null));
    let args = ["audit.log", "--inventory", "inventory", "--kube-version", "1.24.0", "--details"];
    let text = dir(&all, inventory).text(&args);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("together 400,000,000 objects from etcd and about 100,000 objects received"),
        "{text}"
    );
}

/// A page of pods by a label, the first or a further one.
fn page(is_further: bool) -> Request<'static> {
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0";
    let further = if is_further { format!("&continue={token}") } else { String::new() };
    get("pager", &format!("/api/v1/pods?labelSelector=app%3Dx&limit=500{further}"), 200)
}

#[test]
fn the_pages_of_a_walk_read_a_collection_once() {
    // Three walks of ten pages.
    let walks = (0..30).map(|number| page(number % 10 != 0));
    let result = report(&log(walks), PODS, "1.24.0");
    let etcd = total(&result, "etcd");
    assert_eq!((&etcd["objects"], &etcd["bound"]), (&json!(300_000), &json!("mean")));
    assert_eq!(total(&result, "received")["objects"], 15_000);
    // A single page may read up to the end of the collection.
    let result = report(&log([page(false)]), PODS, "1.24.0");
    let etcd = total(&result, "etcd");
    assert_eq!((&etcd["objects"], &etcd["bound"]), (&json!(100_000), &json!("at-most")));
}

#[test]
fn received_objects_do_not_exceed_filtered_objects() {
    let inventory = format!("{PODS}namespaces,100,1000\n");
    let uri = "/api/v1/namespaces/a/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn-1";
    for version in ["1.24.0", "1.36.2"] {
        let result = report(&log([get("a", uri, 200)]), &inventory, version);
        let objects = |of: &str| total(&result, of)["objects"].as_u64().expect("a number");
        assert!(objects("received") <= objects("filtered"), "{version}: {result}");
    }
}

#[test]
fn means_are_marked_and_need_nodes_in_the_inventory() {
    let uri = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn-1";
    let text = |inventory: &str, log: &str| {
        let args = ["audit.log", "--inventory", "inventory", "--kube-version", "1.24.0", "--details"];
        let text = dir(log, inventory).text(&args);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let result = text(PODS, &log(repeated(60, "a", uri)));
    assert!(result.contains("≈30.0 MB received") && !result.contains("MB received at most"), "{result}");
    let without_nodes = "resource,objects,bytesPerObject\npods,100000,20000\n";
    let nodes = ["system:node:n-1", "system:node:n-2"].map(|user| get(user, uri, 200));
    let result = report(&log(nodes), without_nodes, "1.24.0");
    let received = total(&result, "received");
    assert_eq!((&result["inventory"]["nodesFrom"], &received["bound"]), (&json!("log"), &json!("at-most")));
    assert_eq!(received["objects"], 100_000, "half of the pods each");
}

#[test]
fn name_selector_on_a_custom_resource_has_an_upper_bound() {
    let inventory = "resource,objects,bytesPerObject\nwidgets.example.com,5000,2000\n";
    let uri = "/apis/example.com/v1/widgets?fieldSelector=metadata.name%3Da";
    let result = report(&log([get("a", uri, 200)]), inventory, "1.24.0");
    let etcd = total(&result, "etcd");
    assert_eq!((&etcd["objects"], &etcd["bound"]), (&json!(5_000), &json!("at-most")));
}
