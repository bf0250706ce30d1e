//! Patterns over time do not depend on the order of lines, their split into files, or the number of workers.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use kubetoll::k8s::timestamp::format_micros;
use kubetoll::report::Report;
use kubetoll::report::v1::{Pattern, Shape};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::event::AuditEvent;
use crate::support::library::run;
use crate::support::library::same::{difference, json_without};

const BEGIN: i64 = 1_782_892_800_000_000;
const AGENT: &str = "system:serviceaccount:monitoring:agent";
const CRASHER: (&str, &str) = ("system:serviceaccount:team-a:crasher", "crasher-6d4cf56db6-x2x8q");

/// A log under construction.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    requests: u64,
}

impl Log {
    /// One stage of a request; times are seconds since the start of the log.
    fn event(&mut self, who: (&str, &str), stage: &str, verb: &str, uri: &str, status: u16, at: (f64, f64)) {
        let (user, pod) = who;
        let timestamp = |seconds: f64| {
            let since = Duration::from_secs_f64(seconds).as_micros();
            format_micros(BEGIN + i64::try_from(since).expect("an hour"))
        };
        let event = AuditEvent::new(&format!("id-{}", self.requests), verb, uri)
            .by(user, "agent/v1.0")
            .pod(pod)
            .ip("10.0.0.1")
            .code(status)
            .stage(stage)
            .with("requestReceivedTimestamp", timestamp(at.0).into())
            .with("stageTimestamp", timestamp(at.1).into());
        // The apiserver escapes `&`.
        self.lines.push(event.line().trim_end().replace('&', "\\u0026"));
    }

    fn list(&mut self, pod: &str, uri: &str, at: f64) {
        self.requests += 1;
        self.event((AGENT, pod), "ResponseComplete", "list", uri, 200, (at, at + 0.05));
    }

    /// A process that starts two informers and ends after some seconds.
    fn crash(&mut self, at: f64, lived: f64) {
        for uri in ["/api/v1/configmaps", "/api/v1/endpoints"] {
            self.requests += 1;
            let list = format!("{uri}?limit=500&resourceVersion=0");
            self.event(CRASHER, "ResponseComplete", "list", &list, 200, (at, at + 0.05));
            self.requests += 1;
            let watch = format!("{uri}?resourceVersion=9&watch=true");
            self.event(CRASHER, "ResponseComplete", "watch", &watch, 200, (at + 0.1, at + lived));
        }
    }

    fn watch(&mut self, pod: &str, uri: &str, at: f64, lived: Option<f64>) {
        self.requests += 1;
        self.event((AGENT, pod), "ResponseStarted", "watch", uri, 200, (at, at + 0.001));
        if let Some(lived) = lived {
            self.event((AGENT, pod), "ResponseComplete", "watch", uri, 200, (at, at + lived));
        }
    }
}

fn token(revision: u32) -> String {
    use base64::Engine;
    let json = format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":"a/b\u0000"}}"#);
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(json)
}

/// Thirty pods that start at once, each with an informer of its node's pods, two of nodes, a poll of services, and
/// Secrets read by pages.
fn story() -> Log {
    let mut log = Log::default();
    for pod in 0..30_u32 {
        let name = format!("agent-{pod}");
        let at = f64::from(pod) * 0.02;
        let own = format!("/api/v1/pods?fieldSelector=spec.nodeName%3Dn{pod}");
        log.list(&name, &format!("{own}&limit=500&resourceVersion=0"), at);
        log.watch(&name, &format!("{own}&resourceVersion=9&watch=true"), at + 0.1, Some(300.0));
        log.list(&name, &format!("{own}&limit=500"), at + 301.0);
        log.watch(&name, &format!("{own}&resourceVersion=10&watch=true"), at + 301.2, None);
        for twice in [0.0, 0.4] {
            log.list(&name, "/api/v1/nodes?resourceVersion=0", at + twice);
            log.watch(&name, "/api/v1/nodes?resourceVersion=9&watch=true", at + twice + 0.2, None);
        }
        for poll in 0..12_u32 {
            let at = 20.0 + f64::from(pod) * 1.7 + f64::from(poll) * 30.0;
            log.list(&name, "/api/v1/services", at);
        }
        if pod < 3 {
            log.list(&name, "/api/v1/secrets?limit=10", 100.0);
            for page in 0..4 {
                let uri = format!("/api/v1/secrets?limit=10&continue={}", token(70 + pod));
                log.list(&name, &uri, 101.0 + f64::from(page));
            }
        }
    }
    for start in 0..6 {
        log.crash(10.0 + f64::from(start) * 50.0, 20.0);
    }
    log
}

fn scan(files: &[Vec<&str>], threads: usize) -> Report {
    let directory = tempfile::tempdir().expect("a directory");
    let paths: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(number, lines)| {
            let path = directory.path().join(format!("{number}.log"));
            fs::write(&path, lines.iter().flat_map(|line| [line, "\n"]).collect::<String>()).expect("a file");
            path
        })
        .collect();
    run::scan(&paths, &run::settings(threads, &[]))
}

