//! The terminal page's table: a row for each case with its fix below, and summary lines for the rest.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::client_name::client_name;
use super::display::{cut, cut_middle, left_aligned, right_aligned, width as columns_of};
use super::load::share;
use super::names::shortened;
use super::plain::{count, counted, escaped, rounded, short_count, tenths};
use super::style::{self, BOLD, DIM, FIX};
use super::table::{NARROW, limited};
use crate::report::Report;
use crate::report::summary_rows::{SummaryContent, SummaryRow, shown_cases, summary_rows, without_finding};
use crate::report::v1::{Case, Client, Load};

/// The minimum table width at which rules have their own column.
const WIDE: usize = 140;
/// The maximum table width.
const WIDEST: usize = 170;
/// The maximum width of the client column. A wider column would only stretch the table.
const CLIENT: usize = 26;
const CLIENT_WIDE: usize = 36;
const WHAT_WIDE: usize = 72;
/// The minimum width of the column that says what clients do. Other columns are dropped to keep this width.
const WHAT: usize = 34;
/// The minimum width of the client column. The column shrinks to this width if the text beside it would be cut.
const CLIENT_LEAST: usize = 16;
/// The number of characters by which the client column shrinks at a time.
const STEP: usize = 2;
/// A long resource name is cut to this many columns. Its API group is removed first.
const RESOURCE: usize = 24;
/// The maximum number of lines for the text on what a client does. The text of the fix has the same limit.
const LINES: usize = 2;
/// The maximum number of rules that a case shows.
const TAGS: usize = 3;
/// If the report has no case on a client, the table shows this many clients: those with the most load.
const COSTLIEST: usize = 5;
/// The summary line names at most this many clients without a finding.
const NAMED: usize = 3;
/// The maximum width of the summary line for clients without a finding in Markdown, which has no table width.
const REST_TEXT: usize = 200;
const NO_FINDING: &str = ": no finding";
const OTHER_REQUESTS: &str = "other requests of clients with a finding";
pub(super) const CONTROL_PLANE: &str = "control plane";
/// The largest sum of rounding errors that a summary line corrects, in tenths of a percent. With hundreds of rows,
/// the sum could be larger. The corrected share would then be wrong.
const MOST_ROUNDING: i64 = 10;

/// A row for one case or client, or a summary line for many.
#[derive(Default)]
struct TableRow<'r> {
    rank: String,
    severity: &'static str,
    /// Empty for a summary line.
    client: String,
    what: String,
    /// The names on a summary line.
    many: Option<SummaryNames>,
    requests: Option<u64>,
    peak: Option<u64>,
    /// `None` if the row has no requests.
    load: Option<Load>,
    fix: String,
    rules: &'r [String],
    /// The resource that the sentence names. The resource's name is shortened before the sentence is cut.
    resource: Option<&'r str>,
}

impl TableRow<'_> {
    /// The text in at most `most` lines. If it does not fit, the resource's name is shortened before the text is cut.
    fn limited(&self, text: &str, width: usize, most: usize) -> Vec<String> {
        self.uncut(text, width, most)
            .or_else(|| Some(limited(self.without_group(text)?.last()?, width, most)))
            .unwrap_or_else(|| limited(text, width, most))
    }

    /// Returns the lines of a text that fits into `most` lines without a cut at its end. If it does not fit, tries it
    /// with a shorter name of the resource. Returns `None` if neither fits.
    fn uncut(&self, text: &str, width: usize, most: usize) -> Option<Vec<String>> {
        let short = || self.without_group(text)?.iter().find_map(|short| fitting(short, width, most));
        fitting(text, width, most).or_else(short)
    }

    /// Returns the text without the resource's API group, in two versions. In the second version, a long resource
    /// name is also cut.
    fn without_group(&self, text: &str) -> Option<[String; 2]> {
        let resource = escaped(self.resource?);
        let name = resource.split('/').next().filter(|name| !name.is_empty())?;
        let plural = name.split('.').next().filter(|plural| plural.len() < name.len());
        let plural = plural.map_or(name.to_owned(), |plural| format!("{plural}…"));
        let cut = cut_middle(&plural, RESOURCE, 8);
        Some([&plural, &*cut].map(|short| text.replace(name, short)))
    }
}

