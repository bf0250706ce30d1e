//! etcd's own log in the JSON report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Copy, Damaged, Latency, NotRead, SkippedAt};

/// etcd's own log (`--etcd-log`). Each line is a slow request, another line of etcd, a foreign line, or skipped.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdLog {
    /// The number of files.
    pub(crate) files: u64,
    /// The size after decompression.
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// Lines that report a slow request.
    pub(crate) slow_requests: u64,
    /// Duplicates among the slow requests. `slowRequests` includes them, but `requests` counts each slow request
    /// once.
    pub(crate) duplicates: u64,
    /// Slow requests without a timestamp. They match no client.
    pub(crate) undated: u64,
    /// Slow requests whose timestamp has no time zone (capnslog, syslog). kubetoll assumes UTC.
    pub(crate) without_zone: u64,
    /// Other lines of etcd.
    pub(crate) other_lines: u64,
    /// Records of other programs, by kind.
    pub(crate) foreign: BTreeMap<String, u64>,
    /// Skipped records, by reason.
    pub(crate) skipped: BTreeMap<String, u64>,
    /// The first skipped records for each reason.
    pub(crate) skipped_at: Vec<SkippedAt>,
    /// Files that end in damaged data.
    pub(crate) damaged: Vec<Damaged>,
    /// The time of the first line of etcd.
    pub(crate) first_timestamp: Option<String>,
    /// The time of the last line of etcd.
    pub(crate) last_timestamp: Option<String>,
    /// Files in the given directories that kubetoll could not read.
    pub(crate) not_read: NotRead,
    /// Files that were not read, because another file has the same bytes.
    pub(crate) copies: Vec<Copy>,
    /// The counts for each file.
    pub(crate) sources: Vec<EtcdSource>,
    /// The slow requests by resource and kind. Entries for reads of collections come first, then all other entries.
    /// Both groups are ordered by the total size of their responses, largest first.
    pub(crate) requests: Vec<EtcdRequests>,
    /// Slow requests of resources beyond the limit. `requests` omits them.
    pub(crate) requests_left_out: u64,
    /// Slow reads of collections that kubetoll compared with the clients' LISTs, one by one. Some of them may match
    /// no LIST.
    pub(crate) lists_compared: u64,
    /// Slow reads of collections that kubetoll did not compare with LISTs. They have no timestamp, or 4,096 other
    /// reads were costlier.
    pub(crate) lists_not_compared: u64,
    /// The tolerance for different clocks of etcd and the apiserver, in microseconds. A slow read and a LIST also
    /// match if the gap between them is at most this long.
    pub(crate) slack_micros: u64,
    /// Notes on the log.
    pub(crate) notes: Vec<String>,
}

/// The counts for one file of etcd's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdSource {
    pub(crate) file: String,
    pub(crate) lines: u64,
    pub(crate) slow_requests: u64,
    pub(crate) other_lines: u64,
    pub(crate) foreign: BTreeMap<String, u64>,
    pub(crate) skipped: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdRequests {
    /// The resource with its group, such as `deployments.apps`, from the key. For keys that hold no API resource, a
    /// word of the key (`ranges`, `masterleases`, `health`). Null for a key without such a word.
    pub(crate) resource: Option<String>,
    /// `list` (a range of keys), `get` (one key), `read-transaction`, `write` or `other`. Or a request that the
    /// apiserver sends for its own use: `count`, `keys` or `revision-check`.
    pub(crate) kind: String,
    /// The apiserver sends these requests for its own use, not for a client.
    pub(crate) servers_own: bool,
    /// The number of slow requests.
    pub(crate) requests: u64,
    /// The durations of the requests.
    pub(crate) took: Option<Latency>,
    /// The number of keys in the responses.
    pub(crate) items: EtcdAmount,
    /// The size of the responses.
    pub(crate) bytes: EtcdAmount,
    /// Requests with a limit. This includes the apiserver's own pages of 10,000 keys, which fill its watch cache.
    pub(crate) limited: u64,
    /// Requests at a revision: later pages, and LISTs at an exact revision.
    pub(crate) at_revision: u64,
    /// Failed requests, by the text of the error without numbers.
    pub(crate) errors: BTreeMap<String, u64>,
    /// The end time of the first request.
    pub(crate) first_timestamp: Option<String>,
    /// The end time of the last request.
    pub(crate) last_timestamp: Option<String>,
    /// The request with the largest response. Among requests with equally large responses, the one that took longest.
    pub(crate) worst: Option<EtcdRequest>,
    /// The clients whose LISTs of the resource from etcd match these slow requests in time. Clients of the worst
    /// request are first. Then the order is by the size of the reads that a client's LISTs cover, largest first.
    pub(crate) clients: Vec<EtcdClient>,
    /// Slow reads that match no known LIST.
    pub(crate) without_client: u64,
}

/// A number of keys or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EtcdAmount {
    pub(crate) sum: u64,
    /// The largest value of one request.
    pub(crate) max: u64,
}

/// One slow request in etcd's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdRequest {
    /// The key, or the first key of a range.
    pub key: String,
    /// The end time of the request.
    pub(crate) timestamp: Option<String>,
    /// The duration of the request.
    pub(crate) took_micros: u64,
    /// The number of keys in the response, if etcd logs it.
    pub(crate) items: Option<u64>,
    /// The size of the response.
    pub(crate) bytes: u64,
    /// The limit; 0 means no limit.
    pub(crate) limit: u64,
    /// The revision; 0 means the newest.
    pub(crate) revision: u64,
    /// The error, if the request failed.
    pub(crate) error: Option<String>,
    pub(crate) file: String,
    /// The line in the file, from 1.
    pub(crate) line: u64,
}

/// A client whose LISTs match slow reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdClient {
    /// The client's identity, as in `clients[]`.
    pub(crate) client: String,
    /// A short name: `namespace/name` for a ServiceAccount.
    pub(crate) name: String,
    /// How the client's LISTs match the worst request. `covers`: a LIST ran during the whole request. `overlaps`:
    /// during a part of it. `near`: a LIST ended before it or began after it, within `slackMicros`. Null if none
    /// matches.
    pub(crate) of_worst: Option<String>,
    /// The slow reads that match this client's LISTs.
    #[serde(flatten)]
    pub(crate) slow: EtcdSlow,
}

/// Slow reads of a resource in etcd's own log that match a client's LISTs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdSlow {
    /// The resource's name in the client's requests.
    pub(crate) resource: String,
    /// The number of slow reads. A read that matches LISTs of several clients counts for each client.
    pub(crate) reads: u64,
    /// Reads that began and ended while one LIST of the client ran. Only such a LIST can have waited for the whole
    /// read.
    pub(crate) covered: u64,
    /// The bytes of the covered reads. A read that LISTs of several clients cover counts for each client.
    pub(crate) covered_bytes: u64,
    /// Reads whose best-matching LISTs are all from this client. A LIST that covers the read matches best, then a
    /// LIST that overlaps it. A LIST that only ran within `slackMicros` of the read comes last.
    pub(crate) alone: u64,
    /// The number of keys in the response to the worst read. The worst read is the covered read with the largest
    /// response. If no read is covered, it is the read with the largest response.
    pub(crate) items: u64,
    /// The size of the response to the worst read, in bytes.
    pub(crate) bytes: u64,
    /// The duration of the request.
    pub(crate) took_micros: u64,
    /// The end time of the request.
    pub(crate) timestamp: String,
    pub(crate) file: String,
    /// The line in the file, from 1.
    pub(crate) line: u64,
}
