//! Matches of slow reads in etcd's own log with LISTs, on made-up logs.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::event::AuditEvent;

/// A finding for each client and shape.
const RULE: &str = r#"
id: ACME001
name: each-list
summary: LISTs
match: request.verb == "list"
groupBy: [client, shape]
levels:
  info: stats.requests >= 1
message: "{{ client }}: {{ stats.requests }}"
why: It is a test.
fix:
  any: Read less.
"#;

/// A LIST of a ServiceAccount in the namespace `a`, from one second to another.
fn list(client: &str, path: &str, seconds: (u32, u32)) -> String {
    let [received, ended] = [seconds.0, seconds.1].map(|second| u64::from(second) * 1_000_000);
    AuditEvent::new(&format!("{client}-{}", seconds.0), "list", path)
        .by(&format!("system:serviceaccount:a:{client}"), "agent/v1")
        .ip("10.0.0.1")
        .since("2026-03-02T10:00:00Z")
        .at(received, ended - received)
        .value()
        .to_string()
}

/// A slow range read from one second to another; `more` are further fields of the request.
fn slow(prefix: &str, more: &str, bytes: u64, seconds: (u32, u32)) -> String {
    let end = format!("{}0", prefix.trim_end_matches('/'));
    json!({
        "level": "warn", "ts": format!("2026-03-02T10:{:02}:{:02}.000Z", seconds.1 / 60, seconds.1 % 60),
        "caller": "etcdserver/util.go:170", "msg": "apply request took too long",
        "took": format!("{}s", seconds.1 - seconds.0), "prefix": "read-only range ",
        "request": format!("key:\"{prefix}\" range_end:\"{end}\" {more}"),
        "response": format!("range_response_count:900 size:{bytes}"),
    })
    .to_string()
}

fn scan(audit: &[String], etcd: &[String], more: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("rules")).expect("a directory");
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    file("rules/rule.yaml", RULE.to_owned());
    let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .arg("scan")
        .arg(file("audit.log", audit.join("\n")))
        .arg("--etcd-log")
        .arg(file("etcd.log", etcd.join("\n")))
        .arg("--rules")
        .arg(dir.path().join("rules"))
        .args(["--kube-version", "1.30.4", "--select", "ACME001", "--no-progress"])
        .args(more)
        .env("COLUMNS", "100")
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn report(audit: &[String], etcd: &[String]) -> Value {
    serde_json::from_str(&scan(audit, etcd, &["--format", "json"])).expect("JSON")
}

#[test]
fn a_finding_has_the_slow_reads_of_its_own_requests() {
    // One client: one LIST is served from the watch cache, the other is read from etcd.
    let audit = [list("b", "/api/v1/pods?resourceVersion=0", (5, 9)), list("b", "/api/v1/pods", (4, 10))];
    let report = report(&audit, &[slow("/registry/pods/", "", 99, (5, 9))]);
    let findings = report["findings"].as_array().expect("findings").iter();
    let result: Vec<_> = findings
        .map(|one| {
            let shape = one["shape"].as_str().expect("a shape");
            (shape, one["etcdSlow"]["reads"].as_u64(), one["stats"]["etcdSlowReads"].as_u64())
        })
        .collect();
    assert_eq!(result.len(), 2, "{result:?}");
    for (shape, reads, stat) in result {
        let wanted = (!shape.contains("resourceVersion")).then_some(1);
        assert_eq!((reads, stat), (wanted, wanted), "{shape}");
    }
}

/// The slow reads of a resource and kind.
fn requests<'r>(report: &'r Value, resource: &str, kind: &str) -> &'r Value {
    let all = report["etcdLog"]["requests"].as_array().expect("requests");
    all.iter().find(|one| one["resource"] == resource && one["kind"] == kind).expect("such requests")
}

/// The clients that match a resource's slow reads.
fn clients<'r>(report: &'r Value, resource: &str) -> Vec<&'r str> {
    let clients = requests(report, resource, "list")["clients"].as_array().expect("clients").iter();
    clients.map(|one| one["name"].as_str().expect("a name")).collect()
}

