//! The variables of the whole input: `input.*`.

use std::cmp::Reverse;

use super::figures::tenths;
use super::group::is_write;
use super::value::{Variable, VariableValue, variables};
use crate::apiserver::{ServedFrom, Target};
use crate::decode::SkipReason;
use crate::judged::{ClientSummary, JudgedClients, ShapeKey};
use crate::k8s::Verb;
use crate::k8s::text::prefix;
use crate::ledger::{InputCounts, Timeline};

/// The maximum number of clients that `input.topWriters` names.
const NAMED: usize = 3;
/// The maximum length of a client name in `input.topWriters`, in bytes.
const MAX_NAME: usize = 80;

/// A function that returns the value of a variable of the input.
pub(crate) type InputGetter = for<'r, 'a> fn(&'r InputFacts<'a>) -> VariableValue<'r>;

/// Totals of the input, for rules with `groupBy: [input]`.
#[derive(Debug, Clone)]
pub(crate) struct InputFacts<'a> {
    counts: &'a InputCounts,
    judged: &'a JudgedClients,
    requests: u64,
    without_uri: u64,
    reads: u64,
    lists: u64,
    writes: u64,
    etcd_writes: EtcdWrites,
}

/// Writes of all clients to etcd. Omits Leases and events, because other rules cover them.
#[derive(Debug, Clone, Default)]
struct EtcdWrites {
    per_minute: f64,
    peak_per_minute: f64,
    minutes: u64,
    top_percent: u64,
    top: String,
}

fn is_counted(key: &ShapeKey) -> bool {
    let has_own_rule =
        |resource: &str| matches!(resource, "leases.coordination.k8s.io" | "events" | "events.events.k8s.io");
    key.served_from == ServedFrom::Write && !key.resource.as_deref().is_some_and(has_own_rule)
}

impl EtcdWrites {
    fn new(judged: &JudgedClients) -> Self {
        let measure = judged.measure;
        let mut times = Timeline::default();
        let mut spans: Vec<(i64, i64)> = Vec::new();
        let mut writers: Vec<(u64, &ClientSummary)> = Vec::new();
        for client in &judged.clients {
            let mut own = 0;
            for (key, shape_summary) in client.shapes.iter().filter(|(key, _)| is_counted(key)) {
                for product_row in &shape_summary.rows {
                    let stored = measure.etcd_writes(key, shape_summary, &product_row.row);
                    // A row has the minutes of all its requests, also of those that failed and wrote nothing. So
                    // count the row only if at least half of its requests wrote to etcd.
                    if stored * 2 >= judged.requests(&product_row.row) {
                        own += stored;
                        times.merge_from(&product_row.row.times(judged.received_only));
                        spans.extend(product_row.row.span);
                    }
                }
            }
            if own > 0 {
                writers.push((own, client));
            }
        }
        let Some(rate) = times.rate() else { return Self::default() };
        let all: u64 = writers.iter().map(|(writes, _)| writes).sum();
        let percent = |writes: u64| (writes * 100 + all / 2) / all.max(1);
        let mut named: Vec<(u64, String)> =
            writers.into_iter().map(|(writes, client)| (writes, client.short_name())).collect();
        named.sort_unstable_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
        let share = |writes: u64| match percent(writes) {
            0 => "<1 %".to_owned(),
            percent => format!("{percent} %"),
        };
        let span = spans.iter().map(|span| span.0).min().zip(spans.iter().map(|span| span.1).max());
        let top = named.iter().take(NAMED);
        let top = top.map(|(writes, name)| format!("{} ({})", prefix(name, MAX_NAME), share(*writes)));
        Self {
            per_minute: rate.mean_per_minute(all, span),
            peak_per_minute: tenths(rate.peak, rate.window_minutes),
            minutes: rate.active_minutes,
            top_percent: named.first().map_or(0, |(writes, _)| percent(*writes)),
            top: top.collect::<Vec<String>>().join(", "),
        }
    }
}

