//! What a gate says and what outputs do where something is wrong with them: a closed reader, a policy file that leads
//! nowhere, filters that pass nothing, two outputs in one file, an output that is an input, a signal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubetoll"));
    command.args(args).current_dir(directory).env_remove("GITHUB_STEP_SUMMARY").env("COLUMNS", "100");
    command
}

/// The exit status and standard error.
fn run(directory: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = command(directory, args).output().expect("the binary runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

fn event(id: usize, user: &str, uri: &str, agent: &str) -> Value {
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": format!("id-{id}"),
        "stage": "ResponseComplete", "verb": "list", "requestURI": uri, "user": {"username": user},
        "sourceIPs": ["10.0.0.1"], "userAgent": agent, "responseStatus": {"code": 200},
        "requestReceivedTimestamp": format!("2026-07-23T10:00:{:02}.000000Z", id % 60),
        "stageTimestamp": format!("2026-07-23T10:00:{:02}.100000Z", id % 60),
    })
}

/// LISTs from etcd by many clients: a report that no pipe holds.
fn log(directory: &Path, clients: usize) {
    let events = (0..clients).map(|id| {
        let user = format!("system:serviceaccount:shop-{id}:poller");
        event(id, &user, "/api/v1/events?labelSelector=a%3Db", "poller/v1").to_string() + "\n"
    });
    fs::write(directory.join("audit.log"), events.collect::<String>()).expect("a log");
}

#[test]
fn the_exit_status_does_not_depend_on_who_reads_the_output() {
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 300);
    let pages =
        ["text", "json", "markdown", "sarif", "junit", "github", "csv=-", "ndjson=-", "json=/dev/stdout"];
    for page in pages {
        let args = [
            "scan",
            "audit.log",
            "--top",
            "9999",
            "--fail-on",
            "etcd-list",
            "--format",
            page,
            "--format",
            "json=after.json",
        ];
        let mut child = command(dir.path(), &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut line = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("a line");
        drop(out);
        drop(child.stderr.take());
        assert_eq!(child.wait().expect("the binary ends").code(), Some(1), "{page}");
        let after = fs::read(dir.path().join("after.json")).expect("the other output");
        serde_json::from_slice::<Value>(&after).expect("whole JSON");
        fs::remove_file(dir.path().join("after.json")).expect("a file");
    }
    let args = ["scan", "audit.log", "--fail-on", "etcd-list", "-o", "-"];
    let mut child =
        command(dir.path(), &args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("the binary ends").code(), Some(1));
    assert!(!dir.path().join("-").exists());
}

#[test]
fn a_dash_is_standard_output() {
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 1);
    let out = |args: &[&str]| {
        let output = command(dir.path(), args).output().expect("the binary runs");
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(out(&["scan", "audit.log", "-o", "-"]).starts_with("input"));
    assert!(out(&["scan", "audit.log", "--format", "json", "-o", "-"]).starts_with('{'));
    assert!(out(&["scan", "audit.log", "--format", "json=-"]).starts_with('{'));
    assert!(out(&["scan", "audit.log", "--format", "csv=-"]).starts_with("schema_version,"));
    assert!(out(&["audit-policy", "-o", "-"]).contains("kind: Policy"));
    for two in [["--format", "json=-", "--format", "text"], ["--format", "json=-", "--format", "csv=-"]] {
        let (code, err) = run(dir.path(), &[["scan", "audit.log"].as_slice(), &two].concat());
        assert_eq!(code, Some(2), "{two:?}");
        assert!(err.contains("standard output"), "{err}");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);
}

#[test]
#[cfg(unix)]
fn a_policy_file_that_leads_nowhere_is_an_error() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 1);
    assert_eq!(run(dir.path(), &["scan", "audit.log"]).0, Some(0), "absent");
    let policy = dir.path().join("kubetoll.yaml");
    let refused = |what: &str| {
        for args in [["scan", "audit.log"].as_slice(), &["rules", "list"]] {
            let (code, err) = run(dir.path(), args);
            assert_eq!(code, Some(2), "{what}");
            assert!(err.contains("kubetoll.yaml"), "{what}: {err}");
        }
    };
    symlink("missing.yaml", &policy).expect("a link");
    refused("a dangling link");
    fs::remove_file(&policy).expect("a link");
    symlink("kubetoll.yaml", &policy).expect("a link");
    refused("a loop");
    fs::remove_file(&policy).expect("a link");
    fs::create_dir(&policy).expect("a directory");
    refused("a directory");
    fs::remove_dir(&policy).expect("a directory");
    fs::write(dir.path().join("real.yaml"), "failOn: [etcd-list]\n").expect("a file");
    symlink("real.yaml", &policy).expect("a link");
    assert_eq!(run(dir.path(), &["scan", "audit.log"]).0, Some(1), "a link to a policy");
}

#[test]
fn filters_that_pass_nothing_are_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 1);
    for bad in [
        ["--after", "2026-07-24", "--before", "2026-07-23"].as_slice(),
        &["--after", "2026-07-23", "--before", "2026-07-23"],
        &["--user", ""],
        &["--user", "alice,"],
        &["--user", "alice", "--user=-alice"],
        &["--namespace", ""],
        &["--namespace=-*"],
        &["--client", ""],
        &["--resource", ""],
        &["--verb", ""],
        &["--verb", "gett"],
        &["--http-status-code", "600"],
        &["--http-status-code", ""],
        &["--http-status-code", "2xx", "--failed-only"],
        &["--select", "KT101", "--ignore", "KT101"],
    ] {
        let (code, err) =
            run(dir.path(), &[["scan", "audit.log", "--fail-on", "etcd-list"].as_slice(), bad].concat());
        assert_eq!(code, Some(2), "{bad:?}: {err}");
        assert!(err.starts_with("error: "), "{bad:?}: {err}");
    }
}

#[test]
fn a_stage_of_feature_gates_decides_as_its_gates() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = |args: &[&str]| {
        let uri = "GET /api/v1/pods";
        let output =
            command(dir.path(), &[&["classify", uri], args].concat()).output().expect("the binary runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().find_map(|line| line.strip_prefix("served from ").map(|from| from.trim().to_owned()))
    };
    let cache = Some("watch-cache-after-revision-check".to_owned());
    let etcd = Some("etcd".to_owned());
    assert_eq!(served(&["--kube-version", "1.30.0"]), etcd);
    assert_eq!(served(&["--kube-version", "1.30.0", "--feature-gate", "AllAlpha=true"]), cache);
    assert_eq!(served(&["--kube-version", "1.32.0", "--feature-gate", "AllBeta=false"]), etcd);
    let own = "AllBeta=false,ConsistentListFromCache=true";
    assert_eq!(served(&["--kube-version", "1.32.0", "--feature-gate", own]), cache);
    assert_eq!(run(dir.path(), &["classify", "/", "--feature-gate", "AllBeta=maybe"]).0, Some(2));
    let (code, err) = run(dir.path(), &["classify", "/", "--feature-gate", "AlBeta=true"]);
    assert!(code == Some(2) && err.contains("AllBeta"), "{err}");
    let (_, err) = run(dir.path(), &["classify", "/", "--etcd-version", "x"]);
    assert!(err.contains("'x' is not an etcd version"), "{err}");
}
