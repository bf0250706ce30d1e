//! What was read, as the report says it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What was read. `records` = `events` + the sum of `foreign` + the sum of `skipped`, in total and for each source.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// Files, standard input counting as one.
    pub files: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Of the bytes, those that could not be read: damaged entries, and entries that are too long.
    pub unread_bytes: u64,
    /// The first few places of such bytes.
    pub unread_at: Vec<UnreadAt>,
    /// Lines.
    pub lines: u64,
    /// Entries: one for each line, or where a source does not keep entries on lines, for each document; an envelope
    /// with several entries counts once for each of them.
    pub records: u64,
    /// Entries that are an audit event, or a request of the apiserver's access log.
    pub events: u64,
    /// Events by stage.
    pub events_by_stage: BTreeMap<String, u64>,
    /// Of the events, requests of the apiserver's access log.
    pub access_lines: u64,
    /// Requests of the access log that are in the audit log too: counted there, with what the access log adds.
    pub joined: u64,
    /// Requests of the access log that are left out, as a pipe can't be read twice to join them.
    pub not_joined: u64,
    /// Of the events, those that a filter left out.
    pub filtered: u64,
    /// Of the events, those that had been read already and are dropped.
    pub duplicates: u64,
    /// Requests that are counted: those that ended, and long-running ones that were not seen to end.
    pub requests: u64,
    /// Long-running requests that were not seen to end.
    pub open: u64,
    /// Requests that were received and not seen to end, long-running ones that are open left out. 0 where the log has no
    /// RequestReceived events.
    pub unfinished: u64,
    /// Of the events, those of unfinished requests of which no other request of the same client and shape is counted: they
    /// are in no shape.
    pub events_without_request: u64,
    /// The log holds arrivals only (stage RequestReceived), which are counted as requests; it tells no status, no
    /// duration and no rate.
    pub received_only: bool,
    /// Records that were read with U+FFFD in place of bytes that are no UTF-8.
    pub replaced_utf8: u64,
    /// Entries of other logs, and lines that go on with the one before, by kind.
    pub foreign: BTreeMap<String, u64>,
    /// Entries that are lost, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first few skipped entries of each reason but `blank`.
    pub skipped_at: Vec<SkippedAt>,
    /// Streams that could not be read to their end.
    pub damaged: Vec<Damaged>,
    /// Files without any audit event: the first few, and how many.
    pub without_events: WithoutEvents,
    /// What was found in directories and could not be read: the first few, and how many.
    pub not_read: NotRead,
    /// Files that are no logs, or hold no audit event, by what they are.
    pub unknown_files: Vec<UnknownFiles>,
    /// Files that hold byte for byte what another holds, and were read once.
    pub copies: Vec<Copy>,
    /// Events by the form that they came in, the outermost envelope first: `cri/audit`.
    pub formats: BTreeMap<String, u64>,
    /// What a reader should know about what such a log can't tell.
    pub notes: Vec<String>,
    /// Received of the first event.
    pub first_timestamp: Option<String>,
    /// Received of the last event.
    pub last_timestamp: Option<String>,
    /// What each source held; those that held nothing are left out.
    pub sources: Vec<SourceInput>,
}

/// What one source held.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceInput {
    pub file: String,
    /// How the source was taken to fall into records: `lines`, `json` or `yaml`.
    pub framing: String,
    /// Events by the form that they came in.
    pub formats: BTreeMap<String, u64>,
    pub bytes: u64,
    pub unread_bytes: u64,
    pub lines: u64,
    pub records: u64,
    pub events: u64,
    pub access_lines: u64,
    pub foreign: BTreeMap<String, u64>,
    pub skipped: BTreeMap<String, u64>,
}

/// An entry that is lost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedAt {
    pub reason: String,
    pub file: String,
    /// From 1.
    pub line: u64,
}

/// Bytes in a row that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadAt {
    /// The file.
    pub file: String,
    /// The line on which the damaged entry begins, from 1.
    pub line: u64,
    /// The offset of the first byte, after decompression.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A stream that could not be read to its end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Damaged {
    /// `truncated-stream`, `corrupt-stream`, `long-window`, `unreadable` or `shrank-while-read`.
    pub damage: String,
    pub file: String,
    /// The last line that was read, from 1.
    pub line: u64,
}

/// Files that hold no audit event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WithoutEvents {
    /// How many.
    pub count: u64,
    /// The first few of them.
    pub files: Vec<String>,
}

/// What was found in directories and could not be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotRead {
    /// How many.
    pub count: u64,
    /// The first few of them.
    pub files: Vec<NotReadFile>,
}

/// Something that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotReadFile {
    pub file: String,
    pub why: String,
    /// It is among `unknownFiles`.
    #[serde(skip)]
    pub is_known: bool,
}

/// Files of one kind that hold no audit event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnknownFiles {
    /// How many of which kind, such as `2 xz archives`.
    pub what: String,
    /// How many.
    pub count: u64,
    /// One of them.
    pub example: String,
    /// The command that lets kubetoll read it; null if there is none.
    pub command: Option<String>,
    /// They were read as text; others were not read.
    pub is_read: bool,
}

/// A file that holds byte for byte what another holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Copy {
    pub file: String,
    pub of: String,
}
