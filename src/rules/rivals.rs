//! Finds other clients that write the objects on which a client got conflicts (409). The log may not show all of
//! them.

use std::cmp::Reverse;

use super::figures;
use super::group::RowGroup;

/// The maximum number of clients in a text.
const SHOWN: usize = 3;

/// A competing writer of the same resource: another client, or the same client with another user agent product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rival {
    /// The index of the client.
    pub(crate) client: usize,
    /// The name of the rival. If it is the same client, the name includes the product.
    pub(crate) name: String,
    /// The number of objects that both clients write. A number above 64 is an estimate. The number is 0 if the
    /// clients write different subresources.
    pub(crate) objects: u64,
    /// The number of the rival's writes to the shared objects. If no object is shared, the number of its writes to
    /// the resource.
    pub(crate) writes: u64,
    /// The subresource that the rival writes, if no shared object is known.
    pub(crate) subresource: Option<String>,
}

/// Finds the rivals of a group, sorted by shared objects, most first.
///
/// The log does not show whether clients that write different subresources write the same objects. Thus such clients
/// are rivals only if no other rival is known.
pub(crate) fn find(group: &RowGroup<'_>) -> Vec<Rival> {
    let leading = group.leading();
    let Some(resource) = leading.key.resource.as_deref() else { return Vec::new() };
    let targets = group.targets();
    let mut rivals: Vec<Rival> = Vec::new();
    for writer in group.totals.writers(resource) {
        let is_own = writer.client == group.client;
        if is_own && writer.product == leading.product {
            continue;
        }
        let (objects, writes) = targets.shared_with(&writer.row.targets);
        let is_other_part =
            objects == 0 && !group.rows.iter().any(|facts| facts.key.subresource == writer.key.subresource);
        if objects == 0 && !is_other_part {
            continue;
        }
        let client = &group.totals.judged.clients[writer.client];
        let name = match client.short_name() {
            name if is_own => format!("{name} as {}", writer.product),
            name => name,
        };
        let subresource =
            is_other_part.then(|| writer.key.subresource.as_deref().unwrap_or_default().to_owned());
        let writes = if is_other_part { group.totals.judged.requests(writer.row) } else { writes };
        match rivals.iter_mut().find(|own| own.name == name && own.subresource == subresource) {
            Some(own) => {
                own.objects = own.objects.max(objects);
                own.writes += writes;
            }
            None => rivals.push(Rival { client: writer.client, name, objects, writes, subresource }),
        }
    }
    if rivals.iter().any(|rival| rival.objects > 0) {
        rivals.retain(|rival| rival.objects > 0);
    }
    rivals.sort_by(|a, b| {
        let key = |rival: &Rival| (Reverse(rival.objects), Reverse(rival.writes));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    rivals.truncate(SHOWN);
    rivals
}

/// Formats the rivals; empty if there are none.
pub(super) fn prose(rivals: &[Rival], resource: &str, escape: fn(&str) -> String) -> String {
    let one = |rival: &Rival| {
        let (name, writes) = (escape(&rival.name), counted(rival.writes, "write"));
        match rival.subresource.as_deref() {
            None => format!("{name} ({writes} to {})", counted(rival.objects, "shared object")),
            Some("") => format!("{name} ({writes} to {} itself, perhaps the same objects)", escape(resource)),
            Some(sub) => {
                format!("{name} ({writes} to {}/{}, perhaps the same objects)", escape(resource), escape(sub))
            }
        }
    };
    rivals.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{} {what}s", figures::count(count)) }
}
