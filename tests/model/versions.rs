//! The server's version, from the evidence in logs to the report.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;
use proptest::prelude::*;

/// An audit event.
fn event(id: u32, user: &str, agent: &str, verb: &str, uri: &str, code: u16) -> String {
    let received = u64::from(id % 60) * 1_000_000;
    let begin = "2026-01-01T00:00:00Z";
    AuditEvent::new(&id, verb, uri)
        .by(user, agent)
        .code(code)
        .ip("10.0.0.7")
        .since(begin)
        .at(received, 100_000)
        .line()
}

/// Nodes that renew their leases, and a client that lists all pods.
fn cluster(kubelet: &str) -> String {
    let agent = format!("kubelet/v{kubelet} (linux/amd64) kubernetes/0123456");
    let mut log = String::new();
    for node in 0..5 {
        let uri = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n{node}");
        log += &event(node, &format!("system:node:n{node}"), &agent, "update", &uri, 200);
    }
    for id in 10..30 {
        log += &event(id, "alice", "tool/1.0", "list", "/api/v1/pods", 200);
    }
    log
}

fn refused_watch() -> String {
    let uri = "/api/v1/pods?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true";
    event(40, "bob", "tool/1.0", "watch", uri, 422)
}

fn finding<'r>(report: &'r Value, rule: &str) -> Option<&'r Value> {
    report["findings"].as_array().expect("findings").iter().find(|finding| finding["rule"]["id"] == rule)
}

#[test]
fn a_log_with_kubelets_is_judged_by_their_version_and_lists_other_candidates() {
    let log = cluster("1.30.14") + &refused_watch();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let report = dir.report(&["audit.log"]);
    let server = &report["server"];
    assert_eq!(
        [&server["kubeVersion"], &server["versionSource"]],
        [&json!("1.30.14"), &json!("kubelet-user-agent")]
    );
    assert_eq!(server["candidates"], json!({"min": "1.30", "max": "1.33"}));
    let fact = json!({
        "fact": "5 kubelets state 1.30.14", "source": "audit.log",
        "excludes": "1.19 to 1.29 and 1.34 to 1.37",
    });
    assert_eq!(server["evidence"][0], fact);
    let given = |version: &str| dir.report(&["audit.log", "--kube-version", version])["totals"].clone();
    assert_eq!(report["totals"]["etcdLists"], given("1.30.14")["etcdLists"]);
    assert_eq!(given("1.30.14")["byVersion"], json!([]));
    for range in report["totals"]["byVersion"].as_array().expect("ranges") {
        let totals = given(range["max"].as_str().expect("a version"));
        for count in ["etcdLists", "etcdGets", "limitIgnored"] {
            assert_eq!(range[count], totals[count], "{count} of {range}");
        }
    }
    let message = finding(&report, "KT903").expect("a finding")["message"].as_str().expect("text");
    assert!(
        message.contains("1.30: 20 LISTs from etcd; 1.31") && message.contains("--kube-version"),
        "{message}"
    );
    let (_, text, _) = dir.run_with(&["scan", "audit.log", "--no-progress"], b"");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let head =
        "Kubernetes 1.30.14 (from 5 kubelets; 1.30 to 1.31 and 1.33 possible; pass --kube-version to set)";
    assert!(text.contains(head), "{text}");
}

#[test]
fn a_client_cannot_choose_the_version() {
    let agent = |product: &str| format!("{product}/v1.20.0 (linux/amd64) kubernetes/0123456");
    let mut log = cluster("1.34.1");
    for (id, product) in
        (50..).zip(["kube-apiserver", "kubelet", "kube-scheduler", "kube-controller-manager"])
    {
        log += &event(id, "system:serviceaccount:team-a:x", &agent(product), "get", "/api/v1/nodes/n1", 200);
    }
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let report = dir.report(&["audit.log"]);
    assert_eq!(report["server"]["kubeVersion"], "1.34.1");
    assert_eq!(report["server"]["evidence"].as_array().expect("facts").len(), 1);
}

