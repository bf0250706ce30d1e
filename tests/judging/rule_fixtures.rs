//! Each rule on a log on which it fires and on one on which it does not; all rules on recorded traffic.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubetoll::rules::RuleSet;
use serde_json::{Value, json};

use crate::support::event::AuditEvent;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules")
}

/// The report of a scan.
fn scan(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["scan", "--format", "json", "--threads", "1"])
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["ruleFailures"], json!([]), "{args:?}");
    report
}

/// The selection of a rule, with its budget if it judges by one.
fn selecting(rule: &str) -> Vec<String> {
    let budget = format!("fixtures/rules/{rule}/budget.yaml");
    let mut args = vec!["--select".to_owned(), rule.to_owned()];
    if Path::new(env!("CARGO_MANIFEST_DIR")).join(&budget).exists() {
        args.extend(["--budget".to_owned(), budget]);
    }
    args
}

/// The report of a log with one rule.
fn scan_with(log: &str, rule: &str, more: &[&str]) -> Value {
    let selecting = selecting(rule);
    let mut args = vec![log];
    args.extend(selecting.iter().map(String::as_str).chain(more.iter().copied()));
    scan(&args)
}

fn findings(report: &Value) -> &Vec<Value> {
    report["findings"].as_array().expect("a list")
}

/// Findings that need action: warnings and errors.
fn summary(finding: &Value) -> Value {
    json!({
        "severity": finding["severity"],
        "client": finding["client"],
        "resource": finding["resource"],
        "shape": finding["shape"],
        "message": finding["message"],
        "fix": finding["fix"],
        "verify": finding["verify"],
        "evidence": finding["evidence"],
    })
}

/// Programs that rules treat specially: kubelets and the control plane.
const COMPONENTS: [&str; 5] =
    ["kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"];

/// An audit event's line in an access log, if it ends a request of a component. Each node has an address of its own.
fn access_line(event: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (agent, user) = (text(&event["userAgent"]), text(&event["user"]["username"]));
    if event["stage"] != "ResponseComplete" || !COMPONENTS.contains(&agent.split('/').next()?) {
        return None;
    }
    let time = |key: &str| event[key].as_str()?.parse::<chrono::DateTime<chrono::Utc>>().ok();
    let (received, ended) = (time("requestReceivedTimestamp")?, time("stageTimestamp")?);
    let node = xxhash_rust::xxh3::xxh3_64(user.as_bytes()).to_be_bytes();
    let method = match &*text(&event["verb"]) {
        "create" => "POST".to_owned(),
        "update" => "PUT".to_owned(),
        "deletecollection" => "DELETE".to_owned(),
        verb => verb.to_uppercase(),
    };
    Some(format!(
        "I{} 1 httplog.go:134] \"HTTP\" verb=\"{method}\" URI={} latency=\"{}µs\" userAgent={} audit-ID={} \
         srcIP=\"10.{}.{}.{}:4000\" resp={}\n",
        ended.format("%m%d %H:%M:%S%.6f"),
        event["requestURI"],
        (ended - received).num_microseconds()?,
        event["userAgent"],
        event["auditID"],
        node[0],
        node[1],
        node[2],
        event["responseStatus"]["code"],
    ))
}

#[test]
fn access_logs_without_users_give_no_finding_on_kubelets_and_the_control_plane() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut wrong = Vec::new();
    let mut deletions = 0;
    for rule in &RuleSet::embedded().rules {
        let quiet = fs::read_to_string(root().join(&rule.name).join("quiet.ndjson")).expect("a log");
        let mut lines: Vec<String> =
            quiet.lines().filter_map(|line| access_line(&serde_json::from_str(line).ok()?)).collect();
        lines.sort_unstable();
        if rule.name == "bulk-delete" {
            deletions +=
                lines.iter().filter(|line| line.contains("DELETE") && line.contains("kubelet")).count();
        }
        if lines.is_empty() {
            continue;
        }
        let path = directory.path().join(&rule.name);
        fs::write(&path, lines.concat()).expect("a file");
        let path = path.to_str().expect("UTF-8");
        let report = scan_with(path, &rule.name, &["--year", "2026", "--kube-version", "1.30.4"]);
        let on_clients = findings(&report).iter().filter(|finding| !finding["client"].is_null());
        wrong.extend(on_clients.map(|finding| format!("{}: {}", rule.name, finding["message"])));
    }
    assert!(deletions >= 50, "kubelets delete pods: {deletions}");
    assert_eq!(wrong, Vec::<String>::new());
}

