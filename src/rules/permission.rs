//! The permission that refused requests lack: the RBAC rule that grants it, and the command that checks it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::group::Group;
use crate::accounts::Account;
use crate::apiserver::{ParsedTarget, Target, resources};
use crate::k8s::request_info::Method;
use crate::k8s::{RequestInfo, Scope, Verb};
use crate::shell::{option, quoted};

/// What a client is not allowed to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The verb, as RBAC names it. Of a connection whose HTTP method the log does not show, the verb for GET.
    pub verb: &'static str,
    /// The verb for POST, where the log does not show the HTTP method.
    pub verb_for_post: Option<&'static str>,
    /// What it is refused on.
    pub on: On,
    /// The command that asks the server whether the permission is there.
    pub check: String,
}

/// What a permission is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// Objects of the API.
    Resource {
        /// The API group; empty for the core group.
        group: String,
        /// The resource, with its subresource behind a slash.
        resource: String,
        /// Namespaces of requests that were kept; none for the whole cluster.
        namespaces: BTreeSet<String>,
    },
    /// Another path, such as `/metrics`.
    Path(String),
}

impl Permission {
    /// The permission that the requests of a group lack, if the server answered 403 and the log names what was asked.
    #[must_use]
    pub fn of(group: &Group<'_>) -> Option<Self> {
        let leading = group.leading();
        // Rights of system:anonymous are everybody's.
        if leading.key.reason != "answered-forbidden" || leading.account.kind() == "anonymous" {
            return None;
        }
        if group.sum(|row| row.rare().refused_by_admission) * 2 > group.requests() {
            return None;
        }
        let asked = leading.entry.asked.as_deref()?;
        // Access logs say CONNECT in place of the method since 1.27.
        let hides_method = leading.account.kind() == "user-agent" && leading.key.kube_version.at_least(27, 0);
        let rows = group.rows.iter().filter(|facts| facts.key == leading.key);
        let exemplars = rows.flat_map(|facts| facts.row.exemplars.as_slice());
        let ((verb, verb_for_post), on) = match &asked.target {
            Target::Resource { group: api_group, resource, subresource, scope, .. } => {
                let mut namespaces = BTreeSet::new();
                if *scope != Scope::Cluster {
                    namespaces.extend(exemplars.filter_map(|one| namespace_of(one.uri())));
                }
                let mut resource = resource.to_string();
                if !subresource.is_empty() {
                    write!(resource, "/{subresource}").expect("a String takes all");
                }
                (
                    rbac_verbs(asked.verb, subresource, hides_method)?,
                    On::Resource { group: api_group.to_string(), resource, namespaces },
                )
            }
            Target::NonResource(_) => {
                let path =
                    exemplars.map(|one| one.uri().split('?').next().unwrap_or_default().to_owned()).min()?;
                (rbac_verbs(asked.verb, "", false)?, On::Path(path))
            }
            _ => return None,
        };
        let check = check(verb, &on, leading.account, leading.key.scope);
        Some(Self { verb, verb_for_post, on, check })
    }

    /// `Role` where it is for one namespace, else `ClusterRole`.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match &self.on {
            On::Resource { namespaces, .. } if namespaces.len() == 1 => "Role",
            _ => "ClusterRole",
        }
    }

    /// The rule of a Role or a `ClusterRole`, as YAML on one line.
    #[must_use]
    pub fn rule(&self) -> String {
        let listed = |text: &str| format!("[{}]", serde_json::Value::from(text));
        let verbs: Vec<String> = [Some(self.verb), self.verb_for_post]
            .into_iter()
            .flatten()
            .map(|verb| serde_json::Value::from(verb).to_string())
            .collect();
        let verbs = format!("[{}]", verbs.join(", "));
        match &self.on {
            On::Resource { group, resource, .. } => format!(
                "- {{apiGroups: {}, resources: {}, verbs: {}}}",
                listed(group),
                listed(resource),
                verbs
            ),
            On::Path(path) => {
                format!("- {{nonResourceURLs: {}, verbs: {verbs}}}", listed(path))
            }
        }
    }

    /// What to do, in prose: the step, the rule, and the check.
    pub(super) fn prose(&self, client: &str, kept: fn(&str) -> String) -> String {
        let (what, place) = match &self.on {
            On::Path(path) => (path.clone(), String::new()),
            On::Resource { group, resource, namespaces } => {
                let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                let (resource, subresource) =
                    resource.split_once('/').map_or((resource.as_str(), String::new()), |(resource, sub)| {
                        (resource, format!("/{sub}"))
                    });
                let place = match namespaces.iter().next() {
                    None => " for the whole cluster".to_owned(),
                    Some(only) if namespaces.len() == 1 => format!(" in namespace `{}`", kept(only)),
                    Some(first) => format!(" in `{}` and other namespaces", kept(first)),
                };
                (format!("{resource}{group}{subresource}"), place)
            }
        };
        let role = match self.role() {
            "Role" => "a Role in that namespace",
            _ => "a ClusterRole",
        };
        let (verb, method) = match self.verb_for_post {
            None => (format!("the verb `{}`", self.verb), ""),
            Some(post) => (
                format!("the verb `{}` or `{post}`", self.verb),
                "\n\nThe log does not show the HTTP method of the connection. A GET needs `get`, a POST `create`.",
            ),
        };
        format!(
            "Grant {client} {verb} on `{}`{place}, or stop it from asking.\n\n- The rule for {role}: `{}`\n\
             - The check: `{}`{method}",
            kept(&what),
            kept(&self.rule()),
            kept(&self.check),
        )
    }
}

