//! From a ledger to a report: verdicts, sums, order.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::evidence::compare;
use super::{advice, shape, v1};
use crate::apiserver::judge::served_against_model;
use crate::apiserver::{LimitVerdict, ServedFrom, Server, Verdict, certainty, judge};
use crate::classify::{Shape, event};
use crate::decode::SkipReason;
use crate::input::Source;
use crate::k8s::identity::service_account;
use crate::k8s::{KubeVersion, Stage, Verb, timestamp};
use crate::ledger::{
    self, Client, DistinctSet, Histogram, InputCounts, Ledger, Merge, Observed, Product, Row, ServerTimeline,
    Timeline, exemplar,
};

/// Files without events that are named.
const NAMED_FILES: usize = 10;
/// The name of everything beyond the number of clients that are told apart.
const OTHER_CLIENTS: &str = "(other clients)";
/// The name of everything beyond the number of products that are told apart.
const OTHER_PRODUCTS: &str = "(other products)";

/// Where the server's version is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum VersionSource {
    Flag,
    LoopbackUserAgent,
    ControlPlaneUserAgent,
    NewestKnown,
}

impl VersionSource {
    /// The value in the public JSON contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::LoopbackUserAgent => "loopback-user-agent",
            Self::ControlPlaneUserAgent => "control-plane-user-agent",
            Self::NewestKnown => "newest-known",
        }
    }
}

/// What a report needs beside the ledger.
#[derive(Debug)]
pub struct Context<'a> {
    /// The sources that the ledger was counted from.
    pub sources: &'a [Source],
    /// The server's configuration; its version is that of the timeline.
    pub server: Server,
    /// Which version answered when.
    pub timeline: &'a ServerTimeline,
    /// Where the version is known from.
    pub version_source: VersionSource,
    /// What a reader should know about how the server was found.
    pub notes: Vec<String>,
}

/// Builds the report.
#[must_use]
pub fn build(ledger: Ledger, context: &Context<'_>) -> v1::Report {
    let received_only = ledger.input.received_only();
    let builder = Builder {
        context,
        received_only,
        servers: context
            .timeline
            .versions
            .iter()
            .map(|version| Server { version: *version, ..context.server.clone() })
            .collect(),
    };
    let (known, rest) = ledger.clients.into_parts();
    let mut all = Sums::default();
    let mut clients: Vec<v1::Client> =
        known.into_iter().map(|(key, client)| builder.client(Some(key), client, &mut all)).collect();
    clients.extend(rest.map(|client| builder.client(None, client, &mut all)));
    clients.sort_by_cached_key(|client| {
        let counts = &client.counts;
        let cost = (counts.etcd_micros, counts.etcd_lists, counts.limit_ignored, counts.requests);
        (Reverse(cost), client.identity.clone(), client.impersonated_by.clone())
    });
    let totals = v1::Totals { counts: all.counts, latency: latency(&all.latency), rate: rate(&all.timeline) };
    v1::Report {
        schema_version: v1::SCHEMA_VERSION,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        input: input(&ledger.input, context, totals.counts.requests, all.open),
        server: server(context),
        totals,
        clients,
    }
}

/// Sums over shapes, while they are being made.
#[derive(Debug, Default)]
struct Sums {
    counts: v1::Counts,
    latency: Histogram,
    timeline: Timeline,
    span: Option<(i64, i64)>,
    open: u64,
}

/// What shapes of a client are one in the report: they look the same and get the same verdict.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ShapeKey {
    verb: Option<Verb>,
    resource: Option<String>,
    subresource: Option<String>,
    scope: Option<&'static str>,
    parameters: String,
    misspelt: Vec<String>,
    served_from: ServedFrom,
    likely: Option<ServedFrom>,
    limit: LimitVerdict,
    rejected: Option<u16>,
    reason: &'static str,
    kube_version: KubeVersion,
}

/// The rows of one shape of the report.
#[derive(Debug)]
struct Gathered {
    verdict: Option<Verdict>,
    certainty: &'static str,
    long_running: bool,
    observed: v1::Observed,
    products: BTreeMap<String, u64>,
    row: Row,
}

