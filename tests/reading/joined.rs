//! An audit log and the server's own log of the same requests: each request counts once, with its user from the one
//! and its priority level from the other.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use crate::support::command::Dir;

const AUDIT: &[u8] = include_bytes!("../../fixtures/truth/audit-v1.36-etcd3.6.jsonl.gz");
/// How many requests of the recorded log are used.
const REQUESTS: usize = 150;

/// An event of the recorded log.
struct Event {
    line: String,
    value: Value,
}

/// Requests of the recorded log that ended. Watches are left out, because they have two lines in an access log.
fn recorded() -> Vec<Event> {
    let mut text = String::new();
    MultiGzDecoder::new(AUDIT).read_to_string(&mut text).expect("gzip");
    let events = text.lines().map(|line| Event {
        line: format!("{line}\n"),
        value: serde_json::from_str(line).expect("an event"),
    });
    events
        .filter(|event| event.value["stage"] == "ResponseComplete" && event.value["verb"] != "watch")
        .take(REQUESTS)
        .collect()
}

fn text<'e>(event: &'e Value, key: &str) -> &'e str {
    event[key].as_str().unwrap_or_default()
}

/// The end of an event plus `later` microseconds, as `MMDD hh:mm:ss.micros`.
fn klog_time(event: &Value, later: u32) -> String {
    let at = text(event, "stageTimestamp");
    let micros: u32 = at[20..26].parse().expect("microseconds");
    format!("{}{} {}.{:06}", &at[5..7], &at[8..10], &at[11..19], (micros + later).min(999_999))
}

/// The access log's line of an event, as 1.36 writes it.
fn access(event: &Value, later: u32) -> String {
    let method = text(event, "verb").to_uppercase();
    let agent = serde_json::to_string(text(event, "userAgent")).expect("a string");
    format!(
        "I{}    7004 httplog.go:134] \"HTTP\" verb=\"{method}\" URI=\"{}\" latency=\"2.5ms\" userAgent={agent} \
         audit-ID=\"{}\" srcIP=\"127.0.0.1:4000\" apf_pl=\"workload-low\" apf_fs=\"service-accounts\" apf_iseats=3 \
         apf_fseats=0 apf_additionalLatency=\"0s\" apf_execution_time=\"1.5ms\" resp={}\n",
        klog_time(event, later),
        text(event, "requestURI"),
        text(event, "auditID"),
        event["responseStatus"]["code"],
    )
}

/// The access log's line of a request that the audit log lacks.
fn unaudited(event: &Value, number: usize) -> String {
    access(event, 0).replace(text(event, "auditID"), &format!("{number:036}"))
}

/// The audit log, and the access log with three more requests.
fn logs() -> (Vec<Event>, String, String) {
    let events = recorded();
    let audit: String = events.iter().map(|event| &*event.line).collect();
    let mut lines: String = events.iter().map(|event| access(&event.value, 0)).collect();
    for (number, event) in events.iter().take(3).enumerate() {
        lines.push_str(&unaudited(&event.value, number));
    }
    (events, audit, lines)
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a count")).expect("small")
}

