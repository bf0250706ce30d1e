//! The apiserver's own log: access lines and traces of slow requests, parsed line by line.

pub(crate) mod access;
pub(crate) mod header;
mod json;
mod line;
mod older;
pub(crate) mod pairs;
pub mod trace;

pub(crate) use access::{AccessLine, Apf};
pub use header::{ClockContext, KlogHeader, KlogTime};
pub use line::{Clock, KlogKind, KlogLine};
pub(crate) use trace::TraceFragment;

use pairs::KlogPairs;

/// Lines that klog writes at the start of a file, or that the apiserver writes before it sets up klog.
const PREAMBLES: [&str; 5] = [
    "Log file created at: ",
    "Running on machine: ",
    "Binary: Built with ",
    "Log line format: [IWEF]",
    "Flag --",
];

/// Parses one line, or one message of several lines. `None` if it does not belong to the apiserver's own log.
#[must_use]
pub fn read(text: &str) -> Option<KlogLine<'_>> {
    // docker and Azure keep the line feed.
    let text = text.trim_end_matches(['\n', '\r']);
    if let Some(header) = KlogHeader::parse(text) {
        return Some(KlogLine {
            clock: Clock::Klog(header.time),
            kind: message(header.rest)
                .or_else(|| KlogKind::from_start(header.rest))
                .unwrap_or(KlogKind::Other),
        });
    }
    if text.starts_with('{') {
        return json::read(text);
    }
    let kind = if is_continuation(text) {
        KlogKind::Continuation
    } else if PREAMBLES.iter().any(|preamble| text.starts_with(preamble)) {
        KlogKind::Other
    } else {
        // Only the first line of a trace has a header, and with `--skip-headers` no line has one. So the text may be a
        // message without a header.
        message(text)?
    };
    Some(KlogLine { clock: Clock::None, kind })
}

/// Whether a text begins with klog's header.
#[must_use]
pub fn is_klog(text: &str) -> bool {
    KlogHeader::parse(text).is_some()
}

/// Finds the audit ID of an access line, even inside nested strings. The ID follows `audit-ID=\"` or `"audit-ID":"`,
/// with any number of backslashes.
#[must_use]
pub fn audit_id(line: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"audit-ID";
    let rest = &line[memchr::memmem::find(line, KEY)? + KEY.len()..];
    let start = rest.iter().position(|byte| !b"\\\":= ".contains(byte))?;
    let rest = &rest[start..];
    let length = memchr::memchr2(b'"', b'\\', rest).filter(|_| start > 1)?;
    Some(&rest[..length])
}

/// Parses the text after a header. The header's file and line number change with each release, so they do not
/// identify a message.
fn message(text: &str) -> Option<KlogKind<'_>> {
    match text.as_bytes().first()? {
        b'"' => AccessLine::from_pairs(KlogPairs::new(text.strip_prefix("\"HTTP\" ")?)).map(KlogKind::Access),
        b'v' if text.starts_with("verb=\"") => {
            AccessLine::from_pairs(KlogPairs::new(text)).map(KlogKind::Access)
        }
        b'T' => TraceFragment::read_lines(text).map(KlogKind::Trace),
        b'A'..=b'Z' => older::read(text).map(KlogKind::Access),
        _ => None,
    }
}

/// Whether a line continues the line before it.
///
/// Source: k8s.io/klog/v2 `internal/serialize/keyvalues.go:writeStringValue`, k8s.io/utils `trace/trace.go`.
fn is_continuation(text: &str) -> bool {
    text.starts_with('\t') || text.starts_with(" >") || is_stack(text) || trace::is_step_without_number(text)
}

