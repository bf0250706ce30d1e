//! `kubetoll diff`: runs of one program do not differ, a worse program does, in all formats, and its errors.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use pulldown_cmark::{Event as Markdown, Options, Parser};
use serde_json::Value;
use synth::scenarios::{self, Settings, Version};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

const OPERATOR: &str = "system:serviceaccount:shop-system:order-operator";

/// A run of the operator of fixtures/ci.
fn run_of(scenario: &str, minutes: i64, seed: u64) -> Vec<u8> {
    let all = scenarios::all();
    let scenario = all.iter().find(|one| one.name == scenario).expect("a scenario");
    let version = Version::parse("1.30").expect("a version");
    scenarios::log(scenario, Settings { nodes: 1, minutes, version, seed, received: false })
}

fn good(minutes: i64, seed: u64) -> Vec<u8> {
    run_of("tested-operator", minutes, seed)
}

fn defect(minutes: i64, seed: u64) -> Vec<u8> {
    run_of("tested-operator-defect", minutes, seed)
}

fn diff(dir: &Dir, args: &[&str]) -> (Option<i32>, String, String) {
    dir.run_with(&[&["diff", "--no-progress"], args].concat(), b"")
}

fn json(dir: &Dir, args: &[&str]) -> Value {
    let (code, out, err) = diff(dir, &[args, &["--format", "json"]].concat());
    assert!(code == Some(0) || code == Some(1), "{args:?}: {err}");
    serde_json::from_str(&out).expect("JSON")
}

/// `change shape` of each row.
fn rows<'r>(report: &'r Value, key: &str) -> Vec<String> {
    let text = |value: &'r Value| value.as_str().expect("a text");
    let all = report[key].as_array().expect("rows");
    all.iter().map(|row| format!("{} {}", text(&row["change"]), text(&row["shape"]))).collect()
}

fn error(dir: &Dir, args: &[&str]) -> String {
    let (code, out, err) = diff(dir, args);
    assert_eq!((code, &*out), (Some(2), ""), "{args:?}: {err}");
    err
}

#[test]
fn fixtures_are_what_the_generator_writes() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ci");
    for (name, log) in [("order-operator", good(5, 1)), ("order-operator-defect", defect(5, 1))] {
        let gzip = fs::read(fixtures.join(name).with_extension("jsonl.gz")).expect("a fixture");
        let mut content = Vec::new();
        GzDecoder::new(&*gzip).read_to_end(&mut content).expect("gzip");
        assert!(content == log, "{name} differs from the generator");
    }
}

#[test]
fn short_run_and_long_run_of_one_program_do_not_differ() {
    let dir = Dir::with(&[("short.log", &good(4, 1)), ("long.log", &good(20, 2))]);
    for args in [["--base", "short.log", "--new", "long.log"], ["--base", "long.log", "--new", "short.log"]] {
        let report = json(&dir, &args);
        assert_eq!(rows(&report, "changes"), Vec::<String>::new());
        assert_eq!(
            (&report["newFindings"], &report["goneFindings"]),
            (&Value::Array(vec![]), &Value::Array(vec![]))
        );
        assert!(report["unchanged"].as_u64() > Some(80), "{}", report["unchanged"]);
    }
}

#[test]
fn log_that_begins_after_the_start_shows_no_change() {
    let log = String::from_utf8(good(12, 1)).expect("UTF-8");
    let later = |line: &&str| {
        let event: Value = serde_json::from_str(line).expect("an event");
        event["stageTimestamp"].as_str().expect("a timestamp") > "2026-07-01T08:02:00"
    };
    let cut: String = log.lines().filter(later).flat_map(|line| [line, "\n"]).collect();
    let dir = Dir::with(&[("whole.log", log.as_bytes()), ("cut.log", cut.as_bytes())]);
    for args in [["--base", "whole.log", "--new", "cut.log"], ["--base", "cut.log", "--new", "whole.log"]] {
        let report = json(&dir, &[&args[..], &["--user", OPERATOR]].concat());
        assert_eq!(rows(&report, "changes"), Vec::<String>::new());
        assert!(report["notes"].to_string().contains("were running before a log begins"), "{report}");
    }
}