fn clients(report: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<&Value> {
    report["clients"].as_array().expect("clients").iter().filter(|client| wanted(client)).collect()
}

/// Seats of all requests of clients, by flow.
fn seats(clients: &[&Value]) -> u64 {
    let shapes = clients.iter().flat_map(|client| client["shapes"].as_array().expect("shapes"));
    let flows = shapes.flat_map(|shape| shape["priorityAndFairness"].as_array().cloned().unwrap_or_default());
    flows
        .map(|flow| {
            assert_eq!(
                (&flow["priorityLevel"], &flow["flowSchema"]),
                (&"workload-low".into(), &"service-accounts".into())
            );
            flow["seats"].as_u64().expect("seats")
        })
        .sum()
}

fn is_user_agent(client: &Value) -> bool {
    client["kind"] == "user-agent"
}

#[test]
fn a_request_in_both_logs_counts_once() {
    let (events, audit, lines) = logs();
    let dir = Dir::with(&[("a.log", audit.as_bytes()), ("b.log", lines.as_bytes())]);
    let report = dir.report(&["a.log", "b.log", "--year", "2026"]);
    let input = &report["input"];
    assert_eq!(count(&input["events"]), 2 * events.len() + 3);
    assert_eq!((count(&input["joined"]), count(&input["requests"])), (events.len(), events.len() + 3));
    assert_eq!((count(&input["notJoined"]), count(&input["duplicates"])), (0, 0));
    // Only the audit log names the users. The other requests have a user agent only.
    let alone = dir.report(&["a.log", "--year", "2026"]);
    let identities = |report: &Value| -> Vec<(String, u64)> {
        clients(report, |client| !is_user_agent(client))
            .iter()
            .map(|client| (client["identity"].to_string(), client["requests"].as_u64().expect("a count")))
            .collect()
    };
    let sorted = |mut all: Vec<(String, u64)>| {
        all.sort();
        all
    };
    assert_eq!(sorted(identities(&report)), sorted(identities(&alone)));
    let unnamed = clients(&report, is_user_agent);
    assert_eq!(unnamed.iter().map(|client| count(&client["requests"])).sum::<usize>(), 3);
    assert_eq!(seats(&clients(&alone, |_| true)), 0);
    let named = clients(&report, |client| !is_user_agent(client));
    assert_eq!(seats(&named), 3 * events.len() as u64);
    assert_eq!(seats(&unnamed), 9);
}

#[test]
fn joined_totals_are_independent_of_order_names_and_threads() {
    let (_, audit, lines) = logs();
    let dir = Dir::with(&[
        ("1/a", audit.as_bytes()),
        ("1/b", lines.as_bytes()),
        ("2/b", audit.as_bytes()),
        ("2/a", lines.as_bytes()),
        ("3/a", (lines.clone() + &audit).as_bytes()),
    ]);
    let of = |path: &str, threads: &str| {
        let report = dir.report(&[path, "--year", "2026", "--threads", threads]);
        let mut totals = report["totals"].clone();
        totals["joined"] = report["input"]["joined"].clone();
        totals["requests_of_all"] = report["input"]["requests"].clone();
        totals
    };
    let first = of("1", "1");
    for (path, threads) in [("1", "3"), ("2", "1"), ("2", "2"), ("3", "1"), ("3", "2")] {
        assert_eq!(of(path, threads), first, "{path}");
    }
}

#[test]
fn access_log_on_a_pipe_is_left_out_with_a_note() {
    let (events, audit, lines) = logs();
    let dir = Dir::with(&[]);
    let report = dir.report_of(&["-", "--year", "2026"], (audit + &lines).as_bytes());
    let input = &report["input"];
    assert_eq!((count(&input["joined"]), count(&input["notJoined"])), (0, events.len() + 3));
    assert_eq!(count(&input["requests"]), events.len());
    assert!(input["notes"].to_string().contains("On a pipe, it cannot match them"), "{}", input["notes"]);
    assert_eq!(seats(&clients(&report, |_| true)), 0);
    // A single log needs no join.
    let report = dir.report_of(&["-", "--year", "2026"], lines.as_bytes());
    assert_eq!(count(&report["input"]["requests"]), events.len() + 3);
}

#[test]
fn the_two_lines_of_a_request_count_once() {
    let events = recorded();
    // The second line is a little later, and other lines may be between.
    let mut lines = String::new();
    for pair in events.chunks(2) {
        for later in [0, 800] {
            for event in pair {
                lines.push_str(&access(&event.value, later));
            }
        }
    }
    let audit: String = events.iter().map(|event| &*event.line).collect();
    let dir = Dir::with(&[("a.log", audit.as_bytes()), ("b.log", lines.as_bytes())]);
    for dedup in ["auto", "exact", "off"] {
        let report = dir.report(&["b.log", "--year", "2026", "--dedup", dedup]);
        assert_eq!(count(&report["input"]["requests"]), events.len(), "{dedup}");
        assert_eq!(count(&report["input"]["duplicates"]), events.len(), "{dedup}");
        let report = dir.report(&[".", "--year", "2026", "--dedup", dedup]);
        let input = &report["input"];
        assert_eq!(
            (count(&input["requests"]), count(&input["joined"])),
            (events.len(), events.len()),
            "{dedup}"
        );
        assert_eq!(seats(&clients(&report, |_| true)), 3 * events.len() as u64, "{dedup}");
    }
}

/// A RequestReceived event of an event's request.
fn received(event: &Event) -> String {
    let mut received = event.value.clone();
    received["stage"] = "RequestReceived".into();
    received["stageTimestamp"] = received["requestReceivedTimestamp"].clone();
    let fields = received.as_object_mut().expect("an event");
    fields.remove("responseStatus");
    fields.remove("annotations");
    format!("{received}\n")
}

/// An event with another field.
fn with(event: &Event, path: &str, value: Value) -> Event {
    let mut changed = event.value.clone();
    *changed.pointer_mut(path).expect("a field") = value;
    Event { line: format!("{changed}\n"), value: changed }
}

/// Identity, status classes and seats of each shape.
fn shapes(report: &Value) -> Vec<(String, Value, Value)> {
    let clients = report["clients"].as_array().expect("clients").iter();
    let shapes = clients.flat_map(|client| {
        let shapes = client["shapes"].as_array().expect("shapes").iter();
        shapes.map(|shape| (client["identity"].to_string(), shape.clone()))
    });
    let mut shapes: Vec<_> = shapes
        .map(|(identity, shape)| {
            let flows = shape["priorityAndFairness"].as_array().cloned().unwrap_or_default();
            let seats: u64 = flows.iter().map(|flow| flow["seats"].as_u64().expect("seats")).sum();
            (identity, shape["statuses"]["2xx"].clone(), json!(seats))
        })
        .collect();
    shapes.sort_by_key(|(identity, served, _)| (identity.clone(), served.to_string()));
    shapes
}

#[test]
fn seats_go_to_the_shape_of_the_status_in_any_order() {
    let events = recorded();
    let list = events.iter().find(|event| text(&event.value, "verb") == "list").expect("a list");
    let refused = with(list, "/responseStatus/code", json!(403));
    // Both have the same audit ID, because the client chose it.
    let served =
        with(&with(list, "/user/username", json!("other")), "/auditID", refused.value["auditID"].clone());
    let lines = [received(&refused), access(&refused.value, 0), refused.line.clone(), served.line.clone()];
    let served_line = access(&served.value, 500_000).replace("apf_iseats=3", "apf_iseats=5");
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
        let mut log: String = order.map(|at| lines[at].as_str()).concat();
        log.push_str(&served_line);
        let dir = Dir::with(&[("a.log", log.as_bytes())]);
        let report = dir.report(&["a.log", "--year", "2026"]);
        let actual: Vec<(Value, Value)> =
            shapes(&report).into_iter().map(|(_, served, seats)| (served, seats)).collect();
        assert!(actual.contains(&(json!(0), json!(3))), "{actual:?}");
        assert!(actual.contains(&(json!(1), json!(5))), "{actual:?}");
        assert_eq!(actual.len(), 2, "a shape has a request");
    }
}

