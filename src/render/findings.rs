//! Findings for a person at a terminal.

use anstyle::{AnsiColor, Style};

use super::plain::{count, counted, cut, duration, escaped};
use super::table::wrapped;
use crate::report::v1::{Evidence, Finding, Named, Path, Report, Who};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const INFO: Style = AnsiColor::Cyan.on_default().bold();
const BOLD: Style = Style::new().bold();

/// What stands in front of a finding's lines, and as many blanks.
const INDENT: &str = "             ";

fn style(severity: &str) -> Style {
    match severity {
        "error" => ERROR,
        "warning" => WARNING,
        _ => INFO,
    }
}

/// `3 errors, 1 warning and 2 infos`, or what was judged without any.
#[must_use]
pub fn summary(report: &Report) -> String {
    let counts = report.finding_counts;
    let parts: Vec<String> = [(counts.error, "error"), (counts.warning, "warning"), (counts.info, "info")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| counted(number, noun))
        .collect();
    match parts.as_slice() {
        [] => format!(
            "none by {}, of what this log shows of {}",
            counted(report.rules.len() as u64, "rule"),
            counted(report.totals.counts.requests, "request")
        ),
        [one] => one.clone(),
        [parts @ .., last] => format!("{} and {last}", parts.join(", ")),
    }
}

/// The findings, a line each.
#[must_use]
pub fn overview(report: &Report, top: usize, width: usize) -> String {
    let shown = report.findings.len().min(2 * top);
    let mut page: String = report.findings[..shown].iter().map(|finding| line(finding, width)).collect();
    if shown < report.findings.len() {
        let more = (report.findings.len() - shown) as u64;
        let text = format!("and {more} more; --top {} or another --format shows them", report.findings.len());
        page.push_str(&wrapped("", "", &text, width));
    }
    page
}

/// Errors and warnings with all that is known of them, of the first clients.
#[must_use]
pub fn details(report: &Report, top: usize, width: usize) -> String {
    let mut page = String::new();
    let mut told: Vec<(&str, &str)> = Vec::new();
    let mut clients: Vec<Option<&str>> = Vec::new();
    for finding in report.findings.iter().filter(|finding| finding.severity != "info") {
        let client = finding.client.as_deref();
        if clients.last() != Some(&client) {
            if clients.len() == top {
                break;
            }
            clients.push(client);
            page.push_str(&heading(finding, width));
        }
        page.push_str(&full(finding, &mut told, width));
    }
    page
}

fn heading(finding: &Finding, width: usize) -> String {
    let name = finding.who.as_ref().map_or("the log itself", |who| &who.name);
    let mut page = format!("{BOLD}{}{BOLD:#}\n", escaped(name));
    if let Some(who) = &finding.who {
        page.push_str(&wrapped("  ", "  ", &escaped(&whom(who)), width));
    }
    page
}

/// Who it is, in a sentence.
fn whom(who: &Who) -> String {
    let mut facts = Vec::new();
    if let Some(account) = &who.service_account {
        facts.push(format!("ServiceAccount {} in namespace {}", account.name, account.namespace));
    }
    if let Some(real) = &who.impersonated_by {
        facts.push(format!("impersonated by {real}"));
    }
    facts.extend(named(&who.pods, "pod"));
    facts.extend(named(&who.nodes, "node"));
    let agents: Vec<String> = who
        .user_agents
        .iter()
        .map(
            |(product, example)| {
                if example.is_empty() { product.clone() } else { cut(example, 60).into_owned() }
            },
        )
        .collect();
    facts.push(format!("user agent {}", agents.join(", ")));
    if let (Some(first), Some(last)) = (&who.first_timestamp, &who.last_timestamp) {
        facts.push(format!("seen {} to {}", seconds(first), seconds(last)));
    }
    facts.join("; ")
}

/// An instant without the fractions of its second.
fn seconds(timestamp: &str) -> String {
    let text = timestamp.split(['.', 'Z']).next().unwrap_or(timestamp);
    text.replacen('T', " ", 1)
}

fn named(names: &Named, noun: &str) -> Option<String> {
    if names.count == 0 {
        return None;
    }
    let more = if names.more { " or more" } else { "" };
    let rest = if names.count > names.examples.len() as u64 { ", …" } else { "" };
    Some(format!("{}{more} ({}{rest})", counted(names.count, noun), names.examples.join(", ")))
}

fn line(finding: &Finding, width: usize) -> String {
    let style = style(&finding.severity);
    let tag = format!("{style}{:<8}{style:#}{:<5} ", finding.severity, finding.rule.id);
    let text = wrapped(&" ".repeat(14), &" ".repeat(14), &escaped(&finding.message), width);
    format!("{tag}{}", &text[14..])
}

