//! Requests per minute in the JSON report, and the busiest minute.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::k8s::timestamp;
use crate::ledger::RequestRates;

/// A client's requests for one resource over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The resource, as in `shapes[]`; `(other)` if it is null there.
    pub resource: String,
    /// The width of a point in minutes: 1, or a power of two if requests began in more than 1,536 different minutes.
    pub window_minutes: u64,
    /// Requests without a timestamp. Together with all points, they are all requests of the client for the resource.
    pub without_time: u64,
    /// One point for each window in which a request began, ascending: `[minute, requests, etcdReads]`. `minute` is
    /// the start of the window in RFC 3339, such as `2026-11-20T20:36:00Z`. Each window starts at a multiple of its
    /// width, counted from 1970. `requests` counts all verbs. A long-running request counts only in the window in
    /// which it began. `etcdReads` counts the LISTs and GETs that `etcdLists` and `etcdGets` count: those read from
    /// etcd, with any result. This includes requests with the verdict `depends` that were likely read from etcd.
    #[schemars(with = "Vec<(String, u64, u64)>")]
    pub points: Points,
}

impl Timeline {
    /// The point that includes this minute since 1970.
    pub(crate) fn point_at(&self, minute: u32) -> Option<&Point> {
        let points = &self.points.0;
        let before = points.partition_point(|point| point.minute <= minute);
        let point = points.get(before.checked_sub(1)?)?;
        (u64::from(minute - point.minute) < self.window_minutes).then_some(point)
    }

    /// Adds the windows of this timeline to `rates`. `count` returns the number to add for a point: its requests, or
    /// its etcd reads.
    pub(crate) fn add_to(&self, rates: &mut RequestRates, count: fn(&Point) -> u32) {
        for point in self.points.0.iter().filter(|point| count(point) > 0) {
            rates.add(u64::from(point.minute), self.window_minutes, u64::from(count(point)));
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points(pub Vec<Point>);

/// One window. A report has many, so this type is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The start of the window, in minutes since 1970.
    pub minute: u32,
    pub requests: u32,
    /// LISTs and GETs read from etcd.
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

/// The minute in which the largest number of requests began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Peak {
    /// The start of the minute, as in the points of `timelines[]`. Of several such minutes, the first.
    pub(crate) at: String,
    /// The width of the widest window that contains the minute, in minutes. If it is more than 1, the requests of the
    /// minute are an estimate: the mean over this window.
    pub(crate) window_minutes: u64,
    /// All requests that began in the minute. If `windowMinutes` is more than 1, the sum of the clients' rounded
    /// means.
    pub requests: u64,
    /// The clients that sent these requests, ordered by their number of requests; at most ten.
    pub clients: Vec<PeakClient>,
}

/// A client's part of a peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeakClient {
    /// As in `clients[]`.
    pub(crate) identity: String,
    /// As in `clients[]`.
    pub(crate) kind: String,
    /// As in `clients[]`.
    pub(crate) impersonated_by: Option<String>,
    pub requests: u64,
}

/// A minute since 1970 in RFC 3339.
#[must_use]
pub fn minute(minute: u32) -> String {
    timestamp::format_minute(i64::from(minute) * 60_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_serialize_as_minute_and_counts() {
        let point = |minute, requests| Point { minute, requests, etcd_reads: 1 };
        let points = Points(vec![point(29_920_116, 3), point(29_920_118, 1)]);
        let line = r#"[["2026-11-20T20:36:00Z",3,1],["2026-11-20T20:38:00Z",1,1]]"#;
        assert_eq!(serde_json::to_string(&points).expect("JSON"), line);
    }
}
