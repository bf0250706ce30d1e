//! A rule's help as Markdown.

use super::inline::{code, prose, words};
use crate::render::links;
use crate::report::v1::{RuleInfo, RuleRef};

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

pub(super) fn title(rule: &RuleRef) -> String {
    format!("{} {}", words(&rule.id), words(&rule.name))
}

fn reference(reference: &str) -> String {
    match links::reference(reference) {
        Some(url) if url == reference => format!("<{url}>"),
        Some(url) => format!("[{reference}]({url})"),
        None => code(reference),
    }
}

#[cfg(test)]
mod tests {
    use super::reference;

    #[test]
    fn reference_is_a_link_if_its_url_is_known() {
        assert_eq!(
            reference("KEP-2340"),
            "[KEP-2340](https://github.com/kubernetes/enhancements/issues/2340)"
        );
        assert_eq!(reference("https://kubernetes.io/docs/"), "<https://kubernetes.io/docs/>");
        assert_eq!(reference("a) book"), "`a) book`");
    }
}
