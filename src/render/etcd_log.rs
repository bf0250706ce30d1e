//! Sentences on etcd's own log, shared by the terminal and Markdown.

use super::plain::{bytes, count, counted, duration, to_seconds};
use super::prose::Line;
use crate::report::v1::{EtcdClient, EtcdLog, EtcdRequest, EtcdRequests, EtcdSlow};

/// The maximum number of table rows. Each row is for one resource and kind of request.
const SHOWN: usize = 10;
/// The maximum number of resources with details. The details are the range read with the largest response, and the
/// clients whose LISTs ran at that time.
const DETAILED: usize = 3;
/// Each line on a resource names at most this many clients.
const NAMED_CLIENTS: usize = 4;

/// The page size that the apiserver uses to fill its watch cache.
///
/// Source: k8s.io/apiserver `pkg/storage/cacher/cacher.go:storageWatchListPageSize`.
const CACHE_PAGE: u64 = 10_000;

pub(super) const HEADING: &str = "what etcd says: slow requests in its own log";
/// The headings of the table's columns, and whether the columns hold numbers.
pub(super) const COLUMNS: [(&str, bool); 7] = [
    ("resource", false),
    ("request", false),
    ("times", true),
    ("most\nkeys", true),
    ("greatest\nanswer", true),
    ("p50", true),
    ("longest", true),
];

/// Returns the table's cells. Not escaped.
pub(super) fn rows(log: &EtcdLog) -> Vec<Vec<String>> {
    let row = |one: &EtcdRequests| {
        vec![
            one.resource.clone().unwrap_or_else(|| "–".to_owned()),
            one.kind.replace('-', " "),
            count(one.requests),
            count(one.items.max),
            bytes(one.bytes.max),
            one.took.map_or("–".to_owned(), |took| duration(took.p50_micros)),
            one.took.map_or("–".to_owned(), |took| duration(took.max_micros)),
        ]
    };
    log.requests.iter().take(SHOWN).map(row).collect()
}

pub(super) fn summary(log: &EtcdLog) -> Vec<Line> {
    let mut read = vec![
        counted(log.files, "file"),
        counted(log.lines, "line"),
        counted(log.slow_requests, "slow request"),
        format!("{} of etcd", counted(log.other_lines, "other line")),
    ];
    let foreign: u64 = log.foreign.values().sum();
    if foreign > 0 {
        read.push(format!("{} of other programs", count(foreign)));
    }
    let mut lines = vec![Line::default().text(read.join(", "))];
    if let (Some(first), Some(last)) = (&log.first_timestamp, &log.last_timestamp) {
        lines.push(Line::default().text(format!("from {} to {}", to_seconds(first), to_seconds(last))));
    }
    if log.duplicates > 0 {
        let text = format!("{} read before and dropped", counted(log.duplicates, "slow request"));
        lines.push(Line::default().text(text));
    }
    lines.extend(problems(log));
    lines
}

/// Describes missing parts of the log, and parts that kubetoll could not read.
pub(super) fn problems(log: &EtcdLog) -> Vec<Line> {
    let mut lines = losses(log);
    lines.extend(log.notes.iter().map(|note| Line::default().text(note)));
    lines
}

/// Returns one line: the number of slow requests, and the worst range read of the resource with the most bytes.
pub(super) fn one_line(log: &EtcdLog) -> Line {
    let line = Line::default().text(format!("etcd: {}", counted(log.slow_requests, "slow request")));
    let worst = log
        .requests
        .iter()
        .filter(|one| one.kind == "list")
        .find_map(|one| Some((one.resource.as_deref().unwrap_or("–"), one.worst.as_ref()?)));
    let Some((resource, worst)) = worst else { return line };
    let keys = worst.items.map_or(String::new(), |items| format!("{}, ", counted(items, "key")));
    let line = line.text("; worst read: ").code(resource);
    line.text(format!(", {keys}{}, took {}", bytes(worst.bytes), duration(worst.took_micros)))
}

fn losses(log: &EtcdLog) -> Vec<Line> {
    let mut lines = Vec::new();
    if !log.skipped.is_empty() {
        let all: Vec<String> =
            log.skipped.iter().map(|(reason, number)| format!("{} {reason}", count(*number))).collect();
        let line = Line::default().text(format!("skipped: {}", all.join(", ")));
        lines.push(match log.skipped_at.first() {
            Some(at) => {
                line.text(format!("; the first {} at ", at.reason)).code(format!("{}:{}", at.file, at.line))
            }
            None => line,
        });
    }
    for damaged in &log.damaged {
        let place = Line::default().code(format!("{}:{}", damaged.file, damaged.line));
        lines.push(place.text(format!(": {}; read up to here", damaged.damage.replace('-', " "))));
    }
    if log.not_read.count > 0 {
        lines
            .push(Line::default().text(format!("{} could not be read", counted(log.not_read.count, "path"))));
    }
    lines
}

