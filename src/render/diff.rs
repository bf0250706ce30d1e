//! The pages of `kubetoll diff`: for a terminal, as Markdown for a comment on a pull request, and as annotations.

use super::display::cut_middle;
use super::github;
use super::markdown::{MAX_CHARS, inline};
use super::plain::{counted, escaped};
use super::style::{BOLD, DIM, ERROR, FIX, WARNING};
use super::table::{table, wrapped};
use crate::diff::{
    DiffFinding, DiffReport, DiffSide, DiffTotal, Difference, PhaseDifference, RequestDifference, Unit,
};
use crate::k8s::identity;
use crate::k8s::text::count;

/// GitHub shows ten annotations of each level for each step of a job.
const MAX_ANNOTATIONS: usize = 10;
/// The room for what follows the tables in a Markdown page, in characters.
const RESERVED: usize = 12_000;

const COLUMNS: [(&str, bool); 4] = [("CHANGE", false), ("BEFORE", true), ("AFTER", true), ("REQUEST", false)];
/// The index of the column that is cut if the terminal is narrow.
const REQUEST: usize = 3;
/// A comment shows at most this many rows without a decision.
const MAX_UNDECIDED: usize = 20;
/// A comment shows at most this many notes and failures, each of at most `MAX_NOTE` columns.
const MAX_NOTES: usize = 10;
const MAX_NOTE: usize = 400;
/// The page names at most this many runs of a side.
const MAX_RUNS: usize = 5;
/// The longest path on a page.
const MAX_PATH: usize = 160;
const NOT_DECIDED: &str = "these differ by no more than chance, or a log does not show them (?)";
const UNDECIDED: &str = "Findings of one side, on requests that did not change by more than chance";
/// The lines of a table above its rows.
const HEADINGS: usize = 2;

/// Renders the page for a terminal. `top` limits the rows of each table.
#[must_use]
pub(crate) fn text(report: &DiffReport, unit: &Unit, top: usize, width: usize) -> String {
    let mut page = vec![format!("{BOLD}{}{BOLD:#}\n", title(report))];
    for (name, side) in [("base: ", &report.base), ("new:  ", &report.new)] {
        page.push(wrapped(name, "      ", &side_text(side), width));
    }
    page.push("\n".to_owned());
    page.push(totals(report, unit, width));
    for failure in &report.failures {
        page.push(wrapped("\nfailed: ", "        ", &escaped(failure), width));
    }
    let mut tabled = |heading: String, rows: &[&RequestDifference], is_decided: bool| {
        if rows.is_empty() {
            return;
        }
        page.push(format!("\n{heading}\n"));
        page.push(by_client(&rows[..rows.len().min(top)], unit, is_decided, width));
        let left = rows.len().saturating_sub(top);
        if left > 0 {
            page.push(format!("{DIM}{left} more rows; --top {} shows all{DIM:#}\n", rows.len()));
        }
    };
    let [costlier, cheaper] = [false, true]
        .map(|wanted| report.changes.iter().filter(|row| row.is_cheaper() == wanted).collect::<Vec<_>>());
    tabled(format!("{ERROR}Costs more{ERROR:#}"), &costlier, true);
    tabled(format!("{FIX}Costs less{FIX:#}"), &cheaper, true);
    let undecided: Vec<&RequestDifference> = report.not_decided.iter().collect();
    let heading = format!("{WARNING}Not decided{WARNING:#}: {NOT_DECIDED}");
    tabled(heading, &undecided, false);
    page.push(wrapped("\n", "", &unchanged(report), width));
    for (heading, style, findings) in [
        ("New findings", ERROR, &report.new_findings),
        (
            "New findings on requests that did not change by more than chance",
            WARNING,
            &report.undecided_findings,
        ),
        ("Gone findings", FIX, &report.gone_findings),
    ] {
        if !findings.is_empty() {
            page.push(format!("\n{style}{heading}{style:#}\n"));
        }
        for finding in findings.iter().take(top) {
            page.push(wrapped("- ", "  ", &escaped(&finding_text(heading, finding)), width));
        }
        let left = findings.len().saturating_sub(top);
        if left > 0 {
            page.push(format!("{DIM}{left} more; --top {} shows all{DIM:#}\n", findings.len()));
        }
    }
    if !report.notes.is_empty() {
        page.push(format!("\n{WARNING}Notes{WARNING:#}\n"));
    }
    for note in &report.notes {
        page.push(wrapped("- ", "  ", &escaped(note), width));
    }
    page.concat()
}

