//! The head of the terminal page: input files, totals, and problems with the input.

use super::cost;
use super::display::cut_middle;
use super::facts::{self, kubernetes};
use super::plain::{count, counted, duration, escaped};
use super::style::{BOLD, WARNING};
use super::table::{joined, limited};
use super::{input, over_time, patterns};
use crate::k8s::timestamp::parse_micros;
use crate::report::Report;
use crate::report::v1::Input;

/// The maximum number of lines for notes on the input.
const NOTE_LINES: usize = 7;
/// The minimum number of lines for notes: one short note, and a line that counts the others.
const LEAST_NOTE_LINES: usize = 2;
/// The maximum number of lines for server versions. A log of many servers has many versions.
const LINES_OF_VERSION: usize = 2;
/// The maximum number of lines for one note.
const LINES_OF_NOTE: usize = 3;
/// The maximum length of a file name, in columns.
const FILE: usize = 40;
/// Starts the first line of a note. `INDENT` starts its other lines.
const MARK: &str = "! ";
const INDENT: &str = "  ";

/// Renders the input and its totals as lines without line feeds.
pub(super) fn lines(report: &Report, width: usize) -> Vec<String> {
    let tool = format!("kubetoll {}", report.kubetoll_version);
    let read = [tool.clone(), file(&report.input), amount(&report.input)];
    let mut lines = input_lines(&read, &kubernetes(report), width);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&tool, &format!("{BOLD}{tool}{BOLD:#}"), 1);
    }
    if report.totals.counts.requests > 0 {
        lines.extend(joined(&totals(report), width));
    }
    lines
}

/// Joins the parts and the server versions into lines. Cuts the list of versions, which may be long.
fn input_lines(parts: &[String], version: &str, width: usize) -> Vec<String> {
    let version = limited(version, width, LINES_OF_VERSION).join(" ");
    joined(&[parts, &[version]].concat(), width)
}

fn file(input: &Input) -> String {
    match (input.files, &*input.sources) {
        (1, [only]) => {
            let name = only.file.rsplit('/').next().unwrap_or(&only.file);
            cut_middle(&escaped(name), FILE, 7).into_owned()
        }
        (files, _) => counted(files, "file"),
    }
}

/// Formats the time range and the number of requests: `3 min 19 s, 26,349 requests`.
fn amount(input: &Input) -> String {
    let requests = counted(input.requests, "request");
    let parse = |timestamp: &Option<String>| parse_micros(timestamp.as_deref()?);
    let span = parse(&input.last_timestamp).zip(parse(&input.first_timestamp));
    let micros = span.and_then(|(last, first)| u64::try_from(last - first).ok());
    micros
        .filter(|micros| *micros > 0)
        .map_or(requests.clone(), |micros| format!("{}, {requests}", duration(micros)))
}

fn totals(report: &Report) -> Vec<String> {
    let totals = &report.totals.counts;
    let objects = report.totals.cost.total.as_deref().and_then(|work| work.etcd.as_ref());
    let objects = objects.filter(|_| cost::is_by_inventory(report)).and_then(cost::in_objects);
    let objects = objects.map_or(String::new(), |objects| format!(" ({objects})"));
    let informers = report.page.gates.limit_ignored.informers;
    let starts = match informers {
        0 => String::new(),
        starts => format!(" ({} not counted)", counted(starts, "informer start")),
    };
    vec![
        format!(
            "Read from etcd: {}, {}{objects}",
            counted(totals.etcd_lists, "LIST"),
            counted(totals.etcd_gets, "GET")
        ),
        format!("written: {}", count(totals.etcd_writes)),
        format!("limit ignored: {}{starts}", count(totals.limit_ignored.saturating_sub(informers))),
    ]
}

/// Renders problems with the input in at most `room` lines.
pub(super) fn notes(report: &Report, width: usize, room: usize) -> Vec<String> {
    let room = room.clamp(LEAST_NOTE_LINES, NOTE_LINES);
    let notes = problems(report);
    let mut lines: Vec<String> = Vec::new();
    for (at, note) in notes.iter().enumerate() {
        let own = limited(note, width.saturating_sub(MARK.len()), LINES_OF_NOTE);
        // Reserves the last line for the number of notes that do not fit.
        let is_last = at + 1 == notes.len();
        if lines.len() + own.len() + usize::from(!is_last) > room {
            let more = (notes.len() - at) as u64;
            lines.push(format!("{INDENT}and {}: --details", counted(more, "more note")));
            break;
        }
        for (index, line) in own.into_iter().enumerate() {
            let mark = if index == 0 { format!("{WARNING}{MARK}{WARNING:#}") } else { INDENT.to_owned() };
            lines.push(format!("{mark}{line}"));
        }
    }
    lines
}

/// Returns the problems with the input, the rules or the policy, the worst first.
fn problems(report: &Report) -> Vec<String> {
    let mut notes: Vec<String> =
        facts::problems(report).iter().map(|text| escaped(text).into_owned()).collect();
    notes.extend(input::notes(&report.input));
    notes.extend(facts::notes(&report.server));
    notes.extend(facts::contradicted(report));
    notes.extend(facts::suppressed(report));
    notes.extend(report.inventory.iter().flat_map(cost::lacks).map(|text| escaped(&text).into_owned()));
    if let Some(log) = &report.etcd_log {
        notes.extend(super::etcd_log::problems(log).iter().map(super::prose::Line::plain));
    }
    notes
}

/// Returns what the head omits, as titles and texts.
pub(super) fn details(report: &Report) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    let mut titled = |title: &'static str, texts: Vec<String>| {
        let titles = std::iter::once(title).chain(std::iter::repeat(""));
        lines.extend(titles.zip(texts));
    };
    titled("Input", input::lines(&report.input));
    let server = std::iter::once(facts::server(report)).chain(facts::version_evidence(report));
    titled("Server", server.chain(facts::notes(&report.server)).collect());
    titled("Measured", facts::measured(report).into_iter().collect());
    titled("Peak", over_time::peaks(report));
    titled("Patterns", patterns::left_out(report));
    titled("Costs", cost::totals(report).into_iter().collect());
    let inventory = report.inventory.iter().flat_map(cost::inventory);
    titled("Cluster", inventory.map(|text| escaped(&text).into_owned()).collect());
    titled("Findings", vec![facts::verdict(report)]);
    titled("Policy", facts::suppressed(report).into_iter().collect());
    titled("Mind", facts::problems(report).iter().map(|text| escaped(text).into_owned()).collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_many_files_take_two_lines() {
        let own = |number: usize| format!("1.{number}.0 (a-long-name-of-a-file-{number}.log)");
        let versions = (20..36).map(own).collect::<Vec<_>>().join(" and ");
        let lines =
            input_lines(&["kubetoll 1".to_owned(), "16 files".to_owned(), "3m".to_owned()], &versions, 100);
        assert!(lines.len() == 3 && lines[2].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|line| super::super::display::width(line) <= 100), "{lines:?}");
    }
}
