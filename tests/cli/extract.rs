//! `kubetoll extract` on the command line.

use crate::support::command;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};

use crate::support::command::Dir;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

const TRAFFIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/traffic/kube-apiserver-1.36.2.jsonl.gz");

fn traffic() -> Vec<Value> {
    let mut log = String::new();
    GzDecoder::new(fs::File::open(TRAFFIC).expect("the traffic")).read_to_string(&mut log).expect("gzip");
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The lines that extract writes.
fn extract(dir: &Dir, args: &[&str], stdin: &[u8]) -> Vec<Value> {
    let (code, out, err) = dir.run_with(&[&["extract", "--no-progress"], args].concat(), stdin);
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The properties of a report's cases that do not depend on names.
fn cases(report: &Value) -> Vec<Value> {
    let cases = report["cases"].as_array().expect("cases").iter();
    cases
        .map(|case| {
            let members = case["members"]["worst"].as_array().expect("members").iter();
            let names = members.map(|member| &member["client"]).chain([&case["client"], &case["resource"]]);
            let what = case["what"].as_str().expect("a text").to_owned();
            let what = names.filter_map(Value::as_str).fold(what, |what, name| what.replace(name, "X"));
            let load = (case["load"]["share"].as_f64().unwrap_or(0.0) * 1e6).round();
            let count = &case["members"]["count"];
            json!([case["rank"], case["severity"], case["rules"], what, case["requests"], load, count])
        })
        .collect()
}

#[test]
fn a_case_is_the_events_of_its_requests_with_all_stages() {
    let dir = Dir::with(&[]);
    let events = traffic();
    let version = &[TRAFFIC, "--kube-version", "1.36.2"][..];
    for (flags, tried) in [(version, 1), (&[TRAFFIC, "--kube-version", "1.30.4", "--verb", "list"], 2)] {
        let report = dir.report(flags);
        let cases = report["cases"].as_array().expect("cases");
        assert!(cases.len() > 2, "{flags:?}");
        for case in &cases[..tried] {
            let rank = case["rank"].to_string();
            let actual = extract(&dir, &[flags, &["--case", &rank]].concat(), b"");
            let ended = actual.iter().filter(|event| event["stage"] == "ResponseComplete").count() as u64;
            assert_eq!(Some(ended), case["requests"].as_u64(), "case {rank} {flags:?}");
            let ids: BTreeSet<&str> = actual.iter().filter_map(|event| event["auditID"].as_str()).collect();
            let all = events.iter().filter(|event| ids.contains(event["auditID"].as_str().expect("an ID")));
            assert_eq!(
                actual,
                all.cloned().collect::<Vec<Value>>(),
                "as in the log, in its order, each stage"
            );
        }
    }
}

#[test]
fn filters_choose_events_without_a_case() {
    let dir = Dir::with(&[]);
    let actual = extract(&dir, &[TRAFFIC, "--user", "alice", "--http-status-code", "404"], b"");
    let events = traffic();
    let is_wanted =
        |event: &&Value| event["user"]["username"] == "alice" && event["responseStatus"]["code"] == 404;
    let ids: BTreeSet<&str> =
        events.iter().filter(is_wanted).filter_map(|event| event["auditID"].as_str()).collect();
    assert!(!ids.is_empty());
    let all = events.iter().filter(|event| ids.contains(event["auditID"].as_str().expect("an ID")));
    assert_eq!(actual, all.cloned().collect::<Vec<Value>>());
}

#[test]
fn extract_removes_envelopes_and_keeps_access_lines() {
    let event = command::event(1);
    let line = "I0723 10:00:00.000000       1 httplog.go:132] \"HTTP\" verb=\"LIST\" URI=\"/api/v1/nodes\" latency=\"1ms\" userAgent=\"acme/1\" audit-ID=\"x\" srcIP=\"10.0.0.1:5\" resp=200";
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(&event).expect("JSON")).expect("JSON");
    let files = [
        ("cri.log", format!("2026-07-23T10:00:00Z stdout F {event}\n")),
        ("docker.log", format!("{}\n", json!({"log": format!("{event}\n"), "stream": "stdout"}))),
        ("pretty.json", pretty),
        ("legacy.log", "2026-01-01T00:00:00.5Z AUDIT: id=\"a\" stage=\"ResponseComplete\" ip=\"10.0.0.1\" method=\"list\" user=\"alice\" groups=\"\" as=\"<self>\" asgroups=\"<lookup>\" user-agent=\"kubectl/v1\" namespace=\"<none>\" uri=\"/api/v1/pods\" response=\"200\"\n".to_owned()),
        ("access.log", format!("{line}\n")),
    ];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let dir = Dir::with(&files);
    let own: Value = serde_json::from_str(&event).expect("JSON");
    for name in ["cri.log", "docker.log", "pretty.json"] {
        assert_eq!(extract(&dir, &[name], b""), std::slice::from_ref(&own), "{name}");
    }
    let legacy = extract(&dir, &["legacy.log"], b"");
    assert_eq!(
        (&legacy[0]["user"]["username"], &legacy[0]["requestURI"]),
        (&json!("alice"), &json!("/api/v1/pods"))
    );
    let (code, out, _) = dir.run_with(&["extract", "--no-progress", "access.log"], b"");
    assert_eq!((code, out), (Some(0), format!("{line}\n")));
    let (code, out, err) =
        dir.run_with(&["extract", "--no-progress", "--anonymize", "access.log", "cri.log"], b"");
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{err}");
    assert!(err.contains("wrote 1 event and 1 access line of 2 records") && !out.contains("poller"), "{err}");
    assert!(!out.contains("acme") && !out.contains("10.0.0.1"), "{out}");
}

#[test]
fn standard_input_is_read_once_only() {
    let dir = Dir::with(&[]);
    let log = command::events(1..4);
    assert_eq!(extract(&dir, &["-"], log.as_bytes()).len(), 3);
    for args in [&["extract", "-", "--case", "1"][..], &["extract", "-", "--user", "alice"]] {
        let (code, out, err) = dir.run_with(args, log.as_bytes());
        assert_eq!((code, &*out), (Some(2), ""));
        assert!(
            err.contains("the log is read twice") && err.contains("write the log to a file first"),
            "{err}"
        );
    }
}

#[test]
fn extract_errors_are_reported_before_a_file_is_written() {
    let dir = Dir::with(&[
        ("audit.log", command::events(1..4).as_bytes()),
        ("empty.log", b""),
        ("short.key", b"fifteen letters\n"),
    ]);
    for (args, expected) in [
        (&["audit.log", "--case", "99", "-o", "./out"][..], "--case 99: a scan with these flags finds"),
        (&["audit.log", "--case", "0", "-o", "./out"], "--case"),
        (&["audit.log", "-o", "json"], "this command writes JSON lines; use -o FILE.jsonl"),
        (&["audit.log", "-o", "./audit.log"], "is an audit log"),
        (
            &["audit.log", "--anonymize-key-file", "short.key", "-o", "./out"],
            "short.key: the key has 15 bytes",
        ),
        (&["audit.log", "--anonymize-key-file", "no.key", "-o", "./out"], "no.key: can't be read"),
        (&["audit.log", "--anonymize-key-file", "short.key", "-o", "./short.key"], "the key has 15 bytes"),
        (&["audit.log", "-o", "out.csv"], "-o out.jsonl"),
        (&["audit.log", "--case", "x"], "write the number of a case"),
        (&["missing.log", "-o", "./out"], "can't be read"),
    ] {
        let (code, _, err) = dir.run_with(&[&["extract", "--no-progress"], args].concat(), b"");
        assert_eq!(code, Some(2), "{args:?}");
        assert!(err.contains(expected), "{args:?}: {err}");
        assert!(!dir.path().join("out").exists(), "{args:?}");
    }
    let (code, _, err) = dir.run_with(&["extract", "--no-progress", "empty.log"], b"");
    assert!(code == Some(2) && err.contains("no audit event"), "{err}");
}

#[test]
fn incomplete_extract_does_not_replace_a_file() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(command::events(1..2000).as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let mut event: Value = serde_json::from_str(&command::event(1)).expect("JSON");
    event["annotations"] = json!(["authorization.k8s.io/decision"]);
    let odd = format!("{}{event}\n", command::events(1..4));
    let dir = Dir::with(&[
        ("cut.log.gz", &gzip[..gzip.len() / 2]),
        ("empty.log", b""),
        ("odd.log", odd.as_bytes()),
        ("out", b"old"),
    ]);
    for (args, expected) in [
        (&["cut.log.gz"][..], "the log can't be read to its end"),
        (&["cut.log.gz", "--anonymize"], "the log can't be read to its end"),
        (&["empty.log"], "no audit event"),
        (&["odd.log", "--anonymize"], "1 event can't be anonymized"),
    ] {
        let (code, _, err) =
            dir.run_with(&[&["extract", "--no-progress", "-o", "./out"], args].concat(), b"");
        assert_eq!(code, Some(2), "{args:?}: {err}");
        assert!(err.contains(expected) && err.contains("no file was written"), "{args:?}: {err}");
        assert_eq!(fs::read(dir.path().join("out")).expect("the file"), b"old", "{args:?}");
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 4, "{args:?}");
        let (code, out, err) = dir.run_with(&[&["extract", "--no-progress"], args].concat(), b"");
        assert_eq!((code, &*out), (Some(2), ""), "{args:?}: {err}");
        assert!(err.contains(expected) && err.contains("nothing was written"), "{args:?}: {err}");
    }
}