#[test]
fn keys_only_reads_match_no_client() {
    let audit = [list("b", "/api/v1/pods", (4, 10))];
    let report = report(&audit, &[slow("/registry/pods/", "keys_only:true ", 99, (5, 9))]);
    assert_eq!(requests(&report, "pods", "keys")["serversOwn"], true);
    assert_eq!(requests(&report, "pods", "keys")["clients"], json!([]));
    assert_eq!(report["findings"][0]["etcdSlow"], Value::Null);
}

#[test]
fn a_page_matches_clients_with_the_same_limit() {
    let audit = [
        list("pager", "/api/v1/pods?limit=500", (4, 10)),
        list("selecting", "/api/v1/pods?limit=500&labelSelector=x%3Dy", (4, 10)),
    ];
    let etcd = [slow("/registry/pods/", "limit:10000 ", 200_000_000, (5, 9))];
    assert_eq!(clients(&report(&audit, &etcd), "pods"), ["a/selecting"]);
    let page = scan(&audit, &etcd, &["--details"]);
    let page: Vec<&str> = page.split_whitespace().collect();
    assert!(page.join(" ").contains("which fills its watch cache in pages of 10,000"));
    let etcd = [slow("/registry/pods/", "limit:500 ", 9, (5, 9))];
    assert_eq!(clients(&report(&audit, &etcd), "pods"), ["a/pager", "a/selecting"]);
}

#[test]
fn a_read_of_a_namespace_matches_lists_of_that_namespace() {
    let audit = [
        list("dev", "/api/v1/namespaces/dev/pods", (4, 10)),
        list("prod", "/api/v1/namespaces/prod/pods", (4, 10)),
        list("selecting", "/api/v1/pods?fieldSelector=metadata.namespace%3Dprod", (4, 10)),
        list("elsewhere", "/api/v1/pods?fieldSelector=metadata.namespace%3Ddev", (4, 10)),
        list("whole", "/api/v1/pods", (4, 10)),
    ];
    let etcd = [slow("/registry/pods/prod/", "", 99, (5, 9))];
    let followed = report(&audit, &etcd);
    assert_eq!(clients(&followed, "pods"), ["a/prod", "a/selecting"]);
    let page = scan(&audit, &etcd, &["--format", "json", "--no-patterns"]);
    let costliest: Value = serde_json::from_str(&page).expect("JSON");
    assert_eq!(clients(&costliest, "pods"), ["a/prod", "a/selecting"]);
}

#[test]
fn further_pages_match_the_namespace_of_the_first() {
    // {"v":"meta.k8s.io/v1","rv":5,"start":"a"}
    let page = "&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0";
    let pages = |client: &str, namespace: &str| {
        let path = format!("/api/v1/namespaces/{namespace}/pods?limit=500");
        [(list(client, &path, (0, 1))), (list(client, &format!("{path}{page}"), (4, 10)))]
    };
    let audit = [pages("dev", "dev"), pages("prod", "prod")].concat();
    let etcd = [slow("/registry/pods/prod/", "limit:500 revision:5 ", 99, (5, 9))];
    assert_eq!(clients(&report(&audit, &etcd), "pods"), ["a/prod"]);
}

#[test]
fn the_worst_read_names_its_own_clients_first() {
    let mut audit: Vec<String> =
        (0..5).map(|n| list("often", "/api/v1/pods", (60 * n, 60 * n + 10))).collect();
    audit.push(list("worst", "/api/v1/pods", (600, 610)));
    audit.push(list("beside", "/api/v1/pods", (604, 605)));
    audit.push(list("once", "/api/v1/pods", (700, 710)));
    let mut etcd: Vec<String> =
        (0..5).map(|n| slow("/registry/pods/", "", 10 + u64::from(n), (60 * n + 1, 60 * n + 9))).collect();
    etcd.push(slow("/registry/pods/", "", 602_251_227, (601, 609)));
    etcd.push(slow("/registry/pods/", "", 7_000, (701, 709)));
    let result = report(&audit, &etcd);
    assert_eq!(clients(&result, "pods"), ["a/worst", "a/beside", "a/once", "a/often"]);
    let all = requests(&result, "pods", "list")["clients"].as_array().expect("clients");
    let of_worst: Vec<_> = all.iter().map(|one| one["ofWorst"].as_str()).collect();
    assert_eq!(of_worst, [Some("covers"), Some("overlaps"), None, None]);
    assert_eq!((&all[0]["coveredBytes"], &all[3]["coveredBytes"]), (&json!(602_251_227), &json!(60)));
    let page = scan(&audit, &etcd, &["--details"]);
    assert!(page.contains("LISTs of a/worst from its begin to its end\n"), "{page}");
}

