//! What etcd's own log says: its part of the contract.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Copy, Damaged, Latency, NotRead, SkippedAt};

/// etcd's own log (`--etcd-log`). Each line is a slow request, another line of etcd, of another program, or lost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdLog {
    /// Files.
    pub files: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Lines that warn of a slow request.
    pub slow_requests: u64,
    /// Of these, ones that were read already, and are not counted again below.
    pub duplicates: u64,
    /// Of the slow requests, those of which the time is not known: they match no client.
    pub undated: u64,
    /// Slow requests whose clock names no zone (capnslog, syslog): it is taken for UTC.
    pub without_zone: u64,
    /// Other lines of etcd.
    pub other_lines: u64,
    /// Entries that are of other programs, by kind.
    pub foreign: BTreeMap<String, u64>,
    /// Entries that are lost, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first of each reason.
    pub skipped_at: Vec<SkippedAt>,
    /// Streams that end in damage.
    pub damaged: Vec<Damaged>,
    /// When the first line of etcd was written.
    pub first_timestamp: Option<String>,
    /// When the last one was written.
    pub last_timestamp: Option<String>,
    /// What was found in directories and could not be read.
    pub not_read: NotRead,
    /// Files that were not read, as they hold byte for byte what another holds.
    pub copies: Vec<Copy>,
    /// What each file held.
    pub sources: Vec<EtcdSource>,
    /// The slow requests by resource and kind: reads of collections first, the most bytes before others.
    pub requests: Vec<EtcdRequests>,
    /// Slow requests beyond the number of resources that are told apart.
    pub requests_left_out: u64,
    /// Slow reads of collections that were compared with the clients' LISTs, one by one.
    pub lists_compared: u64,
    /// Slow reads of collections that were not, as 4,096 others were costlier, or as they have no time.
    pub lists_not_compared: u64,
    /// How far apart a read and a LIST may be where no LIST was under way during the read, as clocks differ.
    pub slack_micros: u64,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What one file held.
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

/// Slow requests of one kind for one resource.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRequests {
    /// Resource with its group, such as `deployments.apps`, as the key tells it; of what is no resource of the API the
    /// key's own word (`ranges`, `masterleases`, `health`); null for a key that names none.
    pub resource: Option<String>,
    /// `list` (a range of keys), `get` (one key), `count`, `keys` and `revision-check` (the apiserver's own),
    /// `read-transaction`, `write` or `other`.
    pub kind: String,
    /// The apiserver asks it for itself, and for no client.
    pub servers_own: bool,
    /// Requests.
    pub requests: u64,
    /// How long they took.
    pub took: Option<Latency>,
    /// Keys in the answers.
    pub items: EtcdAmount,
    /// Bytes of the answers.
    pub bytes: EtcdAmount,
    /// Requests with a limit. Of 10,000: pages of the apiserver's own too, which fill its watch cache.
    pub limited: u64,
    /// Requests at a revision: further pages, and lists at an exact one.
    pub at_revision: u64,
    /// Requests that failed, by the error's text with numbers left out.
    pub errors: BTreeMap<String, u64>,
    /// When the first ended.
    pub first_timestamp: Option<String>,
    /// When the last ended.
    pub last_timestamp: Option<String>,
    /// The one with the greatest answer, then the longest.
    pub worst: Option<EtcdRequest>,
    /// The clients whose LISTs of the resource from etcd were under way: those of the worst
    /// request first, then by the bytes of the slow reads that are covered.
    pub clients: Vec<EtcdClient>,
    /// Slow reads during which no such LIST is known.
    pub without_client: u64,
}

/// Keys or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EtcdAmount {
    pub sum: u64,
    /// The most of one request.
    pub max: u64,
}

/// One slow request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRequest {
    /// The key, or the first of a range.
    pub key: String,
    /// When it ended.
    pub timestamp: Option<String>,
    /// How long it took.
    pub took_micros: u64,
    /// Keys in the answer, where etcd says it.
    pub items: Option<u64>,
    /// Bytes of the answer.
    pub bytes: u64,
    /// The limit; 0 for none.
    pub limit: u64,
    /// The revision; 0 for the newest.
    pub revision: u64,
    /// Why it failed.
    pub error: Option<String>,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u64,
}

/// A client whose LISTs were under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClient {
    /// The client's identity, as in `clients[]`.
    pub client: String,
    /// A short name: `namespace/name` for a ServiceAccount.
    pub name: String,
    /// How near its LISTs are to the worst request: `covers` (under way from its begin to its end), `overlaps` (during a
    /// part of it), `near` (none was under way, and it is within the slack); null for none of these.
    pub of_worst: Option<String>,
    /// Its evidence.
    #[serde(flatten)]
    pub slow: EtcdSlow,
}

/// Slow reads of a resource in etcd's own log while a client's LISTs of it were under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdSlow {
    /// The resource as the client names it.
    pub resource: String,
    /// Slow reads. One during which several clients' LISTs were under way counts for each of them.
    pub reads: u64,
    /// Of these, those that began and ended while one LIST was under way: only such a LIST can have waited for it.
    pub covered: u64,
    /// Bytes of those that are covered. One that several clients' LISTs cover counts for each of them.
    pub covered_bytes: u64,
    /// Slow reads that this client's LISTs cover and nobody else's; where nobody's do, that only its overlap.
    pub alone: u64,
    /// Keys in the greatest answer, of the reads that are covered if there is one.
    pub items: u64,
    /// Its bytes.
    pub bytes: u64,
    /// How long it took.
    pub took_micros: u64,
    /// When it ended.
    pub timestamp: String,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u64,
}
