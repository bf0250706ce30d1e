//! The command line: exit status, messages, outputs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

fn kubetoll(args: &[&str], directory: &Path, stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(args)
        .current_dir(directory)
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // A child that fails early closes its input.
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    child.wait_with_output().expect("the binary ends")
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, bytes).expect("a file");
        }
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = kubetoll(args, self.path(), b"");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn json(&self, args: &[&str]) -> Value {
        let mut all = vec!["scan", "--format", "json", "--no-progress"];
        all.extend(args);
        let (code, out, err) = self.run(&all);
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str(&out).expect("JSON")
    }
}

/// An event as the apiserver writes it.
struct Event<'a> {
    id: &'a str,
    stage: &'a str,
    verb: &'a str,
    uri: &'a str,
    user: &'a str,
    agent: &'a str,
    code: u16,
    second: u32,
}

const EVENT: Event<'static> = Event {
    id: "1",
    stage: "ResponseComplete",
    verb: "list",
    uri: "/api/v1/pods",
    user: "system:serviceaccount:monitoring:poller",
    agent: "poller/v1.2.3 (linux/amd64) kubernetes/abcdef0",
    code: 200,
    second: 0,
};

impl Event<'_> {
    fn line(&self) -> String {
        let Self { id, stage, verb, uri, user, agent, code, second } = self;
        let uri = uri.replace('&', "\\u0026");
        let agent = serde_json::to_string(agent).expect("a string");
        let (minute, second) = (second / 60, second % 60);
        let status = if *stage == "RequestReceived" {
            String::new()
        } else {
            format!(r#","responseStatus":{{"metadata":{{}},"code":{code}}}"#)
        };
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"{id}","stage":"{stage}","requestURI":"{uri}","verb":"{verb}","user":{{"username":"{user}"}},"userAgent":{agent}{status},"requestReceivedTimestamp":"2026-07-23T10:{minute:02}:{second:02}.000000Z","stageTimestamp":"2026-07-23T10:{minute:02}:{second:02}.250000Z"}}"#
        ) + "\n"
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

#[test]
fn invalid_inputs_are_errors_with_exit_status_2() {
    let dir = Dir::with(&[
        ("notes.txt", b"dear diary\n"),
        ("empty.log", b""),
        ("logs/other.log", b"{\"level\":\"info\"}\n"),
        ("ok.log", EVENT.line().as_bytes()),
    ]);
    fs::create_dir(dir.path().join("nothing")).expect("a directory");
    for (args, message) in [
        (vec!["scan", "missing.log"], "error: missing.log: can't be read: No such file"),
        (vec!["scan", "notes.txt"], "error: notes.txt: holds no audit event"),
        (vec!["scan", "empty.log"], "1 empty file, empty.log"),
        (vec!["scan", "logs"], "error: logs: holds no audit event"),
        (vec!["scan", "nothing"], "error: nothing: the directory holds no files"),
        (vec!["scan", "-"], "error: standard input: holds no audit event"),
        (vec!["scan", "ok.log", "--kube-version", "1.18"], "kubetoll knows Kubernetes 1.19 and later"),
        (vec!["scan", "ok.log", "--feature-gate", "WatchLits=true"], "did you mean WatchList?"),
        (vec!["scan", "ok.log", "--format", "xml"], "known formats are text, json"),
        (vec!["scan", "ok.log", "--output", "no/such/dir/x"], "error: no/such/dir/x: can't be written"),
        (vec!["scan", "ok.log", "--format", "csv=no/such/x"], "error: no/such/x: can't be written"),
        (vec!["scan", "ok.log", "--after", "noon"], "error: --after: 'noon' is not a timestamp"),
        (
            vec!["scan", "ok.log", "--http-status-code", "9"],
            "error: --http-status-code: '9' is not an HTTP status",
        ),
        (vec!["classify", "GET pods"], "error: the uri must begin with '/'"),
        (
            vec!["classify", "kubectl get widgets"],
            "error: \"widgets\" is not a built-in resource; type the request",
        ),
    ] {
        let (code, out, err) = dir.run(&args);
        assert_eq!(code, Some(2), "{args:?}: {err}");
        assert!(err.contains(message), "{args:?}: {err}");
        assert_eq!(out, "", "{args:?}");
    }
}

