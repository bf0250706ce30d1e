//! Anonymizes request targets: path and query.

use super::{Anonymizer, public};
use crate::k8s::go_url;

impl Anonymizer {
    /// Anonymizes a request target. The server resolves the result to the same kind of request.
    pub(super) fn target(&self, uri: &str) -> String {
        if uri.is_empty() {
            return String::new();
        }
        let (path, query) = go_url::split_target(uri);
        let Some(decoded) = go_url::unescape_path(path) else {
            // The server cannot decode the target, so the result cannot be decoded either.
            return format!("/{}/%zz", self.word(path));
        };
        let (path, group, resource) = self.path(&decoded);
        let query = self.query(query, &group, &resource);
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }

    /// Returns the anonymized path, then the API group and the resource of the original path. Group and resource are
    /// empty for a non-resource path.
    fn path(&self, path: &str) -> (String, String, String) {
        let inner = path.trim_matches('/');
        let (start, end) =
            (path.len() - path.trim_start_matches('/').len(), path.trim_end_matches('/').len());
        let parts: Vec<&str> = inner.split('/').collect();
        let (parts, group, resource) = self.parts(&parts);
        let slashes = if inner.is_empty() { "" } else { &path[end..] };
        (format!("{}{}{slashes}", &path[..start], parts.join("/")), group, resource)
    }

    fn parts(&self, parts: &[&str]) -> (Vec<String>, String, String) {
        let mut out: Vec<String> = Vec::with_capacity(parts.len());
        let (group, mut rest) = match parts {
            ["api", version, rest @ ..] => {
                out.extend(["api".to_owned(), self.version(version)]);
                ("", rest)
            }
            ["apis", group, version, rest @ ..] => {
                out.extend(["apis".to_owned(), self.group(group), self.version(version)]);
                (*group, rest)
            }
            ["apis", group] => {
                return (vec!["apis".to_owned(), self.group(group)], String::new(), String::new());
            }
            _ => return (self.other_parts(parts), String::new(), String::new()),
        };
        if let [prefix @ ("watch" | "proxy"), behind @ ..] = rest {
            out.push((*prefix).to_owned());
            rest = behind;
        }
        if let ["namespaces", namespace, behind @ ..] = rest
            && behind.first().is_some_and(|next| !matches!(*next, "status" | "finalize"))
        {
            out.extend(["namespaces".to_owned(), self.name(namespace)]);
            rest = behind;
        }
        let resource = rest.first().copied().unwrap_or_default();
        for (at, part) in rest.iter().enumerate() {
            out.push(match at {
                _ if part.is_empty() => String::new(),
                0 => self.resource(group, part),
                1 => self.object(group, resource, part),
                2 => self.subresource(part),
                _ => self.word(part),
            });
        }
        (out, group.to_owned(), resource.to_owned())
    }

