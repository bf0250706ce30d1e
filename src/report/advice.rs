//! Advice: what to change, by reason and server version.
//!
//! Do not advise to drop `resourceVersion=0` to get pages on servers before 1.34. Up to 1.30, this moves the load
//! from the watch cache to etcd. From 1.31 to 1.33, it does so for all pages except the first.

use crate::apiserver::{Gate, Reason, Server};
use crate::judged::{Job, ShapeSummary};
use crate::k8s::Verb;
use crate::rules::job_advice::job_advice;

const FROM_INDEX: &str = "Send resourceVersion=0 and no limit. The watch cache then serves the LIST from its index of \
                          pods by node. A page with a limit costs about three range reads of etcd. If the LIST \
                          repeats, WATCH with the same selector, or read /pods from the node's kubelet.";
const WITHOUT_LIMIT: &str =
    "Drop the limit: this server serves the LIST without a limit from the watch cache.";
const STALE_OR_LESS: &str = "If data that is seconds old is enough, send resourceVersion=0 without a limit. Then the \
                             watch cache serves it. Otherwise run it less often and outside of busy hours.";

/// The role of the client, which decides which change helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ClientRole {
    /// The client lists the pods of one node.
    NodeAgent,
    /// Any other client. [`Job`] shows how likely the client is a one-shot job. Such a job gains nothing from a
    /// WATCH.
    Client(Job),
}

impl ClientRole {
    /// Returns the role of a shape's client. If the shape has several products, the product that is least likely a job
    /// decides.
    pub(super) fn from_jobs<'j>(summary: &ShapeSummary, jobs: impl Iterator<Item = &'j Job>) -> Self {
        match &summary.request_shape {
            Some(shape) if shape.lists_pods_of_a_node() => Self::NodeAgent,
            _ => Self::Client(jobs.min().copied().unwrap_or_default()),
        }
    }
}

/// Returns what the client's author or the cluster's operator can do; `None` if nothing is wrong. The first sentence is
/// the first step.
pub(crate) fn advice(reason: Reason, verb: Verb, server: &Server, role: ClientRole) -> Option<String> {
    let any = || for_any(reason, verb, server);
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match role {
        ClientRole::NodeAgent => owned(for_a_node_agent(reason, server).or_else(any)),
        ClientRole::Client(Job::Yes) => owned(for_a_job(reason, verb, server).or_else(any)),
        ClientRole::Client(job) => job_advice(job, owned(for_a_job(reason, verb, server)), owned(any())),
    }
}

fn for_a_node_agent(reason: Reason, server: &Server) -> Option<&'static str> {
    match reason {
        Reason::ListConsistentFromEtcd
        | Reason::ListConsistentLimitAlpha
        | Reason::ListConsistentGateOff
        | Reason::ListConsistentEtcdTooOld => Some(FROM_INDEX),
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd
            if server.consistent_reads_from_cache() =>
        {
            Some(WITHOUT_LIMIT)
        }
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd => Some(FROM_INDEX),
        Reason::ListAnyIgnoresLimit | Reason::ListContinueSnapshotIgnoresLimit => Some(
            "This LIST is normal once at a reflector's start. If it repeats, drop the limit, which \
             the server ignores, and WATCH with the same selector. Then the server sends only the node's pods.",
        ),
        Reason::UncachedResource => {
            Some("Switch the watch cache of pods on again, or read /pods from the node's kubelet.")
        }
        _ => None,
    }
}

