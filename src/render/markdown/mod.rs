//! The report as Markdown for a pull request comment, a job summary or an issue. The table of cases comes first;
//! details are folded. The only HTML is for folding and for line breaks in cells.

pub(super) mod inline;
mod rule;

use self::inline::{code, code_block, code_in_cell, code_in_html, line, prose, text, text_in_cell, words};
pub(super) use self::rule::help;
use super::case::{self, FindingIndex};
use super::escape::without_commands;
use super::load::share;
use super::over_time::{self, OverTime};
use super::plain::{count, counted, cut, escaped, rounded};
use super::prose::Line;
use super::{cases, etcd_log, facts};
use crate::report::Report;
use crate::report::summary_rows::{SummaryContent, SummaryRow, summary_rows};
use crate::report::v1::{Case, Finding, Load, Suppressed};

/// The maximum length of the page, in characters. A GitHub comment holds 65,536.
pub(crate) const MAX_CHARS: usize = 60_000;
/// The maximum number of characters of all table rows. The rest of the page is for details.
const TABLE_CHARS: usize = 20_000;
/// The maximum number of characters of each other list, such as problems with the input or the policy.
const LIST_CHARS: usize = 3_000;
/// The maximum number of characters of the section on etcd.
const ETCD_CHARS: usize = 8_000;
/// The number of characters reserved for the page's end, and for rows and lines that count omitted cases.
const REST_CHARS: usize = 2_000;
/// kubetoll renders the details of a case only if more characters than this are free.
const LEAST_DETAILS: usize = 500;
/// The maximum length of a text that clients may choose, in characters, before Markdown escapes.
const MAX_TEXT: usize = 400;
/// The maximum length of a rule's text, in characters. It contains names that clients choose.
const MAX_PROSE: usize = 4_000;
/// A case lists at most this many findings.
const MAX_FINDINGS: usize = 10;
/// The number of characters that GitHub shows on a line without wrapping.
const WIDTH: usize = 90;

/// Renders the report in at most [`MAX_CHARS`] characters. Cases that do not fit are only counted.
pub(crate) fn render(report: &Report) -> String {
    let title = format!("# kubetoll: {}\n\n", text(&facts::verdict(report)));
    let mind =
        list(facts::problems(report).iter().map(|wrong| format!("- **Warning:** {}\n", short_text(wrong))));
    let tail = [etcd(report), policy(report), read(report)].concat();
    let end = "A rule's page: `kubetoll rules explain KT101`.\n";
    let end = if report.cases.is_empty() { "kubetoll judges only what the log holds.\n" } else { end };
    let fixed = [&title, &mind, &tail].map(|part| chars(part)).iter().sum::<usize>() + REST_CHARS;
    let mut room = CharBudget(MAX_CHARS.saturating_sub(fixed));

    let mut of_table = CharBudget(room.0.min(TABLE_CHARS));
    let rows: Vec<String> = of_table.fill(report.cases.iter().map(|case| row(report, case))).collect();
    room.0 = room.0.saturating_sub(rows.iter().map(|row| chars(row)).sum());
    let summary = summary_rows(report, rows.len(), 0);
    let shown = report.cases[..rows.len()].iter();
    let loads: Vec<Option<Load>> = shown
        .map(|case| (case.members.count > 0).then_some(case.load))
        .chain(summary.iter().map(|row| row.load))
        .collect();
    let loads = cases::shares(&loads, |at| at >= rows.len());
    let summary = summary_lines(&summary, &loads[rows.len()..]);
    let unit = match report.totals.load.unit {
        "objects" => "Load: share of the objects that the apiserver handled, and of writes.",
        _ => "Load: share of request time, without watches.",
    };
    let table = format!("{HEADING}{}{summary}\n{unit}\n\n", rows.concat());
    let table = if rows.is_empty() { String::new() } else { table };

    let findings = FindingIndex::new(report);
    let over_time = OverTime::new(report);
    let mut without = 0;
    let mut folded = String::new();
    for case in &report.cases {
        // Once the page is nearly full, rendering more details is a waste. A report can have thousands of cases.
        let block = (room.0 > LEAST_DETAILS).then(|| details(case, &findings, &over_time));
        match block.filter(|block| room.take(block)) {
            Some(block) => folded.push_str(&block),
            None => without += 1,
        }
    }
    let left_out = left_out(report.cases.len() - rows.len(), without);
    let page = [&*title, &table, &left_out, &mind, &folded, &tail, end].concat();
    page.trim_end().to_owned() + "\n"
}

