//! Findings for a person at a terminal.

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};

use super::clients::share;
use super::over_time::OverTime;
use super::plain::{count, counted, escaped};
use super::table::wrapped;
use super::{cases, facts, prose};
use crate::report::v1::{Case, Finding, Member, Report};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const INFO: Style = AnsiColor::Cyan.on_default().bold();
const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// What stands in front of a finding's lines, and as many blanks.
const INDENT: &str = "                ";

pub(super) fn style(severity: &str) -> Style {
    match severity {
        "error" => ERROR,
        "warning" => WARNING,
        _ => INFO,
    }
}

/// The first cases with an error or a warning: all that is known of the findings of their worst member.
#[must_use]
pub fn details(report: &Report, top: usize, width: usize) -> String {
    let mut page = String::new();
    let mut told: Vec<(&str, &str)> = Vec::new();
    let mut clients: Vec<Option<&str>> = Vec::new();
    let over_time = OverTime::of(report);
    let by_print: HashMap<&str, &Finding> =
        report.findings.iter().map(|finding| (&*finding.fingerprint, finding)).collect();
    for case in report.cases.iter().filter(|case| case.severity != "info").take(top) {
        let findings = case.findings.iter().filter_map(|print| by_print.get(&**print).copied());
        let findings: Vec<&Finding> = findings.collect();
        let Some(first) = findings.first() else { continue };
        let heading = format!("{BOLD}{}. {}{BOLD:#}\n", case.rank, cases::name(case));
        page.push_str(&heading);
        let client = first.client.as_deref();
        if !clients.contains(&client) {
            clients.push(client);
            page.push_str(&who(first, &over_time, width));
        }
        if case.members.count > 1 {
            page.push_str(&titled("Worst", &worst(case), width));
        }
        let of_worst = findings.into_iter().filter(|finding| finding.client.as_deref() == client);
        for finding in of_worst.filter(|finding| finding.severity != "info") {
            page.push_str(&full(finding, &mut told, width));
        }
    }
    page
}

/// The worst members of a case, with their requests.
fn worst(case: &Case) -> String {
    let member = |member: &Member| {
        format!(
            "{} ({}, {})",
            escaped(&member.name),
            counted(member.requests, "request"),
            share(&member.load)
        )
    };
    let named: Vec<String> = case.members.worst.iter().map(member).collect();
    let all = format!("all {}: {}", count(case.members.count), counted(case.requests, "request"));
    format!("{}; {all}", named.join(", "))
}

/// A line that is copied as it stands, however long it is.
fn copied(title: &str, text: &str) -> String {
    format!("  {title:<14}{text}\n")
}

fn who(finding: &Finding, over_time: &OverTime<'_>, width: usize) -> String {
    let mut page = String::new();
    let room = width.saturating_sub(INDENT.len());
    for (title, line) in facts::who(finding).into_iter().chain(over_time.lines(finding, room)) {
        page.push_str(&titled(title, &line.plain(), width));
    }
    page
}

fn titled(title: &str, text: &str, width: usize) -> String {
    wrapped(&format!("  {title:<14}"), INDENT, text, width)
}

fn line(finding: &Finding, width: usize) -> String {
    let style = style(finding.severity);
    let tag = format!("{style}{:<8}{style:#}{:<5} ", finding.severity, finding.rule.id);
    let text = wrapped(&" ".repeat(14), &" ".repeat(14), &escaped(&finding.message), width);
    format!("{tag}{}", &text[14..])
}

/// A finding with all that is known of it. What was told of the same rule is not told again.
fn full<'f>(finding: &'f Finding, told: &mut Vec<(&'f str, &'f str)>, width: usize) -> String {
    let mut page = line(finding, width);
    page.push_str(&titled("Rule", &finding.rule.name, width));
    for (title, line) in facts::what_and_why(finding) {
        page.push_str(&titled(title, &line.plain(), width));
    }
    let mut once = |title: &str, text: &'f str| {
        let again = (&*finding.rule.id, text);
        if told.contains(&again) {
            page.push_str(&titled(title, "as above", width));
            return;
        }
        told.push(again);
        let lines = prose::plain(text);
        for (index, line) in lines.lines().filter(|line| !line.is_empty()).enumerate() {
            page.push_str(&titled(if index == 0 { title } else { "" }, line, width));
        }
    };
    // The whole of it is on the rule's page; the path's own sentence is told above.
    once("Why", finding.why.split("\n\n").next().unwrap_or_default());
    once("Fix", &finding.fix);
    if let Some(tradeoff) = &finding.tradeoff {
        once("But", tradeoff);
    }
    let room = width.saturating_sub(INDENT.len());
    let commands = finding.verify.lines().flat_map(|command| command_lines(&escaped(command), room));
    for (index, part) in commands.enumerate() {
        let title = if index == 0 { "Verify" } else { "" };
        page.push_str(&copied(title, &part));
    }
    page.push_str(&titled("More", &format!("kubetoll rules explain {}", finding.rule.id), width));
    page.push('\n');
    page
}

/// The words of a command as they are written: with their quotes, `'…'` and `$'…'`.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut by_dollar, mut escaped, mut before) = (false, false, false, ' ');
    for c in command.chars() {
        let is_escaped = std::mem::take(&mut escaped);
        match c {
            _ if is_escaped => {}
            '\\' if !quoted || by_dollar => escaped = true,
            '\'' => {
                by_dollar = !quoted && before == '$';
                quoted = !quoted;
            }
            ' ' if !quoted => {
                words.push(String::new());
                before = c;
                continue;
            }
            _ => {}
        }
        before = c;
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words
}

/// A command on lines that a shell reads as one, of so many characters where its words allow it.
fn command_lines(command: &str, room: usize) -> Vec<String> {
    let words = shell_words(command);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_cut_where_a_shell_goes_on() {
        let lines = command_lines("kubetoll classify 'GET /a b c d e f g' --kube-version 1.30.4", 30);
        assert_eq!(lines, ["kubetoll classify \\", "  'GET /a b c d e f g' \\", "  --kube-version 1.30.4"]);
        assert_eq!(command_lines("kubectl get --raw /x", 80), ["kubectl get --raw /x"]);
        let hostile = r"scan --user 'a'\''; touch /x #' --verb $'a\' b' list";
        let words = ["scan", "--user", r"'a'\''; touch /x #'", "--verb", r"$'a\' b'", "list"];
        assert_eq!(shell_words(hostile), words);
    }
}
