//! The note on requests that contradict their verdicts and that no finding explains.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::v1;
use crate::judged::Agreement;
use crate::k8s::text::prefix;
use crate::rules::figures::{count, more};

/// The maximum number of request shapes that the note names.
const NAMED: usize = 3;
/// The maximum length of a URL in the note, in bytes.
const MAX_URI: usize = 120;

/// Returns the note, or `None` without contradictions. It omits the clients in `explained`: they have a KT902 finding, even
/// if that finding is suppressed or not shown.
pub(super) fn note(clients: &[v1::Client], explained: &HashSet<String>) -> Option<String> {
    let unexplained = clients.iter().filter(|client| !explained.contains(&client.identity));
    let mut shapes: Vec<(&v1::Client, &v1::Shape)> = unexplained
        .flat_map(|client| client.shapes.iter().map(move |shape| (client, shape)))
        .filter(|(_, shape)| shape.observed.contradict > 0)
        .collect();
    shapes.sort_by_key(|(client, shape)| {
        (
            Reverse(shape.observed.contradict),
            &client.identity,
            shape.verb,
            shape.resource.as_deref(),
            &*shape.parameters,
        )
    });
    let all: u64 = shapes.iter().map(|(_, shape)| shape.observed.contradict).sum();
    let named: Vec<String> =
        shapes.iter().take(NAMED).map(|(client, shape)| format_shape(client, shape)).collect();
    let more = more(shapes.len().saturating_sub(NAMED), "kind of request", "kinds of requests");
    let more = more.map_or_else(String::new, |more| format!("; and {more}"));
    let requests =
        if all == 1 { "1 request contradicts its verdict" } else { "requests contradict their verdicts" };
    let requests = if all == 1 { requests.to_owned() } else { format!("{} {requests}", count(all)) };
    (all > 0).then(|| {
        format!(
            "{requests}: {}{more}. The server may have another version, or a feature gate may not be at its default. \
             Or another API server serves the group, or a watch cache was not ready",
            named.join("; ")
        )
    })
}

fn format_shape(client: &v1::Client, shape: &v1::Shape) -> String {
    let what = shape.example.as_ref().map_or_else(
        || shape.resource.as_deref().unwrap_or("other requests").to_owned(),
        |example| prefix(&example.request_uri, MAX_URI).to_owned(),
    );
    let Agreement { contradict, measured, .. } = shape.observed;
    let why = if measured == 0 {
        format!("served, although Kubernetes {} refuses it", shape.kube_version)
    } else {
        let from = shape.likely.unwrap_or(shape.served_from);
        format!("the latency annotations do not fit \"{from}\"")
    };
    format!("{} {what} by {} ({}: {why})", shape.verb, prefix(&client.identity, MAX_URI), count(contradict))
}
