//! What to change, by reason and by the server's version.
//!
//! The trap that every text here avoids: on servers before 1.31, dropping `resourceVersion=0` to get pages moves
//! the load from the watch cache to etcd; from there to 1.33 it moves all pages but the first.

use crate::accounts::{Entry, Job};
use crate::apiserver::{Gate, Reason, Server};
use crate::k8s::Verb;
use crate::rules::job_advice::job_advice;

const INFORMER: &str = "Keep the objects in an informer: one list, then a watch.";

const FROM_INDEX: &str = "Send resourceVersion=0 and no limit: the watch cache answers from its index of pods by \
                          node. A page limit makes about three range reads of one. If the list repeats, watch with \
                          the same selector, or ask the kubelet of the node for /pods.";
const WITHOUT_LIMIT: &str =
    "Drop the limit: on this server the list without a limit comes from the watch cache.";
const STALE_OR_LESS: &str = "Where a state of seconds ago will do, send resourceVersion=0 without a limit: the watch \
                             cache answers. Otherwise run it less often and outside of busy hours.";

/// Who asks, as far as it decides what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// It lists the pods of one node.
    NodeAgent,
    /// How likely the client is a one-shot job, which gains nothing from a WATCH.
    Client(Job),
}

impl Asker {
    /// Who asks what an entry holds: of several products the one that least likely ends.
    pub(super) fn of<'j>(entry: &Entry, jobs: impl Iterator<Item = &'j Job>) -> Self {
        match &entry.asked {
            Some(asked) if asked.lists_pods_of_a_node() => Self::NodeAgent,
            _ => Self::Client(jobs.min().copied().unwrap_or_default()),
        }
    }
}

/// What the client's author or the cluster's operator can do, or `None` where nothing is wrong. The first sentence is
/// the first step.
#[must_use]
pub fn advice(reason: Reason, verb: Verb, server: &Server, asker: Asker) -> Option<String> {
    let for_a_job = || for_a_job(reason, verb, server).map(str::to_owned);
    match asker {
        Asker::NodeAgent => {
            for_a_node_agent(reason, server).map(str::to_owned).or_else(|| for_any(reason, verb, server))
        }
        Asker::Client(Job::Yes) => for_a_job().or_else(|| for_any(reason, verb, server)),
        Asker::Client(job) => job_advice(job, for_a_job(), for_any(reason, verb, server)),
    }
}

/// What helps an agent that needs the pods of its node.
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
            "Once at a reflector's start this is normal. If it repeats, drop the limit, which resourceVersion=0 makes \
             the server ignore, and watch with the same selector: only the pods of the node are sent.",
        ),
        Reason::UncachedResource => {
            Some("Give pods their watch cache back, or ask the kubelet of the node for /pods.")
        }
        _ => None,
    }
}

/// What helps a client that runs and ends.
fn for_a_job(reason: Reason, verb: Verb, server: &Server) -> Option<&'static str> {
    match reason {
        Reason::ListConsistentFromEtcd | Reason::ListConsistentLimitAlpha => Some(STALE_OR_LESS),
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd
            if server.consistent_reads_from_cache() =>
        {
            Some(
                "Drop the limit, if one large answer will do: on this server the list without a limit comes from the \
             watch cache. Otherwise read larger pages from etcd, less often and outside of busy hours.",
            )
        }
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd => Some(STALE_OR_LESS),
        Reason::ListAnyIgnoresLimit
            if server.consistent_reads_from_cache() && server.enabled(Gate::ListFromCacheSnapshot) =>
        {
            Some(
                "To get pages, drop resourceVersion=0: this server answers pages from its watch cache, further ones \
                 from its snapshots. Or drop the limit, and expect the whole collection.",
            )
        }
        Reason::ListAnyIgnoresLimit => Some(
            "Drop the limit, and expect the whole collection. Do not drop resourceVersion=0 to get pages: this server \
             would read them from etcd, or all but the first.",
        ),
        Reason::UncachedResource if verb == Verb::List => Some(
            "Ask in one namespace, less often and outside of busy hours: neither resourceVersion=0 nor a selector \
             spares etcd here.",
        ),
        Reason::GetFromEtcd => Some(
            "Read it once a run, or send resourceVersion=0 where a state of a second ago will do; a get right before \
             an update may stay.",
        ),
        _ => None,
    }
}