#[test]
fn logs_of_two_servers_have_their_own_versions() {
    let log = |kubelet: &str, user: &str| {
        let log = cluster(kubelet).replace("\"alice\"", &format!("\"{user}\""));
        log.replace("\"auditID\":\"", &format!("\"auditID\":\"{user}-"))
    };
    let (old, new) = (log("1.27.3", "ann"), log("1.34.1", "ben"));
    let dir = Dir::with(&[("old.log", old.as_bytes()), ("new.log", new.as_bytes())]);
    let report = dir.report(&["old.log", "new.log"]);
    assert_eq!(report["server"]["kubeVersions"], json!(["1.27.3", "1.34.1"]));
    assert_eq!(report["totals"]["etcdLists"], 20, "those of the old server");
    assert_eq!(report["server"]["versionsDiffer"], "by-file");
    let note = report["server"]["notes"][0].as_str().expect("a note");
    assert!(
        note.ends_with("kubetoll judges each file by its own: new.log: 1.34.1; old.log: 1.27.3"),
        "{note}"
    );
    let (_, text, _) = dir.run_with(&["scan", "old.log", "new.log", "--no-progress"], b"");
    assert!(text.contains("Kubernetes 1.27.3 (old.log) and 1.34.1 (new.log)"), "{text}");
    assert!(!text.contains("spans an upgrade"), "{text}");
}

/// Access lines of 1.19, and the server's start line.
fn access_log(with_start_line: bool) -> String {
    let mut log = String::new();
    if with_start_line {
        log += "I0302 09:59:58.000000       1 server.go:625] external host was not specified, using 10.0.0.2\n\
                I0302 09:59:58.100000       1 server.go:163] Version: v1.19.4\n";
    }
    for second in 0..20 {
        writeln!(
            log,
            "I0302 10:00:{second:02}.000000       1 httplog.go:89] \"HTTP\" verb=\"GET\" URI=\"/api/v1/pods\" \
             latency=\"2.1ms\" userAgent=\"tool/1.0\" srcIP=\"10.0.0.9:4\" resp=200"
        )
        .expect("a string");
        writeln!(
            log,
            "I0302 10:00:{second:02}.500000       1 httplog.go:89] \"HTTP\" verb=\"PUT\" \
             URI=\"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n{second}?timeout=10s\" \
             latency=\"3.1ms\" userAgent=\"kubelet/v1.19.4 (linux/amd64) kubernetes/0123456\" \
             srcIP=\"10.0.0.{second}:4\" resp=200"
        )
        .expect("a string");
    }
    log
}

#[test]
fn an_access_log_is_judged_by_the_version_in_it() {
    for (with_start_line, source) in [(true, "start-line"), (false, "kubelet-user-agent")] {
        let log = access_log(with_start_line);
        let dir = Dir::with(&[("apiserver.log", log.as_bytes())]);
        let report = dir.report(&["apiserver.log"]);
        let server = &report["server"];
        assert_eq!([&server["kubeVersion"], &server["versionSource"]], [&json!("1.19.4"), &json!(source)]);
        assert_eq!(report["totals"]["etcdLists"], 20);
        let input = &report["input"];
        let count = |value: &Value| value.as_u64().expect("a count");
        let sum = |all: &Value| all.as_object().expect("counts").values().map(count).sum::<u64>();
        assert_eq!(
            count(&input["records"]),
            count(&input["events"]) + sum(&input["foreign"]) + sum(&input["skipped"])
        );
        assert_eq!(input["foreign"], if with_start_line { json!({"start-line": 2}) } else { json!({}) });
    }
}

/// One LIST by a client, and the server's own request, which states its version.
fn log_of_1_34_2() -> String {
    let agent = "kube-apiserver/v1.34.2 (linux/amd64) kubernetes/1";
    event(1, "system:apiserver", agent, "get", "/readyz", 200)
        + &event(2, "alice", "tool/1.0", "list", "/api/v1/pods", 200)
}