#[test]
fn the_line_with_seats_wins_over_the_one_without() {
    let events = recorded();
    let event = &events[0].value;
    let (first, second) = (access(event, 0), access(event, 800));
    let without_seats = |line: &str| {
        let (head, tail) = line.split_once(" apf_pl").expect("seats");
        format!("{head} {}", &tail[tail.find("resp=").expect("a status")..])
    };
    for lines in [[without_seats(&first), second.clone()], [first.clone(), without_seats(&second)]] {
        let dir = Dir::with(&[("a.log", events[0].line.as_bytes()), ("b.log", lines.concat().as_bytes())]);
        for paths in [["b.log", "--year"], [".", "--year"]] {
            let report = dir.report(&[paths[0], paths[1], "2026"]);
            assert_eq!(count(&report["input"]["requests"]), 1);
            assert_eq!(seats(&clients(&report, |_| true)), 3);
        }
    }
}

#[test]
fn filtered_events_count_as_filtered_only() {
    let (events, audit, lines) = logs();
    let dir = Dir::with(&[("a.log", audit.as_bytes()), ("b.log", lines.as_bytes())]);
    for filter in [["--user", "system:*"], ["--user", "nobody"], ["--verb", "list"], ["--verb", "-get"]] {
        let report = dir.report(&["a.log", "b.log", "--year", "2026", filter[0], filter[1]]);
        let input = &report["input"];
        let elsewhere = ["filtered", "duplicates", "joined", "notJoined", "requests"];
        let sum: usize = elsewhere.iter().map(|key| count(&input[key])).sum();
        assert_eq!(sum, 2 * events.len() + 3, "{filter:?}: {input}");
    }
}

