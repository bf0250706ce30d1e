//! Timestamps as kube-apiserver writes them: RFC 3339 in UTC with six digits after the second.

use chrono::{DateTime, SecondsFormat};

/// The text of a timestamp in microseconds since 1970.
pub fn format_micros(micros: i64) -> String {
    let at = DateTime::from_timestamp_micros(micros).expect("a year of four digits");
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// The microseconds since 1970 of a timestamp.
pub fn parse_micros(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|at| at.timestamp_micros())
}
