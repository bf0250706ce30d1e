//! Requests per minute, in the JSON and as lines of blocks.

use std::fs;
use std::process::Command;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::event::AuditEvent;
use crate::support::library::{conservation, run};

const POLLER: &str = "system:serviceaccount:monitoring:poller";
const FIRST: i64 = 1_795_206_960_000_000;

/// A LIST of pods from etcd, `minute` minutes after 2026-11-20 20:36 UTC.
fn event(minute: i64, number: usize, user: &str, uri: &str, stage: &str) -> String {
    let received = u64::try_from(FIRST + minute * 60_000_000).expect("after 1970");
    AuditEvent::new(&format!("{user}-{minute}-{number}"), "list", uri)
        .by(user, "poller/v1.2.3")
        .ip("10.0.0.7")
        .since("1970-01-01T00:00:00Z")
        .at(received, 1_000)
        .stage(stage)
        .line()
}

/// LISTs of a user, with the number for each minute.
fn lists(user: &str, uri: &str, minutes: impl IntoIterator<Item = (i64, usize)>) -> String {
    let minutes = minutes.into_iter();
    let lists = minutes.flat_map(|(minute, count)| (0..count).map(move |number| (minute, number)));
    lists.map(|(minute, number)| event(minute, number, user, uri, "ResponseComplete")).collect()
}

fn scan(log: &str, args: &[&str], width: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("audit.jsonl"), log).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["scan", "audit.jsonl", "--no-progress", "--kube-version", "1.30.4"])
        .args(if args.contains(&"--format") { &[][..] } else { &["--details"] })
        .args(args)
        .current_dir(dir.path())
        .env("COLUMNS", width)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(log: &str) -> Value {
    serde_json::from_str(&scan(log, &["--format", "json"], "80")).expect("JSON")
}

/// The lines of the page after this prefix.
fn lines<'p>(page: &'p str, title: &str) -> Vec<&'p str> {
    page.lines().filter_map(|line| line.trim_start().strip_prefix(title)).map(str::trim).collect()
}

#[test]
fn each_client_and_resource_has_a_timeline() {
    let log = [
        lists(POLLER, "/api/v1/pods", [(0, 3), (7, 1)]),
        lists(POLLER, "/api/v1/pods?resourceVersion=0", [(7, 2)]),
        lists(POLLER, "/api/v1/nodes?resourceVersion=0", [(2, 1)]),
        lists("alice", "/api/v1/pods", [(7, 5)]),
    ];
    let report = json(&log.concat());
    let client = |name: &str| {
        let clients = report["clients"].as_array().expect("clients");
        clients.iter().find(|client| client["identity"] == name).expect("the client")["timelines"].clone()
    };
    let timeline = |resource: &str, points: Value| json!({"resource": resource, "windowMinutes": 1, "withoutTime": 0, "points": points});
    let nodes = timeline("nodes", json!([["2026-11-20T20:38:00Z", 1, 0]]));
    let pods = timeline("pods", json!([["2026-11-20T20:36:00Z", 3, 3], ["2026-11-20T20:43:00Z", 3, 1]]));
    assert_eq!(client(POLLER), json!([nodes, pods]));
    assert_eq!(client("alice"), json!([timeline("pods", json!([["2026-11-20T20:43:00Z", 5, 5]]))]));
    let part = |identity: &str, kind: &str, requests: u64| json!({"identity": identity, "kind": kind, "impersonatedBy": null, "requests": requests});
    let of = |requests: u64, clients: Value| json!({"at": "2026-11-20T20:43:00Z", "windowMinutes": 1, "requests": requests, "clients": clients});
    let (alice, poller) = (part("alice", "user", 5), |requests| part(POLLER, "service-account", requests));
    assert_eq!(report["totals"]["peak"], of(8, json!([alice, poller(3)])));
    assert_eq!(report["totals"]["etcdPeak"], of(6, json!([alice, poller(1)])));
}

