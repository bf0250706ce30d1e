//! The permission that refused requests need: the RBAC rule that grants it, and the command that checks it.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::facts::RowFacts;
use super::figures::more;
use super::group::RowGroup;
use crate::apiserver::{ParsedTarget, Target, resources};
use crate::judged::ClientSummary;
use crate::k8s::request_info::Method;
use crate::k8s::{RequestInfo, Scope, Verb};
use crate::requests::EventFact;
use crate::shell::{option, quoted};

/// The maximum number of namespaces that a text names.
const NAMED: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permission {
    /// The verb in RBAC's terms. If the log does not show the HTTP method of a connection, it is the verb for GET.
    pub(crate) verb: &'static str,
    pub(crate) create: CreateVerb,
    pub(crate) on: PermissionTarget,
    /// The `kubectl auth can-i` command that checks the permission.
    pub(crate) check: String,
}

/// Whether a connection (exec, attach, portforward or proxy) needs the verb `create` in addition to
/// `Permission::verb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CreateVerb {
    No,
    /// The log does not show the HTTP method. A POST needs `create` instead of `get`.
    ForPost,
    Too,
    /// The log does not show the HTTP method. A GET needs both verbs, a POST only `create`.
    ForAnyMethod,
}

impl CreateVerb {
    /// Returns the sentence that the fix adds about `create`.
    fn note(self) -> &'static str {
        match self {
            Self::No => "",
            Self::ForPost => {
                "\n\nThe log does not show the HTTP method of the connection. A GET needs `get`, a POST needs `create`."
            }
            Self::Too => {
                "\n\nFrom Kubernetes 1.35, a GET that opens such a connection also needs `create` (feature gate \
                 AuthorizePodWebsocketUpgradeCreatePermission)."
            }
            Self::ForAnyMethod => {
                "\n\nThe log does not show the HTTP method of the connection. A POST needs `create`. From Kubernetes \
                 1.35, a GET needs both verbs (feature gate AuthorizePodWebsocketUpgradeCreatePermission)."
            }
        }
    }
}

/// The resource or path that a permission is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermissionTarget {
    Resource {
        /// Empty for the core group.
        group: String,
        resource: String,
        /// Empty for the resource itself.
        subresource: String,
        /// The namespaces of the example requests. Empty for cluster-wide requests.
        namespaces: BTreeSet<String>,
        /// Whether each client sends these requests to one namespace only.
        is_one_each: bool,
        number: NamespaceCount,
    },
    /// A path that is not a resource, such as `/metrics`.
    Path(String),
}

/// The number of namespaces that one client sends the refused requests to, as far as the log shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceCount {
    Exactly(u64),
    /// At least two, at most this number.
    UpTo(u64),
    /// Unknown, because there are several clients.
    OfSeveral,
}

impl NamespaceCount {
    fn new(facts: &RowFacts<'_>, reads_collections: bool) -> Self {
        let targets = facts.row.targets.distinct();
        let of_client = facts.client.namespaces.count().0;
        match targets.min(of_client.max(1)) {
            _ if reads_collections => Self::Exactly(targets.max(1)),
            ..=1 => Self::Exactly(1),
            most => Self::UpTo(most),
        }
    }
}

