//! The parts of a rule's page. The terminal and Markdown render them in their own ways.

use super::cel::broken;
use super::family;
use crate::rules::Rule;
use crate::rules::rule::AudienceFix;
use crate::rules::text_template::TextTemplate;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PagePart {
    Heading(&'static str),
    /// A subheading, such as the client libraries that a fix is for.
    Under(String),
    /// Paragraphs, lists with `- `, and `code`.
    Prose(String),
    /// A condition, and the text that applies if it holds.
    Case(String, String),
    /// A language, and source text in that language.
    Code(&'static str, String),
    References(Vec<String>),
}

/// Returns the parts of the page in their order, from the message and the reason to the conditions. Breaks the
/// conditions into lines of at most `width` characters.
pub(super) fn parts(rule: &Rule, width: usize) -> Vec<PagePart> {
    let cel = |source: &str| PagePart::Code("cel", broken(source, width));
    let mut parts = vec![PagePart::Heading("Message"), PagePart::Prose(coded(&rule.message))];
    parts.extend([PagePart::Heading("Why"), PagePart::Prose(rule.why.clone()), PagePart::Heading("Fix")]);
    for (libraries, fix) in merged(&rule.fix) {
        parts.push(PagePart::Under(libraries));
        for (when, text) in &fix.cases {
            let text = text.source().to_owned();
            parts.push(match when {
                Some(when) => PagePart::Case(format!("When `{}`:", broken(&when.source, usize::MAX)), text),
                None if fix.cases.len() > 1 => PagePart::Case("Otherwise:".to_owned(), text),
                None => PagePart::Prose(text),
            });
        }
    }
    let others = [
        ("Trade-off", rule.tradeoff.as_ref().map(TextTemplate::source)),
        ("Quiet for", rule.quiet_for.as_deref()),
        ("Verify", rule.verify.as_ref().map(TextTemplate::source)),
    ];
    for (heading, text) in others {
        let Some(text) = text else { continue };
        parts.push(PagePart::Heading(heading));
        parts.extend(cases(text));
    }
    if !rule.references.is_empty() {
        parts.extend([PagePart::Heading("References"), PagePart::References(rule.references.clone())]);
    }
    parts.extend(silence(rule));
    parts.extend([PagePart::Heading("Condition"), PagePart::Prose(grouped(rule))]);
    if let Some(matches) = &rule.matches {
        parts.push(cel(&matches.source));
    }
    parts.push(PagePart::Heading("Levels"));
    if let Some(severity) = rule.fixed_severity {
        let policy = format!("The policy file gives each finding the severity `{severity}`.");
        parts.push(PagePart::Prose(policy));
    }
    if rule.group_by.budget {
        let severities: Vec<&str> = rule.levels.iter().map(|(severity, _)| severity.as_str()).collect();
        parts.push(PagePart::Prose(format!("The budget decides: {}.", severities.join(" or "))));
        return parts;
    }
    for (severity, condition) in &rule.levels {
        parts.push(PagePart::Under(severity.to_string()));
        parts.push(cel(&condition.source));
    }
    let thresholds: Vec<String> =
        rule.threshold_values().map(|(name, value)| format!("{name}: {}", value.to_json())).collect();
    if !thresholds.is_empty() {
        parts.push(PagePart::Under("thresholds".to_owned()));
        parts.push(PagePart::Code("yaml", thresholds.join("\n")));
    }
    parts
}

fn grouped(rule: &Rule) -> String {
    let family = match family::title(rule.family()) {
        Some(title) => format!("Family {}: {}. ", rule.family(), title.to_lowercase()),
        None => String::new(),
    };
    let words: Vec<&str> = rule.group_by.words().filter(|word| *word != "program").collect();
    let keys = match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => words.join(""),
    };
    let sums = if rule.group_by.program { ". It also judges all clients of a program together" } else { "" };
    let together = match (words.as_slice(), &rule.matches) {
        (["input"], _) => "It judges the whole input.".to_owned(),
        (["budget"], _) => "It judges a run by a budget (`kubetoll scan --budget`).".to_owned(),
        (_, None) => format!("It judges all requests, separately for each {keys}{sums}."),
        (_, Some(_)) => format!("It judges the requests that match, separately for each {keys}{sums}."),
    };
    family + &together
}

/// Splits a conditional text into a list of cases. Any other text stays one part.
fn cases(text: &str) -> Vec<PagePart> {
    let one_part = || vec![PagePart::Prose(text.to_owned())];
    let inside = text.trim().strip_prefix("{% if ").and_then(|text| text.strip_suffix("{% endif %}"));
    let Some(inside) = inside.filter(|text| !text.contains("{% if ")) else { return one_part() };
    let (cases, otherwise) = inside.split_once("{% else %}").unwrap_or((inside, ""));
    let mut parts = Vec::new();
    for case in cases.split("{% elif ") {
        let Some((when, text)) = case.split_once("%}") else { return one_part() };
        parts.push(PagePart::Case(format!("When `{}`:", when.trim()), text.trim().to_owned()));
    }
    if !otherwise.is_empty() {
        parts.push(PagePart::Case("Otherwise:".to_owned(), otherwise.trim().to_owned()));
    }
    parts
}

/// Formats a template, such as the message of a rule, as one code span. Placeholders stay as they are.
fn coded(text: &TextTemplate) -> String {
    format!("`{}`", text.source().replace('\n', " "))
}

/// Groups the fixes: clients with the same fix share one entry.
fn merged(fixes: &[AudienceFix]) -> Vec<(String, &AudienceFix)> {
    fn texts(fix: &AudienceFix) -> Vec<(Option<&str>, &str)> {
        let cases = fix.cases.iter();
        cases.map(|(when, text)| (when.as_ref().map(|when| when.source.as_str()), text.source())).collect()
    }
    let mut merged: Vec<(String, &AudienceFix)> = Vec::new();
    for fix in fixes {
        let name = fix.audience.title();
        match merged.iter_mut().find(|(_, other)| texts(other) == texts(fix)) {
            Some((names, _)) => {
                names.push_str(", ");
                names.push_str(name);
            }
            None => merged.push((name.to_owned(), fix)),
        }
    }
    merged
}

fn silence(rule: &Rule) -> Vec<PagePart> {
    let (what, client) = if rule.group_by.input {
        ("this finding", "")
    } else {
        ("this finding for one client", "    client: namespace/name\n")
    };
    let suppression = format!(
        "suppressions:\n  - rule: {}\n{client}    reason: why it is accepted\n    expires: 2027-03-31",
        rule.name
    );
    vec![
        PagePart::Heading("Silence it"),
        PagePart::Prose(format!(
            "To accept {what} until a date that you choose, add this to `kubetoll.yaml` (docs/policy.md):"
        )),
        PagePart::Code("yaml", suppression),
        PagePart::Prose("To skip this rule in one scan:".to_owned()),
        PagePart::Code("sh", format!("kubetoll scan audit.log --ignore {}", rule.name)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditional_text_becomes_a_list_of_cases() {
        let case = |when: &str, text: &str| PagePart::Case(when.to_owned(), text.to_owned());
        assert_eq!(
            cases("{% if client.job %}Wait.{% elif client.viewer %}Close.{% else %}WATCH.{% endif %}"),
            [
                case("When `client.job`:", "Wait."),
                case("When `client.viewer`:", "Close."),
                case("Otherwise:", "WATCH.")
            ]
        );
        let others = "{% if a %}A{% endif %} and {% if b %}B{% endif %}";
        assert_eq!(cases(others), [PagePart::Prose(others.to_owned())]);
    }
}