#[test]
fn sparkline_that_fits_has_a_column_for_each_minute() {
    let log = lists(POLLER, "/api/v1/pods", [(0, 20), (1, 40), (3, 200), (4, 1), (9, 20)]);
    let page = scan(&log, &[], "80");
    let line = "▂▃▁█▂▁▁▁▁▂  peak 200 a minute at 20:39 UTC";
    assert_eq!((lines(&page, "Requests  "), lines(&page, "Etcd reads  ")), (vec![line], vec![line]));
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let peaks = "Peak 200 requests in the minute from 2026-11-20 20:39 UTC: monitoring/poller 200 (100.0 %) 200 etcd \
                 reads in the minute from 2026-11-20 20:39 UTC: monitoring/poller 200 (100.0 %)";
    assert!(words.contains(peaks), "{page}");
    let markdown = scan(&log, &["--format", "markdown"], "80");
    let bare = line.split_once("  ").expect("two parts");
    assert_eq!(lines(&markdown, "- **Requests:** "), [format!("`{}`  {}", bare.0, bare.1)]);
}

#[test]
fn a_short_log_has_a_peak_and_no_line() {
    let page = scan(&lists(POLLER, "/api/v1/pods", [(0, 20), (1, 60)]), &[], "80");
    assert_eq!(lines(&page, "Requests  "), ["peak 60 a minute at 20:37 UTC"]);
    // The server read none of its requests from etcd.
    let cached = lists(POLLER, "/api/v1/pods?limit=5&resourceVersion=0", [(0, 60), (4, 60)]);
    let page = scan(&cached, &[], "80");
    assert_eq!(lines(&page, "Requests  "), ["█▁▁▁█  peak 60 a minute at 20:36 UTC"]);
    assert!(lines(&page, "Etcd reads  ").is_empty() && !page.contains("etcd reads"), "{page}");
}

#[test]
fn a_long_log_has_wider_columns_with_their_busiest_minute() {
    let burst = [(101, 300)];
    let log = lists(POLLER, "/api/v1/pods", (0..480).step_by(4).map(|minute| (minute, 1)).chain(burst));
    for (width, columns, step) in [("80", 40, 12), ("160", 69, 7)] {
        let page = scan(&log, &[], width);
        let drawn = lines(&page, "Requests  ");
        let (line, words) = drawn[0].split_once("  ").expect("a line and its peak");
        assert_eq!(line.chars().count(), columns, "{drawn:?}");
        assert_eq!(line.chars().position(|c| c == '█'), Some(101 / step), "{drawn:?}");
        assert_eq!(line.matches('█').count(), 1, "{drawn:?}");
        // The log continues after midnight.
        let expected = format!("peak 300 a minute at 2026-11-20 22:17 UTC; {step} minutes a column");
        let whole = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains(&expected), "{words}\n{page}");
        assert!(
            page.lines()
                .all(|line| !line.contains('█') || line.chars().count() <= width.parse().expect("a number"))
        );
    }
}

#[test]
fn a_days_log_has_exact_minutes() {
    // Eight hours and a half are 512 minutes.
    let steady = lists(POLLER, "/api/v1/pods", (0..1_440).map(|minute| (minute, 1)));
    let log = steady + &lists(POLLER, "/api/v1/pods?limit=500", [(901, 600)]);
    let report = json(&log);
    let peak = &report["totals"]["peak"];
    let drawn = (&peak["windowMinutes"], &peak["requests"], &peak["at"]);
    assert_eq!(drawn, (&json!(1), &json!(601), &json!("2026-11-21T11:37:00Z")));
    assert_eq!(report["clients"][0]["rate"]["peakPerMinute"], 601.0);
    assert_eq!(report["clients"][0]["timelines"][0]["points"].as_array().map(Vec::len), Some(1_440));
    assert!(!scan(&log, &[], "80").contains("average"));
}