#[test]
fn file_without_events_keeps_the_report_of_other_files() {
    let dir = Dir::with(&[("notes.txt", b"dear diary\n"), ("ok.log", EVENT.line().as_bytes())]);
    let (code, out, err) = dir.run(&["scan", "ok.log", "notes.txt"]);
    assert_eq!(code, Some(2));
    assert!(out.contains("monitoring/poller") && err.contains("notes.txt: holds no audit event"), "{err}");
    let report = dir.json(&["."]);
    assert_eq!(report["input"]["withoutEvents"]["count"], 1);
    assert_eq!(report["input"]["unknownFiles"][0]["what"], "1 text file without audit events");
    assert_eq!(report["input"]["skipped"], serde_json::json!({}));
}

#[test]
fn compression_is_detected_by_content_and_damage_is_counted() {
    let numbered = |id: u32| Event { id: &id.to_string(), ..EVENT }.line();
    let lines: String = (0..100).map(numbered).collect();
    let complete = gzip(lines.as_bytes());
    let members = [gzip(numbered(1).as_bytes()), gzip(numbered(2).as_bytes())].concat();
    let dir = Dir::with(&[
        ("gzip.log", &complete),
        ("members.log", &members),
        ("zstd.log", &zstd::encode_all(lines.as_bytes(), 1).expect("zstd")),
        ("cut.gz", &complete[..complete.len() - 30]),
        ("torn.log", format!("{}{}", EVENT.line(), &EVENT.line()[..200]).as_bytes()),
    ]);
    let requests = |file: &str| dir.json(&[file])["input"]["requests"].clone();
    assert_eq!(
        (requests("gzip.log"), requests("members.log"), requests("zstd.log")),
        (100.into(), 2.into(), 100.into())
    );
    let cut = dir.json(&["cut.gz"]);
    assert_eq!(cut["input"]["damaged"][0]["damage"], "truncated-stream");
    assert!(cut["input"]["requests"].as_u64().expect("a count") > 0);
    let torn = dir.json(&["torn.log"]);
    assert_eq!(torn["input"]["skipped"], serde_json::json!({"truncated": 1}));
    assert_eq!(torn["input"]["skippedAt"][0]["line"], 2);
}

#[test]
fn server_version_comes_from_a_flag_the_log_or_a_default() {
    let stated = |version: &str, second| {
        let agent = format!("kube-apiserver/{version} (linux/amd64) kubernetes/abcdef0");
        Event { user: "system:apiserver", agent: &agent, verb: "get", uri: "/readyz", second, ..EVENT }.line()
    };
    let upgrade = [
        stated("v1.30.4", 0),
        Event { second: 1, ..EVENT }.line(),
        Event { second: 20, ..EVENT }.line(),
        stated("v1.31.1", 60),
        Event { second: 61, ..EVENT }.line(),
    ]
    .concat();
    let dir = Dir::with(&[("upgrade.log", upgrade.as_bytes()), ("plain.log", EVENT.line().as_bytes())]);
    let report = dir.json(&["upgrade.log"]);
    assert_eq!(report["server"]["kubeVersions"], serde_json::json!(["1.30.4", "1.31.1"]));
    assert_eq!(report["server"]["versionSource"], "loopback-user-agent");
    let served = &report["totals"]["byServedFrom"];
    assert_eq!((&served["etcd"], &served["watch-cache-after-revision-check"]), (&2.into(), &1.into()));
    assert_eq!(dir.json(&["upgrade.log", "--kube-version=1.29.0"])["totals"]["byServedFrom"]["etcd"], 3);
    let assumed = dir.json(&["plain.log"]);
    assert_eq!(
        (&assumed["server"]["kubeVersion"], &assumed["server"]["versionSource"]),
        (&"1.37".into(), &"newest-known".into())
    );
    let newer = dir.json(&["plain.log", "--kube-version=1.55.0"]);
    assert!(newer["server"]["notes"][0].as_str().expect("a note").contains("judges it as 1.37"));
}