struct Builder<'a> {
    context: &'a Context<'a>,
    received_only: bool,
    servers: Vec<Server>,
}

impl Builder<'_> {
    fn client(&self, key: Option<ledger::ClientKey>, client: Client, all: &mut Sums) -> v1::Client {
        let mut shapes: BTreeMap<ShapeKey, Gathered> = BTreeMap::new();
        let mut user_agents = Vec::new();
        let (products, other_products) = client.products.into_parts();
        let mut products: Vec<(Box<str>, Product)> = products;
        products.extend(other_products.map(|product| (OTHER_PRODUCTS.into(), product)));
        for (name, product) in products {
            let example = product.example.to_string();
            let (rows, other_rows) = product.rows.into_parts();
            let rows = rows.into_iter().map(|(shape, row)| (Some(shape), row));
            let mut requests = 0;
            for (shape, row) in rows.chain(other_rows.map(|row| (None, row))) {
                requests += row.requests(self.received_only);
                self.gather(&mut shapes, shape.as_ref(), &name, row);
            }
            user_agents.push(v1::UserAgent { product: name.into(), example, requests });
        }
        user_agents.sort_by(|a, b| (Reverse(a.requests), &a.product).cmp(&(Reverse(b.requests), &b.product)));
        let mut sums = Sums::default();
        let mut shapes: Vec<v1::Shape> =
            shapes.into_iter().map(|(key, gathered)| self.shape(key, gathered, &mut sums)).collect();
        shapes.sort_by_cached_key(|shape| {
            let micros =
                shape.latency.filter(|_| !shape.long_running).map_or(0, |latency| latency.sum_micros);
            let etcd = shape.served_from == "etcd" || shape.likely.as_deref() == Some("etcd");
            let ignored = shape.limit == "ignored" && shape.verb == "list";
            Reverse((if etcd { micros } else { 0 }, if ignored { shape.requests } else { 0 }, shape.requests))
        });
        all.add(&sums);
        let (identity, kind, impersonated_by) = match key {
            Some(key) => (key.identity.to_string(), key.kind.as_str(), key.impersonator.map(String::from)),
            None => (OTHER_CLIENTS.to_owned(), "user", None),
        };
        v1::Client {
            service_account: service_account(&identity).map(|(namespace, name)| v1::ServiceAccount {
                namespace: namespace.into(),
                name: name.into(),
            }),
            identity,
            kind: kind.to_owned(),
            impersonated_by,
            user_agents,
            nodes: distinct(&client.nodes),
            pods: distinct(&client.pods),
            latency: latency(&sums.latency),
            rate: rate(&sums.timeline),
            first_timestamp: sums.span.map(|span| timestamp::format_micros(span.0)),
            last_timestamp: sums.span.map(|span| timestamp::format_micros(span.1)),
            counts: sums.counts,
            shapes,
        }
    }

    /// Adds a row to the shape of the report that it belongs to. `None` is what is beyond the number of shapes.
    fn gather(
        &self,
        shapes: &mut BTreeMap<ShapeKey, Gathered>,
        shape: Option<&Shape>,
        product: &str,
        row: Row,
    ) {
        let requests = row.requests(self.received_only);
        let (key, gathered) = match shape {
            Some(shape) => self.judged(shape, &row.observed, requests),
            None => (self.folded(), Gathered::folded(&row.observed)),
        };
        let own = shapes.entry(key).or_insert(gathered.0);
        own.observed = sum_observed(own.observed, gathered.1);
        *own.products.entry(product.to_owned()).or_default() += requests;
        own.row.merge(row);
    }

    fn judged(
        &self,
        shape: &Shape,
        observed: &Observed,
        requests: u64,
    ) -> (ShapeKey, (Gathered, v1::Observed)) {
        let server = &self.servers[usize::from(shape.era)];
        let asked = shape.asked.as_borrowed();
        let status = shape.answer.status();
        let verdict = judge(server, &asked, status);
        let mut fit = compare(asked.verb, &verdict, server.version, observed);
        if served_against_model(server, &asked, status) {
            fit.contradict += requests;
        }
        let key = ShapeKey {
            verb: Some(asked.verb),
            resource: Some(shape::resource(&shape.asked)),
            subresource: shape::subresource(&shape.asked),
            scope: event::scope_of(&asked).map(crate::k8s::Scope::as_str),
            parameters: shape::parameters(&shape.asked),
            misspelt: shape::misspelt(&shape.asked),
            served_from: verdict.served_from,
            likely: verdict.likely,
            limit: verdict.limit,
            rejected: verdict.rejected,
            reason: verdict.reason.code(),
            kube_version: server.version,
        };
        let gathered = Gathered {
            verdict: Some(verdict),
            certainty: certainty(server, &asked, status).as_str(),
            long_running: event::is_long_running(&asked),
            observed: v1::Observed::default(),
            products: BTreeMap::new(),
            row: Row::default(),
        };
        (key, (gathered, fit))
    }

    fn folded(&self) -> ShapeKey {
        ShapeKey {
            verb: None,
            resource: None,
            subresource: None,
            scope: None,
            parameters: String::new(),
            misspelt: Vec::new(),
            served_from: ServedFrom::NotObservable,
            likely: None,
            limit: LimitVerdict::Absent,
            rejected: None,
            reason: "folded",
            kube_version: self.context.server.version,
        }
    }

    fn shape(&self, key: ShapeKey, gathered: Gathered, sums: &mut Sums) -> v1::Shape {
        let row = gathered.row;
        let requests = row.requests(self.received_only);
        let timeline = row.whole_timeline();
        let counts = v1::Counts {
            requests,
            by_verb: one(key.verb.map_or("other", Verb::as_str), requests),
            by_served_from: one(key.served_from.as_str(), requests),
            etcd_lists: 0,
            etcd_gets: 0,
            etcd_micros: 0,
            limit_ignored: if key.limit == LimitVerdict::Ignored && key.verb == Some(Verb::List) {
                requests
            } else {
                0
            },
            statuses: statuses(&row, requests),
            observed: gathered.observed,
        };
        let mut part =
            Sums { counts, timeline: timeline.clone(), span: row.span, open: row.open(), ..Sums::default() };
        if !gathered.long_running {
            part.latency = row.latency.clone();
        }
        if key.likely.unwrap_or(key.served_from) == ServedFrom::Etcd {
            match key.verb {
                Some(Verb::List) => part.counts.etcd_lists = requests,
                Some(Verb::Get) => part.counts.etcd_gets = requests,
                _ => {}
            }
            part.counts.etcd_micros = part.latency.sum();
        }
        sums.add(&part);
        let ignored_parameters: Vec<String> = row.unknown_keys.iter().map(|key| key.to_string()).collect();
        let mut examples = row.exemplars.as_slice().iter().map(|exemplar| self.example(exemplar));
        let advice = advice::misspelt(&ignored_parameters, &key.misspelt)
            .or_else(|| gathered.verdict.and_then(|v| advice::advice(v.reason, key.kube_version)));
        v1::Shape {
            verb: key.verb.map_or("other", Verb::as_str).to_owned(),
            resource: key.resource,
            subresource: key.subresource,
            scope: key.scope.map(str::to_owned),
            parameters: key.parameters,
            misspelt: key.misspelt,
            served_from: key.served_from.as_str().to_owned(),
            likely: key.likely.map(|likely| likely.as_str().to_owned()),
            limit: key.limit.as_str().to_owned(),
            rejected: key.rejected,
            reason: key.reason.to_owned(),
            certainty: gathered.certainty.to_owned(),
            explanation: gathered
                .verdict
                .map_or("Shapes beyond the number that is told apart per client.", |v| v.reason.sentence())
                .to_owned(),
            advice,
            ignored_parameters,
            kube_version: key.kube_version.to_string(),
            products: gathered.products.into_keys().collect(),
            requests,
            events: row.events,
            long_running: gathered.long_running,
            latency: latency(&row.latency),
            rate: rate(&timeline),
            statuses: statuses(&row, requests),
            observed: gathered.observed,
            example: examples.next(),
            more_examples: examples.collect(),
        }
    }

    fn example(&self, exemplar: &exemplar::Exemplar) -> v1::Example {
        v1::Example {
            request_uri: exemplar.uri.to_string(),
            file: file_name(self.context.sources, exemplar.place.source),
            line: exemplar.place.line,
            audit_id: exemplar.audit_id.to_string(),
            timestamp: exemplar.received.map(timestamp::format_micros),
            duration_micros: exemplar.micros,
            status: exemplar.status,
        }
    }
}