/// A table with a line for each client above its rows.
fn by_client(rows: &[&RequestDifference], unit: &Unit, is_decided: bool, width: usize) -> String {
    let cells = rows.iter().map(|row| cells(row, unit, is_decided).to_vec()).collect();
    let table = table(&COLUMNS, cells, REQUEST, width);
    let mut lines = table.lines();
    let mut page: Vec<String> = lines.by_ref().take(HEADINGS).map(|line| format!("{line}\n")).collect();
    let mut client = None;
    for (row, line) in rows.iter().zip(lines) {
        if client != Some(&row.client) {
            client = Some(&row.client);
            let name = escaped(&short_name(&row.client)).into_owned();
            page.push(format!("{BOLD}{}{BOLD:#}\n", cut_middle(&name, width, 0)));
        }
        page.push(format!("{line}\n"));
    }
    page.concat()
}

/// Renders the page as Markdown, for a comment on a pull request.
#[must_use]
pub(crate) fn markdown(report: &DiffReport, unit: &Unit) -> String {
    let mut page = MarkdownPage::default();
    page.always(format!("## {}\n\n", inline::words(&title(report))));
    for (name, side) in [("base", &report.base), ("new", &report.new)] {
        page.always(format!("- {name}: {}\n", inline::words(&side_text(side))));
    }
    for failure in report.failures.iter().take(MAX_NOTES) {
        page.always(format!("- **failed**: {}\n", inline::words(&cut_middle(failure, MAX_NOTE, 8))));
    }
    page.always("\n| total | before | after | change |\n|---|---:|---:|---|\n".to_owned());
    for total in shown_totals(report) {
        let [name, before, after, change] = total_cells(total, unit);
        page.always(format!("| {name} | {before} | {after} | {change} |\n"));
    }
    let mut client = None;
    for row in &report.changes {
        if client != Some(&row.client) {
            client = Some(&row.client);
            page.add(format!(
                "\n### {}\n\n| shape | before | after | change |\n|---|---:|---:|---|\n",
                inline::words(&short_name(&row.client))
            ));
        }
        let [change, before, after, request] = cells(row, unit, true);
        page.add(format!("| {} | {before} | {after} | {change} |\n", inline::code_in_cell(&request)));
    }
    page.always(format!("\n{}\n", inline::words(&unchanged(report))));
    for (heading, findings) in [
        ("New findings", &report.new_findings),
        ("Gone findings", &report.gone_findings),
        (UNDECIDED, &report.undecided_findings),
    ] {
        if !findings.is_empty() {
            page.add(format!("\n### {heading}\n\n"));
        }
        for finding in findings {
            page.add(format!("- {}\n", inline::words(&finding_text(heading, finding))));
        }
    }
    if !report.not_decided.is_empty() {
        page.add(format!(
            "\n### Not decided\n\nRequests: {NOT_DECIDED}.\n\n| client | shape | before | after |\n|---|---|---:|---:|\n"
        ));
    }
    for row in report.not_decided.iter().take(MAX_UNDECIDED) {
        let [_, before, after, request] = cells(row, unit, false);
        let client = inline::words(&short_name(&row.client));
        page.add(format!("| {client} | {} | {before} | {after} |\n", inline::code_in_cell(&request)));
    }
    let more = report.not_decided.len().saturating_sub(MAX_UNDECIDED);
    if more > 0 {
        page.add(format!("\n{more} more are not decided.\n"));
    }
    if page.omitted > 0 {
        page.always(format!("\n{} omitted; `--format json` has all.\n", counted(page.omitted, "line")));
    }
    if !report.notes.is_empty() {
        page.always("\n### Notes\n\n".to_owned());
    }
    for note in report.notes.iter().take(MAX_NOTES) {
        page.always(format!("- {}\n", inline::words(&cut_middle(note, MAX_NOTE, 8))));
    }
    let more = report.notes.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        page.always(format!("- {}\n", counted(more as u64, "more note")));
    }
    page.lines.concat()
}