#[test]
fn long_running_requests_of_any_group_count_once_and_cost_nothing() {
    let pair = |id: &'static str, uri| {
        let event = |stage, second| Event { id, stage, verb: "get", uri, second, ..EVENT }.line();
        event("ResponseStarted", 0) + &event("ResponseComplete", 0)
    };
    let log = [
        pair("1", "/apis/build.openshift.io/v1/namespaces/a/builds/b/log"),
        pair("2", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/v/portforward/22"),
        pair("3", "/debug/pprof/profile"),
        Event { id: "4", stage: "ResponseStarted", user: "", code: 401, ..EVENT }.line(),
        Event { id: "5", stage: "Panic", code: 500, ..EVENT }.line(),
    ]
    .concat();
    let (start, end) = (
        Event { id: "6", stage: "ResponseStarted", verb: "watch", uri: "/api/v1/pods?watch=1", ..EVENT }
            .line(),
        Event { id: "6", verb: "watch", uri: "/api/v1/pods?watch=1", ..EVENT }.line(),
    );
    let dir = Dir::with(&[
        ("audit.log", log.as_bytes()),
        ("split/1.log", start.as_bytes()),
        ("split/2.log", end.as_bytes()),
    ]);
    let report = dir.json(&["audit.log", "--kube-version", "1.30.0"]);
    assert_eq!((&report["input"]["requests"], &report["input"]["open"]), (&5.into(), &0.into()));
    assert_eq!(report["totals"]["statuses"]["4xx"], 1);
    assert_eq!(report["totals"]["etcdMicros"], 250_000, "only the list that panicked is a read that ended");
    let report = dir.json(&["split", "--kube-version", "1.30.0"]);
    assert_eq!((&report["input"]["requests"], &report["input"]["open"]), (&1.into(), &0.into()));
}

#[test]
fn resources_above_the_limit_get_the_configured_verdict() {
    use std::fmt::Write as _;
    let (mut log, mut policy) = (String::new(), String::from("aggregated: ["));
    for n in 0..1_500 {
        let uri = format!("/apis/g{n}.example.com/v1/things?resourceVersion=0");
        let at = format!("2026-01-01T00:{:02}:{:02}.000000Z", n / 60, n % 60);
        writeln!(
            log,
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"{n}","stage":"ResponseComplete","requestURI":"{uri}","verb":"list","user":{{"username":"u"}},"userAgent":"a","responseStatus":{{"code":200}},"requestReceivedTimestamp":"{at}","stageTimestamp":"{at}"}}"#
        )
        .expect("writes to memory");
        write!(policy, "g{n}.example.com,").expect("writes to memory");
    }
    let resources: Vec<String> = (0..1_500).map(|n| format!("\n- things.g{n}.example.com")).collect();
    let aggregated = policy + "]\n";
    let uncached = format!("uncached:{}\n", resources.concat());
    let dir = Dir::with(&[("a.log", log.as_bytes())]);
    let lists = |policy: &str, from: &str| {
        fs::write(dir.path().join("kubetoll.yaml"), policy).expect("a policy");
        let report = dir.json(&["a.log"]);
        let lists = report["totals"]["byServedFrom"][from].as_u64().unwrap_or(0);
        (lists, report.to_string().contains("uncached resources"))
    };
    assert_eq!(lists(&aggregated, "aggregated"), (1_500, false));
    assert_eq!(lists(&uncached, "etcd"), (1_500, false));
    assert_eq!(lists("{}\n", "etcd"), (0, false));
}