/// Describes the worst range read of each resource, and the clients that may have caused it. The worst one has the
/// largest response. Returns pairs of title and line.
pub(super) fn details(log: &EtcdLog) -> Vec<(&'static str, Line)> {
    let mut lines = Vec::new();
    if log.requests.iter().take(SHOWN).any(|one| one.servers_own) {
        let text = "counts, reads of keys alone and revision checks are the apiserver's own requests, and no client's";
        lines.push(("Own", Line::default().text(text)));
    }
    for one in log.requests.iter().filter(|one| one.kind == "list").take(DETAILED) {
        let Some(worst) = &one.worst else { continue };
        lines.push(("Worst", worst_read(one.resource.as_deref().unwrap_or("–"), worst)));
        lines.push(("", key(worst)));
        lines.push(("Under way", under_way(one)));
        lines.extend(in_all(one).map(|line| ("In all", line)));
        if !one.errors.is_empty() {
            lines.push(("Errors", errors(one)));
        }
    }
    if lines.iter().any(|(title, _)| *title == "Under way") {
        let text = "a slow read counts for each client whose LISTs were under way; only a LIST that was from its begin \
                    to its end can have waited for it";
        lines.push(("", Line::default().text(text)));
    }
    if log.lists_not_compared > 0 {
        let text = format!(
            "{} of collections have no time or were less costly than others, and were not compared with LISTs",
            counted(log.lists_not_compared, "slow read")
        );
        lines.push(("", Line::default().text(text)));
    }
    lines
}

fn worst_read(resource: &str, worst: &EtcdRequest) -> Line {
    let at = worst.timestamp.as_deref().map_or(String::new(), |at| format!(" at {}", to_seconds(at)));
    let keys = worst.items.map_or("an unknown number of keys".to_owned(), |items| counted(items, "key"));
    Line::default()
        .code(resource)
        .text(format!(": {keys}, {}, took {}{at} (", bytes(worst.bytes), duration(worst.took_micros)))
        .code(format!("{}:{}", worst.file, worst.line))
        .text(")")
}

/// Returns the key range as etcd wrote it.
fn key(worst: &EtcdRequest) -> Line {
    let mut text = format!("key:{}", worst.key);
    for (name, number) in [("limit", worst.limit), ("revision", worst.revision)] {
        if number > 0 {
            text = format!("{text} {name}:{number}");
        }
    }
    if let Some(items) = worst.items {
        text = format!("{text} range_response_count:{items} size:{}", worst.bytes);
    }
    let line = Line::default().code(text);
    match &worst.error {
        Some(error) => line.text(", failed with ").code(error),
        None => line,
    }
}

/// Names the clients whose LISTs ran during the worst range read, or within a second of it.
fn under_way(one: &EtcdRequests) -> Line {
    let nearest = one.clients.first().and_then(|client| client.of_worst.as_deref());
    let line = match nearest {
        None => Line::default().text("no LIST of it from etcd that is known"),
        Some(nearest) => {
            let own: Vec<&EtcdClient> =
                one.clients.iter().filter(|client| client.of_worst.as_deref() == Some(nearest)).collect();
            let when = match nearest {
                "covers" => " from its begin to its end",
                "overlaps" => " during a part of it, none from begin to end",
                _ => " within a second of it, none meanwhile",
            };
            let mut line = Line::default().text("LISTs of ");
            for (index, client) in own.iter().take(NAMED_CLIENTS).enumerate() {
                line = line.text(if index == 0 { "" } else { ", of " }).code(&client.name);
            }
            let more = own.len().saturating_sub(NAMED_CLIENTS);
            line.text(if more > 0 { format!(", and of {more} more") } else { String::new() }).text(when)
        }
    };
    if one.worst.as_ref().is_some_and(|worst| worst.limit == CACHE_PAGE) {
        return line.text("; it may be the apiserver's own, which fills its watch cache in pages of 10,000");
    }
    line
}

/// Names the clients whose LISTs were in progress during the slow reads. `None` if there was only one slow read.
fn in_all(one: &EtcdRequests) -> Option<Line> {
    let several = one.requests > 1 && !one.clients.is_empty();
    let mut line = several.then(Line::default)?;
    for (index, client) in one.clients.iter().take(NAMED_CLIENTS).enumerate() {
        let EtcdClient { name, slow, .. } = client;
        let separator = if index == 0 { "LISTs of " } else { ", of " };
        let covered = match slow.covered {
            0 => "none from begin to end".to_owned(),
            covered => format!("{} from begin to end, {}", count(covered), bytes(slow.covered_bytes)),
        };
        line = line
            .text(separator)
            .code(name)
            .text(format!(" during {} ({covered})", counted(slow.reads, "slow read")));
    }
    let more = one.clients.len().saturating_sub(NAMED_CLIENTS);
    if more > 0 {
        line = line.text(format!(", and of {more} more"));
    }
    Some(match one.without_client {
        0 => line,
        none => line.text(format!("; during {} none is known", count(none))),
    })
}

fn errors(one: &EtcdRequests) -> Line {
    let mut line = Line::default();
    for (index, (text, number)) in one.errors.iter().enumerate() {
        line = line.text(format!("{}{} × ", if index == 0 { "" } else { ", " }, count(*number))).code(text);
    }
    line
}

/// Describes what etcd's log shows about a finding.
pub(super) fn fact(slow: &EtcdSlow) -> Line {
    let covered = match (slow.covered, slow.alone) {
        (0, _) => "; none of its LISTs was under way from a read's begin to its end".to_owned(),
        (covered, alone) if covered == alone => format!(", {} from begin to end", count(covered)),
        (covered, alone) => {
            format!(
                ", {} from begin to end ({} of these during no other client's)",
                count(covered),
                count(alone)
            )
        }
    };
    Line::default()
        .text(format!("{} of ", counted(slow.reads, "slow range read")))
        .code(&slow.resource)
        .text(format!(
            " while its LISTs were under way{covered}; the worst {}, {}, took {} (",
            counted(slow.items, "key"),
            bytes(slow.bytes),
            duration(slow.took_micros)
        ))
        .code(format!("{}:{}", slow.file, slow.line))
        .text(")")
}