#[test]
fn windows_wider_than_a_minute_are_noted() {
    let steady = lists(POLLER, "/api/v1/pods", (0..1_600).map(|minute| (minute, 1)));
    let burst = lists("alice", "/api/v1/nodes", [(33, 1), (34, 7)]);
    let log = steady.clone() + &burst;
    let report = json(&log);
    let part = |identity: &str, kind: &str, requests: u64| json!({"identity": identity, "kind": kind, "impersonatedBy": null, "requests": requests});
    // A minute that is exact for one shape is not lost in the wider windows of the other.
    let clients = json!([part("alice", "user", 7), part(POLLER, "service-account", 1)]);
    let peak = json!({"at": "2026-11-20T21:10:00Z", "windowMinutes": 2, "requests": 8, "clients": clients});
    assert_eq!(report["totals"]["peak"], peak);
    let widths = |client: &Value| client["timelines"][0]["windowMinutes"].as_u64();
    let mut found: Vec<_> = report["clients"].as_array().expect("clients").iter().map(widths).collect();
    found.sort_unstable();
    assert_eq!(found, [Some(1), Some(2)]);
    let page = scan(&log, &[], "160");
    let head =
        "8 requests in the minute from 2026-11-20 21:10 UTC, on average of 2 minutes: user alice 7 (87.5 %)";
    assert!(page.contains(head), "{page}");
    let drawn = lines(&page, "Requests  ")[0];
    assert!(drawn.contains("peak 1 a minute on average of 2 minutes, 2026-11-20 20:36 UTC"), "{drawn}");
    let messages = report["findings"].as_array().expect("findings").iter().map(|one| one["message"].as_str());
    let of_poller: Vec<&str> = messages.flatten().filter(|message| message.contains("a minute")).collect();
    assert!(!of_poller.is_empty(), "{report}");
    for message in of_poller {
        let mean = message.ends_with("; the peak is a mean over 2 minutes");
        assert_eq!(mean, !message.contains("alice"), "{message}");
    }
    // One shape of a client is active for days, another once.
    let burst = lists(POLLER, "/api/v1/pods?limit=500", [(700, 600)]);
    let report = json(&(steady + &burst));
    let rate = &report["clients"][0]["rate"];
    assert_eq!((&rate["peakPerMinute"], &rate["windowMinutes"]), (&json!(601.0), &json!(2)));
}

#[test]
fn a_watch_older_than_the_log_does_not_stretch_it() {
    let mut log = lists(POLLER, "/api/v1/pods", [(0, 20), (1, 20), (2, 20), (3, 20), (4, 60)]);
    let watch = event(-900, 0, POLLER, "/api/v1/pods?watch=1", "ResponseComplete");
    log += &watch.replace("\"verb\":\"list\"", "\"verb\":\"watch\"");
    let page = scan(&log, &[], "80");
    assert_eq!(lines(&page, "Requests  "), ["▄▄▄▄█  peak 60 a minute at 20:40 UTC"]);
}

#[test]
fn a_clock_that_is_wrong_by_years_does_not_flatten_the_lines() {
    let log = lists(POLLER, "/api/v1/pods", [(0, 20), (1, 40), (3, 200), (4, 1), (9, 20)]);
    let line = "▂▃▁█▂▁▁▁▁▂  peak 200 a minute at 20:39 UTC";
    for year in [1970, 2027, 9999] {
        let minute = (i64::from(year) - 2_026) * 365 * 24 * 60;
        let page =
            scan(&(log.clone() + &event(minute, 0, POLLER, "/api/v1/pods", "ResponseComplete")), &[], "160");
        let drawn = lines(&page, "Requests  ");
        assert_eq!(drawn, [format!("{line}; 1 far from these minutes not drawn")], "{year}");
        // The line of another client leaves out nothing.
        let page =
            scan(&(log.clone() + &event(minute, 0, "alice", "/api/v1/pods", "ResponseComplete")), &[], "160");
        assert!(lines(&page, "Requests  ").contains(&line), "{year}: {page}");
    }
    // A long quiet time is drawn as it is.
    let quiet = lists(POLLER, "/api/v1/pods", [(0, 10), (1_000, 100), (1_001, 100)]);
    assert!(lines(&scan(&quiet, &[], "160"), "Requests  ")[0].starts_with("▂▁"));
}

