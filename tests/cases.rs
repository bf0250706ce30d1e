//! Cases: findings with one cause are one case, and so is one program under many names.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

#[allow(dead_code, reason = "others use the rest")]
#[path = "support/command.rs"]
mod command;

use command::Dir;

/// Requests that a client repeats.
#[derive(Debug, Clone)]
struct Repeated {
    user: String,
    agent: &'static str,
    verb: &'static str,
    uri: String,
    status: u16,
    /// Seconds between two of them.
    every: u32,
    times: u32,
}

fn list(user: &str, agent: &'static str, uri: &str) -> Repeated {
    Repeated {
        user: user.to_owned(),
        agent,
        verb: "list",
        uri: uri.to_owned(),
        status: 200,
        every: 5,
        times: 60,
    }
}

fn lines(all: &[Repeated]) -> Vec<String> {
    let mut lines = Vec::new();
    for Repeated { user, agent, verb, uri, status, every, times } in all {
        for second in (0..*times).map(|number| number * every) {
            let stamp = |micros: u32| {
                format!("2026-07-23T10:{:02}:{:02}.{micros:06}Z", second / 60 % 60, second % 60)
            };
            let event = json!({
                "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
                "auditID": format!("{}", lines.len()), "stage": "ResponseComplete", "requestURI": uri, "verb": verb,
                "user": {"username": user}, "userAgent": agent, "responseStatus": {"code": status},
                "requestReceivedTimestamp": stamp(1_000), "stageTimestamp": stamp(21_000),
            });
            lines.push(format!("{event}\n"));
        }
    }
    lines
}

fn report_of(log: &str) -> Value {
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    dir.report(&["audit.log", "--kube-version", "1.30.4"])
}

fn report(all: &[Repeated]) -> Value {
    report_of(&lines(all).concat())
}

fn cases(report: &Value) -> &Vec<Value> {
    report["cases"].as_array().expect("cases")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// The cases on clients.
fn of_clients(report: &Value) -> Vec<&Value> {
    cases(report).iter().filter(|case| !case["client"].is_null()).collect()
}

#[test]
fn findings_on_the_same_requests_are_one_case() {
    let told = report(&[list("system:serviceaccount:a:poller", "poller/v1.2", "/api/v1/pods")]);
    let cases = of_clients(&told);
    let [case] = cases[..] else { panic!("{cases:?}") };
    let rules = case["rules"].as_array().expect("rules");
    assert!(rules.contains(&json!("KT101")) && rules.contains(&json!("KT307")), "{rules:?}");
    assert_eq!(
        (&case["rank"], &case["client"], &case["resource"]),
        (&json!(1), &json!("a/poller"), &json!("pods"))
    );
    assert_eq!((&case["requests"], &case["members"]["count"]), (&json!(60), &json!(1)));
    assert_eq!((&case["load"]["amount"], &case["load"]["share"]), (&json!(1_200_000), &json!(1.0)));
    assert!(text(&case["what"]).starts_with("a/poller polls pods"), "{}", case["what"]);
    assert!(!text(&case["fix"]).is_empty());
    let worst = told["findings"].as_array().expect("findings").iter();
    let worst = worst.filter(|finding| finding["severity"] == case["severity"]).count();
    assert!(worst > 0, "the case is as severe as its worst finding");
}

#[test]
fn one_program_in_many_namespaces_is_one_case() {
    let jobs: Vec<Repeated> = (0..40)
        .map(|number| Repeated {
            times: 60 + u32::from(number == 7),
            ..list(
                &format!("system:serviceaccount:team-{number}:cleanup"),
                "curl/8.5.0",
                &format!("/api/v1/namespaces/team-{number}/pods"),
            )
        })
        .collect();
    let told = report(&jobs);
    let cases = of_clients(&told);
    let [case] = cases[..] else { panic!("{} cases", cases.len()) };
    assert_eq!((&case["client"], &case["members"]["kind"]), (&json!("cleanup"), &json!("namespace")));
    assert_eq!((&case["members"]["count"], &case["requests"]), (&json!(40), &json!(2_401)));
    let worst = case["members"]["worst"].as_array().expect("members");
    assert_eq!((worst.len(), &worst[0]["name"]), (3, &json!("team-7/cleanup")));
    assert!(text(&case["what"]).contains("39 other namespaces do the same"), "{}", case["what"]);
    let dir = Dir::with(&[("audit.log", lines(&jobs).concat().as_bytes())]);
    let page = dir.text(&["audit.log", "--kube-version", "1.30.4"]);
    assert!(page.contains("cleanup (40 namespaces)"), "{page}");
}

#[test]
fn a_dashboard_that_many_people_use_is_one_case() {
    let people: Vec<Repeated> =
        (0..15).map(|number| list(&format!("person-{number}"), "headlamp/0.24", "/api/v1/pods")).collect();
    let told = report(&people);
    let cases = of_clients(&told);
    let [case] = cases[..] else { panic!("{} cases", cases.len()) };
    assert_eq!((&case["client"], &case["members"]["kind"]), (&json!("headlamp"), &json!("person")));
    assert_eq!(case["members"]["count"], 15);
}

#[test]
fn different_programs_are_not_one_case() {
    let script = "OpenAPI-Generator/29.0.0/python";
    for (all, expected) in [
        // The library's name is that of every script in Python.
        (
            vec![
                list("system:serviceaccount:a:x", script, "/api/v1/pods"),
                list("system:serviceaccount:b:y", script, "/api/v1/pods"),
            ],
            2,
        ),
        (
            vec![
                list("system:serviceaccount:a:x", script, "/api/v1/pods"),
                list("system:serviceaccount:b:x", script, "/api/v1/pods"),
            ],
            1,
        ),
        (vec![list("anna", script, "/api/v1/pods"), list("ben", script, "/api/v1/pods")], 2),
        // One program that does two things.
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                list("system:serviceaccount:b:y", "op/1.0", "/api/v1/services"),
            ],
            2,
        ),
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                list("system:serviceaccount:b:y", "op/1.0", "/api/v1/pods"),
            ],
            1,
        ),
        // One client with two causes.
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/services"),
            ],
            2,
        ),
        // What is refused has another cause than what is served.
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                Repeated { status: 403, ..list("system:serviceaccount:b:x", "op/1.0", "/api/v1/pods") },
            ],
            2,
        ),
    ] {
        let told = report(&all);
        assert_eq!(of_clients(&told).len(), expected, "{all:?}: {:?}", told["cases"]);
    }
}

