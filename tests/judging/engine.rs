//! Compares the rule engine with a naive implementation, and the numbers for rules with logs that are counted
//! by hand.

use crate::support::event::AuditEvent;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use kubetoll::apiserver::Server;
use kubetoll::input::Block;
use kubetoll::judged::JudgedClients;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::{InputCounts, ServerTimeline};
use kubetoll::patterns::Patterns;
use kubetoll::pipeline::{Pass, Settings, Shared, Worker};
use kubetoll::rules::facts::{CLIENT, REQUEST, RowFacts, SERVER};
use kubetoll::rules::group::{ClientTotals, RowGroup};
use kubetoll::rules::stats::STATS;
use kubetoll::rules::value::VariableValue;
use kubetoll::rules::variables::{Root, VariableRef};
use kubetoll::rules::{FileErrors, Rule, RuleSet, judge, parse_rule};
use kubetoll::version::Doubt;
use serde_json::json;

const VERSION: KubeVersion = KubeVersion::new(30, 4);

/// The judged clients of a log, and its input counts.
fn judged_clients(log: &str) -> (JudgedClients, InputCounts) {
    let settings = Settings::default();
    let timeline = ServerTimeline::always(VERSION);
    let shared = Shared::new(&settings, &timeline, &[]);
    let mut worker = Worker::new(&shared, &Pass::Count);
    worker.read(&Block { bytes: log.as_bytes().to_vec(), first_line: 1, ..Block::default() });
    let ledger = worker.into_counted().into_ledger();
    let server = Server::with_defaults(VERSION);
    let received_only = ledger.input.received_only();
    let servers = std::slice::from_ref(&server);
    let patterns = Patterns::new(ledger.histories, false);
    (
        JudgedClients::new(ledger.clients, patterns, servers, &server, Doubt::default(), received_only, None),
        ledger.input,
    )
}

struct Request<'a> {
    at: u32,
    user: &'a str,
    agent: &'a str,
    verb: &'a str,
    uri: &'a str,
    code: u16,
    millis: u32,
}

