//! The cases for a person at a terminal: a row for each, with what happens and the first step below it.

use super::clients::share;
use super::findings::{DIM, style};
use super::plain::{count, cut, escaped, short_count};
use super::table::{NARROW, wrapped};
use super::text::rounded;
use crate::report::cases;
use crate::report::v1::{Case, Report};

/// What the lines below a row begin with.
const INDENT: &str = "             ";
/// Rules that are named.
const TAGS: usize = 5;
/// The narrowest client column.
const LEAST: usize = 20;

/// The first cases, a row each.
#[must_use]
pub fn overview(report: &Report, top: usize, width: usize) -> String {
    let shown = report.cases.len().min(2 * top);
    let cases = &report.cases[..shown];
    let narrow = width < NARROW;
    let number = |number| if narrow { short_count(number) } else { count(number) };
    let figures: Vec<[String; 3]> = cases
        .iter()
        .map(|case| match case.members.count {
            0 => ["–".to_owned(), "–".to_owned(), "–".to_owned()],
            _ => [number(case.requests), number(rounded(case.peak_per_minute)), share(&case.load)],
        })
        .collect();
    let headings = ["requests", "peak/min", "load"];
    let widest = |column: usize| {
        let cells = figures.iter().map(|figures| figures[column].chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths = [0, 1, 2].map(widest);
    let names: Vec<String> = cases.iter().map(name).collect();
    // Where there is no room beside the figures, the rules are below them.
    let tags: Vec<String> =
        cases.iter().map(|case| if narrow { String::new() } else { named_rules(case) }).collect();
    let widest_tags = tags.iter().map(String::len).max().unwrap_or(0);
    let taken = INDENT.len() + 1 + widths.iter().map(|width| width + 2).sum::<usize>() + 2 + widest_tags;
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(taken).max(LEAST).min(longest.max("client".len()));
    let row = |name: &str, figures: [&str; 3], tags: &str| {
        let name = cut(name, room);
        let [requests, peak, load] = figures;
        let [a, b, c] = widths;
        format!("{name:<room$}  {requests:>a$}  {peak:>b$}  {load:>c$}  {tags}").trim_end().to_owned()
    };
    let mut page = format!("  # severity {}\n", row("client", headings, if narrow { "" } else { "rules" }));
    for (((case, name), figures), tags_of_row) in cases.iter().zip(&names).zip(&figures).zip(&tags) {
        let style = style(case.severity);
        let [requests, peak, load] = figures;
        let cells = row(name, [requests, peak, load], tags_of_row);
        let first = format!("{:>3} {style}{:<8}{style:#} {cells}\n", case.rank, case.severity);
        page.push_str(&first);
        page.push_str(&wrapped(INDENT, INDENT, &escaped(&case.what), width));
        if !case.fix.is_empty() {
            let fix = format!("fix: {}", escaped(&super::prose::plain(&case.fix)).replace('\n', " "));
            for line in wrapped(INDENT, INDENT, &fix, width).lines() {
                let line = format!("{DIM}{line}{DIM:#}\n");
                page.push_str(&line);
            }
        }
        if narrow {
            page.push_str(&wrapped(INDENT, INDENT, &named_rules(case), width));
        }
    }
    let more = report.cases.len() - shown;
    if more > 0 {
        let all = report.cases.len().div_ceil(2);
        let text = format!("and {more} more; --top {all} or another --format shows them");
        page.push_str(&wrapped("", "", &text, width));
    }
    page
}

/// The rules, as many as there is room for.
fn named_rules(case: &Case) -> String {
    let mut tags: Vec<String> = case.rules.iter().take(TAGS).map(|rule| escaped(rule).into_owned()).collect();
    if case.rules.len() > TAGS {
        tags.push(format!("+{}", case.rules.len() - TAGS));
    }
    tags.join(" ")
}

/// The client, or the program with what its members are.
pub(super) fn name(case: &Case) -> String {
    let client = case.client.as_deref().unwrap_or("the log itself");
    let members = usize::try_from(case.members.count).unwrap_or(usize::MAX);
    if members < 2 {
        return escaped(client).into_owned();
    }
    format!("{} ({})", escaped(client), cases::counted(case.members.kind, members))
}
