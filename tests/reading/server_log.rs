//! Properties of every log of the apiserver itself: the report does not depend on how workers share its lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use kubetoll::decode::klog::{self, ClockContext, KlogKind};
use kubetoll::input::SourcePosition;
use kubetoll::k8s::{self, Event, Stage};
use kubetoll::ledger::{Ledger, MAX_CLIENTS, Merge};
use kubetoll::pipeline::{Pass, Settings, Shared, Worker};
use kubetoll::requests::Classifier;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::support::event::AuditEvent;
use crate::support::library::{run, same};

const AGENTS: [&str; 4] = [
    "kubelet/v1.30.1 (linux/amd64) kubernetes/6911225",
    "kube-apiserver/v1.30.1 (linux/amd64) kubernetes/6911225",
    "curl/8.5.0",
    "",
];
const SOURCES: [&str; 4] = ["127.0.0.1:40000", "[fd00::5]:40001", "10.0.0.7:5", "198.51.100.4:9"];
const REQUESTS: [(&str, &str); 6] = [
    ("LIST", "/api/v1/pods?limit=500&resourceVersion=0"),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dx"),
    ("WATCH", "/apis/apps/v1/deployments?watch=true"),
    ("CONNECT", "/api/v1/namespaces/n/pods/p/exec?command=sh"),
    ("PUT", "/api/v1/namespaces/n/pods/p/status"),
    ("GET", "/readyz"),
];

prop_compose! {
    fn access()(
        (verb, uri) in select(&REQUESTS[..]),
        agent in select(&AGENTS[..]),
        source in select(&SOURCES[..]),
        (micros, resp) in (1_u32..3_000_000, select(&[0_u16, 200, 404, 429, 500][..])),
        (id, second, schema, seats) in (0_u32..50, 0_u32..60, 0_u8..12, 0_u32..20),
    ) -> String {
        format!(
            "I1120 20:35:{second:02}.000000 1 httplog.go:134] \"HTTP\" verb=\"{verb}\" URI=\"{uri}\" \
             latency=\"{micros}µs\" userAgent=\"{agent}\" audit-ID=\"{id}\" srcIP=\"{source}\" apf_pl=\"system\" \
             apf_fs=\"{schema}\" apf_iseats={seats} apf_execution_time=\"1.5ms\" resp={resp}"
        )
    }
}

prop_compose! {
    fn trace()(number in 0_u32..12, line in 0_u8..3, agent in select(&AGENTS[..])) -> String {
        match line {
            0 => format!(
                "I1120 20:35:00.000000 1 trace.go:236] Trace[{number}]: \"List\" url:/api/v1/pods,user-agent:{agent},\
                 audit-id:{number},client:::1 (20-Nov-2026 20:35:00.000) (total time: 6{number}1ms):"
            ),
            1 => format!("Trace[{number}]: ---\"Writing http response done\" count:{number} 4ms (20:35:00.000)"),
            _ => format!("Trace[{number}]: [6{number}1.5ms] [6{number}1.5ms] END"),
        }
    }
}

fn observe(ledger: &mut Ledger, (number, text): &(u64, String)) {
    let place = SourcePosition { source: 0, offset: *number * 1_000, line: *number };
    let line = klog::read(text).expect("a line of the apiserver");
    let written = line.clock.resolve(&ClockContext { year: Some(2026), ..ClockContext::default() });
    match &line.kind {
        KlogKind::Access(access) => {
            ledger.clients.observe(&Classifier::default().line(access, written, place));
        }
        KlogKind::Trace(fragment) => ledger.observe_trace(place, fragment),
        KlogKind::Continuation | KlogKind::Start(_) | KlogKind::Other => panic!("{text}"),
    }
}

fn count(lines: &[(u64, String)]) -> Ledger {
    let mut ledger = Ledger::default();
    for line in lines {
        observe(&mut ledger, line);
    }
    ledger
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn report_is_independent_of_line_order_and_split(
        lines in prop::collection::vec(prop_oneof![3 => access(), 1 => trace()], 1..80),
        turn: Index,
        cut: Index,
    ) {
        let lines: Vec<(u64, String)> = (1..).zip(lines).collect();
        let mut turned = lines.clone();
        turned.rotate_left(turn.index(lines.len()));
        turned.reverse();
        let (left, right) = turned.split_at(cut.index(lines.len()));
        let mut merged = count(right);
        merged.merge(count(left));
        let report = |ledger| same::json(&run::report(ledger, &run::sources(&[]), &run::timeline()));
        let differences = same::difference(&report(count(&lines)), &report(merged));
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }
}