/// Whether a line belongs to a goroutine's stack. Releases before structured logging write stacks without
/// indentation.
///
/// Source: Go `runtime/traceback.go`.
fn is_stack(text: &str) -> bool {
    if text.starts_with("goroutine ") || text.starts_with("created by ") {
        return true;
    }
    if !text.ends_with(')') {
        return false;
    }
    let Some((function, _)) = text.split_once('(') else { return false };
    function.contains('.')
        && function.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    const HEADER: &str = "I1120 20:31:42.554433    4065 a.go:1] ";
    const ACCESS: &str = r#"??? I1120 20:41:32.123456    5559 httplog.go:137] "HTTP" verb="LIST" URI="/api/v1/pods?limit=5\u00a0" latency="17.654321ms" userAgent="a/v1 \"x\"" audit-ID="5e5f" srcIP="127.0.0.1:4" apf_pl="exempt" apf_fs="exempt" apf_iseats=1 resp=500 statusStack="\n""#;
    const VALID: [&str; 7] = [
        ACCESS,
        "I0624 20:11:48.744558       1 wrap.go:47] PUT /api/v1/x?timeout=10s:(8.12345ms) 200 [k/v1 (l/a) k/a 172.31.9.8:45670]",
        r#"I1120 20:41:32.123456    5559 trace.go:1] Trace[9]: "List" url:/api/v1/pods,user-agent:a b, c,client:::1 (05-Jun-2023 11:12:13.456) (total time: 4101ms):"#,
        r#"Trace[9]: ---"Writing http response done" count:81234 3987ms (11:12:17.557)"#,
        "Trace[9]: [601.234567ms] [601.12345ms] Writing http response done (10 items)",
        r#"{"ts":1692780954330.84,"msg":"HTTP","verb":"GET","URI":"/x","latency":"1.9ms","apf_iseats":1,"resp":200}"#,
        "[1.23µs] [1.23µs] About to list directory",
    ];

    fn kind(text: &str) -> Option<&'static str> {
        Some(match read(text)?.kind {
            KlogKind::Access(_) => "access",
            KlogKind::Trace(_) => "trace",
            KlogKind::Continuation => "continuation",
            KlogKind::Start(Some(_)) => "version",
            KlogKind::Start(None) => "start",
            KlogKind::Other => "other",
        })
    }

    #[test]
    fn read_recognizes_each_kind_of_line() {
        for (text, want) in [
            (ACCESS, "access"),
            (VALID[1], "access"),
            (r#""HTTP" verb="GET" URI="/x""#, "access"),
            (VALID[2], "trace"),
            (VALID[3], "trace"),
            (VALID[5], "access"),
            (VALID[6], "continuation"),
            ("\tgoroutine 7 [running]:", "continuation"),
            ("goroutine 7 [running]:", "continuation"),
            ("k8s.io/a/b.(*c).d(0xc00a1b2c40, 0x1f4)", "continuation"),
            ("net/http.HandlerFunc.ServeHTTP(0xc00b7ea000?, {0x3b1cc28?, 0x1?}, 0x0?)", "continuation"),
            (" > addedInfo=\"x\"", "continuation"),
            ("Log file created at: 2019/06/24 20:14:59", "other"),
        ] {
            assert_eq!(kind(text), Some(want), "{text}");
        }
        for (text, want) in [
            (r#"verb="GET" URI="/x" latency=1.2ms resp=200 UserAgent="a" srcIP="10.0.0.1:2": "#, "access"),
            (r#""HTTP" verb="GET""#, "other"),
            (r#""Starting watch" path="/api/v1/pods""#, "other"),
            ("Version: v1.19.4", "version"),
            ("Version: v1.30.4-gke.1\r\n", "version"),
            ("Version: unknown", "other"),
            ("external host was not specified, using 172.18.0.2", "start"),
            ("Loaded 12 mutating admission controller(s) successfully in the following order: X.", "start"),
            ("Trace of thought", "other"),
            ("", "other"),
        ] {
            assert_eq!(kind(&format!("{HEADER}{text}")), Some(want), "{text}");
        }
        for none in ["", "hello", "2020-02-13 14:48:04.734349 W | etcdserver: x", "{", "[]", "\u{0}"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn message_may_contain_line_feeds() {
        let Some(KlogLine { kind: KlogKind::Access(line), .. }) =
            read("\"HTTP\" verb=\"GET\" URI=\"/\" resp=200\r\n")
        else {
            panic!("no access line");
        };
        assert_eq!(line.status, Some(200));
        let trace = format!("{}\n{}\n", VALID[2], VALID[3]);
        assert!(matches!(
            read(&trace).map(|line| line.kind),
            Some(KlogKind::Trace(fragment)) if fragment.items == Some(81_234)
        ));
    }

    #[test]
    fn line_without_header_has_the_envelope_timestamp() {
        let context = ClockContext { wrapper: Some(7), year: Some(2024), file_time: None };
        assert_eq!(read(VALID[3]).expect("a line").clock.resolve(&context), Some(7));
        assert_eq!(read(VALID[5]).expect("a line").clock.resolve(&context), Some(1_692_780_954_330_840));
    }

    /// Go's `strconv.Quote`.
    fn quote(text: &str) -> String {
        let mut quoted = String::from("\"");
        for character in text.chars() {
            match character {
                '"' | '\\' => quoted.extend(['\\', character]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\u{0}'..='\u{1f}' | '\u{7f}' => {
                    write!(quoted, "\\x{:02x}", u32::from(character)).expect("writing to a string succeeds");
                }
                '\u{80}'..='\u{a0}' => {
                    write!(quoted, "\\u{:04x}", u32::from(character)).expect("writing to a string succeeds");
                }
                character if u32::from(character) > 0xe_0000 => {
                    write!(quoted, "\\U{:08x}", u32::from(character)).expect("writing to a string succeeds");
                }
                character => quoted.push(character),
            }
        }
        quoted + "\""
    }

    proptest! {
        #[test]
        fn rendered_access_line_parses_back(
            text in prop::array::uniform5(prop::collection::vec(any::<char>(), 1..20)),
            millis in 0_u64..1_000_000,
            resp in prop::option::of(0_u16..600),
            seats: u32,
            order in Just(vec![0_usize, 1, 2, 3, 4, 5, 6, 7, 8]).prop_shuffle(),
        ) {
            let [verb, uri, agent, id, level] = text.map(String::from_iter);
            let pairs = [
                format!("verb={}", quote(&verb)),
                format!("URI={}", quote(&uri)),
                format!("latency=\"{millis}ms\""),
                format!("userAgent={}", quote(&agent)),
                format!("audit-ID={}", quote(&id)),
                format!("apf_pl={}", quote(&level)),
                format!("apf_iseats={seats}"),
                resp.map_or("hijacked=true".to_owned(), |resp| format!("resp={resp}")),
                format!("other={}", quote(&agent)),
            ];
            let pairs: Vec<&str> = order.iter().map(|at| &*pairs[*at]).collect();
            let line = format!("{HEADER}\"HTTP\" {}", pairs.join(" "));
            let Some(KlogLine { kind: KlogKind::Access(access), .. }) = read(&line) else {
                return Err(TestCaseError::fail(line));
            };
            prop_assert_eq!(
                [&*access.verb, &*access.uri, &*access.user_agent, &*access.audit_id],
                [&*verb, &*uri, &*agent, &*id]
            );
            prop_assert_eq!(access.latency_micros, Some(millis * 1_000));
            prop_assert_eq!(access.status, resp.filter(|resp| *resp >= 100));
            prop_assert_eq!((access.has_status_zero, access.is_hijacked), (resp == Some(0), resp.is_none()));
            let apf = access.apf.unwrap_or_default();
            prop_assert_eq!((&*apf.priority_level, apf.initial_seats), (&*level, Some(seats)));
        }

        #[test]
        fn damaged_lines_do_not_panic(
            which in 0..VALID.len(),
            cut in 0_usize..400,
            flips in prop::collection::vec((0_usize..400, any::<u8>()), 0..4),
        ) {
            let mut bytes = VALID[which].as_bytes().to_vec();
            for (at, byte) in flips {
                if let Some(own) = bytes.get_mut(at) {
                    *own = byte;
                }
            }
            bytes.truncate(cut);
            let _ = read(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn any_text_does_not_panic(text in "\\PC{0,80}", header: bool) {
            let _ = read(&if header { format!("{HEADER}{text}") } else { text });
        }
    }
}
