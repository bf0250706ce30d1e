//! The text of a request shape in reports.

use crate::apiserver::options::{
    Limit, Narrows, Options, Page, PageSize, ResourceVersion, ResourceVersionMatch, Selector, Single,
};
use crate::apiserver::resources::{OTHER, is_overflow};
use crate::apiserver::{RequestShape, Target};
use crate::k8s::list_options::LIST_OPTION_KEYS;
use crate::k8s::secrets::masked;
use crate::k8s::{Scope, Verb};
use compact_str::CompactString;

/// The name of the sum of request shapes beyond the limit per client.
pub(crate) const OTHER_SHAPES: &str = "(other shapes)";

/// A request shape in one line, from the fields of a shape in the report.
pub(crate) fn name(
    verb: &str,
    resource: &str,
    subresource: Option<&str>,
    scope: Option<&str>,
    parameters: &str,
) -> String {
    let mut name = format!("{verb} {resource}");
    if let Some(subresource) = subresource {
        name.push('/');
        name.push_str(subresource);
    }
    match scope {
        Some("namespace") => name.push_str(" in a namespace"),
        Some("cluster") if matches!(verb, "list" | "watch" | "deletecollection") => {
            name.push_str(" cluster-wide");
        }
        _ => {}
    }
    if !parameters.is_empty() {
        name.push_str(" ?");
        name.push_str(parameters);
    }
    name
}

/// The resource with its group, such as `deployments.apps`, or the class of a path that is not a resource.
pub(crate) fn resource(target: &Target<CompactString>) -> String {
    match target {
        Target::Unknown { resource, .. } if resource.is_empty() => "(unknown)".to_owned(),
        Target::Resource { resource, .. } | Target::Unknown { resource, .. } if is_overflow(resource) => {
            OTHER.to_owned()
        }
        Target::Resource { group, resource, .. } | Target::Unknown { group, resource, .. } => {
            masked(&qualified(resource, group)).into_owned()
        }
        Target::NonResource(class) => class.as_str().to_owned(),
        Target::Unresolvable => "(unresolvable path)".to_owned(),
    }
}

fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

pub(crate) fn subresource(target: &Target<CompactString>) -> Option<String> {
    match target {
        Target::Resource { subresource, .. } if !subresource.is_empty() => {
            Some(masked(subresource).into_owned())
        }
        _ => None,
    }
}

/// The scope in the path: the cluster, a namespace, or one object.
pub(crate) fn scope(target: &Target<CompactString>) -> Option<Scope> {
    match target {
        Target::Resource { scope, .. } => Some(*scope),
        _ => None,
    }
}

/// The list options as a query string. Values that differ between requests are replaced, as in `continue=…`.
pub(crate) fn parameters(shape: &RequestShape<CompactString>) -> String {
    let options = &shape.options;
    let mut words: Vec<String> = Vec::new();
    let mut word = |text: &str| words.push(text.to_owned());
    match options.label_selector {
        Selector::Everything => {}
        Selector::Some => word("labelSelector=…"),
        Selector::Invalid => word("labelSelector=(invalid)"),
    }
    if let Some(text) = field_selector(options) {
        word(text);
    }
    match options.limit {
        Limit::Absent => {}
        Limit::Unlimited => word("limit=0"),
        Limit::Invalid => word("limit=(invalid)"),
        Limit::Page(PageSize::Exactly(size)) => word(&format!("limit={size}")),
        Limit::Page(PageSize::UpTo(size)) => word(&format!("limit<{size}")),
        Limit::Page(PageSize::More) => word(&format!("limit>{}", Limit::USUAL[Limit::USUAL.len() - 1])),
    }
    match options.page {
        Page::First => {}
        Page::AtRevision => word("continue=…"),
        Page::Inconsistent => word("continue=(expired)"),
        Page::Invalid => word("continue=(invalid)"),
    }
    match options.resource_version {
        ResourceVersion::Unset => {}
        ResourceVersion::Zero => word("resourceVersion=0"),
        ResourceVersion::ZeroAlias => word("resourceVersion=00"),
        ResourceVersion::Number => word("resourceVersion=N"),
        ResourceVersion::Garbage => word("resourceVersion=(invalid)"),
    }
    match options.resource_version_match {
        ResourceVersionMatch::Unset => {}
        ResourceVersionMatch::NotOlderThan => word("resourceVersionMatch=NotOlderThan"),
        ResourceVersionMatch::Exact => word("resourceVersionMatch=Exact"),
        ResourceVersionMatch::Unknown => word("resourceVersionMatch=(invalid)"),
    }
    if let Some(wanted) = options.send_initial_events {
        word(&format!("sendInitialEvents={wanted}"));
    }
    if options.allow_watch_bookmarks && shape.verb == Verb::Watch {
        word("allowWatchBookmarks=true");
    }
    if options.dry_run {
        word("dryRun=All");
    }
    words.join("&")
}

fn field_selector(options: &Options) -> Option<&'static str> {
    Some(match (options.field_selector, options.selects_name) {
        (Selector::Everything, _) => return None,
        (Selector::Invalid, _) => "fieldSelector=(invalid)",
        (Selector::Some, false) if options.narrows == Narrows::ToNode => "fieldSelector=spec.nodeName=…",
        (Selector::Some, false) => "fieldSelector=…",
        (Selector::Some, true) if options.selects_other_fields => "fieldSelector=metadata.name=…,…",
        (Selector::Some, true) if options.single == Single::KeyBySelectedNamespace => {
            "fieldSelector=metadata.name=…,metadata.namespace=…"
        }
        (Selector::Some, true) => "fieldSelector=metadata.name=…",
    })
}

/// The list options that clients likely meant with misspelled query keys, which the server ignores.
pub(crate) fn misspelled(shape: &RequestShape<CompactString>) -> Vec<String> {
    let keys = LIST_OPTION_KEYS.iter().enumerate();
    keys.filter(|(index, _)| shape.options.misspelled & (1 << index) != 0)
        .map(|(_, key)| (*key).to_owned())
        .collect()
}