prop_compose! {
    /// A line of one of a few requests. Each was logged several times within a second.
    fn repeated()(id in 0_u8..2, millis in 0_u32..500, micros in 1_u32..3_000, seats in 0_u8..2) -> String {
        format!(
            "I1120 20:35:00.{millis:03}000 1 httplog.go:137] \"HTTP\" verb=\"LIST\" URI=\"/api/v1/pods?limit=5\" \
             latency=\"{micros}µs\" userAgent=\"curl/8.5.0\" audit-ID=\"{id}\" srcIP=\"10.0.0.7:5\" apf_pl=\"system\" \
             apf_fs=\"system-nodes\" apf_iseats={seats} apf_execution_time=\"1ms\" resp=200\n"
        )
    }
}

/// The counts of workers that read the lines of a log in this order, in turn.
fn shared_out(log: &[u8], order: &[usize], workers: usize) -> serde_json::Value {
    let settings = Settings { year: Some(2026), ..run::settings(workers, &[]) };
    let timeline = run::timeline();
    let shared = Shared::new(&settings, &timeline, &[]);
    let mut counting: Vec<Worker<'_>> = (0..workers).map(|_| Worker::new(&shared, &Pass::Count)).collect();
    let lines = run::blocks(log, |_| true);
    for (turn, at) in order.iter().filter(|at| **at < lines.len()).enumerate() {
        counting[turn % workers].read(&lines[*at]);
    }
    let ledger = Worker::sum(counting).into_ledger();
    same::json(&run::report(ledger, &run::sources(&[]), &timeline))
}

/// The start line of a WATCH has no status. Each line's own time gives the receive time.
#[test]
fn the_start_and_the_end_of_a_watch_are_of_one_request() {
    let line = |written: &str, latency: &str, code: u16| {
        format!(
            "I1120 20:{written} 1 httplog.go:134] \"HTTP\" verb=\"WATCH\" URI=\"/api/v1/pods?watch=true\" \
             latency=\"{latency}\" userAgent=\"curl/8.5.0\" audit-ID=\"w\" srcIP=\"10.0.0.7:5\" resp={code}\n"
        )
    };
    let (start, end) = (line("35:00.000430", "430µs", 0), line("44:00.000415", "9m0.0004s", 200));
    let log = [start.as_str(), &end].concat();
    for order in [[0, 1], [1, 0]] {
        let input = &shared_out(log.as_bytes(), &order, 1)["input"];
        assert_eq!((&input["requests"], &input["open"]), (&1.into(), &0.into()), "{order:?}");
    }
    let input = &shared_out(start.as_bytes(), &[0], 1)["input"];
    assert_eq!((&input["requests"], &input["open"]), (&1.into(), &1.into()));
}

/// 1.25 to 1.33 write two lines for a request, with latencies that differ.
const TWO_LINES: &[u8] = include_bytes!("../../fixtures/logs/http-log-1.25.log");

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn which_line_of_a_request_counts_does_not_depend_on_the_order(
        lines in prop::collection::vec(repeated(), 2..30),
        shuffled in Just((0..30).collect::<Vec<usize>>()).prop_shuffle(),
        workers in 1_usize..4,
    ) {
        let in_order: Vec<usize> = (0..30).collect();
        for log in [lines.concat().as_bytes(), TWO_LINES] {
            let differences = same::difference(
                &shared_out(log, &in_order, 1),
                &shared_out(log, &shuffled, workers),
            );
            prop_assert!(differences.is_empty(), "{differences:#?}");
        }
    }
}

