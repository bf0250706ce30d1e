//! The shape of a request: everything that its verdict depends on. Two requests with the same shape always get the
//! same verdict from the same server.

use super::options::{Narrows, Options};
use super::resources;
use crate::k8s::continue_token::TOKEN_START;
use crate::k8s::list_options::ListOptions;
use crate::k8s::request_info::{Method, NoResource};
use crate::k8s::{RequestInfo, Scope, Verb, go_url};
use crate::named::named;
use compact_str::CompactString;

/// The parts of a request that its verdict depends on. `S` is `&str` or `CompactString`. The latter stores short names
/// without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestShape<S> {
    pub verb: Verb,
    pub(crate) target: Target<S>,
    /// The options in the query, reduced to the classes that a verdict depends on.
    pub options: Options,
}

/// The configuration of a resource. If several values apply, the first value wins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Configured {
    /// An aggregated API server serves the resource's group.
    Aggregated,
    /// The resource has no watch cache.
    Uncached,
    /// The configuration does not mention the resource.
    #[default]
    Nothing,
}

/// The target of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target<S> {
    /// An API resource.
    Resource {
        /// The API group; empty for the core group.
        group: S,
        resource: S,
        /// The subresource, or empty.
        subresource: S,
        /// Which objects of the resource the path names.
        scope: Scope,
        /// The path has the deprecated `/watch/` prefix.
        watch_prefix: bool,
    },
    /// Discovery, health and all other paths without a resource.
    NonResource(NonResource),
    /// A path that the server cannot resolve (`/api/v1/watch`).
    Unresolvable,
    /// The record has no usable request URI.
    Unknown {
        /// The API group if the record has one, else empty.
        group: S,
        /// The resource if the record has one, else empty.
        resource: S,
        /// The record has a request URI, but it cannot be decoded.
        unreadable: bool,
    },
}

named! {
    /// The classes of paths without a resource.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum NonResource {
        /// `/api`, `/apis` and below, down to a group's version.
        Discovery = "(discovery)",
        /// `/openapi/…`, `/swagger…`.
        OpenApi = "(openapi)",
        /// `/healthz`, `/livez`, `/readyz` and their checks.
        Health = "(health)",
        /// `/metrics`.
        Metrics = "(metrics)",
        /// `/version`.
        Version = "(version)",
        /// `/debug/pprof/…`. The server treats it as long-running.
        Profile = "(profile)",
        /// `/api` or `/apis` with other capitalization. The server returns 404, because no handler matches the path.
        Misspelled = "(misspelled path)",
        Other = "(other path)",
    }
    /// Returns the name of this variant, as reports show it.
    pub(crate) fn as_str;
}

impl NonResource {
    fn from_path(path: &str) -> Self {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        match first {
            "api" | "apis" => Self::Discovery,
            "openapi" | "swaggerapi" | "swagger.json" => Self::OpenApi,
            "healthz" | "livez" | "readyz" => Self::Health,
            "metrics" => Self::Metrics,
            "version" => Self::Version,
            "debug" if path.starts_with("/debug/pprof/") => Self::Profile,
            _ if first.eq_ignore_ascii_case("api") || first.eq_ignore_ascii_case("apis") => Self::Misspelled,
            _ => Self::Other,
        }
    }
}

impl<'a> RequestShape<&'a str> {
    /// Returns the shape of a request from its method, decoded path and query.
    #[must_use]
    pub fn new(method: Method, path: &'a str, options: &ListOptions<'_>) -> Self {
        Self::in_namespace(method, path, options).0
    }

    /// Like [`Self::new`], but also returns the namespace in the path, or an empty string.
    #[must_use]
    pub(crate) fn in_namespace(method: Method, path: &'a str, options: &ListOptions<'_>) -> (Self, &'a str) {
        let double_slash = path.starts_with("//");
        let head = method == Method::Head;
        match RequestInfo::resolve(method, path, options) {
            Err(NoResource) => {
                (Self { verb: Verb::Other, target: Target::Unresolvable, options: Options::default() }, "")
            }
            Ok(info) => {
                let mut classes = if info.resource.is_some() {
                    Options::from_query(&info, options)
                } else {
                    Options::default()
                };
                classes.head = head;
                classes.double_slash = double_slash;
                let scope = info.scope().unwrap_or(Scope::Cluster);
                let namespace = info.resource.as_ref().map_or("", |path| path.namespace);
                let target = match info.resource {
                    None => Target::NonResource(NonResource::from_path(path)),
                    Some(path) => Target::Resource {
                        group: bounded_name(path.group),
                        resource: bounded_name(path.resource),
                        subresource: bounded_name(path.subresource),
                        scope,
                        watch_prefix: path.watch_prefix,
                    },
                };
                (Self { verb: info.verb, target, options: classes }, namespace)
            }
        }
    }

