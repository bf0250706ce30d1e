//! The variables of a group of rows: `stats.*`.

use std::sync::LazyLock;

use super::facts::RowFacts;
use super::figures::tenths;
use super::group::{GroupGetter, RowGroup};
use super::over_time::{COUNTS, TIMES};
use super::value::{Variable, variables};
use crate::k8s::Scope;
use crate::ledger::Deprecated;
use crate::requests::{EventFact, stable_hash};

/// One minute in microseconds.
const MINUTE: i64 = 60_000_000;

fn percent(part: u64, total: u64) -> f64 {
    tenths(part.saturating_mul(100), total)
}

fn millis(micros: Option<u64>) -> u64 {
    micros.unwrap_or(0) / 1_000
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> u64 {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len() as u64
}

/// Returns the number of minutes over which the peak is averaged. Returns 0 if the peak is not an average, or is
/// unknown.
pub(super) fn peak_mean_minutes(group: &RowGroup<'_>) -> u64 {
    group.rate().map(|rate| rate.window_minutes).filter(|minutes| *minutes > 1).unwrap_or(0)
}

fn active_minutes(group: &RowGroup<'_>) -> u64 {
    group.rate().map_or(0, |rate| rate.active_minutes)
}

fn per_minute(group: &RowGroup<'_>, count: u64) -> f64 {
    group.rate().map_or(0.0, |rate| rate.mean_per_minute(count, group.span()))
}

pub static STATS: LazyLock<Vec<Variable<GroupGetter>>> =
    LazyLock::new(|| [OF_ROWS, DEPRECATIONS, COUNTS, TIMES].concat());

const OF_ROWS: &[Variable<GroupGetter>] = variables! { |group|
    /// Requests.
    requests: Int = group.requests();
    /// Audit events.
    events: Int = group.sum(|row| row.events);
    /// The group's share of all requests in the log, in percent.
    shareOfRequests: Double = percent(group.requests(), group.totals.requests);
    /// The group's share of all LISTs and GETs from etcd in the log, in percent.
    shareOfEtcdReads: Double = {
        let reads = group.rows.iter().filter(|facts| facts.key.reads_etcd());
        percent(reads.map(|facts| group.totals.judged.requests(facts.row)).sum(), group.totals.etcd_reads)
    };
    /// Requests in the busiest minute. For a row that was active in more than 1,536 minutes, the mean of a wider
    /// window: see `stats.peakMeanMinutes`.
    peakPerMinute: Double = group.rate().map_or(0.0, |rate| tenths(rate.peak, rate.window_minutes));
    /// How many minutes `stats.peakPerMinute` is the mean of; 0 if it is one minute. A message that uses this peak ends
    /// with a note about it.
    peakMeanMinutes: Int = peak_mean_minutes(group);
    /// Requests divided by `activeMinutes`, or by the time from the first event to the last if that is shorter. The
    /// divisor is at least one minute.
    perMinute: Double = per_minute(group, group.requests());
    /// Minutes with at least one request.
    activeMinutes: Int = active_minutes(group);
    /// Minutes from the first event to the last, rounded up.
    spanMinutes: Int = group.span().map_or(0, |(first, last)| (last - first + MINUTE - 1) / MINUTE);
    /// Distinct paths with their field selectors. For requests for one object, these are objects. For LISTs in a
    /// namespace, these are namespaces. For Events that kubelets write, these are kubelets. Above 64, an estimate.
    targets: Int = group.targets().distinct();
    /// Requests for the target that has the most requests. Above 64 targets, this is an estimate. The estimate finds a
    /// target only if the target has far more requests than others.
    busiestTarget: Int = group.targets().busiest();
    /// `busiestTarget` divided by the same minutes as `perMinute`.
    busiestPerMinute: Double = per_minute(group, group.targets().busiest());
    /// If the targets are kubelets (for the Events that they write): the node of the kubelet with the most requests, if
    /// the log names it; else empty.
    busiestNode: Text = {
        let (kubelets, targets) = (&group.leading().client.kubelets, group.targets());
        let requests = kubelets.iter().map(|name| (targets.requests_for(stable_hash(&**name)), name));
        let most = requests.max_by_key(|(requests, name)| (*requests, std::cmp::Reverse(*name)));
        let most = most.filter(|(requests, _)| *requests > 0);
        most.map_or("", |(_, name)| name.as_str())
    };
    /// Responses with status 401.
    unauthorized: Int = group.responses(|status| status == 401);
    /// Responses with status 403.
    forbidden: Int = group.responses(|status| status == 403);
    /// Responses with status 403 to requests that authorization allowed. Admission refused them: a quota, Pod Security,
    /// a webhook, a namespace that is being terminated.
    refusedByAdmission: Int = group.sum(|row| row.rare().facts.count(EventFact::RefusedByAdmission));
    /// Responses with status 404.
    notFound: Int = group.responses(|status| status == 404);
    /// Responses with status 409.
    conflicts: Int = group.responses(|status| status == 409);
    /// Responses with status 410.
    gone: Int = group.responses(|status| status == 410);
    /// Responses with status 400, 405, 406, 413, 415 and 422.
    invalid: Int = group.responses(|status| matches!(status, 400 | 405 | 406 | 413 | 415 | 422));
    /// Responses with status 429.
    throttled: Int = group.responses(|status| status == 429);
    /// Responses with status 504.
    timeouts: Int = group.responses(|status| status == 504);
    /// Responses with status 4xx.
    clientErrors: Int = group.responses(|status| status / 100 == 4);
    /// Responses with status 5xx.
    serverErrors: Int = group.responses(|status| status / 100 == 5);
    /// Requests that ended without a recorded status.
    noStatus: Int = group.responses(|status| status == 0);
    /// Requests with a RequestReceived event and without a ResponseComplete event. Long-running requests do not count.
    /// 0 if the log has no RequestReceived events.
    unfinished: Int = group.unfinished();
    /// Long-running requests whose end is not in the log.
    open: Int = group.sum(crate::ledger::Row::open);
    /// Requests that took 59 s or more, without long-running ones. The server times out at 60 s.
    over59s: Int = group.sum(|row| row.over_59s);
    /// The median duration, in milliseconds. For long-running requests, the median lifetime.
    p50Millis: Int = millis(group.latency().percentile(50));
    /// The 99th percentile of the durations, in milliseconds.
    p99Millis: Int = millis(group.latency().percentile(99));
    /// The longest request, in milliseconds.
    maxMillis: Int = millis(group.latency().max());
    /// The most objects in one response, if the log counts them (traces of slow requests); else 0.
    maxItems: Int = group.rows.iter().map(|facts| facts.row.rare().items.max).max().unwrap_or(0);
    /// `--inventory` was given. Then the following six numbers estimate the cost of requests for the resources in the
    /// inventory.
    hasInventory: Bool = group.rows.iter().any(|facts| facts.cost.is_some());
    /// Objects that etcd reads for all requests, by the inventory; 0 if unknown.
    etcdObjects: Int = group.cost().etcd.objects;
    /// Bytes that etcd reads for all requests, by the inventory; 0 if unknown.
    etcdBytes: Int = group.cost().etcd.bytes;
    /// Objects that the apiserver filters for all requests, by the inventory; 0 if unknown.
    filteredObjects: Int = group.cost().filtered.objects;
    /// Upper bound of the bytes that the client received, by the inventory: the size of the stored objects. 0 if
    /// unknown.
    receivedBytes: Int = group.cost().received.bytes;
    /// Objects that etcd reads for the costliest request, by the inventory; 0 if unknown. If etcd reads none, objects
    /// that the apiserver filters.
    objectsPerRequest: Int = {
        let works = group.rows.iter().filter_map(|facts| facts.shape_summary.work.as_deref());
        let objects =
            works.filter_map(|work| work.etcd.objects.filter(|read| *read > 0).or(work.filtered.objects));
        objects.max().unwrap_or(0)
    };
    /// The most seats of one request, as API Priority and Fairness of this version estimates them from the inventory; 0
    /// if unknown.
    seats: Int = group.cost().max_seats;
    /// Slow reads whose latency annotations agree with the verdict.
    agree: Int = group.rows.iter().map(|facts| facts.agreement.agree).sum::<u64>();
    /// Slow reads whose latency annotations contradict the verdict, and requests that the server served although the
    /// verdict says that it rejects them.
    contradict: Int = group.rows.iter().map(|facts| facts.agreement.contradict).sum::<u64>();
    /// Time in etcd of the slow requests, as the server measured it, in milliseconds.
    etcdMillis: Int =
        group.rows.iter().map(|facts| facts.agreement.etcd_micros).fold(0, u64::saturating_add) / 1_000;
    /// Requests of more than 500 ms with latency annotations.
    measuredSlow: Int = group.sum(|row| row.rare().observed.measured());
    /// Total time of the requests in `measuredSlow`, as the server measured it, in milliseconds.
    slowMillis: Int = group.sum(|row| row.rare().observed.total_micros) / 1_000;
    /// Time of the requests in `measuredSlow` in mutating and validating admission webhooks, in milliseconds.
    webhookMillis: Int = group.sum(|row| row.rare().observed.webhook_micros) / 1_000;
    /// Requests in `measuredSlow` that spent half of their time or more in admission webhooks.
    mostlyWebhooks: Int = group.sum(|row| row.rare().observed.mostly_webhooks);
    /// Slow reads in etcd's own log (`--etcd-log`) that overlap with LISTs of the group. Only LISTs that may have read
    /// the collection from etcd count. 0 without that log.
    etcdSlowReads: Int = group.slow_reads().map_or(0, |reads| reads.reads);
    /// Watches of the same resource by the same client, also those that the rule does not match.
    watches: Int = group.companions().watches;
    /// LISTs of the same resource by the same client, also those that the rule does not match.
    lists: Int = group.companions().lists;
    /// Writes of the same resource and its subresources by the same client.
    writes: Int = group.companions().writes;
    /// Requests of the group that wrote to etcd: creates, updates, patches and deletes. Refused (4xx) and failed (5xx)
    /// requests, and those with `dryRun=All`, do not count.
    etcdWrites: Int = group.load().etcd_writes;
    /// GETs of one resource from etcd by the same client. In each minute, at most as many count as the group has
    /// requests. A resource with more than twice as many GETs as the group has requests does not count. For a client
    /// that reads before each write, this is the number of writes.
    readsInStep: Int = group.in_step().reads;
    /// The resource that `readsInStep` counts; empty if there is none.
    readsInStepResource: Text = group.in_step().resource;
    /// Requests for discovery and OpenAPI documents by the same client.
    discovery: Int = group.members().iter().map(|one| group.totals.discovery_of(*one)).sum::<u64>();
    /// All requests of the same client.
    allRequests: Int = group.members().iter().map(|one| group.totals.requests_of(*one)).sum::<u64>();
    /// Requests for the objects of one namespace (`request.scope` is `namespace`).
    inNamespace: Int = {
        let in_namespace = |facts: &RowFacts<'_>| facts.key.scope == Some(Scope::Namespace);
        group.rows.iter().filter(|row| in_namespace(row)).map(|row| row.requests).sum::<u64>()
    };
    /// Clients in the group: more than one if clients of a program are evaluated together (`groupBy: program`).
    clients: Int = group.members().len() as u64;
    /// Distinct request shapes in the group.
    // Clients of a group may share a shape, at one address or at several.
    shapes: Int = distinct(group.rows.iter().map(|facts| facts.key));
    /// Distinct user agent products in the group.
    products: Int = distinct(group.rows.iter().map(|facts| facts.product));
};

fn deprecated_of<'g>(group: &'g RowGroup<'_>) -> impl Iterator<Item = (&'g Deprecated, u16)> {
    group
        .rows
        .iter()
        .filter_map(|facts| Some((facts.row.rare().deprecated.as_deref()?, facts.key.kube_version.minor)))
}