#[test]
fn a_rule_on_a_whole_client_joins_nothing() {
    let agents = ["one/1", "two/1", "three/1", "four/1", "five/1", "six/1"];
    let resources = ["pods", "services", "secrets", "configmaps", "nodes", "endpoints"];
    let all: Vec<Repeated> = agents
        .iter()
        .zip(resources)
        .map(|(agent, resource)| {
            list("system:serviceaccount:a:default", agent, &format!("/api/v1/{resource}"))
        })
        .collect();
    let told = report(&all);
    let shared: Vec<&Value> = of_clients(&told)
        .into_iter()
        .filter(|case| case["rules"].as_array().is_some_and(|rules| rules.contains(&json!("KT501"))))
        .collect();
    let [shared] = shared[..] else { panic!("{:?}", told["cases"]) };
    assert_eq!(shared["rules"], json!(["KT501"]));
    assert!(of_clients(&told).len() > resources.len());
    let sum: f64 = cases(&told).iter().filter_map(|case| case["load"]["share"].as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-4, "requests count for one case: {sum}");
}

fn any_requests() -> impl Strategy<Value = Repeated> {
    let users = prop::sample::select(vec![
        "system:serviceaccount:a:x",
        "system:serviceaccount:b:x",
        "system:serviceaccount:c:y",
        "anna",
        "ben",
        "system:node:n-1",
    ]);
    let agents = prop::sample::select(vec!["op/1.0", "python-requests/2.31", "kubectl/v1.30.0", "tool/2"]);
    let asked = prop::sample::select(vec![
        ("list", "/api/v1/pods", 200),
        ("list", "/api/v1/pods?labelSelector=a%3Db", 200),
        ("list", "/api/v1/pods?limit=500&resourceVersion=0", 200),
        ("list", "/api/v1/services", 403),
        ("get", "/api/v1/namespaces/a/configmaps/c", 200),
        ("update", "/api/v1/namespaces/a/configmaps/c", 409),
        ("patch", "/api/v1/namespaces/a/configmaps/c", 200),
    ]);
    (users, agents, asked, 1_u32..8, 10_u32..80).prop_map(
        |(user, agent, (verb, uri, status), every, times)| Repeated {
            user: user.to_owned(),
            agent,
            verb,
            uri: uri.to_owned(),
            status,
            every,
            times,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn each_finding_is_in_one_case_whatever_the_order_of_the_log(
        all in prop::collection::vec(any_requests(), 1..8),
        seed in any::<u64>(),
    ) {
        let mut lines = lines(&all);
        let told = report_of(&lines.concat());
        let mut in_cases: BTreeMap<&str, usize> = BTreeMap::new();
        for print in cases(&told).iter().flat_map(|case| case["findings"].as_array().expect("findings")) {
            *in_cases.entry(text(print)).or_default() += 1;
        }
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in told["findings"].as_array().expect("findings") {
            *found.entry(text(&finding["fingerprint"])).or_default() += 1;
        }
        prop_assert_eq!(&in_cases, &found);
        let shares: f64 = cases(&told).iter().filter_map(|case| case["load"]["share"].as_f64()).sum();
        prop_assert!(shares <= 1.0 + 1e-4, "{}", shares);
        for (before, after) in cases(&told).iter().zip(cases(&told).iter().skip(1)) {
            let order = |case: &Value| {
                let severity = ["error", "warning", "info"].iter().position(|name| case["severity"] == *name);
                (severity, std::cmp::Reverse(case["load"]["amount"].as_u64()))
            };
            prop_assert!(order(before) <= order(after), "{} before {}", before, after);
        }
        // Any order of the same lines.
        let hash = |line: &String| {
            line.bytes().fold(seed | 1, |hash, byte| hash.rotate_left(7) ^ u64::from(byte).wrapping_mul(0x9e37_79b9))
        };
        lines.sort_by_key(hash);
        prop_assert_eq!(&report_of(&lines.concat())["cases"], &told["cases"]);
    }
}