#[test]
fn resources_of_openshifts_own_server_have_clients() {
    let audit = [list("router", "/apis/route.openshift.io/v1/routes", (4, 10))];
    let etcd = [slow("/openshift.io/routes/", "", 99, (5, 9))];
    assert_eq!(clients(&report(&audit, &etcd), "routes.route.openshift.io"), ["a/router"]);
}

#[test]
fn a_clock_without_a_zone_is_noted() {
    let warning = r#"read-only range request "key:\"/registry/pods/\" range_end:\"/registry/pods0\" " with result "range_response_count:9 size:99" took too long (4s) to execute"#;
    let audit = [list("b", "/api/v1/pods", (4, 10))];
    for (line, without_zone) in [
        (format!("2026-03-02 10:00:09.000000 W | etcdserver: {warning}"), 1),
        (format!("Mar  2 10:00:09 master1 etcd[123]: {warning}"), 1),
        (format!("2026-03-02T10:00:09.1Z stderr F 2026-03-02 10:00:09.000000 W | etcdserver: {warning}"), 0),
        (format!("2026-03-02T10:00:09.000000+00:00 master1 etcd[123]: {warning}"), 0),
    ] {
        let page = scan(&audit, std::slice::from_ref(&line), &["--format", "json", "--year", "2026"]);
        let log = &serde_json::from_str::<Value>(&page).expect("JSON")["etcdLog"];
        assert_eq!((&log["slowRequests"], &log["withoutZone"]), (&json!(1), &json!(without_zone)), "{line}");
        let notes = log["notes"].as_array().expect("notes").iter();
        let said = notes.filter(|note| note.as_str().is_some_and(|note| note.contains("reads as UTC")));
        assert_eq!(said.count() as u64, without_zone, "{line}");
    }
}

#[test]
fn a_warning_in_another_envelope_is_read_or_counted_as_lost() {
    let audit = [list("b", "/api/v1/pods", (4, 10))];
    let zap = slow("/registry/pods/", "", 99, (5, 9));
    let object: Value = serde_json::from_str(&zap).expect("JSON");
    let text = r#"2026-03-02 10:00:09.000000 W | etcdserver: read-only range request \"key:\\\"/registry/pods/\\\" range_end:\\\"/registry/pods0\\\" \" with result \"range_response_count:900 size:99\" took too long (4s) to execute"#;
    let counts = |line: &str| {
        // One complete line makes the file an etcd log.
        let etcd =
            [line.to_owned(), "2026-03-02 10:00:22.000000 I | mvcc: store.index: compact 880".to_owned()];
        let log = &report(&audit, &etcd)["etcdLog"];
        let lost: u64 = log["skipped"].as_object().expect("skipped").values().filter_map(Value::as_u64).sum();
        (log["slowRequests"].as_u64(), log["otherLines"].as_u64(), lost)
    };
    for line in [
        format!("time=\"2026-03-02T10:00:09Z\" level=warning msg=\"{text}\""),
        format!("etcd-master1 etcd {zap}"),
        json!({ "line": zap, "timestamp": "2026-03-02T10:00:09.6Z", "labels": { "app": "etcd" } })
            .to_string(),
        json!({ "preview": false, "result": { "_raw": zap } }).to_string(),
        json!({ "jsonPayload": object, "timestamp": "2026-03-02T10:00:09.6Z" }).to_string(),
    ] {
        assert_eq!(counts(&line), (Some(1), Some(1), 0), "{line}");
    }
    for line in [
        format!("2026-03-02 10:00:09.000000 W | etcdserver: {}", &text[41..]),
        format!("etcd-master1 etcd {}", &zap[..zap.len() - 1]),
    ] {
        assert_eq!(counts(&line), (Some(0), Some(1), 1), "{line}");
    }
}
