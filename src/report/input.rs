//! Builds the input section of the report.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::context::Context;
use super::files::{NAMED_FILES, by_kind, by_reason, copies, damaged, not_read, skipped, skipped_at};
use super::sums::Sums;
use super::v1;
use crate::decode::{Envelope, Foreign, Layers, SkipReason};
use crate::input::{FileKind, Source, Sources};
use crate::k8s::{Stage, timestamp};
use crate::ledger::{InputCounts, SourceCounts};

pub(super) fn input(
    counts: &InputCounts,
    context: &Context<'_>,
    sums: &Sums,
    other_files: &[u32],
) -> v1::Input {
    let stages = [
        (Stage::RequestReceived, "RequestReceived"),
        (Stage::ResponseStarted, "ResponseStarted"),
        (Stage::ResponseComplete, "ResponseComplete"),
        (Stage::Panic, "Panic"),
    ];
    let sources = context.sources;
    let file = |source: u32| sources.name(source);
    let without: Vec<String> = sources
        .list
        .iter()
        .zip(0_u32..)
        .filter(|(_, index)| counts.sources.get(index).is_none_or(|source| source.events == 0))
        .map(|(source, _)| source.name())
        .collect();
    let formats = formats(counts);
    v1::Input {
        files: (sources.list.len() - other_files.len()) as u64,
        bytes: counts.bytes,
        unread_bytes: counts.unread.0,
        unread_at: counts
            .unread
            .1
            .iter()
            .map(|at| v1::UnreadAt {
                file: file(at.source),
                line: at.line,
                offset: at.offset,
                bytes: at.bytes,
            })
            .collect(),
        lines: counts.lines,
        records: counts.records(),
        events: counts.all_events(),
        events_by_stage: stages
            .into_iter()
            .map(|(stage, name)| (name.to_owned(), counts.events[stage as usize]))
            .collect(),
        access_lines: counts.access_lines,
        joined: counts.joined,
        not_joined: counts.not_joined,
        filtered: counts.filtered,
        filters: context.filters.clone(),
        duplicates: counts.duplicates,
        requests: sums.counts.requests,
        open: sums.open,
        unfinished: sums.unfinished,
        events_without_request: sums.events_without_request,
        received_only: counts.received_only(),
        replaced_utf8: counts.replaced_utf8,
        foreign: by_kind(&counts.foreign),
        skipped: skipped(counts),
        skipped_at: skipped_at(counts, sources),
        damaged: damaged(counts, sources),
        without_events: v1::WithoutEvents {
            count: without.len() as u64,
            files: without.into_iter().take(NAMED_FILES).collect(),
        },
        not_read: not_read(sources),
        unknown_files: unknown_files(sources, counts),
        copies: copies(sources),
        notes: notes(counts, &formats),
        formats: formats.into_iter().map(|(layers, events)| (layers.to_string(), events)).collect(),
        first_timestamp: counts.span.map(|span| timestamp::format_micros(span.0)),
        last_timestamp: counts.span.map(|span| timestamp::format_micros(span.1)),
        sources: counts
            .sources
            .iter()
            .filter(|(_, counts)| counts.records() > 0)
            .map(|(index, counts)| source(file(*index), counts))
            .collect(),
    }
}

/// Files that a directory scan found and that are not logs: text, tables and binary data without an audit event. The
/// report lists them under `unknownFiles` and nowhere else.
pub(super) fn other_files(sources: &Sources, counts: &InputCounts) -> Vec<u32> {
    let is_other = |source: &Source, index: &u32| {
        let kind = source.path.as_ref().and_then(|path| sources.kinds.get(path));
        !source.explicit
            && matches!(kind, Some(FileKind::Binary | FileKind::Csv | FileKind::Text))
            && !counts.sources.get(index).is_some_and(SourceCounts::holds_any)
    };
    let sources = sources.list.iter().zip(0_u32..);
    sources.filter(|(source, index)| is_other(source, index)).map(|(_, index)| index).collect()
}

/// Counts files without audit events by file type. Each type has an example.
pub(crate) fn unknown_files(sources: &Sources, counts: &InputCounts) -> Vec<v1::UnknownFiles> {
    let read: HashSet<&Path> = sources
        .list
        .iter()
        .zip(0_u32..)
        .filter(|(_, index)| counts.sources.get(index).is_some_and(SourceCounts::holds_any))
        .filter_map(|(source, _)| source.path.as_deref())
        .chain(sources.duplicates.iter().map(|copy| &*copy.path))
        .collect();
    let mut by_kind: BTreeMap<FileKind, Vec<&Path>> = BTreeMap::new();
    for (path, kind) in sources.kinds.iter().filter(|(path, _)| !read.contains(&***path)) {
        by_kind.entry(*kind).or_default().push(path);
    }
    let unknown_files = |(kind, paths): (FileKind, Vec<&Path>)| {
        let example = paths.first().map_or(String::new(), |path| path.display().to_string());
        let count = paths.len() as u64;
        let command = command_for_all(sources, kind, &paths).or_else(|| kind.command(&example));
        v1::UnknownFiles {
            what: kind.counted(count),
            count,
            command,
            example,
            is_read: !kind.is_unreadable(),
        }
    };
    by_kind.into_iter().map(unknown_files).collect()
}

