//! Requests a minute, and the minute with the most of them.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::k8s::timestamp;
use crate::ledger::Load;

/// A client's requests of one resource over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// As in `shapes[]`; `(other)` for what is null there.
    pub resource: String,
    /// The width of a point: 1, or a power of two where the requests began in more than 1,536 different minutes.
    pub window_minutes: u64,
    /// Requests of which the log tells no time. These and all points are the client's requests of the resource.
    pub without_time: u64,
    /// A point for each window in which a request began, ascending: `[minute, requests, etcdReads]`. `minute` is
    /// the window's begin in RFC 3339, such as `2026-11-20T20:36:00Z`, at a multiple of its width since 1970.
    /// `requests` are of all verbs, a long-running one where it began; `etcdReads` are the LISTs and GETs among
    /// them that etcd answered, whatever it said, and likely ones of `depends` too: those of `etcdLists` and
    /// `etcdGets`.
    #[schemars(with = "Vec<(String, u64, u64)>")]
    pub points: Points,
}

impl Timeline {
    /// The point of a minute since 1970.
    pub(crate) fn at(&self, minute: u32) -> Option<&Point> {
        let points = &self.points.0;
        let before = points.partition_point(|point| point.minute <= minute);
        let point = points.get(before.checked_sub(1)?)?;
        (u64::from(minute - point.minute) < self.window_minutes).then_some(point)
    }

    /// Adds what `of` tells of each point.
    pub(crate) fn add_to(&self, load: &mut Load, of: fn(&Point) -> u32) {
        for point in self.points.0.iter().filter(|point| of(point) > 0) {
            load.add(u64::from(point.minute), self.window_minutes, u64::from(of(point)));
        }
    }
}

/// Points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points(pub Vec<Point>);

/// One window. As small as it can be: a report holds many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When it began, in minutes since 1970.
    pub minute: u32,
    /// Requests.
    pub requests: u32,
    /// LISTs and GETs that etcd answered.
    pub etcd_reads: u32,
}

impl Serialize for Points {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let point = |point: &Point| (Minute(point.minute), point.requests, point.etcd_reads);
        serializer.collect_seq(self.0.iter().map(point))
    }
}

/// A minute since 1970.
struct Minute(u32);

impl Serialize for Minute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        timestamp::with_minute(i64::from(self.0) * 60_000_000, |text| serializer.serialize_str(text))
    }
}

/// The minute in which most requests began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Peak {
    /// When it began, as in the points of `timelines[]`; the first of several.
    pub at: String,
    /// 1 if the timelines of all these requests have exact minutes. Else that of the widest: of a window wider than
    /// a minute, this minute has the mean.
    pub window_minutes: u64,
    /// All requests that began in it. With means, the sum of the clients' own, each rounded.
    pub requests: u64,
    /// Who made them, most requests first: ten at most.
    pub clients: Vec<PeakClient>,
}

/// A client's part of a peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeakClient {
    /// As in `clients[]`.
    pub identity: String,
    /// As in `clients[]`.
    pub kind: String,
    /// As in `clients[]`.
    pub impersonated_by: Option<String>,
    /// Its requests.
    pub requests: u64,
}

/// A minute since 1970 in RFC 3339.
pub(crate) fn minute(minute: u32) -> String {
    timestamp::format_minute(i64::from(minute) * 60_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_minutes_and_numbers() {
        let point = |minute, requests| Point { minute, requests, etcd_reads: 1 };
        let points = Points(vec![point(29_920_116, 3), point(29_920_118, 1)]);
        let line = r#"[["2026-11-20T20:36:00Z",3,1],["2026-11-20T20:38:00Z",1,1]]"#;
        assert_eq!(serde_json::to_string(&points).expect("JSON"), line);
    }
}
