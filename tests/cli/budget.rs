//! `kubetoll budget`, and scans with `--budget`: files, findings in each format, and errors.

use serde_json::Value;

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

const OPERATOR: &str = "system:serviceaccount:shop:order-operator";
const AGENT: &str = "order-operator/v1.0 (linux/amd64) kubernetes/abcdef0";
const MINUTE: u64 = 60_000_000;

/// A run of ten minutes of an operator, and of the control plane.
#[derive(Clone, Copy)]
struct Run {
    informers: u64,
    /// LISTs of ConfigMaps per minute.
    polls: u64,
    poll: &'static str,
    /// GETs of Secrets, one every 5 s.
    secrets: u64,
    /// Custom resources, whose status the operator patches once per minute.
    objects: u64,
    user: &'static str,
}

const RUN: Run = Run {
    informers: 1,
    polls: 10,
    poll: "/api/v1/namespaces/shop/configmaps?resourceVersion=0",
    secrets: 0,
    objects: 0,
    user: OPERATOR,
};

impl Run {
    fn log(self) -> String {
        let mut events: Vec<(u64, String)> = Vec::new();
        let mut number = 0;
        let mut add = |at: u64, micros: u64, user: &str, verb: &str, uri: &str, stage: &str| {
            number += 1;
            let event = AuditEvent::new(&number, verb, uri).by(user, AGENT).stage(stage);
            events.push((at + micros, event.at(at, micros).line()));
        };
        let Self { informers, polls, poll, secrets, objects, user } = self;
        for n in 0..informers {
            let at = n * 1_000_000;
            add(at, 20_000, user, "list", "/api/v1/pods?limit=500&resourceVersion=0", "ResponseComplete");
            let watch = "/api/v1/pods?allowWatchBookmarks=true&resourceVersion=9&watch=true";
            add(at + 100_000, 0, user, "watch", watch, "ResponseStarted");
        }
        for n in 0..10 * polls {
            add(2_000_000 + n * MINUTE / polls, 20_000, user, "list", poll, "ResponseComplete");
        }
        for n in 0..secrets {
            let uri = format!("/api/v1/namespaces/shop/secrets/s{n}");
            add(90_000_000 + n * 5_000_000, 20_000, user, "get", &uri, "ResponseComplete");
        }
        for object in 0..objects {
            let uri = format!("/apis/shop.example/v1/namespaces/shop/orders/o{object}/status");
            for minute in 0..10 {
                add(
                    3_000_000 + minute * MINUTE + object * 100_000,
                    20_000,
                    user,
                    "patch",
                    &uri,
                    "ResponseComplete",
                );
            }
        }
        for n in 0..60 {
            let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kcm";
            add(n * 10_000_000, 5_000, "system:kube-controller-manager", "update", lease, "ResponseComplete");
        }
        events.sort();
        events.into_iter().map(|(_, line)| line).collect()
    }
}

const DEFECT: Run = Run { informers: 2, polls: 24, secrets: 40, ..RUN };

/// A directory with the logs of the usual run, of a run with defects and of a smaller run; and a budget of the first.
fn dir() -> Dir {
    let dir = Dir::with(&[
        ("main.log", RUN.log().as_bytes()),
        ("pr.log", DEFECT.log().as_bytes()),
        ("less.log", Run { polls: 4, ..RUN }.log().as_bytes()),
    ]);
    let (code, _, err) = budget(&dir, &["init", "main.log", "--user", "shop/order-operator"]);
    assert_eq!(code, Some(0), "{err}");
    dir
}

fn budget(dir: &Dir, args: &[&str]) -> (Option<i32>, String, String) {
    let mut all = vec!["budget"];
    all.extend(args);
    if args[0] != "schema" {
        all.extend(["--no-progress", "--kube-version", "1.34.1"]);
    }
    dir.run_with(&all, b"")
}

fn scan(dir: &Dir, args: &[&str]) -> (Option<i32>, String, String) {
    let mut all = vec!["scan", "--no-progress"];
    all.extend(args);
    if !args.contains(&"--kube-version") {
        all.extend(["--kube-version", "1.34.1"]);
    }
    dir.run_with(&all, b"")
}