/// A request that servers of 1.25 to 1.33 logged.
#[derive(Debug, Clone)]
struct Logged {
    /// Whether the client sent an audit ID that others have too.
    has_chosen_id: bool,
    target: (&'static str, &'static str, &'static str),
    latency: u64,
    /// The delay of the second line in microseconds, if the request has one.
    second: Option<u64>,
    /// How much earlier the request begins in the second line, in microseconds.
    skew: u64,
    /// How often each of its lines is in the input.
    times: usize,
    is_audited: bool,
}

const TARGETS: [(&str, &str, &str); 4] = [
    ("LIST", "list", "/api/v1/pods?limit=500&resourceVersion=0"),
    ("GET", "get", "/api/v1/namespaces/n/pods/p"),
    ("PUT", "update", "/api/v1/namespaces/n/pods/p"),
    ("WATCH", "watch", "/apis/apps/v1/deployments?watch=true"),
];

prop_compose! {
    fn logged()(
        (has_chosen_id, is_audited) in (any::<bool>(), any::<bool>()),
        target in select(&TARGETS[..]),
        latency in 40_000_u64..3_000_000,
        second in prop::option::of(1_u64..20_000_000),
        (skew, times) in (0_u64..30_000, 1_usize..4),
    ) -> Logged {
        Logged { has_chosen_id, target, latency, second, skew, times, is_audited }
    }
}

impl Logged {
    fn id(&self, number: usize) -> String {
        if self.has_chosen_id { "chosen".to_owned() } else { format!("id-{number}") }
    }