#[test]
fn worse_program_is_named_with_its_requests_and_no_others() {
    let dir = Dir::with(&[("base.log", &good(5, 1)), ("new.log", &defect(5, 2))]);
    let report = json(&dir, &["--base", "base.log", "--new", "new.log"]);
    let expected = [
        "new list configmaps in a namespace",
        "new list pods cluster-wide ?limit=500&resourceVersion=0",
        "new watch pods cluster-wide ?resourceVersion=N&allowWatchBookmarks=true",
    ];
    assert_eq!(rows(&report, "changes"), expected);
    for row in report["changes"].as_array().expect("rows") {
        assert_eq!(row["client"], OPERATOR);
    }
    assert!(report["newFindings"].as_array().is_some_and(|all| !all.is_empty()));
    let back = json(&dir, &["--base", "new.log", "--new", "base.log"]);
    assert_eq!(rows(&back, "changes"), expected.map(|row| row.replace("new ", "gone ")));
    assert_eq!(back["goneFindings"].as_array().map(Vec::len), report["newFindings"].as_array().map(Vec::len));
}

#[test]
fn saved_reports_and_directories_compare_as_their_logs_do() {
    let (base, new) = (good(5, 1), defect(5, 2));
    let middle = new.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(900).expect("a line").0 + 1;
    let dir = Dir::with(&[
        ("base.log", &base),
        ("new.log", &new),
        ("new/a.log", &new[..middle]),
        ("new/b.log", &new[middle..]),
    ]);
    for name in ["base", "new"] {
        let (code, out, err) =
            dir.run_with(&["scan", &format!("{name}.log"), "--format", "json", "--no-progress"], b"");
        assert_eq!(code, Some(0), "{err}");
        dir.write(&format!("{name}.json"), out.as_bytes());
    }
    let logs = json(&dir, &["--base", "base.log", "--new", "new.log"]);
    for (base, new) in [("base.json", "new.json"), ("base.json", "new.log"), ("base.log", "new")] {
        let report = json(&dir, &["--base", base, "--new", new]);
        for key in ["totals", "changes", "notDecided", "newFindings", "notes"] {
            assert_eq!(report[key], logs[key], "{base} {new} {key}");
        }
    }
}

/// `requests` GETs in `minutes`, spread evenly, by a client.
fn gets(user: &str, requests: usize, minutes: usize) -> Vec<u8> {
    let mut log = String::new();
    let mut add = |number: usize, uri: &str, micros: u64| {
        let event = AuditEvent::new(&number, "get", uri).by(user, "agent/1").code(200);
        log += &event.at(micros, 1_000).line();
    };
    let span = minutes as u64 * 60_000_000;
    for number in 0..requests {
        add(number, "/api/v1/namespaces/n/configmaps/a", span * number as u64 / requests as u64);
    }
    add(requests, "/api/v1/namespaces/n/secrets/a", span);
    log.into_bytes()
}

#[test]
fn one_run_decides_by_the_error_of_counts_and_several_by_their_spread() {
    let dir = Dir::with(&[
        ("a.log", &gets("op", 100, 10)),
        ("b.log", &gets("op", 125, 10)),
        ("c.log", &gets("op", 170, 10)),
        ("wide-1.log", &gets("op", 60, 10)),
        ("wide-2.log", &gets("op", 140, 10)),
        ("d.log", &gets("op", 160, 10)),
        ("e.log", &gets("op", 180, 10)),
    ]);
    let change = |base: &[&str], new: &[&str]| {
        let report = json(&dir, &[&["--base"], base, &["--new"], new].concat());
        (rows(&report, "changes"), rows(&report, "notDecided"))
    };
    let more = || vec!["more get configmaps".to_owned()];
    assert_eq!(change(&["a.log"], &["b.log"]), (vec![], more()));
    assert_eq!(change(&["a.log"], &["c.log"]), (more(), vec![]));
    assert_eq!(change(&["wide-1.log", "wide-2.log"], &["c.log"]), (vec![], more()));
    assert_eq!(change(&["a.log", "b.log"], &["c.log", "d.log", "e.log"]), (more(), vec![]));
}

/// `bursts` bursts of `each` GETs within a second, every ten minutes from `first`, in `minutes`.
fn bursts(first: u64, bursts: u64, each: u64, minutes: u64) -> Vec<u8> {
    let mut log = String::new();
    let mut add = |uri: &str, micros: u64| {
        let event = AuditEvent::new(&micros, "get", uri).by("op", "agent/1").code(200);
        log += &event.at(micros, 1_000).line();
    };
    add("/api/v1/namespaces/n/secrets/a", 0);
    for burst in 0..bursts {
        for number in 0..each {
            let at = (first + 10 * burst) * 60_000_000 + number * 5_000;
            add("/api/v1/namespaces/n/configmaps/a", at);
        }
    }
    add("/api/v1/namespaces/n/secrets/a", minutes * 60_000_000);
    log.into_bytes()
}

