//! Requests that contradict their verdicts, and that no finding explains.

use std::cmp::Reverse;

use super::v1;
use crate::k8s::text::prefix;
use crate::rules::figures::count;

/// How many requests a note names.
const NAMED: usize = 3;
/// The longest URL of a note, in bytes.
const MAX_URI: usize = 120;
/// The rule whose findings explain contradictions.
const RULE: &str = "KT902";

/// A note on contradictions that no finding is about: which requests they are, and what they may mean.
pub(super) fn note(clients: &[v1::Client], findings: &[v1::Finding]) -> Option<String> {
    let is_explained = |client: &v1::Client| {
        let mut own = findings.iter().filter(|finding| finding.client.as_deref() == Some(&*client.identity));
        own.any(|finding| *finding.rule.id == *RULE)
    };
    let unexplained = clients.iter().filter(|client| !is_explained(client));
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
        shapes.iter().take(NAMED).map(|(client, shape)| in_words(client, shape)).collect();
    let more = match shapes.len().saturating_sub(NAMED) {
        0 => String::new(),
        1 => "; and 1 more kind of request".to_owned(),
        more => format!("; and {} more kinds of requests", count(more as u64)),
    };
    let requests =
        if all == 1 { "1 request contradicts its verdict" } else { "requests contradict their verdicts" };
    let requests = if all == 1 { requests.to_owned() } else { format!("{} {requests}", count(all)) };
    (all > 0).then(|| {
        format!(
            "{requests}: {}{more}. The server may be of another version, a feature gate may not be at its default, \
             another API server may serve the group, or a watch cache was not ready",
            named.join("; ")
        )
    })
}

fn in_words(client: &v1::Client, shape: &v1::Shape) -> String {
    let what = shape.example.as_ref().map_or_else(
        || shape.resource.as_deref().unwrap_or("other requests").to_owned(),
        |example| prefix(&example.request_uri, MAX_URI).to_owned(),
    );
    let v1::Observed { contradict, measured, .. } = shape.observed;
    let why = if measured == 0 {
        format!("served, although Kubernetes {} refuses it", shape.kube_version)
    } else {
        let from = shape.likely.unwrap_or(shape.served_from);
        format!("the latency annotations do not fit \"{from}\"")
    };
    format!("{} {what} by {} ({}: {why})", shape.verb, prefix(&client.identity, MAX_URI), count(contradict))
}
