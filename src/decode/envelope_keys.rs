//! The JSON keys that identify envelopes, with their raw values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::k8s::event::Text;
use crate::k8s::timestamp;

macro_rules! envelope_keys {
    ($($field:ident = $key:literal),* $(,)?) => {
        /// The raw values of the keys that identify envelopes, from one JSON object. The last value of a repeated key
        /// counts.
        #[derive(Debug, Default)]
        pub(crate) struct EnvelopeKeys<'a> {
            $(pub $field: Option<&'a RawValue>,)*
        }

        impl<'de: 'a, 'a> Deserialize<'de> for EnvelopeKeys<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct EnvelopeKeysVisitor;
                impl<'de> Visitor<'de> for EnvelopeKeysVisitor {
                    type Value = EnvelopeKeys<'de>;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<EnvelopeKeys<'de>, M::Error> {
                        let mut keys = EnvelopeKeys::default();
                        while let Some(key) = map.next_key::<Text<'de>>()? {
                            match &*key {
                                $($key => keys.$field = Some(map.next_value()?),)*
                                _ => {
                                    map.next_value::<IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(keys)
                    }
                }
                deserializer.deserialize_map(EnvelopeKeysVisitor)
            }
        }
    };
}

envelope_keys! {
    audit_id = "auditID",
    stage = "stage",
    items = "items",
    kind = "kind",
    log_events = "logEvents",
    message_type = "messageType",
    events = "events",
    results = "results",
    records = "records",
    properties = "properties",
    category = "category",
    table_audit_id = "AuditId",
    table_uri = "RequestUri",
    proto_payload = "protoPayload",
    text_payload = "textPayload",
    resource_logs = "resourceLogs",
    log = "log",
    stream = "stream",
    time = "time",
    message = "message",
    journal_message = "MESSAGE",
    journal_time = "__REALTIME_TIMESTAMP",
    source = "_source",
    input = "input",
    at_timestamp = "@timestamp",
    timestamp = "timestamp",
    kubernetes = "kubernetes",
    klog_message = "msg",
}

/// The text of a JSON string; `None` if the value is not a string, or if the string has escapes.
#[must_use]
pub(crate) fn plain(raw: &RawValue) -> Option<&str> {
    raw.get()
        .strip_prefix('"')?
        .strip_suffix('"')
        .filter(|text| memchr::memchr(b'\\', text.as_bytes()).is_none())
}

/// Returns an envelope's timestamp as text: the content of a string, or a number as written.
#[must_use]
pub(crate) fn timestamp(raw: Option<&RawValue>) -> Option<&str> {
    let raw = raw?;
    plain(raw).or_else(|| Some(raw.get()).filter(|text| text.starts_with(|c: char| c.is_ascii_digit())))
}

/// Parses an envelope's timestamp into microseconds since 1970. It accepts RFC 3339 with any notation of the zone,
/// and a number of seconds, milliseconds, microseconds or nanoseconds.
#[must_use]
pub(crate) fn timestamp_micros(text: &str) -> Option<i64> {
    let Ok(number) = text.parse::<i64>() else {
        return timestamp::parse_any_zone(text).or_else(|| seconds(text));
    };
    // The number of digits decides the unit. The result is right for times from 1973 to the year 5138.
    Some(match text.len() {
        ..=11 => number.checked_mul(1_000_000)?,
        12..=14 => number.checked_mul(1_000)?,
        15..=17 => number,
        _ => number / 1_000,
    })
}

/// Parses a number of seconds since 1970, with a fraction, into microseconds. zap writes this format by default.
fn seconds(text: &str) -> Option<i64> {
    let (integer, fraction) = text.split_once('.')?;
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (integer.len() <= 11 && are_digits(integer) && are_digits(fraction)).then_some(())?;
    let micros: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some(integer.parse::<i64>().ok()? * 1_000_000 + micros)
}

#[must_use]
pub(crate) fn is_string(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// Whether a value is a string or an object. Only these can contain an event or another envelope.
#[must_use]
pub(crate) fn may_hold(raw: &RawValue) -> bool {
    raw.get().starts_with(['"', '{'])
}

/// Whether a text contains the key of an audit ID or of a Cloud Audit Logs entry. Most damaged text contains neither
/// key, so it is not parsed.
#[must_use]
pub(crate) fn may_hold_event(text: &str) -> bool {
    [&b"udit"[..], b"protoPayload"].iter().any(|word| memchr::memmem::find(text.as_bytes(), word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_micros_accepts_all_units() {
        for text in ["1772445621.5", "1772445621500", "1772445621500000", "2026-03-02T11:00:21.5+0100"] {
            assert_eq!(timestamp_micros(text), Some(1_772_445_621_500_000), "{text}");
        }
        for none in ["", ".5", "1.", "1.x", "-1.5", "123456789012.5", "now"] {
            assert_eq!(timestamp_micros(none), None, "{none}");
        }
    }

    #[test]
    fn last_value_of_a_repeated_key_counts() {
        let text = r#"{"x":[1,{"log":2}],"log":"a","log":"b","time":17}"#;
        let keys: EnvelopeKeys<'_> = serde_json::from_str(text).expect("an object");
        assert_eq!(keys.log.and_then(plain), Some("b"));
        assert_eq!(timestamp(keys.time), Some("17"));
        assert!(keys.message.is_none());
    }
}
