//! `--inventory`: a worked example, the inventory's formats, and the basis that the report names.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

const INVENTORY: &str = "resource,objects,bytesPerObject\npods,100000,20000\nnodes,4000,5000\n";

/// LISTs of pods, each by another node's agent, a second apart.
fn agents(count: u32, query: &str) -> String {
    let list = |number: u32| Request {
        user: "system:serviceaccount:monitoring:node-agent",
        uri: format!("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-{number}{query}"),
        second: number % 50,
        status: 200,
        number,
    };
    (0..count).map(|number| list(number).line()).collect()
}

struct Request<'a> {
    user: &'a str,
    uri: String,
    second: u32,
    status: u16,
    number: u32,
}

impl Request<'_> {
    fn line(&self) -> String {
        let Self { user, uri, second, status, number } = self;
        let verb = if uri.contains("watch=") {
            "watch"
        } else if uri.contains("/p-") {
            "get"
        } else {
            "list"
        };
        let received = u64::from(*second) * 1_000_000;
        let id = number.to_string();
        let mut event =
            AuditEvent::new(&id, verb, uri).by(user, "agent/v1.0.0").code(*status).at(received, 0).value();
        event["user"]["extra"] = json!({"authentication.kubernetes.io/pod-name": [format!("pod-{number}")]});
        format!("{event}\n")
    }
}

fn log(requests: &[(&str, &str, u16)]) -> String {
    let mut log = String::new();
    for (index, (user, uri, status)) in requests.iter().enumerate() {
        let number = u32::try_from(index).expect("few");
        let request = Request { user, uri: (*uri).to_owned(), second: 1, status: *status, number };
        log.push_str(&request.line());
    }
    log
}

fn report(log: &str, inventory: &str, version: &str) -> Value {
    let dir = Dir::with(&[("audit.log", log.as_bytes()), ("inventory", inventory.as_bytes())]);
    dir.report(&["audit.log", "--inventory", "inventory", "--kube-version", version])
}

/// Objects, bytes and their bound.
fn amount(work: &Value, of: &str) -> (u64, u64, String) {
    let amount = &work[of];
    let number = |name: &str| amount[name].as_u64().expect("a number");
    (number("objects"), number("bytes"), amount["bound"].as_str().expect("a bound").to_owned())
}

fn exact(objects: u64, bytes: u64) -> (u64, u64, String) {
    (objects, bytes, "exact".to_owned())
}

#[test]
fn an_agent_per_node_makes_etcd_read_all_pods_for_its_own() {
    let agents = agents(4_000, "");
    let report = report(&agents, INVENTORY, "1.24.3");
    let client = &report["clients"][0];
    let shape = &client["shapes"][0];
    assert_eq!(shape["cost"]["basis"], "inventory");
    let one = &shape["cost"]["perRequest"];
    assert_eq!(amount(one, "etcd"), exact(100_000, 2_000_000_000));
    assert_eq!(amount(one, "decoded"), exact(100_000, 2_000_000_000));
    assert_eq!(amount(one, "filtered"), exact(100_000, 2_000_000_000));
    assert_eq!(amount(one, "received"), (25, 500_000, "mean".to_owned()));
    assert_eq!(one["seats"], 10);
    let all = &client["cost"]["total"];
    assert_eq!(amount(all, "etcd"), exact(400_000_000, 8_000_000_000_000));
    assert_eq!(amount(all, "received"), (100_000, 2_000_000_000, "mean".to_owned()));
    assert_eq!(client["cost"]["peak"]["etcdBytes"], 8_000_000_000_000_u64);
    assert_eq!(client["cost"]["peak"]["at"], "2026-07-23T10:00:00.000000Z");
    assert_eq!(report["totals"]["cost"]["total"], client["cost"]["total"]);
    let minutes = client["cost"]["minutes"].as_array().expect("minutes");
    assert_eq!((minutes.len(), &minutes[0]), (1, &client["cost"]["peak"]));
    assert_eq!(client["cost"]["lowerBound"], false);
    assert_eq!(report["ranking"]["basis"], "inventory");
    assert_eq!(report["inventory"]["nodes"], 4_000);
    assert_eq!(report["inventory"]["lacks"], json!([]));
}

