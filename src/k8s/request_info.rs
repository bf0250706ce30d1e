//! Resolves verb, resource and scope of a request as the apiserver's `RequestInfo` does.

use std::borrow::Cow;

use super::go_url::split;
use super::list_options::ListOptions;
use super::selector::field_terms;
pub use super::verb::Method;
pub use super::verb::Verb;
use crate::named::named;

named! {
    /// Which objects of a resource the path names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Scope {
        /// All objects in the cluster.
        Cluster = "cluster",
        /// All objects in one namespace.
        Namespace = "namespace",
        /// One object.
        Object = "object",
    }
    /// `cluster`, `namespace` or `object`.
    pub(crate) fn as_str;
}

/// The parts of an API resource's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePath<'p> {
    /// The API group; empty for the core group.
    pub group: &'p str,
    /// The API version, such as `v1`.
    pub(crate) version: &'p str,
    /// The namespace in the path, or empty.
    pub namespace: &'p str,
    /// The resource, such as `pods`.
    pub resource: &'p str,
    /// The subresource, or empty.
    pub subresource: &'p str,
    /// The object's name in the path, or empty.
    pub(crate) name: &'p str,
    /// The path has the deprecated `/watch/` prefix.
    pub(crate) watch_prefix: bool,
}

/// A resolved request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo<'p> {
    pub verb: Verb,
    /// `None` for discovery, health and all other paths without a resource.
    pub resource: Option<ResourcePath<'p>>,
    /// The object's name from the path, or for LIST and WATCH from `fieldSelector=metadata.name=…`; else empty.
    pub name: Cow<'p, str>,
}

/// The path has no resource, such as `/api/v1/watch`: the server returns 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path has no resource after its watch or proxy prefix")]
pub struct NoResource;

