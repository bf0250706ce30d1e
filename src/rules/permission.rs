//! The permission that refused requests lack: the RBAC rule that grants it, and the command that checks it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::group::Group;
use crate::accounts::Account;
use crate::apiserver::{ParsedTarget, Target, resources};
use crate::k8s::request_info::Method;
use crate::k8s::{RequestInfo, Scope, Verb};
use crate::shell::quoted;

/// What a client is not allowed to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The verb, as RBAC names it.
    pub verb: &'static str,
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
        if leading.key.reason != "answered-forbidden" {
            return None;
        }
        let asked = leading.entry.asked.as_deref()?;
        let rows = group.rows.iter().filter(|facts| facts.key == leading.key);
        let exemplars = rows.flat_map(|facts| facts.row.exemplars.as_slice());
        let (verb, on) = match &asked.target {
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
                    rbac_verb(asked.verb, subresource)?,
                    On::Resource { group: api_group.to_string(), resource, namespaces },
                )
            }
            Target::NonResource(_) => {
                let path =
                    exemplars.map(|one| one.uri().split('?').next().unwrap_or_default().to_owned()).min()?;
                (rbac_verb(asked.verb, "")?, On::Path(path))
            }
            _ => return None,
        };
        let check = check(verb, &on, leading.account, leading.key.scope);
        Some(Self { verb, on, check })
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
        match &self.on {
            On::Resource { group, resource, .. } => format!(
                "- {{apiGroups: {}, resources: {}, verbs: {}}}",
                listed(group),
                listed(resource),
                listed(self.verb)
            ),
            On::Path(path) => {
                format!("- {{nonResourceURLs: {}, verbs: {}}}", listed(path), listed(self.verb))
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
        format!(
            "Grant {client} the verb `{}` on `{}`{place}, or stop it from asking.\n\n- The rule for {role}: `{}`\n\
             - The check: `{}`",
            self.verb,
            kept(&what),
            kept(&self.rule()),
            kept(&self.check),
        )
    }
}

/// The verb that RBAC looks for.
fn rbac_verb(verb: Verb, subresource: &str) -> Option<&'static str> {
    Some(match verb {
        Verb::Connect if matches!(subresource, "exec" | "attach" | "portforward") => "create",
        Verb::Connect => "get",
        Verb::Proxy | Verb::Other => return None,
        verb => verb.as_str(),
    })
}

/// The namespace in the path of a request.
fn namespace_of(uri: &str) -> Option<String> {
    let target = ParsedTarget::parse(uri)?;
    let info = RequestInfo::resolve(Method::Get, &target.path, &target.options).ok()?;
    let namespace = info.resource.as_ref()?.namespace;
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

/// The command that asks the server. Words that a client chose are quoted.
fn check(verb: &str, on: &On, account: &Account, scope: Option<Scope>) -> String {
    let mut command = format!("kubectl auth can-i {verb}");
    match on {
        On::Path(path) => write!(command, " {}", quoted(path)),
        On::Resource { group, resource, namespaces } => {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let full = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
            let subresource = match subresource {
                "" => String::new(),
                name => format!(" --subresource={}", quoted(name)),
            };
            let place = match namespaces.iter().next() {
                Some(namespace) => format!(" -n {}", quoted(namespace)),
                None if scope == Some(Scope::Cluster)
                    && resources::is_cluster_scoped(group, resource) == Some(false) =>
                {
                    " -A".to_owned()
                }
                None => String::new(),
            };
            write!(command, " {}{subresource}{place}", quoted(&full))
        }
    }
    .expect("a String takes all");
    match account.kind() {
        // An access log names no user.
        "user-agent" => command.push_str(" --as=<user>"),
        "anonymous" => command.push_str(" --as=system:anonymous --as-group=system:unauthenticated"),
        "node" => command.push_str(" --as=system:node:<name> --as-group=system:nodes"),
        _ => write!(command, " --as={}", quoted(&account.identity())).expect("a String takes all"),
    }
    command
}