fn for_any(reason: Reason, verb: Verb, server: &Server) -> Option<String> {
    let lists_from_cache = server.version.at_least(31, 0);
    // All pages, the later ones from snapshots.
    let pages_from_cache =
        server.consistent_reads_from_cache() && server.enabled(Gate::ListFromCacheSnapshot);
    let text = match reason {
        Reason::ListConsistentFromEtcd | Reason::ListConsistentLimitAlpha => format!(
            "{INFORMER} Where a list must stay and a state of seconds ago will do, send resourceVersion=0 without a \
             limit. On 1.31 and later, with etcd 3.4.31, 3.5.13 or later, the same list comes from the watch cache."
        ),
        Reason::ListConsistentGateOff => {
            "Switch the feature gate ConsistentListFromCache on again, its default since 1.31.".to_owned()
        }
        Reason::ListConsistentEtcdTooOld => {
            "Upgrade etcd to 3.4.31, 3.5.13 or later: then the same lists come from the watch cache.".to_owned()
        }
        Reason::ListConsistentPageRegression => {
            "Upgrade kube-apiserver to 1.33.3 or later. Until then, the same list without a limit comes from the \
             watch cache."
                .to_owned()
        }
        Reason::ListAnyIgnoresLimit if pages_from_cache => format!(
            "Once at a reflector's start this is normal. To get pages, drop resourceVersion=0: this server answers \
             pages from its watch cache, further ones from its snapshots. If it repeats: {INFORMER}"
        ),
        Reason::ListAnyIgnoresLimit => format!(
            "Once at a reflector's start this is normal. Expect the whole collection and drop the limit. Do not drop \
             resourceVersion=0 to get pages: this server would read them from etcd, or all but the first. If it repeats: {INFORMER}"
        ),
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd if server.consistent_reads_from_cache() => {
            format!("{INFORMER} Where a list must stay, drop the limit: without it the watch cache answers.")
        }
        Reason::ListContinueFromEtcd | Reason::ListContinueOldEtcd => format!(
            "{INFORMER} Where pages must stay, larger ones (limit=500 or more) mean fewer reads from etcd."
        ),
        Reason::ListContinueSnapshot => {
            "Ask for the next page without pauses: a page that comes late is read from etcd, or expires with 410."
                .to_owned()
        }
        Reason::ListContinueSnapshotIgnoresLimit => {
            "Drop resourceVersion=0 from further pages: with it, all the rest comes at once.".to_owned()
        }
        Reason::ListExactFromEtcd | Reason::ListLimitMeansExactFromEtcd | Reason::ListNotOlderLimitFromEtcd
            if !lists_from_cache =>
        {
            "Drop the limit and ask for resourceVersionMatch=NotOlderThan: without a limit this server answers such \
             a list from its watch cache."
                .to_owned()
        }
        Reason::ListExactFromEtcd
        | Reason::ListLimitMeansExactFromEtcd
        | Reason::ListExactSnapshot
        | Reason::ListLimitMeansExactSnapshot
        | Reason::ListExactSingleKey => {
            "Unless it must be exactly that revision, drop the limit and say resourceVersionMatch=NotOlderThan: that \
             comes from the watch cache."
                .to_owned()
        }
        // A watch is what a client should do.
        Reason::UncachedResource if verb == Verb::Watch => return None,
        Reason::UncachedResource if verb == Verb::Get => {
            "resourceVersion=0 does not help here: this resource has no watch cache.".to_owned()
        }
        Reason::UncachedResource => {
            "resourceVersion=0 does not help here. Watch it once for the whole cluster instead of listing it, and \
             narrow by namespace: a selector still reads everything."
                .to_owned()
        }
        Reason::GetFromEtcd => {
            "Where a state of a second ago will do, read it from an informer's lister or send resourceVersion=0; a \
             get right before an update may stay."
                .to_owned()
        }
        Reason::WatchFromEtcd => {
            "Send a resourceVersion, 0 at least, or upgrade to 1.27.13, 1.28.9, 1.29.4 or later.".to_owned()
        }
        Reason::WatchFromEtcdByGate => {
            "Send a resourceVersion, 0 at least, or switch the gate off.".to_owned()
        }
        Reason::WatchListEtcdTooOld => {
            "Upgrade etcd to 3.4.31, 3.5.13 or later, or switch the feature gate WatchList off.".to_owned()
        }
        Reason::SendInitialEventsGateOff => {
            "client-go falls back by itself, at the price of this request; KUBE_FEATURE_WatchListClient=false in the \
             client, or WatchList in the server, ends it."
                .to_owned()
        }
        Reason::AnsweredUnauthorized => "Renew the client's token or certificate.".to_owned(),
        Reason::AnsweredForbidden => "Grant the permission, or stop the client from asking.".to_owned(),
        Reason::AnsweredTooManyRequests => {
            "Let the client wait as Retry-After says and lower its rate; see which client is the costliest here."
                .to_owned()
        }
        _ => return None,
    };
    Some(text)
}

/// What to say of a parameter that the server ignores.
#[must_use]
pub fn misspelt(ignored: &[String], meant: &[String]) -> Option<String> {
    if meant.is_empty() {
        return None;
    }
    Some(format!(
        "The server ignores {} without a word (did you mean {}?) and answers as if it were not there.",
        ignored.join(", "),
        meant.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::{Asked, ParsedTarget, ServedFrom, judge};
    use crate::k8s::KubeVersion;
    use crate::k8s::request_info::Method;

    const NEXT: &str = "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NzcsInN0YXJ0IjoiYS9iXHUwMDAwIn0";

    fn likely(server: &Server, query: &str) -> ServedFrom {
        let uri = format!("/api/v1/pods?{query}");
        let target = ParsedTarget::parse(&uri).expect("a target");
        let asked = Asked::new(Method::Get, &target.path, &target.options);
        judge(server, &asked, None).likely_served_from()
    }

    #[test]
    fn pages_are_advised_only_where_none_is_read_from_etcd() {
        for minor in 19..=37 {
            let server = Server::with_defaults(KubeVersion::new(minor, 0));
            let text = advice(Reason::ListAnyIgnoresLimit, Verb::List, &server, Asker::Client(Job::No))
                .expect("advice");
            let from_etcd = [likely(&server, "limit=500"), likely(&server, &format!("limit=500&{NEXT}"))]
                .contains(&ServedFrom::Etcd);
            assert_eq!(text.contains("Do not drop resourceVersion=0"), from_etcd, "1.{minor}");
        }
    }

    #[test]
    fn what_is_advised_for_exact_lists_comes_from_the_cache() {
        for minor in 19..=37 {
            let server = Server::with_defaults(KubeVersion::new(minor, 0));
            let advised = "resourceVersion=7&resourceVersionMatch=NotOlderThan";
            assert_eq!(likely(&server, advised), ServedFrom::WatchCache, "1.{minor}");
        }
    }
}
