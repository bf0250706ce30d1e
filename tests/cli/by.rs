//! Ranked counts (`--by`), `-f` and `-o` on the command line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use crate::support::command::Dir;
use crate::support::event::AuditEvent;
use flate2::read::GzDecoder;
use serde_json::Value;

const TRAFFIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/traffic/kube-apiserver-1.36.2.jsonl.gz");

/// The counts of all values, and the sum that is printed.
fn counted(dir: &Dir, args: &[&str]) -> (BTreeMap<String, u64>, u64) {
    let mut all = vec!["scan", "--no-progress", "--format", "json", "--top", "100000"];
    all.extend(args);
    let (code, out, err) = dir.run_with(&all, b"");
    assert_eq!(code, Some(0), "{err}");
    let ranked: Value = serde_json::from_str(&out).expect("JSON");
    let rows = ranked["rows"].as_array().expect("rows");
    let order: Vec<_> =
        rows.iter().map(|row| (std::cmp::Reverse(row["requests"].as_u64()), row["value"].as_str())).collect();
    assert!(order.is_sorted(), "most first, then by name");
    assert_eq!(ranked["others"]["requests"], 0);
    let row = |row: &Value| {
        (row["value"].as_str().expect("a value").to_owned(), row["requests"].as_u64().expect("a count"))
    };
    (rows.iter().map(row).collect(), ranked["requests"].as_u64().expect("a count"))
}

