//! Gates of a CI job: the counts and messages of `--fail-on` and `--require-requests`.

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

/// An event at the end of a request, `second` after ten o'clock.
fn event(number: usize, second: usize, user: &str, verb: &str, uri: &str, lived: usize) -> String {
    let [received, micros] = [second, lived].map(|second| second as u64 * 1_000_000);
    let (id, agent, begin) = (format!("id-{number}"), &*format!("{user}/1"), "2026-03-02T10:00:00Z");
    AuditEvent::new(&id, verb, uri).by(user, agent).ip("10.0.0.1").since(begin).at(received, micros).line()
}

/// An informer that starts with a LIST from etcd and reads its second page; and a client that LISTs every minute.
fn log() -> String {
    let mut log = String::new();
    let pods = "/api/v1/pods?limit=500";
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAwLCJzdGFydCI6ImRlZmF1bHQvcG9kXHUwMDAwIn0";
    log += &event(1, 0, "informer", "list", pods, 0);
    log += &event(2, 1, "informer", "list", &format!("{pods}&continue={token}"), 0);
    log += &event(3, 2, "informer", "watch", "/api/v1/pods?watch=true&resourceVersion=100", 300);
    for minute in 0..5 {
        log += &event(10 + minute, 60 * minute, "poller", "list", "/api/v1/pods", 0);
    }
    log += &event(20, 7, "poller", "get", "/api/v1/namespaces/n/pods/p", 0);
    log += &event(21, 8, "reader", "list", "/api/v1/nodes?limit=500&resourceVersion=0", 0);
    log
}

/// Runs a scan as 1.30, whose LISTs without a resourceVersion are read from etcd.
fn run(dir: &Dir, args: &[&str]) -> (Option<i32>, String) {
    let mut all = vec!["scan", "a.log", "--no-progress", "--kube-version", "1.30.0"];
    all.extend(args);
    let (code, _, err) = dir.run_with(&all, b"");
    (code, err)
}

fn dir() -> Dir {
    Dir::with(&[("a.log", log().as_bytes())])
}

