//! The worst cases as workflow commands of GitHub Actions. Each case becomes an annotation.

use super::case::{self, FindingIndex};
use super::escape::without_marks;
use super::facts;
use super::plain::{count, counted, cut, escaped};
use crate::report::Report;
use crate::report::v1::Case;

/// The maximum number of cases that become annotations. GitHub shows ten errors, ten warnings and ten notices for each
/// step of a job.
const MAX_CASES: usize = 10;
/// The maximum number of lines on problems of the rules or the policy.
const MAX_WARNINGS: usize = 20;
/// The maximum length of a title, in characters. GitHub accepts 255.
const MAX_TITLE: usize = 200;

const KUBETOLL: &[(&str, &str)] = &[("title", "kubetoll")];

/// Renders a line for each of the worst cases, in report order. The last line counts the other cases.
pub(crate) fn render(report: &Report) -> String {
    let findings = FindingIndex::new(report);
    // GitHub silently drops the eleventh annotation of a level.
    let (mut warnings, mut notices) = (0, usize::from(report.cases.len() > MAX_CASES));
    let problems = facts::problems(report);
    warnings += usize::from(!problems.is_empty());
    let fits = |case: &&Case| {
        let level = match case.severity {
            "warning" => &mut warnings,
            "info" => &mut notices,
            _ => return true,
        };
        *level += 1;
        *level <= MAX_CASES
    };
    let cases: Vec<&Case> = report.cases.iter().take(MAX_CASES).filter(fits).collect();
    let mut lines: Vec<String> = cases.iter().map(|case| annotation(case, &findings)).collect();
    if report.cases.is_empty() {
        let none = format!("{}. kubetoll judges only what the log holds.", facts::verdict(report));
        lines.push(command("notice", KUBETOLL, &none));
    }
    let more = report.cases.len() - cases.len();
    if more > 0 {
        let all = counted(report.cases.len() as u64, "case");
        let more = count(more as u64);
        let text = format!("{more} more of {all}: see the summary of this job, or use --format json");
        lines.push(command("notice", KUBETOLL, &text));
    }
    let mut shown: Vec<String> =
        problems.iter().take(MAX_WARNINGS).map(|wrong| escaped(wrong).into_owned()).collect();
    if problems.len() > MAX_WARNINGS {
        shown.push(format!("and {} more", count((problems.len() - MAX_WARNINGS) as u64)));
    }
    if !shown.is_empty() {
        lines.push(command("warning", KUBETOLL, &shown.join("\n")));
    }
    lines.concat()
}

fn annotation(case: &Case, findings: &FindingIndex<'_>) -> String {
    let level = if case.severity == "info" { "notice" } else { case.severity };
    let title = format!("{}. {}: {}", case.rank, case::client(case), case.rules.join(" "));
    let lead = findings.worst_findings(case).first().copied();
    let evidence = lead.and_then(|finding| finding.evidence.as_ref());
    let place = match (&case.source, evidence) {
        (Some(source), _) => Some((&*source.path, source.line)),
        (None, Some(evidence)) => Some((&*evidence.file, evidence.line)),
        (None, None) => None,
    };
    let line = place.map(|(_, line)| line.to_string()).unwrap_or_default();
    let mut properties = Vec::new();
    if let Some((file, _)) = place {
        properties.extend([("file", file), ("line", &line)]);
    }
    let title = cut(&title, MAX_TITLE);
    properties.push(("title", &title));
    let mut message = vec![escaped(&case::sentence(case)).into_owned()];
    let fix = case::fix(case);
    if !fix.is_empty() {
        message.push(format!("Fix: {fix}"));
    }
    message.push(case::summary(case));
    if let Some(evidence) = evidence {
        let text = format!(
            "Log: {}:{}, audit ID {}: {}",
            evidence.file, evidence.line, evidence.audit_id, evidence.uri
        );
        message.push(escaped(&text).into_owned());
    }
    command(level, &properties, &message.join("\n"))
}

/// Formats a workflow command. The runner decodes `%25`, `%0A` and `%0D`. In properties, it also decodes `%3A` and
/// `%2C`.
pub(super) fn command(name: &str, properties: &[(&str, &str)], message: &str) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(&escaped(text)).replace(':', "%3A").replace(',', "%2C");
    let properties: Vec<String> =
        properties.iter().map(|(name, value)| format!("{name}={}", property(value))).collect();
    without_marks(&format!("::{name} {}::{}\n", properties.join(","), data(message)))
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn command_escapes_property_and_line_ends() {
        let line = command("error", &[("file", "a,b::c"), ("line", "3")], "50%\nx::y,z");
        assert_eq!(line, "::error file=a%2Cb%3A%3Ac,line=3::50%25%0Ax::y,z\n");
    }
}