    /// Whether the server reads list options from the query. True also for a GET: the server reads its
    /// `resourceVersion`, and no other option.
    #[must_use]
    pub(crate) fn reads_list_options(&self) -> bool {
        matches!(self.verb, Verb::Get | Verb::List | Verb::Watch | Verb::DeleteCollection)
            && matches!(self.target, Target::Resource { subresource: "", .. })
    }

    /// Copies the shape with owned strings.
    #[must_use]
    pub fn to_owned(&self) -> RequestShape<CompactString> {
        self.map(|text| CompactString::new(text))
    }
}

impl RequestShape<CompactString> {
    /// Whether the request is a LIST of one node's pods. Most such requests come from agents on nodes.
    #[must_use]
    pub(crate) fn lists_pods_of_a_node(&self) -> bool {
        self.verb == Verb::List && self.options.narrows == Narrows::ToNode
    }

    /// Removes names that clients choose and that no verdict depends on. `configured` is the server's configuration of
    /// this resource. The result keeps that configuration, so that the verdict stays the same.
    #[must_use]
    pub(crate) fn without_names(&self, configured: Configured) -> Self {
        /// Subresources whose names are kept: a verdict depends on them, or they are frequent.
        const KEPT_SUBRESOURCES: [&str; 10] =
            ["", "status", "scale", "log", "exec", "attach", "portforward", "proxy", "eviction", "token"];
        let is_kept = |group: &str, resource: &str, subresource: &str| {
            resources::is_named_by_model(group, resource, subresource)
        };
        let renamed = |group: &str| {
            let group = match configured {
                Configured::Aggregated => resources::AGGREGATED_GROUP,
                _ if resources::is_built_in_group(group) => "",
                _ => resources::OTHER_GROUP,
            };
            let is_uncached = configured == Configured::Uncached;
            let resource = if is_uncached { resources::OTHER_UNCACHED } else { resources::OTHER };
            (CompactString::const_new(group), CompactString::const_new(resource))
        };
        let mut shape = self.clone();
        match &mut shape.target {
            Target::Resource { group, resource, subresource, .. }
                if !is_kept(group, resource, subresource) =>
            {
                (*group, *resource) = renamed(group);
                if !KEPT_SUBRESOURCES.contains(&&**subresource) {
                    *subresource = CompactString::const_new(resources::OTHER);
                }
            }
            Target::Unknown { group, resource, .. }
                if !resource.is_empty() && !is_kept(group, resource, "") =>
            {
                (*group, *resource) = renamed(group);
            }
            _ => {}
        }
        (shape.options.misspelled, shape.options.other_unknown_keys) = (0, false);
        shape
    }

    /// Borrows the shape's strings.
    #[must_use]
    pub fn as_borrowed(&self) -> RequestShape<&str> {
        self.map(|text| &**text)
    }
}

impl<S> RequestShape<S> {
    fn map<'s, T>(&'s self, f: impl Fn(&'s S) -> T) -> RequestShape<T> {
        let target = match &self.target {
            Target::Resource { group, resource, subresource, scope, watch_prefix } => Target::Resource {
                group: f(group),
                resource: f(resource),
                subresource: f(subresource),
                scope: *scope,
                watch_prefix: *watch_prefix,
            },
            Target::NonResource(class) => Target::NonResource(*class),
            Target::Unresolvable => Target::Unresolvable,
            Target::Unknown { group, resource, unreadable } => {
                Target::Unknown { group: f(group), resource: f(resource), unreadable: *unreadable }
            }
        };
        RequestShape { verb: self.verb, target, options: self.options }
    }
}

/// Whether the server treats a request as long-running. The verb or the subresource decides this. The API group does
/// not matter.
///
/// Source: kubernetes `cmd/kube-apiserver` `BasicLongRunningRequestCheck(watch, proxy; attach, exec, proxy, log,
/// portforward)`.
#[must_use]
pub(crate) fn is_long_running(shape: &RequestShape<&str>) -> bool {
    matches!(shape.verb, Verb::Watch | Verb::Proxy)
        || match shape.target {
            Target::Resource { subresource, .. } => {
                matches!(subresource, "attach" | "exec" | "proxy" | "log" | "portforward")
            }
            Target::NonResource(class) => class == NonResource::Profile,
            Target::Unresolvable | Target::Unknown { .. } => false,
        }
}