/// The maximum number of directories that a command names.
const NAMED_DIRECTORIES: usize = 4;

/// The shell command that makes several files of one type readable. It selects them by file extension. `None` if no
/// extension selects exactly these files.
fn command_for_all(sources: &Sources, kind: FileKind, paths: &[&Path]) -> Option<String> {
    let (first, _) = paths.split_first().filter(|(_, others)| !others.is_empty())?;
    let extension = first.extension()?;
    let is_same = |path: &Path| path.extension() == Some(extension);
    let is_other = |path: &Path| is_same(path) && sources.kinds.get(path) != Some(&kind);
    let logs = sources.list.iter().filter_map(|source| source.path.as_deref());
    if !paths.iter().all(|path| is_same(path))
        || logs.chain(sources.kinds.keys().map(PathBuf::as_path)).any(is_other)
    {
        return None;
    }
    // Keep only the topmost directories, because `find` also searches their subdirectories.
    let mut directories: Vec<&Path> = Vec::new();
    for directory in paths.iter().filter_map(|path| path.parent()) {
        if !directories.iter().any(|above| directory.starts_with(above)) {
            directories.retain(|below| !below.starts_with(directory));
            directories.push(directory);
        }
    }
    let names: Option<Vec<&str>> = directories.iter().map(|directory| directory.to_str()).collect();
    let extension =
        extension.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    kind.command_for_all(&names.filter(|names| names.len() <= NAMED_DIRECTORIES)?, extension)
}

fn source(file: String, counts: &SourceCounts) -> v1::SourceInput {
    v1::SourceInput {
        file,
        framing: counts.framing.to_owned(),
        formats: counts.by_layers.iter().map(|(layers, events)| (layers.to_string(), *events)).collect(),
        bytes: counts.bytes,
        unread_bytes: counts.unread,
        lines: counts.lines,
        records: counts.records(),
        events: counts.events,
        access_lines: counts.access_lines,
        foreign: by_kind(&counts.foreign),
        skipped: by_reason(counts.skipped.iter().map(|(reason, count)| (reason, *count))),
    }
}

fn formats(counts: &InputCounts) -> BTreeMap<Layers, u64> {
    let mut formats = BTreeMap::new();
    for (layers, events) in counts.sources.values().flat_map(|source| &source.by_layers) {
        *formats.entry(*layers).or_default() += events;
    }
    formats
}

/// Returns notes on what the log cannot show because of its input format.
fn notes(counts: &InputCounts, formats: &BTreeMap<Layers, u64>) -> Vec<String> {
    let of = |envelope: Envelope| -> u64 {
        formats.iter().filter(|(layers, _)| layers.contains(envelope)).map(|(_, events)| events).sum()
    };
    let skipped = |reason| counts.skipped.get(&reason).map_or(0, |(count, _)| *count);
    let mut notes = Vec::new();
    let mut note = |count: u64, text: &str| {
        if count > 0 {
            notes.push(text.replace("{}", &count.to_string()));
        }
    };
    note(
        counts.access_lines,
        "lines of the apiserver's own access log: {}. They name no users, so a client is a user agent with a class of \
         addresses, and ServiceAccounts are unknown",
    );
    note(
        counts.access_duplicates,
        "access log lines that are duplicates, or second lines of a request: {}, not counted again. Some servers \
         before 1.36 write two lines",
    );
    note(
        counts.joined,
        "access log lines whose request is also in the audit log: {}, counted once, with the audit log's user and the \
         access log's seats",
    );
    note(
        counts.not_joined,
        "access log lines that kubetoll skipped: {}. On a pipe, it cannot match them with the audit log; pass files \
         instead",
    );
    note(
        counts.undated,
        "access log lines without a year: {}. Pass the year with --year to get timestamps and rates",
    );
    note(
        u64::from(counts.index_full),
        "too many requests to match all access log lines with the audit log; some may count in both logs",
    );
    let traces = counts.foreign.get(&Foreign::Trace).copied().unwrap_or(0);
    note(
        if counts.all_events() == 0 { traces } else { 0 },
        "lines of traces of slow requests: {}, and no requests",
    );
    note(
        of(Envelope::Gke),
        "events from GKE: {}. GKE's entries hold no request URI and no durations, so resourceVersion and limit of \
         reads are unknown (not-observable)",
    );
    note(
        // Sum the counts of the source files instead of the counts by input format. The format of an event contains
        // at most three envelopes, so it may omit the envelope that shows this category.
        counts.sources.values().map(|source| source.without_reads).sum(),
        "events of the AKS category kube-audit-admin: {}. It omits every GET and LIST; for reads, collect kube-audit",
    );
    note(of(Envelope::Legacy), "events in the legacy text format: {}. It holds no durations");
    note(
        skipped(SkipReason::CutByCloudwatch),
        "events lost because they were cut at 256 KB by CloudWatch Logs: {}",
    );
    note(skipped(SkipReason::TooLong), "records lost because they are longer than --max-line: {}");
    note(
        skipped(SkipReason::OtherFormat),
        "entries skipped because their format differs from --input-format: {}",
    );
    notes
}
