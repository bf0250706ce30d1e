//! etcd's own log in the JSON report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Copy, Damaged, Latency, NotRead, SkippedAt};

/// etcd's own log (`--etcd-log`). Each line is a slow request, another line of etcd, a foreign line, or skipped.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdLog {
    /// The number of files.
    pub files: u64,
    /// The size after decompression.
    pub bytes: u64,
    pub lines: u64,
    /// Lines that report a slow request.
    pub slow_requests: u64,
    /// Duplicates among the slow requests. They are not counted again below.
    pub duplicates: u64,
    /// Slow requests without a timestamp. They match no client.
    pub undated: u64,
    /// Slow requests whose timestamp has no time zone (capnslog, syslog). kubetoll assumes UTC.
    pub without_zone: u64,
    /// Other lines of etcd.
    pub other_lines: u64,
    /// Records of other programs, by kind.
    pub foreign: BTreeMap<String, u64>,
    /// Skipped records, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first skipped records for each reason.
    pub skipped_at: Vec<SkippedAt>,
    /// Files that end in damaged data.
    pub damaged: Vec<Damaged>,
    /// The time of the first line of etcd.
    pub first_timestamp: Option<String>,
    /// The time of the last line of etcd.
    pub last_timestamp: Option<String>,
    /// Files in the given directories that kubetoll could not read.
    pub not_read: NotRead,
    /// Files that were not read, because another file has the same bytes.
    pub copies: Vec<Copy>,
    /// The counts for each file.
    pub sources: Vec<EtcdSource>,
    /// The slow requests by resource and kind. Reads of collections are first, then ordered by bytes.
    pub requests: Vec<EtcdRequests>,
    /// Slow requests of resources beyond the limit. `requests` omits them.
    pub requests_left_out: u64,
    /// Slow reads of collections that were matched with the clients' LISTs, one by one.
    pub lists_compared: u64,
    /// Slow reads of collections that were not matched. They have no timestamp, or 4,096 other reads were costlier.
    pub lists_not_compared: u64,
    /// The longest time between a read and a LIST that do not overlap but still match, because clocks differ.
    pub slack_micros: u64,
    /// Notes on the log.
    pub notes: Vec<String>,
}

/// The counts for one file of etcd's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdSource {
    pub file: String,
    pub lines: u64,
    pub slow_requests: u64,
    pub other_lines: u64,
    pub foreign: BTreeMap<String, u64>,
    pub skipped: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRequests {
    /// The resource with its group, such as `deployments.apps`, from the key. For keys that hold no API resource, a
    /// word of the key (`ranges`, `masterleases`, `health`). Null for a key without such a word.
    pub resource: Option<String>,
    /// `list` (a range of keys), `get` (one key), `count`, `keys` and `revision-check` (the apiserver's own),
    /// `read-transaction`, `write` or `other`.
    pub kind: String,
    /// The apiserver sends these requests for its own use, not for a client.
    pub servers_own: bool,
    /// Requests.
    pub requests: u64,
    /// The durations of the requests.
    pub took: Option<Latency>,
    /// The number of keys in the responses.
    pub items: EtcdAmount,
    /// The size of the responses.
    pub bytes: EtcdAmount,
    /// Requests with a limit. This includes the apiserver's own pages of 10,000 keys, which fill its watch cache.
    pub limited: u64,
    /// Requests at a revision: later pages, and LISTs at an exact revision.
    pub at_revision: u64,
    /// Failed requests, by the text of the error without numbers.
    pub errors: BTreeMap<String, u64>,
    /// The end time of the first request.
    pub first_timestamp: Option<String>,
    /// The end time of the last request.
    pub last_timestamp: Option<String>,
    /// The request with the largest response. Among equal responses, the longest.
    pub worst: Option<EtcdRequest>,
    /// The clients whose LISTs of the resource from etcd ran at the same time. Clients of the worst request are
    /// first, then ordered by the bytes of the reads that their LISTs cover.
    pub clients: Vec<EtcdClient>,
    /// Slow reads that match no known LIST.
    pub without_client: u64,
}

/// A number of keys or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EtcdAmount {
    pub sum: u64,
    /// The largest value of one request.
    pub max: u64,
}

/// One slow request in etcd's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRequest {
    /// The key, or the first key of a range.
    pub key: String,
    /// The end time of the request.
    pub timestamp: Option<String>,
    /// The duration of the request.
    pub took_micros: u64,
    /// The number of keys in the response, if etcd logs it.
    pub items: Option<u64>,
    /// The size of the response.
    pub bytes: u64,
    /// The limit; 0 means no limit.
    pub limit: u64,
    /// The revision; 0 means the newest.
    pub revision: u64,
    /// The error, if the request failed.
    pub error: Option<String>,
    pub file: String,
    /// The line in the file, from 1.
    pub line: u64,
}

/// A client whose LISTs ran during slow reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClient {
    /// The client's identity, as in `clients[]`.
    pub client: String,
    /// A short name: `namespace/name` for a ServiceAccount.
    pub name: String,
    /// How the client's LISTs match the worst request: `covers` (a LIST ran during the whole request), `overlaps`
    /// (during a part of it), `near` (a LIST ended or began within the slack). Null if none matches.
    pub of_worst: Option<String>,
    /// The slow reads that match this client's LISTs.
    #[serde(flatten)]
    pub slow: EtcdSlow,
}

/// Slow reads of a resource in etcd's own log that match a client's LISTs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdSlow {
    /// The resource's name in the client's requests.
    pub resource: String,
    /// The number of slow reads. A read that matches LISTs of several clients counts for each client.
    pub reads: u64,
    /// Reads that began and ended while one LIST ran. Only such a LIST can have waited for the read.
    pub covered: u64,
    /// The bytes of the covered reads. A read that LISTs of several clients cover counts for each client.
    pub covered_bytes: u64,
    /// Reads whose best-matching LISTs are all from this client. A LIST that covers the read matches best, then a
    /// LIST that overlaps it, then a LIST within the slack.
    pub alone: u64,
    /// The number of keys in the largest response. A covered read takes precedence over others.
    pub items: u64,
    /// The size of that response.
    pub bytes: u64,
    /// The duration of the request.
    pub took_micros: u64,
    /// The end time of the request.
    pub timestamp: String,
    pub file: String,
    /// The line in the file, from 1.
    pub line: u64,
}