#[test]
fn simultaneous_lists_of_all_nodes_are_a_herd_with_total_cost() {
    let report = report(&agents(4_000, ""), INVENTORY, "1.24.3");
    let findings = report["findings"].as_array().expect("findings");
    let herd = findings.iter().find(|finding| finding["rule"]["name"] == "node-herd").expect("a herd");
    assert_eq!((&herd["severity"], &herd["stats"]["herdInstances"]), (&json!("error"), &json!(4_000)));
    let greatest = &herd["pattern"]["herds"]["greatest"][0];
    assert_eq!((&greatest["instances"], &greatest["requests"]), (&json!(4_000), &json!(4_000)));
    assert_eq!(greatest["etcdBytes"], 8_000_000_000_000_u64);
    assert_eq!(greatest["receivedBytes"], 2_000_000_000_u64);
}

#[test]
fn with_resource_version_0_etcd_reads_nothing() {
    let report = report(&agents(40, "&resourceVersion=0"), INVENTORY, "1.24.3");
    let one = &report["clients"][0]["shapes"][0]["cost"]["perRequest"];
    assert_eq!(amount(one, "etcd"), exact(0, 0));
    assert_eq!(amount(one, "decoded"), exact(0, 0));
    assert_eq!(amount(one, "filtered"), (25, 500_000, "mean".to_owned()), "by the index");
    assert_eq!(amount(one, "received"), (25, 500_000, "mean".to_owned()));
    assert_eq!(report["totals"]["cost"]["peak"], Value::Null);
}

#[test]
fn seats_depend_on_the_server_version() {
    for (version, seats) in [("1.22.0", 1), ("1.24.3", 10), ("1.30.4", 10), ("1.36.2", 10)] {
        let report = report(&agents(1, ""), INVENTORY, version);
        assert_eq!(report["clients"][0]["shapes"][0]["cost"]["perRequest"]["seats"], seats, "{version}");
    }
    let exact = log(&[("a", "/api/v1/pods?resourceVersion=9&resourceVersionMatch=Exact", 200)]);
    let report = report(&exact, INVENTORY, "1.36.2");
    assert_eq!(report["totals"]["cost"]["total"]["maxSeats"], 100);
}

