//! The apiserver's log with `--logging-format=json`: one object per line.
//!
//! Source: k8s.io/component-base `logs/json/json.go`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::access::{AccessLine, LoggedValue};
use super::line::{Clock, KlogKind, KlogLine};
use super::trace::TraceFragment;
use crate::k8s::timestamp;

/// Timestamps below this limit are in seconds (up to the year 5138). Timestamps from this limit on are in
/// milliseconds (since March 1973). From 1,000 times this limit on, they are in microseconds. From 1,000,000 times
/// this limit on, they are in nanoseconds.
const MOST_SECONDS: f64 = 1e11;

/// Parses a line; `None` if it is not in this format. etcd's lines look similar, but have a `level`.
pub(super) fn read(text: &str) -> Option<KlogLine<'_>> {
    let object: JsonLine<'_> = serde_json::from_str(text).ok()?;
    let (clock, message) = (object.clock?, object.message?);
    let kind = if message == "HTTP" && object.access.is_complete() {
        KlogKind::Access(object.access.with_release_marks())
    } else {
        let start = KlogKind::from_start(&message);
        match message {
            Cow::Borrowed(message) => TraceFragment::read_lines(message).map(KlogKind::Trace),
            Cow::Owned(message) => {
                TraceFragment::read_lines(&message).map(|fragment| KlogKind::Trace(fragment.into_owned()))
            }
        }
        .or(start)
        .unwrap_or(KlogKind::Other)
    };
    Some(KlogLine { clock, kind })
}

#[derive(Default)]
struct JsonLine<'a> {
    clock: Option<Clock>,
    message: Option<Cow<'a, str>>,
    access: AccessLine<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonLine<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonLineVisitor;
        impl<'de> Visitor<'de> for JsonLineVisitor {
            type Value = JsonLine<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of the log")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonLine<'de>, A::Error> {
                let mut object = JsonLine::default();
                while let Some(JsonKey(key)) = map.next_key()? {
                    match &*key {
                        // Before `msg`, these keys identify a line of etcd or an audit event. After `msg`, they
                        // belong to the message.
                        "level" | "kind" if object.message.is_none() => {
                            return Err(A::Error::custom("another log's line"));
                        }
                        "ts" => object.clock = map.next_value::<AnyValue<'_>>()?.clock(),
                        "msg" => {
                            if let AnyValue::Text(text) = map.next_value()? {
                                object.message = Some(text);
                            }
                        }
                        key => match map.next_value()? {
                            AnyValue::Text(text) => object.access.set(key, LoggedValue::Json(text)),
                            AnyValue::Integer(number) => object.access.set(key, LoggedValue::Number(number)),
                            AnyValue::True => object.access.set(key, LoggedValue::True),
                            AnyValue::Real(_) | AnyValue::Nothing => {}
                        },
                    }
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(JsonLineVisitor)
    }
}

/// A key, borrowed if it has no escapes.
struct JsonKey<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonKey<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match AnyValue::deserialize(deserializer)? {
            AnyValue::Text(text) => Ok(Self(text)),
            _ => Err(D::Error::custom("a key is a string")),
        }
    }
}

/// A value of any JSON type. Messages other than access lines may use the same keys for values of other types.
enum AnyValue<'a> {
    Text(Cow<'a, str>),
    Integer(u64),
    Real(f64),
    True,
    Nothing,
}