impl Gathered {
    fn folded(observed: &Observed) -> (Self, v1::Observed) {
        let gathered = Self {
            verdict: None,
            certainty: "certain",
            long_running: false,
            observed: v1::Observed::default(),
            products: BTreeMap::new(),
            row: Row::default(),
        };
        let fit = v1::Observed { measured: observed.measured(), ..v1::Observed::default() };
        (gathered, fit)
    }
}

impl Sums {
    fn add(&mut self, other: &Self) {
        let (own, new) = (&mut self.counts, &other.counts);
        own.requests += new.requests;
        add_all(&mut own.by_verb, &new.by_verb);
        add_all(&mut own.by_served_from, &new.by_served_from);
        own.etcd_lists += new.etcd_lists;
        own.etcd_gets += new.etcd_gets;
        own.etcd_micros = own.etcd_micros.saturating_add(new.etcd_micros);
        own.limit_ignored += new.limit_ignored;
        own.statuses = sum_statuses(own.statuses, new.statuses);
        own.observed = sum_observed(own.observed, new.observed);
        self.latency.merge(other.latency.clone());
        self.timeline.merge(other.timeline.clone());
        self.span = match (self.span, other.span) {
            (Some(own), Some(new)) => Some((own.0.min(new.0), own.1.max(new.1))),
            (own, new) => own.or(new),
        };
        self.open += other.open;
    }
}

