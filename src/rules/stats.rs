//! The variables of a group of rows: `stats.*`.

use std::sync::LazyLock;

use super::deprecations::DEPRECATIONS;
use super::facts::RowFacts;
use super::group::{Companions, GroupGetter, RowGroup};
use super::over_time::{COUNTS, TIMES};
use super::value::Kind::{Bool, Double, Int, Text};
use super::value::{Variable, VariableValue};
use crate::k8s::Scope;
use crate::requests::stable_hash;

/// One minute in microseconds.
const MINUTE: i64 = 60_000_000;

#[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
fn tenths(count: u64, over: u64) -> VariableValue<'static> {
    VariableValue::Double(if over == 0 { 0.0 } else { (count as f64 * 10.0 / over as f64).round() / 10.0 })
}

fn percent(part: u64, total: u64) -> VariableValue<'static> {
    tenths(part.saturating_mul(100), total)
}

fn millis(micros: Option<u64>) -> VariableValue<'static> {
    VariableValue::count(micros.unwrap_or(0) / 1_000)
}

fn responses(group: &RowGroup<'_>, is_wanted: impl Fn(u16) -> bool) -> VariableValue<'static> {
    VariableValue::count(group.responses(is_wanted))
}

/// Returns the number of minutes over which the peak is averaged. Returns 0 if the peak is not an average, or is
/// unknown.
pub(super) fn peak_mean_minutes(group: &RowGroup<'_>) -> u64 {
    group.rate().map(|rate| rate.window_minutes).filter(|minutes| *minutes > 1).unwrap_or(0)
}

fn active_minutes(group: &RowGroup<'_>) -> u64 {
    group.rate().map_or(0, |rate| rate.active_minutes)
}

fn per_minute(group: &RowGroup<'_>, count: u64) -> VariableValue<'static> {
    VariableValue::Double(group.rate().map_or(0.0, |rate| rate.mean_per_minute(count, group.span())))
}

pub static STATS: LazyLock<Vec<Variable<GroupGetter>>> =
    LazyLock::new(|| [OF_ROWS, DEPRECATIONS, COUNTS, TIMES].concat());

const OF_ROWS: &[Variable<GroupGetter>] = &[
    Variable {
        name: "requests",
        kind: Int,
        doc: "Requests.",
        get: |group| VariableValue::count(group.requests()),
    },
    Variable {
        name: "events",
        kind: Int,
        doc: "Audit events.",
        get: |group| VariableValue::count(group.sum(|row| row.events)),
    },
    Variable {
        name: "shareOfRequests",
        kind: Double,
        doc: "The group's share of all requests in the log, in percent.",
        get: |group| percent(group.requests(), group.totals.requests),
    },
    Variable {
        name: "shareOfEtcdReads",
        kind: Double,
        doc: "The group's share of all LISTs and GETs from etcd in the log, in percent.",
        get: |group| {
            let reads = group.rows.iter().filter(|facts| facts.key.reads_etcd());
            percent(reads.map(|facts| group.totals.judged.requests(facts.row)).sum(), group.totals.etcd_reads)
        },
    },
    Variable {
        name: "peakPerMinute",
        kind: Double,
        doc: "Requests in the busiest minute. For a row that was active in more than 1,536 minutes, the mean of a wider window: see `stats.peakMeanMinutes`.",
        get: |group| {
            group.rate().map_or(VariableValue::Double(0.0), |rate| tenths(rate.peak, rate.window_minutes))
        },
    },
    Variable {
        name: "peakMeanMinutes",
        kind: Int,
        doc: "How many minutes `stats.peakPerMinute` is the mean of; 0 if it is one minute. A message that uses this peak ends with a note about it.",
        get: |group| VariableValue::count(peak_mean_minutes(group)),
    },
    Variable {
        name: "perMinute",
        kind: Double,
        doc: "Requests divided by `activeMinutes`, or by the time from the first event to the last if that is shorter. The divisor is at least one minute.",
        get: |group| per_minute(group, group.requests()),
    },
    Variable {
        name: "activeMinutes",
        kind: Int,
        doc: "Minutes with at least one request.",
        get: |group| VariableValue::count(active_minutes(group)),
    },
    Variable {
        name: "spanMinutes",
        kind: Int,
        doc: "Minutes from the first event to the last, rounded up.",
        get: |group| {
            VariableValue::Int(group.span().map_or(0, |(first, last)| (last - first + MINUTE - 1) / MINUTE))
        },
    },
    Variable {
        name: "targets",
        kind: Int,
        doc: "Distinct paths with their field selectors. For requests for one object, these are objects. For LISTs in a namespace, these are namespaces. For Events that kubelets write, these are kubelets. Above 64, an estimate.",
        get: |group| VariableValue::count(group.targets().distinct()),
    },
    Variable {
        name: "busiestTarget",
        kind: Int,
        doc: "Requests for the target that has the most requests. Above 64 targets, this is an estimate. The estimate finds a target only if the target has far more requests than others.",
        get: |group| VariableValue::count(group.targets().busiest()),
    },
    Variable {
        name: "busiestPerMinute",
        kind: Double,
        doc: "`busiestTarget` divided by the same minutes as `perMinute`.",
        get: |group| per_minute(group, group.targets().busiest()),
    },
    Variable {
        name: "busiestNode",
        kind: Text,
        doc: "If the targets are kubelets (for the Events that they write): the node of the kubelet with the most requests, if the log names it; else empty.",
        get: |group| {
            let (kubelets, targets) = (&group.leading().client.kubelets, group.targets());
            let requests = kubelets.iter().map(|name| (targets.requests_for(stable_hash(&**name)), name));
            let most = requests.max_by_key(|(requests, name)| (*requests, std::cmp::Reverse(*name)));
            let most = most.filter(|(requests, _)| *requests > 0);
            VariableValue::Text(most.map_or("", |(_, name)| name.as_str()).into())
        },
    },
    Variable {
        name: "unauthorized",
        kind: Int,
        doc: "Responses with status 401.",
        get: |group| responses(group, |status| status == 401),
    },
    Variable {
        name: "forbidden",
        kind: Int,
        doc: "Responses with status 403.",
        get: |group| responses(group, |status| status == 403),
    },
    Variable {
        name: "refusedByAdmission",
        kind: Int,
        doc: "Responses with status 403 to requests that authorization allowed. Admission refused them: a quota, Pod Security, a webhook, a namespace that is being terminated.",
        get: |group| VariableValue::count(group.sum(|row| row.rare().refused_by_admission)),
    },
    Variable {
        name: "notFound",
        kind: Int,
        doc: "Responses with status 404.",
        get: |group| responses(group, |status| status == 404),
    },
    Variable {
        name: "conflicts",
        kind: Int,
        doc: "Responses with status 409.",
        get: |group| responses(group, |status| status == 409),
    },
    Variable {
        name: "gone",
        kind: Int,
        doc: "Responses with status 410.",
        get: |group| responses(group, |status| status == 410),
    },
    Variable {
        name: "invalid",
        kind: Int,
        doc: "Responses with status 400, 405, 406, 413, 415 and 422.",
        get: |group| responses(group, |status| matches!(status, 400 | 405 | 406 | 413 | 415 | 422)),
    },
    Variable {
        name: "throttled",
        kind: Int,
        doc: "Responses with status 429.",
        get: |group| responses(group, |status| status == 429),
    },
    Variable {
        name: "timeouts",
        kind: Int,
        doc: "Responses with status 504.",
        get: |group| responses(group, |status| status == 504),
    },
    Variable {
        name: "clientErrors",
        kind: Int,
        doc: "Responses with status 4xx.",
        get: |group| responses(group, |status| status / 100 == 4),
    },
    Variable {
        name: "serverErrors",
        kind: Int,
        doc: "Responses with status 5xx.",
        get: |group| responses(group, |status| status / 100 == 5),
    },
    Variable {
        name: "noStatus",
        kind: Int,
        doc: "Requests that ended without a recorded status.",
        get: |group| responses(group, |status| status == 0),
    },
    Variable {
        name: "unfinished",
        kind: Int,
        doc: "Requests with a RequestReceived event and without a ResponseComplete event. Long-running requests do not count. 0 if the log has no RequestReceived events.",
        get: |group| VariableValue::count(group.unfinished()),
    },
    Variable {
        name: "open",
        kind: Int,
        doc: "Long-running requests whose end is not in the log.",
        get: |group| VariableValue::count(group.sum(crate::ledger::Row::open)),
    },
    Variable {
        name: "over59s",
        kind: Int,
        doc: "Requests that took 59 s or more, without long-running ones. The server times out at 60 s.",
        get: |group| VariableValue::count(group.sum(|row| row.over_59s)),
    },
    Variable {
        name: "p50Millis",
        kind: Int,
        doc: "The median duration, in milliseconds. For long-running requests, the median lifetime.",
        get: |group| millis(group.latency().percentile(50)),
    },
    Variable {
        name: "p99Millis",
        kind: Int,
        doc: "The 99th percentile of the durations, in milliseconds.",
        get: |group| millis(group.latency().percentile(99)),
    },
    Variable {
        name: "maxMillis",
        kind: Int,
        doc: "The longest request, in milliseconds.",
        get: |group| millis(group.latency().max()),
    },
    Variable {
        name: "maxItems",
        kind: Int,
        doc: "The most objects in one response, if the log counts them (traces of slow requests); else 0.",
        get: |group| {
            VariableValue::count(group.rows.iter().map(|facts| facts.row.rare().items.max).max().unwrap_or(0))
        },
    },
    Variable {
        name: "hasInventory",
        kind: Bool,
        doc: "`--inventory` was given. Then the following six numbers estimate the cost of requests for the resources in the inventory.",
        get: |group| VariableValue::Bool(group.rows.iter().any(|facts| facts.cost.is_some())),
    },
    Variable {
        name: "etcdObjects",
        kind: Int,
        doc: "Objects that etcd reads for all requests, by the inventory; 0 if unknown.",
        get: |group| VariableValue::count(group.cost().etcd.objects),
    },
    Variable {
        name: "etcdBytes",
        kind: Int,
        doc: "Bytes that etcd reads for all requests, by the inventory; 0 if unknown.",
        get: |group| VariableValue::count(group.cost().etcd.bytes),
    },
    Variable {
        name: "filteredObjects",
        kind: Int,
        doc: "Objects that the apiserver filters for all requests, by the inventory; 0 if unknown.",
        get: |group| VariableValue::count(group.cost().filtered.objects),
    },
    Variable {
        name: "receivedBytes",
        kind: Int,
        doc: "Upper bound of the bytes that the client received, by the inventory: the size of the stored objects. 0 if unknown.",
        get: |group| VariableValue::count(group.cost().received.bytes),
    },
    Variable {
        name: "objectsPerRequest",
        kind: Int,
        doc: "Objects that etcd reads for the costliest request, by the inventory; 0 if unknown. If etcd reads none, objects that the apiserver filters.",
        get: |group| {
            let works = group.rows.iter().filter_map(|facts| facts.shape_summary.work.as_deref());
            let objects =
                works.filter_map(|work| work.etcd.objects.filter(|read| *read > 0).or(work.filtered.objects));
            VariableValue::count(objects.max().unwrap_or(0))
        },
    },
    Variable {
        name: "seats",
        kind: Int,
        doc: "The most seats of one request, as API Priority and Fairness of this version estimates them from the inventory; 0 if unknown.",
        get: |group| VariableValue::count(group.cost().max_seats),
    },
    Variable {
        name: "agree",
        kind: Int,
        doc: "Slow reads whose latency annotations agree with the verdict.",
        get: |group| VariableValue::count(group.rows.iter().map(|facts| facts.agreement.agree).sum()),
    },
    Variable {
        name: "contradict",
        kind: Int,
        doc: "Slow reads whose latency annotations contradict the verdict, and requests that the server served although the verdict says that it rejects them.",
        get: |group| VariableValue::count(group.rows.iter().map(|facts| facts.agreement.contradict).sum()),
    },
    Variable {
        name: "etcdMillis",
        kind: Int,
        doc: "Time in etcd of the slow requests, as the server measured it, in milliseconds.",
        get: |group| {
            VariableValue::count(
                group.rows.iter().map(|facts| facts.agreement.etcd_micros).fold(0, u64::saturating_add)
                    / 1_000,
            )
        },
    },
    Variable {
        name: "measuredSlow",
        kind: Int,
        doc: "Requests of more than 500 ms with latency annotations.",
        get: |group| VariableValue::count(group.sum(|row| row.rare().observed.measured())),
    },
    Variable {
        name: "slowMillis",
        kind: Int,
        doc: "Total time of the requests in `measuredSlow`, as the server measured it, in milliseconds.",
        get: |group| VariableValue::count(group.sum(|row| row.rare().observed.total_micros) / 1_000),
    },
    Variable {
        name: "webhookMillis",
        kind: Int,
        doc: "Time of the requests in `measuredSlow` in mutating and validating admission webhooks, in milliseconds.",
        get: |group| VariableValue::count(group.sum(|row| row.rare().observed.webhook_micros) / 1_000),
    },
    Variable {
        name: "mostlyWebhooks",
        kind: Int,
        doc: "Requests in `measuredSlow` that spent half of their time or more in admission webhooks.",
        get: |group| VariableValue::count(group.sum(|row| row.rare().observed.mostly_webhooks)),
    },
    Variable {
        name: "etcdSlowReads",
        kind: Int,
        doc: "Slow reads in etcd's own log (`--etcd-log`) that overlap with LISTs of the group. Only LISTs that may have read the collection from etcd count. 0 without that log.",
        get: |group| VariableValue::count(group.slow_reads().map_or(0, |reads| reads.reads)),
    },
    Variable {
        name: "watches",
        kind: Int,
        doc: "Watches of the same resource by the same client, also those that the rule does not match.",
        get: |group| {
            let Companions { watches, .. } = group.companions();
            VariableValue::count(watches)
        },
    },
    Variable {
        name: "lists",
        kind: Int,
        doc: "LISTs of the same resource by the same client, also those that the rule does not match.",
        get: |group| {
            let Companions { lists, .. } = group.companions();
            VariableValue::count(lists)
        },
    },
    Variable {
        name: "writes",
        kind: Int,
        doc: "Writes of the same resource and its subresources by the same client.",
        get: |group| {
            let Companions { writes, .. } = group.companions();
            VariableValue::count(writes)
        },
    },
    Variable {
        name: "etcdWrites",
        kind: Int,
        doc: "Requests of the group that wrote to etcd: creates, updates, patches and deletes. Refused (4xx) and failed (5xx) requests, and those with `dryRun=All`, do not count.",
        get: |group| VariableValue::count(group.load().etcd_writes),
    },
    Variable {
        name: "readsInStep",
        kind: Int,
        doc: "GETs of one resource from etcd by the same client. In each minute, at most as many count as the group has requests. A resource with more than twice as many GETs as the group has requests does not count. For a client that reads before each write, this is the number of writes.",
        get: |group| VariableValue::count(group.in_step().reads),
    },
    Variable {
        name: "readsInStepResource",
        kind: Text,
        doc: "The resource that `readsInStep` counts; empty if there is none.",
        get: |group| VariableValue::Text(group.in_step().resource.into()),
    },
    Variable {
        name: "discovery",
        kind: Int,
        doc: "Requests for discovery and OpenAPI documents by the same client.",
        get: |group| {
            VariableValue::count(group.members().iter().map(|one| group.totals.discovery_of(*one)).sum())
        },
    },
    Variable {
        name: "allRequests",
        kind: Int,
        doc: "All requests of the same client.",
        get: |group| {
            VariableValue::count(group.members().iter().map(|one| group.totals.requests_of(*one)).sum())
        },
    },
    Variable {
        name: "inNamespace",
        kind: Int,
        doc: "Requests for the objects of one namespace (`request.scope` is `namespace`).",
        get: |group| {
            let in_namespace = |facts: &RowFacts<'_>| facts.key.scope == Some(Scope::Namespace);
            VariableValue::count(
                group.rows.iter().filter(|row| in_namespace(row)).map(|row| row.requests).sum(),
            )
        },
    },
    Variable {
        name: "clients",
        kind: Int,
        doc: "Clients in the group: more than one if clients of a program are evaluated together (`groupBy: program`).",
        get: |group| VariableValue::count(group.members().len() as u64),
    },
    Variable {
        name: "shapes",
        kind: Int,
        doc: "Distinct request shapes in the group.",
        get: |group| {
            // Clients of a group may share a shape, at one address or at several.
            let mut keys: Vec<_> = group.rows.iter().map(|facts| facts.key).collect();
            keys.sort_unstable();
            keys.dedup();
            VariableValue::count(keys.len() as u64)
        },
    },
    Variable {
        name: "products",
        kind: Int,
        doc: "Distinct user agent products in the group.",
        get: |group| {
            let mut products: Vec<_> = group.rows.iter().map(|facts| facts.product).collect();
            products.sort_unstable();
            products.dedup();
            VariableValue::count(products.len() as u64)
        },
    },
];

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
