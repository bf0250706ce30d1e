//! Gates and outputs under failures: a closed reader, a dangling policy file, filters that pass nothing, two
//! outputs to one file, an output that is an input, and a signal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::event::AuditEvent;

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
    let received = id as u64 % 60 * 1_000_000;
    let id = format!("id-{id}");
    AuditEvent::new(&id, "list", uri).by(user, agent).ip("10.0.0.1").at(received, 100_000).value()
}

/// LISTs from etcd by many clients. The report is larger than a pipe's buffer.
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
    assert!(out(&["scan", "audit.log", "-o", "-"]).starts_with("kubetoll "));
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
fn unreadable_policy_path_is_an_error() {
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

/// Each file's name and content.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
        .expect("the directory")
        .filter_map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name()?.to_string_lossy().into_owned();
            path.is_file().then(|| (name, fs::read(&path).expect("a file")))
        })
        .collect();
    files.sort();
    files
}

#[test]
#[cfg(unix)]
fn two_outputs_in_one_file_are_refused_by_any_spelling() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 1);
    fs::create_dir(dir.path().join("sub")).expect("a directory");
    fs::write(dir.path().join("old"), "old").expect("a file");
    fs::hard_link(dir.path().join("old"), dir.path().join("hard")).expect("a link");
    symlink("old", dir.path().join("soft")).expect("a link");
    symlink("new", dir.path().join("dangling")).expect("a link");
    symlink(".", dir.path().join("here")).expect("a link");
    let absolute = dir.path().join("new").display().to_string();
    let before = files(dir.path());
    for (one, two) in [
        ("new", "new"),
        ("new", "./new"),
        ("new", "sub/../new"),
        ("new", "here/new"),
        ("new", "dangling"),
        ("new", &absolute),
        ("old", "hard"),
        ("old", "soft"),
        ("missing/new", "missing/new"),
    ] {
        for formats in [("json", "text"), ("csv", "markdown"), ("sarif", "ndjson"), ("junit", "github")] {
            let (one, two) = (format!("{}={one}", formats.0), format!("{}={two}", formats.1));
            let (code, err) = run(dir.path(), &["scan", "audit.log", "--format", &one, "--format", &two]);
            assert_eq!(code, Some(2), "{one} {two}: {err}");
            assert!(err.starts_with("error: ") && files(dir.path()) == before, "{one} {two}: {err}");
        }
    }
    let (code, err) =
        run(dir.path(), &["scan", "audit.log", "--format", "json=new", "--format", "text=sub/new"]);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn output_path_that_is_an_input_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 1);
    fs::create_dir_all(dir.path().join("rules/deep")).expect("a directory");
    fs::copy(dir.path().join("audit.log"), dir.path().join("copy.log")).expect("a copy");
    let rule = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/abandoned-list.yaml");
    fs::copy(rule, dir.path().join("rules/deep/own.yaml")).expect("a copy");
    fs::write(dir.path().join("inventory.csv"), "resource,objects,bytesPerObject\npods,10,1000\n")
        .expect("a file");
    fs::write(dir.path().join("kubetoll.yaml"), "{}\n").expect("a file");
    fs::write(dir.path().join("policy.yaml"), "{}\n").expect("a file");
    let etcd = r#"{"level":"warn","ts":"2026-07-23T10:00:00.100Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"312.4ms","expected-duration":"100ms","prefix":"read-only range ","request":"key:\"/registry/pods/\" range_end:\"/registry/pods0\" ","response":"range_response_count:5 size:9"}"#;
    fs::write(dir.path().join("etcd.log"), format!("{etcd}\n")).expect("a file");
    let args = ["scan", "audit.log", "copy.log", "--inventory", "inventory.csv", "--rules", "rules"];
    let args = [args.as_slice(), &["--etcd-log", "etcd.log"]].concat();
    let (code, err) = run(dir.path(), &args);
    assert_eq!(code, Some(0), "{err}");
    let before = files(dir.path());
    let policy = ["--config", "policy.yaml"];
    for (output, more) in [
        ("audit.log", [].as_slice()),
        ("./copy.log", &[]),
        ("inventory.csv", &[]),
        ("rules/deep/own.yaml", &[]),
        ("rules/../kubetoll.yaml", &[]),
        ("policy.yaml", &policy),
        ("etcd.log", &[]),
    ] {
        for to in [["-o".to_owned(), output.to_owned()], ["--format".to_owned(), format!("csv={output}")]] {
            let all = [args.as_slice(), more, &[&to[0], &to[1]]].concat();
            let (code, err) = run(dir.path(), &all);
            assert_eq!(code, Some(2), "{to:?}: {err}");
            let is_no_format = to[0] == "-o" && output.contains(".yaml");
            let why = if is_no_format { "does not write .yaml" } else { "which is read; name another file" };
            assert!(err.contains(why), "{to:?}: {err}");
        }
        let summary = command(dir.path(), &[args.as_slice(), more, &["--format", "github"]].concat())
            .env("GITHUB_STEP_SUMMARY", output)
            .output()
            .expect("the binary runs");
        assert_eq!(summary.status.code(), Some(2), "{output}");
    }
    let twice = command(dir.path(), &["scan", "audit.log", "--format", "github", "--format", "markdown=new"])
        .env("GITHUB_STEP_SUMMARY", "./new")
        .output()
        .expect("the binary runs");
    assert_eq!(twice.status.code(), Some(2));
    assert!(files(dir.path()) == before);
}

