//! Lines on the input for a terminal.

use std::collections::BTreeMap;

use super::plain::{bytes, count, counted, escaped};
use crate::decode::SkipReason;
use crate::input::Damage;
use crate::report::v1::{Input, UnknownFiles};
use crate::shell::quoted;

/// At most this many damaged files get their own line.
const NAMED_DAMAGE: usize = 10;
/// A line names at most this many files.
const NAMED: usize = 3;
/// At most this many kinds of files without audit events get their own line.
const NAMED_KINDS: usize = 20;

pub(super) fn lines(input: &Input) -> Vec<String> {
    let mut lines = read(input);
    lines.extend(problems(input, unknown));
    lines
}

fn read(input: &Input) -> Vec<String> {
    let access = match input.access_lines {
        0 => String::new(),
        all if all == input.events => ", all of an access log".to_owned(),
        some => format!(", {} of an access log", count(some)),
    };
    let mut lines = vec![format!(
        "{}, {}, {}, {}{access}",
        counted(input.files, "file"),
        bytes(input.bytes),
        counted(input.lines, "line"),
        counted(input.events, "event")
    )];
    let open = if input.open > 0 { format!(", {} still open", count(input.open)) } else { String::new() };
    let unfinished = match input.unfinished {
        0 => String::new(),
        unfinished => format!(", and {} more without an end", count(unfinished)),
    };
    let span = match (&input.first_timestamp, &input.last_timestamp) {
        (Some(first), Some(last)) => format!(" from {} to {}", seconds(first), seconds(last)),
        _ => String::new(),
    };
    lines.push(format!("{}{open}{unfinished}{span}", counted(input.requests, "request")));
    // The default format needs no mention.
    if input.formats.keys().any(|format| format != "audit") {
        lines.push(format!("read as {}", by_name(&input.formats)));
    }
    if input.duplicates > 0 {
        lines.push(format!("{} read before and dropped", counted(input.duplicates, "event")));
    }
    if let Some(blank) = input.skipped.get(SkipReason::Blank.as_str()) {
        lines.push(counted(*blank, "blank line"));
    }
    if !input.foreign.is_empty() {
        lines.push(format!("of other logs, or parts of a line: {}", by_name(&input.foreign)));
    }
    lines
}

/// Describes unreadable, skipped and missing records for the page. If more than two kinds of files have no audit
/// events, they share one line.
pub(super) fn notes(input: &Input) -> Vec<String> {
    problems(input, |kinds| if kinds.len() > 2 { vec![unknown_on_one_line(kinds)] } else { unknown(kinds) })
}

fn problems(input: &Input, unknown: fn(&[UnknownFiles]) -> Vec<String>) -> Vec<String> {
    let mut lines = losses(input);
    if input.received_only {
        let text = "the log holds RequestReceived events only: no statuses, durations and rates";
        lines.push(text.to_owned());
    }
    if input.filtered > 0 {
        lines.push(format!("{} left out by filters", counted(input.filtered, "event")));
    }
    lines.extend(not_read(input, unknown));
    lines.extend(input.notes.iter().map(|note| escaped(note).into_owned()));
    lines
}

fn losses(input: &Input) -> Vec<String> {
    let mut lines = Vec::new();
    // A blank line is not a loss.
    let mut skipped = input.skipped.clone();
    skipped.remove(SkipReason::Blank.as_str());
    if !skipped.is_empty() {
        let at = input.skipped_at.first().map_or(String::new(), |at| {
            format!("; the first {} at {}:{}", at.reason, escaped(&at.file), at.line)
        });
        lines.push(format!("skipped: {}{at}", by_name(&skipped)));
    }
    if let Some(at) = input.unread_at.first() {
        let place = format!("{}:{}, byte {}", escaped(&at.file), at.line, count(at.offset));
        lines
            .push(format!("{} could not be read; the first at {place}", counted(input.unread_bytes, "byte")));
    }
    if input.replaced_utf8 > 0 {
        let number = counted(input.replaced_utf8, "line");
        lines.push(format!("{number} read with bytes replaced that are not UTF-8"));
    }
    for damaged in input.damaged.iter().take(NAMED_DAMAGE) {
        let place = format!("{}:{}", escaped(&damaged.file), damaged.line);
        if damaged.damage == Damage::LongWindow.as_str() {
            lines.push(escaped(&long_window(&damaged.file)).into_owned());
            continue;
        }
        lines.push(format!("{place}: {}; read up to here", damaged.damage.replace('-', " ")));
    }
    if let Some(more) = input.damaged.len().checked_sub(NAMED_DAMAGE).filter(|more| *more > 0) {
        lines.push(format!("{} could not be read to their end", counted(more as u64, "more file")));
    }
    lines
}