#[test]
fn etcds_log_states_etcds_version() {
    let log = log_of_1_34_2();
    let zap = r#"{"level":"info","ts":"2026-01-01T00:00:00.000Z","caller":"embed/etcd.go:308","msg":"starting an etcd server","etcd-version":"3.5.1","git-sha":"e8732fb5f"}"#;
    let capnslog = "2026-01-01 00:00:00.000000 I | etcdmain: etcd Version: 3.4.3";
    let dir = Dir::with(&[
        ("audit.log", log.as_bytes()),
        ("zap.log", format!("{zap}\n").as_bytes()),
        ("capnslog.log", format!("{capnslog}\n").as_bytes()),
    ]);
    for (file, version) in [("zap.log", "3.5.1"), ("capnslog.log", "3.4.3")] {
        let report = dir.report(&["audit.log", "--etcd-log", file]);
        assert_eq!(report["server"]["etcdVersion"], version);
        assert_eq!(report["totals"]["etcdLists"], 1, "etcd is too old for consistent reads from the cache");
    }
    let given = dir.report(&["audit.log", "--etcd-log", "zap.log", "--etcd-version", "3.6.5"]);
    assert_eq!(given["totals"]["etcdLists"], 0);
    let note = given["server"]["notes"][0].as_str().expect("a note");
    assert_eq!(note, "--etcd-version 3.6.5 contradicts etcd's log: a start line states 3.5.1");
}

#[test]
fn etcds_log_among_the_audit_logs_states_etcds_version() {
    let log = log_of_1_34_2();
    let zap = r#"{"level":"info","ts":"2026-01-01T00:00:00.000Z","caller":"embed/etcd.go:308","msg":"starting an etcd server","etcd-version":"3.5.1","git-sha":"e8732fb5f"}"#;
    let console = "2026-01-01T00:00:00.000Z\tINFO\tembed/etcd.go:1\tstarting an etcd server\t{\"etcd-version\":\"3.5.1\"}";
    let capnslog = "2026-01-01 00:00:00.000000 I | etcdmain: etcd Version: 3.5.1";
    let cri = format!("2026-01-01T00:00:00.000000000Z stderr F {zap}");
    for line in [zap, console, capnslog, &cri] {
        let dir = Dir::with(&[
            ("logs/audit.log", log.as_bytes()),
            ("logs/etcd.log", format!("{line}\n").as_bytes()),
        ]);
        for paths in [&["logs"][..], &["logs/audit.log", "logs/etcd.log"]] {
            let report = dir.report(paths);
            let server = &report["server"];
            assert_eq!(server["etcdVersion"], "3.5.1", "{line}");
            assert_eq!(server["etcdEvidence"][0]["fact"], "a start line of etcd states 3.5.1");
            assert_eq!(server["etcdEvidence"][0]["source"], "logs/etcd.log");
            assert_eq!(
                report["totals"]["etcdLists"], 1,
                "etcd is too old for consistent reads from the cache"
            );
            assert_eq!(report["input"]["foreign"], json!({"etcd-start-line": 1}));
        }
    }
    let newer = zap.replace("3.5.1", "3.6.5");
    let dir = Dir::with(&[
        ("audit.log", log.as_bytes()),
        ("a.log", format!("{zap}\n").as_bytes()),
        ("b.log", format!("{newer}\n").as_bytes()),
    ]);
    for given in [&["audit.log", "a.log", "b.log"][..], &["audit.log", "b.log", "--etcd-log", "a.log"]] {
        let server = dir.report(given)["server"].take();
        let facts: Vec<&Value> = server["etcdEvidence"].as_array().expect("facts").iter().collect();
        assert_eq!(facts.len(), 2, "{facts:?}");
        let note = server["notes"][0].as_str().expect("a note");
        assert!(note.starts_with("etcd's log states 3.5.1 (a.log) and 3.6.5 (b.log)"), "{note}");
        assert_eq!(server["etcdVersion"], "3.5.1");
    }
}

#[test]
fn contradictions_without_a_finding_have_a_note() {
    let watch = |id| {
        let uri = "/api/v1/pods?resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true";
        event(id, "bob", "tool/1.0", "watch", uri, 200)
    };
    let dir = Dir::with(&[("audit.log", (watch(1) + &watch(2)).as_bytes())]);
    let report = dir.report(&["audit.log", "--kube-version", "1.30.14"]);
    assert_eq!(report["totals"]["observed"]["contradict"], 2);
    let notes = report["server"]["notes"].to_string();
    assert!(notes.contains("2 requests contradict their verdicts: watch /api/v1/pods?"), "{notes}");
    assert!(notes.contains("(2: served, although Kubernetes 1.30.14 refuses it)"), "{notes}");
    let (_, text, _) =
        dir.run_with(&["scan", "audit.log", "--no-progress", "--kube-version", "1.30.14"], b"");
    assert!(text.contains("2 requests contradict their verdicts"), "{text}");
    let right = dir.report(&["audit.log", "--kube-version", "1.34.2"]);
    assert_eq!(right["server"]["notes"], json!([]));
}