impl Permission {
    /// Returns the permission that the requests of a group need. `None` unless the server returned 403 and the log
    /// shows the target.
    pub(crate) fn from_group(group: &RowGroup<'_>) -> Option<Self> {
        let leading = group.leading();
        // Granting rights to `system:anonymous` grants them to everybody.
        if leading.key.reason != "answered-forbidden" || leading.client.kind() == "anonymous" {
            return None;
        }
        if group.sum(|row| row.rare().facts.count(EventFact::RefusedByAdmission)) * 2 > group.requests() {
            return None;
        }
        let request = leading.shape_summary.request_shape.as_deref()?;
        // Since 1.27, access logs show CONNECT instead of the HTTP method.
        let hides_method = leading.client.kind() == "user-agent" && leading.key.kube_version.at_least(27, 0);
        let rows = || group.rows.iter().copied().filter(|facts| facts.key == leading.key);
        let mut own_namespace = None;
        let ((verb, create), on) = match &request.target {
            Target::Resource { group: api_group, resource, subresource, scope, .. } => {
                let mut by_client: HashMap<*const ClientSummary, BTreeSet<String>> = HashMap::new();
                if *scope != Scope::Cluster {
                    for facts in rows() {
                        let exemplars = facts.row.exemplars.as_slice().iter();
                        let namespaces = exemplars.filter_map(|one| namespace_of(one.uri()));
                        by_client.entry(std::ptr::from_ref(facts.client)).or_default().extend(namespaces);
                    }
                }
                // An exemplar is only one of many requests, so the exemplars do not show all namespaces. For LISTs
                // and watches in a namespace, the ledger counts distinct namespaces.
                let reads_collections =
                    *scope == Scope::Namespace && matches!(request.verb, Verb::List | Verb::Watch);
                let count = |facts: &RowFacts<'_>| NamespaceCount::new(facts, reads_collections);
                let number = match by_client.len() {
                    1 => count(leading),
                    _ => NamespaceCount::OfSeveral,
                };
                let own = by_client.get(&std::ptr::from_ref(leading.client));
                own_namespace = own.and_then(BTreeSet::first).cloned();
                let is_one_each = by_client.values().any(|own| !own.is_empty())
                    && by_client.values().all(|own| own.len() <= 1)
                    && rows().all(|facts| count(facts) == NamespaceCount::Exactly(1));
                let namespaces = by_client.into_values().flatten().collect();
                let websockets_need_create =
                    api_group.is_empty() && &**resource == "pods" && leading.key.kube_version.at_least(35, 0);
                let verbs = rbac_verbs(request.verb, subresource, hides_method, websockets_need_create)?;
                (
                    verbs,
                    PermissionTarget::Resource {
                        group: api_group.to_string(),
                        resource: resource.to_string(),
                        subresource: subresource.to_string(),
                        namespaces,
                        is_one_each,
                        number,
                    },
                )
            }
            Target::NonResource(_) => {
                let exemplars = rows().flat_map(|facts| facts.row.exemplars.as_slice());
                let path =
                    exemplars.map(|one| one.uri().split('?').next().unwrap_or_default().to_owned()).min()?;
                (rbac_verbs(request.verb, "", false, false)?, PermissionTarget::Path(path))
            }
            _ => return None,
        };
        let namespace = own_namespace.as_deref();
        let check = |verb| check(verb, &on, namespace, leading.client, leading.key.scope);
        let check = match create {
            CreateVerb::No | CreateVerb::ForPost => check(verb),
            CreateVerb::Too | CreateVerb::ForAnyMethod => format!("{} && {}", check(verb), check("create")),
        };
        Some(Self { verb, create, on, check })
    }

