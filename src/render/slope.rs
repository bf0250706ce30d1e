//! The pages of `kubetoll budget slope`: for a terminal, and as Markdown for a comment on a pull request.

use super::diff::short_name;
use super::display::cut_middle;
use super::markdown::inline;
use super::plain::{counted, escaped};
use super::style::{BOLD, DIM, ERROR, FIX, WARNING};
use super::table::{table, wrapped};
use crate::budget::{SlopeJudgment, SlopePhase, SlopeReport, SlopeRow, plain};

/// The largest width of the column of clients.
const WIDEST_CLIENT: usize = 36;
/// The maximum number of rows of a table in Markdown.
const MAX_ROWS: usize = 200;
/// The index of the column that is cut if the terminal is narrow.
const REQUEST: usize = 4;

/// Renders the page for a terminal. `top` limits the rows of each table.
#[must_use]
pub(crate) fn text(report: &SlopeReport, top: usize, width: usize) -> String {
    let mut page = vec![format!("{BOLD}{}{BOLD:#}\n", title(report))];
    page.extend(report.runs.iter().map(|run| {
        let text = format!("{} objects: {} in {:.1} min", run.objects, run.path, run.minutes);
        wrapped("- ", "  ", &escaped(&text), width)
    }));
    for failure in &report.failures {
        page.push(wrapped("failed: ", "        ", &escaped(failure), width));
    }
    let few = heading(report.from);
    let many = heading(report.to);
    let columns =
        [("CLIENT", false), (&*few, true), (&*many, true), ("PER OBJECT", true), ("REQUEST", false)];
    for (heading, style, rows) in [("Grows", ERROR, &report.growing), ("Falls", FIX, &report.shrinking)] {
        let cells: Vec<Vec<String>> = rows.iter().flat_map(cells).map(Vec::from).collect();
        if cells.is_empty() {
            continue;
        }
        let all = cells.len();
        page.push(format!("\n{style}{heading}{style:#}\n"));
        page.push(table(&columns, cells.into_iter().take(top).collect(), REQUEST, width));
        let left = all.saturating_sub(top);
        if left > 0 {
            page.push(format!("{DIM}{left} more rows; --top {all} shows all{DIM:#}\n"));
        }
    }
    page.push(wrapped("\n", "", &unchanged(report), width));
    if !report.judgments.is_empty() {
        page.push(format!("\n{WARNING}Budget{WARNING:#}\n"));
    }
    for judgment in &report.judgments {
        page.push(wrapped("- ", "  ", &escaped(&judged(judgment)), width));
    }
    page.concat()
}

/// Renders the page as Markdown.
#[must_use]
pub(crate) fn markdown(report: &SlopeReport) -> String {
    let mut page = vec![format!("## {}\n\n", title(report))];
    page.extend(report.runs.iter().map(|run| {
        let text = format!("{} objects: {} in {:.1} min", run.objects, run.path, run.minutes);
        format!("- {}\n", inline::words(&text))
    }));
    page.extend(report.failures.iter().map(|failure| format!("- **failed**: {}\n", inline::words(failure))));
    for (heading, rows) in [("Grows", &report.growing), ("Falls", &report.shrinking)] {
        let cells: Vec<[String; 5]> = rows.iter().flat_map(cells).collect();
        if cells.is_empty() {
            continue;
        }
        page.push(format!(
            "\n### {heading}\n\n| client | {} objects | {} objects | per object | request |\n|---|---:|---:|---:|---|\n",
            report.from, report.to
        ));
        for [client, few, many, slope, request] in cells.iter().take(MAX_ROWS) {
            let (client, request) = (inline::code_in_cell(client), inline::code_in_cell(request));
            page.push(format!("| {client} | {few} | {many} | {slope} | {request} |\n"));
        }
        let left = cells.len().saturating_sub(MAX_ROWS);
        if left > 0 {
            page.push(format!("\n{} omitted; `--format json` has all.\n", counted(left as u64, "row")));
        }
    }
    page.push(format!("\n{}\n", unchanged(report)));
    if !report.judgments.is_empty() {
        page.push("\n### Budget\n\n".to_owned());
    }
    page.extend(report.judgments.iter().map(|one| format!("- {}\n", inline::words(&judged(one)))));
    page.concat()
}

fn heading(objects: u64) -> String {
    format!("{objects} OBJ")
}

fn title(report: &SlopeReport) -> String {
    let grows = counted(report.growing.len() as u64, "request shape");
    let verb = if report.growing.len() == 1 { "grows" } else { "grow" };
    format!("From {} to {} objects, {grows} {verb}", report.from, report.to)
}

fn unchanged(report: &SlopeReport) -> String {
    let all = counted(report.unchanged, "request shape");
    format!("{all} did not change by more than chance.")
}

/// A row for each phase that changes by more than chance.
fn cells(row: &SlopeRow) -> Vec<[String; 5]> {
    let phases = row.phases().into_iter().filter(|(_, phase)| phase.is_decided);
    phases
        .map(|(name, phase)| {
            let short = match name {
                "per minute" => "/min",
                "for each start" => " at start",
                _ => " open",
            };
            let number =
                |number: f64| if number > 0.0 { format!("{}{short}", rate(number)) } else { "-".to_owned() };
            [
                cut_middle(&escaped(&short_name(&row.client)), WIDEST_CLIENT, 5).into_owned(),
                number(phase.from),
                number(phase.to),
                slope(phase),
                escaped(&row.shape).into_owned(),
            ]
        })
        .collect()
}

fn slope(phase: &SlopePhase) -> String {
    let sign = if phase.slope < 0.0 { "-" } else { "+" };
    format!("{sign}{}", rate(phase.slope.abs()))
}

/// A number with three digits.
fn rate(number: f64) -> String {
    if number >= 1_000.0 { format!("{number:.0}") } else { plain(number) }
}

fn judged(judgment: &SlopeJudgment) -> String {
    let SlopeJudgment { line, client, shape, max_slope, slope, is_within } = judgment;
    let verdict = if *is_within { "within" } else { "above" };
    match slope {
        Some(slope) => format!(
            "line {line}: {client}: {shape}: {} for each object, {verdict} maxSlope {}",
            plain(*slope),
            plain(*max_slope)
        ),
        None => format!("line {line}: {client}: {shape}: no such request"),
    }
}