#[test]
fn contradictions_of_a_finding_have_no_note_in_any_format() {
    let uri = "/api/v1/pods?resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true";
    let mut log = String::new();
    for id in 0..300 {
        log += &event(id, &format!("client-{}", id % 60), "tool/1.0", "watch", uri, 200);
    }
    let policy = "suppressions:\n  - {rule: KT902, client: 'client-*', reason: known, expires: 2999-01-01}\n";
    for policy in ["", policy] {
        let dir = Dir::with(&[("audit.log", log.as_bytes()), ("kubetoll.yaml", policy.as_bytes())]);
        let args = ["audit.log", "--kube-version", "1.30.14"];
        let report = dir.report(&args);
        assert_eq!(report["totals"]["observed"]["contradict"], 300);
        let suppressed = report["policy"]["suppressed"].as_array().expect("a list").len();
        assert_eq!(suppressed, if policy.is_empty() { 0 } else { 60 });
        let notes = report["server"]["notes"].to_string();
        assert!(!notes.contains("contradict their verdicts"), "{notes}");
        for format in ["text", "markdown"] {
            let (_, text, errors) =
                dir.run_with(&[&["scan", "--no-progress", "--format", format][..], &args[..]].concat(), b"");
            assert!(text.len() > 200, "{format}: {errors}");
            assert!(!text.contains("contradict their verdicts"), "{format}: {text}");
        }
    }
}

#[test]
fn sparse_evidence_leaves_a_set_with_the_true_version() {
    let agent = |product: &str| format!("{product}/v1.29.3 (linux/amd64) kubernetes/0123456");
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";
    let list = event(9, "alice", "tool/1.0", "list", "/api/v1/pods", 200);
    let ignored = "/api/v1/pods?sendInitialEvents=true&watch=true";
    for (line, version, source, min, max) in [
        (
            event(1, "system:node:n1", &agent("kubelet"), "update", lease, 200),
            "1.29.3",
            "kubelet-user-agent",
            "1.29",
            "1.32",
        ),
        (
            event(
                1,
                "system:kube-controller-manager",
                &agent("kube-controller-manager"),
                "list",
                "/api/v1/pods",
                200,
            ),
            "1.29.3",
            "control-plane-user-agent",
            "1.29",
            "1.30",
        ),
        (refused_watch(), "1.33", "newest-possible", "1.19", "1.33"),
        (event(1, "bob", "tool/1.0", "watch", ignored, 200), "1.26", "newest-possible", "1.19", "1.26"),
        (String::new(), "1.37", "newest-known", "1.19", "1.37"),
    ] {
        let dir = Dir::with(&[("audit.log", (line + &list).as_bytes())]);
        let report = dir.report(&["audit.log"]);
        let server = &report["server"];
        assert_eq!([&server["kubeVersion"], &server["versionSource"]], [version, source]);
        assert_eq!(server["candidates"], json!({"min": min, "max": max}));
        let totals = report["totals"]["byVersion"].as_array().expect("ranges");
        // Up to 1.30 all versions read the LIST from etcd.
        let is_certain = ["1.26", "1.30"].contains(&max);
        assert_eq!(totals.is_empty(), is_certain, "{totals:?}");
        assert_eq!(finding(&report, "KT903").is_none(), is_certain);
    }
}

#[test]
fn totals_by_version_count_request_received_events() {
    let log = cluster("1.30.14").replace("ResponseComplete", "RequestReceived");
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let report = dir.report(&["audit.log"]);
    let lists: Vec<u64> = report["totals"]["byVersion"]
        .as_array()
        .expect("ranges")
        .iter()
        .map(|range| range["etcdLists"].as_u64().expect("a count"))
        .collect();
    assert_eq!(lists.first(), Some(&20));
    assert!(lists.contains(&0), "{lists:?}");
}