/// Returns a name from a path, or `(no name)`. A client can put any text into a path. So names that are too long for
/// the API, and names that contain a continue token, are replaced.
fn bounded_name(name: &str) -> &str {
    const LONGEST: usize = 253;
    const SHORTEST_TOKEN: usize = 40;
    if name.len() < SHORTEST_TOKEN {
        return name;
    }
    if name.len() > LONGEST || name.contains(TOKEN_START) { "(no name)" } else { name }
}

/// A parsed request target. A [`RequestShape`] borrows from its `path`.
#[derive(Debug)]
pub struct ParsedTarget<'a> {
    /// The percent-decoded path.
    pub path: std::borrow::Cow<'a, str>,
    /// The options in the query.
    pub options: ListOptions<'a>,
}

impl<'a> ParsedTarget<'a> {
    /// Splits and decodes a request target. Returns `None` for a path with an invalid percent-escape, because no server
    /// handles it.
    #[must_use]
    pub fn parse(target: &'a str) -> Option<Self> {
        let (path, query) = go_url::split_target(target);
        Some(Self { path: go_url::unescape_path(path)?, options: ListOptions::parse(query) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::{ConfiguredNames, Server, judge};
    use crate::k8s::KubeVersion;

    #[test]
    fn shapes_without_names_get_the_same_verdict() {
        let paths = [
            "/api/v1/pods",
            "/api/v1/namespaces/a/pods",
            "/api/v1/namespaces/a/pods/p",
            "/api/v1/namespaces/a/pods/p/log",
            "/api/v1/namespaces/a/pods/p/status",
            "/api/v1/namespaces/a/pods/p/eviction",
            "/api/v1/nodes/n/proxy/metrics",
            "/api/v1/namespaces/a/serviceaccounts/s/token",
            "/api/v1/componentstatuses",
            "/api/v1/events",
            "/apis/events.k8s.io/v1/namespaces/a/events",
            "/apis/apps/v1/deployments",
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "/apis/example.com/v1/things",
            "/apis/example.com/v1/namespaces/a/things/t/log",
            "/apis/log.example.com/v1/things",
            "/apis/metrics.k8s.io/v1beta1/pods",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "/apis",
            "/healthz",
        ];
        let queries = [
            "",
            "resourceVersion=0",
            "resourceVersion=0&limit=500",
            "resourceVersion=7&limit=500",
            "resourceVersion=7&resourceVersionMatch=Exact",
            "limit=500",
            "limit=500&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NzcsInN0YXJ0IjoiYS9iXFx1MDAwMCJ9",
            "watch=true",
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "fieldSelector=metadata.name%3Da",
            "fieldSelector=spec.nodeName%3Dn",
            "labelSelector=a%3Db",
            "limt=5",
        ];
        let mut renamed = 0;
        for method in [Method::Get, Method::Head, Method::Post, Method::Delete] {
            for (path, query) in paths.iter().flat_map(|path| queries.map(|query| (path, query))) {
                let shape = RequestShape::new(method, path, &ListOptions::parse(query)).to_owned();
                for (minor, is_configured) in (19..38).flat_map(|minor| [(minor, false), (minor, true)]) {
                    let mut server = Server::with_defaults(KubeVersion::new(minor, 0));
                    if is_configured {
                        server.aggregated = vec!["apps".to_owned(), "log.example.com".to_owned()];
                        server.uncached = ["pods", "things.example.com", "things.log.example.com"]
                            .map(str::to_owned)
                            .to_vec();
                    }
                    let configured = ConfiguredNames::new(&server).config_of(&shape);
                    let folded = shape.without_names(configured);
                    renamed += u32::from(folded.target != shape.target);
                    assert_eq!(folded.without_names(configured), folded);
                    for status in [None, Some(200), Some(403), Some(404), Some(410), Some(429)] {
                        assert_eq!(
                            judge(&server, &shape.as_borrowed(), status),
                            judge(&server, &folded.as_borrowed(), status),
                            "{path}?{query} on 1.{minor}, status {status:?}"
                        );
                    }
                }
            }
        }
        assert!(renamed > 15_000, "{renamed}");
    }
}