/// The verb that RBAC looks for, by the HTTP method; and the one for POST, where the log does not show the method of a
/// connection.
///
/// Source: k8s.io/apiserver `pkg/endpoints/request/requestinfo.go`: the verb of a connection is that of its method.
fn rbac_verbs(
    verb: Verb,
    subresource: &str,
    hides_method: bool,
) -> Option<(&'static str, Option<&'static str>)> {
    Some(match (verb, subresource) {
        // kubectl opens these with POST.
        (Verb::Connect, "exec" | "attach" | "portforward") => ("create", None),
        (Verb::Connect, "proxy") => ("get", Some("create")),
        (Verb::Get, "proxy") if hides_method => ("get", Some("create")),
        (Verb::Connect, _) => ("get", None),
        (Verb::Proxy | Verb::Other, _) => return None,
        (verb, _) => (verb.as_str(), None),
    })
}

/// The namespace in the path of a request.
fn namespace_of(uri: &str) -> Option<String> {
    let target = ParsedTarget::parse(uri)?;
    let info = RequestInfo::resolve(Method::Get, &target.path, &target.options).ok()?;
    let namespace = info.resource.as_ref()?.namespace;
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

/// The command that asks the server. Words that a client chose are quoted, and none is taken for an option.
fn check(verb: &str, on: &On, account: &Account, scope: Option<Scope>) -> String {
    let mut command = format!("kubectl auth can-i {verb}");
    let mut add = |word: &str| {
        command.push(' ');
        command.push_str(word);
    };
    let what = match on {
        On::Path(path) => path.clone(),
        On::Resource { group, resource, .. } => {
            let resource = resource.split_once('/').map_or(&**resource, |(resource, _)| resource);
            if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
        }
    };
    // What begins like an option is behind all options.
    let is_last = what.starts_with('-');
    if !is_last {
        add(&quoted(&what));
    }
    if let On::Resource { group, resource, namespaces } = on {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        if !subresource.is_empty() {
            add(&format!("--subresource={}", quoted(subresource)));
        }
        match namespaces.iter().next() {
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
    match account.kind() {
        // An access log names no user.
        "user-agent" => add("--as=<user>"),
        "anonymous" => add("--as=system:anonymous --as-group=system:unauthenticated"),
        "node" => add("--as=system:node:<name> --as-group=system:nodes"),
        _ => add(&format!("--as={}", quoted(&account.identity()))),
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
        for (verb, subresource, hides_method, expected) in [
            (Verb::Create, "proxy", false, Some(("create", None))),
            (Verb::Get, "proxy", false, Some(("get", None))),
            (Verb::Get, "proxy", true, Some(("get", Some("create")))),
            (Verb::Create, "exec", true, Some(("create", None))),
            (Verb::Connect, "exec", false, Some(("create", None))),
            (Verb::Connect, "log", false, Some(("get", None))),
            (Verb::Connect, "proxy", false, Some(("get", Some("create")))),
            (Verb::Delete, "proxy", true, Some(("delete", None))),
            (Verb::Proxy, "", false, None),
        ] {
            assert_eq!(rbac_verbs(verb, subresource, hides_method), expected, "{verb} {subresource}");
        }
    }
}
