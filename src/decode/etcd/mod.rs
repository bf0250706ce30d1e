//! etcd's own log: its warnings about slow requests, in zap's JSON and in the older capnslog text.
//!
//! Source: etcd `server/etcdserver/txn/util.go:warnOfExpensiveGenericRequest` (3.6; `etcdserver/util.go` before).
//! This function writes both formats. The threshold is 100 ms unless `--warning-apply-duration` changes it.

mod capnslog;
mod line;
pub(crate) mod request;
mod zap;

pub(crate) use line::{EtcdLine, EtcdResult, SlowRequest, warns};
pub(crate) use request::{EtcdOperation, EtcdRequest};

/// Parses a line that begins like an etcd line; `None` for any other text.
#[must_use]
pub(crate) fn read(text: &str) -> Option<EtcdResult<'_>> {
    let text = text.trim_end_matches(['\n', '\r']);
    if text.starts_with('{') { zap::read(text) } else { zap::console(text).or_else(|| capnslog::read(text)) }
}

/// Parses a capnslog line that has a prefix.
#[must_use]
pub(crate) fn find(text: &str) -> Option<EtcdResult<'_>> {
    capnslog::find(text.trim_end_matches(['\n', '\r']))
}

#[cfg(test)]
mod tests {
    use super::request::{KeyRange, ResponseSize};
    use super::*;
    use crate::decode::klog::{Clock, ClockContext};
    use crate::decode::skip::SkipReason;
    use crate::k8s::timestamp::parse_micros;
    use proptest::prelude::*;

    const ZAP: &str = r#"{"level":"warn","ts":"2026-03-01T10:00:12.500+0100","caller":"txn/util.go:93","msg":"apply request took too long","took":"12.25s","expected-duration":"100ms","prefix":"read-only range ","request":"key:\"/registry/pods/\" range_end:\"/registry/pods0\" limit:500 revision:77 ","response":"range_response_count:500 size:9000"}"#;
    const CAPNSLOG: &str = r#"2026-03-01 09:00:12.500000 W | etcdserver: read-only range request "key:\"/registry/pods/\" range_end:\"/registry/pods0\" limit:500 revision:77 " with result "range_response_count:500 size:9000" took too long (12.25s) to execute"#;

    fn slow(text: &str) -> SlowRequest<'_> {
        read(text).expect(text).expect(text).slow.expect(text)
    }

    #[test]
    fn all_formats_yield_the_same_slow_request() {
        let console = r#"2026-03-01T09:00:12.500Z	WARN	txn/util.go:93	apply request took too long	{"took": "12.25s", "expected-duration": "100ms", "prefix": "read-only range ", "request": "key:\"/registry/pods/\" range_end:\"/registry/pods0\" limit:500 revision:77 ", "response": "range_response_count:500 size:9000"}"#;
        for text in [ZAP, CAPNSLOG, console] {
            let line = read(text).expect("etcd's").expect("whole");
            let end = line.clock.resolve(&ClockContext::default());
            assert_eq!(end, parse_micros("2026-03-01T09:00:12.5Z"), "{text}");
            let slow = line.slow.expect("slow");
            assert_eq!((slow.took_micros, slow.error.as_deref()), (12_250_000, None));
            assert_eq!(slow.response_size(), ResponseSize { items: Some(500), bytes: Some(9_000) });
            let request = slow.parsed_request();
            assert_eq!((request.operation, request.key), (EtcdOperation::Range, "/registry/pods/"));
            let range = KeyRange {
                end: "/registry/pods0",
                limit: 500,
                revision: 77,
                count_only: false,
                keys_only: false,
            };
            assert_eq!(request.range, Some(range));
        }
    }

    #[test]
    fn capnslog_header_is_optional() {
        for head in ["", "warning ", "W | etcdserver: "] {
            let text = format!(
                "{head}read-only range request \"key:\\\"/registry/ranges/serviceips\\\" \" took too long (137.375276ms) to execute"
            );
            assert_eq!(read(&text).expect(&text).expect(&text).clock, Clock::None);
            let slow = slow(&text);
            assert_eq!((slow.took_micros, slow.response.as_ref()), (137_375, ""));
            assert_eq!(slow.parsed_request().key, "/registry/ranges/serviceips");
        }
        assert_eq!(find(&format!("etcd.log:33:{CAPNSLOG}")), read(CAPNSLOG));
    }

    #[test]
    fn error_is_parsed_inside_and_beside_the_request() {
        let inside = r#"2026-03-01 09:00:12.5 W | etcdserver: read-only range request "key:\"/registry/a\" " with result "error:etcdserver: request timed out" took too long (17s) to execute"#;
        let beside = r#"{"level":"warn","ts":"2026-03-01T09:00:12.5Z","caller":"x","msg":"apply request took too long","took":"17s","request":"key:\"/registry/a\" ","response":"","error":"etcdserver: request timed out"}"#;
        for text in [inside, beside] {
            let slow = slow(text);
            assert_eq!(slow.error.as_deref(), Some("etcdserver: request timed out"), "{text}");
            assert_eq!(slow.response_size(), ResponseSize::default());
        }
    }

    #[test]
    fn other_lines_have_no_slow_request_and_damaged_ones_are_skipped() {
        for other in [
            r#"{"level":"info","ts":"2026-03-01T09:00:12.5Z","caller":"traceutil/trace.go:171","msg":"trace[1] range","took":7}"#,
            "2017-03-20 02:35:04.780158 W | etcdserver: apply entries took too long [12.318867ms for 1 entries]",
            "2017-03-20 02:35:04.780158 I | embed: listening for peers",
            "2026-03-01T09:00:12.500Z\tINFO\tembed/etcd.go:1\tstarting\t{}",
        ] {
            assert_eq!(read(other).expect(other).expect(other).slow, None, "{other}");
        }
        for (text, reason) in [
            (&CAPNSLOG[..120], SkipReason::Truncated),
            (&*CAPNSLOG.replace("12.25s", "a while"), SkipReason::WrongType),
            (&*ZAP.replace("\"12.25s\"", "12"), SkipReason::WrongType),
            (&*ZAP.replace("2026-03-01T", "today "), SkipReason::WrongType),
        ] {
            assert_eq!(read(text), Some(Err(reason)), "{text}");
        }
        for none in [
            "",
            "hello",
            "{}",
            r#"{"ts":1692780954330.84,"caller":"a","msg":"HTTP"}"#,
            r#"{"level":"Metadata","auditID":"a","stage":"Panic"}"#,
            "the client's request \"x\" took too long (1s) to execute",
            &ZAP[..90],
        ] {
            assert_eq!(read(none), None, "{none}");
        }
        assert_eq!(find("hello | world"), None);
    }

    proptest! {
        #[test]
        fn damaged_lines_do_not_panic(
            which in prop::sample::select(vec![ZAP, CAPNSLOG]),
            cut in 0_usize..500,
            flips in prop::collection::vec((0_usize..500, any::<u8>()), 0..5),
        ) {
            let mut bytes = which.as_bytes().to_vec();
            for (at, byte) in flips {
                if let Some(own) = bytes.get_mut(at) {
                    *own = byte;
                }
            }
            bytes.truncate(cut);
            let text = String::from_utf8_lossy(&bytes);
            for line in [read(&text), find(&text)].into_iter().flatten().flatten() {
                if let Some(slow) = line.slow {
                    let _ = (slow.parsed_request(), slow.response_size());
                }
            }
        }
    }
}