const DEPRECATIONS: &[Variable<GroupGetter>] = variables! { |group|
    /// Requests to an API version that the server marks as deprecated.
    deprecated: Int = deprecated_of(group).map(|(deprecated, _)| deprecated.requests).sum::<u64>();
    /// The first release that removes such an API version, such as `1.25`; empty if the server names none.
    removedRelease: Text = {
        let releases = deprecated_of(group).filter_map(|(deprecated, _)| deprecated.removed_in);
        releases.min().map_or(String::new(), |(major, minor)| format!("{major}.{minor}"))
    };
    /// The number of minor versions from the server's version to that release: 1 for the next one. 0 if that release is
    /// not newer, or if the server names none.
    minorsToRemoval: Int = {
        let minors = deprecated_of(group).filter_map(|(deprecated, own)| {
            let (major, minor) = deprecated.removed_in?;
            (major == 1).then(|| u64::from(minor).saturating_sub(u64::from(own)))
        });
        minors.min().unwrap_or(0)
    };
};

/// Variables about failed requests. A rule that uses one shows failed requests as evidence.
pub(crate) const OF_FAILURES: [&str; 11] = [
    "unauthorized",
    "forbidden",
    "notFound",
    "conflicts",
    "gone",
    "invalid",
    "throttled",
    "timeouts",
    "clientErrors",
    "serverErrors",
    "over59s",
];