impl<'p> RequestInfo<'p> {
    /// Resolves a request from its method, decoded path and query.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/request/requestinfo.go:NewRequestInfo`, unchanged from 1.19 to 1.37.
    ///
    /// # Errors
    /// [`NoResource`] where upstream fails with "unable to determine kind and namespace from url".
    pub fn resolve(method: Method, path: &'p str, options: &ListOptions<'_>) -> Result<Self, NoResource> {
        let non_resource =
            || Self { verb: method.non_resource_verb(), resource: None, name: Cow::Borrowed("") };
        let mut parts = split(path.trim_matches('/'), b'/');
        let prefix = parts.next().unwrap_or_default();
        let group = match prefix {
            "api" => "",
            "apis" => parts.next().unwrap_or_default(),
            _ => return Ok(non_resource()),
        };
        let Some(version) = parts.next() else {
            return Ok(non_resource());
        };
        // The code below uses at most 6 parts: prefix, "namespaces", namespace, resource, name, subresource.
        let mut rest: [&'p str; 6] = [""; 6];
        let mut count = 0;
        for part in parts.take(rest.len()) {
            rest[count] = part;
            count += 1;
        }
        let mut rest = &rest[..count];
        if rest.is_empty() {
            return Ok(non_resource());
        }
        let prefix_verb = match rest[0] {
            "watch" => Some(Verb::Watch),
            "proxy" => Some(Verb::Proxy),
            _ => None,
        };
        if prefix_verb.is_some() {
            rest = &rest[1..];
            if rest.is_empty() {
                return Err(NoResource);
            }
        }
        let mut namespace = "";
        if rest[0] == "namespaces" && rest.len() > 1 {
            namespace = rest[1];
            if rest.len() > 2 && !matches!(rest[2], "status" | "finalize") {
                rest = &rest[2..];
            }
        }
        let part = |index: usize| rest.get(index).copied().unwrap_or_default();
        let subresource = if prefix_verb == Some(Verb::Proxy) { "" } else { part(2) };
        let resource = ResourcePath {
            group,
            version,
            namespace,
            resource: part(0),
            subresource,
            name: part(1),
            watch_prefix: prefix_verb == Some(Verb::Watch),
        };
        let mut verb = prefix_verb.unwrap_or(match method {
            Method::Get | Method::Head => Verb::Get,
            Method::Post => Verb::Create,
            Method::Put => Verb::Update,
            Method::Patch => Verb::Patch,
            Method::Delete => Verb::Delete,
            Method::Options | Method::Connect | Method::Other => Verb::Other,
        });
        let mut name = Cow::Borrowed(resource.name);
        if name.is_empty() {
            match verb {
                Verb::Get => {
                    verb = if options.watch { Verb::Watch } else { Verb::List };
                    name = Cow::Owned(selected_name(options).unwrap_or_default());
                }
                Verb::Delete => verb = Verb::DeleteCollection,
                _ => {}
            }
        }
        Ok(Self { verb, resource: Some(resource), name })
    }

    /// Returns the scope, or `None` without a resource. A LIST of one name still has the scope of its collection.
    #[must_use]
    pub(crate) fn scope(&self) -> Option<Scope> {
        self.resource.as_ref().map(|resource| {
            if !resource.name.is_empty() {
                Scope::Object
            } else if !resource.namespace.is_empty() {
                Scope::Namespace
            } else {
                Scope::Cluster
            }
        })
    }
}

/// The object name in the field selector of a LIST or WATCH. `None` if the query cannot be decoded, or if the name
/// is not a valid path segment.
fn selected_name(options: &ListOptions<'_>) -> Option<String> {
    if !options.field_selector.contains("metadata.name") || !options.is_decodable() {
        return None;
    }
    let mut terms = field_terms(&options.field_selector)?;
    let named = terms.find(|term| term.label == "metadata.name" && term.equals.is_some())?;
    let name = named.equals?.into_owned();
    is_path_segment(&name).then_some(name)
}

/// Source: k8s.io/apimachinery `pkg/api/validation/path/name.go:IsValidPathSegmentName`.
fn is_path_segment(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(method: Method, target: &str) -> String {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let options = ListOptions::parse(query);
        match RequestInfo::resolve(method, path, &options) {
            Err(NoResource) => "error".to_owned(),
            Ok(info) => match &info.resource {
                None => info.verb.to_string(),
                Some(r) => format!(
                    "{} {}/{}/{} ns={} name={} sub={}",
                    info.verb, r.group, r.version, r.resource, r.namespace, info.name, r.subresource
                ),
            },
        }
    }

    #[test]
    fn paths_resolve_as_in_the_apiserver() {
        for (target, want) in [
            ("/api/v1/pods", "list /v1/pods ns= name= sub="),
            ("/api/v1/pods/", "list /v1/pods ns= name= sub="),
            ("/api/v1/namespaces//pods", "list /v1/pods ns= name= sub="),
            ("/api/v1/namespaces/n/pods/p", "get /v1/pods ns=n name=p sub="),
            ("/api/v1/namespaces/n/pods/p/log", "get /v1/pods ns=n name=p sub=log"),
            ("/api/v1/namespaces/n/services/s/proxy/a/b", "get /v1/services ns=n name=s sub=proxy"),
            ("/api/v1/namespaces/n", "get /v1/namespaces ns=n name=n sub="),
            ("/api/v1/namespaces/n/finalize", "get /v1/namespaces ns=n name=n sub=finalize"),
            ("/api/v1/namespaces", "list /v1/namespaces ns= name= sub="),
            ("/apis/apps/v1/deployments?watch=1", "watch apps/v1/deployments ns= name= sub="),
            (
                "/apis/apps/v1/namespaces/n/deployments/d/scale",
                "get apps/v1/deployments ns=n name=d sub=scale",
            ),
            ("/api/v1/watch/namespaces/n/pods/p", "watch /v1/pods ns=n name=p sub="),
            ("/api/v1/watch/pods", "watch /v1/pods ns= name= sub="),
            ("/api/v1/proxy/nodes/x/y", "proxy /v1/nodes ns= name=x sub="),
            ("/api/v1/pods?fieldSelector=metadata.name%3Dx", "list /v1/pods ns= name=x sub="),
            ("/api/v1/pods?fieldSelector=metadata.name%3Da/b", "list /v1/pods ns= name= sub="),
            ("/api/v1/pods?fieldSelector=metadata.name%3Dx&limit=abc", "list /v1/pods ns= name= sub="),
            ("/api/v1/namespaces/n/pods/p?watch=true", "get /v1/pods ns=n name=p sub="),
            ("/api/v1/watch", "error"),
            ("/api/v1", "get"),
            ("/apis/apps/v1", "get"),
            ("/api", "get"),
            ("/", "get"),
            ("/healthz/etcd/x", "get"),
            ("/API/V1/PODS", "get"),
        ] {
            assert_eq!(resolve(Method::Get, target), want, "{target}");
        }
    }

    #[test]
    fn methods_resolve_to_verbs() {
        for (method, target, want) in [
            (Method::Delete, "/api/v1/namespaces/n/pods", "deletecollection /v1/pods ns=n name= sub="),
            (Method::Delete, "/api/v1/namespaces/n/pods/p", "delete /v1/pods ns=n name=p sub="),
            (Method::Head, "/api/v1/pods", "list /v1/pods ns= name= sub="),
            (
                Method::Post,
                "/api/v1/namespaces/n/pods/p/eviction",
                "create /v1/pods ns=n name=p sub=eviction",
            ),
            (Method::Put, "/api/v1/nodes/x/status", "update /v1/nodes ns= name=x sub=status"),
            (Method::Head, "/healthz", "head"),
            (Method::Options, "/api/v1/pods", "other /v1/pods ns= name= sub="),
        ] {
            assert_eq!(resolve(method, target), want, "{target}");
        }
    }
}
