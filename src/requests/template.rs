//! A target without the names in its path. Each pod, node and lease has its own targets. But targets with the same
//! template mostly have the same request shape.
//!
//! Tests compare it with parsing each target.

use wide::u8x16;

use super::query::Query;

/// Bytes per SIMD step.
const STEP: usize = 16;

/// A resource target with a plain path: the path has no escapes, no empty segments and no deprecated prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Template<'u> {
    /// The path without its names, in three pieces. For `/api/v1/namespaces/a/pods/b/log`, they are
    /// `/api/v1/namespaces/`, `/pods/` and `/log`. A name follows each piece that ends with a slash, and no other
    /// piece.
    pub(crate) pieces: [&'u str; 3],
    /// True if the path names an object. In the path of a namespace, the namespace is the object.
    pub(crate) has_name: bool,
    pub(crate) query: Query<'u>,
    /// The namespace in the path; empty if there is none.
    pub(crate) namespace: &'u str,
    pub(crate) path: &'u str,
}

/// The number of path segments that matter: prefix, group, version, `namespaces`, namespace, resource and name.
const MOST: usize = 7;

impl<'u> Template<'u> {
    /// Parses a target. Returns `None` if its path is not plain.
    pub(crate) fn parse(target: &'u str) -> Option<Self> {
        // A target in absolute form, such as `https://host/api/v1/pods`, does not begin with the path. It gets no
        // template.
        let first = match target.as_bytes() {
            [b'/', b'a', b'p', b'i', b'/', ..] => 2,
            [b'/', b'a', b'p', b'i', b's', b'/', ..] => 3,
            _ => return None,
        };
        let slashes = Slashes::find(target.as_bytes())?;
        let (path, query) = target.split_at(slashes.path_end);
        // An empty query must not be dropped: for a WATCH, it shows that no tool removed the query.
        if query == "?" {
            return None;
        }
        let part = |index: usize| slashes.part(path.as_bytes(), index);
        if matches!(part(first), b"" | b"watch" | b"proxy") {
            return None;
        }
        let of_namespace = part(first) == b"namespaces" && !part(first + 1).is_empty();
        let (namespace, name) = match part(first + 2) {
            b"" | b"status" | b"finalize" if of_namespace => (None, first + 1),
            _ if of_namespace => (Some(first + 1), first + 3),
            _ => (None, first + 1),
        };
        let ends = |index: usize| (slashes.ends[index] + 1, slashes.ends[index + 1]);
        let has_name = !part(name).is_empty();
        let (before, behind) = if has_name { ends(name) } else { (path.len(), path.len()) };
        let pieces = match namespace.map(ends) {
            Some((start, end)) => [&path[..start], &path[end..before], &path[behind..]],
            None => [&path[..before], "", &path[behind..]],
        };
        let namespace = if of_namespace { ends(first + 1) } else { (0, 0) };
        let namespace = &path[namespace.0..namespace.1];
        Some(Self {
            pieces,
            has_name,
            query: Query::parse(query.get(1..).unwrap_or_default())?,
            namespace,
            path,
        })
    }
}

/// The positions of the first slashes in the path. Unused positions contain the end of the path.
#[derive(Debug)]
struct Slashes {
    ends: [usize; MOST + 1],
    count: usize,
    path_end: usize,
}

impl Slashes {
    /// Finds the segments of a target; `None` if its path is not plain.
    fn find(target: &[u8]) -> Option<Self> {
        let mut ends = [0; MOST + 1];
        let (mut count, mut at, mut last) = (0, 0, usize::MAX - 1);
        let path_end = loop {
            let rest = &target[at..];
            let bytes = u8x16::new(rest.first_chunk().copied().unwrap_or_else(|| {
                let mut padded = [b'?'; STEP];
                padded[..rest.len()].copy_from_slice(rest);
                padded
            }));
            let positions_of = |byte: u8| bytes.simd_eq(u8x16::splat(byte)).to_bitmask();
            let query = positions_of(b'?');
            // Selects the bits before the first `?`.
            let in_path = query.wrapping_sub(1) & !query;
            if positions_of(b'%') & in_path != 0 {
                return None;
            }
            let mut slashes = positions_of(b'/') & in_path;
            while slashes != 0 {
                let slash = at + slashes.trailing_zeros() as usize;
                slashes &= slashes - 1;
                if slash == last + 1 {
                    return None;
                }
                last = slash;
                if count <= MOST {
                    ends[count] = slash;
                    count += 1;
                }
            }
            if query != 0 {
                break at + query.trailing_zeros() as usize;
            }
            at += STEP;
        };
        ends[count..].fill(path_end);
        (last + 1 != path_end).then_some(Self { ends, count, path_end })
    }

    /// A segment of the path. Empty if the path has fewer segments.
    fn part<'p>(&self, path: &'p [u8], index: usize) -> &'p [u8] {
        if index < self.count { &path[self.ends[index] + 1..self.ends[index + 1]] } else { b"" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_drops_namespace_and_object_name() {
        for (target, pieces, namespace) in [
            ("/api/v1/pods", ["/api/v1/pods", "", ""], ""),
            ("/api/v1/nodes/n?x=1", ["/api/v1/nodes/", "", ""], ""),
            ("/api/v1/namespaces", ["/api/v1/namespaces", "", ""], ""),
            ("/api/v1/namespaces/n", ["/api/v1/namespaces/", "", ""], "n"),
            ("/api/v1/namespaces/n/finalize", ["/api/v1/namespaces/", "", "/finalize"], "n"),
            ("/api/v1/namespaces/n/pods", ["/api/v1/namespaces/", "/pods", ""], "n"),
            ("/api/v1/namespaces/n/pods/p/log?x", ["/api/v1/namespaces/", "/pods/", "/log"], "n"),
            ("/apis/g/v/r/o/scale", ["/apis/g/v/r/", "", "/scale"], ""),
            ("/apis/g/v/namespaces/n/r/o", ["/apis/g/v/namespaces/", "/r/", ""], "n"),
            ("/apis/g/v/namespaces/n/r/o/a/b/c", ["/apis/g/v/namespaces/", "/r/", "/a/b/c"], "n"),
        ] {
            let template = Template::parse(target).expect(target);
            assert_eq!((template.pieces, template.namespace), (pieces, namespace), "{target}");
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            assert_eq!((template.path, Some(template.query)), (path, Query::parse(query)));
            assert_eq!(template.has_name, pieces[..2].concat().ends_with('/'));
        }
    }

    #[test]
    fn paths_that_are_not_plain_have_no_template() {
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
            "/api/v1/pods?continue=a&continue=b",
            "/api/v1/pods?",
        ] {
            assert_eq!(Template::parse(target), None, "{target}");
        }
    }
}