#[test]
fn bursts_are_chance_in_one_run_and_not_in_several_equal_runs() {
    let dir = Dir::with(&[
        ("one.log", &bursts(5, 1, 200, 14)),
        ("two.log", &bursts(2, 2, 200, 14)),
        ("short.log", &bursts(2, 1, 200, 6)),
        ("a1.log", &bursts(5, 1, 200, 14)),
        ("a2.log", &bursts(6, 1, 205, 14)),
        ("a3.log", &bursts(7, 1, 198, 14)),
        ("b1.log", &bursts(5, 1, 300, 14)),
        ("b2.log", &bursts(6, 1, 305, 14)),
        ("b3.log", &bursts(7, 1, 299, 14)),
    ]);
    let changes = |args: &[&str]| rows(&json(&dir, args), "changes");
    assert_eq!(changes(&["--base", "one.log", "--new", "two.log"]), Vec::<String>::new());
    assert_eq!(changes(&["--base", "short.log", "--new", "two.log"]), Vec::<String>::new());
    let three = ["--base", "a1.log", "a2.log", "a3.log", "--new", "b1.log", "b2.log", "b3.log"];
    assert_eq!(changes(&three), ["more get configmaps"]);
}

/// Requests of one client, each with its status, evenly over ten minutes.
fn requests(all: &[(&str, &str, u16)]) -> Vec<u8> {
    let mut log = String::new();
    for (number, (verb, uri, code)) in all.iter().enumerate() {
        let event = AuditEvent::new(&number, verb, uri).by("op", "agent/1").code(*code);
        log += &event.at(600_000_000 * number as u64 / all.len() as u64, 1_000).line();
    }
    log.into_bytes()
}

#[test]
fn requests_are_served_from_elsewhere_only_if_the_source_changes() {
    let get = |status: u16| ("get", "/api/v1/namespaces/n/configmaps/a", status);
    let list = |uri: &'static str| ("list", uri, 200);
    let few = [&[get(200); 6][..], &[get(403); 5]].concat();
    let more = [&[get(200); 5][..], &[get(403); 6]].concat();
    let cached = vec![list("/api/v1/pods?resourceVersion=0"); 200];
    let from_etcd = vec![list("/api/v1/pods"); 60];
    let dir = Dir::with(&[
        ("few.log", &requests(&few)),
        ("more.log", &requests(&more)),
        ("1.30.log", &requests(&from_etcd)),
        ("cached.log", &requests(&cached)),
    ]);
    assert_eq!(
        rows(&json(&dir, &["--base", "few.log", "--new", "more.log"]), "changes"),
        Vec::<String>::new()
    );
    for version in ["1.30.4", "1.34.2"] {
        let args = ["scan", "1.30.log", "--kube-version", version, "--format", "json", "--no-progress"];
        let (code, out, err) = dir.run_with(&args, b"");
        assert_eq!(code, Some(0), "{err}");
        dir.write(&format!("{version}.json"), out.as_bytes());
    }
    let up = json(&dir, &["--base", "1.30.4.json", "--new", "1.34.2.json"]);
    assert_eq!(rows(&up, "changes"), ["served-from-elsewhere list pods cluster-wide"]);
    let down = diff(&dir, &["--base", "1.34.2.json", "--new", "1.30.4.json", "--fail-on", "etcd-reads>+0"]);
    assert_eq!(down.0, Some(1), "{}", down.2);
    assert!(down.1.contains("Costs more") && down.1.contains("1 change, all costlier"), "{}", down.1);
}

