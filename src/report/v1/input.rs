//! The input section of the JSON report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// The counts of the input. `records` = `events` + the sum of `foreign` + the sum of `skipped`, in total and for each
/// source file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// The number of log files. Standard input counts as one. If a directory scan finds files that are not logs, only
    /// `unknownFiles` counts them.
    pub(crate) files: u64,
    /// The size after decompression.
    pub bytes: u64,
    /// Bytes that kubetoll could not read: damaged records, and records that are too long.
    pub(crate) unread_bytes: u64,
    /// Where the first few of these unread bytes are.
    pub(crate) unread_at: Vec<UnreadAt>,
    pub lines: u64,
    /// The number of records. A record is a line or, if records span lines, a document. An envelope with several
    /// records counts once for each of them.
    pub records: u64,
    /// Records that are an audit event, or a request in the apiserver's access log.
    pub events: u64,
    /// Audit events by stage.
    pub events_by_stage: BTreeMap<String, u64>,
    /// Events that are requests in the apiserver's access log.
    pub access_lines: u64,
    /// Requests of the access log that are also in the audit log. Each counts once, as the audit log's request with
    /// the access log's details.
    pub joined: u64,
    /// Requests of the access log that are left out. To match the two logs, kubetoll must read them twice. A pipe can
    /// be read only once.
    pub not_joined: u64,
    /// Events that a filter left out.
    pub filtered: u64,
    /// The filters, as flags, such as `--user=alice`.
    pub(crate) filters: Vec<String>,
    /// Duplicate events, which do not count.
    pub duplicates: u64,
    /// Counted requests: those that ended, and open long-running requests.
    pub requests: u64,
    /// Open long-running requests: the log does not show their end.
    pub open: u64,
    /// Requests that have a RequestReceived event and no end in the log, except open long-running requests. 0 if the
    /// log has no RequestReceived events.
    pub(crate) unfinished: u64,
    /// Events of unfinished requests whose client has no counted request of the same shape. No entry of `shapes`
    /// includes these events.
    pub events_without_request: u64,
    /// The log has only RequestReceived events. Each counts as a request. Statuses, durations and rates are unknown.
    pub(crate) received_only: bool,
    /// Records with bytes that are not UTF-8. kubetoll reads such bytes as U+FFFD.
    pub(crate) replaced_utf8: u64,
    /// Foreign records by kind: records of other logs, and continuation lines.
    pub foreign: BTreeMap<String, u64>,
    /// Skipped records, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first few skipped records for each reason except `blank`.
    pub(crate) skipped_at: Vec<SkippedAt>,
    /// Files that kubetoll could not read to the end.
    pub damaged: Vec<Damaged>,
    /// Files without audit events.
    pub(crate) without_events: WithoutEvents,
    /// Files in the given directories that kubetoll could not read.
    pub(crate) not_read: NotRead,
    /// Files that are not logs or have no audit events, by file type.
    pub(crate) unknown_files: Vec<UnknownFiles>,
    /// Files with the same bytes as another file. kubetoll reads only one of them.
    pub(crate) copies: Vec<Copy>,
    /// Events by input format, the outermost envelope first: `cri/audit`.
    pub formats: BTreeMap<String, u64>,
    /// Notes on what a log in these formats does not show.
    pub(crate) notes: Vec<String>,
    /// The receive time of the first event.
    pub(crate) first_timestamp: Option<String>,
    /// The receive time of the last event.
    pub(crate) last_timestamp: Option<String>,
    /// The counts for each source file. Empty files are left out.
    pub sources: Vec<SourceInput>,
}

/// The counts for one source file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceInput {
    pub file: String,
    /// How the file separates records: `lines`, `json` or `yaml`.
    pub(crate) framing: String,
    /// Events by input format, the outermost envelope first: `cri/audit`.
    pub formats: BTreeMap<String, u64>,
    pub(crate) bytes: u64,
    pub(crate) unread_bytes: u64,
    pub(crate) lines: u64,
    pub records: u64,
    pub events: u64,
    pub access_lines: u64,
    pub foreign: BTreeMap<String, u64>,
    pub skipped: BTreeMap<String, u64>,
}

/// A skipped record.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkippedAt {
    pub(crate) reason: String,
    pub(crate) file: String,
    /// The line in the file, from 1.
    pub(crate) line: u64,
}

/// A range of bytes that kubetoll could not read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnreadAt {
    pub(crate) file: String,
    /// The line on which the damaged record begins, from 1.
    pub(crate) line: u64,
    /// The offset of the range's first byte in the decompressed file.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A file that kubetoll could not read to the end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Damaged {
    /// `truncated-stream`, `corrupt-stream`, `long-window`, `unreadable` or `shrank-while-read`.
    pub(crate) damage: String,
    pub(crate) file: String,
    /// The last line that kubetoll read, from 1.
    pub(crate) line: u64,
}

/// Files without audit events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct WithoutEvents {
    pub(crate) count: u64,
    /// The first few files.
    pub(crate) files: Vec<String>,
}

/// Files in the given directories that kubetoll could not read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct NotRead {
    pub(crate) count: u64,
    /// The first few files.
    pub(crate) files: Vec<NotReadFile>,
}

/// A file that kubetoll could not read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct NotReadFile {
    pub(crate) file: String,
    pub(crate) why: String,
}

/// Files of one type that have no audit events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnknownFiles {
    /// The number and type, such as `2 xz archives`.
    pub(crate) what: String,
    pub(crate) count: u64,
    /// One of the files.
    pub(crate) example: String,
    /// The command with which kubetoll can read the files; null if there is none.
    pub(crate) command: Option<String>,
    /// kubetoll read the files as text. If false, it did not read them.
    pub(crate) is_read: bool,
}

/// A file with the same bytes as another file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Copy {
    pub(crate) file: String,
    pub(crate) of: String,
}