/// The lines of a text if it fits into `most` lines without breaking a word.
fn fitting(text: &str, width: usize, most: usize) -> Option<Vec<String>> {
    let lines = limited(text, width, most);
    lines.iter().flat_map(|line| line.split(' ')).eq(text.split_whitespace()).then_some(lines)
}

/// The names on a summary line.
struct SummaryNames {
    /// Each name, with the number of clients that it covers.
    names: Vec<(String, usize)>,
    /// The maximum number of names to show.
    named: usize,
    /// The text after the names, such as `: no finding`.
    end: &'static str,
}

struct Columns {
    gap: usize,
    rank: usize,
    client: usize,
    what: usize,
    requests: Option<usize>,
    peak: Option<usize>,
    load: usize,
    rules: Option<usize>,
    /// The width of the table, in columns of the terminal.
    width: usize,
}

/// The lines of the table without line feeds. Long texts are cut to keep the table within `room` lines, if possible.
pub(super) fn table(report: &Report, top: usize, width: usize, room: usize) -> Vec<String> {
    let mut rows = rows(report, top);
    if rows.is_empty() {
        return Vec::new();
    }
    let loads: Vec<Option<Load>> = rows.iter().map(|row| row.load).collect();
    let loads = shares(&loads, |at| rows[at].client.is_empty());
    let columns = Columns::fit(&rows, &loads, width);
    let names: Vec<String> = rows.iter().map(|row| row.client.clone()).collect();
    for (row, name) in rows.iter_mut().zip(shortened(&names, columns.client)) {
        row.client = name;
    }
    let mut lines = vec![columns.heading()];
    let mut spare = room.saturating_sub(least(&rows));
    let mut own_lines = Vec::with_capacity(rows.len());
    for (row, load) in rows.iter().zip(&loads) {
        let own = columns.row(row, load, (1 + spare).min(LINES));
        spare = spare.saturating_sub(own.len().saturating_sub(1));
        own_lines.push(own);
    }
    for (row, own) in rows.iter().zip(own_lines) {
        let fix = columns.fix(row, (1 + spare).min(LINES));
        spare = spare.saturating_sub(fix.len().saturating_sub(1));
        lines.extend(own.into_iter().chain(fix));
    }
    lines
}

/// The minimum number of lines of the table: each text on one line.
pub(super) fn least_lines(report: &Report, top: usize) -> usize {
    least(&rows(report, top))
}

/// The number of lines for the heading and these rows, if each text takes one line.
fn least(rows: &[TableRow<'_>]) -> usize {
    let lines: usize = rows.iter().map(|row| 1 + usize::from(!row.fix.is_empty())).sum();
    if rows.is_empty() { 0 } else { lines + 1 }
}

fn rows(report: &Report, top: usize) -> Vec<TableRow<'_>> {
    let shown = shown_cases(report, top);
    let mut rows: Vec<TableRow<'_>> =
        report.cases[..shown].iter().map(|case| case_row(report, case)).collect();
    let is_on_clients = report.cases.iter().any(|case| case.members.count > 0);
    let costliest = if is_on_clients { 0 } else { COSTLIEST };
    let cases = summary_rows(report, shown, costliest).into_iter();
    let (of_cases, others): (Vec<_>, Vec<_>) =
        cases.partition(|row| matches!(row.what, SummaryContent::Cases(_) | SummaryContent::Info(_)));
    rows.extend(of_cases.into_iter().map(summary_row));
    rows.extend(without_finding(report).take(costliest).map(client_row));
    rows.extend(others.into_iter().map(summary_row));
    rows
}

fn case_row<'r>(report: &Report, case: &'r Case) -> TableRow<'r> {
    let has_requests = case.members.count > 0;
    TableRow {
        rank: case.rank.to_string(),
        severity: case.severity,
        client: name(case),
        what: escaped(report.action(case)).into_owned(),
        fix: super::case::fix(case),
        rules: &case.rules,
        resource: case.resource.as_deref(),
        requests: has_requests.then_some(case.requests),
        peak: has_requests.then(|| rounded(case.peak_per_minute)),
        load: has_requests.then_some(case.load),
        many: None,
    }
}