/// A request's events, with RequestReceived.
fn events(requests: &[Request<'_>]) -> String {
    let mut log = String::new();
    for (number, Request { at, user, agent, verb, uri, code, millis }) in requests.iter().enumerate() {
        let event = |micros: u64| {
            let event = AuditEvent::new(&number, verb, uri).by(user, agent).code(*code);
            event.since("2026-03-02T10:00:00Z").at(u64::from(at % 3_600) * 1_000_000, micros)
        };
        log += &event(0).stage("RequestReceived").line();
        if *code != 0 {
            log += &event(u64::from(*millis) * 1_000).line();
        }
    }
    log
}

fn fact(name: VariableRef, row: &RowFacts<'_>) -> VariableValue<'static> {
    let names = match name.root {
        Root::Client => CLIENT,
        Root::Request => REQUEST,
        _ => SERVER,
    };
    (names[name.index].get)(row).into_owned()
}

fn word(name: VariableRef, rule: &Rule) -> String {
    match name.root {
        Root::Threshold => rule.thresholds[name.index].0.clone(),
        root => root.names()[name.index].0.to_owned(),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "thresholds are small")]
fn threshold(value: f64) -> VariableValue<'static> {
    if value.fract() == 0.0 { VariableValue::Int(value as i64) } else { VariableValue::Double(value) }
}

/// A finding's identifying fields, and its requests.
type Found = BTreeSet<(String, String, usize, Vec<String>, String)>;

/// Evaluates each condition on each row and each level on each group, without a cache.
fn naively(judged: &JudgedClients, rules: &[Rule]) -> Found {
    let totals = ClientTotals::new(judged);
    let mut all: Vec<(usize, RowFacts<'_>)> = Vec::new();
    for (index, client) in judged.clients.iter().enumerate() {
        for (key, shape_summary) in &client.shapes {
            let rows = shape_summary.rows.iter();
            all.extend(rows.map(|one| (index, RowFacts::new(judged, client, (key, shape_summary), one))));
        }
    }
    let mut actual = Found::new();
    for rule in rules.iter().filter(|rule| !rule.group_by.input && !rule.group_by.budget) {
        let mut groups: BTreeMap<(usize, Vec<String>), Vec<&RowFacts<'_>>> = BTreeMap::new();
        for (index, facts) in &all {
            let holds = rule.matches.as_ref().is_none_or(|condition| {
                let values: Vec<VariableValue<'_>> =
                    condition.whole.variables.iter().map(|name| fact(*name, facts)).collect();
                condition.whole.evaluate(&values, |name| word(name, rule)).expect("a value")
            });
            if holds {
                let by = rule.group_by;
                let mut parts = Vec::new();
                parts.extend(facts.key.resource.as_deref().map(str::to_owned).filter(|_| by.resource));
                parts.extend(Some(facts.product.to_owned()).filter(|_| by.product));
                let shape = format!("{:?}", facts.key);
                parts.extend(Some(shape).filter(|_| by.shape));
                groups.entry((*index, parts)).or_default().push(facts);
            }
        }
        for ((client, _), rows) in groups {
            let group = RowGroup::new(rows, client, &totals);
            if group.requests() == 0 {
                continue;
            }
            let held = rule.levels.iter().find(|(_, condition)| {
                let value = |name: &VariableRef| match name.root {
                    Root::Stats => (STATS[name.index].get)(&group).into_owned(),
                    Root::Threshold => threshold(rule.thresholds[name.index].1),
                    _ => fact(*name, group.leading()),
                };
                let values: Vec<VariableValue<'_>> = condition.whole.variables.iter().map(value).collect();
                condition.whole.evaluate(&values, |name| word(name, rule)).expect("a value")
            });
            if let Some((severity, _)) = held {
                let leading = group.leading();
                let mut key = Vec::new();
                key.extend(
                    leading.key.resource.as_deref().map(str::to_owned).filter(|_| rule.group_by.resource),
                );
                key.extend(Some(leading.product.to_owned()).filter(|_| rule.group_by.product));
                if rule.group_by.shape {
                    key.push(leading.key.name());
                    key.push(leading.key.reason.to_owned());
                    key.extend(leading.key.misspelled.iter().cloned());
                }
                actual.insert((
                    rule.id.clone(),
                    severity.to_string(),
                    client,
                    key,
                    group.requests().to_string(),
                ));
            }
        }
    }
    actual
}

#[test]
fn cached_conditions_equal_uncached_evaluation() {
    let log = fs::read_to_string("fixtures/logs/mixed.jsonl").expect("a log");
    let mut all = log;
    for entry in fs::read_dir("fixtures/rules").expect("the fixtures") {
        let fires = entry.expect("an entry").path().join("fires.ndjson");
        if fires.is_file() {
            all.push_str(&fs::read_to_string(fires).expect("a log"));
        }
    }
    let (judged, input) = judged_clients(&all);
    let rules = RuleSet::embedded().rules;
    let results = judge(&judged, &input, &rules, &[]);
    assert_eq!(results.failures, Vec::<String>::new());
    let quick: Found = results
        .findings
        .iter()
        // Findings on all clients of a program are not findings on one client.
        .filter(|finding| finding.program.is_none())
        .filter_map(|finding| {
            let requests = finding.stats.iter().find(|(name, _)| *name == "requests")?;
            Some((
                finding.rule.clone(),
                finding.severity.to_string(),
                finding.client?,
                finding.key.clone(),
                requests.1.to_json().to_string(),
            ))
        })
        .collect();
    assert!(quick.len() > 40, "{}", quick.len());
    assert_eq!(quick, naively(&judged, &rules));
}

fn rule(text: &str) -> Rule {
    let mut errors = FileErrors::default();
    parse_rule("test.yaml", text, &mut errors).unwrap_or_else(|| panic!("{errors}"))
}

/// A rule that finds everything.
fn everything(group_by: &str, matches: &str, level: &str) -> Rule {
    rule(&format!(
        "id: TEST001\nname: everything\nsummary: All of it\nmatch: {matches}\ngroupBy: {group_by}\nlevels:\n  info: {level}\n\
         message: \"{{{{ client }}}}\"\nwhy: It is there.\nfix:\n  any: None.\n"
    ))
}

#[test]
fn cel_runs_once_for_each_combination_of_facts() {
    let users: Vec<String> = (0..40).map(|user| format!("user-{user}")).collect();
    let mut requests = Vec::new();
    for user in &users {
        for (verb, uri) in
            [("list", "/api/v1/pods"), ("list", "/api/v1/secrets"), ("get", "/api/v1/namespaces/a/pods/b")]
        {
            requests.push(Request { at: 0, user, agent: "a/1", verb, uri, code: 200, millis: 1 });
        }
    }
    let (judged, input) = judged_clients(&events(&requests));
    let runs = |matches: &str, level: &str| {
        let judged = judge(&judged, &input, &[everything("[client, resource]", matches, level)], &[]);
        (judged.runs, judged.findings.len())
    };
    // One evaluation for each verb, then one for each number of requests in a group: 1 for secrets, 2 for pods.
    assert_eq!(
        runs("request.verb.matches('^[^x]')", "true && [0].all(few, stats.requests > few)"),
        (2 + 2, 80)
    );
    // Each side of && is evaluated separately, the right one only where the left one is true.
    let (verb, resource) = ("request.verb.matches('list')", "request.resource.matches('pods')");
    assert_eq!(runs(&format!("{verb} && {resource}"), "true"), (2 + 2, 40));
    assert_eq!(
        runs(&format!("{verb} && client.kind == 'user'"), "client.identity.matches('')"),
        (2 + 40, 80)
    );
    // Conditions that are not needed are not evaluated.
    assert_eq!(runs("request.verb == 'list' && client.kind == 'user'", "stats.requests > 0"), (0, 80));
}

#[test]
fn statistics_are_those_of_the_log() {
    let list = |at: u32, code: u16, millis: u32| Request {
        at,
        user: "u",
        agent: "a/1",
        verb: "list",
        uri: "/api/v1/pods",
        code,
        millis,
    };
    let get = |at: u32, name: &'static str| Request {
        at,
        user: "u",
        agent: "b/1",
        verb: "get",
        uri: name,
        code: 404,
        millis: 5,
    };
    let mut requests: Vec<Request<'_>> = (0..30).map(|n| list(n, 200, 100)).collect();
    // The last two requests have no end in the log.
    requests.extend((0..6).map(|n| list(300 + n, if n < 4 { 504 } else { 0 }, 59_500)));
    requests.extend((0..5).map(|n| get(600 + n, "/api/v1/namespaces/a/pods/one")));
    requests.extend((0..2).map(|n| get(700 + n, "/api/v1/namespaces/b/pods/two")));
    requests.push(Request {
        at: 800,
        user: "u",
        agent: "b/1",
        verb: "update",
        uri: "/api/v1/namespaces/a/pods/one",
        code: 409,
        millis: 7,
    });
    requests.push(Request {
        at: 900,
        user: "other",
        agent: "b/1",
        verb: "get",
        uri: "/healthz",
        code: 200,
        millis: 1,
    });
    let (judged, input) = judged_clients(&events(&requests));
    let stats = |matches: &str| -> HashMap<String, serde_json::Value> {
        let judged = judge(&judged, &input, &[everything("[client, resource]", matches, "true")], &[]);
        assert_eq!(judged.findings.len(), 1, "{matches}");
        judged.findings[0].stats.iter().map(|(name, value)| ((*name).to_owned(), value.to_json())).collect()
    };
    let check = |matches: &str, wanted: &[(&str, serde_json::Value)]| {
        let stats = stats(matches);
        for (name, value) in wanted {
            assert_eq!(stats.get(*name).cloned().unwrap_or(json!(0)), *value, "{name} of {matches}");
        }
    };
    check(
        "request.verb == 'list'",
        &[
            ("requests", json!(34)),
            ("events", json!(70)),
            ("unfinished", json!(2)),
            ("timeouts", json!(4)),
            ("serverErrors", json!(4)),
            ("over59s", json!(4)),
            ("peakPerMinute", json!(30)),
            ("activeMinutes", json!(2)),
            ("perMinute", json!(17)),
            ("spanMinutes", json!(6)),
            ("targets", json!(1)),
            ("busiestTarget", json!(34)),
            ("maxMillis", json!(59_500)),
            ("lists", json!(34)),
            ("writes", json!(1)),
            ("watches", json!(0)),
            ("allRequests", json!(42)),
            ("shapes", json!(1)),
            ("products", json!(1)),
            ("shareOfRequests", json!(79.1)),
        ],
    );
    check(
        "request.verb == 'get' && request.resource == 'pods'",
        &[
            ("requests", json!(7)),
            ("notFound", json!(7)),
            ("clientErrors", json!(7)),
            ("targets", json!(2)),
            ("busiestTarget", json!(5)),
            ("unfinished", json!(0)),
            ("shareOfEtcdReads", json!(17.1)),
        ],
    );
    check(
        "request.resource == 'pods' && request.verb != 'list'",
        &[
            ("requests", json!(8)),
            ("conflicts", json!(1)),
            ("targets", json!(2)),
            ("busiestTarget", json!(6)),
            ("shapes", json!(2)),
        ],
    );
}

#[test]
fn deprecated_apis_are_counted_with_their_release() {
    let event = |number: usize, annotations: serde_json::Value| {
        let uri = "/apis/policy/v1beta1/poddisruptionbudgets";
        let event = AuditEvent::new(&number, "list", uri).by("u", "").with("annotations", annotations);
        event.since("2026-03-02T10:00:00Z").at(0, 1_000).line()
    };
    let log = [
        event(1, json!({"k8s.io/deprecated": "true", "k8s.io/removed-release": "1.25"})),
        event(2, json!({"k8s.io/deprecated": "true"})),
        event(3, json!({})),
    ]
    .concat();
    let (judged, input) = judged_clients(&log);
    let rule = everything("[client]", "true", "stats.deprecated > 0");
    let judged = judge(&judged, &input, &[rule], &[]);
    let stats = &judged.findings[0].stats;
    let of = |name: &str| stats.iter().find(|(own, _)| *own == name).map(|(_, value)| value.to_json());
    assert_eq!((of("deprecated"), of("removedRelease")), (Some(json!(2)), Some(json!("1.25"))));
    let ids: Vec<&str> =
        judged.findings[0].evidence.iter().map(kubetoll::ledger::Exemplar::audit_id).collect();
    assert_eq!(ids, ["1", "2"], "the evidence is of those requests");
}

#[test]
fn failed_conditions_are_reported_and_give_no_finding() {
    let requests =
        [Request { at: 0, user: "u", agent: "a/1", verb: "list", uri: "/api/v1/pods", code: 200, millis: 1 }];
    let (judged, input) = judged_clients(&events(&requests));
    let judged = judge(&judged, &input, &[everything("[client]", "true", "10 / stats.writes > 1")], &[]);
    assert!(judged.findings.is_empty());
    assert_eq!(judged.failures.len(), 1, "{:?}", judged.failures);
    assert!(judged.failures[0].starts_with("TEST001: '10 / stats.writes > 1'"), "{:?}", judged.failures);
}