#[test]
fn rotated_log_of_an_upgrade_is_judged_like_one_file() {
    let stated = |version: &str, second| {
        let agent = format!("kube-apiserver/{version} (linux/amd64) kubernetes/abcdef0");
        Event { user: "system:apiserver", agent: &agent, verb: "get", uri: "/readyz", second, ..EVENT }.line()
    };
    let first = stated("v1.30.4", 0) + &stated("v1.30.4", 50);
    let second =
        [Event { second: 55, ..EVENT }.line(), stated("v1.31.2", 60), Event { second: 61, ..EVENT }.line()]
            .concat();
    let dir = Dir::with(&[
        ("rotated/1.log", first.as_bytes()),
        ("rotated/2.log", second.as_bytes()),
        ("whole.log", (first.clone() + &second).as_bytes()),
    ]);
    for given in ["rotated", "whole.log"] {
        let served = dir.json(&[given])["totals"]["byServedFrom"].clone();
        assert_eq!(
            (&served["etcd"], &served["watch-cache-after-revision-check"]),
            (&1.into(), &1.into()),
            "{given}"
        );
    }
    let note = &dir.json(&["whole.log", "--kube-version", "1.25.0"])["server"]["notes"][0];
    assert!(note.as_str().expect("a note").contains("--kube-version 1.25.0 contradicts the log"), "{note}");
}