impl<'a> InputFacts<'a> {
    pub(crate) fn new(counts: &'a InputCounts, judged: &'a JudgedClients) -> Self {
        let (requests, without_uri, reads, lists, writes) = Default::default();
        let etcd_writes = EtcdWrites::new(judged);
        let mut facts = Self { counts, judged, requests, without_uri, reads, lists, writes, etcd_writes };
        for (key, shape_summary) in judged.clients.iter().flat_map(|client| &client.shapes) {
            let requests = judged.requests_of(shape_summary);
            facts.requests += requests;
            let is_unknown = matches!(
                shape_summary.request_shape.as_ref().map(|shape| &shape.target),
                Some(Target::Unknown { .. })
            );
            facts.without_uri += if is_unknown { requests } else { 0 };
            match key.verb.filter(|_| key.scope.is_some() || is_unknown) {
                Some(Verb::List) => {
                    facts.lists += requests;
                    facts.reads += requests;
                }
                Some(Verb::Get | Verb::Watch) => facts.reads += requests,
                Some(verb) if is_write(verb) => facts.writes += requests,
                _ => {}
            }
        }
        facts
    }

    fn skipped(&self, reason: SkipReason) -> u64 {
        self.counts.skipped.get(&reason).map_or(0, |(count, _)| *count)
    }
}

pub(crate) const INPUT: &[Variable<InputGetter>] = variables! { |input|
    /// Audit events.
    events: Int = input.counts.all_events();
    /// Requests.
    requests: Int = input.requests;
    /// Minutes from the first event to the last one.
    minutes: Int = input.counts.activity.span_minutes();
    /// The log has only RequestReceived events: no status and no duration is known.
    receivedOnly: Bool = input.counts.received_only();
    /// Requests without a recorded target: resourceVersion, limit and continue are unknown.
    withoutUri: Int = input.without_uri;
    /// GETs, LISTs and watches of resources.
    reads: Int = input.reads;
    /// LISTs.
    lists: Int = input.lists;
    /// Creates, updates, patches and deletes.
    writes: Int = input.writes;
    /// Writes to etcd per minute, over the minutes with at least one. Leases, events, dry runs, and refused requests do
    /// not count.
    etcdWritesPerMinute: Double = input.etcd_writes.per_minute;
    /// Writes to etcd in the busiest minute; counts the same writes as `input.etcdWritesPerMinute`. In a log of more
    /// than 1,536 minutes, the mean of a wider window.
    peakEtcdWritesPerMinute: Double = input.etcd_writes.peak_per_minute;
    /// Minutes with at least one write that `input.etcdWritesPerMinute` counts.
    etcdWriteMinutes: Int = input.etcd_writes.minutes;
    /// The busiest writer's share of the writes that `input.etcdWritesPerMinute` counts, in percent.
    topWriterPercent: Int = input.etcd_writes.top_percent;
    /// The three clients that send the most of these writes, each with its share in percent.
    topWriters: Text = input.etcd_writes.top.as_str();
    /// Nodes of the cluster: those in the inventory, or the highest number of nodes of one client.
    nodes: Int = input.judged.cluster_nodes;
    /// At least one source is a log that never contains reads (Azure's kube-audit-admin).
    withoutReads: Bool = input.counts.sources.values().any(|source| source.without_reads > 0);
    /// Records that were truncated in transit or are too long, and events that the server truncated.
    cut: Int = {
        let reasons = [SkipReason::Truncated, SkipReason::CutByCloudwatch, SkipReason::TooLong];
        input.counts.truncated + reasons.map(|reason| input.skipped(reason)).iter().sum::<u64>()
    };
    /// Records that could not be parsed, without blank ones.
    skipped: Int = {
        let all: u64 = input.counts.skipped.values().map(|(count, _)| count).sum();
        all - input.skipped(SkipReason::Blank)
    };
    /// Compressed streams that could not be read completely.
    damaged: Int = input.counts.damaged.len() as u64;
    /// The longest time without any event, in minutes.
    longestGapMinutes: Int = input.counts.activity.longest_gap().map_or(0, |gap| gap.minutes);
    /// Audit events that a filter removed.
    filtered: Int = input.counts.filtered;
    /// All events are access lines of the apiserver's own log, which name no user.
    accessOnly: Bool = {
        let events = input.counts.all_events();
        events > 0 && input.counts.access_lines == events
    };
    /// A file has requests to servers of different versions at the same time.
    mixedServers: Bool = input.judged.version.is_mixed;
    /// The server versions that fit the log: `1.30 to 1.33`.
    possibleVersions: Text = input.judged.version.possible.to_string();
    /// The totals for each range of these versions: `1.30: 1,595 LISTs from etcd; 1.31 to 1.33: 125`. Empty if all
    /// ranges have the same totals.
    totalsByVersion: Text = input.judged.version.totals.join("; ");
    /// The difference in LISTs from etcd between the version with the most and the version with the fewest.
    etcdListsApart: Int = input.judged.version.etcd_lists_apart;
};