fn one(key: &str, count: u64) -> BTreeMap<String, u64> {
    if count == 0 { BTreeMap::new() } else { BTreeMap::from([(key.to_owned(), count)]) }
}

fn add_all(own: &mut BTreeMap<String, u64>, new: &BTreeMap<String, u64>) {
    for (key, count) in new {
        *own.entry(key.clone()).or_default() += count;
    }
}

fn statuses(row: &Row, requests: u64) -> v1::Statuses {
    let [informational, success, redirect, client_error, server_error] = row.statuses.classes;
    let answered = informational + success + redirect + client_error + server_error;
    v1::Statuses {
        informational,
        success,
        redirect,
        client_error,
        server_error,
        none: requests.saturating_sub(answered),
        conflict: row.statuses.conflict,
        gone: row.statuses.gone,
        too_many_requests: row.statuses.too_many_requests,
    }
}

fn sum_statuses(a: v1::Statuses, b: v1::Statuses) -> v1::Statuses {
    v1::Statuses {
        informational: a.informational + b.informational,
        success: a.success + b.success,
        redirect: a.redirect + b.redirect,
        client_error: a.client_error + b.client_error,
        server_error: a.server_error + b.server_error,
        none: a.none + b.none,
        conflict: a.conflict + b.conflict,
        gone: a.gone + b.gone,
        too_many_requests: a.too_many_requests + b.too_many_requests,
    }
}

fn sum_observed(a: v1::Observed, b: v1::Observed) -> v1::Observed {
    v1::Observed {
        measured: a.measured + b.measured,
        agree: a.agree + b.agree,
        contradict: a.contradict + b.contradict,
        etcd_micros: a.etcd_micros.saturating_add(b.etcd_micros),
    }
}