    /// Anonymizes the segments of a non-resource path.
    fn other_parts(&self, parts: &[&str]) -> Vec<String> {
        let one = |(at, part): (usize, &&str)| {
            let before = at.checked_sub(1).map_or("", |before| parts[before]);
            match *part {
                "" => String::new(),
                // A path may be misspelled, such as `/API/v1`.
                part if public::is_path(&part.to_ascii_lowercase()) => part.to_owned(),
                part if before == "apis" => self.group(part),
                part => self.version(part),
            }
        };
        parts.iter().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;
    use crate::apiserver::{ParsedTarget, RequestShape};
    use crate::k8s::request_info::Method;
    use proptest::prelude::*;

    fn request_shape(target: &str) -> Option<String> {
        let parsed = ParsedTarget::parse(target)?;
        let shape = RequestShape::new(Method::Get, &parsed.path, &parsed.options);
        Some(format!("{shape:?}"))
    }

    /// Returns the verb and the options of a target. Omits the resource, because a custom resource becomes a
    /// pseudonym.
    fn shape(target: &str) -> Option<String> {
        let parsed = ParsedTarget::parse(target)?;
        let shape = RequestShape::new(Method::Get, &parsed.path, &parsed.options);
        Some(format!("{:?} {:?}", shape.verb, shape.options))
    }

    #[test]
    fn built_in_target_keeps_its_request_shape() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        for target in [
            "/api/v1/namespaces/shop/pods?limit=500&resourceVersion=0",
            "/api/v1/pods?labelSelector=app%3Dcart%2Ctier+in+%28a%2Cb%29&watch=true&timeoutSeconds=473",
            "/api/v1/namespaces/shop",
            "/api/v1/namespaces/shop/finalize",
            "/api/v1/watch/namespaces/shop/pods/cart-0",
            "/api/v1/namespaces/shop/pods/cart-0/log?container=main&follow=true",
            "/apis/apps/v1/namespaces/shop/deployments/cart/scale",
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-7",
            "/api/v1/pods?fieldSelector=metadata.name%3Dcart-0",
            "/api/v1/pods?limt=5&resourceversion=0",
            "/api/v1/pods?resourceVersionMatch=exact&resourceVersion=7",
            "/api/v1/pods?resourceVersion=abc",
            "/api/v1/pods?limit=many",
            "//api/v1/pods",
            "/API/v1/pods",
            "/healthz/etcd",
            "/openapi/v3/apis/apps/v1",
            "/apis/apps/v1",
            "/version",
            "/",
        ] {
            let other = anonymizer.target(target);
            assert_eq!(request_shape(&other), request_shape(target), "{target} {other}");
            for name in ["shop", "cart", "node-7", "tier"] {
                assert!(!other.contains(name), "{target} {other}");
            }
        }
        assert_eq!(request_shape(&anonymizer.target("/api/%zz")), None);
    }

    #[test]
    fn custom_groups_and_resources_become_pseudonyms() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        let other =
            anonymizer.target("/apis/acme.corp/v1alpha1/namespaces/shop/rockets/one/launch/pad?x=secret");
        assert!(other.starts_with("/apis/") && other.contains("/v1alpha1/namespaces/"), "{other}");
        for name in ["acme", "corp", "shop", "rockets", "one", "launch", "pad", "secret"] {
            assert!(!other.contains(name), "{other}");
        }
        let watch = "/apis/acme.corp/v1/rockets?watch=1&allowWatchBookmarks=true";
        assert_eq!(shape(&anonymizer.target(watch)), shape(watch));
    }

    proptest! {
        #[test]
        fn any_target_keeps_its_shape_and_loses_its_names(
            target in concat!(
                "/?/(api/v1|apis/apps/v1|apis/Zacme/v1|Zfoo|healthz)(/watch|/proxy)?(/namespaces/Z[a-c]{3})?/(pods|namespaces|Zthing)",
                "(/Z[a-c]{3}(-6d4cf56db6-x2x8q|-0)?)?(/(log|status|finalize|Zsub))?(/|//x)?",
                "(\\?(limit=(5|Zx|-1|))?(&fieldSelector=(metadata[.]name|metadata[.]namespace|Zfield|spec[.]nodeName)(%3D|!=|)Zval(%2F)?)?",
                "(&labelSelector=(Zlab|!Zlab|Zlab%3DZval|Zlab+in+[(]Zval,[)]|%3D|Zlab%3E5|,))?",
                "(&(resourceVersion|timeoutSeconds|timeout|continue|limits|Zkey|resourceversion)=(Zval|0|5|30s|))?",
                "(&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NTA[1-9]LCJzdGFydCI6ImEifQ)?",
                "(&resourceVersionMatch=(Exact|NotOlderThan|Zval))?(&sendInitialEvents=(true|Zval))?)?",
            ),
        ) {
            let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
            let other = anonymizer.target(&target);
            prop_assert_eq!(shape(&other), shape(&target), "{}", other);
            // A `continue` token is base64, which may contain any word.
            let (names, _) = other.split_once("continue=eyJ").unwrap_or((&other, ""));
            prop_assert!(!names.contains('Z'), "{}", other);
            prop_assert_eq!(other, anonymizer.target(&target));
        }
    }
}