/// The lines of one server of a cluster, each with its second: nodes, the server's own client if `with_loopback`, a
/// client with sendInitialEvents, and one that lists all pods every second.
fn server_log(
    version: &str,
    name: &str,
    seconds: std::ops::Range<u32>,
    with_loopback: bool,
) -> Vec<(u32, String)> {
    let agent = |product: &str| format!("{product}/v{version} (linux/amd64) kubernetes/0123456");
    let is_new = version.starts_with("1.34");
    let mut lines = Vec::new();
    for second in seconds {
        let mut line = |kind: &str, user: &str, agent: &str, verb: &str, uri: &str, code: u16| {
            let event =
                AuditEvent::new(&format!("{name}-{second}-{kind}"), verb, uri).by(user, agent).code(code);
            let received = u64::from(second) * 1_000_000;
            let event = event.ip("10.0.0.7").since("2026-01-01T00:00:00Z").at(received, 100_000);
            lines.push((second, event.line()));
        };
        let node = second % 7;
        let lease = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n{node}");
        line("lease", &format!("system:node:n{node}"), &agent("kubelet"), "update", &lease, 200);
        line("list", "alice", "tool/1.0", "list", "/api/v1/pods", 200);
        let watch = "/api/v1/pods?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&\
                     sendInitialEvents=true&watch=true";
        line("watch", "bob", "tool/1.0", "watch", watch, if is_new { 200 } else { 422 });
        if with_loopback {
            line(
                "ready",
                "system:apiserver",
                &agent("kube-apiserver"),
                "get",
                "/api/v1/namespaces/default",
                200,
            );
        }
    }
    lines
}