fn for_a_job(reason: Reason, verb: Verb, server: &Server) -> Option<&'static str> {
    match reason {
        Reason::ListConsistentFromEtcd | Reason::ListConsistentLimitAlpha => Some(STALE_OR_LESS),
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd
            if server.consistent_reads_from_cache() =>
        {
            Some(
                "Drop the limit, if the client can take one large response. This server serves the LIST without a \
                 limit from the watch cache. Otherwise read larger pages from etcd, less often and outside of busy \
                 hours.",
            )
        }
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd => Some(STALE_OR_LESS),
        Reason::ListAnyIgnoresLimit
            if server.consistent_reads_from_cache() && server.enabled(Gate::ListFromCacheSnapshot) =>
        {
            Some(
                "Drop resourceVersion=0 to get pages. This server serves the first page from its watch cache and \
                 further pages from snapshots of it. Or drop the limit, and expect the whole collection.",
            )
        }
        Reason::ListAnyIgnoresLimit => Some(
            "Drop the limit, and expect the whole collection. Do not drop resourceVersion=0 to get pages: this server \
             reads pages from etcd, or all but the first.",
        ),
        Reason::UncachedResource if verb == Verb::List => Some(
            "LIST one namespace only, less often and outside of busy hours. Here neither resourceVersion=0 nor a \
             selector avoids the read from etcd.",
        ),
        Reason::GetFromEtcd => Some(
            "Read it once per run, or send resourceVersion=0 if slightly old data is enough. A GET right before an \
             UPDATE may stay.",
        ),
        _ => None,
    }
}

fn for_any(reason: Reason, verb: Verb, server: &Server) -> Option<&'static str> {
    let lists_from_cache = server.version.at_least(31, 0);
    // The server serves all pages from the watch cache: the first page from the cache itself, later pages from
    // snapshots.
    let pages_from_cache =
        server.consistent_reads_from_cache() && server.enabled(Gate::ListFromCacheSnapshot);
    Some(match reason {
        Reason::ListConsistentFromEtcd | Reason::ListConsistentLimitAlpha => {
            "Keep the objects in an informer: one LIST, then a WATCH. If a LIST must stay and data that is seconds old \
             is enough, send resourceVersion=0 without a limit. On 1.31 and later with etcd 3.4.31, 3.5.13 or later, \
             the watch cache serves the same LIST."
        }
        Reason::ListConsistentGateOff => {
            "Switch the feature gate ConsistentListFromCache on again. It is on by default from 1.31."
        }
        Reason::ListConsistentEtcdTooOld => {
            "Upgrade etcd to 3.4.31, 3.5.13 or later. Then the watch cache serves the same LISTs."
        }
        Reason::ListConsistentPageRegression => {
            "Upgrade kube-apiserver to 1.33.3 or later. Until then, the watch cache serves the same LIST without a \
             limit."
        }
        Reason::ListAnyIgnoresLimit if pages_from_cache => {
            "This LIST is normal once at a reflector's start. To get pages, drop resourceVersion=0: this server serves \
             the first page from its watch cache and further pages from snapshots. If it repeats, keep the objects in \
             an informer: one LIST, then a WATCH."
        }
        Reason::ListAnyIgnoresLimit => {
            "This LIST is normal once at a reflector's start. Drop the limit, and expect the whole collection. Do not \
             drop resourceVersion=0 to get pages: this server reads pages from etcd, or all but the first. If it \
             repeats, keep the objects in an informer: one LIST, then a WATCH."
        }
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd
            if server.consistent_reads_from_cache() =>
        {
            "Keep the objects in an informer: one LIST, then a WATCH. If a LIST must stay, drop the limit: without it, \
             the watch cache serves the LIST."
        }
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd => {
            "Keep the objects in an informer: one LIST, then a WATCH. If pages must stay, use larger ones (limit=500 or \
             more) for fewer reads from etcd."
        }
        Reason::ListContinueSnapshot => {
            "Request the next page without pauses. A late page is read from etcd, or gets 410."
        }
        Reason::ListContinueSnapshotIgnoresLimit => {
            "Drop resourceVersion=0 from further pages: with it, the server returns all the rest at once."
        }
        Reason::ListExactFromEtcd
        | Reason::ListLimitMeansExactFromEtcd
        | Reason::ListNotOlderLimitFromEtcd
            if !lists_from_cache =>
        {
            "Drop the limit and send resourceVersionMatch=NotOlderThan: without a limit, this server serves such a \
             LIST from its watch cache."
        }
        Reason::ListExactFromEtcd
        | Reason::ListLimitMeansExactFromEtcd
        | Reason::ListExactSnapshot
        | Reason::ListLimitMeansExactSnapshot
        | Reason::ListExactSingleKey => {
            "Drop the limit and send resourceVersionMatch=NotOlderThan. The watch cache serves such a LIST. Keep the \
             exact revision only if the client needs it."
        }
        // A client should use a WATCH, so there is nothing to change.
        Reason::UncachedResource if verb == Verb::Watch => return None,
        Reason::UncachedResource if verb == Verb::Get => {
            "Read it less often. resourceVersion=0 does not help: this resource has no watch cache."
        }
        Reason::UncachedResource => {
            "WATCH it once for the whole cluster instead of listing it. If a LIST must stay, LIST one namespace: a \
             selector still reads everything, and resourceVersion=0 does not help here."
        }
        Reason::GetFromEtcd => {
            "Read it from an informer's Lister, or send resourceVersion=0 with the GET. Both return slightly old \
             data. A GET right before an UPDATE may stay."
        }
        Reason::WatchFromEtcd => {
            "Send a resourceVersion, 0 at least. Or upgrade to 1.27.13, 1.28.9, 1.29.4 or later."
        }
        Reason::WatchFromEtcdByGate => "Send a resourceVersion, 0 at least. Or switch the feature gate off.",
        Reason::WatchListEtcdTooOld => {
            "Upgrade etcd to 3.4.31, 3.5.13 or later. Or switch the feature gate WatchList off."
        }
        Reason::SendInitialEventsGateOff => {
            "Set KUBE_FEATURE_WatchListClient=false in the client, or switch WatchList on in the server. This \
             avoids the refused request; client-go falls back to LIST and WATCH on its own."
        }
        Reason::AnsweredUnauthorized => "Renew the client's token or certificate.",
        Reason::AnsweredForbidden => "Grant the permission, or stop the client from sending the request.",
        Reason::AnsweredTooManyRequests => {
            "Let the client wait as long as Retry-After says, and lower its rate. Check which client costs most here."
        }
        _ => return None,
    })
}