#[test]
fn reads_from_etcd_count_with_any_status() {
    let event = |number: usize, verb: &str, uri: &str, code: u16| {
        let event = event(0, number, "alice", uri, "ResponseComplete");
        event.replace("\"list\"", &format!("\"{verb}\"")).replace(":200", &format!(":{code}"))
    };
    let pods = "/api/v1/pods";
    let page = "/api/v1/pods?limit=500&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0";
    let (pod, events) = ("/api/v1/namespaces/a/pods/b", "/api/v1/events?watch=1&resourceVersion=0");
    let requests = [
        ("list", pods, 200, 1),
        ("list", page, 410, 1),
        ("list", pods, 504, 1),
        ("get", pod, 404, 1),
        ("list", pods, 429, 0),
        ("list", pods, 403, 0),
        ("list", pods, 400, 0),
        ("get", pod, 401, 0),
        ("watch", events, 200, 0),
    ];
    for (number, (verb, uri, code, reads)) in requests.into_iter().enumerate() {
        let report = json(&event(number, verb, uri, code));
        let totals = &report["totals"];
        let counted =
            [&totals["etcdLists"], &totals["etcdGets"]].map(|count| count.as_u64().expect("a count"));
        let points = &report["clients"][0]["timelines"][0]["points"];
        let drawn = (counted.iter().sum::<u64>(), &points[0][2], totals["etcdPeak"].is_object());
        assert_eq!(drawn, (reads, &json!(reads), reads > 0), "{verb} {uri} {code}");
    }
    // The share is over LISTs and GETs, so a watch does not count.
    let log: String = (0..40).map(|number| event(number, "watch", events, 200)).collect();
    let report = json(&(log + &event(99, "list", pods, 200)));
    let shares: Vec<&Value> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|one| &one["stats"]["shareOfEtcdReads"])
        .collect();
    assert!(shares.iter().all(|share| share.as_f64().is_none_or(|share| share <= 100.0)), "{shares:?}");
    assert!(!shares.is_empty());
}

#[test]
fn a_log_of_request_received_events_has_timelines() {
    let received = |minute: i64, count: usize| -> String {
        (0..count).map(|n| event(minute, n, POLLER, "/api/v1/pods", "RequestReceived")).collect()
    };
    let log = received(0, 2) + &received(5, 3);
    let points = |report: &Value| report["clients"][0]["timelines"][0]["points"].clone();
    let both = json!([["2026-11-20T20:36:00Z", 2, 2], ["2026-11-20T20:41:00Z", 3, 3]]);
    assert_eq!(points(&json(&log)), both);
    // If a log has ends, a request counts at its end.
    let ended = log + &event(5, 0, POLLER, "/api/v1/pods", "ResponseComplete");
    assert_eq!(points(&json(&ended)), json!([["2026-11-20T20:41:00Z", 1, 1]]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn points_and_examples_do_not_depend_on_order_or_cuts(
        requests in prop::collection::vec((0_i64..700, 0_usize..6, any::<bool>()), 1..400),
        seed: u64,
        cut in 0_usize..400,
    ) {
        const URIS: [&str; 3] = ["/api/v1/pods", "/api/v1/pods?resourceVersion=0", "/apis/apps/v1/deployments"];
        let stage = |ended: &bool| if *ended { "ResponseComplete" } else { "RequestReceived" };
        let line = |(number, (minute, kind, ended)): (usize, &(i64, usize, bool))| {
            let user = ["alice", POLLER][kind / 3];
            event(*minute, number, user, URIS[kind % 3], stage(ended))
        };
        let mut events: Vec<String> = requests.iter().enumerate().map(line).collect();
        let report = |parts: &[&[String]]| {
            let dir = tempfile::tempdir().expect("a directory");
            let paths: Vec<_> = (0..parts.len()).map(|part| dir.path().join(part.to_string())).collect();
            for (path, part) in paths.iter().zip(parts) {
                fs::write(path, part.concat()).expect("a file");
            }
            let report = run::scan(&paths, &run::settings(2, &[]));
            conservation::check(&report);
            let clients = report.clients.iter().map(|client| (client.identity.clone(), client.timelines.clone()));
            let shapes = report.clients.iter().flat_map(|client| &client.shapes);
            let examples = shapes.flat_map(|shape| shape.example.iter().chain(&shape.more_examples));
            let examples: Vec<String> = examples.map(|one| one.audit_id.to_string()).collect();
            (clients.collect::<Vec<_>>(), examples, report.totals.peak.clone(), report.totals.etcd_peak.clone())
        };
        let whole = report(&[&events]);
        events.sort_by_key(|event| xxhash_rust::xxh3::xxh3_64_with_seed(event.as_bytes(), seed));
        let (left, right) = events.split_at(cut.min(events.len()));
        prop_assert_eq!(report(&[right, left]), whole);
    }
}