/// One test a rule, from the names that build.rs finds in `rules/`.
macro_rules! cases {
    ($($rule:ident)*) => {
        mod each_rule_fires_on_one_log_and_is_quiet_on_another {
            $(#[test]
            fn $rule() {
                super::fires_on_one_log_and_is_quiet_on_another(&stringify!($rule).replace('_', "-"));
            })*
        }
    };
}
include!(concat!(env!("OUT_DIR"), "/rule_cases.in"));

fn fires_on_one_log_and_is_quiet_on_another(rule: &str) {
    let log = |name: &str| format!("fixtures/rules/{rule}/{name}");
    let fires = scan_with(&log("fires.ndjson"), rule, &[]);
    let summary: Vec<Value> = findings(&fires).iter().map(summary).collect();
    assert!(
        !summary.is_empty(),
        "{rule} does not fire: send the requests that it finds in fires() of fixtures/rules/{rule}/traffic.py, \
         then run python3 fixtures/rules/make.py {rule}",
    );
    insta::with_settings!({
        snapshot_path => root().join(rule),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_json_snapshot!("findings", summary);
    });
    let quiet = scan_with(&log("quiet.ndjson"), rule, &[]);
    let messages: Vec<&Value> = findings(&quiet).iter().map(|finding| &finding["message"]).collect();
    assert!(messages.is_empty(), "{rule} is not quiet: {messages:?}");
}

/// `just new-rule` writes TODO in places that the author must fill.
#[test]
fn rules_and_their_traffic_contain_no_todo() {
    let mut missing = Vec::new();
    for rule in &RuleSet::embedded().rules {
        for path in [format!("rules/{}.yaml", rule.name), format!("fixtures/rules/{}/traffic.py", rule.name)]
        {
            let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).expect("a file");
            let lines = text.lines().enumerate().filter(|(_, line)| line.contains("TODO"));
            missing.extend(lines.map(|(at, line)| format!("{path}:{}: {}", at + 1, line.trim())));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn each_fixture_folder_belongs_to_a_rule() {
    let folders: BTreeSet<String> = fs::read_dir(root())
        .expect("the folder")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("UTF-8"))
        .collect();
    let rules: BTreeSet<String> = RuleSet::embedded().rules.into_iter().map(|rule| rule.name).collect();
    assert_eq!(folders, rules);
}

/// The offenders in the recorded traffic, from its README.
const OFFENDERS: [&str; 6] = [
    "-system:serviceaccount:monitoring:poller",
    "-system:serviceaccount:monitoring:node-agent",
    "-system:serviceaccount:ops:pager",
    "-system:serviceaccount:ops:rv0pager",
    "-system:serviceaccount:team-a:norights",
    // It has a bad token.
    "-(unauthenticated)",
];

#[test]
fn recorded_traffic_without_its_offenders_is_quiet() {
    for version in ["1.30.4", "1.33.2", "1.36.2"] {
        let mut args = vec!["fixtures/traffic", "--kube-version", version];
        if version != "1.36.2" {
            // The version is correct: the log comes from 1.36.2.
            args.extend(["--ignore", "prediction-contradicted"]);
        }
        args.extend(OFFENDERS.iter().flat_map(|user| ["--user", user]));
        let report = scan(&args);
        let of = |severity: &str| {
            let all = findings(&report).iter().filter(|finding| finding["severity"] == severity);
            all.map(|finding| finding["message"].to_string()).collect::<Vec<String>>()
        };
        assert!(of("error").is_empty(), "{version}: {:?}", of("error"));
        assert!(of("warning").len() <= 4, "{version}: {:?}", of("warning"));
    }
}

#[test]
fn recorded_offenders_have_findings() {
    let report = scan(&["fixtures/traffic", "--kube-version", "1.30.4"]);
    let has = |rule: &str, client: &str| {
        let client = format!("system:serviceaccount:{client}");
        findings(&report).iter().any(|finding| {
            finding["rule"]["name"] == rule && finding["client"] == client && finding["severity"] != "info"
        })
    };
    for (rule, client) in [
        ("list-from-etcd", "monitoring:poller"),
        ("list-from-etcd", "monitoring:node-agent"),
        ("selector-scan", "monitoring:node-agent"),
        ("list-from-etcd", "ops:pager"),
        ("limit-ignored", "ops:rv0pager"),
        ("error-retry-loop", "team-a:norights"),
    ] {
        assert!(has(rule, client), "{rule} on {client}");
    }
}

/// The table of patterns in the traffic's README: the rule, and the ServiceAccounts that it names.
fn patterns_of_the_readme() -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/traffic.md");
    let text = fs::read_to_string(path).expect("the README");
    let (_, section) = text.split_once("### Patterns over time\n").expect("the section");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let mut table = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let clients = cells[1].split('`').skip(1).step_by(2);
        let clients: BTreeSet<String> =
            clients.map(|client| format!("system:serviceaccount:{client}")).collect();
        assert!(!clients.is_empty() || cells[1].trim() == "nobody", "{row}");
        table.extend(cells[0].split(',').map(|rule| (rule.trim().to_owned(), clients.clone())));
    }
    table
}