    /// Returns `Role` if each client needs the permission in one namespace only, else `ClusterRole`.
    pub(crate) fn role(&self) -> &'static str {
        match &self.on {
            PermissionTarget::Resource { is_one_each: true, .. } => "Role",
            _ => "ClusterRole",
        }
    }

    /// Returns the rule of a `Role` or a `ClusterRole` as YAML on one line.
    pub(crate) fn rule(&self) -> String {
        let listed = |text: &str| format!("[{}]", serde_json::Value::from(text));
        let verbs = match self.create {
            CreateVerb::No => listed(self.verb),
            _ => format!("[{}, \"create\"]", serde_json::Value::from(self.verb)),
        };
        match &self.on {
            PermissionTarget::Resource { group, resource, subresource, .. } => {
                let (group, resource) =
                    (listed(group), listed(&format!("{resource}{}", after_slash(subresource))));
                format!("- {{apiGroups: {group}, resources: {resource}, verbs: {verbs}}}")
            }
            PermissionTarget::Path(path) => {
                format!("- {{nonResourceURLs: {}, verbs: {verbs}}}", listed(path))
            }
        }
    }

    /// Renders the fix: the verb to grant, the RBAC rule, and the command that checks the permission.
    pub(super) fn prose(&self, client: &str, escape: fn(&str) -> String) -> String {
        let (what, place) = match &self.on {
            PermissionTarget::Path(path) => (path.clone(), String::new()),
            PermissionTarget::Resource { group, resource, subresource, namespaces, is_one_each, number } => {
                let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                let subresource = after_slash(subresource);
                let others = namespaces.len().saturating_sub(1);
                let some = || namespaces.iter().take(NAMED).map(|name| format!("`{}`", escape(name)));
                let some = || some().collect::<Vec<_>>().join(", ");
                let place = match namespaces.first() {
                    None => " for the whole cluster".to_owned(),
                    Some(_) if let Some(number) = several(*number, namespaces.len()) => {
                        format!(" in {number} namespaces, such as {}", some())
                    }
                    Some(only) if others == 0 => format!(" in namespace `{}`", escape(only)),
                    Some(first) if *is_one_each => {
                        let more = more(others, "namespace", "namespaces").unwrap_or_default();
                        format!(" in `{}` and {more}, each client in its own", escape(first))
                    }
                    Some(first) => format!(" in `{}` and other namespaces", escape(first)),
                };
                (format!("{resource}{group}{subresource}"), place)
            }
        };
        let role = match &self.on {
            PermissionTarget::Resource { is_one_each: true, namespaces, .. } if namespaces.len() > 1 => {
                "a Role in each of these namespaces"
            }
            PermissionTarget::Resource { is_one_each: true, .. } => "a Role in that namespace",
            PermissionTarget::Resource { namespaces, .. } if !namespaces.is_empty() => {
                "a ClusterRole, with a RoleBinding in each of these namespaces"
            }
            _ => "a ClusterRole",
        };
        let verb = match self.create {
            CreateVerb::No => format!("the verb `{}`", self.verb),
            CreateVerb::ForPost => format!("the verb `{}` or `create`", self.verb),
            CreateVerb::Too | CreateVerb::ForAnyMethod => format!("the verbs `{}` and `create`", self.verb),
        };
        format!(
            "Grant {client} {verb} on `{}`{place}. Or stop these requests.\n\n- Rule for {role}: `{}`\n\
             - Check: `{}`{}",
            escape(&what),
            escape(&self.rule()),
            escape(&self.check),
            self.create.note(),
        )
    }
}

fn after_slash(subresource: &str) -> String {
    if subresource.is_empty() { String::new() } else { format!("/{subresource}") }
}

/// Formats the number of namespaces. Returns `None` for one namespace, or if the number is unknown. `in_examples` is
/// the number of namespaces in the example requests.
fn several(number: NamespaceCount, in_examples: usize) -> Option<String> {
    let in_examples = in_examples as u64;
    match number {
        NamespaceCount::Exactly(number) if number.max(in_examples) > 1 => {
            Some(number.max(in_examples).to_string())
        }
        NamespaceCount::UpTo(most) if most <= in_examples => Some(in_examples.to_string()),
        NamespaceCount::UpTo(most) => Some(format!("up to {most}")),
        NamespaceCount::Exactly(_) | NamespaceCount::OfSeveral => None,
    }
}

/// Returns the verb that RBAC checks, and whether the request needs `create`.
///
/// The verb of a connection depends on its HTTP method. Source: k8s.io/apiserver
/// `pkg/endpoints/request/requestinfo.go`.
///
/// Before 1.31, kubectl opens exec, attach and portforward with POST. From 1.31 on, kubectl uses GET (WebSocket).
/// Source: kubernetes/kubernetes#133515.
///
/// If `websockets_need_create` (from 1.35 on), such a GET also needs `create`.
fn rbac_verbs(
    verb: Verb,
    subresource: &str,
    hides_method: bool,
    websockets_need_create: bool,
) -> Option<(&'static str, CreateVerb)> {
    let opens_websocket = matches!(subresource, "exec" | "attach" | "portforward");
    let connection = if websockets_need_create { CreateVerb::ForAnyMethod } else { CreateVerb::ForPost };
    Some(match (verb, subresource) {
        (Verb::Connect, _) if opens_websocket => ("get", connection),
        (Verb::Get | Verb::Create, _) if opens_websocket && hides_method => ("get", connection),
        (Verb::Get, _) if opens_websocket && websockets_need_create => ("get", CreateVerb::Too),
        (Verb::Connect, "proxy") => ("get", CreateVerb::ForPost),
        (Verb::Get, "proxy") if hides_method => ("get", CreateVerb::ForPost),
        (Verb::Connect, _) => ("get", CreateVerb::No),
        (Verb::Proxy | Verb::Other, _) => return None,
        (verb, _) => (verb.as_str(), CreateVerb::No),
    })
}

