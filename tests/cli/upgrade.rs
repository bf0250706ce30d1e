//! `kubetoll upgrade`: which recorded requests change on another server, in all formats, and its errors.

use pulldown_cmark::{Event as Markdown, Options, Parser};
use serde_json::Value;

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

/// One request of each kind that changes between 1.30 and 1.34, and some that do not.
fn log() -> String {
    let mut log = String::new();
    let mut add = |number: usize, user: &str, verb: &str, uri: &str, code: u16| {
        let event = AuditEvent::new(&number, verb, uri).by(user, "agent/1").code(code);
        log += &event.at(number as u64 * 1_000_000, 1_000).line();
    };
    let initial = "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    for number in 0..3 {
        add(number, "lister", "list", "/api/v1/pods", 200);
    }
    add(10, "lister", "list", "/api/v1/events", 200);
    add(11, "lister", "list", "/api/v1/pods?limit=500&resourceVersion=0", 200);
    add(12, "forbidden", "list", "/api/v1/pods", 403);
    add(13, "streamer", "watch", initial, 422);
    add(14, "flows", "list", "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas?resourceVersion=0", 200);
    add(15, "flows", "list", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?resourceVersion=0", 200);
    add(16, "writer", "create", "/api/v1/namespaces/n/pods", 201);
    log
}

fn dir() -> Dir {
    Dir::with(&[("a.log", log().as_bytes())])
}

fn run(dir: &Dir, args: &[&str]) -> (Option<i32>, String, String) {
    let mut all = vec!["upgrade", "a.log", "--no-progress"];
    all.extend(args);
    dir.run_with(&all, b"")
}

fn json(dir: &Dir, args: &[&str]) -> Value {
    let (code, out, err) = run(dir, &[args, &["--format", "json"]].concat());
    assert_eq!((code, &*err), (Some(0), ""));
    serde_json::from_str(&out).expect("JSON")
}

/// The changes of a hop: client, change, requests, verb, resource.
fn changes(hop: &Value) -> Vec<String> {
    let clients = hop["clients"].as_array().expect("clients");
    let of = |client: &Value| {
        let changes = client["changes"].as_array().expect("changes").clone();
        let name = client["name"].as_str().expect("a name").to_owned();
        changes.into_iter().map(move |change| {
            let text = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
            let requests = &change["requests"];
            format!("{name}: {} {requests} {} {}", text("change"), text("verb"), text("resource"))
        })
    };
    clients.iter().flat_map(of).collect()
}

#[test]
fn report_names_each_request_that_changes_and_no_other() {
    let report = json(&dir(), &["--from", "1.30.4", "--to", "1.34.2"]);
    assert_eq!(
        changes(&report["hops"][0]),
        [
            "user flows: api-removed 1 list flowschemas.flowcontrol.apiserver.k8s.io",
            "user lister: from-etcd 3 list pods",
            "user streamer: accepted 1 watch pods",
        ]
    );
    let totals = |server: &Value| {
        let of = |key: &str| server["totals"][key].as_u64().expect("a number");
        [of("etcdLists"), of("limitIgnored"), of("refused"), of("removedApis")]
    };
    assert_eq!(totals(&report["from"]), [4, 1, 2, 0]);
    assert_eq!(totals(&report["hops"][0]["to"]), [1, 1, 1, 1]);
    assert_eq!((&report["requests"], &report["clients"]), (&10.into(), &5.into()));
}

#[test]
fn changes_of_hops_add_up_to_the_change_of_one_step() {
    let dir = dir();
    let hops = json(&dir, &["--from", "1.30.4", "--to", "1.34.2,1.31.4,1.32.9"]);
    let versions: Vec<&str> = hops["hops"]
        .as_array()
        .expect("hops")
        .iter()
        .filter_map(|hop| hop["to"]["kubeVersion"].as_str())
        .collect();
    assert_eq!(versions, ["1.31.4", "1.32.9", "1.34.2"]);
    assert_eq!(changes(&hops["hops"][0]), ["user lister: from-etcd 3 list pods"]);
    let mut all: Vec<String> = hops["hops"].as_array().expect("hops").iter().flat_map(changes).collect();
    all.sort();
    let one = json(&dir, &["--from", "1.30.4", "--to", "1.34.2"]);
    assert_eq!(all, changes(&one["hops"][0]));
    let last = |report: &Value| {
        report["hops"].as_array().expect("hops").last().expect("one")["to"]["totals"].clone()
    };
    assert_eq!(last(&hops), last(&one));
}

#[test]
fn annotation_names_the_release_that_removes_an_unknown_api() {
    let mut log = log();
    for (number, release) in [(20_u64, "1.33"), (21, "1.40")] {
        let annotations = serde_json::json!({"k8s.io/deprecated": "true", "k8s.io/removed-release": release});
        let uri = format!("/apis/example.k8s.io/v1beta1/things-{number}?resourceVersion=0");
        let event =
            AuditEvent::new(&number, "list", &uri).by("old", "agent/1").with("annotations", annotations);
        log += &event.at(number * 1_000_000, 1_000).line();
    }
    let dir = Dir::with(&[("a.log", log.as_bytes())]);
    let report = json(&dir, &["--from", "1.30.4", "--to", "1.32.9,1.34.2"]);
    let of_old = |hop: usize| -> Vec<String> {
        changes(&report["hops"][hop]).into_iter().filter(|change| change.contains("user old")).collect()
    };
    assert_eq!(of_old(0), Vec::<String>::new());
    assert_eq!(of_old(1), ["user old: api-removed 1 list things-20.example.k8s.io"]);
}

