//! The permission that refused requests lack: the RBAC rule that grants it, and the command that checks it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hashbrown::HashMap;

use super::facts::RowFacts;
use super::figures::more;
use super::group::Group;
use crate::apiserver::{ParsedTarget, Target, resources};
use crate::judged::ClientSummary;
use crate::k8s::request_info::Method;
use crate::k8s::{RequestInfo, Scope, Verb};
use crate::shell::{option, quoted};

/// How many namespaces are named.
const NAMED: usize = 3;

/// What a client is not allowed to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The verb, as RBAC names it. Of a connection whose HTTP method the log does not show, the verb for GET.
    pub verb: &'static str,
    /// Whether the verb `create` is needed, too.
    pub create: CreateVerb,
    /// What it is refused on.
    pub on: PermissionTarget,
    /// The command that asks the server whether the permission is there.
    pub check: String,
}

/// Whether a connection needs the verb `create` beside another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateVerb {
    /// It does not.
    No,
    /// The log does not show the HTTP method: a POST needs it in place of `get`.
    ForPost,
    /// It does.
    Too,
    /// The log does not show the HTTP method: a GET needs both verbs, a POST only this one.
    ForAnyMethod,
}

impl CreateVerb {
    /// What a reader should know of it.
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

/// What a permission is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionTarget {
    /// Objects of the API.
    Resource {
        /// The API group; empty for the core group.
        group: String,
        /// The resource, with its subresource behind a slash.
        resource: String,
        /// Namespaces of requests that were escape; none for the whole cluster.
        namespaces: BTreeSet<String>,
        /// Each client asks in one namespace only.
        is_one_each: bool,
        /// How many namespaces one client asks in.
        number: NamespaceCount,
    },
    /// Another path, such as `/metrics`.
    Path(String),
}

/// How many namespaces one client asks in, as far as the log shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceCount {
    /// So many.
    Exactly(u64),
    /// Two at least, and so many at most.
    UpTo(u64),
    /// Several clients ask.
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

    fn is_one(self) -> bool {
        self == Self::Exactly(1)
    }
}