#[test]
fn informer_of_one_replica_is_a_change() {
    let watch = "watch=1&resourceVersion=5&timeoutSeconds=400&allowWatchBookmarks=true";
    let run = |informers: &[(usize, &str)]| {
        let mut log = String::new();
        let mut number = 0;
        let mut add = |pod: usize, verb: &str, uri: &str, at: u64, micros: u64| {
            number += 1;
            let event =
                AuditEvent::new(&number, verb, uri).by("system:serviceaccount:a:op", "op/1").code(200);
            log += &event.pod(&format!("op-{pod}")).ip(&format!("10.0.0.{pod}")).at(at, micros).line();
        };
        for (pod, resource) in informers {
            let at = *pod as u64 * 1_000_000;
            add(*pod, "list", &format!("/api/v1/{resource}?limit=500&resourceVersion=0"), at, 1_000);
            add(*pod, "watch", &format!("/api/v1/{resource}?{watch}"), at + 10_000, 400_000_000);
        }
        add(1, "get", "/api/v1/namespaces/n/configmaps/a", 600_000_000, 1_000);
        log.into_bytes()
    };
    let all = [(1, "pods"), (2, "pods"), (3, "pods")];
    let dir = Dir::with(&[
        ("base.log", &run(&all)),
        ("same.log", &run(&[(4, "pods"), (5, "pods"), (6, "pods")])),
        ("new.log", &run(&[&all[..], &[(2, "secrets")]].concat())),
    ]);
    assert_eq!(
        rows(&json(&dir, &["--base", "base.log", "--new", "same.log"]), "changes"),
        Vec::<String>::new()
    );
    let args = ["--base", "base.log", "--new", "new.log", "--fail-on", "watches>+0"];
    let changes = rows(&json(&dir, &args), "changes");
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(
        changes.iter().all(|change| change.starts_with("new ") && change.contains("secrets")),
        "{changes:?}"
    );
    assert_eq!(diff(&dir, &args).0, Some(1));
}

#[test]
fn saved_reports_keep_their_filters_and_verdicts() {
    let dir = Dir::with(&[("a.log", &gets("op", 100, 10)), ("b.log", &gets("op", 100, 10))]);
    for (name, filter) in [("a", "--user=op"), ("b", "--user=op"), ("other", "--user=o*")] {
        let log = if name == "b" { "b.log" } else { "a.log" };
        let (code, out, err) = dir.run_with(&["scan", log, filter, "--format", "json", "--no-progress"], b"");
        assert_eq!(code, Some(0), "{err}");
        dir.write(&format!("{name}.json"), out.as_bytes());
    }
    json(&dir, &["--base", "a.json", "--new", "b.json"]);
    json(&dir, &["--base", "a.json", "--new", "b.log", "--user=op"]);
    let other = error(&dir, &["--base", "a.json", "--new", "other.json"]);
    assert!(other.contains("a.json was read with --user=op, and other.json with --user=o*"), "{other}");
    let none = error(&dir, &["--base", "a.json", "--new", "b.log"]);
    assert!(none.contains("with no filter"), "{none}");
    let version = error(&dir, &["--base", "a.json", "--new", "b.json", "--kube-version", "1.33.2"]);
    assert!(version.contains("--kube-version has no effect on it"), "{version}");
    let report: Value =
        serde_json::from_slice(&fs::read(dir.path().join("a.json")).expect("a file")).expect("JSON");
    for (path, value, message) in [
        ("/clients/0/shapes/0/servedFrom", Value::from("|<img>"), "unknown value"),
        ("/clients/0/shapes/0/requests", Value::from(1_u64 << 63), "counts above"),
    ] {
        let mut damaged = report.clone();
        *damaged.pointer_mut(path).expect("a field") = value;
        let json = serde_json::to_string(&damaged).expect("JSON");
        // The first key shows that it is a report.
        let json = json.replace("\"schemaVersion\":1,", "").replacen('{', "{\"schemaVersion\":1,", 1);
        dir.write("damaged.json", json.as_bytes());
        let error = error(&dir, &["--base", "damaged.json", "--new", "b.json"]);
        assert!(error.contains(message), "{error}");
    }
    let unknown = json(&dir, &["--base", "a.log", "--new", "b.log"]);
    assert!(unknown["notes"].to_string().contains("does not show the version of Kubernetes"), "{unknown}");
}

#[test]
fn resource_that_a_policy_drops_is_a_note() {
    let log = |resources: &[&str]| {
        let mut log = String::new();
        for number in 0..60_u64 {
            for (client, resource) in
                ["a", "b"].iter().flat_map(|client| resources.iter().map(move |one| (client, one)))
            {
                let id = format!("{number}-{client}-{resource}");
                let uri = format!("/api/v1/namespaces/n/{resource}/x");
                log += &AuditEvent::new(&id, "get", &uri)
                    .by(client, "x/1")
                    .code(200)
                    .at(number * 9_000_000, 10)
                    .line();
            }
        }
        log.into_bytes()
    };
    let dir = Dir::with(&[("all.log", &log(&["pods", "secrets"])), ("few.log", &log(&["pods"]))]);
    let notes = json(&dir, &["--base", "all.log", "--new", "few.log"])["notes"].to_string();
    assert!(notes.contains("120 requests of 2 clients for secrets, and the new side has none"), "{notes}");
    dir.write("again.log", &log(&["pods", "secrets"]));
    let same = json(&dir, &["--base", "all.log", "--new", "again.log"])["notes"].to_string();
    assert!(!same.contains("for secrets"), "{same}");
}