/// Describes duplicate files, files that kubetoll could not read, and files without audit events.
fn not_read(input: &Input, unknown: fn(&[UnknownFiles]) -> Vec<String>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(copy) = input.copies.first() {
        let more = if input.copies.len() > 1 { ", and others" } else { "" };
        lines.push(format!(
            "{} not read, as they hold what another holds: {} (as {}){more}",
            counted(input.copies.len() as u64, "file"),
            escaped(&copy.file),
            escaped(&copy.of)
        ));
    }
    let kinds = &input.unknown_files;
    let of =
        |is_read: bool| kinds.iter().filter(|one| one.is_read == is_read).map(|one| one.count).sum::<u64>();
    // Files of a known kind have their own lines, so they do not count here.
    if let Some(others) = input.not_read.count.checked_sub(of(false)).filter(|others| *others > 0) {
        // The files of an unknown kind come first.
        let named = input.not_read.files.iter().take(NAMED.min(usize::try_from(others).unwrap_or(NAMED)));
        let files: Vec<String> =
            named.map(|one| format!("{} ({})", escaped(&one.file), escaped(&one.why))).collect();
        lines.push(format!("{} could not be read: {}", counted(others, "path"), files.join(", ")));
    }
    lines.extend(unknown(kinds).iter().map(|line| escaped(line).into_owned()));
    if let Some(others) = input.without_events.count.checked_sub(of(true)).filter(|others| *others > 0) {
        let files: Vec<_> = input.without_events.files.iter().take(NAMED).map(|file| escaped(file)).collect();
        lines.push(format!("{} without any audit event: {}", counted(others, "file"), files.join(", ")));
    }
    lines
}

/// Returns a line for each kind of file without audit events. The line says how to read such files, if that is known.
pub(crate) fn unknown(kinds: &[UnknownFiles]) -> Vec<String> {
    let mut lines: Vec<String> = kinds.iter().take(NAMED_KINDS).map(unknown_line).collect();
    let others = kinds.iter().skip(NAMED_KINDS).map(|one| one.count).sum::<u64>();
    if others > 0 {
        lines.push(format!("not read: {} of other kinds", counted(others, "file")));
    }
    lines
}

fn unknown_on_one_line(kinds: &[UnknownFiles]) -> String {
    let kinds: Vec<&str> = kinds.iter().map(|one| &*one.what).collect();
    format!("no events from {}; --details names the files and the commands", kinds.join(", "))
}

fn unknown_line(one: &UnknownFiles) -> String {
    let UnknownFiles { what, count, example, command, is_read } = one;
    let lead = if *is_read { "no audit events" } else { "not read" };
    match command {
        Some(command) => format!("{lead}: {what}; run: {command}"),
        None if *count == 1 => format!("{lead}: {what}, {}", quoted(example)),
        None => format!("{lead}: {what}, such as {}", quoted(example)),
    }
}

/// Describes how to read a file that was compressed with a long window.
pub(crate) fn long_window(file: &str) -> String {
    let input = if file == "<stdin>" { String::new() } else { format!(" -c {}", quoted(file)) };
    format!(
        "{file}: compressed with zstd --long, and not read; run: zstd -d --long=31{input} | kubetoll scan -"
    )
}

fn by_name(counts: &BTreeMap<String, u64>) -> String {
    let all: Vec<String> = counts.iter().map(|(name, number)| format!("{} {name}", count(*number))).collect();
    all.join(", ")
}

/// Removes the fractions of a second from a timestamp.
fn seconds(timestamp: &str) -> String {
    timestamp.split('.').next().unwrap_or(timestamp).replace('T', " ")
}