/// Names the parameters that the server ignores, and the parameters that the client probably meant.
pub(crate) fn misspelled(ignored: &[String], meant: &[String]) -> Option<String> {
    if meant.is_empty() {
        return None;
    }
    let noun = if ignored.len() == 1 { "parameter" } else { "parameters" };
    Some(format!(
        "The server ignores the unknown {noun} {} without an error. Did you mean {}?",
        ignored.join(", "),
        meant.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::{ParsedTarget, RequestShape, ServedFrom, judge};
    use crate::k8s::KubeVersion;
    use crate::k8s::request_info::Method;

    const NEXT: &str = "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NzcsInN0YXJ0IjoiYS9iXHUwMDAwIn0";

    fn likely(server: &Server, query: &str) -> ServedFrom {
        let uri = format!("/api/v1/pods?{query}");
        let target = ParsedTarget::parse(&uri).expect("a target");
        let shape = RequestShape::new(Method::Get, &target.path, &target.options);
        judge(server, &shape, None).likely_served_from()
    }

    #[test]
    fn advice_suggests_pages_only_if_none_is_read_from_etcd() {
        for minor in 19..=37 {
            let server = Server::with_defaults(KubeVersion::new(minor, 0));
            let text = advice(Reason::ListAnyIgnoresLimit, Verb::List, &server, ClientRole::Client(Job::No))
                .expect("advice");
            let from_etcd = [likely(&server, "limit=500"), likely(&server, &format!("limit=500&{NEXT}"))]
                .contains(&ServedFrom::Etcd);
            assert_eq!(text.contains("Do not drop resourceVersion=0"), from_etcd, "1.{minor}");
        }
    }

    #[test]
    fn advised_exact_list_is_served_from_the_cache() {
        for minor in 19..=37 {
            let server = Server::with_defaults(KubeVersion::new(minor, 0));
            let advised = "resourceVersion=7&resourceVersionMatch=NotOlderThan";
            assert_eq!(likely(&server, advised), ServedFrom::WatchCache, "1.{minor}");
        }
    }
}