fn namespace_of(uri: &str) -> Option<String> {
    let target = ParsedTarget::parse(uri)?;
    let info = RequestInfo::resolve(Method::Get, &target.path, &target.options).ok()?;
    let namespace = info.resource.as_ref()?.namespace;
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

/// Builds the command that checks the permission. It quotes words that a client chose. Such words cannot become options
/// of the command.
fn check(
    verb: &str,
    on: &PermissionTarget,
    namespace: Option<&str>,
    client: &ClientSummary,
    scope: Option<Scope>,
) -> String {
    let mut command = format!("kubectl auth can-i {verb}");
    let mut add = |word: &str| {
        command.push(' ');
        command.push_str(word);
    };
    let what = match on {
        PermissionTarget::Path(path) => path.clone(),
        PermissionTarget::Resource { group, resource, .. } => {
            if group.is_empty() {
                resource.clone()
            } else {
                format!("{resource}.{group}")
            }
        }
    };
    // A word that looks like an option goes after `--`.
    let is_last = what.starts_with('-');
    if !is_last {
        add(&quoted(&what));
    }
    if let PermissionTarget::Resource { group, resource, subresource, .. } = on {
        if !subresource.is_empty() {
            add(&format!("--subresource={}", quoted(subresource)));
        }
        match namespace {
            Some(namespace) if namespace.starts_with('-') => add(&option("namespace", namespace)),
            Some(namespace) => add(&format!("-n {}", quoted(namespace))),
            None if scope == Some(Scope::Cluster)
                && resources::is_cluster_scoped(group, resource) == Some(false) =>
            {
                add("-A");
            }
            None => {}
        }
    }
    match client.kind() {
        // An access log names no user.
        "user-agent" => add("--as=<user>"),
        "anonymous" => add("--as=system:anonymous --as-group=system:unauthenticated"),
        "node" => add("--as=system:node:<name> --as-group=system:nodes"),
        _ => add(&format!("--as={}", quoted(&client.identity()))),
    }
    if is_last {
        add(&format!("-- {}", quoted(&what)));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_verbs_follow_the_http_method() {
        for (verb, subresource, hides_method, is_new, expected) in [
            (Verb::Create, "proxy", false, false, Some(("create", CreateVerb::No))),
            (Verb::Get, "proxy", false, true, Some(("get", CreateVerb::No))),
            (Verb::Get, "proxy", true, false, Some(("get", CreateVerb::ForPost))),
            (Verb::Create, "exec", true, false, Some(("get", CreateVerb::ForPost))),
            (Verb::Create, "exec", false, true, Some(("create", CreateVerb::No))),
            (Verb::Connect, "exec", false, false, Some(("get", CreateVerb::ForPost))),
            (Verb::Create, "attach", true, true, Some(("get", CreateVerb::ForAnyMethod))),
            (Verb::Get, "portforward", false, true, Some(("get", CreateVerb::Too))),
            (Verb::Get, "portforward", false, false, Some(("get", CreateVerb::No))),
            (Verb::Connect, "log", false, false, Some(("get", CreateVerb::No))),
            (Verb::Connect, "proxy", false, false, Some(("get", CreateVerb::ForPost))),
            (Verb::Delete, "proxy", true, false, Some(("delete", CreateVerb::No))),
            (Verb::Proxy, "", false, false, None),
        ] {
            let verbs = rbac_verbs(verb, subresource, hides_method, is_new);
            assert_eq!(verbs, expected, "{verb} {subresource}, {hides_method}, {is_new}");
        }
    }
}