const HEADING: &str = "| # | severity | client | what | requests | peak/min | load | rules |\n\
                       |--:|---|---|---|--:|--:|--:|---|\n";

/// The number of characters that are still free on the page.
struct CharBudget(usize);

impl CharBudget {
    /// Reserves the characters of a text, if they fit. Returns whether they do.
    fn take(&mut self, text: &str) -> bool {
        let left = self.0.checked_sub(chars(text));
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// Returns the texts before the first text that does not fit.
    fn fill(&mut self, texts: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
        texts.take_while(|text| self.take(text))
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Returns the sentence that counts the cases without a row (`of_table`) and the cases without details
/// (`of_details`).
fn left_out(of_table: usize, of_details: usize) -> String {
    let cases = |number: usize| counted(number as u64, "case");
    let missing = match (of_table, of_details) {
        (0, 0) => return String::new(),
        (0, details) => format!("The details of {} are left out", cases(details)),
        (rows, details) => format!(
            "{} and the details of {} are left out",
            counted(rows as u64, "more case"),
            count(details as u64)
        ),
    };
    format!("{missing}: a comment holds no more. `kubetoll scan … --format json` has all of them.\n\n")
}

fn row(report: &Report, case: &Case) -> String {
    let figures = match case.members.count {
        0 => ["–".to_owned(), "–".to_owned(), "–".to_owned()],
        _ => [count(case.requests), count(rounded(case.peak_per_minute)), share(&case.load)],
    };
    let fix = case::fix(case);
    let fix = if fix.is_empty() { fix } else { format!("<br>**fix:** {}", in_cell(&fix)) };
    let row = format!(
        "| {} | {} | {} | {}{fix} | {} | {} |\n",
        case.rank,
        case.severity,
        code_in_cell(&case::client(case)),
        in_cell(&case::does(report, case)),
        figures.join(" | "),
        in_cell(&case.rules.join(" "))
    );
    without_commands(&row).into_owned()
}

/// Renders rows for everything that the rows of cases do not cover. With them, the loads add up to the total.
fn summary_lines(rows: &[SummaryRow<'_>], loads: &[String]) -> String {
    let row = |(row, load): (&SummaryRow<'_>, &String)| {
        let rank =
            if matches!(row.what, SummaryContent::Cases(_) | SummaryContent::Info(_)) { "+" } else { "–" };
        format!("| {rank} |  |  | {} |  |  | {load} |  |\n", in_cell(&cases::summary_text(&row.what)))
    };
    rows.iter().zip(loads).map(row).collect()
}

fn in_cell(text: &str) -> String {
    text_in_cell(&cut(&escaped(text), MAX_TEXT))
}

fn short_text(text: &str) -> String {
    self::text(&cut(&escaped(text), MAX_TEXT))
}

fn short_line(line: &Line) -> String {
    self::line(&line.cut(MAX_TEXT))
}

/// Wraps a body in a block that opens on a click. The summary is HTML.
fn folded(summary: &str, body: &str) -> String {
    let block = format!("<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n\n", body.trim_end());
    without_commands(&block).into_owned()
}

/// Renders the details of a case's worst member.
fn details(case: &Case, findings: &FindingIndex<'_>, over_time: &OverTime<'_>) -> String {
    let worst_findings = findings.worst_findings(case);
    let client = code_in_html(&case::client(case));
    let summary = format!("{}. {} {client}: {}", case.rank, case.severity, code_in_html(&case::rules(case)));
    let mut out = vec![format!("{}\n\n", short_text(&case::sentence(case)))];
    out.extend(case::size(case).map(|size| format!("- **Case:** {size}\n")));
    out.extend(case::source(case).map(|source| format!("- **Source:** {}\n", code(&source))));
    out.extend(case::members(case).map(|worst| format!("- **Worst members:** {}\n", short_text(&worst))));
    if let Some(lead) = worst_findings.first() {
        let who = facts::client_lines(lead).into_iter().chain(over_time.lines(lead, WIDTH));
        let facts = who.chain(facts::request_lines(lead));
        out.extend(facts.map(|(title, fact)| format!("- **{title}:** {}\n", short_line(&fact))));
        let short = |prose: &str| self::prose(&cut(prose, MAX_PROSE));
        let why = lead.why.split("\n\n").next().unwrap_or_default();
        let parts = [
            ("Fix", short(&lead.fix)),
            ("Tradeoff", short(lead.tradeoff.as_deref().unwrap_or_default())),
            ("Why", short(why)),
            ("Verify", commands(&lead.verify)),
            ("Afterwards", short(lead.look_for.as_deref().unwrap_or_default())),
            ("Findings", if worst_findings.len() > 1 { messages(&worst_findings) } else { String::new() }),
        ];
        let parts = parts.iter().filter(|(_, body)| !body.is_empty());
        out.extend(parts.map(|(title, body)| format!("\n**{title}**\n\n{body}")));
    }
    folded(&summary, &out.concat())
}

/// Renders the commands, for copying. A command that is too long is left out, never cut.
fn commands(verify: &str) -> String {
    let (complete, long): (Vec<&str>, Vec<&str>) =
        verify.lines().partition(|command| chars(&escaped(command)) <= 2 * MAX_TEXT);
    let block = if complete.is_empty() { String::new() } else { code_block("sh", &complete.join("\n")) };
    let rest = match long.len() {
        0 => String::new(),
        more => format!("\n{} too long for this page: `--format json`.\n", counted(more as u64, "command")),
    };
    block + &rest
}

fn messages(findings: &[&Finding]) -> String {
    let message = |finding: &&Finding| {
        format!("- {}, {}: {}\n", finding.severity, rule::title(&finding.rule), short_words(&finding.message))
    };
    let shown: String = findings.iter().take(MAX_FINDINGS).map(message).collect();
    match findings.len().saturating_sub(MAX_FINDINGS) {
        0 => shown,
        more => format!("{shown}- and {more} more\n"),
    }
}

fn short_words(text: &str) -> String {
    words(&cut(&escaped(text), MAX_TEXT))
}

/// Renders a list, up to the first line that does not fit.
fn list(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| without_commands(&line).into_owned()).collect();
    let all = lines.len();
    let shown: Vec<String> = CharBudget(LIST_CHARS).fill(lines.into_iter()).collect();
    let more = match all - shown.len() {
        0 => String::new(),
        more => format!("- and {} more: `--format json`\n", count(more as u64)),
    };
    if all == 0 { String::new() } else { format!("{}{more}\n", shown.concat()) }
}

fn read(report: &Report) -> String {
    let lines = facts::read(report);
    let lines = lines.iter().map(|read| format!("- {}\n", short_text(read)));
    let peaks = over_time::peaks(report);
    let peaks = peaks.iter().map(|peak| format!("- Peak: {}\n", short_text(peak)));
    folded("Input and server", &list(lines.chain(peaks)))
}

fn etcd(report: &Report) -> String {
    let Some(log) = &report.etcd_log else { return String::new() };
    let mut out = vec![list(etcd_log::summary(log).iter().map(|read| format!("- {}\n", short_line(read))))];
    let rows = etcd_log::rows(log);
    if !rows.is_empty() {
        let cells = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let columns = etcd_log::COLUMNS;
        out.push(cells(&mut columns.iter().map(|(name, _)| name.replace('\n', " "))));
        out.push(cells(
            &mut columns.iter().map(|(_, number)| if *number { "--:" } else { "---" }.to_owned()),
        ));
        for row in rows {
            let mut texts = row.iter();
            let resource = texts.next().map(|name| code_in_cell(&cut(name, MAX_TEXT)));
            out.push(cells(&mut resource.into_iter().chain(texts.map(|text| in_cell(text)))));
        }
        out.push("\n".to_owned());
    }
    let details = etcd_log::details(log);
    out.push(list(details.iter().map(|(title, detail)| {
        let title = if title.is_empty() { String::new() } else { format!("**{title}:** ") };
        format!("- {title}{}\n", short_line(detail))
    })));
    let mut room = CharBudget(ETCD_CHARS);
    let out: Vec<String> = room.fill(out.into_iter()).collect();
    folded("What etcd says", &out.concat())
}

fn policy(report: &Report) -> String {
    let suppressed = &report.policy.suppressed;
    if suppressed.is_empty() {
        return String::new();
    }
    let line = |one: &Suppressed| {
        format!(
            "- {}, {}: {} (until {}: {})\n",
            one.severity,
            rule::title(&one.rule),
            short_words(&one.message),
            one.expires,
            short_words(&one.reason)
        )
    };
    let held = counted(suppressed.len() as u64, "finding");
    folded(&format!("{held} held back by the policy"), &list(suppressed.iter().map(line)))
}
