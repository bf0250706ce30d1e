//! What a request asks of the server, with everything folded that does not change the answer's path: the same
//! `RequestShape` always gets the same verdict from the same server.

use super::configured::Configured;
use super::options::{Narrows, Options};
use super::resources;
use crate::k8s::continue_token::TOKEN_START;
use crate::k8s::list_options::ListOptions;
use crate::k8s::request_info::{Method, NoResource};
use crate::k8s::{RequestInfo, Scope, Verb, go_url};
use compact_str::CompactString;

/// A request as the server's decisions see it. `S` is a borrowed or an owned string; owned ones are short as a
/// rule, and held in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestShape<S> {
    /// What it does.
    pub verb: Verb,
    /// What it does it to.
    pub target: Target<S>,
    /// What its query asks for.
    pub options: Options,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target<S> {
    /// An API resource.
    Resource {
        /// API group; empty for the core group.
        group: S,
        /// Resource.
        resource: S,
        /// Subresource, or empty.
        subresource: S,
        /// How much of the resource the path names.
        scope: Scope,
        /// The path has the deprecated `/watch/` prefix.
        watch_prefix: bool,
    },
    /// Discovery, health and everything else outside the API's resources.
    NonResource(NonResource),
    /// A path that the server can't resolve (`/api/v1/watch`).
    Unresolvable,
    /// The record does not hold the request's target.
    Unknown {
        /// API group, if the record says it.
        group: S,
        /// Resource, if the record says it.
        resource: S,
        /// The record holds a target that can't be decoded.
        unreadable: bool,
    },
}

/// The classes of paths outside the API's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NonResource {
    /// `/api`, `/apis` and below, down to a group's version.
    Discovery,
    /// `/openapi/…`, `/swagger…`.
    OpenApi,
    /// `/healthz`, `/livez`, `/readyz` and their checks.
    Health,
    /// `/metrics`.
    Metrics,
    /// `/version`.
    Version,
    /// `/debug/pprof/…`, which the server counts as long-running.
    Profile,
    /// A path that a router can't match: it begins with `//`, or writes `/api` in another case. Answered with 404.
    Misspelled,
    /// Anything else.
    Other,
}

impl NonResource {
    fn of(path: &str) -> Self {
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

    /// The class as the report shows it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovery => "(discovery)",
            Self::OpenApi => "(openapi)",
            Self::Health => "(health)",
            Self::Metrics => "(metrics)",
            Self::Version => "(version)",
            Self::Profile => "(profile)",
            Self::Misspelled => "(misspelled path)",
            Self::Other => "(other path)",
        }
    }
}

impl<'a> RequestShape<&'a str> {
    /// What a request's method, decoded path and query ask.
    #[must_use]
    pub fn new(method: Method, path: &'a str, options: &ListOptions<'_>) -> Self {
        Self::in_namespace(method, path, options).0
    }

    /// What a request's method, decoded path and query ask, and the namespace in its path, or nothing.
    #[must_use]
    pub fn in_namespace(method: Method, path: &'a str, options: &ListOptions<'_>) -> (Self, &'a str) {
        let double_slash = path.starts_with("//");
        let head = method == Method::Head;
        match RequestInfo::resolve(method, path, options) {
            Err(NoResource) => {
                (Self { verb: Verb::Other, target: Target::Unresolvable, options: Options::default() }, "")
            }
            Ok(info) => {
                let mut classes =
                    if info.resource.is_some() { Options::of(&info, options) } else { Options::default() };
                classes.head = head;
                classes.double_slash = double_slash;
                let scope = info.scope().unwrap_or(Scope::Cluster);
                let namespace = info.resource.as_ref().map_or("", |path| path.namespace);
                let target = match info.resource {
                    None => Target::NonResource(NonResource::of(path)),
                    Some(path) => Target::Resource {
                        group: kept(path.group),
                        resource: kept(path.resource),
                        subresource: kept(path.subresource),
                        scope,
                        watch_prefix: path.watch_prefix,
                    },
                };
                (Self { verb: info.verb, target, options: classes }, namespace)
            }
        }
    }