/// A finding with all that is known of it. What was told of the same rule is not told again.
fn full<'f>(finding: &'f Finding, told: &mut Vec<(&'f str, &'f str)>, width: usize) -> String {
    let mut page = line(finding, width);
    let mut add = |name: &str, text: &str| {
        page.push_str(&wrapped(&format!("  {name:<11}"), INDENT, text, width));
    };
    add("rule", &finding.rule.name);
    if let Some(shape) = &finding.shape {
        let others =
            finding.stats.get("shapes").and_then(serde_json::Value::as_u64).unwrap_or(1).saturating_sub(1);
        let others =
            if others > 0 { format!(", and {}", counted(others, "other shape")) } else { String::new() };
        add("what", &format!("{}{others}", escaped(shape)));
    }
    if let Some(path) = &finding.path {
        add("served", &served(path));
    }
    add("how much", &how_much(finding));
    if let Some(evidence) = &finding.evidence {
        // A target is one word, so that it can be copied.
        add("example", &escaped(&cut(&evidence.uri, 3 * width)));
        add("", &place(evidence));
    }
    let why = finding.path.as_ref().map(|path| path.explanation.as_str()).filter(|_| is_of_reads(finding));
    let why = why.unwrap_or_else(|| finding.why.split("\n\n").next().unwrap_or_default());
    let mut once = |name: &str, text: &'f str| {
        let again = (finding.rule.id.as_str(), text);
        if told.contains(&again) {
            add(name, "as above");
        } else {
            told.push(again);
            for (index, paragraph) in paragraphs(text).iter().enumerate() {
                add(if index == 0 { name } else { "" }, &escaped(paragraph));
            }
        }
    };
    once("why", why);
    once("fix", &finding.fix);
    if let Some(tradeoff) = &finding.tradeoff {
        once("but", tradeoff);
    }
    let room = width.saturating_sub(INDENT.len());
    let commands = finding.verify.lines().flat_map(|command| command_lines(&escaped(command), room));
    for (index, part) in commands.enumerate() {
        let name = if index == 0 { "verify" } else { "" };
        page.push_str(&format_line(name, &part));
    }
    page.push('\n');
    page
}

/// Whether the verdict's own sentence says why: for rules on where reads are answered from, and on their limits.
fn is_of_reads(finding: &Finding) -> bool {
    finding.rule.id.starts_with("KT1") || finding.rule.id.starts_with("KT2")
}

fn served(path: &Path) -> String {
    let likely = path.likely.as_ref().map_or(String::new(), |likely| format!(", most likely {likely}"));
    let limit = if path.limit == "ignored" { ", limit ignored" } else { "" };
    let measured = if path.agree + path.contradict == 0 {
        String::new()
    } else {
        let (agree, contradict) = (count(path.agree), count(path.contradict));
        format!("; the server's own measurements: {agree} for it, {contradict} against")
    };
    let Path { served_from, reason, certainty, kube_version, .. } = path;
    format!("{served_from}{likely}{limit} ({reason}, {certainty}, Kubernetes {kube_version}){measured}")
}

fn how_much(finding: &Finding) -> String {
    let number = |name: &str| finding.stats.get(name).and_then(serde_json::Value::as_f64);
    let whole = |name: &str| finding.stats.get(name).and_then(serde_json::Value::as_u64);
    let mut parts = Vec::new();
    if let Some(requests) = whole("requests") {
        parts.push(counted(requests, "request"));
    }
    if let Some(peak) = number("peakPerMinute") {
        parts.push(format!("{peak} a minute at peak"));
    }
    if let Some(share) = number("shareOfRequests") {
        parts.push(format!("{share} % of all"));
    }
    if let Some(share) = number("shareOfEtcdReads") {
        parts.push(format!("{share} % of the reads from etcd"));
    }
    if let (Some(half), Some(most)) = (whole("p50Millis"), whole("p99Millis")) {
        parts.push(format!("p50 {}, p99 {}", duration(half * 1_000), duration(most * 1_000)));
    }
    if parts.is_empty() { "see the message".to_owned() } else { parts.join(", ") }
}

fn place(evidence: &Evidence) -> String {
    format!("{}:{} {}", escaped(&evidence.file), evidence.line, escaped(&evidence.audit_id))
}

fn format_line(name: &str, text: &str) -> String {
    format!("  {name:<11}{text}\n")
}

/// A command on lines that a shell reads as one, of so many characters where its words allow it.
fn command_lines(command: &str, room: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_quoted = false;
    for part in command.split(' ') {
        match words.last_mut().filter(|_| is_quoted) {
            Some(word) => {
                word.push(' ');
                word.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
        is_quoted ^= part.matches('\'').count() % 2 == 1;
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        // Two more characters make the line go on.
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() + 2 <= room;
        if let Some(line) = lines.last_mut().filter(fits) {
            line.push(' ');
            line.push_str(&word);
        } else {
            if let Some(line) = lines.last_mut() {
                line.push_str(" \\");
            }
            let indent = if lines.is_empty() { "" } else { "  " };
            lines.push(format!("{indent}{word}"));
        }
    }
    lines
}

/// Prose as lines to wrap: a paragraph or an item of a list each.
fn paragraphs(prose: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in prose.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("- ") {
            goes_on = false;
        }
        match all.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None if !line.is_empty() => all.push(line.to_owned()),
            None => {}
        }
        goes_on = !line.is_empty();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_paragraphs_and_items() {
        let prose = "One\ntwo.\n\n- a\n  b\n- c\n\nEnd.\n";
        assert_eq!(paragraphs(prose), ["One two.", "- a b", "- c", "End."]);
    }

    #[test]
    fn commands_are_cut_where_a_shell_goes_on() {
        let lines = command_lines("kubetoll classify 'GET /a b c d e f g' --kube-version 1.30.4", 30);
        assert_eq!(lines, ["kubetoll classify \\", "  'GET /a b c d e f g' \\", "  --kube-version 1.30.4"]);
        assert_eq!(command_lines("kubectl get --raw /x", 80), ["kubectl get --raw /x"]);
    }

    #[test]
    fn instants_are_short() {
        assert_eq!(seconds("2026-11-20T20:35:54.654431Z"), "2026-11-20 20:35:54");
    }
}