#[test]
fn traces_show_how_many_items_a_list_had() {
    let events = recorded();
    let lists: Vec<&Event> =
        events.iter().filter(|event| text(&event.value, "verb") == "list").take(2).collect();
    let [first, second] = lists[..] else { panic!("two lists") };
    let trace = |event: &Value, number: u32, items: u32| {
        let (path, _) = text(event, "requestURI").split_once('?').unwrap_or((text(event, "requestURI"), ""));
        let at = klog_time(event, 0);
        format!(
            "I{at}    7004 trace.go:236] Trace[{number}]: \"List\" accept:application/json, */*,audit-id:{},client:::1,\
             protocol:HTTP/2.0,url:{path},user-agent:x,verb:LIST (20-Nov-2026 20:35:56.810) (total time: 701ms):\n\
             Trace[{number}]: ---\"Writing http response done\" count:{items} 520ms (20:35:57.512)\n\
             Trace[{number}]: [701.484ms] [701.484ms] END\n",
            text(event, "auditID")
        )
    };
    let audit: String = events.iter().map(|event| &*event.line).collect();
    // The lines of two traces may alternate.
    let (one, two) = (trace(&first.value, 7, 1_234), trace(&second.value, 9, 77));
    let mixed: Vec<&str> = one.lines().zip(two.lines()).flat_map(|(one, two)| [one, two]).collect();
    let mixed = mixed.join("\n");
    let dir = Dir::with(&[("a.log", audit.as_bytes()), ("b.log", mixed.as_bytes())]);
    let report = dir.report(&["a.log", "b.log", "--year", "2026"]);
    assert_eq!(count(&report["input"]["requests"]), events.len());
    assert_eq!(report["input"]["foreign"], json!({"trace-line": 6}));
    // A log with traces only gives a report too.
    let alone = dir.report(&["b.log"]);
    assert_eq!((count(&alone["input"]["events"]), alone["traces"].as_array().map(Vec::len)), (0, Some(2)));
    let shapes = report["clients"].as_array().expect("clients").iter();
    let items: Vec<(String, Value)> = shapes
        .flat_map(|client| client["shapes"].as_array().expect("shapes"))
        .filter(|shape| !shape["items"].is_null())
        .map(|shape| (shape["verb"].as_str().expect("a verb").to_owned(), shape["items"].clone()))
        .collect();
    assert!(!items.is_empty() && items.iter().all(|(verb, _)| verb == "list"), "{items:?}");
    let sum = |key: &str| items.iter().map(|(_, items)| count(&items[key])).sum::<usize>();
    assert_eq!((sum("requests"), sum("sum")), (2, 1_311), "{items:?}");
}