#[test]
fn units_divide_by_minutes_runs_and_requests() {
    let half = gets("op", 200, 10);
    let dir =
        Dir::with(&[("a.log", &gets("op", 100, 10)), ("b.log", &half), ("c.log", &gets("op", 400, 20))]);
    let steady = |args: &[&str]| {
        let report = json(&dir, args);
        let all = ["changes", "notDecided"].map(|key| report[key].as_array().expect("rows").clone()).concat();
        let row = all.iter().find(|row| row["shape"] == "get configmaps").cloned().unwrap_or_default();
        (row["steady"]["before"].as_f64(), row["steady"]["after"].as_f64())
    };
    assert_eq!(steady(&["--base", "a.log", "--new", "b.log"]), (Some(10.0), Some(20.0)));
    assert_eq!(steady(&["--base", "b.log", "--new", "c.log"]), (None, None));
    assert_eq!(steady(&["--base", "b.log", "--new", "c.log", "--per", "run"]), (Some(200.0), Some(400.0)));
    let per = "request-of=get secrets";
    assert_eq!(steady(&["--base", "b.log", "--new", "c.log", "--per", per]), (Some(200.0), Some(400.0)));
    let none = error(&dir, &["--base", "b.log", "--new", "c.log", "--per", "request-of=create pods"]);
    assert!(none.contains("b.log: it has no request of 'create pods'"), "{none}");
    let no_nodes = error(&dir, &["--base", "b.log", "--new", "c.log", "--per", "node"]);
    assert!(no_nodes.contains("shows no nodes"), "{no_nodes}");
}

#[test]
fn names_of_test_runs_are_folded_and_mapped() {
    let user = |namespace: &str| format!("system:serviceaccount:{namespace}:operator");
    let dir = Dir::with(&[
        ("a.log", &gets(&user("e2e-x7k2p"), 100, 10)),
        ("b.log", &gets(&user("e2e-9dl4w"), 100, 10)),
        ("c.log", &gets(&user("pull-request"), 100, 10)),
    ]);
    assert_eq!(rows(&json(&dir, &["--base", "a.log", "--new", "b.log"]), "changes"), Vec::<String>::new());
    let apart = error(&dir, &["--base", "a.log", "--new", "c.log"]);
    assert!(apart.contains("no common client") && apart.contains("--map"), "{apart}");
    let map = "pull-request|e2e-\\*=test";
    let report = json(&dir, &["--base", "a.log", "--new", "c.log", "--map", map]);
    assert_eq!(rows(&report, "changes"), Vec::<String>::new());
}

#[test]
fn conditions_set_the_exit_status() {
    let dir = Dir::with(&[("base.log", &good(5, 1)), ("same.log", &good(5, 3)), ("new.log", &defect(5, 2))]);
    let met = |new: &str, condition: &str| {
        let (code, _, err) =
            diff(&dir, &["--base", "base.log", "--new", new, "--user", OPERATOR, "--fail-on", condition]);
        (code, err)
    };
    for condition in ["new-shape", "finding", "requests>+20%", "watches>+0", "etcd-reads>+10%", "writes>+5%"]
    {
        let (code, err) = met("same.log", condition);
        assert_eq!((code, &*err), (Some(0), ""), "{condition}");
    }
    for (condition, message) in [
        (
            "new-shape",
            "failed: new-shape: system:serviceaccount:shop-system:order-operator sends list configmaps",
        ),
        ("finding", "failed: finding: KT"),
        ("requests>+20%", "failed: requests>+20%: from "),
        ("watches>+0", "failed: watches>+0: from 3.00 to 4.00 per start of each client"),
    ] {
        let (code, err) = met("new.log", condition);
        assert_eq!(code, Some(1), "{condition}: {err}");
        assert!(err.contains(message), "{condition}: {err}");
    }
    let wrong = error(&dir, &["--base", "base.log", "--new", "new.log", "--fail-on", "speed>+1"]);
    assert!(wrong.contains("etcd-reads"), "{wrong}");
}