    /// Whether the server reads list options, or for a GET its `resourceVersion`, from the query.
    #[must_use]
    pub fn reads_list_options(&self) -> bool {
        matches!(self.verb, Verb::Get | Verb::List | Verb::Watch | Verb::DeleteCollection)
            && matches!(self.target, Target::Resource { subresource: "", .. })
    }

    /// The same with owned strings.
    #[must_use]
    pub fn to_owned(&self) -> RequestShape<CompactString> {
        self.map(|text| CompactString::new(text))
    }
}

impl RequestShape<CompactString> {
    /// Whether it lists the pods of one node, as agents on nodes do.
    #[must_use]
    pub fn lists_pods_of_a_node(&self) -> bool {
        self.verb == Verb::List && self.options.narrows == Narrows::ToNode
    }

    /// The same without the names that clients choose and no verdict depends on. `configured` is what the server's
    /// configuration says of the resource, which gets the same verdict without its name.
    #[must_use]
    pub fn without_names(&self, configured: Configured) -> Self {
        /// Subresources by which the server decides, and those that most requests are for.
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
        let mut asked = self.clone();
        match &mut asked.target {
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
        (asked.options.misspelled, asked.options.other_unknown_keys) = (0, false);
        asked
    }

    /// The same with borrowed strings.
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

/// Whether the server counts a request as long-running: by its verb, or by the name of its subresource in any group.
///
/// Source: kubernetes `cmd/kube-apiserver` `BasicLongRunningRequestCheck(watch, proxy; attach, exec, proxy, log,
/// portforward)`.
#[must_use]
pub fn is_long_running(asked: &RequestShape<&str>) -> bool {
    matches!(asked.verb, Verb::Watch | Verb::Proxy)
        || match asked.target {
            Target::Resource { subresource, .. } => {
                matches!(subresource, "attach" | "exec" | "proxy" | "log" | "portforward")
            }
            Target::NonResource(class) => class == NonResource::Profile,
            Target::Unresolvable | Target::Unknown { .. } => false,
        }
}

/// A name in a path as it is kept: the path is the client's to choose, and no name that the API could serve is
/// longer, or is a continue token that lost its way.
fn kept(name: &str) -> &str {
    const LONGEST: usize = 253;
    const SHORTEST_TOKEN: usize = 40;
    if name.len() < SHORTEST_TOKEN {
        return name;
    }
    if name.len() > LONGEST || name.contains(TOKEN_START) { "(no name)" } else { name }
}

/// A request's parts, held together with the decoded path that they borrow from.
#[derive(Debug)]
pub struct ParsedTarget<'a> {
    /// The percent-decoded path.
    pub path: std::borrow::Cow<'a, str>,
    /// The query's options.
    pub options: ListOptions<'a>,
}

impl<'a> ParsedTarget<'a> {
    /// Splits and decodes a request target; `None` if its path holds a bad percent-escape, for which no server has
    /// a handler.
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
    fn requests_without_names_get_the_same_verdict() {
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
                let asked = RequestShape::new(method, path, &ListOptions::parse(query)).to_owned();
                for (minor, is_configured) in (19..38).flat_map(|minor| [(minor, false), (minor, true)]) {
                    let mut server = Server::with_defaults(KubeVersion::new(minor, 0));
                    if is_configured {
                        server.aggregated = vec!["apps".to_owned(), "log.example.com".to_owned()];
                        server.uncached = ["pods", "things.example.com", "things.log.example.com"]
                            .map(str::to_owned)
                            .to_vec();
                    }
                    let configured = ConfiguredNames::new(&server).config_of(&asked);
                    let folded = asked.without_names(configured);
                    renamed += u32::from(folded.target != asked.target);
                    assert_eq!(folded.without_names(configured), folded);
                    for status in [None, Some(200), Some(403), Some(404), Some(410), Some(429)] {
                        assert_eq!(
                            judge(&server, &asked.as_borrowed(), status),
                            judge(&server, &folded.as_borrowed(), status),
                            "{path}?{query} on 1.{minor}, answered {status:?}"
                        );
                    }
                }
            }
        }
        assert!(renamed > 15_000, "{renamed}");
    }
}
