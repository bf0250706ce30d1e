//! Events before a request's end: they make no shape without a request, and no event is lost.

use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

/// The maximum number of shapes per user agent.
const SHAPES: usize = kubetoll::ledger::MAX_SHAPES;

fn event(stage: &str, number: usize, uri: &str, verb: &str, user: &str, code: Option<u16>) -> Value {
    let received = number as u64 % 60 * 60_000_000;
    let begin = "2026-03-02T10:00:00Z";
    let id = format!("id-{number}");
    let mut event =
        AuditEvent::new(&id, verb, uri).by(user, "agent/1").since(begin).at(received, 1_000).value();
    event["stage"] = stage.into();
    match code {
        Some(code) => event["responseStatus"] = json!({"code": code}),
        None => drop(event.as_object_mut().expect("an event").remove("responseStatus")),
    }
    event
}

/// A request with the events of both stages.
fn request(number: usize, uri: &str, code: u16) -> [Value; 2] {
    [
        event("RequestReceived", number, uri, "list", "u", None),
        event("ResponseComplete", number, uri, "list", "u", Some(code)),
    ]
}

fn log(events: &[Value]) -> String {
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

fn report(events: &[Value]) -> Value {
    let dir = Dir::with(&[("a.log", log(events).as_bytes())]);
    let report = dir.report(&["a.log", "--kube-version", "1.30.0"]);
    let shapes = || shapes(&report);
    assert!(shapes().all(|shape| count(&shape["requests"]) > 0), "a shape without a request");
    let in_shapes: usize = shapes().map(|shape| count(&shape["events"])).sum();
    let without = count(&report["input"]["eventsWithoutRequest"]);
    assert_eq!(in_shapes + without, events.len(), "each event is counted once");
    report
}

fn shapes(report: &Value) -> impl Iterator<Item = &Value> {
    let clients = report["clients"].as_array().expect("clients").iter();
    clients.flat_map(|client| client["shapes"].as_array().expect("shapes"))
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a count")).expect("small")
}

#[test]
fn refused_requests_evict_no_served_request_shape() {
    let resource = |kind: &str, number: usize| format!("/apis/example.com/v1/{kind}{number}");
    let (served, refused) = (SHAPES / 2, SHAPES / 2);
    let served_requests = (0..served).map(|number| request(number, &resource("served", number), 200));
    let refused_requests =
        (0..refused).map(|number| request(served + number, &resource("refused", number), 403));
    let mut events: Vec<Value> = served_requests.chain(refused_requests).flatten().collect();
    for is_apart in [false, true] {
        if is_apart {
            // The two events of a request are never adjacent.
            events.rotate_left(1);
            events.sort_by_key(|event| event["stage"] != "RequestReceived");
        }
        let report = report(&events);
        assert_eq!(shapes(&report).count(), SHAPES, "nothing is folded");
        assert_eq!(count(&report["totals"]["etcdLists"]), served);
        assert_eq!(count(&report["input"]["eventsWithoutRequest"]), 0);
        assert!(shapes(&report).all(|shape| (count(&shape["requests"]), count(&shape["events"])) == (1, 2)));
    }
}

#[test]
fn a_request_that_did_not_end_is_counted_as_unfinished() {
    let mut events = request(1, "/api/v1/pods", 200).to_vec();
    events.push(event("RequestReceived", 2, "/api/v1/pods", "list", "u", None));
    events.push(event("RequestReceived", 3, "/api/v1/nodes", "list", "v", None));
    let report = report(&events);
    let input = &report["input"];
    assert_eq!((count(&input["unfinished"]), count(&input["eventsWithoutRequest"])), (2, 1));
    assert_eq!(count(&input["requests"]), 1);
    assert_eq!(report["clients"].as_array().map(Vec::len), Some(1), "v made no request that is counted");
}

#[test]
fn impersonated_request_is_paired_with_its_request_received_event() {
    let mut events = Vec::new();
    for number in 0..3 {
        let [received, mut ended] = request(number, "/api/v1/pods", 200);
        ended["impersonatedUser"] = json!({"username": format!("user-{}", number % 2)});
        events.extend([received, ended]);
    }
    events.extend(request(7, "/api/v1/pods", 200));
    let report = report(&events);
    assert_eq!(count(&report["input"]["unfinished"]), 0);
    let clients = report["clients"].as_array().expect("clients");
    let mut actual: Vec<(&str, usize, usize)> = clients
        .iter()
        .map(|client| {
            let shape = &client["shapes"][0];
            let identity = client["identity"].as_str().expect("a name");
            (identity, count(&shape["requests"]), count(&shape["events"]))
        })
        .collect();
    actual.sort_unstable();
    assert_eq!(actual, [("u", 1, 2), ("user-0", 2, 4), ("user-1", 1, 2)]);
}

#[test]
fn a_watch_that_panics_is_one_request() {
    let uri = "/api/v1/pods?watch=true&resourceVersion=7";
    let events = [
        event("RequestReceived", 1, uri, "watch", "u", None),
        event("ResponseStarted", 1, uri, "watch", "u", Some(200)),
        event("Panic", 1, uri, "watch", "u", Some(500)),
    ];
    let report = report(&events);
    let input = &report["input"];
    assert_eq!((count(&input["requests"]), count(&input["open"]), shapes(&report).count()), (1, 0, 1));
}

#[test]
fn a_request_without_a_user_is_counted_at_its_only_event() {
    let uri = "/api/v1/pods?watch=true";
    let mut unauthenticated = event("ResponseStarted", 1, uri, "watch", "", Some(401));
    unauthenticated["user"] = json!({});
    // A stream that a server behind the aggregator rejected also writes its end.
    let events = [
        unauthenticated,
        event("RequestReceived", 2, uri, "watch", "u", None),
        event("ResponseStarted", 2, uri, "watch", "u", Some(401)),
        event("ResponseComplete", 2, uri, "watch", "u", Some(401)),
    ];
    let report = report(&events);
    assert_eq!((count(&report["input"]["requests"]), count(&report["input"]["open"])), (2, 0));
}