#[test]
fn sides_that_mislead_are_an_error_with_a_way_out() {
    let received = |log: Vec<u8>| {
        let text = String::from_utf8(log).expect("UTF-8");
        text.replace("\"ResponseComplete\"", "\"RequestReceived\"").into_bytes()
    };
    let dir = Dir::with(&[
        ("a.log", &gets("op", 100, 10)),
        ("b.log", &gets("op", 100, 10)),
        ("received.log", &received(gets("op", 100, 10))),
        ("empty.log", b"{}\n"),
        ("old.json", br#"{"schemaVersion": 9}"#),
        ("broken.json", br#"{"schemaVersion": 1, "#),
    ]);
    let (code, out, err) = dir.run_with(
        &["scan", "a.log", "--verb", "get", "--resource", "secrets", "--format", "json", "--no-progress"],
        b"",
    );
    assert_eq!(code, Some(0), "{err}");
    dir.write("filtered.json", out.as_bytes());
    for (new, message) in [
        ("filtered.json", "with --resource=secrets --verb=get; read all runs with the same filters"),
        ("received.log", "kubetoll audit-policy"),
        ("empty.log", "empty.log"),
        ("old.json", "old.json: the report has schemaVersion 9"),
        ("broken.json", "broken.json: not a JSON report"),
        ("missing.log", "missing.log"),
        ("a.log", "given twice"),
    ] {
        let error = error(&dir, &["--base", "a.log", "--new", new]);
        assert!(error.contains(message), "{new}: {error}");
    }
    let nobody = error(&dir, &["--base", "a.log", "--new", "b.log", "--user", "nobody"]);
    assert!(nobody.contains("Check the filters"), "{nobody}");
}

#[test]
fn every_format_shows_the_worse_program() {
    let dir = Dir::with(&[("base.log", &good(5, 1)), ("new.log", &defect(5, 2))]);
    let both = ["--base", "base.log", "--new", "new.log", "--fail-on", "new-shape"];
    let (_, text, _) = diff(&dir, &both);
    insta::assert_snapshot!("diff_text", text);
    let (_, markdown, _) = diff(&dir, &[&both[..], &["--format", "markdown"]].concat());
    let tables = Parser::new_ext(&markdown, Options::ENABLE_TABLES)
        .filter(|event| matches!(event, Markdown::Start(pulldown_cmark::Tag::Table(_))))
        .count();
    assert_eq!(tables, 2, "{markdown}");
    insta::assert_snapshot!("diff_markdown", markdown);
    let (_, github, _) = diff(&dir, &[&both[..], &["--format", "github"]].concat());
    insta::assert_snapshot!("diff_github", github);
    let report = json(&dir, &both);
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diff.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).expect("a schema")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let (code, out, err) = diff(&dir, &["--base", "base.log", "--new", "new.log", "-o", "out.md"]);
    assert_eq!((code, &*out, &*err), (Some(0), "", ""));
    assert!(fs::read_to_string(dir.path().join("out.md")).expect("a file").starts_with("## 3 changes"));
}

#[test]
fn hostile_names_are_escaped_and_a_comment_stays_short() {
    let mut log = String::new();
    for number in 0..4_000_usize {
        let name = format!("op|`<b>\u{1b}[31m{}\n::error::x", number % 400);
        let uri =
            format!("/api/v1/namespaces/n{number}/pods?labelSelector=a%7Cb%60{}", "x".repeat(number % 40));
        log += &AuditEvent::new(&number, "list", &uri)
            .by(&name, "a/1")
            .code(200)
            .at(number as u64 * 50_000, 10)
            .line();
    }
    let mut base =
        AuditEvent::new(&0, "list", "/api/v1/pods").by("op|`<b>\u{1b}[31m0\n::error::x", "a/1").code(200);
    base = base.at(0, 10);
    let dir = Dir::with(&[("base.log", base.line().as_bytes()), ("new.log", log.as_bytes())]);
    for format in ["text", "markdown", "github"] {
        let (code, out, err) =
            diff(&dir, &["--base", "base.log", "--new", "new.log", "--top", "10000", "--format", format]);
        assert_eq!(code, Some(0), "{err}");
        assert!(!out.contains('\u{1b}') && !out.contains("\n::error::x"), "{format}: {out}");
        if format == "markdown" {
            let html = |event: &Markdown<'_>| matches!(event, Markdown::Html(_) | Markdown::InlineHtml(_));
            assert!(out.chars().count() < 60_000, "{}", out.len());
            assert!(!Parser::new_ext(&out, Options::ENABLE_TABLES).any(|event| html(&event)), "{out}");
        }
    }
}
