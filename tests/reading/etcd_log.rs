//! `kubetoll scan --etcd-log`: the records of etcd's own log, the LISTs that ran at the same time, and the
//! report.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const AUDIT: &str = "fixtures/etcd-logs/audit.jsonl";
const ETCD: &str = "fixtures/etcd-logs/etcd.log";
const FORMS: &str = "fixtures/etcd-logs/forms";

const RULE: &str = r#"
id: ACME001
name: slow-in-etcd
summary: LISTs that etcd itself calls slow
match: request.verb == "list"
groupBy: [client, resource]
levels:
  error: stats.etcdSlowReads >= 3
message: "{{ client }}: {{ stats.etcdSlowReads }} slow reads of {{ resource }}"
why: etcd warns of them.
fix:
  any: Read less.
"#;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .arg("scan")
        .args(args)
        .arg("--no-progress")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", "100")
        .output()
        .expect("the binary runs")
}

fn text(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn report(etcd: &[&str]) -> Value {
    let mut args = vec![AUDIT, "--format", "json", "--year", "2026"];
    for path in etcd {
        args.extend(["--etcd-log", path]);
    }
    serde_json::from_str(&text(&args)).expect("JSON")
}

/// The slow requests of a resource and a kind.
fn requests<'r>(report: &'r Value, resource: &str, kind: &str) -> &'r Value {
    let all = report["etcdLog"]["requests"].as_array().expect("requests");
    all.iter().find(|one| one["resource"] == resource && one["kind"] == kind).expect("such requests")
}

/// The matched clients: name, slow reads, covered reads, and reads that match this client alone.
fn clients(requests: &Value) -> Vec<(&str, [u64; 3])> {
    let clients = requests["clients"].as_array().expect("clients").iter();
    let number = |one: &Value, name: &str| one[name].as_u64().expect("a number");
    clients
        .map(|one| {
            let numbers = ["reads", "covered", "alone"].map(|name| number(one, name));
            (one["name"].as_str().expect("a name"), numbers)
        })
        .collect()
}

#[test]
fn each_etcd_log_format_gives_the_same_report() {
    let mut forms = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(FORMS)).expect("forms") {
        let name = entry.expect("a form").file_name().into_string().expect("UTF-8");
        let report = report(&[&format!("{FORMS}/{name}")]);
        let log = &report["etcdLog"];
        let counts = [&log["slowRequests"], &log["otherLines"], &log["undated"]];
        assert_eq!(counts, [&json!(1), &json!(1), &json!(0)], "{name}");
        assert_eq!(log["skipped"], json!({}), "{name}");
        let pods = requests(&report, "pods", "list");
        assert_eq!(clients(pods), [("ops/pager", [1, 1, 1])], "{name}");
        let worst = &pods["worst"];
        assert_eq!(worst["timestamp"], "2026-03-02T10:00:21.500000Z", "{name}");
        assert_eq!(worst["key"], "/registry/pods/", "{name}");
        let numbers = ["items", "bytes", "limit", "tookMicros"].map(|field| worst[field].as_u64());
        assert_eq!(numbers, [Some(500), Some(5_012_345), Some(500), Some(811_020)], "{name}");
        forms += 1;
    }
    assert_eq!(forms, 18);
}

#[test]
fn slow_reads_match_the_clients_with_lists_at_the_same_time() {
    let report = report(&[ETCD]);
    let pods = requests(&report, "pods", "list");
    // Clients do not match if the watch cache served them, or if their LIST has another limit or scope.
    assert_eq!(
        clients(pods),
        [
            ("monitoring/poller", [3, 3, 2]),
            ("ops/reporter", [1, 1, 0]),
            ("shop/tenant", [1, 1, 1]),
            ("ops/pager", [1, 1, 1]),
        ]
    );
    assert_eq!(pods["withoutClient"], 0);
    let poller = &pods["clients"][0];
    assert_eq!([&poller["items"], &poller["bytes"]], [&json!(60_077), &json!(602_251_227)]);
    assert_eq!([&poller["file"], &poller["line"]], [&json!(ETCD), &json!(5)]);
    let count = requests(&report, "pods", "count");
    assert_eq!((&count["serversOwn"], clients(count)), (&json!(true), vec![]));
    assert_eq!(requests(&report, "pods", "revision-check")["serversOwn"], true);
    assert_eq!(requests(&report, "pods", "write")["serversOwn"], false);
    let failed = requests(&report, "nodes", "get");
    assert_eq!(failed["errors"], json!({ "etcdserver: request timed out": 1 }));
    let log = &report["etcdLog"];
    assert_eq!(log["skipped"], json!({ "truncated": 1 }));
    assert_eq!(log["skippedAt"], json!([{ "reason": "truncated", "file": ETCD, "line": 14 }]));
    assert_eq!(log["foreign"], json!({ "text": 1 }));
    let finding = &report["findings"][0];
    assert_eq!(finding["stats"]["etcdSlowReads"], 3);
    assert_eq!(finding["etcdSlow"]["bytes"], 602_251_227);
}

#[test]
fn costliest_lists_match_slow_reads_without_patterns() {
    let page = text(&[AUDIT, "--etcd-log", ETCD, "--format", "json", "--no-patterns"]);
    let report: Value = serde_json::from_str(&page).expect("JSON");
    let pods = requests(&report, "pods", "list");
    assert_eq!((clients(pods)[0], &pods["withoutClient"]), (("monitoring/poller", [2, 2, 1]), &json!(1)));
}

