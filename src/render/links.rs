//! URLs of pages on kubetoll and its rules. A page without a known URL gets no link.

use crate::report::v1::RuleInfo;
use crate::rules::rule_set::is_embedded;

/// The repository, which the build job sets. docs/ci.md describes this variable and `KUBETOLL_REVISION`.
const GIVEN: Option<&str> = option_env!("KUBETOLL_REPOSITORY");
const REVISION: Option<&str> = option_env!("KUBETOLL_REVISION");
/// The repository in Cargo.toml; empty if there is none.
const OF_PACKAGE: &str = env!("CARGO_PKG_REPOSITORY");
/// The page on audit logs in the Kubernetes documentation, used if no repository is known.
const AUDITING: &str = "https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/";

/// Returns the URL of kubetoll's repository, else [`AUDITING`].
pub(super) fn about() -> String {
    repository(GIVEN, OF_PACKAGE).unwrap_or_else(|| AUDITING.to_owned())
}

/// Returns the URL of a rule's page in the repository. If that URL is not known, returns the URL of the best
/// reference. Kubernetes documentation is better than other pages; issues are the last choice.
pub(super) fn rule(rule: &RuleInfo) -> Option<String> {
    let page = repository(GIVEN, OF_PACKAGE).filter(|_| is_embedded(&rule.name));
    let page = page.and_then(|repository| page_in(&repository, &rule.name, REVISION));
    let mut references: Vec<&String> = rule.references.iter().collect();
    references.sort_by_key(|text| {
        (!text.starts_with("https://kubernetes.io/docs/"), !text.starts_with("https://"))
    });
    page.or_else(|| references.into_iter().find_map(|reference| self::reference(reference)))
}

/// Returns the URL of a reference: a URL itself, an issue on GitHub, or a KEP. The number of a KEP is also the number
/// of its issue.
pub(super) fn reference(reference: &str) -> Option<String> {
    let is_plain = reference.chars().all(|c| c.is_ascii_graphic() && !"<>()[]`\\\"".contains(c));
    if !is_plain {
        return None;
    }
    if reference.starts_with("https://") {
        return Some(reference.to_owned());
    }
    let number = |text: &str| text.parse::<u32>().ok();
    if let Some(issue) = reference.strip_prefix("KEP-").and_then(number) {
        return Some(format!("https://github.com/kubernetes/enhancements/issues/{issue}"));
    }
    let (repository, issue) = reference.split_once('#')?;
    let issue = number(issue).filter(|_| repository.contains('/'))?;
    Some(format!("https://github.com/{repository}/issues/{issue}"))
}

/// Returns the web URL of kubetoll's repository: `given` if it is valid, else `of_package`. Ignores a URL with a
/// user, because it may contain a password.
fn repository(given: Option<&str>, of_package: &str) -> Option<String> {
    let candidates = [given.unwrap_or_default(), of_package].into_iter();
    let is_public = |url: &&str| {
        url.starts_with("https://")
            && url.chars().all(|c| c.is_ascii_graphic())
            && !url.contains(['@', '"', '<'])
    };
    let mut urls = candidates.map(|url| url.trim_end_matches('/')).filter(is_public);
    urls.next().map(|url| url.trim_end_matches(".git").to_owned())
}

/// Returns the URL of a rule's page, if the host's URL scheme is known.
fn page_in(repository: &str, rule: &str, revision: Option<&str>) -> Option<String> {
    let host = repository.strip_prefix("https://")?.split('/').next()?;
    let revision = revision.filter(|revision| revision.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let revision = revision.filter(|revision| !revision.is_empty()).unwrap_or("HEAD");
    let blob = match host {
        host if host.contains("github") => "blob",
        host if host.contains("gitlab") => "-/blob",
        _ => return None,
    };
    Some(format!("{repository}/{blob}/{revision}/docs/rules/{rule}.md"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_of_unknown_form_has_no_url() {
        for (text, address) in [
            ("KEP-2340", Some("https://github.com/kubernetes/enhancements/issues/2340")),
            ("antrea-io/antrea#1044", Some("https://github.com/antrea-io/antrea/issues/1044")),
            ("https://kubernetes.io/docs/#x", Some("https://kubernetes.io/docs/#x")),
            ("SPARK-56793", None),
            ("a) book", None),
            ("KEP-x", None),
            ("[x](javascript:y)", None),
        ] {
            assert_eq!(reference(text).as_deref(), address, "{text}");
        }
    }

    #[test]
    fn repository_with_a_password_is_refused() {
        let given = |url| repository(Some(url), "");
        assert_eq!(given("https://github.com/a/b.git"), Some("https://github.com/a/b".to_owned()));
        assert_eq!(given("https://user:secret@github.com/a/b"), None);
        assert_eq!(given("git@github.com:a/b"), None);
        assert_eq!(repository(None, "https://github.com/a/b"), Some("https://github.com/a/b".to_owned()));
        assert_eq!(repository(None, ""), None);
    }

    #[test]
    fn rule_has_a_page_on_known_hosts() {
        let page = |repository, revision| page_in(repository, "poll-list", revision);
        let github = page("https://github.com/a/b", Some("0123abc"));
        assert_eq!(github.as_deref(), Some("https://github.com/a/b/blob/0123abc/docs/rules/poll-list.md"));
        let gitlab = page("https://gitlab.example.com/a/b", Some("../x"));
        assert_eq!(
            gitlab.as_deref(),
            Some("https://gitlab.example.com/a/b/-/blob/HEAD/docs/rules/poll-list.md")
        );
        assert_eq!(page("https://git.example.com/a/b", None), None);
    }
}