#[test]
fn no_output_may_be_a_log_or_be_named_twice() {
    let dir = Dir::with(&[("audit.log", EVENT.line().as_bytes())]);
    for args in [
        vec!["scan", "audit.log", "-o", "audit.log"],
        vec!["scan", "audit.log", "--format", "csv=audit.log"],
        vec!["scan", "audit.log", "--format", "csv=x", "--format", "ndjson=x"],
    ] {
        let (code, _, err) = dir.run(&args);
        assert_eq!(code, Some(2), "{args:?}: {err}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("audit.log")).expect("the log"), EVENT.line());
    let (code, out, _) = dir.run(&["scan", ".", "-o", "report.txt"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let report = fs::read_to_string(dir.path().join("report.txt")).expect("a report");
    assert!(report.contains(" · audit.log · ") && !report.contains("without any"), "{report}");
}

#[test]
fn a_continue_token_is_printed_nowhere() {
    // {"v":"meta.k8s.io/v1","rv":77,"start":"a/b\u0000"}
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NzcsInN0YXJ0IjoiYS9iXHUwMDAwIn0";
    let uris = [
        format!("/api/v1/secrets?limit=5&continue={token}"),
        format!("/api/v1/secrets?limit=5&amp;continue={token}"),
        format!("/api/v1/secrets?limit=5;continue={token}"),
        format!("/api/v1/secrets?contineu={token}"),
        format!("/api/v1/secrets?continue%3D{token}"),
        format!("/api/v1/secrets?limit=5&{token}"),
        format!("/api/v1/secrets%3Flimit=5&continue={token}"),
        format!("/api/v1/namespaces/{token}/secrets/{token}/{token}"),
    ];
    let log: String = uris.iter().map(|uri| Event { uri, ..EVENT }.line()).collect();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let formats =
        ["--format", "csv=o.csv", "--format", "ndjson=o.ndjson", "--format", "json", "-o", "o.json"];
    let mut args = vec!["scan", "audit.log"];
    args.extend(formats);
    assert_eq!(dir.run(&args).0, Some(0));
    let (_, text, _) = dir.run(&["scan", "audit.log", "--kube-version", "1.30.0"]);
    let mut seen = vec![text];
    for file in ["o.csv", "o.ndjson", "o.json"] {
        seen.push(fs::read_to_string(dir.path().join(file)).expect("an output"));
    }
    for uri in &uris {
        seen.push(dir.run(&["classify", uri]).1);
        let line = serde_json::json!({"method": "GET", "uri": uri}).to_string();
        let output = kubetoll(&["classify", "--stdin"], dir.path(), line.as_bytes());
        seen.push(String::from_utf8(output.stdout).expect("UTF-8"));
    }
    for page in seen {
        assert!(!page.contains(&token[..20]), "{page}");
    }
}

#[test]
fn stdin_lines_are_classified_before_the_next_line_arrives() {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["classify", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut questions = child.stdin.take().expect("piped");
    let mut responses = BufReader::new(child.stdout.take().expect("piped"));
    for _ in 0..2 {
        writeln!(questions, r#"{{"method":"GET","uri":"/version"}}"#).expect("the binary reads");
        let mut response = String::new();
        responses.read_line(&mut response).expect("the binary answers");
        assert!(response.contains("no-storage"), "{response}");
    }
    drop(questions);
    assert!(child.wait().expect("the binary ends").success());
}

#[test]
fn events_of_one_request_count_once() {
    let watch = |id, stage| {
        Event { id, stage, verb: "watch", uri: "/api/v1/pods?watch=1&resourceVersion=5", ..EVENT }.line()
    };
    let log = [
        Event { stage: "RequestReceived", ..EVENT }.line(),
        EVENT.line(),
        watch("w1", "RequestReceived"),
        watch("w1", "ResponseStarted"),
        watch("w1", "ResponseStarted"),
        watch("w1", "ResponseComplete"),
        watch("w2", "ResponseStarted"),
        watch("w2", "ResponseStarted"),
    ]
    .concat();
    let received =
        [Event { stage: "RequestReceived", ..EVENT }.line(), watch("w1", "RequestReceived")].concat();
    let dir = Dir::with(&[("all.log", log.as_bytes()), ("arrivals.log", received.as_bytes())]);
    let report = dir.json(&["all.log"]);
    assert_eq!((&report["input"]["requests"], &report["input"]["open"]), (&3.into(), &1.into()));
    assert_eq!(report["totals"]["byVerb"], serde_json::json!({"list": 1, "watch": 2}));
    let report = dir.json(&["arrivals.log"]);
    assert_eq!((&report["input"]["requests"], &report["input"]["receivedOnly"]), (&2.into(), &true.into()));
}

/// Since 1.30 some servers write two events where a WATCH begins, a moment apart (kubernetes/kubernetes#126466).
#[test]
fn doubled_start_events_of_a_watch_count_once_in_any_order() {
    let line = |id, stage, micros: &str| {
        let uri = "/api/v1/pods?watch=1&resourceVersion=5";
        Event { id, stage, verb: "watch", uri, ..EVENT }.line().replace(".250000Z", micros)
    };
    let of_one = |id| {
        [
            line(id, "ResponseStarted", ".250000Z"),
            line(id, "ResponseStarted", ".250007Z"),
            line(id, "ResponseComplete", ".900000Z"),
        ]
    };
    let [begins, begins_again, _] = of_one("open");
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let ended = order.map(|at| of_one("ended")[at].clone()).concat();
        let log = [&*begins_again, &*ended, &*begins].concat();
        let dir = Dir::with(&[("audit.log", log.as_bytes())]);
        for dedup in ["auto", "exact", "off"] {
            let input = &dir.json(&["audit.log", "--dedup", dedup])["input"];
            let counts = ["events", "requests", "open", "duplicates"].map(|key| input[key].clone());
            assert_eq!(counts, [5, 2, 1, 0].map(Value::from), "{order:?} {dedup}");
        }
    }
}

#[test]
fn filters_select_requests_and_report_the_filtered_number() {
    let log = [
        EVENT.line(),
        Event {
            user: "alice",
            agent: "kubectl/v1.30.0",
            uri: "/api/v1/namespaces/shop/pods",
            code: 403,
            second: 90,
            ..EVENT
        }
        .line(),
        Event {
            user: "system:node:n1",
            agent: "kubelet/v1.30.0",
            uri: "/api/v1/nodes/n1",
            verb: "get",
            code: 504,
            ..EVENT
        }
        .line(),
    ]
    .concat();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    for (filter, requests) in [
        (vec!["--user", "alice"], 1),
        (vec!["--user", "-alice"], 2),
        (vec!["--user", "system:node:n1"], 1),
        (vec!["--user", "system:*"], 2),
        (vec!["--verb", "list"], 2),
        (vec!["--resource", "pods,nodes"], 3),
        (vec!["--resource", "-pods"], 1),
        (vec!["-n", "shop"], 1),
        (vec!["--after", "2026-07-23T10:01:00Z"], 1),
        (vec!["--before", "2026-07-23T10:01:00Z"], 2),
        (vec!["--after", "2026-07-24"], 0),
        (vec!["--http-status-code", "4xx"], 1),
        (vec!["--http-status-code", "403,504"], 2),
        (vec!["--failed-only"], 2),
        (vec!["--client", "kubectl"], 1),
        (vec!["--client", "service-account"], 1),
    ] {
        let mut args = vec!["audit.log"];
        args.extend(&filter);
        let report = dir.json(&args);
        assert_eq!(report["input"]["requests"], requests, "{filter:?}");
        assert_eq!(report["input"]["filtered"], 3 - requests, "{filter:?}");
    }
}

#[test]
fn fail_on_decides_the_exit_status() {
    let log = [
        Event { uri: "/api/v1/pods?limit=500&resourceVersion=0", ..EVENT }.line(),
        Event { verb: "get", uri: "/api/v1/nodes/n", ..EVENT }.line(),
    ]
    .concat();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let code = |args: &[&str]| {
        let mut all = vec!["scan", "audit.log"];
        all.extend(args);
        dir.run(&all).0
    };
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--fail-on", "etcd-list"]), Some(0));
    assert_eq!(code(&["--fail-on", "etcd-list", "--fail-on", "etcd-get"]), Some(1));
    assert_eq!(code(&["--fail-on", "etcd-list,limit-ignored"]), Some(1));
}

#[test]
fn output_file_is_complete_or_absent() {
    let dir = Dir::with(&[("audit.log", EVENT.line().as_bytes()), ("text.log", b"no\n")]);
    let (code, out, _) = dir.run(&[
        "scan",
        "audit.log",
        "--format",
        "json",
        "--output",
        "report.json",
        "--format",
        "csv=rows.csv",
    ]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let report = fs::read_to_string(dir.path().join("report.json")).expect("a report");
    assert!(serde_json::from_str::<Value>(&report).is_ok());
    assert!(fs::read_to_string(dir.path().join("rows.csv")).expect("rows").contains("monitoring"));
    let (code, ..) = dir.run(&["scan", "text.log", "--output", "none.txt"]);
    assert_eq!(code, Some(2));
    let left: Vec<PathBuf> =
        fs::read_dir(dir.path()).expect("a directory").map(|e| e.expect("an entry").path()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn client_text_cannot_drive_the_terminal() {
    let log = [
        Event {
            agent: "\u{1b}]0;owned\u{7}evil/1.0",
            user: "mallory\\u001b[2J\\u202e",
            uri: "/api/v1/events?a=%1b\u{9b}31m",
            ..EVENT
        }
        .line(),
        Event { agent: &"r4nd0m ".repeat(200), ..EVENT }.line(),
    ]
    .concat();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let (code, out, _) = dir.run(&["scan", "audit.log", "--color", "never", "--details"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("mallory\\u{1b}[2J\\u{202e}"), "{out}");
    assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{out:?}");
}

#[test]
fn the_same_file_by_two_paths_is_read_once_and_order_does_not_matter() {
    let other = Event { id: "2", second: 1, ..EVENT }.line();
    let dir = Dir::with(&[("b/1.log", EVENT.line().as_bytes()), ("a.log", other.as_bytes())]);
    let one = dir.json(&["b", "a.log", "./b/1.log"]);
    assert_eq!(one["input"]["files"], 2);
    assert_eq!(dir.json(&["a.log", "b"])["clients"], dir.json(&["b", "a.log"])["clients"]);
}