fn distinct(set: &DistinctSet) -> v1::Distinct {
    let (count, more) = set.count();
    v1::Distinct { count, more }
}

fn latency(histogram: &Histogram) -> Option<v1::Latency> {
    Some(v1::Latency {
        count: histogram.count(),
        sum_micros: histogram.sum(),
        min_micros: histogram.min()?,
        max_micros: histogram.max()?,
        p50_micros: histogram.percentile(50)?,
        p99_micros: histogram.percentile(99)?,
    })
}

#[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
fn rate(timeline: &Timeline) -> Option<v1::Rate> {
    let rate = timeline.rate()?;
    let tenths = |value: f64| (value * 10.0).round() / 10.0;
    let active_minutes = rate.active * rate.window_minutes;
    Some(v1::Rate {
        peak_per_minute: tenths(rate.peak as f64 / rate.window_minutes as f64),
        peak_at: timestamp::format_micros(rate.peak_at),
        mean_per_active_minute: tenths(timeline.total() as f64 / active_minutes as f64),
        active_minutes,
        window_minutes: rate.window_minutes,
    })
}

fn file_name(sources: &[Source], index: u32) -> String {
    usize::try_from(index).ok().and_then(|index| sources.get(index)).map(Source::name).unwrap_or_default()
}

fn input(counts: &InputCounts, context: &Context<'_>, requests: u64, open: u64) -> v1::Input {
    let stages = [
        (Stage::RequestReceived, "RequestReceived"),
        (Stage::ResponseStarted, "ResponseStarted"),
        (Stage::ResponseComplete, "ResponseComplete"),
        (Stage::Panic, "Panic"),
    ];
    let file = |source: u32| file_name(context.sources, source);
    let without: Vec<String> = context
        .sources
        .iter()
        .zip(0_u32..)
        .filter(|(_, index)| counts.sources.get(index).is_none_or(|source| source.events == 0))
        .map(|(source, _)| source.name())
        .collect();
    v1::Input {
        files: context.sources.len() as u64,
        bytes: counts.bytes,
        lines: counts.lines,
        events: counts.all_events(),
        events_by_stage: stages
            .into_iter()
            .map(|(stage, name)| (name.to_owned(), counts.events[stage as usize]))
            .collect(),
        filtered: counts.filtered,
        requests,
        open,
        received_only: counts.received_only(),
        replaced_utf8: counts.replaced_utf8,
        skipped: counts
            .skipped
            .iter()
            .map(|(reason, (count, _))| (reason.as_str().to_owned(), *count))
            .collect(),
        skipped_at: counts
            .skipped
            .iter()
            .filter(|(reason, _)| **reason != SkipReason::Blank)
            .flat_map(|(reason, (_, places))| places.iter().map(|at| (reason.as_str(), *at)))
            .map(|(reason, at)| v1::SkippedAt {
                reason: reason.to_owned(),
                file: file(at.source),
                line: at.line,
            })
            .collect(),
        damaged: counts
            .damaged
            .iter()
            .map(|(source, (damage, line))| v1::Damaged {
                damage: damage.as_str().to_owned(),
                file: file(*source),
                line: *line,
            })
            .collect(),
        without_events: v1::WithoutEvents {
            count: without.len() as u64,
            files: without.into_iter().take(NAMED_FILES).collect(),
        },
        first_timestamp: counts.span.map(|span| timestamp::format_micros(span.0)),
        last_timestamp: counts.span.map(|span| timestamp::format_micros(span.1)),
    }
}

fn server(context: &Context<'_>) -> v1::Server {
    v1::Server {
        kube_version: context.timeline.versions.last().map(ToString::to_string).unwrap_or_default(),
        version_source: context.version_source.as_str().to_owned(),
        kube_versions: context.timeline.versions.iter().map(ToString::to_string).collect(),
        etcd_version: context.server.etcd.map(|version| version.to_string()),
        feature_gates: context.server.gates.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        uncached: context.server.uncached.clone(),
        aggregated: context.server.aggregated.clone(),
        notes: context.notes.clone(),
    }
}
