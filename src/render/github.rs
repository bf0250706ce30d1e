//! The findings as workflow commands of GitHub Actions: an annotation for each.

use super::escape::without_marks;
use super::facts;
use super::plain::{count, escaped};
use super::prose;
use crate::report::v1::{Finding, Report};

/// GitHub shows ten errors and ten warnings of a step; more only make its log longer.
const MAX_ANNOTATIONS: usize = 50;

/// What is not of a rule.
const KUBETOLL: &[(&str, &str)] = &[("title", "kubetoll")];

/// Renders the report: a line for each finding, errors before warnings before notices.
#[must_use]
pub fn render(report: &Report) -> String {
    let of = |severity: &'static str| {
        report.findings.iter().filter(move |finding| finding.severity == severity).map(annotation)
    };
    let amiss = facts::amiss(report);
    let amiss = amiss.iter().map(|wrong| command("warning", KUBETOLL, &escaped(wrong)));
    let mut lines: Vec<String> = of("error").chain(of("warning")).chain(amiss).chain(of("info")).collect();
    if report.findings.is_empty() {
        let none = format!("{}. What the log does not hold was not judged.", facts::verdict(report));
        lines.push(command("notice", KUBETOLL, &none));
    }
    let more = lines.len().saturating_sub(MAX_ANNOTATIONS);
    lines.truncate(MAX_ANNOTATIONS);
    if more > 0 {
        let left_out =
            format!("{} more; the job's summary and the other formats have them", count(more as u64));
        lines.push(command("notice", KUBETOLL, &left_out));
    }
    lines.concat()
}

fn annotation(finding: &Finding) -> String {
    let level = if finding.severity == "info" { "notice" } else { finding.severity };
    let title = format!("{} {}", finding.rule.id, finding.rule.name);
    let mut properties = Vec::new();
    let line;
    if let Some(evidence) = &finding.evidence {
        line = evidence.line.to_string();
        properties.extend([("file", &*evidence.file), ("line", &line)]);
    }
    properties.push(("title", &title));
    let example = finding.evidence.as_ref().map_or_else(String::new, |evidence| {
        format!("\n\nFor example {} (auditID {})", escaped(&evidence.uri), escaped(&evidence.audit_id))
    });
    let message =
        format!("{}{example}\n\nWhat to change: {}", escaped(&finding.message), prose::plain(&finding.fix));
    command(level, &properties, &message)
}

/// A workflow command. The runner knows four escapes: of per cent, line feed and carriage return, and in properties
/// of what ends one, too.
fn command(name: &str, properties: &[(&str, &str)], message: &str) -> String {
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
    fn what_ends_a_property_or_a_line_is_escaped() {
        let line = command("error", &[("file", "a,b::c"), ("line", "3")], "50%\nx::y,z");
        assert_eq!(line, "::error file=a%2Cb%3A%3Ac,line=3::50%25%0Ax::y,z\n");
    }
}