/// The findings on the budget: rule, severity, line, shape.
fn findings(dir: &Dir, log: &str, more: &[&str]) -> Vec<(String, String, u64, String)> {
    let mut args = vec![log, "--budget", "kubetoll-budget.yaml", "--format", "json"];
    args.extend(more);
    let (code, out, err) = scan(dir, &args);
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let all = report["findings"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let on_budget = all.iter().filter(|finding| !finding["budget"].is_null());
    let row = |finding: &Value| {
        let line = finding["budget"]["line"].as_u64().expect("a line");
        (text(&finding["rule"]["id"]), text(&finding["severity"]), line, text(&finding["shape"]))
    };
    on_budget.map(row).collect()
}

fn file(dir: &Dir) -> String {
    std::fs::read_to_string(dir.path().join("kubetoll-budget.yaml")).expect("the budget")
}

fn edit(dir: &Dir, from: &str, to: &str) {
    let text = file(dir);
    assert!(text.contains(from), "{text}");
    dir.write("kubetoll-budget.yaml", text.replacen(from, to, 1).as_bytes());
}

/// The number of the line with a text.
fn line_of(dir: &Dir, text: &str) -> u64 {
    let text = file(dir).lines().position(|line| line.contains(text)).expect("the line");
    text as u64 + 1
}

#[test]
fn init_writes_limits_with_slack_and_the_same_run_is_within_them() {
    let dir = dir();
    insta::assert_snapshot!("init", file(&dir));
    assert_eq!(findings(&dir, "main.log", &[]), []);
    let (code, _, err) = scan(&dir, &["main.log", "--budget", "kubetoll-budget.yaml", "--fail-on", "KT6"]);
    assert_eq!((code, &*err), (Some(0), ""));
}

#[test]
fn init_takes_the_largest_of_several_runs() {
    let dir = dir();
    let args =
        ["init", "main.log", "pr.log", "less.log", "--user", OPERATOR, "--slack", "50%", "-o", "./b.yaml"];
    let (code, out, err) = budget(&dir, &args);
    assert_eq!((code, &*out), (Some(0), ""));
    assert!(err.contains("./b.yaml: a budget for 1 client and 4 request shapes"), "{err}");
    let text = std::fs::read_to_string(dir.path().join("b.yaml")).expect("a budget");
    for part in
        ["slack: 50%", "measured: {perMinute: 24.", "perStart: 3\n", "watches: 3\n", "request: get secrets"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn init_replaces_no_file_without_force() {
    let dir = dir();
    let before = file(&dir);
    let (code, _, err) = budget(&dir, &["init", "less.log", "--user", OPERATOR]);
    assert_eq!(code, Some(2));
    assert!(err.contains("kubetoll-budget.yaml: the file exists; --force replaces it"), "{err}");
    assert_eq!(file(&dir), before);
    let (code, _, err) = budget(&dir, &["init", "less.log", "--user", OPERATOR, "--force"]);
    assert_eq!(code, Some(0), "{err}");
    assert_ne!(file(&dir), before);
    let (code, out, _) = budget(&dir, &["init", "less.log", "-o", "-"]);
    assert!(code == Some(0) && out.contains("system:kube-controller-manager"), "{out}");
}

#[test]
fn init_without_a_request_is_an_error() {
    let dir = dir();
    let (code, _, err) = budget(&dir, &["init", "main.log", "--user", "nobody", "-o", "./b.yaml"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(!dir.path().join("b.yaml").exists());
    for slack in ["20", "-1%", "x%"] {
        let (code, _, err) =
            budget(&dir, &["init", "main.log", &format!("--slack={slack}"), "-o", "./b.yaml"]);
        assert!(code == Some(2) && err.contains("percentage"), "{err}");
    }
}

#[test]
fn a_scan_finds_what_is_over_and_what_is_not_listed() {
    let dir = dir();
    let rows = findings(&dir, "pr.log", &[]);
    let row =
        |rule: &str, line: u64, shape: &str| (rule.to_owned(), "error".to_owned(), line, shape.to_owned());
    let mut expected = vec![
        row("KT601", line_of(&dir, "perMinute: 12"), "list configmaps in a namespace ?resourceVersion=0"),
        row(
            "KT601",
            line_of(&dir, "watches: 1"),
            "watch pods cluster-wide ?resourceVersion=N&allowWatchBookmarks=true",
        ),
        row("KT602", line_of(&dir, "requests:"), "get secrets"),
    ];
    expected.push(row(
        "KT601",
        line_of(&dir, "perStart: 1"),
        "list pods cluster-wide ?limit=500&resourceVersion=0",
    ));
    let mut rows = rows;
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
    let (code, _, err) = scan(&dir, &["pr.log", "--budget", "kubetoll-budget.yaml", "--fail-on", "error"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("(--fail-on error); the worst: KT601 over-budget"), "{err}");
}

#[test]
fn unlisted_requests_are_errors_warnings_or_allowed() {
    let dir = dir();
    let severities = |dir: &Dir| {
        let rows = findings(dir, "pr.log", &["--select", "KT602"]);
        rows.into_iter().map(|(_, severity, ..)| severity).collect::<Vec<_>>()
    };
    assert_eq!(severities(&dir), ["error"]);
    edit(&dir, "unlisted: fail", "unlisted: warn");
    assert_eq!(severities(&dir), ["warning"]);
    edit(&dir, "    requests:", "    unlisted: allow\n    requests:");
    assert_eq!(severities(&dir), [""; 0]);
}

#[test]
fn users_limit_the_clients_without_an_entry() {
    let dir = dir();
    edit(&dir, "users:\n  - shop/order-operator\n", "");
    let rows = findings(&dir, "main.log", &[]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&*rows[0].0, &*rows[0].1, rows[0].2), ("KT602", "error", line_of(&dir, "clients:")));
    edit(&dir, "unlisted: fail", "unlisted: allow");
    assert_eq!(findings(&dir, "main.log", &[]), []);
}

#[test]
fn entries_for_nobody_are_findings() {
    let dir = dir();
    edit(&dir, "order-operator\n    requests", "order-oporator\n    requests");
    edit(&dir, "users:\n  - shop/order-operator\n", "users: [nobody]\n");
    let rows = findings(&dir, "main.log", &[]);
    let line = line_of(&dir, "order-oporator");
    assert_eq!(rows, [("KT603".to_owned(), "warning".to_owned(), line, String::new())]);
    let (code, _, err) =
        scan(&dir, &["main.log", "--budget", "kubetoll-budget.yaml", "--fail-on", "unused-budget"]);
    assert!(code == Some(1) && err.contains("KT603"), "{err}");
    // A shape without requests is information.
    let dir = self::dir();
    edit(&dir, "request: list pods cluster-wide", "request: list nodes cluster-wide");
    let rows = findings(&dir, "main.log", &["--select", "KT603"]);
    assert_eq!(rows.len(), 1);
    assert_eq!((&*rows[0].1, rows[0].2), ("info", line_of(&dir, "list nodes")));
}

#[test]
fn requests_that_move_to_etcd_are_over_budget() {
    let dir = dir();
    edit(
        &dir,
        "servedFrom: watch-cache\n        measured: {perMinute",
        "servedFrom: no-storage\n        reason: x\n        measured: {perMinute",
    );
    let rows = findings(&dir, "main.log", &[]);
    assert_eq!((rows.len(), &*rows[0].0, &*rows[0].1), (1, "KT601", "warning"), "{rows:?}");
    dir.write("old.log", RUN.log().replace("configmaps?resourceVersion=0", "configmaps").as_bytes());
    edit(&dir, "list configmaps in a namespace ?resourceVersion=0", "list configmaps in a namespace");
    let rows = findings(&dir, "old.log", &["--kube-version", "1.30.4"]);
    assert_eq!((rows.len(), &*rows[0].0, &*rows[0].1), (1, "KT601", "error"), "{rows:?}");
    assert_eq!(rows[0].2, line_of(&dir, "servedFrom: no-storage"));
}

#[test]
fn each_format_names_the_line() {
    let dir = dir();
    let line = line_of(&dir, "perMinute: 12");
    let place = format!("kubetoll-budget.yaml:{line}");
    let format = |name: &str| {
        let (code, out, err) = scan(&dir, &["pr.log", "--budget", "kubetoll-budget.yaml", "--format", name]);
        assert_eq!(code, Some(0), "{err}");
        out
    };
    for name in ["text", "markdown", "junit", "json"] {
        let out = format(name);
        assert!(out.contains(&place), "{name}: {out}");
        assert!(out.contains("perMinute: 29"), "{name}: {out}");
    }
    assert!(format("github").contains(&format!("file=kubetoll-budget.yaml,line={line},")));
    let sarif: Value = serde_json::from_str(&format("sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let places: Vec<(&Value, &Value)> = results
        .iter()
        .filter(|result| result["ruleId"] == "KT601")
        .map(|result| &result["locations"][0]["physicalLocation"])
        .map(|place| (&place["artifactLocation"]["uri"], &place["region"]["startLine"]))
        .collect();
    assert!(places.contains(&(&"kubetoll-budget.yaml".into(), &line.into())), "{places:?}");
    insta::assert_snapshot!("over_budget", format("text"));
}

#[test]
fn the_policy_file_suppresses_and_grades_findings_on_a_budget() {
    let dir = dir();
    let policy = "rules: {KT601: {severity: warning}}\nsuppressions:\n  - rule: not-in-budget\n    client: shop/order-operator\n    \
                  shape: get secrets\n    reason: a migration\n    expires: 2099-01-01\n";
    dir.write("kubetoll.yaml", policy.as_bytes());
    let rows = findings(&dir, "pr.log", &[]);
    assert!(rows.iter().all(|(rule, severity, ..)| rule == "KT601" && severity == "warning"), "{rows:?}");
    let (_, out, _) = scan(&dir, &["pr.log", "--budget", "kubetoll-budget.yaml", "--format", "json"]);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["policy"]["suppressed"][0]["rule"]["id"], "KT602");
    assert_eq!(report["policy"]["unmatched"], serde_json::json!([]));
    // Without a budget, the suppression is not called unused.
    let (_, out, _) = scan(&dir, &["pr.log", "--format", "json"]);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["policy"]["unmatched"], serde_json::json!([]));
}

#[test]
fn rules_of_a_budget_need_one() {
    let dir = dir();
    for args in [["--fail-on", "KT601"], ["--fail-on", "KT6"], ["--select", "over-budget"]] {
        let (code, _, err) = scan(&dir, &["main.log", args[0], args[1]]);
        assert!(code == Some(2) && err.contains("add --budget FILE"), "{err}");
    }
    for args in [["--budget", "missing.yaml"], ["--budget", "main.log"]] {
        let (code, _, err) = scan(&dir, &["main.log", args[0], args[1]]);
        assert!(code == Some(2) && err.contains(args[1]), "{err}");
    }
    dir.write("b.json", file(&dir).as_bytes());
    let (code, _, err) = scan(&dir, &["main.log", "--budget", "b.json", "-o", "b.json"]);
    assert!(code == Some(2) && err.contains("is the budget, which is read"), "{err}");
}

#[test]
fn all_errors_of_a_file_are_reported_with_their_positions() {
    let dir = dir();
    edit(&dir, "version: 1", "version: 7");
    edit(&dir, "perMinute: 12.2", "perMinute: 99");
    edit(&dir, "watches: 1", "wachtes: 1");
    let (code, out, err) = scan(&dir, &["main.log", "--budget", "kubetoll-budget.yaml"]);
    assert_eq!((code, &*out), (Some(2), ""));
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 3, "{err}");
    let at = |text: &str, column: u64| format!("kubetoll-budget.yaml:{}:{column}: ", line_of(&dir, text));
    assert!(lines[0].contains(&at("version: 7", 10)), "{err}");
    assert!(lines[1].contains(&at("perMinute: 99", 20)) && lines[1].contains("add a 'reason'"), "{err}");
    assert!(lines[2].contains(&at("wachtes", 9)) && lines[2].contains("did you mean 'watches'?"), "{err}");
    for command in [["ratchet", "less.log"], ["explain", "shop/order-operator"]] {
        let (code, _, err) = budget(&dir, &command);
        assert!(code == Some(2) && err.contains("version must be 1"), "{err}");
    }
}

#[test]
fn a_ratchet_lowers_only_numbers_and_keeps_the_file() {
    let dir = dir();
    edit(&dir, "        perMinute: 12.2", "        # the poll\n        perMinute:  12.2   # each minute");
    let before = file(&dir);
    let (code, out, err) = budget(&dir, &["ratchet", "pr.log"]);
    assert_eq!((code, file(&dir)), (Some(0), before.clone()), "{out}{err}");
    let (code, out, _) = budget(&dir, &["ratchet", "less.log", "--dry-run"]);
    assert!(code == Some(0) && out.contains("1 limit would fall"), "{out}");
    assert_eq!(file(&dir), before);
    let (code, out, _) = budget(&dir, &["ratchet", "less.log"]);
    assert!(code == Some(0) && out.contains("perMinute 4.8"), "{out}");
    let after = file(&dir);
    let changed: Vec<(&str, &str)> =
        before.lines().zip(after.lines()).filter(|(old, new)| old != new).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(
        changed[0].1.starts_with("        perMinute:  4.8") && changed[0].1.ends_with("   # each minute")
    );
    assert_eq!(findings(&dir, "less.log", &[]), []);
    assert_eq!(findings(&dir, "main.log", &["--select", "KT601"]).len(), 1);
    let (_, out, _) = budget(&dir, &["ratchet", "less.log"]);
    assert!(out.contains("0 limits fell"), "{out}");
}

#[test]
fn explain_says_what_a_budget_allows_and_what_a_run_uses() {
    let dir = dir();
    edit(
        &dir,
        "        perMinute: 12.2",
        "        perMinute: 24\n        reason: orders have two ConfigMaps",
    );
    let (code, out, err) = budget(&dir, &["explain", "shop/order-operator", "--log", "main.log"]);
    assert_eq!(code, Some(0), "{err}");
    insta::assert_snapshot!("explain", out);
    let (code, _, err) = budget(&dir, &["explain", "shop/nobody"]);
    assert!(code == Some(2) && err.contains("no entry for 'shop/nobody'"), "{err}");
}

#[test]
fn the_schema_accepts_what_init_writes_and_no_errors() {
    let dir = dir();
    let (code, out, _) = budget(&dir, &["schema"]);
    assert_eq!(code, Some(0));
    let schema: Value = serde_json::from_str(&out).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let valid = |text: &str| {
        let value: Value = serde_saphyr::from_str(text).expect("YAML");
        validator.is_valid(&value)
    };
    let text = file(&dir);
    assert!(valid(&text), "{text}");
    for (from, to) in [
        ("version: 1", "version: 2"),
        ("unlisted: fail", "unlisted: never"),
        ("slack: 20%", "slack: 20"),
        ("perMinute: 12", "perMinute: -12"),
        ("watches: 1", "watches: 1.5"),
        ("    requests:", "    asks:"),
    ] {
        assert!(text.contains(from) && !valid(&text.replacen(from, to, 1)), "{from}");
    }
}

#[test]
fn a_slope_shows_which_requests_grow_with_objects() {
    let dir = dir();
    dir.write("ten.log", Run { objects: 10, ..RUN }.log().as_bytes());
    dir.write("hundred.log", Run { objects: 100, ..RUN }.log().as_bytes());
    let runs = ["slope", "--run", "10=ten.log", "--run", "100=hundred.log"];
    let (code, out, err) = budget(&dir, &[&runs[..], &["--format", "json"]].concat());
    assert_eq!((code, &*err), (Some(0), ""));
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let growing = report["growing"].as_array().expect("a list");
    assert_eq!(growing.len(), 1, "{growing:?}");
    assert_eq!(
        (&growing[0]["client"], &growing[0]["shape"]),
        (&OPERATOR.into(), &"patch orders.shop.example/status".into())
    );
    let slope = growing[0]["perMinute"]["slope"].as_f64().expect("a slope");
    assert!((0.9..1.1).contains(&slope), "{slope}");
    let (_, out, _) = budget(&dir, &runs);
    insta::assert_snapshot!("slope", out);
    let (_, out, _) = budget(&dir, &[&runs[..], &["--format", "markdown"]].concat());
    assert!(out.contains("| `shop/order-operator` |"), "{out}");

    let (code, ..) = budget(&dir, &["init", "ten.log", "--user", OPERATOR, "--force"]);
    assert_eq!(code, Some(0));
    for (most, expected) in [("2", 0), ("0.5", 1)] {
        let entry = "request: patch orders.shop.example/status";
        let limit = format!("{entry}\n        perObject: {{from: 10, to: 100, maxSlope: {most}}}");
        let text = file(&dir).replacen(entry, &limit, 1);
        dir.write("b.yaml", text.as_bytes());
        let (code, _, err) = budget(&dir, &[&runs[..], &["--budget", "b.yaml"]].concat());
        assert_eq!(code, Some(expected), "{err}");
        assert_eq!(
            err.contains("failed: b.yaml:") && err.contains("maxSlope is 0.5"),
            expected == 1,
            "{err}"
        );
    }
    for wrong in [&["slope", "--run", "10=ten.log"][..], &["slope", "--run", "ten.log"]] {
        let (code, _, err) = budget(&dir, wrong);
        assert!(code == Some(2), "{err}");
    }
    let lists = "request: list pods cluster-wide ?limit=500&resourceVersion=0";
    let limit = format!("{lists}\n        perObject: {{from: 1, to: 5, maxSlope: 0}}");
    let two =
        std::fs::read_to_string(dir.path().join("b.yaml")).expect("a budget").replacen(lists, &limit, 1);
    assert!(two.contains("to: 5"), "{two}");
    dir.write("two.yaml", two.as_bytes());
    let (code, out, err) = budget(&dir, &[&runs[..], &["--budget", "two.yaml"]].concat());
    assert!(code == Some(1) && !format!("{out}{err}").contains("maxSlope is 0\n"), "{out}{err}");
    let others = ["slope", "--run", "1=ten.log", "--run", "100=hundred.log", "--budget", "b.yaml"];
    let (code, _, err) = budget(&dir, &others);
    assert!(code == Some(2) && err.contains("perObject is for runs with 10 and 100 objects"), "{err}");
}

#[test]
fn a_client_with_a_star_in_its_name_gets_no_entry() {
    let dir = Dir::with(&[("main.log", RUN.log().replace(OPERATOR, "*").as_bytes())]);
    let (code, _, err) = budget(&dir, &["init", "main.log"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("1 client with * in the name cannot have a budget"), "{err}");
    assert!(!file(&dir).contains('*'), "{}", file(&dir));
}

/// Replaces each time of a log by a later one.
fn later(log: &str, seconds: i64) -> String {
    let move_on = |line: &str| {
        let mut event: serde_json::Value = serde_json::from_str(line).expect("an event");
        for field in ["requestReceivedTimestamp", "stageTimestamp"] {
            let time = event[field].as_str().expect("a timestamp");
            let time = time.parse::<chrono::DateTime<chrono::Utc>>().expect("a timestamp");
            let time = time + chrono::TimeDelta::seconds(seconds);
            event[field] = time.to_rfc3339_opts(chrono::SecondsFormat::Micros, true).into();
        }
        event["auditID"] = format!("{}-{seconds}", event["auditID"]).into();
        format!("{event}\n")
    };
    log.lines().map(move_on).collect()
}

#[test]
fn rollouts_replicas_and_logs_that_begin_in_the_middle_are_within_the_budget() {
    let dir = dir();
    let of_operator = |log: &str| -> String {
        log.lines().filter(|line| line.contains(OPERATOR)).flat_map(|line| [line, "\n"]).collect()
    };
    let pod = |log: &str, ip: u8| {
        log.replace(AGENT, &format!("{AGENT}\",\"sourceIPs\":[\"10.0.0.{ip}\"],\"x\":\""))
    };
    let main = RUN.log();
    let rollout = pod(&main, 1) + &later(&pod(&of_operator(&main), 2), 700);
    let middle: String = later(&main, 30)
        .lines()
        .filter(|line| !line.contains("resourceVersion=0\"") || line.contains("configmaps"))
        .flat_map(|line| [line, "\n"])
        .collect();
    for (name, log) in [("rollout.log", rollout), ("middle.log", middle)] {
        dir.write(name, log.as_bytes());
        let errors: Vec<_> =
            findings(&dir, name, &[]).into_iter().filter(|(_, severity, ..)| severity != "info").collect();
        assert_eq!(errors, [], "{name}");
    }
}

#[test]
fn hostile_names_stay_data() {
    let name = "\u{1b}[31m'\": {x}, #\n- client: x\n  `::error::\u{202e}";
    let log = RUN.log().replace(OPERATOR, serde_json::to_string(name).expect("JSON").trim_matches('"'));
    let dir = Dir::with(&[("main.log", log.as_bytes())]);
    let (code, _, err) = budget(&dir, &["init", "main.log"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(findings(&dir, "main.log", &[]), []);
    dir.write("empty.yaml", b"version: 1\nclients: []\n");
    let (_, explained, _) = budget(&dir, &["explain"]);
    let outputs = ["text", "markdown", "github", "sarif", "junit"].map(|format| {
        let (_, out, _) = scan(&dir, &["main.log", "--budget", "empty.yaml", "--format", format]);
        out
    });
    for out in outputs.iter().chain([&explained, &file(&dir)]) {
        assert!(
            !out.contains('\u{1b}') && !out.contains('\u{202e}') && !out.contains("\n- client: *"),
            "{out}"
        );
    }
}

#[test]
fn random_suffixes_of_names_do_not_matter() {
    let with = |namespace: &'static str| Run { user: namespace, ..RUN }.log();
    let dir = Dir::with(&[
        ("a.log", with("system:serviceaccount:e2e-x7k2p:operator").as_bytes()),
        ("b.log", with("system:serviceaccount:e2e-9dl4w:operator").as_bytes()),
    ]);
    let (code, _, err) = budget(&dir, &["init", "a.log", "--user", "e2e-*/operator"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(file(&dir).contains("client: system:serviceaccount:e2e-*:operator"), "{}", file(&dir));
    assert_eq!(findings(&dir, "b.log", &[]), []);
}
