//! The pages of `kubetoll upgrade`: for a terminal, and as Markdown.

use super::display::width as columns_of;
use super::markdown::inline;
use super::plain::{counted, to_seconds};
use super::style::{BOLD, DIM, ERROR, FIX, WARNING};
use super::table::{table, wrapped};
use crate::k8s::text::count;
use crate::render::escape::escaped;
use crate::upgrade::{ClientChanges, GateChange, ShapeChange, UpgradeHop, UpgradeReport, UpgradeTotals};

/// A row of the table of totals: its name and its value.
type TotalsRow = (&'static str, fn(&UpgradeTotals) -> u64);

/// The rows of the table of totals.
const TOTALS: [TotalsRow; 8] = [
    ("LISTs read from etcd", |totals| totals.etcd_lists),
    ("GETs read from etcd", |totals| totals.etcd_gets),
    ("WATCHes opened in etcd", |totals| totals.etcd_watches),
    ("reads from the watch cache", |totals| totals.watch_cache_reads),
    ("limits honored", |totals| totals.limit_honored),
    ("limits ignored", |totals| totals.limit_ignored),
    ("requests refused", |totals| totals.refused),
    ("requests to removed APIs", |totals| totals.removed_apis),
];

/// The maximum length of the tables of clients in a Markdown page, in bytes. GitHub accepts comments of up to 65,536
/// characters.
const LONGEST_TABLES: usize = 50_000;

/// Renders the page for a terminal. `top` limits the rows of each table of clients.
#[must_use]
pub(crate) fn text(report: &UpgradeReport, top: usize, width: usize) -> String {
    let title = wrapped("", "", &title(report), width);
    let mut page = vec![format!("{BOLD}{}{BOLD:#}\n", title.trim_end())];
    page.push(wrapped("", "", &subject(report), width));
    page.push("\n".to_owned());
    page.push(totals(report, width));
    for hop in &report.hops {
        page.push(format!("\n{BOLD}{}{BOLD:#}\n", hop_title(hop)));
        if !hop.gates.is_empty() {
            page.push(wrapped("  ", "  ", &gates(&hop.gates), width));
        }
        if hop.clients.is_empty() {
            page.push("  No recorded request changes.\n".to_owned());
        }
        for (heading, style, is_worse) in
            [("Talk to these clients first", ERROR, true), ("These requests get cheaper", FIX, false)]
        {
            let rows = rows(hop, is_worse);
            if rows.is_empty() {
                continue;
            }
            let left = rows.len().saturating_sub(top);
            let cells = rows.iter().take(top).map(ChangeRow::cells).collect();
            page.push(format!("\n{style}{heading}{style:#}\n"));
            page.push(table(&COLUMNS, cells, REQUEST, width));
            if left > 0 {
                let more = format!("{left} more rows; --top {} shows all", rows.len());
                page.push(format!("{DIM}{more}{DIM:#}\n"));
            }
            page.push(reasons(rows.iter().take(top), width));
        }
    }
    if !report.notes.is_empty() {
        page.push(format!("\n{WARNING}What the log cannot show{WARNING:#}\n"));
    }
    for note in &report.notes {
        page.push(wrapped("- ", "  ", note, width));
    }
    page.concat()
}

/// Renders the page as Markdown, for a comment on a pull request.
#[must_use]
pub(crate) fn markdown(report: &UpgradeReport) -> String {
    let mut page =
        vec![format!("## {}\n\n{}\n\n", inline::words(&title(report)), inline::words(&subject(report)))];
    let versions = versions(report);
    page.push(format!("| | {} |\n|---|{}\n", versions.join(" | "), "---:|".repeat(versions.len())));
    for (name, value) in TOTALS {
        let values: Vec<String> = all_totals(report).map(|totals| count(value(totals))).collect();
        page.push(format!("| {name} | {} |\n", values.join(" | ")));
    }
    let mut omitted = 0;
    let mut room = LONGEST_TABLES;
    for hop in &report.hops {
        page.push(format!("\n### {}\n\n", hop_title(hop)));
        if !hop.gates.is_empty() {
            page.push(format!("{}\n\n", inline::words(&gates(&hop.gates))));
        }
        let rows: Vec<ChangeRow<'_>> = [true, false].iter().flat_map(|worse| rows(hop, *worse)).collect();
        if rows.is_empty() {
            page.push("No recorded request changes.\n".to_owned());
            continue;
        }
        page.push("| client | change | requests | request | reason |\n|---|---|---:|---|---|\n".to_owned());
        for row in rows {
            let [client, change, requests, request] = row.cells().try_into().expect("four columns");
            let line = format!(
                "| {} | {change} | {requests} | {} | {} |\n",
                inline::text_in_cell(&client),
                inline::code_in_cell(&request),
                inline::text_in_cell(&row.change.explanation)
            );
            room = room.saturating_sub(line.len());
            if room == 0 {
                omitted += 1;
            } else {
                page.push(line);
            }
        }
    }
    if omitted > 0 {
        page.push(format!("\n{} omitted; `--format json` has all.\n", counted(omitted, "row")));
    }
    if !report.notes.is_empty() {
        page.push("\n### What the log cannot show\n\n".to_owned());
        for note in &report.notes {
            page.push(format!("- {}\n", inline::words(note)));
        }
    }
    page.concat()
}

fn title(report: &UpgradeReport) -> String {
    let to: Vec<&str> = report.hops.iter().map(|hop| &*hop.to.kube_version).collect();
    format!("Upgrade of Kubernetes {} to {}", report.from.kube_version, to.join(", then "))
}

fn subject(report: &UpgradeReport) -> String {
    let span = match (&report.first_timestamp, &report.last_timestamp) {
        (Some(first), Some(last)) => format!(", from {} to {}", to_seconds(first), to_seconds(last)),
        _ => String::new(),
    };
    let files = match &*report.files {
        [file] => escaped(file).into_owned(),
        files => counted(files.len() as u64, "file"),
    };
    let (requests, clients) = (counted(report.requests, "request"), counted(report.clients, "client"));
    format!("{requests} of {clients} in {files}{span}")
}

fn hop_title(hop: &UpgradeHop) -> String {
    let etcd = hop.to.etcd_version.as_ref().map_or(String::new(), |etcd| format!(" (etcd {etcd})"));
    format!("{} → {}{etcd}", hop.from_version, hop.to.kube_version)
}

fn versions(report: &UpgradeReport) -> Vec<String> {
    let from = std::iter::once(&report.from.kube_version);
    from.chain(report.hops.iter().map(|hop| &hop.to.kube_version)).cloned().collect()
}

fn all_totals(report: &UpgradeReport) -> impl Iterator<Item = &UpgradeTotals> {
    std::iter::once(&report.from.totals).chain(report.hops.iter().map(|hop| &hop.to.totals))
}

fn totals(report: &UpgradeReport, width: usize) -> String {
    let versions = versions(report);
    let mut columns = vec![("", false)];
    columns.extend(versions.iter().map(|version| (&**version, true)));
    let rows = TOTALS.map(|(name, value)| {
        let values = all_totals(report).map(|totals| count(value(totals)));
        std::iter::once(name.to_owned()).chain(values).collect()
    });
    table(&columns, rows.into(), 0, width)
}

fn gates(gates: &[GateChange]) -> String {
    let on = |value: bool| if value { "on" } else { "off" };
    let texts = gates.iter().map(|gate| {
        let locked = if gate.can_be_set { "" } else { ", and cannot be set" };
        format!("{} goes {}{locked}", gate.gate, on(gate.after))
    });
    format!("Feature gates: {}.", texts.collect::<Vec<String>>().join("; "))
}

const COLUMNS: [(&str, bool); 4] =
    [("CLIENT", false), ("CHANGE", false), ("REQUESTS", true), ("REQUEST", false)];
/// The index of the column that is cut if the terminal is narrow.
const REQUEST: usize = 3;
/// The maximum width of the column of clients.
const WIDEST_CLIENT: usize = 40;

struct ChangeRow<'r> {
    client: &'r ClientChanges,
    change: &'r ShapeChange,
}