#[test]
fn counts_cover_completed_requests_and_open_watches() {
    let dir = Dir::with(&[]);
    let mut log = String::new();
    GzDecoder::new(fs::File::open(TRAFFIC).expect("the traffic")).read_to_string(&mut log).expect("gzip");
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |event: &Value, pointer: &str| {
        event
            .pointer(pointer)
            .map_or(String::new(), |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let ended: Vec<&Value> = events
        .iter()
        .filter(|event| matches!(event["stage"].as_str(), Some("ResponseComplete" | "Panic")))
        .collect();
    let ids: std::collections::BTreeSet<String> = ended.iter().map(|event| of(event, "/auditID")).collect();
    let open: BTreeMap<String, &Value> = events
        .iter()
        .filter(|event| event["stage"] == "ResponseStarted" && !ids.contains(&of(event, "/auditID")))
        .map(|event| (of(event, "/auditID"), event))
        .collect();
    let requests: Vec<&Value> = ended.iter().copied().chain(open.into_values()).collect();
    for (by, pointer) in [("verb", "/verb"), ("user", "/user/username"), ("code", "/responseStatus/code")] {
        let mut naive: BTreeMap<String, u64> = BTreeMap::new();
        for event in &requests {
            let is_open = event["stage"] == "ResponseStarted" && of(event, "/responseStatus/code") != "401";
            let value = match of(event, pointer) {
                _ if is_open && by == "code" => "(no code)".to_owned(),
                user if user.is_empty() => "(unauthenticated)".to_owned(),
                value => value,
            };
            *naive.entry(value).or_default() += 1;
        }
        let (counts, sum) = counted(&dir, &[TRAFFIC, "--by", by]);
        assert_eq!(counts, naive, "{by}");
        assert_eq!(sum, requests.len() as u64);
        assert_eq!(counted(&dir, &[TRAFFIC, "--by", by, "--threads", "1"]).0, counts, "one thread");
    }
    let (code, out, err) = dir.run_with(&["scan", "--no-progress", "--format", "json", TRAFFIC], b"");
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let mut clients: BTreeMap<String, u64> = BTreeMap::new();
    for client in report["clients"].as_array().expect("clients") {
        let identity = client["identity"].as_str().expect("a name").to_owned();
        *clients.entry(identity).or_default() += client["requests"].as_u64().expect("a count");
    }
    clients.retain(|_, requests| *requests > 0);
    assert_eq!(counted(&dir, &[TRAFFIC, "--by", "client"]).0, clients);
    for by in ["resource", "namespace"] {
        let (counts, sum) = counted(&dir, &[TRAFFIC, "--by", by]);
        assert_eq!((counts.values().sum::<u64>(), sum), (requests.len() as u64, requests.len() as u64));
    }
    assert_eq!(counted(&dir, &[TRAFFIC, "--by", "namespace"]).0["shop"], {
        let named = |event: &&&Value| of(event, "/requestURI").contains("/namespaces/shop/");
        let own = |event: &&&Value| {
            of(event, "/requestURI").split('?').next().is_some_and(|path| path.ends_with("/namespaces/shop"))
        };
        requests.iter().filter(|event| named(event) || own(event)).count() as u64
    });
}

fn event(id: u32, user: &str, namespace: &str, code: u16) -> String {
    let uri = &*format!("/api/v1/namespaces/{namespace}/pods");
    let agent = "kubectl/v1.30.0";
    AuditEvent::new(&format!("id-{id}"), "list", uri)
        .by(user, agent)
        .code(code)
        .ip("10.0.0.1")
        .at(0, 100_000)
        .line()
}

#[test]
fn filters_top_and_formats_are_honored_and_values_are_escaped() {
    let log: String = (0..6)
        .map(|id| {
            event(id, ["=cmd\u{1b}[31m", "bob", "bob"][id as usize % 3], ["a", "b"][id as usize % 2], 200)
        })
        .chain([event(9, "eve", "c", 403)])
        .collect();
    let dir =
        Dir::with(&[("audit.log", log.as_bytes()), ("more/b.log", event(10, "bob", "d", 200).as_bytes())]);
    let run = |args: &[&str]| {
        let (code, out, err) = dir.run_with(&[&["scan", "--no-progress"], args].concat(), b"");
        assert_eq!(code, Some(0), "{err}");
        out
    };
    assert_eq!(
        run(&["-f", "audit.log", "--by", "user", "--top", "1"]),
        "7 requests by user\n4   57.1 %  bob\n3   42.9 %  (2 others; --top 3)\n"
    );
    assert_eq!(
        run(&["-f", "audit.log", "--by", "user", "--top", "2"]).lines().last(),
        Some("1   14.3 %  (1 other; --top 3)")
    );
    let all = run(&["-f", "audit.log", "--by", "user"]);
    assert!(all.contains("\\u{1b}[31m") && !all.contains('\u{1b}'), "{all:?}");
    let csv = run(&["audit.log", "--by", "user", "--format", "csv"]);
    assert!(csv.contains("2,0.285714,'=cmd\\u{1b}[31m\n"), "{csv:?}");
    assert_eq!(
        run(&["audit.log", "--by", "namespace", "--failed-only"]),
        "1 request by namespace\n1  100.0 %  c\n"
    );
    assert_eq!(
        run(&["audit.log", "-f", "more", "--by", "namespace", "--user", "bob"]),
        "5 requests by namespace\n2   40.0 %  a\n2   40.0 %  b\n1   20.0 %  d\n"
    );
    run(&["audit.log", "--by", "code", "-o", "./count"]);
    assert!(fs::read_to_string(dir.path().join("count")).expect("a file").ends_with("403\n"));
}

#[test]
fn counted_clients_have_the_names_of_the_page() {
    let users =
        ["system:serviceaccount:ops:hot", "system:node:a", "system:node:b", "jane", "system:kube-scheduler"];
    let log: String = (0..).zip(users).map(|(id, user)| event(id, user, "a", 200)).collect();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let (code, out, err) = dir.run_with(&["scan", "--no-progress", "audit.log", "--by", "client"], b"");
    assert_eq!(code, Some(0), "{err}");
    let names: Vec<&str> = out.lines().skip(1).filter_map(|line| line.split("%  ").nth(1)).collect();
    assert_eq!(names[0], "nodes");
    for name in ["ops/hot", "user jane", "kube-scheduler"] {
        assert!(names.contains(&name), "{name}: {out}");
    }
}

#[test]
fn count_rejects_formats_that_it_cannot_print() {
    let dir = Dir::with(&[("audit.log", event(1, "bob", "a", 200).as_bytes())]);
    for (args, expected) in [
        (&["audit.log", "--by", "verb", "--format", "sarif"][..], "--by prints text, json or csv"),
        (&["audit.log", "--by", "verb", "--fail-on", "error"], "--fail-on"),
        (&["audit.log", "--by", "pod"], "possible values: verb, user, resource, code, namespace, client"),
        (&["audit.log", "-o", "json"], "--format json"),
        (&["audit.log", "-otop"], "--by verb --top N"),
        (&["audit.log", "-o", "top=10"], "--by verb --top 10"),
        (&["audit.log", "-o", "top=5.json"], "--top 5;"),
        (&["audit.log", "-o", "json=out.json"], "--format json=out.json;"),
        (&["audit.log", "-o", "wide"], "./wide"),
        (&["audit.log", "-o", "out.html"], "--format markdown=out.md"),
        (&["audit.log", "-o", "out.yaml"], "--format json=out.json"),
        (&["audit.log", "-o", "out.json.gz"], "does not compress"),
        (&["audit.log", "--by", "verb", "-o", "out.md"], "--by prints text, json or csv"),
        (&["audit.log", "--top", "abc"], "not a whole number from 0; write how many cases"),
        (&["audit.log", "--threads", "0"], "not a whole number from 1 to 512; write the number of workers"),
        (&["audit.log", "-f", "json"], "--format json"),
        (&["audit.log", "--by", "verb", "-o", "./audit.log"], "is an audit log"),
    ] {
        let (code, out, err) = dir.run_with(&[&["scan", "--no-progress"], args].concat(), b"");
        assert_eq!((code, &*out), (Some(2), ""), "{args:?}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    let mut files: Vec<_> = fs::read_dir(dir.path())
        .expect("a directory")
        .map(|file| file.expect("a file").file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["audit.log"], "no file was written");
}

#[test]
fn file_extension_sets_the_output_format() {
    let dir = Dir::with(&[("audit.log", event(1, "bob", "a", 200).as_bytes())]);
    for (args, path, start) in [
        (&[][..], "out.json", "{"),
        (&[], "out.md", "#"),
        (&[], "out.sarif", "{"),
        (&[], "out.xml", "<?xml"),
        (&[], "out.csv", "schema_version,client,"),
        (&[], "out.ndjson", "{\"schema_version\""),
        (&[], "./out", "kubetoll "),
        (&["--format", "json=named.json"], "out.md", "#"),
        (&["--format", "json"], "json.txt", "{"),
        (&["--format", "csv"], "table.txt", "schema_version,client,"),
        (&["--by", "user"], "count.csv", "requests,share,user"),
        (&["--by", "user"], "count.json", "{"),
    ] {
        let args = [&["scan", "--no-progress", "audit.log", "-o", path], args].concat();
        let (code, out, err) = dir.run_with(&args, b"");
        assert_eq!((code, &*out), (Some(0), ""), "{args:?}: {err}");
        let text = fs::read_to_string(dir.path().join(path)).expect("a file");
        assert!(text.starts_with(start), "{args:?}: {text}");
    }
    let sarif = fs::read_to_string(dir.path().join("out.sarif")).expect("a file");
    assert!(sarif.contains("sarif-schema"), "{sarif}");
}

#[test]
fn names_match_in_any_case_and_as_in_kubectl() {
    let dir = Dir::with(&[("audit.log", event(1, "bob", "a", 200).as_bytes())]);
    let all = dir.run_with(&["scan", "--no-progress", "audit.log", "--by", "resource"], b"").1;
    assert!(all.contains("pods"), "{all}");
    for args in [
        &["--by", "RESOURCE"][..],
        &["--by", "resource", "--verb", "GET,LIST"],
        &["--by", "resource", "--resource", "Pods"],
        &["--by", "resource", "--resource", "po"],
        &["--by", "resource", "--resource", "Pod"],
    ] {
        let (code, out, err) = dir.run_with(&[&["scan", "--no-progress", "audit.log"], args].concat(), b"");
        assert_eq!((code, &out), (Some(0), &all), "{args:?}: {err}");
    }
}