impl AnyValue<'_> {
    #[allow(clippy::cast_precision_loss, reason = "timestamps in milliseconds are far below 2^52")]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a number that is too large becomes i64::MAX, which is not a valid timestamp"
    )]
    fn clock(&self) -> Option<Clock> {
        let number = match self {
            Self::Text(text) => return Some(Clock::Absolute(timestamp::parse_micros(text)?)),
            Self::Integer(number) => *number as f64,
            Self::Real(number) => *number,
            Self::True | Self::Nothing => return None,
        };
        let scale = match number.abs() / MOST_SECONDS {
            ..1.0 => 1e6,
            ..1e3 => 1e3,
            ..1e6 => 1.0,
            _ => 1e-3,
        };
        let micros = (number * scale).round() as i64;
        timestamp::YEARS_0_TO_9999.contains(&micros).then_some(Clock::Absolute(micros))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for AnyValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValueVisitor;
        impl<'de> Visitor<'de> for AnyValueVisitor {
            type Value = AnyValue<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<AnyValue<'de>, E> {
                Ok(AnyValue::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<AnyValue<'de>, E> {
                Ok(AnyValue::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_u64<E>(self, number: u64) -> Result<AnyValue<'de>, E> {
                Ok(AnyValue::Integer(number))
            }
            fn visit_i64<E>(self, _: i64) -> Result<AnyValue<'de>, E> {
                Ok(AnyValue::Nothing)
            }
            fn visit_f64<E>(self, number: f64) -> Result<AnyValue<'de>, E> {
                Ok(AnyValue::Real(number))
            }
            fn visit_bool<E>(self, value: bool) -> Result<AnyValue<'de>, E> {
                Ok(if value { AnyValue::True } else { AnyValue::Nothing })
            }
            fn visit_unit<E>(self) -> Result<AnyValue<'de>, E> {
                Ok(AnyValue::Nothing)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<AnyValue<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(AnyValue::Nothing)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnyValue<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(AnyValue::Nothing)
            }
        }
        deserializer.deserialize_any(AnyValueVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_line_is_parsed() {
        let text = r#"{"ts":1692780954330.84,"caller":"httplog/httplog.go:132","msg":"HTTP","v":3,"verb":"GET","URI":"/api/v1/pods?a=1\u0026b=2","latency":"1.876543ms","userAgent":"kubelet/v1.28.0","audit-ID":"4d4e","srcIP":"192.168.0.2:5","apf_pl":"system","apf_fs":"system-nodes","apf_iseats":1,"apf_execution_time":"1.2ms","resp":200}"#;
        let line = read(text).expect("a line");
        assert_eq!(line.clock, Clock::Absolute(1_692_780_954_330_840));
        let KlogKind::Access(access) = line.kind else { panic!("no access line") };
        assert_eq!((&*access.uri, access.status), ("/api/v1/pods?a=1&b=2", Some(200)));
        assert_eq!(access.latency_micros, Some(1_876));
        assert_eq!(access.apf.expect("apf").initial_seats, Some(1));
        let text = r#"{"ts":"2023-08-23T08:55:54.5Z","msg":"HTTP","verb":"POST","URI":"/x","hijacked":true}"#;
        let line = read(text).expect("a line");
        assert_eq!(line.clock, Clock::Absolute(1_692_780_954_500_000));
        assert!(matches!(line.kind, KlogKind::Access(access) if access.is_hijacked));
    }

    #[test]
    fn timestamp_may_be_in_any_unit() {
        for number in ["1692780954.5", "1692780954500", "1692780954500000", "1692780954500000000"] {
            let text = format!(r#"{{"ts":{number},"msg":"HTTP","verb":"GET","URI":"/x"}}"#);
            assert_eq!(
                read(&text).map(|line| line.clock),
                Some(Clock::Absolute(1_692_780_954_500_000)),
                "{text}"
            );
        }
    }

    #[test]
    fn other_lines_are_recognized_or_rejected() {
        let other = r#"{"ts":1692780954,"msg":"Starting watch","v":3,"kind":"Pod","verb":{"a":[1]},"URI":-7,"resp":null}"#;
        assert_eq!(
            read(other),
            Some(KlogLine { clock: Clock::Absolute(1_692_780_954_000_000), kind: KlogKind::Other })
        );
        let start = r#"{"ts":1692780954330.84,"caller":"app/server.go:148","msg":"Version: v1.30.4","v":0}"#;
        let kind = read(start).expect("a line").kind;
        assert_eq!(kind, KlogKind::Start(Some(crate::k8s::KubeVersion::new(30, 4))));
        let trace = r#"{"ts":1692780954330.8,"msg":"Trace[7]: \"List\" url:/api/v1/pods,client:::1 (x) (total time: 700ms):\nTrace[7]: ---\"Writing http response done\" count:9 1ms (y)\n","v":0}"#;
        assert!(matches!(
            read(trace).expect("a line").kind,
            KlogKind::Trace(fragment) if fragment.items == Some(9) && fragment.total_micros == Some(700_000)
        ));
        for none in [
            "{}",
            "[]",
            r#"{"ts":1,"msg":"x""#,
            r#"{"ts":true,"msg":"x"}"#,
            r#"{"ts":1e300,"msg":"HTTP","verb":"GET","URI":"/x"}"#,
            r#"{"ts":-1e300,"msg":"HTTP","verb":"GET","URI":"/x"}"#,
            r#"{"ts":1e21,"msg":"HTTP","verb":"GET","URI":"/x"}"#,
            r#"{"level":"warn","ts":"2022-09-21T09:20:50.269Z","msg":"apply request took too long"}"#,
            r#"{"kind":"Event","auditID":"a"}"#,
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