    /// Its access log lines without duplicates, and its audit event.
    fn lines(&self, number: usize) -> (Vec<String>, Option<String>) {
        let (method, verb, uri) = self.target;
        let (id, began) = (self.id(number), number as u64 * 1_000_000);
        let clock = |micros: u64| {
            let seconds = micros / 1_000_000;
            format!("{:02}:{:02}.{:06}", seconds / 60, seconds % 60, micros % 1_000_000)
        };
        let first = (began + self.latency, self.latency);
        let second = self.second.map(|later| (first.0 + later, first.1 + later + self.skew));
        let access = [Some(first), second].into_iter().flatten().map(|(written, latency)| {
            format!(
                "I1120 20:{} 1 httplog.go:134] \"HTTP\" verb=\"{method}\" URI=\"{uri}\" latency=\"{latency}µs\" \
                 userAgent=\"curl/8.5.0\" audit-ID=\"{id}\" srcIP=\"10.0.0.7:5\" resp=200\n",
                clock(written)
            )
        });
        let at = |micros: u64| format!("2026-11-20T20:{}Z", clock(micros)).into();
        let audit = AuditEvent::new(&id, verb, uri)
            .by("u", "curl/8.5.0")
            .ip("10.0.0.7")
            .with("requestReceivedTimestamp", at(began))
            .with("stageTimestamp", at(first.0))
            .line();
        (access.collect(), self.is_audited.then_some(audit))
    }
}

/// Requests, joined requests and duplicates, counted from the model: by audit ID, verb and URI.
fn naive(requests: &[Logged]) -> [u64; 3] {
    let mut groups: BTreeMap<(String, &str, &str), Vec<&Logged>> = BTreeMap::new();
    for (number, request) in requests.iter().enumerate() {
        let (method, _, uri) = request.target;
        groups.entry((request.id(number), method, uri)).or_default().push(request);
    }
    let lines = |request: &Logged| 1 + u64::from(request.second.is_some());
    let (mut all, mut joined, mut duplicates) = (0, 0, 0);
    for ((id, _, uri), group) in &groups {
        let different: u64 = group.iter().map(|request| lines(request)).sum();
        let own = if different <= 2 { 1 } else { group.len() as u64 };
        // Audit events with another verb for the same ID and path also join this row.
        let is_audited = groups.iter().any(|(other, group)| {
            (&other.0, other.2) == (id, uri) && group.iter().any(|request| request.is_audited)
        });
        let audited = group.iter().filter(|request| request.is_audited);
        all += audited.clone().count() as u64 + if is_audited { 0 } else { own };
        joined += if is_audited { own } else { 0 };
        let times = |request: &&Logged| request.times as u64;
        duplicates += group.iter().map(|request| lines(request) * times(request)).sum::<u64>() - own;
        duplicates += audited.map(|request| times(request) - 1).sum::<u64>();
    }
    [all, joined, duplicates]
}

/// Requests, joined requests and duplicates of files.
fn counts(files: &[String], threads: usize) -> [u64; 3] {
    let directory = tempfile::tempdir().expect("a directory");
    let paths: Vec<PathBuf> =
        (0..files.len()).map(|number| directory.path().join(number.to_string())).collect();
    for (path, content) in paths.iter().zip(files) {
        fs::write(path, content).expect("a file");
    }
    let settings = Settings { year: Some(2026), ..run::settings(threads, &[]) };
    let report = same::json(&run::scan(&paths, &settings));
    let input = &report["input"];
    ["requests", "joined", "duplicates"].map(|key| input[key].as_u64().expect("a count"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn doubled_access_lines_count_once_in_any_order_and_split(
        requests in prop::collection::vec(logged(), 1..20),
        seed: u64,
        files in 1_usize..4,
        threads in 1_usize..4,
    ) {
        let mut lines: Vec<(u64, String)> = Vec::new();
        for (number, request) in requests.iter().enumerate() {
            let (access, audit) = request.lines(number);
            for (at, line) in access.into_iter().chain(audit).enumerate() {
                for time in 0..request.times {
                    lines.push((xxh3_64_with_seed(&[number, at, time].map(usize::to_le_bytes).concat(), seed), line.clone()));
                }
            }
        }
        lines.sort_unstable();
        let mut split = vec![String::new(); files];
        for (hash, line) in &lines {
            split[usize::try_from(hash % files as u64).expect("small")].push_str(line);
        }
        prop_assert_eq!(counts(&split, threads), naive(&requests));
    }
}

#[test]
fn the_second_line_of_a_request_is_a_duplicate_however_many_lines_lie_between() {
    let line = |id: usize, second: u32, latency: u32| {
        format!(
            "I1120 20:35:{second:02}.000000 1 httplog.go:134] \"HTTP\" verb=\"LIST\" URI=\"/api/v1/pods\" \
             latency=\"{latency}s\" userAgent=\"curl/8.5.0\" audit-ID=\"{id}\" srcIP=\"10.0.0.7:5\" resp=200\n"
        )
    };
    let others = 150_000;
    let mut log = line(others, 10, 5);
    (0..others).for_each(|id| log.push_str(&line(id, 20, 1)));
    log.push_str(&line(others, 30, 25));
    assert_eq!(counts(&[log], 1), [others as u64 + 1, 0, 1]);
}

#[test]
fn doubled_lines_of_a_watch_that_begins_are_one_open_watch() {
    let line = |written: &str, latency: &str| {
        format!(
            "I1120 20:{written} 1 httplog.go:134] \"HTTP\" verb=\"WATCH\" URI=\"/api/v1/pods?watch=true\" \
             latency=\"{latency}\" userAgent=\"curl/8.5.0\" audit-ID=\"w\" srcIP=\"10.0.0.7:5\" resp=0\n"
        )
    };
    let log = line("35:00.000500", "400µs") + &line("35:00.700500", "700400µs");
    let input = &shared_out(log.as_bytes(), &[1, 0], 2)["input"];
    assert_eq!((&input["requests"], &input["open"], &input["duplicates"]), (&1.into(), &1.into(), &1.into()));
}

#[test]
fn duplicates_whose_time_zone_is_known_in_one_file_only_are_one_request() {
    let line = "I1120 20:35:00.000000 1 httplog.go:134] \"HTTP\" verb=\"LIST\" URI=\"/api/v1/pods\" latency=\"5ms\" \
                userAgent=\"curl/8.5.0\" audit-ID=\"w\" srcIP=\"10.0.0.7:5\" resp=200\n";
    let in_container = format!("2026-11-20T18:35:00.000001Z stderr F {line}");
    assert_eq!(counts(&[line.to_owned(), in_container], 1), [1, 0, 1]);
}

#[test]
fn made_up_user_agents_do_not_crowd_out_users() {
    let mut ledger = Ledger::default();
    for number in 0..=2 * MAX_CLIENTS as u64 {
        let text = format!("\"HTTP\" verb=\"GET\" URI=\"/api\" userAgent=\"made-up-{number}/1\" resp=200");
        observe(&mut ledger, &(number, text));
        if number % 1_000 == 0 {
            let json = format!(
                r#"{{"auditID":"a","stage":"Panic","verb":"get","requestURI":"/api","user":{{"username":"u{number}"}}}}"#
            );
            let event: Event<'_> = serde_json::from_str(&json).expect("an event");
            let place = SourcePosition { source: 1, offset: number, line: number };
            ledger.clients.observe(&Classifier::default().event(&event, Stage::Panic, place));
        }
    }
    let (clients, rest) = ledger.clients.into_parts();
    let users = clients.iter().filter(|(key, _)| key.kind == k8s::Kind::User).count();
    assert_eq!((clients.len(), users, rest.is_some()), (MAX_CLIENTS, 41, true));
}
