//! The report as Markdown: for the summary of a job, an issue, a page of a wiki. It holds no HTML.

mod inline;
mod rule;

use self::inline::{code, code_block, code_in_cell, line, prose, text, text_in_cell, words};
pub(super) use self::rule::help;
use super::escape::without_commands;
use super::over_time::{self, OverTime};
use super::plain::count;
use super::{etcd_log, facts};
use crate::report::v1::{Finding, Report, Suppressed};

/// GitHub takes 1 MiB for the summary of a step, and drops all of a longer one.
const MAX_BYTES: usize = 900_000;
/// Characters of a line that GitHub shows without a break.
const WIDTH: usize = 90;

/// Renders the report. Findings that would make it longer than 900 kB are left out, and counted.
#[must_use]
pub fn render(report: &Report) -> String {
    let head = head(report);
    let tail = format!("{}{}{}", etcd(report), policy(report), rule::all(report));
    let mut left = MAX_BYTES.saturating_sub(head.len() + tail.len());
    let mut rows = String::new();
    let mut sections = String::new();
    let mut client = None;
    let over_time = OverTime::of(report);
    let mut shown = 0;
    for finding in &report.findings {
        let row = row(finding);
        let mut section = section(finding);
        if client != Some(&finding.client) {
            section.insert_str(0, &format!("## {}\n\n{}", heading(finding), times(finding, &over_time)));
            client = Some(&finding.client);
        }
        let Some(rest) = left.checked_sub(row.len() + section.len()) else { break };
        left = rest;
        rows.push_str(&row);
        sections.push_str(&section);
        shown += 1;
    }
    if shown > 0 {
        rows.insert_str(0, "\n| severity | rule | client | resource | finding |\n|---|---|---|---|---|\n");
    }
    let more = match report.findings.len() - shown {
        0 => String::new(),
        more => {
            format!("{} more findings are left out: this page would be too long.\n\n", count(more as u64))
        }
    };
    let page = format!("{head}{rows}\n{more}{sections}{tail}");
    without_commands(page.trim_end()).into_owned() + "\n"
}

fn head(report: &Report) -> String {
    let mut head = vec![format!("# kubetoll: {}\n\n", facts::verdict(report))];
    if report.findings.is_empty() {
        head.push("What the log does not hold was not judged.\n\n".to_owned());
    }
    head.extend(facts::read(report).iter().map(|read| format!("- {}\n", text(read))));
    head.extend(over_time::peaks(report).iter().map(|peak| format!("- Peak: {}\n", text(peak))));
    head.extend(facts::amiss(report).iter().map(|wrong| format!("- **Mind:** {}\n", text(wrong))));
    head.concat()
}

fn row(finding: &Finding) -> String {
    let resource = finding.resource.as_deref().map_or_else(String::new, code_in_cell);
    let client =
        if finding.client.is_some() { code_in_cell(facts::client(finding)) } else { "–".to_owned() };
    format!(
        "| {} | {} | {client} | {resource} | {} |\n",
        finding.severity,
        rule::link(&finding.rule),
        text_in_cell(&finding.message)
    )
}

fn heading(finding: &Finding) -> String {
    match finding.client {
        Some(_) => code(facts::client(finding)),
        None => "What the log does not show".to_owned(),
    }
}

fn times(finding: &Finding, over_time: &OverTime<'_>) -> String {
    let lines = over_time.lines(finding, WIDTH);
    let lines: Vec<String> =
        lines.iter().map(|(title, times)| format!("- **{title}:** {}\n", line(times))).collect();
    if lines.is_empty() { String::new() } else { lines.concat() + "\n" }
}

fn section(finding: &Finding) -> String {
    let resource = finding.resource.as_deref().map_or_else(String::new, |name| format!(": {}", code(name)));
    let mut out = vec![format!(
        "### {}: {}{resource}\n\n{}\n\n",
        finding.severity,
        rule::title(&finding.rule.id, &finding.rule.name),
        text(&finding.message)
    )];
    out.extend(facts::of(finding).iter().map(|(title, fact)| format!("- **{title}:** {}\n", line(fact))));
    let verify = if finding.verify.is_empty() { String::new() } else { code_block("sh", &finding.verify) };
    let parts = [
        ("What to change", prose(&finding.fix)),
        ("What that makes worse", prose(finding.tradeoff.as_deref().unwrap_or_default())),
        ("To verify", verify),
        ("Afterwards", prose(finding.look_for.as_deref().unwrap_or_default())),
    ];
    let parts = parts.iter().filter(|(_, body)| !body.is_empty());
    out.extend(parts.map(|(title, body)| format!("\n**{title}**\n\n{body}")));
    out.concat() + "\n"
}

/// What etcd's own log says.
fn etcd(report: &Report) -> String {
    let Some(log) = &report.etcd_log else { return String::new() };
    let mut out = vec!["## What etcd says\n\n".to_owned()];
    out.extend(etcd_log::summary(log).iter().map(|read| format!("- {}\n", line(read))));
    let rows = etcd_log::rows(log);
    if !rows.is_empty() {
        let cells = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let columns = etcd_log::COLUMNS;
        out.push("\n".to_owned());
        out.push(cells(&mut columns.iter().map(|(name, _)| name.replace('\n', " "))));
        out.push(cells(
            &mut columns.iter().map(|(_, number)| if *number { "--:" } else { "---" }.to_owned()),
        ));
        for row in rows {
            let mut texts = row.iter();
            let resource = texts.next().map(|name| code_in_cell(name));
            out.push(cells(&mut resource.into_iter().chain(texts.map(|text| text_in_cell(text)))));
        }
    }
    let details = etcd_log::details(log);
    if !details.is_empty() {
        out.push("\n".to_owned());
    }
    for (title, told) in &details {
        let title = if title.is_empty() { String::new() } else { format!("**{title}:** ") };
        out.push(format!("- {title}{}\n", line(told)));
    }
    out.concat() + "\n"
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
            rule::link(&one.rule),
            words(&one.message),
            one.expires,
            words(&one.reason)
        )
    };
    let lines: Vec<String> = suppressed.iter().map(line).collect();
    format!("## Held back by the policy\n\n{}\n", lines.concat())
}