#[test]
fn clients_are_ranked_by_cost_and_missing_resources_are_listed() {
    // Many cheap requests of one client, one expensive request of another, and a resource that the inventory
    // lacks.
    let mut requests = vec![("cheap", "/api/v1/namespaces/a/pods/p-1", 200); 200];
    requests.push(("dear", "/api/v1/pods", 200));
    requests.extend([("unknown", "/api/v1/secrets", 200), ("unknown", "/api/v1/pods?limit=10", 200)]);
    requests.push(("refused", "/api/v1/pods", 403));
    let report = report(&log(&requests), INVENTORY, "1.24.3");
    let names = |report: &Value| -> Vec<String> {
        let clients = report["clients"].as_array().expect("clients").iter();
        clients.map(|client| client["identity"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&report), ["dear", "cheap", "unknown", "refused"]);
    let bounds: Vec<bool> = report["clients"]
        .as_array()
        .expect("clients")
        .iter()
        .map(|client| client["cost"]["lowerBound"].as_bool().expect("a boolean"))
        .collect();
    assert_eq!(bounds, [false, false, true, false]);
    let unknown = &report["clients"][2]["cost"]["total"]["etcd"];
    assert_eq!((&unknown["objects"], &unknown["unknownRequests"]), (&json!(10), &json!(1)));
    assert_eq!(amount(&report["clients"][3]["cost"]["total"], "etcd"), exact(0, 0), "403 reads nothing");
    assert_eq!(
        report["inventory"]["lacks"],
        json!([{"resource": "secrets", "lacks": "objects", "requests": 1, "near": null}])
    );
    let ranking = &report["ranking"];
    assert_eq!((&ranking["unit"], &ranking["handledUnit"]), (&json!("objects"), &json!("bytes")));
    assert_eq!(ranking["by"][0], "load");
}

#[test]
fn cost_without_an_inventory_states_its_basis() {
    let log = log(&[
        ("a", "/api/v1/pods?limit=500", 200),
        ("a", "/api/v1/pods?limit=500", 200),
        ("a", "/api/v1/pods", 200),
    ]);
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let report = dir.report(&["audit.log", "--kube-version", "1.24.3"]);
    let shapes = report["clients"][0]["shapes"].as_array().expect("shapes");
    let of = |parameters: &str| {
        let shape = shapes.iter().find(|shape| shape["parameters"] == parameters).expect("the shape");
        &shape["cost"]
    };
    let (paged, whole) = (of("limit=500"), of(""));
    assert_eq!((&paged["basis"], &whole["basis"]), (&json!("page-limits"), &json!("latency")));
    assert_eq!(paged["perRequest"]["received"]["objects"], 500);
    assert_eq!(paged["total"]["received"]["objects"], 1_000);
    assert_eq!(paged["total"]["received"]["bound"], "at-most");
    assert_eq!((&whole["total"], &report["clients"][0]["cost"]["basis"]), (&Value::Null, &json!("latency")));
    assert_eq!((&report["ranking"]["basis"], &report["inventory"]), (&json!("latency"), &Value::Null));
}

#[test]
fn rules_judge_by_the_inventory() {
    let log: String = log(&[("system:serviceaccount:a:b", "/api/v1/pods", 200); 6]);
    let dir = Dir::with(&[("audit.log", log.as_bytes()), ("inventory.csv", INVENTORY.as_bytes())]);
    let finding = |args: &[&str]| {
        let mut all = vec!["audit.log", "--kube-version", "1.24.3", "--select", "KT106"];
        all.extend(args);
        dir.report(&all)["findings"].as_array().expect("findings").first().cloned()
    };
    assert_eq!(finding(&[]), None, "they were quick");
    let finding = finding(&["--inventory", "inventory.csv"]).expect("a finding");
    assert_eq!(finding["severity"], "error");
    assert_eq!(
        finding["message"],
        "a/b LISTs pods from etcd without a limit 6 times, 100,000 objects each by the inventory"
    );
    let stats = &finding["stats"];
    assert_eq!((&stats["etcdObjects"], &stats["etcdBytes"]), (&json!(600_000), &json!(12_000_000_000_u64)));
    assert_eq!((&stats["receivedBytes"], &stats["seats"]), (&json!(12_000_000_000_u64), &json!(10)));
    assert_eq!(finding["cost"]["perRequest"]["etcd"]["bytes"], 2_000_000_000);
}

#[test]
fn real_metrics_are_read_compressed_or_not() {
    for version in ["1.31", "1.35"] {
        let dir = Dir::with(&[("audit.log", agents(1, "").as_bytes())]);
        let file = format!("{}/fixtures/inventory/metrics-{version}.txt.gz", env!("CARGO_MANIFEST_DIR"));
        let report = dir.report(&["audit.log", "--inventory", &file, "--kube-version", "1.24.3"]);
        let files = &report["inventory"]["files"][0];
        assert_eq!((&files["format"], files["resources"].as_u64() > Some(45)), (&json!("metrics"), true));
        let expected = if version == "1.31" { 22 } else { 21 };
        assert_eq!(report["totals"]["cost"]["total"]["etcd"]["objects"], expected);
    }
}

#[test]
fn inventory_without_sizes_gives_objects_and_no_lower_bound() {
    let dir = Dir::with(&[
        ("audit.log", agents(2, "").as_bytes()),
        ("metrics", b"etcd_object_counts{resource=\"pods\"} 500\n"),
    ]);
    let args = ["audit.log", "--inventory", "metrics", "--kube-version", "1.24.3"];
    let report = dir.report(&args);
    let cost = &report["clients"][0]["cost"];
    let etcd = &cost["total"]["etcd"];
    assert_eq!((&etcd["objects"], &etcd["bytes"]), (&json!(1_000), &Value::Null));
    assert_eq!((&etcd["unknownRequests"], &etcd["unsizedRequests"]), (&json!(0), &json!(2)));
    assert_eq!((&cost["lowerBound"], &report["inventory"]["hasSizes"]), (&json!(false), &json!(false)));
    assert_eq!(report["ranking"]["handledUnit"], "objects");
    let text = dir.text(&[&args[..], &["--details"]].concat());
    assert!(
        text.contains("1,000 obj.") && text.contains("the inventory has no sizes") && !text.contains('≥'),
        "{text}"
    );
}

#[test]
fn inventory_files_complement_each_other() {
    let dir = Dir::with(&[
        ("audit.log", agents(1, "").as_bytes()),
        ("metrics", b"apiserver_storage_objects{resource=\"pods\"} 500\n"),
        ("sizes.yaml", b"pods: {bytesPerObject: 3000}\nnodes: {objects: 5}\n"),
    ]);
    let args =
        ["audit.log", "--inventory", "metrics", "--inventory", "sizes.yaml", "--kube-version", "1.24.3"];
    let report = dir.report(&args);
    let one = &report["clients"][0]["shapes"][0]["cost"]["perRequest"];
    assert_eq!(amount(one, "etcd"), exact(500, 1_500_000));
    assert_eq!(amount(one, "received"), (100, 300_000, "mean".to_owned()));
}

#[test]
fn inventory_text_cannot_drive_the_terminal() {
    let dir = Dir::with(&[("audit.log", b""), ("a.csv", b"resource,objects\nx\x1b[2J,5\n")]);
    let (status, _, err) = dir.run_with(&["scan", "audit.log", "--inventory", "a.csv"], b"");
    assert_eq!(status, Some(2));
    assert!(err.contains("x\\u{1b}[2J"), "{err}");
}

#[test]
fn inventory_errors_are_reported_before_the_scan() {
    let dir = Dir::with(&[
        ("audit.log", b"no log at all"),
        ("a.csv", b"resource,objects\npods,-1\nPods,2\n"),
        ("b.yaml", b"pods: {objects: x}\n"),
        ("empty", b""),
    ]);
    let run = |files: &[&str]| {
        let mut args = vec!["scan", "audit.log"];
        for file in files {
            args.extend(["--inventory", file]);
        }
        let (status, out, err) = dir.run_with(&args, b"");
        assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
        err
    };
    let err = run(&["a.csv", "b.yaml"]);
    for place in [
        "a.csv:2:6: objects is '-1'",
        "a.csv:3:1: 'Pods' is not a resource name",
        "b.yaml:1:17: objects is 'x'",
    ] {
        assert!(err.contains(place), "{err}");
    }
    assert!(run(&["missing"]).contains("missing: can't be read as an inventory"));
    assert!(run(&["-"]).contains("not standard input"));
    assert!(run(&["empty"]).contains("empty:1:1:"));
    assert!(run(&["audit.log"]).contains("an inventory is"));
}

#[test]
fn text_report_shows_the_cost_and_its_basis() {
    let mut many = agents(60, "");
    write!(many, "{}", log(&[("b", "/api/v1/secrets", 200)])).expect("a String");
    let dir = Dir::with(&[("audit.log", many.as_bytes()), ("inventory.csv", INVENTORY.as_bytes())]);
    for (format, option) in [("text", "--details"), ("markdown", "--format=markdown")] {
        let args = ["audit.log", "--inventory", "inventory.csv", "--kube-version", "1.24.3", option];
        let page = dir.text(&args).split_whitespace().collect::<Vec<_>>().join(" ");
        for text in ["2.0 GB", "120 GB", "100,000 objects", "500 kB", "10 seats", "secrets"] {
            assert!(page.contains(text), "{format} lacks {text}: {page}");
        }
    }
    let args = ["audit.log", "--inventory", "inventory.csv", "--kube-version", "1.24.3", "--details"];
    let text = dir.text(&args);
    assert!(text.contains("most load first (objects that the apiserver handled, and writes)"), "{text}");
}