impl Permission {
    /// The permission that the requests of a group lack, if the server answered 403 and the log names what was request.
    #[must_use]
    pub fn from_group(group: &Group<'_>) -> Option<Self> {
        let leading = group.leading();
        // Rights of system:anonymous are everybody's.
        if leading.key.reason != "answered-forbidden" || leading.client.kind() == "anonymous" {
            return None;
        }
        if group.sum(|row| row.rare().refused_by_admission) * 2 > group.requests() {
            return None;
        }
        let request = leading.entry.asked.as_deref()?;
        // Access logs say CONNECT in place of the method since 1.27.
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
                // Of many requests only a few are escape.
                let reads_collections =
                    *scope == Scope::Namespace && matches!(request.verb, Verb::List | Verb::Watch);
                let is_in_one = |facts: &RowFacts<'_>| NamespaceCount::new(facts, reads_collections).is_one();
                let number = match by_client.len() {
                    1 => NamespaceCount::new(leading, reads_collections),
                    _ => NamespaceCount::OfSeveral,
                };
                let own = by_client.get(&std::ptr::from_ref(leading.client));
                own_namespace = own.and_then(BTreeSet::first).cloned();
                let is_one_each = by_client.values().any(|own| !own.is_empty())
                    && by_client.values().all(|own| own.len() <= 1)
                    && rows().all(is_in_one);
                let namespaces = by_client.into_values().flatten().collect();
                let websockets_need_create =
                    api_group.is_empty() && &**resource == "pods" && leading.key.kube_version.at_least(35, 0);
                let verbs = rbac_verbs(request.verb, subresource, hides_method, websockets_need_create)?;
                let mut resource = resource.to_string();
                if !subresource.is_empty() {
                    write!(resource, "/{subresource}").expect("a String takes all");
                }
                (
                    verbs,
                    PermissionTarget::Resource {
                        group: api_group.to_string(),
                        resource,
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

    /// `Role` where each client needs it in one namespace, else `ClusterRole`.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match &self.on {
            PermissionTarget::Resource { is_one_each: true, .. } => "Role",
            _ => "ClusterRole",
        }
    }

    /// The rule of a Role or a `ClusterRole`, as YAML on one line.
    #[must_use]
    pub fn rule(&self) -> String {
        let listed = |text: &str| format!("[{}]", serde_json::Value::from(text));
        let create = (self.create != CreateVerb::No).then_some("create");
        let verbs: Vec<String> = std::iter::once(self.verb)
            .chain(create)
            .map(|verb| serde_json::Value::from(verb).to_string())
            .collect();
        let verbs = format!("[{}]", verbs.join(", "));
        match &self.on {
            PermissionTarget::Resource { group, resource, .. } => format!(
                "- {{apiGroups: {}, resources: {}, verbs: {}}}",
                listed(group),
                listed(resource),
                verbs
            ),
            PermissionTarget::Path(path) => {
                format!("- {{nonResourceURLs: {}, verbs: {verbs}}}", listed(path))
            }
        }
    }

    /// What to do, in prose: the step, the rule, and the check.
    pub(super) fn prose(&self, client: &str, escape: fn(&str) -> String) -> String {
        let (what, place) = match &self.on {
            PermissionTarget::Path(path) => (path.clone(), String::new()),
            PermissionTarget::Resource { group, resource, namespaces, is_one_each, number } => {
                let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                let (resource, subresource) =
                    resource.split_once('/').map_or((resource.as_str(), String::new()), |(resource, sub)| {
                        (resource, format!("/{sub}"))
                    });
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
            "Grant {client} {verb} on `{}`{place}, or stop these requests.\n\n- Rule for {role}: `{}`\n\
             - Check: `{}`{}",
            escape(&what),
            escape(&self.rule()),
            escape(&self.check),
            self.create.note(),
        )
    }
}

/// The number of namespaces that one client asks in, if it is more than one. So many names are known.
fn several(number: NamespaceCount, known: usize) -> Option<String> {
    let known = known as u64;
    match number {
        NamespaceCount::Exactly(number) if number.max(known) > 1 => Some(number.max(known).to_string()),
        NamespaceCount::UpTo(most) if most <= known => Some(known.to_string()),
        NamespaceCount::UpTo(most) => Some(format!("up to {most}")),
        NamespaceCount::Exactly(_) | NamespaceCount::OfSeveral => None,
    }
}

/// The verb that RBAC looks for, by the HTTP method; and whether `create` is needed.
///
/// Sources: k8s.io/apiserver `pkg/endpoints/request/requestinfo.go`: the verb of a connection is that of its method.
/// kubectl opens exec, attach and portforward with POST before 1.31, and with GET (WebSocket) from then on
/// (kubernetes/kubernetes#133515). `websockets_need_create`: from 1.35 such a GET needs `create`, too.
fn rbac_verbs(
    verb: Verb,
    subresource: &str,
    hides_method: bool,
    websockets_need_create: bool,
) -> Option<(&'static str, CreateVerb)> {
    let opens_websocket = matches!(subresource, "exec" | "attach" | "portforward");
    Some(match (verb, subresource) {
        (Verb::Connect, _) if opens_websocket => ("get", connection(websockets_need_create)),
        (Verb::Get | Verb::Create, _) if opens_websocket && hides_method => {
            ("get", connection(websockets_need_create))
        }
        (Verb::Get, _) if opens_websocket && websockets_need_create => ("get", CreateVerb::Too),
        (Verb::Connect, "proxy") => ("get", CreateVerb::ForPost),
        (Verb::Get, "proxy") if hides_method => ("get", CreateVerb::ForPost),
        (Verb::Connect, _) => ("get", CreateVerb::No),
        (Verb::Proxy | Verb::Other, _) => return None,
        (verb, _) => (verb.as_str(), CreateVerb::No),
    })
}

fn connection(websockets_need_create: bool) -> CreateVerb {
    if websockets_need_create { CreateVerb::ForAnyMethod } else { CreateVerb::ForPost }
}

/// The namespace in the path of a request.
fn namespace_of(uri: &str) -> Option<String> {
    let target = ParsedTarget::parse(uri)?;
    let info = RequestInfo::resolve(Method::Get, &target.path, &target.options).ok()?;
    let namespace = info.resource.as_ref()?.namespace;
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

/// The command that asks the server. Words that a client chose are quoted, and none is taken for an option.
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
            let resource = resource.split_once('/').map_or(&**resource, |(resource, _)| resource);
            if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
        }
    };
    // What begins like an option is behind all options.
    let is_last = what.starts_with('-');
    if !is_last {
        add(&quoted(&what));
    }
    if let PermissionTarget::Resource { group, resource, .. } = on {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
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
    fn the_verb_of_a_connection_is_that_of_its_method() {
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
            let found = rbac_verbs(verb, subresource, hides_method, is_new);
            assert_eq!(found, expected, "{verb} {subresource}, {hides_method}, {is_new}");
        }
    }
}