/// A Markdown page that leaves lines out instead of becoming too long for a comment.
#[derive(Default)]
struct MarkdownPage {
    lines: Vec<String>,
    length: usize,
    omitted: u64,
}

impl MarkdownPage {
    /// Adds a line that must not be left out.
    fn always(&mut self, line: String) {
        self.length += line.len();
        self.lines.push(line);
    }

    fn add(&mut self, line: String) {
        // After a line that did not fit, a shorter one would have no heading.
        if self.omitted > 0 || self.length + line.len() + RESERVED > MAX_CHARS {
            self.omitted += 1;
        } else {
            self.always(line);
        }
    }
}

/// Renders workflow commands of GitHub Actions: an error for each condition that fails, a warning for each costlier
/// change, and a notice on what is left out.
#[must_use]
pub(crate) fn annotations(report: &DiffReport, unit: &Unit) -> String {
    let title = [("title", "kubetoll diff")];
    let error = |failure: &String| github::command("error", &title, &escaped(failure));
    let mut lines: Vec<String> = report.failures.iter().take(MAX_ANNOTATIONS).map(error).collect();
    let costlier: Vec<&RequestDifference> = report.changes.iter().filter(|row| !row.is_cheaper()).collect();
    for row in costlier.iter().take(MAX_ANNOTATIONS) {
        let client = escaped(&short_name(&row.client)).into_owned();
        let [change, before, after, request] = cells(row, unit, true);
        let rates = if row.change == Difference::New { after } else { format!("from {before} to {after}") };
        let text = format!("{client}: {request}: {change}, {rates}");
        lines.push(github::command("warning", &title, &text));
    }
    let left = costlier.len().saturating_sub(MAX_ANNOTATIONS);
    let more = if left > 0 { format!(" {left} more changes cost more.") } else { String::new() };
    lines.push(github::command(
        "notice",
        &title,
        &format!("{}.{more} {}", self::title(report), unchanged(report)),
    ));
    lines.concat()
}

fn title(report: &DiffReport) -> String {
    let costlier = report.changes.iter().filter(|row| !row.is_cheaper()).count() as u64;
    let cheaper = report.changes.len() as u64 - costlier;
    let changes = match (costlier, cheaper) {
        (0, 0) => "No change".to_owned(),
        (0, _) => format!("{}, all cheaper", counted(cheaper, "change")),
        (_, 0) => format!("{}, all costlier", counted(costlier, "change")),
        _ => format!("{} costlier, {cheaper} cheaper", counted(costlier, "change")),
    };
    match report.new_findings.len() as u64 {
        0 => changes,
        findings => format!("{changes}; {}", counted(findings, "new finding")),
    }
}

fn side_text(side: &DiffSide) -> String {
    let runs = side.runs.iter().take(MAX_RUNS).map(|run| {
        let minutes = run.minutes.map_or(String::new(), |minutes| format!(" in {} min", number(minutes)));
        let (requests, clients) = (counted(run.requests, "request"), counted(run.clients, "client"));
        format!(
            "{}: {requests} of {clients}{minutes}",
            cut_middle(&escaped(&run.path), MAX_PATH, MAX_PATH / 2)
        )
    });
    let mut runs: Vec<String> = runs.collect();
    let left = side.runs.len().saturating_sub(MAX_RUNS);
    if left > 0 {
        runs.push(format!("{left} more"));
    }
    let versions = side.kube_versions.join(", ");
    let assumed = if side.version_is_assumed { ", assumed" } else { "" };
    format!("{} (Kubernetes {}{assumed})", runs.join("; "), cut_middle(&escaped(&versions), MAX_PATH, 5))
}

