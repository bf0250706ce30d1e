//! The namespace that a request reads, from its path or its field selector.

use std::borrow::Cow;
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use crate::k8s::go_url::split;
use crate::k8s::selector::field_terms;

/// A hash of a namespace's name; 0 for an empty name.
#[must_use]
pub(crate) fn namespace_hash(name: &str) -> u32 {
    if name.is_empty() {
        return 0;
    }
    let hash = FxBuildHasher.hash_one(name).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((hash >> 32) as u32).max(1)
}

/// The namespace in a path; empty if there is none.
#[must_use]
pub(crate) fn namespace_in_path(path: &str) -> &str {
    let path = path.trim_matches('/');
    let skipped = if path.starts_with("apis/") { 3 } else { 2 };
    let mut rest = split(path, b'/').skip(skipped).skip_while(|part| matches!(*part, "watch" | "proxy"));
    if rest.next() == Some("namespaces") { rest.next().unwrap_or_default() } else { "" }
}

/// The namespace in the path, else the one that the field selector requires; empty if there is none.
#[must_use]
pub(crate) fn effective<'t>(in_path: &'t str, selector: &'t str) -> Cow<'t, str> {
    const FIELD: &str = "metadata.namespace";
    if !in_path.is_empty() || selector.is_empty() || !selector.contains(FIELD) {
        return Cow::Borrowed(in_path);
    }
    let mut terms = field_terms(selector).into_iter().flatten();
    terms.find(|term| term.label == FIELD).and_then(|term| term.equals).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::ParsedTarget;

    #[test]
    fn namespace_comes_from_the_path_or_the_field_selector() {
        for (target, namespace) in [
            ("/api/v1/pods", ""),
            ("/api/v1/namespaces", ""),
            ("/api/v1/namespaces/prod/pods?limit=500", "prod"),
            ("/apis/apps/v1/namespaces/prod/deployments", "prod"),
            ("/api/v1/pods?fieldSelector=metadata.namespace%3Dprod", "prod"),
            ("/api/v1/pods?fieldSelector=status.phase%3DRunning%2Cmetadata.namespace%3Dprod", "prod"),
            ("/api/v1/pods?fieldSelector=metadata.namespace%21%3Dprod", ""),
        ] {
            let parsed = ParsedTarget::parse(target).expect("a target");
            assert_eq!(
                effective(namespace_in_path(&parsed.path), &parsed.options.field_selector),
                namespace,
                "{target}"
            );
        }
        assert_eq!(namespace_hash(""), 0);
        assert!(namespace_hash("prod") != 0 && namespace_hash("prod") != namespace_hash("dev"));
    }
}