fn shape<'r>(report: &'r Report, verb: &str, resource: &str, parameters: &str) -> &'r Shape {
    report.clients[0]
        .shapes
        .iter()
        .find(|shape| {
            shape.verb == verb
                && shape.resource.as_deref() == Some(resource)
                && *shape.parameters == *parameters
        })
        .expect("the shape")
}

fn pattern<'r>(report: &'r Report, verb: &str, resource: &str, parameters: &str) -> &'r Pattern {
    shape(report, verb, resource, parameters).pattern.as_ref().expect("a pattern")
}

#[test]
fn patterns_match_the_made_up_log() {
    let log = story();
    let report = scan(&[log.lines.iter().map(String::as_str).collect()], 1);
    let first = pattern(&report, "list", "pods", "fieldSelector=spec.nodeName=…&limit=500&resourceVersion=0");
    let informers = first.informers.as_ref().expect("informers");
    assert_eq!((first.instances, informers.starts, informers.relists.ended), (30, 30, 0));
    let herds = first.herds.as_ref().expect("a herd");
    assert_eq!((herds.count, herds.greatest[0].instances), (1, 30));
    let again = pattern(&report, "list", "pods", "fieldSelector=spec.nodeName=…&limit=500");
    assert_eq!(again.informers.as_ref().expect("informers").relists.ended, 30);
    let nodes = pattern(&report, "list", "nodes", "resourceVersion=0");
    let informers = nodes.informers.as_ref().expect("informers");
    assert_eq!((informers.starts, informers.starts_twice), (60, 30));
    let watches = pattern(&report, "watch", "nodes", "resourceVersion=N");
    let watches = watches.watches.as_ref().expect("watches");
    assert_eq!((watches.doubled, watches.most_at_once, watches.doubled_instances), (60, 2, 30));
    let services = pattern(&report, "list", "services", "");
    let polling = services.polling.as_ref().expect("polling");
    assert_eq!((polling.reads, polling.pollers), (360, 30));
    assert_eq!((polling.busiest[0].median_micros, polling.busiest[0].spread_micros), (30_000_000, 0));
    assert!(services.herds.is_none(), "polls that are spread are no herd");
    let pages = pattern(&report, "list", "secrets", "limit=10&continue=…");
    let chains = pages.chains.as_ref().expect("chains");
    assert_eq!((chains.count, chains.pages, chains.longest_pages), (3, 15, 5));
    assert!(pattern(&report, "list", "secrets", "limit=10").polling.as_ref().is_none_or(|p| p.reads == 0));
    let followed = &report.followed.lists;
    assert_eq!((followed.instances, followed.left_out, followed.one_of), (31, 0, 1));
    let crash = report.findings.iter().find(|finding| finding.rule.name.to_string() == "crash-loop");
    let crash = crash.expect("a crash loop");
    assert_eq!(crash.client.as_ref().map(ToString::to_string).as_deref(), Some(CRASHER.0));
    assert_eq!(crash.stats.get("mostStarts").and_then(serde_json::Value::as_u64), Some(6));
}

/// Keys with file and line numbers.
const PLACES: [&str; 8] =
    ["example", "moreExamples", "evidence", "moreEvidence", "verify", "files", "sources", "bytes"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patterns_are_independent_of_order_files_and_threads(
        order in Just((0..story().lines.len()).collect::<Vec<_>>()).prop_shuffle(),
        cuts in prop::collection::vec(any::<Index>(), 0..5),
        threads in 1_usize..4,
    ) {
        let log = story();
        let lines = &log.lines;
        let complete = scan(&[lines.iter().map(String::as_str).collect()], 1);
        let shuffled: Vec<&str> = order.iter().map(|at| lines[*at].as_str()).collect();
        let mut ends: Vec<usize> = cuts.iter().map(|at| at.index(shuffled.len())).collect();
        ends.extend([0, shuffled.len()]);
        ends.sort_unstable();
        ends.dedup();
        let files: Vec<Vec<&str>> = ends.windows(2).map(|pair| shuffled[pair[0]..pair[1]].to_vec()).collect();
        let cut = scan(&files, threads);
        let comparable = |report: &Report| json_without(report, &PLACES);
        prop_assert_eq!(difference(&comparable(&cut), &comparable(&complete)), Vec::<String>::new());
    }
}

#[test]
fn duplicate_lines_of_a_rotated_log_do_not_change_patterns() {
    let log = story();
    let lines: Vec<&str> = log.lines.iter().map(String::as_str).collect();
    let complete = scan(std::slice::from_ref(&lines), 1);
    // Each master logs its own requests. The lines of three masters alternate, and one rotated file occurs
    // twice.
    let masters: Vec<Vec<&str>> =
        (0..3).map(|master| lines.iter().skip(master).step_by(3).copied().collect()).collect();
    let twice = [masters[0].clone(), masters[1].clone(), masters[2].clone(), lines[..500].to_vec()];
    let report = scan(&twice, 2);
    let patterns = |report: &Report| -> Vec<_> {
        report.clients[0].shapes.iter().map(|shape| shape.pattern.clone()).collect()
    };
    assert_eq!(patterns(&report), patterns(&complete));
}