#[test]
#[cfg(unix)]
fn log_redirected_by_the_shell_is_not_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 1);
    let before = files(dir.path());
    let file = dir.path().join("audit.log");
    let added = fs::File::options().append(true).open(&file).expect("the log");
    let output = command(dir.path(), &["scan", "audit.log"]).stdout(added).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let read = fs::File::open(&file).expect("the log");
    let output = command(dir.path(), &["scan", "-", "-o", "audit.log"]).stdin(read).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(files(dir.path()) == before);
    let new = fs::File::create(dir.path().join("new")).expect("a file");
    let args = ["scan", "audit.log", "--format", "text", "--format", "json=new"];
    let output = command(dir.path(), &args).stdout(new).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_directory_scan_leaves_out_partial_files() {
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 2);
    let other = event(9, "alice", "/api/v1/pods", "kubectl/v1").to_string();
    fs::write(dir.path().join(".kubetoll-AbC123.partial"), other).expect("a file");
    let (code, err) = run(dir.path(), &["scan", ".", "--format", "json=report"]);
    assert_eq!(code, Some(0), "{err}");
    let report = fs::read(dir.path().join("report")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!((&report["input"]["events"], &report["input"]["files"]), (&json!(2), &json!(1)));
    assert_eq!(report["input"]["notRead"]["count"], 1);
}

/// A run that gets a signal while it writes a table to a slow reader. A partial file is beside the table.
#[cfg(target_os = "linux")]
fn signaled(signal: &str, wrapper: &[&str]) -> (Option<i32>, usize) {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};
    let dir = tempfile::tempdir().expect("a directory");
    log(dir.path(), 5_000);
    let binary = env!("CARGO_BIN_EXE_kubetoll");
    let all = [wrapper, &[binary, "scan", "audit.log", "--format", "json=report", "--no-progress"]].concat();
    let mut child = Command::new(all[0])
        .args(&all[1..])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let partial = || {
        let names = fs::read_dir(dir.path()).expect("the directory").flatten();
        names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".partial")).count()
    };
    let start = Instant::now();
    // The check before the scan also creates a partial file for a moment. Wait for the one that stays.
    let mut seen = 0;
    while seen < 3 && start.elapsed() < Duration::from_mins(1) && child.try_wait().expect("a child").is_none()
    {
        seen = if partial() > 0 { seen + 1 } else { 0 };
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success() || !wrapper.is_empty());
    let status = child.wait().expect("the binary ends");
    (status.signal(), partial())
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_leaves_no_partial_file() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        // A run may end before the signal. Also, a shell starts background jobs with SIGINT ignored.
        let run = || signaled(signal, &["env", "--default-signal"]);
        let ended = (0..5).map(|_| run()).find(|(by, _)| by.is_some());
        assert_eq!(ended, Some((Some(number), 0)), "{signal}");
    }
    assert_eq!(signaled("-HUP", &["nohup"]).0, None, "what is ignored stays so");
}