#[test]
fn pattern_rules_find_only_the_recorded_clients() {
    let expected = patterns_of_the_readme();
    assert_eq!(expected.len(), 14);
    for version in ["1.36.2", "1.30.4"] {
        let mut args = vec!["fixtures/traffic", "--kube-version", version];
        args.extend(expected.keys().flat_map(|rule| ["--select", rule.as_str()]));
        let report = scan(&args);
        let mut found: BTreeMap<String, BTreeSet<String>> =
            expected.keys().map(|rule| (rule.clone(), BTreeSet::new())).collect();
        for finding in findings(&report).iter().filter(|finding| finding["severity"] != "info") {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let clients = found.get_mut(&text(&finding["rule"]["name"])).expect("a selected rule");
            clients.insert(text(&finding["client"]));
        }
        assert_eq!(found, expected, "{version}");
    }
}

/// The findings on deleted pods in an access log, which has no users.
fn findings_on_access_lines_of(agent: &str) -> usize {
    let mut log = tempfile::Builder::new().suffix(".log").tempfile().expect("a file");
    for pod in 0..120 {
        writeln!(
            log,
            "I1120 20:35:{:02}.000000       1 httplog.go:134] \"HTTP\" verb=\"DELETE\" \
             URI=\"/api/v1/namespaces/jobs/pods/p-{pod}\" latency=\"12ms\" userAgent=\"{agent}\" audit-ID=\"{pod}\" \
             srcIP=\"10.0.0.7:40000\" resp=200",
            pod / 2,
        )
        .expect("it can be written");
    }
    let report = scan(&[log.path().to_str().expect("UTF-8"), "--select", "bulk-delete"]);
    findings(&report).len()
}

#[test]
fn kubelets_in_an_access_log_delete_pods_without_a_finding() {
    assert_eq!(findings_on_access_lines_of("kubelet/v1.30.1 (linux/amd64) kubernetes/6911225"), 0);
    assert_eq!(findings_on_access_lines_of("runner/v1.0.0 (linux/amd64) kubernetes/6911225"), 1);
}

#[test]
fn an_inventory_gives_a_herds_sum_and_a_polls_severity() {
    let mut inventory = tempfile::Builder::new().suffix(".csv").tempfile().expect("a file");
    let rows = "resource,objects,bytesPerObject\npods,1000,20000\nsecrets,10,100\nnodes,3,100\nwidgets.example.com,9000,20000\n";
    inventory.write_all(rows.as_bytes()).expect("it can be written");
    let path = inventory.path().to_str().expect("UTF-8");
    let scan_of = |rule: &str| {
        let log = format!("fixtures/rules/{rule}/fires.ndjson");
        scan(&[&log, "--select", rule, "--inventory", path])
    };
    let report = scan_of("poll-list");
    let severity = |client: &str| {
        let client = format!("system:serviceaccount:{client}");
        let actual = findings(&report).iter().find(|finding| finding["client"] == client);
        actual.map(|finding| finding["severity"].to_string())
    };
    assert_eq!(severity("team-a:operator").as_deref(), Some("\"warning\""), "many widgets");
    assert_eq!(severity("mesh:agent").as_deref(), Some("\"info\""), "ten small Secrets");
    assert_eq!(severity("monitoring:exporter").as_deref(), Some("\"error\""), "all pods each second");

    let report = scan_of("node-herd");
    let herd = findings(&report).iter().find(|finding| finding["severity"] == "error").expect("a herd");
    let message = herd["message"].as_str().expect("text");
    // 120 times 20 MB.
    assert!(message.contains("etcd reads 2.4 GB for one herd"), "{message}");
}

