//! The report for a terminal: one page, and details on request.

use super::details::{self, ChosenDetails};
use super::plain::{counted, escaped};
use super::style::{BOLD, DIM};
use super::table::{joined, limited, table, titled, wrapped};
use super::{cases, client_detail, clients, cost, etcd_log, facts, head, traces};
use crate::report::Report;
use crate::report::v1::{Client, EtcdLog, Shape};

/// The settings for the report on a terminal: the number of cases, the line width, and the details.
#[derive(Debug)]
pub struct View<'r> {
    /// The maximum number of cases in the table.
    pub top: usize,
    /// The maximum number of characters in a line.
    pub width: usize,
    /// The details to print after the page. `None` if the user did not request details.
    pub details: Option<ChosenDetails<'r>>,
}

/// The default for `top`.
pub(crate) const TOP: usize = 10;
/// The maximum number of lines of a page with up to [`TOP`] cases. More cases take more lines.
const LINES: usize = 40;
/// The maximum number of lines of a case.
const CASE_LINES: usize = 3;
const ETCD_LINES: usize = 2;
/// The maximum number of clients whose request shapes are shown.
const DETAILED_CLIENTS: usize = 3;
/// Renders the report. Text from clients is escaped; colors are the only control sequences.
#[must_use]
pub fn render(report: &Report, view: &View<'_>) -> String {
    let mut page = page(report, view);
    if let Some(chosen) = &view.details {
        page.push_str(&details::render(report, chosen, view.width));
        if chosen.is_all() {
            page.push_str(&omitted_sections(report, view));
        }
    }
    page
}

fn page(report: &Report, view: &View<'_>) -> String {
    let width = view.width;
    let mut before = vec![String::new()];
    if report.cases.is_empty() || facts::is_empty_by_filters(report) {
        before.extend(wrapped("", "", &nothing_found(report), width).lines().map(str::to_owned));
        before.push(String::new());
    }
    let mut after = Vec::new();
    if let Some(log) = &report.etcd_log {
        after.extend(limited(&etcd_log::one_line(log).plain(), width, ETCD_LINES));
    }
    if report.totals.counts.requests == 0 {
        after.push(String::new());
        after.extend(traces::rows(&report.traces, width).lines().map(str::to_owned));
    }
    if !facts::is_empty_by_filters(report) {
        after.push(String::new());
        after.extend(footer(report, width));
    }
    let lines = LINES + CASE_LINES * view.top.saturating_sub(TOP);
    let head = head::lines(report, width);
    let room = lines.saturating_sub(head.len() + before.len() + after.len());
    let notes = head::notes(report, width, room.saturating_sub(cases::least_lines(report, view.top)));
    let rows = cases::table(report, view.top, width, room.saturating_sub(notes.len()));
    let all = [head, notes, before, rows, after].into_iter().flatten();
    let page: String = all.map(|line| line.trim_end().to_owned() + "\n").collect();
    page.trim_end().to_owned() + "\n"
}

fn nothing_found(report: &Report) -> String {
    if facts::is_empty_by_filters(report) {
        return "The filters left no request, so nothing was judged.".to_owned();
    }
    let rules = counted(report.rules.len() as u64, "rule");
    let requests = counted(report.input.requests, "request");
    let clients = counted(report.clients.len() as u64, "client");
    format!(
        "No finding: {rules} judged {requests} of {clients}. What this log does not hold was not judged. \
         The costliest clients:"
    )
}

/// The unit of LOAD, and the flags for more details.
fn footer(report: &Report, width: usize) -> Vec<String> {
    let load = match (report.totals.load.amount, report.ranking.unit) {
        (0, _) => "LOAD is not known: the log holds no durations.".to_owned(),
        (_, "objects") => "LOAD: share of the objects that the apiserver handled, and of writes.".to_owned(),
        _ => "LOAD: share of request time, without watches (with --inventory: of objects).".to_owned(),
    };
    let example = if report.cases.is_empty() { "" } else { ", --details=1" };
    let details = format!("Details: --details{example}, --details=CLIENT");
    let rule = report.cases.first().and_then(|case| case.rules.first());
    let rule = rule.map(|rule| format!("Rules: kubetoll rules explain {}", escaped(rule)));
    let more: Vec<String> = std::iter::once(details).chain(rule).collect();
    let lines = [joined(&[load], width), joined(&more, width)];
    lines.into_iter().flatten().map(|line| format!("{DIM}{line}{DIM:#}")).collect()
}

/// Renders the sections that the page omits: input and server, clients, slow requests, etcd's log, and clients
/// without a finding.
fn omitted_sections(report: &Report, view: &View<'_>) -> String {
    let mut page = heading("input and server");
    for (title, text) in head::details(report) {
        page.push_str(&titled(title, &text, view.width));
    }
    if !report.clients.is_empty() {
        page.push_str(&heading(&format!("clients, most load first ({})", cost::order(report))));
        page.push_str(&clients::table(report, view.top, view.width));
    }
    let traces = traces::rows(&report.traces, view.width);
    if !traces.is_empty() {
        page.push_str(&heading(
            "slow requests that the server traced (above 500 ms), the greatest time first",
        ));
        page.push_str(&traces);
    }
    if let Some(log) = &report.etcd_log {
        page.push_str(&etcd(log, view.width));
    }
    let is_costly = |client: &&Client| !client.has_finding() && client.shapes.iter().any(Shape::is_costly);
    let costly: Vec<&Client> = report.clients.iter().filter(is_costly).take(DETAILED_CLIENTS).collect();
    if !costly.is_empty() {
        page.push_str(&heading("clients without a finding that read from etcd"));
    }
    for client in costly {
        page.push_str(&client_detail::render(client, view.width));
    }
    page
}

fn heading(text: &str) -> String {
    format!("\n{BOLD}{text}{BOLD:#}\n\n")
}

fn etcd(log: &EtcdLog, width: usize) -> String {
    let mut page = heading(etcd_log::HEADING);
    for line in etcd_log::summary(log) {
        page.push_str(&wrapped("", "  ", &line.plain(), width));
    }
    let rows: Vec<Vec<String>> = etcd_log::rows(log)
        .into_iter()
        .map(|row| row.iter().map(|cell| escaped(cell).into_owned()).collect())
        .collect();
    if !rows.is_empty() {
        page.push('\n');
        page.push_str(&table(&etcd_log::COLUMNS, rows, 0, width));
    }
    for (title, line) in etcd_log::details(log) {
        page.push_str(&wrapped(&format!("{title:<11}"), "           ", &line.plain(), width));
    }
    page
}