#[test]
fn lists_of_an_informer_do_not_trip_a_gate() {
    let dir = dir();
    let (code, err) = run(&dir, &["--fail-on", "etcd-list", "--user", "informer"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, err) = run(&dir, &["--fail-on", "etcd-list,etcd-get,limit-ignored"]);
    assert_eq!(code, Some(1));
    let expected = "failed: 5 LISTs read from etcd (--fail-on etcd-list); all by poller: list pods cluster-wide, 5 \
                    requests; 2 LISTs that a WATCH follows not counted\n\
                    failed: 1 GET read from etcd (--fail-on etcd-get); all by poller: get pods, 1 \
                    request\n\
                    failed: 1 LIST whose limit the server ignored (--fail-on limit-ignored); all by reader: list \
                    nodes cluster-wide ?limit=500&resourceVersion=0, 1 request\n";
    assert_eq!(err, expected);
}

#[test]
fn suppressed_findings_do_not_trip_a_gate() {
    let dir = dir();
    let policy = |rule: &str, client: &str, shape: &str| {
        format!(
            "suppressions:\n  - rule: {rule}\n    client: '{client}'\n    shape: '{shape}'\n    reason: known\n    \
             expires: 2999-01-01\n"
        )
    };
    for (rule, client, shape, is_covered) in [
        ("KT101", "poller", "list pods*", true),
        ("list-from-etcd", "*", "*", true),
        ("KT101", "other", "*", false),
        ("KT101", "poller", "list nodes*", false),
        // A rule that does not judge LISTs.
        ("get-from-etcd", "poller", "*", false),
        ("shared-identity", "poller", "*", false),
    ] {
        dir.write("kubetoll.yaml", policy(rule, client, shape).as_bytes());
        let (code, err) = run(&dir, &["--fail-on", "etcd-list"]);
        assert_eq!(code, Some(i32::from(!is_covered)), "{rule} {client} {shape}: {err}");
    }
    dir.write("kubetoll.yaml", policy("KT101", "informer", "*").as_bytes());
    let (_, err) = run(&dir, &["--fail-on", "etcd-list"]);
    assert!(!err.contains("suppresses"), "an informer's LISTs are left out once: {err}");
}

#[test]
fn a_gate_takes_rules_by_id_name_and_family() {
    let dir = dir();
    for word in ["KT307", "poll-list", "KT3", "KT402,KT307"] {
        let (code, err) = run(&dir, &["--fail-on", word]);
        assert_eq!(code, Some(1), "{word}: {err}");
        assert!(err.contains("KT307 poll-list, poller: list pods cluster-wide, 5 requests"), "{word}: {err}");
    }
    let (code, err) = run(&dir, &["--fail-on", "conflict-storm"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, err) = run(&dir, &["--fail-on", "poll-lists"]);
    assert_eq!(
        (code, err.as_str()),
        (Some(2), "error: --fail-on: cannot fail on 'poll-lists'; did you mean 'poll-list'?\n")
    );
    let (code, err) = run(&dir, &["--fail-on", "KT307", "--ignore", "KT3"]);
    assert_eq!(code, Some(2), "{err}");
    dir.write("kubetoll.yaml", b"failOn: [poll-list]\n");
    assert_eq!(run(&dir, &[]).0, Some(1));
    dir.write("kubetoll.yaml", b"failOn: [pol-list]\n");
    let (code, err) = run(&dir, &[]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("kubetoll.yaml:1:10: cannot fail on 'pol-list'; did you mean 'poll-list'?"),
        "{err}"
    );
    dir.write(
        "kubetoll.yaml",
        b"suppressions:\n  - {rule: poll-list, client: poller, reason: known, expires: 2999-01-01}\n",
    );
    assert_eq!(run(&dir, &["--fail-on", "poll-list"]).0, Some(0));
}

#[test]
fn a_list_right_before_the_end_of_the_time_range_counts_as_an_informers() {
    let dir = dir();
    for before in ["2026-03-02T10:00:02Z", "2026-03-02T10:00:01Z"] {
        let (code, err) = run(&dir, &["--fail-on", "etcd-list", "--user", "informer", "--before", before]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{before}");
    }
}

#[test]
fn gates_that_need_patterns_refuse_a_scan_without_them() {
    let dir = dir();
    for word in ["etcd-list", "limit-ignored"] {
        let (code, err) = run(&dir, &["--fail-on", word, "--no-patterns"]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("leave out --no-patterns"), "{err}");
    }
    assert_eq!(run(&dir, &["--fail-on", "etcd-get", "--no-patterns"]).0, Some(1));
}

#[test]
fn a_filter_that_matches_nothing_can_fail() {
    let dir = dir();
    let (code, err) =
        run(&dir, &["--user", "poller", "--user", "polller,reader", "--fail-on", "conflict-storm"]);
    assert_eq!((code, err.as_str()), (Some(0), "note: --user 'polller': no request matches this\n"));
    let (code, err) = run(&dir, &["--user", "poller", "--user", "polller", "--require-requests"]);
    assert_eq!((code, err.as_str()), (Some(2), "error: --user 'polller': no request matches this\n"));
    let (code, err) = run(&dir, &["--user", "poller", "--require-requests=7"]);
    let few = "error: the filters leave 6 requests; --require-requests=7 needs at least 7 requests\n";
    assert_eq!((code, err.as_str()), (Some(2), few));
    for args in [["--require-requests=6", "--user=poller"], ["--require-requests", "--verb=-delete"]] {
        assert_eq!(run(&dir, &args), (Some(0), String::new()), "{args:?}");
    }
    assert_eq!(run(&dir, &["--require-requests=0"]).0, Some(2));
}

#[test]
fn a_filter_matches_in_a_log_of_request_received_events() {
    let received = log().replace("ResponseComplete", "RequestReceived");
    let dir = Dir::with(&[("a.log", received.as_bytes())]);
    assert_eq!(run(&dir, &["--require-requests", "--user", "poller"]), (Some(0), String::new()));
    let (code, err) = run(&dir, &["--require-requests", "--user", "poller,polller"]);
    assert_eq!((code, err.as_str()), (Some(2), "error: --user 'polller': no request matches this\n"));
}