/// The requests of a case that `kubetoll extract` writes, and its messages.
fn extract_case(dir: &Dir, flags: &[&str]) -> Option<String> {
    let (code, _, err) =
        dir.run_with(&[&["extract", "--no-progress", "-o", "./case.jsonl"], flags].concat(), b"");
    if err.contains("about the log itself") {
        return None;
    }
    assert_eq!(code, Some(0), "{flags:?}: {err}");
    Some(err)
}

/// Whether a report has a case of the same severity and rules, and of the same number of requests.
fn has_case(report: &Value, case: &Value) -> bool {
    let same = |other: &Value| ["severity", "rules", "requests"].map(|key| other[key] == case[key]);
    report["cases"].as_array().expect("cases").iter().any(|other| same(other) == [true; 3])
}

/// A poller's event under another user and user agent.
fn of_component(number: u32, user: &str, agent: &str) -> String {
    let agent = format!("{agent} (linux/amd64) kubernetes/a51b3b7");
    let event = command::event(number).replace("system:serviceaccount:monitoring:poller", user);
    event.replace("poller/v1.2.3", &agent) + "\n"
}

#[test]
fn an_extract_shows_the_version_that_the_log_shows() {
    let dir = Dir::with(&[]);
    let loopback = of_component(600, "system:apiserver", "kube-apiserver/v1.30.4");
    let scheduler = of_component(601, "system:kube-scheduler", "kube-scheduler/v1.30.4");
    let kubelet = |number: u32| {
        let patch = if number < 625 { 4 } else { 2 };
        of_component(number, &format!("system:node:n{number}"), &format!("kubelet/v1.30.{patch}"))
    };
    let kubelets: String = (610..630).map(kubelet).collect();
    let api = command::event(602)
        .replace("/api/v1/pods", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
        + "\n";
    for (others, source, most_added) in [
        (&[&loopback, &scheduler, &kubelets, &api][..], "loopback-user-agent", 1),
        (&[&scheduler, &kubelets, &api], "control-plane-user-agent", 3),
        (&[&kubelets, &api], "kubelet-user-agent", 2),
        (&[&api], "newest-possible", 1),
    ] {
        let log: String = std::iter::once(command::events(1..400))
            .chain(others.iter().map(|text| (*text).clone()))
            .collect();
        dir.write("audit.log", log.as_bytes());
        let report = dir.report(&["audit.log"]);
        let server = &report["server"];
        assert_eq!(server["versionSource"], source, "{server}");
        let is_of_poller = |case: &&Value| case["requests"].as_u64().is_some_and(|requests| requests >= 399);
        let case =
            report["cases"].as_array().expect("cases").iter().find(is_of_poller).expect("the poller's case");
        for anonymize in [&[][..], &["--anonymize"]] {
            let rank = case["rank"].to_string();
            let flags = [&["audit.log", "--case", &rank], anonymize].concat();
            let err = extract_case(&dir, &flags).expect("a case of requests");
            assert!(err.contains("as in the log"), "{err}");
            let actual = dir.report(&["case.jsonl"]);
            for key in ["kubeVersion", "versionSource", "candidates"] {
                assert_eq!(actual["server"][key], server[key], "{key} {source} {err}");
            }
            let lines =
                fs::read_to_string(dir.path().join("case.jsonl")).expect("a file").lines().count() as u64;
            let added = lines - case["requests"].as_u64().expect("a number");
            assert!(added <= most_added, "{added} events added to show the {source}");
        }
    }
}

#[test]
fn a_version_that_no_event_shows_is_named() {
    let dir = Dir::with(&[("audit.log", command::events(1..400).as_bytes())]);
    let start = "I0723 09:00:00.000000       1 server.go:163] Version: v1.29.7\n";
    let log = format!(
        "I0723 09:00:00.000000       1 server.go:625] external host was not specified, using 10.0.0.2\n{start}{}",
        command::events(1..400)
    );
    dir.write("own.log", log.as_bytes());
    for flags in [&["audit.log", "--kube-version", "1.29.7"][..], &["own.log"]] {
        let report = dir.report(flags);
        assert_eq!(report["server"]["kubeVersion"], "1.29.7", "{flags:?}");
        let case = &report["cases"][0];
        let err = extract_case(&dir, &[flags, &["--case", "1"]].concat()).expect("a case of requests");
        assert!(err.contains("scan it with --kube-version 1.29.7\n"), "{err}");
        let actual = dir.report(&["case.jsonl", "--kube-version", "1.29.7"]);
        assert!(has_case(&actual, case), "{case} {actual}");
    }
}

/// The events of a poller, and one of the loopback client of a server of this version.
fn of_server(version: &str, numbers: std::ops::Range<u32>) -> String {
    let loopback =
        of_component(numbers.start + 500_000, "system:apiserver", &format!("kube-apiserver/v{version}"));
    format!("{}{loopback}", command::events(numbers))
}

#[test]
fn servers_of_different_versions_are_not_mixed() {
    let dir = Dir::with(&[
        ("a.log", of_server("1.28.3", 1..300).as_bytes()),
        ("b.log", of_server("1.34.1", 1_000_001..1_000_300).as_bytes()),
        ("c.log", of_server("1.34.1", 2_000_001..2_000_300).as_bytes()),
    ]);
    for flags in [&["--anonymize"][..], &["--case", "1"], &["--user", "*", "--anonymize"]] {
        let args = [&["extract", "--no-progress", "-o", "./out", "a.log", "b.log"], flags].concat();
        let (code, _, err) = dir.run_with(&args, b"");
        assert_eq!(code, Some(2), "{flags:?}: {err}");
        assert!(err.contains("1.28.3 and 1.34.1") && err.contains("one server's log at a time"), "{err}");
        assert!(!dir.path().join("out").exists());
    }
    let (code, out, err) = dir.run_with(&["extract", "--no-progress", "b.log", "c.log", "--anonymize"], b"");
    assert_eq!((code, out.lines().count()), (Some(0), 600), "{err}");
}

#[test]
fn lines_that_cannot_be_read_are_counted_with_their_place() {
    let events = command::events(1..20);
    let cut = &events[..events.len() - 40];
    let dir =
        Dir::with(&[("cut.log", cut.as_bytes()), ("noise.log", format!("{{\"a\n{{\n{events}").as_bytes())]);
    for flags in [&[][..], &["--anonymize"], &["--user", "*poller"]] {
        let args = [&["extract", "--no-progress", "cut.log"], flags].concat();
        let (code, out, err) = dir.run_with(&args, b"");
        assert_eq!((code, out.lines().count()), (Some(0), 18), "{err}");
        assert!(err.contains("skipped: 1 truncated (cut.log:19)"), "{err}");
    }
    let skipped = dir.report(&["cut.log"])["input"]["skipped"].clone();
    assert_eq!(skipped, json!({"truncated": 1}), "as scan counts");
    let (code, _, err) = dir.run_with(&["extract", "--no-progress", "noise.log", "--max-line", "1"], b"");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the first at noise.log:1"), "{err}");
}

#[test]
fn the_output_does_not_depend_on_the_number_of_workers() {
    let dir = Dir::with(&[]);
    let key = "0123456789abcdef";
    dir.write("key", key.as_bytes());
    for flags in [&["--case", "1"][..], &["--user", "*"], &["--anonymize-key-file", "key"]] {
        let with = |threads| extract(&dir, &[&[TRAFFIC, "--threads", threads], flags].concat(), b"");
        let one = with("1");
        assert!(one.len() > 10, "{flags:?}");
        assert_eq!(with("5"), one, "{flags:?}");
    }
}

#[test]
fn anonymized_traffic_gives_the_same_cases_and_names_nothing() {
    let dir = Dir::with(&[]);
    let actual = extract(&dir, &[TRAFFIC, "--anonymize", "-o", "./anonymous.jsonl"], b"");
    assert!(actual.is_empty(), "it went to the file");
    for flags in [&[][..], &["--kube-version", "1.30.4"]] {
        let (own, other) =
            (dir.report(&[flags, &[TRAFFIC]].concat()), dir.report(&[flags, &["anonymous.jsonl"]].concat()));
        assert_eq!(cases(&other), cases(&own), "{flags:?}");
        assert_eq!(other["server"]["kubeVersion"], own["server"]["kubeVersion"]);
        assert_eq!(other["totals"]["byVerb"], own["totals"]["byVerb"]);
        assert_eq!(other["totals"]["byServedFrom"], own["totals"]["byServedFrom"]);
    }
    let text = fs::read_to_string(dir.path().join("anonymous.jsonl")).expect("a file");
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '@');
    let words: BTreeSet<&str> = text.split(|c: char| !is_of_word(c)).collect();
    let left: Vec<String> =
        private_names(&traffic()).into_iter().filter(|name| words.contains(&**name)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Kubernetes' own names in the recorded traffic, and names that are words of the API too.
const PUBLIC: [&str; 24] = [
    "batch",
    "certificates.k8s.io",
    "certificatesigningrequests",
    "cluster-admin",
    "default",
    "generic-garbage-collector",
    "horizontal-pod-autoscaler",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-node-lease",
    "kube-public",
    "kube-root-ca.crt",
    "kube-scheduler",
    "kube-system",
    "kubernetes",
    "leader-election",
    "legacy-service-account-token-cleaner",
    "namespaces",
    "persistent-volume-binder",
    "pod-garbage-collector",
    "root-ca-cert-publisher",
    "service-ca-cert-publisher",
    "view",
    "volume-scheduler",
];

/// The names that a log holds: of users, namespaces, objects, nodes, pods and addresses.
fn private_names(events: &[Value]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for event in events {
        let users = [&event["user"]["username"], &event["impersonatedUser"]["username"]];
        let objects = ["name", "namespace"].map(|key| &event["objectRef"][key]);
        for name in users.into_iter().chain(objects).filter_map(Value::as_str) {
            names.extend(name.split(':').map(str::to_owned));
        }
        let extra = event["user"]["extra"].as_object().into_iter().flatten();
        let lists = extra.map(|(_, value)| value).chain([&event["sourceIPs"]]);
        let texts = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        names.extend(texts.map(str::to_owned));
        names.extend(event["auditID"].as_str().map(str::to_owned));
        names.extend(event["user"]["uid"].as_str().map(str::to_owned));
    }
    let is_controller = |name: &str| name.ends_with("-controller");
    let is_system = |name: &str| ["system", "serviceaccount", "node", "apiserver"].contains(&name);
    names.retain(|name| {
        !name.is_empty()
            && !PUBLIC.contains(&&**name)
            && !is_controller(name)
            && !is_system(name)
            && name != "127.0.0.1"
            && name != "::1"
    });
    names
}

#[test]
fn anonymized_hostile_log_has_none_of_its_names() {
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": "acme-id",
        "stage": "ResponseComplete", "verb": "acme-verb",
        "requestURI": "/apis/acme.corp/vacme/namespaces/acme-ns/acmethings/acme-name/acme-sub/acme-tail?acmeKey=acme&labelSelector=acme.corp%2Fapp%3Dacme%2Cacme%20in%20(acme)&fieldSelector=acme.field%3Dacme&container=acme&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhY21lIn0&fieldManager=acme",
        "user": {"username": "acme@acme.corp", "uid": "acme", "groups": ["acme-team", "system:serviceaccounts:acme"],
            "extra": {"acme": ["acme"], "authentication.kubernetes.io/pod-name": ["acme-6d4cf56db6-x2x8q"],
                "authentication.kubernetes.io/node-name": ["node.acme.corp"], "authentication.kubernetes.io/credential-id": ["JTI=acme"]}},
        "impersonatedUser": {"username": "system:serviceaccount:acme:acme", "groups": ["acme"]},
        "sourceIPs": ["acme", "203.0.113.77"], "userAgent": "acme/v1.2-acme (acme) acme@acme.corp kubernetes/acme",
        "objectRef": {"resource": "acmethings", "namespace": "acme-ns", "name": "acme-name", "uid": "acme", "apiGroup": "acme.corp", "apiVersion": "vacme", "resourceVersion": "acme", "subresource": "acme-sub"},
        "responseStatus": {"metadata": {"acme": 1}, "status": "Failure", "message": "acme", "reason": "acme", "details": {"name": "acme"}, "code": 403},
        "requestObject": {"acme": "acme"}, "responseObject": {"metadata": {"name": "acme"}},
        "requestReceivedTimestamp": "2026-07-23T10:00:00.000000Z", "stageTimestamp": "acme",
        "annotations": {"authorization.k8s.io/decision": "acme", "authorization.k8s.io/reason": "RBAC: allowed by acme",
            "acme": "acme", "apiserver.latency.k8s.io/acme": "acme", "apiserver.latency.k8s.io/etcd": "1ms"},
        "authenticationMetadata": {"impersonationConstraint": "acme"}, "acme": {"acme": "acme"},
    });
    let mut lines = format!("{event}\n");
    for uri in [
        "/acme/acme",
        "//acme",
        "acme",
        "/api/v1/acme",
        "/%zz/acme",
        "https://acme.corp/api/v1/pods?acme",
        "/api/v1/namespaces/acme/pods/acme-0/proxy/acme/acme?acme",
        "/api/v1/pods?labelSelector=%3Dacme",
        "/api/v1/pods?fieldSelector=acme",
        "/api/v1/pods?limit=acme&resourceVersion=acme&watch=acme&timeout=acme",
    ] {
        let mut other = event.clone();
        other["requestURI"] = json!(uri);
        other["verb"] = json!("get");
        lines.push_str(&other.to_string());
        lines.push('\n');
    }
    let dir = Dir::with(&[("audit.log", lines.as_bytes())]);
    let (code, out, err) = dir.run_with(&["extract", "--no-progress", "--anonymize", "audit.log"], b"");
    assert_eq!((code, out.lines().count()), (Some(0), 11), "{err}");
    assert!(!out.to_lowercase().contains("acme") && !out.contains("203.0.113"), "{out}");
    // Base64 of "acme".
    assert!(!out.contains("YWNtZ"), "{out}");
}