/// The rows of a hop: those that break or cost more, or the others.
fn rows(hop: &UpgradeHop, is_worse: bool) -> Vec<ChangeRow<'_>> {
    let all = hop
        .clients
        .iter()
        .flat_map(|client| client.changes.iter().map(move |change| ChangeRow { client, change }));
    all.filter(|row| row.change.is_worse == is_worse).collect()
}

impl ChangeRow<'_> {
    fn cells(&self) -> Vec<String> {
        let client = escaped(&self.client.name).into_owned();
        let client = super::display::cut_middle(&client, WIDEST_CLIENT, 5).into_owned();
        vec![client, self.kind(), count(self.change.requests), request(self.change)]
    }

    fn kind(&self) -> String {
        let text = match self.change.change {
            "api-removed" => "API is removed",
            "refused" => {
                return format!("refused with {}", self.change.status.unwrap_or_default());
            }
            "to-etcd" => "moves to etcd",
            "limit-ignored" => "limit is ignored",
            "from-etcd" => "moves to the watch cache",
            "limit-honored" => "limit is honored",
            _ => "is accepted",
        };
        text.to_owned()
    }
}

/// The request shape, such as `LIST pods?limit=500`.
fn request(change: &ShapeChange) -> String {
    let ShapeChange { verb, resource, subresource, scope, parameters, api, .. } = change;
    let subresource = subresource.as_ref().map_or(String::new(), |subresource| format!("/{subresource}"));
    let query = if parameters.is_empty() { String::new() } else { format!("?{parameters}") };
    let place = match (api, scope) {
        (Some(api), _) => format!(" ({api})"),
        (None, Some("namespace")) => " in one namespace".to_owned(),
        _ => String::new(),
    };
    let text = format!("{} {resource}{subresource}{query}{place}", verb.to_uppercase());
    escaped(&text).into_owned()
}

/// The reasons of the changes, each once.
fn reasons<'r>(rows: impl Iterator<Item = &'r ChangeRow<'r>>, width: usize) -> String {
    let mut texts: Vec<(String, &str)> = Vec::new();
    for row in rows {
        let reason = (row.kind(), &*row.change.explanation);
        if !texts.contains(&reason) {
            texts.push(reason);
        }
    }
    let lines = texts.iter().map(|(kind, reason)| {
        let first = format!("  {kind}: ");
        let indent = " ".repeat(columns_of(&first));
        wrapped(&first, &indent, reason, width)
    });
    lines.collect()
}