fn client_row(client: &Client) -> TableRow<'_> {
    TableRow {
        rank: "–".to_owned(),
        client: client_name(client),
        what: work(client),
        requests: Some(client.counts.requests),
        peak: client.rate.as_ref().map(|rate| rounded(rate.peak_per_minute)),
        load: Some(client.load),
        ..TableRow::default()
    }
}

/// Describes a client's reads from etcd, its writes, and its ignored limits.
fn work(client: &Client) -> String {
    let counts = &client.counts;
    let of = |number: u64, noun: &str| (number > 0).then(|| counted(number, noun));
    let reads = [of(counts.etcd_lists, "LIST"), of(counts.etcd_gets, "GET")];
    let reads: Vec<String> = reads.into_iter().flatten().collect();
    let reads = match &*reads {
        [] => "no read from etcd".to_owned(),
        reads => format!("{} from etcd", reads.join(" and ")),
    };
    let parts = [Some(reads), of(counts.etcd_writes, "write"), of(counts.limit_ignored, "ignored limit")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn summary_row(summary: SummaryRow<'_>) -> TableRow<'_> {
    let row = TableRow { rank: "–".to_owned(), load: summary.load, ..TableRow::default() };
    let names = |names: Vec<(String, usize)>, named: usize, end: &'static str| {
        Some(SummaryNames { names, named, end })
    };
    match summary.what {
        SummaryContent::Cases(cases) => {
            let is_same = cases.iter().all(|case| case.severity == cases[0].severity);
            let severity = cases.first().filter(|_| is_same).map_or("", |case| case.severity);
            let top = cases.last().map_or(0, |case| case.rank);
            let what = format!("{}: --top {top}", more_cases(cases));
            TableRow { rank: "+".to_owned(), severity, what, ..row }
        }
        SummaryContent::Info(cases) => {
            let what = format!("{} ({}): ", counted(cases.len() as u64, "case"), ranks(cases));
            let clients = clients_of(cases);
            let many =
                names(clients.iter().map(|name| (name.clone(), 1)).collect(), clients.len(), ": --details");
            TableRow { rank: String::new(), severity: "info", what, many, ..row }
        }
        SummaryContent::Clients(clients) => {
            TableRow { many: names(client_names(&clients), NAMED, NO_FINDING), ..row }
        }
        SummaryContent::Requests => TableRow { what: OTHER_REQUESTS.to_owned(), ..row },
    }
}

/// Returns the text of a summary row for Markdown, which has no table width.
pub(super) fn summary_text(content: &SummaryContent<'_>) -> String {
    match content {
        SummaryContent::Cases(cases) => more_cases(cases),
        SummaryContent::Info(cases) => format!("{} for information", more_cases(cases)),
        SummaryContent::Clients(clients) => {
            let names = client_names(clients);
            let many = SummaryNames { named: NAMED, names, end: NO_FINDING };
            summary_line(&TableRow { many: Some(many), ..TableRow::default() }, REST_TEXT)
        }
        SummaryContent::Requests => OTHER_REQUESTS.to_owned(),
    }
}

fn more_cases(cases: &[Case]) -> String {
    let noun = if cases.len() == 1 { "case" } else { "cases" };
    format!("{} more {noun} ({}{})", count(cases.len() as u64), ranks(cases), severities(cases))
}

/// Formats the number of cases by severity: `: 1 error, 2 warnings`. Empty if all cases have the same severity.
fn severities(cases: &[Case]) -> String {
    let of = |severity: &str| cases.iter().filter(|case| case.severity == severity).count() as u64;
    let parts: Vec<String> = [("error", "error"), ("warning", "warning"), ("info", "case for information")]
        .into_iter()
        .filter(|(severity, _)| of(severity) > 0)
        .map(|(severity, noun)| counted(of(severity), noun))
        .collect();
    if parts.len() < 2 { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// The clients or programs of these cases, without duplicates.
fn clients_of(cases: &[Case]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    cases.iter().map(name).filter(|name| seen.insert(name.clone())).collect()
}

/// Formats the range of the cases' ranks: `8–12`.
fn ranks(cases: &[Case]) -> String {
    match cases {
        [] => String::new(),
        [only] => only.rank.to_string(),
        [first, .., last] => format!("{}–{}", first.rank, last.rank),
    }
}

pub(super) fn is_control_plane(client: &Client) -> bool {
    let of_manager = || client.user_agents.iter().any(|agent| agent.product == "kube-controller-manager");
    client.kind == "control-plane" || (client.kind == "service-account" && of_manager())
}

/// Returns client names, the name with the most load first. With each name, returns how many clients it covers:
/// `control plane` covers several.
fn client_names(clients: &[&Client]) -> Vec<(String, usize)> {
    let mut names: Vec<(u64, usize, String)> = Vec::new();
    let (control_plane, others): (Vec<&Client>, Vec<&Client>) =
        clients.iter().partition(|client| is_control_plane(client));
    if !control_plane.is_empty() {
        let load = control_plane.iter().map(|client| client.load.amount).fold(0, u64::saturating_add);
        names.push((load, control_plane.len(), CONTROL_PLANE.to_owned()));
    }
    names.extend(others.iter().map(|client| (client.load.amount, 1, client_name(client))));
    names.sort_by_key(|(load, ..)| Reverse(*load));
    names.into_iter().map(|(_, clients, name)| (name, clients)).collect()
}

/// Formats the load of each row as a share. Each share is rounded as in the other formats, so the sum of the shares
/// may differ from the total. The summary row with the largest load takes this difference, so that the shares add up.
pub(super) fn shares(loads: &[Option<Load>], is_summary: impl Fn(usize) -> bool) -> Vec<String> {
    let parts = loads.iter().filter_map(|load| load.as_ref()?.share);
    let difference = tenths(parts.clone().sum()) - parts.map(tenths).sum::<i64>();
    let rest = loads.iter().enumerate().filter(|(at, _)| is_summary(*at));
    let largest = rest.max_by_key(|(at, load)| (load.map(|load| load.amount), Reverse(*at)));
    let largest = largest.map(|(at, _)| at).filter(|_| difference.abs() <= MOST_ROUNDING);
    let share = |(at, load): (usize, &Option<Load>)| match load {
        Some(load) if largest == Some(at) => {
            share(&Load { share: load.share.map(|part| moved(part, difference)), ..*load })
        }
        Some(load) => share(load),
        None => "–".to_owned(),
    };
    loads.iter().enumerate().map(share).collect()
}

/// Adds `by` tenths of a percent to a share. A share above zero stays above zero.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
fn moved(part: f64, by: i64) -> f64 {
    if part > 0.0 { (part + by as f64 / 1_000.0).max(f64::MIN_POSITIVE) } else { part }
}

impl Columns {
    /// Chooses the width of the client column. A wide column leaves less room for the sentences beside it. A narrower
    /// column wins if it cuts fewer sentences and does not make more client names look equal.
    fn fit(rows: &[TableRow<'_>], loads: &[String], width: usize) -> Self {
        let names: Vec<String> = rows.iter().map(|row| row.client.clone()).collect();
        let most = if width >= WIDE { CLIENT_WIDE } else { CLIENT };
        let client = rows.iter().map(|row| columns_of(&row.client)).fold(6, usize::max).min(most);
        let client = client.min((width / 3).max(6));
        let of = |client: usize| {
            let columns = Self::with(client, rows, loads, width);
            let own = rows.iter().filter(|row| !row.client.is_empty());
            let cut = own.filter(|row| columns.is_cut(row)).count();
            let distinct: BTreeSet<String> = shortened(&names, client).into_iter().collect();
            ((cut, Reverse(distinct.len())), columns)
        };
        let (mut least, mut best) = of(client);
        for client in (CLIENT_LEAST..client).rev().step_by(STEP) {
            if least.0 == 0 {
                break;
            }
            let (own, columns) = of(client);
            if own.0 < least.0 && own.1 <= least.1 {
                (least, best) = (own, columns);
            }
        }
        best
    }

    /// Whether the sentence on the client is cut, even after the resource's name is shortened.
    fn is_cut(&self, row: &TableRow<'_>) -> bool {
        row.requests.is_some() && row.uncut(&row.what, self.what, LINES).is_none()
    }

    fn with(client: usize, rows: &[TableRow<'_>], loads: &[String], width: usize) -> Self {
        let gap = if width < NARROW { 1 } else { 2 };
        let (is_wide, width) = (width >= WIDE, width.min(WIDEST));
        let widest = |cells: &mut dyn Iterator<Item = usize>, least: usize| cells.fold(least, usize::max);
        let rank = widest(&mut rows.iter().map(|row| columns_of(&row.rank)), 2);
        let load = widest(&mut loads.iter().map(|load| columns_of(load)), 6);
        let figure = |number: Option<u64>| number.map_or(0, |number| figure(number).len());
        let requests = widest(&mut rows.iter().map(|row| figure(row.requests)), 3);
        let peak = widest(&mut rows.iter().map(|row| figure(row.peak)), 8);
        let tags = widest(&mut rows.iter().map(|row| columns_of(&tags(row.rules, TAGS))), 5);
        let fixed = rank + gap + 5 + gap + client + gap + gap + load;
        let mut what = width.saturating_sub(fixed);
        let mut add = |column: usize| {
            let is_in = what >= WHAT + gap + column;
            what -= if is_in { gap + column } else { 0 };
            is_in.then_some(column)
        };
        let requests = add(requests);
        let peak = if requests.is_some() { add(peak) } else { None };
        let rules = if is_wide { add(tags) } else { None };
        if is_wide {
            let longest =
                rows.iter().filter(|row| !row.client.is_empty()).map(|row| columns_of(&row.what)).max();
            what = what.min(longest.unwrap_or(0).clamp(WHAT, WHAT_WIDE));
        }
        Self { gap, rank, client, what: what.max(10), requests, peak, load, rules, width }
    }

    fn heading(&self) -> String {
        let Self { rank, client, what, load, .. } = *self;
        let gap = " ".repeat(self.gap);
        let figures = self.figures("REQ", "PEAK/min");
        let rules = if self.rules.is_some() { format!("{gap}RULES") } else { String::new() };
        format!(
            "{DIM}{:>rank$}{gap}SEV  {gap}{:<client$}{gap}{:<what$}{figures}{gap}{:>load$}{rules}{DIM:#}",
            "#", "CLIENT", "WHAT", "LOAD"
        )
    }

    fn figures(&self, requests: &str, peak: &str) -> String {
        let columns = [(self.requests, requests), (self.peak, peak)];
        let cells = columns.iter().filter_map(|(column, text)| {
            let width = (*column)? + self.gap;
            Some(right_aligned(text, width))
        });
        cells.collect()
    }

    /// The width of the column for what a client does, plus the columns for its numbers.
    fn what_and_figures(&self) -> usize {
        let figures = [self.requests, self.peak];
        self.what + figures.iter().flatten().map(|width| width + self.gap).sum::<usize>()
    }

    fn row(&self, row: &TableRow<'_>, load: &str, most: usize) -> Vec<String> {
        let gap = " ".repeat(self.gap);
        let color = style::severity(row.severity);
        let severity = if row.severity == "warning" { "warn" } else { row.severity };
        let first = format!("{:>rank$}{gap}{color}{severity:<5}{color:#}{gap}", row.rank, rank = self.rank);
        let (client, what) = (self.client, self.what);
        let load = right_aligned(load, self.load);
        if row.client.is_empty() {
            let room = client + self.gap + self.what_and_figures();
            return vec![format!(
                "{first}{DIM}{}{DIM:#}{gap}{load}",
                left_aligned(&summary_line(row, room), room)
            )];
        }
        let number = |number: Option<u64>| number.map_or("–".to_owned(), figure);
        let (what, figures) = match row.requests {
            Some(_) => (what, self.figures(&number(row.requests), &number(row.peak))),
            // A case on the log itself has no figures, so its text may be wider.
            None => (self.what_and_figures(), String::new()),
        };
        let mut parts = row.limited(&row.what, what, most).into_iter();
        let rules = match self.rules {
            Some(_) => format!("{gap}{DIM}{}{DIM:#}", tags(row.rules, TAGS)),
            None => String::new(),
        };
        let line = format!(
            "{first}{BOLD}{}{BOLD:#}{gap}{}{figures}{gap}{load}{rules}",
            left_aligned(&row.client, client),
            left_aligned(&parts.next().unwrap_or_default(), what)
        );
        let mut lines = vec![line];
        let indent = " ".repeat(self.rank + self.gap + 5 + self.gap + client + self.gap);
        lines.extend(parts.map(|part| format!("{indent}{part}")));
        lines
    }

    /// The lines of the fix. If the rules have no column, they are at the end of the first line.
    fn fix(&self, row: &TableRow<'_>, most: usize) -> Vec<String> {
        if row.fix.is_empty() {
            return Vec::new();
        }
        // The fix starts at the severity column. This leaves enough width for a whole sentence and the rule ids
        // beside it.
        let indent = self.rank + self.gap;
        let room = self.width.saturating_sub(indent + "fix: ".len());
        let has_tags = self.rules.is_none() && !row.rules.is_empty();
        let beside = |number: usize| match number {
            0 => room,
            _ => room.saturating_sub(columns_of(&tags(row.rules, number)) + 2),
        };
        let most_tags = if has_tags { TAGS } else { 0 };
        let fewest_tags = usize::from(has_tags);
        let uncut = |lines: usize| {
            let mut tags = (fewest_tags..=most_tags).rev();
            tags.find_map(|number| Some((number, row.uncut(&row.fix, beside(number), lines)?)))
        };
        let (number, texts) = (1..=most)
            .find_map(uncut)
            .unwrap_or_else(|| (fewest_tags, row.limited(&row.fix, beside(fewest_tags), most)));
        let tags = if number == 0 { String::new() } else { tags(row.rules, number) };
        let blanks = " ".repeat(indent);
        let line = |(at, text): (usize, String)| {
            let label = if at == 0 { "fix:" } else { "    " };
            let fix = format!("{blanks}{DIM}{label}{DIM:#} {FIX}{text}{FIX:#}");
            if at > 0 || tags.is_empty() {
                return fix;
            }
            let pad = " ".repeat(room.saturating_sub(columns_of(&text) + columns_of(&tags)));
            format!("{fix}{pad}{DIM}{tags}{DIM:#}")
        };
        texts.into_iter().enumerate().map(line).collect()
    }
}

/// A summary line with as many names as fit.
fn summary_line(row: &TableRow<'_>, room: usize) -> String {
    let Some(SummaryNames { names, named, end }) = &row.many else {
        return cut(&row.what, room).into_owned();
    };
    let line = |shown: usize| {
        let mut parts: Vec<String> = names[..shown].iter().map(|(name, _)| name.clone()).collect();
        let others: usize = names[shown..].iter().map(|(_, clients)| clients).sum();
        if others > 0 {
            parts.push(counted(others as u64, if shown == 0 { "client" } else { "other" }));
        }
        let last = parts.pop().unwrap_or_default();
        let all = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
        format!("{}{all}{end}", row.what)
    };
    // If only one name would be left, show it, too. It takes about as much room as "1 other".
    let most = if names.len() == named + 1 { named + 1 } else { names.len().min(*named) };
    // Stop when the line is full: a log may have millions of names.
    let mut used = columns_of(&row.what);
    let fit = names[..most].iter().take_while(|(name, _)| {
        used += columns_of(name);
        used <= room
    });
    let fits = (0..=fit.count()).rev().map(line).find(|line| columns_of(line) <= room);
    fits.unwrap_or_else(|| cut(&line(0), room).into_owned())
}

fn figure(number: u64) -> String {
    if number < 1_000_000 { count(number) } else { short_count(number) }
}

/// The ids of the first `number` rules, and how many more there are: `KT101 KT204 +3`.
fn tags(rules: &[String], number: usize) -> String {
    let mut tags: Vec<String> = rules.iter().take(number).map(|rule| escaped(rule).into_owned()).collect();
    if rules.len() > number {
        tags.push(format!("+{}", rules.len() - number));
    }
    tags.join(" ")
}

/// Returns the client's name, escaped. For a program, adds the number of its members: `backup (40 namespaces)`.
pub(super) fn name(case: &Case) -> String {
    escaped(&super::case::client(case)).into_owned()
}