#[test]
fn old_etcd_keeps_lists_in_etcd() {
    let dir = dir();
    let args = ["--from", "1.30.4", "--to", "1.31.4", "--etcd-to"];
    assert!(changes(&json(&dir, &[&args[..], &["3.5.10"]].concat())["hops"][0]).is_empty());
    let moved = json(&dir, &[&args[..], &["3.5.13"]].concat());
    assert_eq!(changes(&moved["hops"][0]), ["user lister: from-etcd 3 list pods"]);
}

#[test]
fn feature_gate_applies_to_the_servers_that_the_flag_names() {
    let dir = dir();
    let upgrade = ["--from", "1.31.4", "--to", "1.32.9"];
    let off = "ConsistentListFromCache=false";
    assert!(
        changes(&json(&dir, &[&upgrade[..], &["--feature-gate", off]].concat())["hops"][0])
            .iter()
            .all(|change| !change.contains("etcd"))
    );
    let changed = json(&dir, &[&upgrade[..], &["--feature-gate-to", off]].concat());
    assert!(changes(&changed["hops"][0]).contains(&"user lister: to-etcd 3 list pods".to_owned()));
    assert_eq!(changed["hops"][0]["gates"][0]["gate"], "ConsistentListFromCache");
}

#[test]
fn text_and_markdown_name_clients_and_changes() {
    let dir = dir();
    let upgrade = ["--from", "1.30.4", "--to", "1.34.2", "--etcd-to", "3.6.5"];
    let (code, text, _) = run(&dir, &upgrade);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(text);
    let (code, markdown, _) = run(&dir, &[&upgrade[..], &["--format", "markdown"]].concat());
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(markdown);
}

#[test]
fn lines_fit_the_terminal() {
    let dir = dir();
    for columns in [80, 100, 160] {
        let args = ["upgrade", "a.log", "--no-progress", "--from", "1.30.4", "--to", "1.31.4,1.34.2"];
        let output = dir.command(&args).env("COLUMNS", columns.to_string()).output().expect("a run");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
    }
}

#[test]
fn file_gets_the_format_of_its_extension() {
    let dir = dir();
    for (name, start) in [("a.json", "{"), ("a.md", "## Upgrade"), ("a.txt", "Upgrade")] {
        let path = format!("./{name}");
        let (code, out, err) = run(&dir, &["--from", "1.30.4", "--to", "1.34.2", "-o", &path]);
        assert_eq!((code, &*out, &*err), (Some(0), "", ""));
        let text = std::fs::read_to_string(dir.path().join(name)).expect("a file");
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn hostile_text_is_escaped_in_each_format() {
    let user = "a\u{1b}[31m|b`c\n::error::d<img>@team";
    let event = AuditEvent::new(&1, "list", "/apis/x%1b[31m.io/v1/a%7Cb").by(user, "a\u{202e}/1").line();
    let pods = AuditEvent::new(&2, "list", "/api/v1/pods").by(user, "a\u{202e}/1").line();
    let dir = Dir::with(&[("a.log", format!("{event}{pods}").as_bytes())]);
    for format in ["text", "json", "markdown"] {
        let (code, out, _) = run(&dir, &["--from", "1.30.4", "--to", "1.34.2", "--format", format]);
        assert_eq!(code, Some(0));
        assert!(!out.contains(['\u{1b}', '\u{202e}']), "{format}: {out}");
        assert!(!out.lines().any(|line| line.starts_with("::")), "{format}: {out}");
    }
    let (_, markdown, _) = run(&dir, &["--from", "1.30.4", "--to", "1.34.2", "--format", "markdown"]);
    let is_html = |event| matches!(event, Markdown::Html(_) | Markdown::InlineHtml(_));
    assert!(!Parser::new_ext(&markdown, Options::all()).any(is_html), "{markdown}");
}

#[test]
fn errors_name_the_flag_and_the_way_out() {
    let dir = dir();
    for (args, message) in [
        (&["--from", "1.34.2", "--to", "1.30.4"][..], "newer"),
        (&["--from", "1.30.4", "--to", "34"], "--to"),
        (&["--from", "x", "--to", "1.34.2"], "--from"),
        (&["--from", "1.30.4", "--to", "1.34.2", "--etcd-to", "x"], "--etcd-to"),
        (&["--from", "1.30.4"], "--to"),
        (&["--from", "1.30.4", "--to", "1.34.2", "-o", "./a.log"], "a.log"),
    ] {
        let (code, out, err) = run(&dir, args);
        assert_eq!((code, &*out), (Some(2), ""), "{args:?}");
        assert!(err.contains(message), "{args:?}: {err}");
    }
    let (code, _, err) = dir.run_with(&["upgrade", "none.log", "--to", "1.34.2"], b"");
    assert!(code == Some(2) && err.contains("none.log"), "{err}");
}
