//! Slow requests from traces in the apiserver's own log, for a terminal.

use super::plain::{count, duration, escaped};
use super::table::table;
use crate::report::v1::TraceGroup;

/// The maximum number of groups to show.
const SHOWN: usize = 8;

/// Renders a table of the groups, the longest total time first. Empty without groups.
pub(super) fn rows(groups: &[TraceGroup], width: usize) -> String {
    let columns = [
        ("traced", false),
        ("client", false),
        ("times", true),
        ("most\nitems", true),
        ("p50", true),
        ("longest", true),
    ];
    let rows = groups.iter().take(SHOWN).map(|group| {
        let resource = group.resource.as_deref().unwrap_or("–");
        let subresource = group.subresource.as_deref().map_or(String::new(), |sub| format!("/{sub}"));
        let scope = match group.scope.as_deref() {
            Some("cluster") => " cluster-wide",
            Some("namespace") => " in a namespace",
            _ => "",
        };
        vec![
            escaped(&format!("{} {resource}{subresource}{scope}", group.operation)).into_owned(),
            escaped(&group.product).into_owned(),
            count(group.traces),
            group.items.map_or("–".to_owned(), |items| count(items.max)),
            group.latency.map_or("–".to_owned(), |latency| duration(latency.p50_micros)),
            group.latency.map_or("–".to_owned(), |latency| duration(latency.max_micros)),
        ]
    });
    if groups.is_empty() { String::new() } else { table(&columns, rows.collect(), 0, width) }
}
