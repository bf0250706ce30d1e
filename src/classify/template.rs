//! A target without the names in its path. Pods, nodes and leases come and go, and each has targets of its own; what is
//! asked of the server is the same for all of them.
//!
//! The naive twin is resolving each target.

use crate::k8s::go_url;

/// A target of the API's resources whose path is plain: without escapes, empty parts and deprecated prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Template<'u> {
    /// What stands before the namespace, between it and the object's name, and behind that. A name stands behind a
    /// piece that ends with a slash, and nowhere else.
    pub pieces: [&'u str; 3],
    /// The namespace in the path, or empty.
    pub namespace: &'u str,
    /// The path.
    pub path: &'u str,
}

/// Prefix, group, version, `namespaces`, namespace, resource and name.
const MOST: usize = 7;

impl<'u> Template<'u> {
    /// That of a target.
    pub fn of(target: &'u str) -> Option<Self> {
        let (path, _) = go_url::split_target(target);
        // With a host before it, a target does not begin with its path.
        let is_plain = target.starts_with("/api") && memchr::memchr(b'%', path.as_bytes()).is_none();
        if !is_plain || path.ends_with('/') {
            return None;
        }
        // Where the slashes stand before the first parts, and the path's end behind the last of these.
        let mut slashes = [path.len(); MOST + 1];
        let mut count = 0;
        for slash in memchr::memchr_iter(b'/', path.as_bytes()) {
            if count > 0 && slash == slashes[count - 1] + 1 {
                return None;
            }
            if count <= MOST {
                slashes[count] = slash;
                count += 1;
            }
        }
        let part = |index: usize| match slashes.get(index + 1) {
            Some(end) if index < count => &path[slashes[index] + 1..*end],
            _ => "",
        };
        let first = match part(0) {
            "api" => 2,
            "apis" => 3,
            _ => return None,
        };
        if matches!(part(first), "" | "watch" | "proxy") {
            return None;
        }
        let is_object = |name: usize| if part(name).is_empty() { None } else { Some(name) };
        let of_namespace = part(first) == "namespaces" && !part(first + 1).is_empty();
        let (namespace, name) = match part(first + 2) {
            "" | "status" | "finalize" if of_namespace => (None, Some(first + 1)),
            _ if of_namespace => (Some(first + 1), is_object(first + 3)),
            _ => (None, is_object(first + 1)),
        };
        let start = |index: usize| slashes[index] + 1;
        let end = |index: usize| slashes[index + 1];
        let behind = name.map_or(path.len(), end);
        let before = name.map_or(path.len(), start);
        let pieces = match namespace {
            Some(namespace) => {
                [&target[..start(namespace)], &target[end(namespace)..before], &target[behind..]]
            }
            None => [&target[..before], "", &target[behind..]],
        };
        let namespace = if of_namespace { part(first + 1) } else { "" };
        Some(Self { pieces, namespace, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_out() {
        for (target, pieces, namespace) in [
            ("/api/v1/pods", ["/api/v1/pods", "", ""], ""),
            ("/api/v1/nodes/n?x=1", ["/api/v1/nodes/", "", "?x=1"], ""),
            ("/api/v1/namespaces", ["/api/v1/namespaces", "", ""], ""),
            ("/api/v1/namespaces/n", ["/api/v1/namespaces/", "", ""], "n"),
            ("/api/v1/namespaces/n/finalize", ["/api/v1/namespaces/", "", "/finalize"], "n"),
            ("/api/v1/namespaces/n/pods", ["/api/v1/namespaces/", "/pods", ""], "n"),
            ("/api/v1/namespaces/n/pods/p/log?x", ["/api/v1/namespaces/", "/pods/", "/log?x"], "n"),
            ("/apis/g/v/r/o/scale", ["/apis/g/v/r/", "", "/scale"], ""),
            ("/apis/g/v/namespaces/n/r/o", ["/apis/g/v/namespaces/", "/r/", ""], "n"),
            ("/apis/g/v/namespaces/n/r/o/a/b/c", ["/apis/g/v/namespaces/", "/r/", "/a/b/c"], "n"),
        ] {
            let template = Template::of(target).expect(target);
            assert_eq!((template.pieces, template.namespace), (pieces, namespace), "{target}");
            assert_eq!(template.path, target.split('?').next().expect("a path"));
        }
    }

    #[test]
    fn other_targets_have_none() {
        for target in [
            "",
            "/",
            "/api",
            "/api/v1",
            "/apis/apps/v1",
            "/healthz",
            "/apiv1/x/y",
            "/api/v1/pods/",
            "/api/v1//pods",
            "//api/v1/pods",
            "/api/v1/watch/pods",
            "/api/v1/proxy/nodes/n",
            "/api/v1/pods/a%2fb",
            "https://h/api/v1/pods",
        ] {
            assert_eq!(Template::of(target), None, "{target}");
        }
    }
}