fn joined(mut lines: Vec<(u32, String)>) -> String {
    lines.sort_by_key(|(second, _)| *second);
    lines.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn a_log_of_two_servers_gives_the_totals_of_both() {
    for with_loopback in [true, false] {
        let mut lines = server_log("1.30.14", "a", 0..120, with_loopback);
        lines.extend(server_log("1.34.2", "b", 0..120, with_loopback));
        let dir = Dir::with(&[("audit.log", joined(lines).as_bytes())]);
        let report = dir.report(&["audit.log"]);
        let server = &report["server"];
        assert_eq!(server["versionsDiffer"], "at-the-same-time");
        assert_eq!(server["kubeVersions"], json!(["1.30.14", "1.34.2"]));
        let ranges = report["totals"]["byVersion"].as_array().expect("ranges");
        let lists: Vec<u64> = ranges.iter().filter_map(|range| range["etcdLists"].as_u64()).collect();
        assert_eq!((lists.first(), lists.last()), (Some(&240), Some(&0)), "{ranges:?}");
        for (one, version) in server["servers"].as_array().expect("servers").iter().zip(["1.30.14", "1.34.2"])
        {
            let evidence = one["evidence"].to_string();
            assert!(evidence.contains(&format!("7 kubelets state {version}")), "{evidence}");
            assert_eq!(one["source"], "audit.log");
        }
        let message = finding(&report, "KT903").expect("a finding")["message"].as_str().expect("text");
        assert!(message.ends_with("Scan the logs of different servers separately."), "{message}");
        assert!(message.contains("--kube-version"), "{message}");
        let (_, text, _) = dir.run_with(&["scan", "audit.log", "--no-progress"], b"");
        assert!(text.contains("Kubernetes 1.30.14 and 1.34.2 (both in one log"), "{text}");
        assert!(!text.contains("spans an upgrade"), "{text}");
    }
}

#[test]
fn an_upgrade_is_a_change_in_time() {
    for with_loopback in [true, false] {
        let mut lines = server_log("1.30.14", "a", 0..120, with_loopback);
        lines.extend(server_log("1.34.2", "b", 120..300, with_loopback));
        let dir = Dir::with(&[("audit.log", joined(lines).as_bytes())]);
        let report = dir.report(&["audit.log"]);
        assert_eq!(report["server"]["versionsDiffer"], "over-time");
        assert_eq!(report["totals"]["etcdLists"], 120, "those of the old server");
        let note = report["server"]["notes"][0].as_str().expect("a note");
        assert!(note.starts_with("the log spans an upgrade, 1.30.14, then 1.34.2"), "{note}");
    }
}

#[test]
fn a_gradual_upgrade_is_judged_by_time_outside_of_the_overlap() {
    let mut lines = server_log("1.30.14", "a", 0..140, true);
    lines.extend(server_log("1.34.2", "b", 120..300, true));
    for is_backwards in [false, true] {
        let mut log: Vec<String> = joined(lines.clone()).split_inclusive('\n').map(str::to_owned).collect();
        if is_backwards {
            log.reverse();
        }
        let dir = Dir::with(&[("audit.log", log.concat().as_bytes())]);
        let report = dir.report(&["audit.log"]);
        assert_eq!(report["server"]["versionsDiffer"], "over-time");
        assert_eq!(report["totals"]["etcdLists"], 120, "those before the overlap");
        let notes = report["server"]["notes"].to_string();
        let note =
            "an upgrade from 1.30.14 to 1.34.2 between 2026-01-01 00:02:00 UTC and 2026-01-01 00:02:19 UTC";
        assert!(notes.contains(note), "{notes}");
        // The 40 LISTs of the overlap may have been read from etcd.
        let ranges = report["totals"]["byVersion"].as_array().expect("ranges");
        let lists: Vec<u64> = ranges.iter().filter_map(|range| range["etcdLists"].as_u64()).collect();
        assert_eq!((lists.first(), lists.last()), (Some(&160), Some(&120)), "{ranges:?}");
    }
}

#[test]
fn files_of_two_servers_at_the_same_time_are_not_an_upgrade() {
    for with_loopback in [true, false] {
        let old = joined(server_log("1.30.14", "a", 0..120, with_loopback));
        let new = joined(server_log("1.34.2", "b", 0..120, with_loopback));
        let dir = Dir::with(&[("old.log", old.as_bytes()), ("new.log", new.as_bytes())]);
        for files in [["old.log", "new.log"], ["new.log", "old.log"]] {
            let report = dir.report(&files);
            assert_eq!(report["server"]["versionsDiffer"], "by-file");
            assert_eq!(report["totals"]["etcdLists"], 120, "those of the old server");
            assert_eq!(finding(&report, "KT903").is_none(), with_loopback, "a stated version is certain");
            let note = report["server"]["notes"][0].as_str().expect("a note");
            assert!(note.ends_with("new.log: 1.34.2; old.log: 1.30.14"), "{note}");
        }
    }
}

#[test]
fn hostile_names_of_files_are_escaped() {
    let old = joined(server_log("1.30.14", "a", 0..9, true));
    let new = joined(server_log("1.34.2", "b", 0..9, true));
    let dir = Dir::with(&[("a\u{1b}[31m.log", old.as_bytes()), ("b\u{202e}.log", new.as_bytes())]);
    let (_, text, _) = dir.run_with(&["scan", ".", "--no-progress", "--color", "never"], b"");
    assert!(text.contains("a\\u{1b}[31m.log: 1.30.14; ./b\\u{202e}.log: 1.34.2"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_order_of_the_lines_of_two_servers_gives_the_same_report(
        keys in prop::collection::vec(any::<u32>(), 240),
        cut in 1_usize..239,
        threads in 1_u8..4,
        with_loopback: bool,
    ) {
        let mut lines = server_log("1.30.14", "a", 0..60, with_loopback);
        lines.extend(server_log("1.34.2", "b", 0..60, with_loopback));
        let ordered = joined(lines.clone());
        let mut shuffled: Vec<(u32, String)> =
            keys.iter().cycle().copied().zip(lines.into_iter().map(|(_, line)| line)).collect();
        shuffled.sort_unstable();
        let shuffled: Vec<String> = shuffled.into_iter().map(|(_, line)| line).collect();
        let dir = Dir::with(&[
            ("ordered.log", ordered.as_bytes()),
            ("shuffled.log", shuffled.concat().as_bytes()),
        ]);
        let threads = threads.to_string();
        let of = |file: &str| {
            let mut report = dir.report(&[file, "--threads", &threads]);
            let text = report["server"].take().to_string().replace(file, "LOG");
            (text, report["totals"]["byVersion"].take(), report["totals"]["etcdLists"].take())
        };
        prop_assert_eq!(of("ordered.log"), of("shuffled.log"));
        // Each file is a part of the log, so each also shows two servers.
        let (left, right) = shuffled.split_at(cut.clamp(60, 180));
        let parts = Dir::with(&[("a.log", left.concat().as_bytes()), ("b.log", right.concat().as_bytes())]);
        let one = parts.report(&["a.log", "b.log", "--threads", &threads]);
        let other = parts.report(&["b.log", "a.log"]);
        prop_assert_eq!(&one["server"], &other["server"]);
        prop_assert_eq!(&one["totals"], &other["totals"]);
        prop_assert_eq!(&one["server"]["versionsDiffer"], "at-the-same-time");
    }
}