/// The message of a rule's only finding. Each event has a second, a user, a user agent, a verb, a URI and
/// annotations.
fn message(rule: &str, events: &[(u64, &str, &str, &str, &str, Value)]) -> (String, Value) {
    let mut log = tempfile::Builder::new().suffix(".log").tempfile().expect("a file");
    for (number, (second, user, agent, verb, uri, annotations)) in events.iter().enumerate() {
        let received = second * 1_000_000;
        let begin = "2026-03-02T10:00:00Z";
        let id = number.to_string();
        let mut event = AuditEvent::new(&id, verb, uri)
            .by(user, agent)
            .ip("10.0.0.7")
            .since(begin)
            .at(received, 20_000)
            .value();
        event["annotations"] = annotations.clone();
        writeln!(log, "{event}").expect("it can be written");
    }
    let path = log.path().to_str().expect("UTF-8");
    let report = scan(&[path, "--select", rule, "--kube-version", "1.26.3"]);
    let actual = findings(&report);
    assert_eq!(actual.len(), 1, "{rule}: {actual:?}");
    (actual[0]["message"].as_str().expect("text").to_owned(), actual[0].clone())
}

#[test]
fn a_flood_of_events_names_the_kubelets_node() {
    let kubelet = "kubelet/v1.26.3 (linux/amd64) kubernetes/0123456";
    let mut events = Vec::new();
    for second in 0..600 {
        for _ in 0..3 {
            events.push((
                second,
                "system:node:worker-7",
                kubelet,
                "create",
                "/api/v1/namespaces/a/events",
                json!({}),
            ));
        }
    }
    // The log names the node of a kubelet that reads.
    let own = "/api/v1/nodes/worker-7?resourceVersion=0";
    events.push((1, "system:node:worker-7", kubelet, "get", own, json!({})));
    events.push((9, "system:node:worker-1", kubelet, "create", "/api/v1/namespaces/a/events", json!({})));
    let (text, finding) = message("event-flood", &events);
    assert_eq!(finding["stats"]["busiestNode"], "worker-7");
    assert!(text.contains("1,800 of them from node worker-7"), "{text}");
}

#[test]
fn polls_name_the_fastest_poller() {
    let user = |name| format!("system:serviceaccount:a:{name}");
    let (fast, slow) = (user("p"), "/api/v1/namespaces/slow/pods");
    let mut events = Vec::new();
    for second in (0..1_200).step_by(5) {
        events.push((second, &*fast, "poller/1.0", "list", "/api/v1/namespaces/fast/pods", json!({})));
    }
    for second in (0..1_200).step_by(60) {
        for uri in [slow, "/api/v1/namespaces/slower/pods"] {
            events.push((second, &*fast, "poller/1.0", "list", uri, json!({})));
        }
    }
    let (text, finding) = message("poll-list", &events);
    assert_eq!(finding["stats"]["fastestPollSeconds"], 5.0);
    assert!(
        text.contains("up to every 5.0 s without a WATCH") && text.contains("median interval 60 s"),
        "{text}"
    );
}

#[test]
fn a_deprecated_api_says_how_far_its_removal_is() {
    let summary = |release: &str| {
        let annotations = json!({"k8s.io/deprecated": "true", "k8s.io/removed-release": release});
        let uri = "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas";
        let (text, finding) = message("deprecated-api", &[(1, "ann", "tool/1.0", "list", uri, annotations)]);
        (text, finding["stats"]["minorsToRemoval"].as_u64().unwrap_or_default(), finding["severity"].clone())
    };
    let (text, minors, severity) = summary("1.27");
    assert!(text.ends_with(", removed in Kubernetes 1.27 (the next release)"), "{text}");
    assert_eq!((minors, severity), (1, json!("warning")));
    let (text, minors, severity) = summary("1.29");
    assert!(text.ends_with(", removed in Kubernetes 1.29"), "{text}");
    assert_eq!((minors, severity), (3, json!("info")));
    for release in ["1.25", "1.26"] {
        let (text, minors, _) = summary(release);
        assert!(text.ends_with(&format!(", removed in Kubernetes {release}")), "{text}");
        assert_eq!(minors, 0, "{release} is not newer than the server");
    }
}
