//! The `stats.*` variables of patterns over time, such as polls and herds.
//!
//! They cover only the requests that kubetoll followed over time. The report shows how many requests it did not
//! follow.

use super::group::{GroupGetter, RowGroup};
use super::value::{Variable, variables};
use crate::k8s::timestamp;
use crate::ledger::Histogram;
use crate::patterns::{Herd, ListCost, Poller, Polling};

fn greatest(group: &RowGroup<'_>) -> Option<Herd> {
    group.pattern().herds.greatest.first().copied()
}

fn greatest_cost(group: &RowGroup<'_>) -> ListCost {
    greatest(group).map(|herd| herd.cost).unwrap_or_default()
}

fn busiest<'g>(group: &'g RowGroup<'_>) -> Option<&'g Poller> {
    group.pattern().polling.busiest.first()
}

#[allow(clippy::cast_precision_loss, reason = "seconds are for people")]
fn seconds(micros: u64) -> f64 {
    (micros as f64 / 100_000.0).round() / 10.0
}

/// Returns the spread of a poller's intervals, in percent of their median.
fn spread(poller: &Poller) -> u64 {
    poller.spread.saturating_mul(100) / poller.median.max(1)
}

/// Returns the median of a number over all pollers. If the ledger kept all pollers, the median is exact; `of` returns
/// the number of one poller. Otherwise, the median is an estimate from the histogram that `all` returns.
fn median(group: &RowGroup<'_>, of: fn(&Poller) -> u64, all: fn(&Polling) -> &Histogram) -> u64 {
    let polling = &group.pattern().polling;
    if polling.pollers > polling.busiest.len() as u64 {
        return all(polling).percentile(50).unwrap_or(0);
    }
    let mut each: Vec<u64> = polling.busiest.iter().map(of).collect();
    each.sort_unstable();
    each.get(each.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Returns how long a kubelet caches a `ConfigMap` or `Secret`, in seconds. The TTL controller of
/// kube-controller-manager sets this time on each node, by the number of nodes.
///
/// Source: kubernetes `pkg/controller/ttl/ttl_controller.go:ttlBoundaries`.
fn node_ttl(nodes: u64) -> i64 {
    match nodes {
        0..=100 => 0,
        101..=500 => 15,
        501..=1_000 => 30,
        1_001..=2_000 => 60,
        2_001..=10_000 => 300,
        _ => 600,
    }
}

/// Variables whose values are counts.
pub(super) const COUNTS: &[Variable<GroupGetter>] = variables! { |group|
    /// Instances (pods, else nodes, else addresses) that sent the requests. If the group has several shapes, the number
    /// of the shape with the most instances.
    instances: Int = group.pattern().instances;
    /// LISTs with which an informer started: a WATCH of the same collection followed.
    starts: Int = group.pattern().informers.starts;
    /// LISTs with which an informer started again, because its WATCH had ended, expired or been refused.
    relists: Int = group.pattern().informers.relists();
    /// Part of `relists`: those after a WATCH that got status 410 or ended within a second. Status 410 shows that the
    /// revision was too old. An end within a second makes that probable.
    relistsExpired: Int = group.pattern().informers.relists.expired;
    /// Part of `relists`: those after a WATCH that was refused with another status.
    relistsRefused: Int = group.pattern().informers.relists.refused;
    /// Part of `relists`: those after a WATCH that had lasted for a second or more.
    relistsEnded: Int = group.pattern().informers.relists.ended;
    /// The most relists of one informer.
    mostRelists: Int = group.pattern().informers.most_relists;
    /// The most relists of one informer within 60 minutes after its WATCH had expired or been refused. Instances that
    /// are addresses do not count, since many informers may share an address.
    mostRelistsInAnHour: Int = group.pattern().most_in_an_hour.relists;
    /// Starts with exactly two LISTs of the same collection within ten seconds by one instance, and a WATCH after them.
    /// A LIST counts only if it was served in one page.
    startsTwice: Int = group.pattern().informers.starts_twice;
    /// Served LISTs and GETs without a WATCH of the same collection or object within 30 s.
    alone: Int = group.pattern().polling.alone;
    /// Part of `alone`: those that one instance sent three times or more for one collection or object.
    polls: Int = group.pattern().polling.reads;
    /// Instances that poll; an instance counts once for each collection or object that it polls.
    pollers: Int = group.pattern().polling.pollers;
    /// Instances that poll, each counted once. If the group has several shapes, the number of the shape with the most
    /// such instances.
    pollInstances: Int = group.pattern().polling.instances;
    /// The most collections or objects that one instance polls.
    pollTargets: Int = group.pattern().polling.most_targets;
    /// The most polls of one collection or object by one instance.
    mostPolls: Int = group.pattern().polling.busiest.first().map_or(0, |busiest| busiest.reads);
    /// The number of herds. In a herd, ten instances or more send the same LIST within seconds. These are at least four
    /// times as many instances as in a normal second.
    herds: Int = group.pattern().herds.count;
    /// LISTs of all herds.
    herdRequests: Int = group.pattern().herds.requests;
    /// Instances of the greatest herd.
    herdInstances: Int = group.pattern().herds.greatest.first().map_or(0, |herd| herd.instances);
    /// Objects that etcd reads for the greatest herd, by the inventory; 0 if unknown.
    herdEtcdObjects: Int = greatest_cost(group).etcd_objects.unwrap_or(0);
    /// Bytes that etcd reads for the greatest herd, by the inventory; 0 if unknown.
    herdEtcdBytes: Int = greatest_cost(group).etcd_bytes.unwrap_or(0);
    /// Upper bound of the bytes that the greatest herd received, by the inventory; 0 if unknown.
    herdReceivedBytes: Int = greatest_cost(group).received_bytes.unwrap_or(0);
    /// Paginated LISTs: those with a request for a further page.
    chains: Int = group.pattern().chains.count;
    /// Pages of the LISTs in `chains`.
    chainPages: Int = group.pattern().chains.pages;
    /// Pages of the longest LIST in `chains`.
    longestChain: Int = group.pattern().chains.longest_pages;
    /// Part of `chains`: those with a page that got status 410, because its revision had expired.
    chainsExpired: Int = group.pattern().chains.expired;
    /// Part of `chains`: those that started again within a minute after a 410.
    chainsRestarted: Int = group.pattern().chains.restarted;
    /// Pages that were read at the newest revision, because the first page's revision had expired.
    inconsistentPages: Int = group.pattern().chains.inconsistent_pages;
    /// WATCHes that ended.
    endedWatches: Int = group.pattern().watching.ended;
    /// WATCHes that were served and ended within 65 s. Many are cut after a minute.
    shortWatches: Int = group.pattern().watching.short;
    /// The most WATCHes in `shortWatches` of one collection by one instance.
    mostShortWatches: Int = group.pattern().watching.most_short;
    /// The most WATCHes in `shortWatches` of one collection by one instance within 60 minutes.
    mostShortInAnHour: Int = group.pattern().most_in_an_hour.short_watches;
    /// WATCHes that ran for 30 s or more in parallel with another WATCH of the same pod or node. Both have the same
    /// collection and selectors.
    doubledWatches: Int = group.pattern().watching.doubled;
    /// The most WATCHes of `doubledWatches` that ran in parallel; 0 if there were none.
    mostAtOnce: Int = group.pattern().watching.most_at_once;
    /// Pods or nodes that had WATCHes of `doubledWatches` in parallel.
    doubledInstances: Int = group.pattern().watching.doubled_instances;
    /// The most WATCHes of any collection that one instance had open at the same time.
    mostOpenWatches: Int = group.pattern().restarts.most_open;
    /// The most times that one instance started within 60 minutes: its informers started together, after some seconds
    /// without a WATCH.
    mostStarts: Int = group.pattern().restarts.most_starts;
    /// The same as `mostStarts`, but assumes that WATCHes without an end in the log ended before the next start.
    mostUnendedStarts: Int = group.pattern().restarts.most_unended_starts;
    /// The most informers in one of these starts.
    startInformers: Int = group.pattern().restarts.informers;
    /// Instances that started three times or more within 60 minutes.
    restartedInstances: Int = group.pattern().restarts.instances;
    /// The most pods of one ReplicaSet that started one after another. They count only if there are eight or more, and
    /// at least five for each pod that ran at the same time. Otherwise 0.
    replacedPods: Int = group.pattern().restarts.replaced_pods;
    /// WATCHes with sendInitialEvents that were refused, followed by a LIST of the same collection.
    fallbacks: Int = group.pattern().watching.fallbacks;
};

/// Variables whose values are durations, timestamps or names.
pub(super) const TIMES: &[Variable<GroupGetter>] = variables! { |group|
    /// The median of the pollers' own median intervals, in seconds. With more than five pollers, it may be up to 12.5 %
    /// too long.
    pollSeconds: Double = seconds(median(group, |poller| poller.median, |polling| &polling.medians));
    /// The median interval of the poller that polls most often, in seconds. Only pollers with five polls or more count;
    /// 0 if there is none.
    fastestPollSeconds: Double = seconds(group.pattern().polling.fastest.unwrap_or(0));
    /// The interquartile range of a poller's intervals, in percent of their median: 0 for perfectly regular polls. With
    /// several pollers, the median of these ranges.
    pollSpread: Int = median(group, spread, |polling| &polling.spreads);
    /// The median interval of the poller with the most polls, in seconds.
    busiestPollSeconds: Double = seconds(busiest(group).map_or(0, |poller| poller.median));
    /// The spread of that poller's intervals, as in `pollSpread`.
    busiestPollSpread: Int = busiest(group).map_or(0, spread);
    /// The instance with the most polls: a pod, a node or an address; empty if the log names none.
    pollInstance: Text = busiest(group).map_or("", |poller| poller.instance.name.as_str());
    /// The time from the first LIST of the greatest herd to its last, in seconds.
    herdSeconds: Double = {
        let micros = greatest(group).map_or(0, |herd| herd.to - herd.from);
        seconds(u64::try_from(micros).unwrap_or(0))
    };
    /// When the greatest herd began, such as `2026-11-20T20:36:00.000000Z`; empty if there was none.
    herdAt: Text = greatest(group).map_or(String::new(), |herd| timestamp::format_micros(herd.from));
    /// The longest time from the start of the first page to the end of the last page, in seconds.
    longestChainSeconds: Double = seconds(group.pattern().chains.longest_micros);
    /// How long a kubelet caches a ConfigMap or Secret, as the number of nodes implies: 0, 15, 30, 60, 300 or 600 s for
    /// up to 100, 500, 1,000, 2,000, 10,000 or more. Nodes are those in the inventory, or the highest number that one
    /// client was seen on.
    nodeTtlSeconds: Int = node_ttl(group.totals.judged.cluster_nodes);
};