#[test]
fn pseudonyms_are_stable_under_a_key_only() {
    let (one, other) = ("0123456789abcdef", "0123456789abcdeg");
    let dir = Dir::with(&[
        ("audit.log", command::events(1..3).as_bytes()),
        ("one.key", format!("{one}\n").as_bytes()),
        ("other.key", other.as_bytes()),
    ]);
    let with = |args: &[&str]| extract(&dir, &[&["audit.log"], args].concat(), b"");
    assert_eq!(with(&["--anonymize-key-file", "one.key"]), with(&["--anonymize-key-file", "one.key"]));
    assert_ne!(with(&["--anonymize-key-file", "one.key"]), with(&["--anonymize-key-file", "other.key"]));
    assert_ne!(with(&["--anonymize"]), with(&["--anonymize"]));
    let with_variable = |key: &str| {
        let args = ["extract", "--no-progress", "--anonymize", "audit.log"];
        let output = dir.command(&args).env("KUBETOLL_ANONYMIZE_KEY", key).output().expect("the binary runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let (code, text) = with_variable(one);
    assert_eq!(code, Some(0));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, with(&["--anonymize-key-file", "one.key"]));
    assert_eq!(with_variable("short"), (Some(2), String::new()));
}

/// A log of clients that the page prints under other names than the log.
fn named_clients() -> String {
    let poller = "system:serviceaccount:monitoring:poller";
    let users = [poller, "bob", "system:kube-scheduler", "system:node:n1"];
    users.iter().zip(0..).map(|(user, number)| command::events([number]).replace(poller, user)).collect()
}

#[test]
fn clients_are_selected_by_the_names_on_the_page() {
    let dir = Dir::with(&[("audit.log", named_clients().as_bytes())]);
    for (flag, printed, user) in [
        ("--client", "monitoring/poller", "system:serviceaccount:monitoring:poller"),
        ("--user", "monitoring/poller", "system:serviceaccount:monitoring:poller"),
        ("--client", "user bob", "bob"),
        ("--user", "user bob", "bob"),
        ("--client", "kube-scheduler", "system:kube-scheduler"),
        ("--client", "40 nodes", "system:node:n1"),
        ("--client", "kubelet", "system:node:n1"),
        ("--client", "n1", "system:node:n1"),
    ] {
        let actual = extract(&dir, &["audit.log", flag, printed], b"");
        let users: Vec<&str> = actual.iter().filter_map(|event| event["user"]["username"].as_str()).collect();
        assert_eq!(users, [user], "{flag} {printed}");
    }
}

#[test]
fn filters_that_choose_no_event_are_an_error_and_leave_no_file() {
    let dir = Dir::with(&[("audit.log", named_clients().as_bytes())]);
    let args = ["extract", "--no-progress", "audit.log", "--client", "nobody/here", "-o", "chosen.jsonl"];
    let (code, _, err) = dir.run_with(&args, b"");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--client 'nobody/here'"), "{err}");
    assert!(!dir.path().join("chosen.jsonl").exists());
}

#[test]
fn extract_with_secrets_prints_a_warning() {
    let dir = Dir::with(&[("audit.log", named_clients().as_bytes())]);
    let args = ["extract", "--no-progress", "audit.log", "--client", "monitoring/poller"];
    for (anonymize, is_said) in [(&[][..], true), (&["--anonymize"], false)] {
        let (code, _, err) = dir.run_with(&[&args, anonymize].concat(), b"");
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(err.contains("secrets"), is_said, "{err}");
    }
}
