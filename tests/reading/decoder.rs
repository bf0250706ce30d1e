//! Records that an earlier version misread.

use kubetoll::decode::{Decoder, Envelope, Layers, Outcome, SourceFacts};
use kubetoll::input::framing::lines;

const EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"Panic"}"#;

/// The entries of a text's lines, one word for each.
fn read(only: Option<Envelope>, text: &[u8]) -> Vec<String> {
    let mut decoder = Decoder::new(only.map(|only| Layers::default().with(only)), 1 << 20);
    let mut actual = Vec::new();
    let mut take = |outcome: Outcome<'_>, layers: Layers| {
        actual.push(match outcome {
            Outcome::Event(..) => format!("event {layers}"),
            Outcome::Access { .. } => format!("access {layers}"),
            Outcome::Trace(_) => "trace".to_owned(),
            Outcome::Start { .. } => "start".to_owned(),
            Outcome::Etcd { .. } => "etcd".to_owned(),
            Outcome::Foreign(kind) => kind.as_str().to_owned(),
            Outcome::Skip(reason, _) => reason.as_str().to_owned(),
        });
    };
    for record in lines(text, 1, 0) {
        decoder.record(&record, SourceFacts::default(), &mut take);
    }
    decoder.finish(&mut take);
    actual
}

#[test]
fn records_that_begin_with_a_quote_are_recognized() {
    let access = r#""HTTP" verb="GET" URI="/" latency="1ms" resp=200"#;
    assert_eq!(read(None, access.as_bytes()), ["access http-log"]);
    let cri = format!("2026-01-01T00:00:00Z stderr F {access}");
    assert_eq!(read(None, cri.as_bytes()), ["access cri/http-log"]);
    let quoted = format!("{access} srcIP=\"10.0.0.1:5\"");
    assert_eq!(read(None, quoted.as_bytes()), ["access http-log"], "it ends like a string");
    assert_eq!(read(None, br#""stage":"Panic"}"#), ["not-json"], "an event that lost its start");
    assert_eq!(read(None, br#""{\"kind\":\"Ev"#), ["truncated"]);
    assert_eq!(read(None, b"\""), ["truncated"]);
    assert_eq!(read(None, b"\"\""), ["blank"]);
}

#[test]
fn prefixes_of_a_line_hide_no_event() {
    let line = "I1120 20:31:42.554433    4065 a.go:1] x";
    for before in ["\u{feff}", "\0\0\0", "\u{feff}\0"] {
        assert_eq!(read(None, format!("{before}{line}").as_bytes()), ["klog-line"]);
        assert_eq!(read(None, format!("{before}{EVENT}").as_bytes()), ["event audit"]);
    }
}

#[test]
fn parts_of_a_line_are_joined_within_their_stream() {
    let (start, end) = EVENT.split_at(30);
    let (start, end) = (
        format!("2026-01-01T00:00:00Z stdout P {start}\n"),
        format!("2026-01-01T00:00:00Z stdout F {end}\n"),
    );
    let other = "2026-01-01T00:00:00Z stderr F I1120 20:31:42.554433    4065 a.go:1] x\n";
    let of = |parts: &[&str]| read(None, parts.concat().as_bytes());
    assert_eq!(of(&[&start, &end]), ["part-of-a-line", "event cri/audit"]);
    assert_eq!(of(&[&start, other, &end]), ["klog-line", "part-of-a-line", "event cri/audit"]);
    assert_eq!(of(&[&start, "{}\n", &end]), ["not-an-audit-event", "truncated", "not-json"]);
    assert_eq!(
        of(&[&start, &other.repeat(300), &end])[255..257],
        ["klog-line", "truncated"],
        "it does not wait forever"
    );
    let torn = [b"2026-01-01T00:00:00Z stdout P {\xc3\n".as_slice(), end.as_bytes()].concat();
    assert_eq!(
        read(Some(Envelope::Docker), &torn),
        ["part-of-a-line", "other-format"],
        "in no envelope but the one named"
    );
}

/// Each comma may begin a field. The search for its key must not scan to the end of the line each time.
#[test]
fn a_trace_of_commas_is_read_in_one_pass() {
    let trace = format!("Trace[1]: \"List\" url:/{} (total time: 600ms):", ",".repeat(1 << 20));
    assert_eq!(read(None, trace.as_bytes()), ["trace"]);
}