fn unchanged(report: &DiffReport) -> String {
    let all = counted(report.unchanged, "request shape");
    format!("{all} did not change by more than chance.")
}

fn shown_totals(report: &DiffReport) -> impl Iterator<Item = &DiffTotal> {
    report.totals.iter().filter(|total| total.before > 0.0 || total.after > 0.0)
}

fn totals(report: &DiffReport, unit: &Unit, width: usize) -> String {
    let columns = [("", false), ("BEFORE", true), ("AFTER", true), ("CHANGE", false)];
    let rows = shown_totals(report).map(|total| total_cells(total, unit).to_vec()).collect();
    table(&columns, rows, 0, width)
}

fn total_cells(total: &DiffTotal, unit: &Unit) -> [String; 4] {
    let per = if total.phase == "start" { "at the start".to_owned() } else { unit.text() };
    let metric = match total.metric {
        "etcd-reads" => "reads from etcd",
        "watches" => "open watches",
        other => other,
    };
    let difference = total.after - total.before;
    let is_whole = (difference - total.decided).abs() < 1e-6;
    let change = match total.decided {
        _ if difference == 0.0 => "none".to_owned(),
        0.0 => "no more than chance".to_owned(),
        _ if is_whole && total.before > 0.0 => format!("{:+.0} %", difference * 100.0 / total.before),
        _ if is_whole => "new".to_owned(),
        decided => {
            let sign = if decided < 0.0 { "-" } else { "+" };
            format!("{sign}{} more than chance", number(decided.abs()))
        }
    };
    let name = if total.metric == "watches" { metric.to_owned() } else { format!("{metric} {per}") };
    [escaped(&name).into_owned(), number(total.before), number(total.after), change]
}

fn cells(row: &RequestDifference, unit: &Unit, is_decided: bool) -> [String; 4] {
    let change = row.change.as_str().to_owned();
    let request = escaped(&row.shape).into_owned();
    if row.change == Difference::ServedFromElsewhere {
        let source = |source: &Option<String>| escaped(source.as_deref().unwrap_or("-")).into_owned();
        return [change, source(&row.source_before), source(&row.source_after), request];
    }
    let side = |of: fn(&PhaseDifference) -> Option<f64>| {
        let phases = [
            (&row.phases.start, " at start"),
            (&row.phases.steady, unit.short()),
            (&row.phases.watches, " open"),
        ];
        let is_shown = |phase: &PhaseDifference| match phase.rates() {
            _ if is_decided => phase.is_decided,
            Some((before, after)) => (before - after).abs() > f64::EPSILON,
            None => phase.before.or(phase.after).is_some_and(|rate| rate > 0.0),
        };
        let shown: Vec<String> = phases
            .into_iter()
            .filter(|(phase, _)| is_shown(phase))
            .map(|(phase, per)| match of(phase) {
                None => "?".to_owned(),
                Some(0.0) => "-".to_owned(),
                Some(rate) => format!("{}{per}", number(rate)),
            })
            .collect();
        shown.join(", ")
    };
    let etcd = match row.source_after.as_deref() {
        Some("etcd") => " from etcd",
        _ => "",
    };
    [change, side(|phase| phase.before), side(|phase| phase.after) + etcd, request]
}

fn finding_text(heading: &str, finding: &DiffFinding) -> String {
    let DiffFinding { side, rule, severity, message, .. } = finding;
    let side = if heading == UNDECIDED { format!("{side}: ") } else { String::new() };
    format!("{side}{rule} {severity}: {message}")
}

/// The short name of a ServiceAccount; other names as they are.
pub(super) fn short_name(client: &str) -> String {
    match identity::service_account(client) {
        Some(_) => identity::short_name("service-account", client).into_owned(),
        None => client.to_owned(),
    }
}

/// A rate with two or three digits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive and small")]
fn number(rate: f64) -> String {
    match rate {
        _ if rate >= 100.0 => count(rate.round() as u64),
        _ if rate.fract() == 0.0 => format!("{rate:.0}"),
        _ if rate >= 10.0 => format!("{rate:.1}"),
        _ => format!("{rate:.2}"),
    }
}
