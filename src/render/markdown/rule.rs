//! Rules as Markdown: their texts once, to which findings link.

use std::collections::BTreeSet;

use super::inline::{code, prose, words};
use crate::report::v1::{Report, RuleInfo, RuleRef};

/// The rules of the report's findings.
pub(super) fn all(report: &Report) -> String {
    let found = report.findings.iter().map(|finding| &finding.rule);
    let named: BTreeSet<&str> =
        found.chain(report.policy.suppressed.iter().map(|one| &one.rule)).map(|rule| &*rule.id).collect();
    let rules: Vec<String> = report
        .rules
        .iter()
        .filter(|rule| named.contains(rule.id.as_str()))
        .map(|rule| format!("### {}\n\n{}\n", title(&rule.id, &rule.name), help(rule)))
        .collect();
    if rules.is_empty() { String::new() } else { format!("## The rules\n\n{}", rules.concat()) }
}

/// What a rule says of itself.
pub(in crate::render) fn help(rule: &RuleInfo) -> String {
    let mut out = vec![format!("{}.\n\n{}", words(rule.summary.trim_end_matches('.')), prose(&rule.why))];
    if let Some(quiet) = &rule.quiet_for {
        out.push(format!("\n**Looks like it and is by design**\n\n{}", prose(quiet)));
    }
    if !rule.references.is_empty() {
        let references: Vec<String> = rule.references.iter().map(|one| reference(one)).collect();
        out.push(format!("\nSee {}.\n", references.join(", ")));
    }
    out.concat()
}

pub(super) fn title(id: &str, name: &str) -> String {
    format!("{} {}", words(id), words(name))
}

/// A link to the rule's heading, by the name that GitHub gives to one.
pub(super) fn link(rule: &RuleRef) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let anchor = |text: &str| text.chars().filter(kept).collect::<String>().to_ascii_lowercase();
    format!("[{}](#{}-{})", title(&rule.id, &rule.name), anchor(&rule.id), anchor(&rule.name))
}

/// A link where a reference names an address, an issue on GitHub or an enhancement proposal, whose number is its
/// issue's.
fn reference(reference: &str) -> String {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic() && !"<>()[]`\\".contains(c));
    if !is_plain(reference) {
        return code(reference);
    }
    if reference.starts_with("https://") {
        return format!("<{reference}>");
    }
    let number = |text: &str| text.parse::<u32>().ok();
    if let Some(issue) = reference.strip_prefix("KEP-").and_then(number) {
        return format!("[{reference}](https://github.com/kubernetes/enhancements/issues/{issue})");
    }
    match reference.split_once('#').map(|(repository, issue)| (repository, number(issue))) {
        Some((repository, Some(issue))) if repository.contains('/') => {
            format!("[{repository}#{issue}](https://github.com/{repository}/issues/{issue})")
        }
        _ => code(reference),
    }
}

#[cfg(test)]
mod tests {
    use super::reference;

    #[test]
    fn references_are_links_where_their_place_is_known() {
        assert_eq!(
            reference("KEP-2340"),
            "[KEP-2340](https://github.com/kubernetes/enhancements/issues/2340)"
        );
        assert_eq!(
            reference("antrea-io/antrea#1044"),
            "[antrea-io/antrea#1044](https://github.com/antrea-io/antrea/issues/1044)"
        );
        assert_eq!(reference("https://kubernetes.io/docs/"), "<https://kubernetes.io/docs/>");
        assert_eq!(reference("a) book"), "`a) book`");
        assert_eq!(reference("[x](javascript:y)"), "`[x](javascript:y)`");
    }
}