#[test]
fn a_report_without_etcds_log_has_no_etcd_section() {
    let report = report(&[]);
    assert_eq!((&report["etcdLog"], &report["findings"][0]["etcdSlow"]), (&Value::Null, &Value::Null));
    assert_eq!(report["findings"][0]["stats"].get("etcdSlowReads"), None);
    assert!(!text(&[AUDIT]).contains("etcd says"));
}

#[test]
fn a_rule_may_use_etcds_log() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("rule.yaml"), RULE).expect("a rule");
    let rules = dir.path().to_str().expect("UTF-8");
    let args = [AUDIT, "--rules", rules, "--select", "ACME001", "--fail-on", "error"];
    assert_eq!(run(&args).status.code(), Some(0));
    assert_eq!(run(&[&args[..], &["--etcd-log", ETCD]].concat()).status.code(), Some(1));
}

#[test]
fn etcd_section_of_text_and_markdown_matches_its_snapshots() {
    let page = text(&[AUDIT, "--etcd-log", ETCD, "--details"]);
    let (_, section) = page.split_once("what etcd says").expect("the section");
    let (section, _) = section.split_once("clients without a finding that").expect("the next section");
    let fact: Vec<&str> = page.lines().skip_while(|line| !line.contains("etcd says")).take(3).collect();
    insta::assert_snapshot!("text", format!("{}\n\n{section}", fact.join("\n")));
    let page = text(&[AUDIT, "--etcd-log", ETCD, "--format", "markdown"]);
    let (_, section) = page.split_once("<summary>What etcd says</summary>").expect("the section");
    let (section, _) = section.split_once("</details>").expect("its end");
    let fact = page.lines().find(|line| line.contains("etcd says:")).expect("the fact");
    insta::assert_snapshot!("markdown", format!("{fact}\n{section}"));
}

#[test]
fn etcd_section_of_json_matches_its_snapshot_and_schema() {
    let report = report(&[ETCD]);
    insta::assert_json_snapshot!("json", report["etcdLog"]);
    let schema: Value =
        serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn report_is_independent_of_threads_and_etcd_log_order() {
    let forms = format!("{FORMS}/capnslog.log");
    let one = ["--etcd-log", ETCD, "--etcd-log", &forms, "--threads", "1"];
    let other = ["--threads", "4", "--etcd-log", &forms, "--etcd-log", ETCD];
    let json = |args: &[&str]| text(&[&[AUDIT, "--format", "json"], args].concat());
    assert_eq!(json(&one), json(&other));
}

#[test]
fn duplicate_etcd_logs_count_once_compressed_or_not() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(ETCD)).expect("a log");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &log).expect("memory");
    fs::write(dir.path().join("a.gz"), gzip.finish().expect("memory")).expect("a file");
    fs::write(dir.path().join("b.zst"), zstd::encode_all(&*log, 1).expect("memory")).expect("a file");
    let both = report(&[dir.path().to_str().expect("UTF-8")]);
    let one = report(&[ETCD]);
    assert_eq!(both["etcdLog"]["slowRequests"], 22);
    assert_eq!(both["etcdLog"]["duplicates"], 11);
    let sums = |report: &Value| {
        let all = report["etcdLog"]["requests"].as_array().expect("requests").clone();
        all.into_iter().map(|one| (one["requests"].clone(), one["bytes"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(sums(&both), sums(&one));
}

#[test]
fn a_log_without_slow_requests_is_noted_and_not_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("etcd.log");
    fs::write(&path, "2026-03-02 10:00:22.000000 I | mvcc: store.index: compact 880\n").expect("a file");
    let report = report(&[path.to_str().expect("UTF-8")]);
    let note = report["etcdLog"]["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("etcd's log holds no slow request"), "{note}");
    assert_eq!(report["etcdLog"]["notes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn etcd_log_of_another_time_is_noted() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("etcd.log");
    let log = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(ETCD)).expect("a log");
    fs::write(&path, log.replace("2026-03-02", "2026-04-02")).expect("a file");
    let report = report(&[path.to_str().expect("UTF-8")]);
    let note = report["etcdLog"]["notes"][0].as_str().expect("a note");
    assert!(note.contains("do not overlap in time"), "{note}");
    assert_eq!(clients(requests(&report, "pods", "list")), []);
}

#[test]
fn invalid_etcd_logs_are_errors_of_the_user() {
    let output = run(&[AUDIT, "--etcd-log", AUDIT]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("{AUDIT}: holds no line of etcd's log")), "{message}");
    assert!(!output.stdout.is_empty(), "what the audit log says is told");
    for (path, wanted) in [("missing.log", "missing.log: can't be read"), ("-", "name it once")] {
        let output = run(&[if path == "-" { path } else { AUDIT }, "--etcd-log", path]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{message}");
        assert!(message.contains(wanted), "{message}");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("etcd.log");
    fs::write(&path, "x").expect("a file");
    let path = path.to_str().expect("UTF-8");
    let output = run(&[AUDIT, "--etcd-log", path, "--output", path]);
    assert_eq!(output.status.code(), Some(2), "an output is no log to read");
}
