//! Converts judged clients to the JSON report, with their shapes and sums.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::advice::ClientRole;
use super::context::Context;
use super::minutes::ResourceTimelines;
use super::ranking::Loads;
use super::server_log::{flows, items};
use super::sums::{RequestsOverTime, Sums, distinct, latency, statuses};
use super::text_cache::TextCache;
use super::{advice, cost, patterns, v1};
use crate::apiserver::{LimitVerdict, ServedFrom};
use crate::cost::{CostBasis, ShapeCost};
use crate::judged::{Agent, ClientSummary, Job, Measure, ProductRow, RequestLoad, ShapeKey, ShapeSummary};
use crate::k8s::secrets::masked;
use crate::k8s::{Scope, Verb, timestamp};
use crate::ledger::{Exemplar, Merge, Row};
use crate::patterns::Pattern;

pub(super) struct ClientConverter<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) cost_context: cost::CostContext<'a>,
    pub(super) measure: Measure,
    pub(super) loads: Loads,
    pub(super) texts: TextCache,
}

impl ClientConverter<'_> {
    pub(super) fn client(&self, summary: ClientSummary) -> (v1::Client, Sums) {
        let (identity, kind) = (summary.identity(), summary.kind());
        let impersonated_by = summary.impersonated_by().map(str::to_owned);
        let service_account = summary
            .service_account()
            .map(|(namespace, name)| v1::ServiceAccount { namespace: namespace.into(), name: name.into() });
        let mut by_product: BTreeMap<&str, u64> = BTreeMap::new();
        for one in summary.shapes.values().flat_map(|shape| &shape.rows) {
            *by_product.entry(&one.product).or_default() += one.row.requests(self.measure.received_only);
        }
        let jobs: BTreeMap<String, Job> =
            summary.agents.iter().map(|(product, agent)| (product.clone(), agent.job)).collect();
        let mut user_agents: Vec<v1::UserAgent> = summary
            .agents
            .into_iter()
            .map(|(product, Agent { example, .. })| {
                let requests = by_product.get(&*product).copied().unwrap_or(0);
                v1::UserAgent { product, example, requests }
            })
            .collect();
        user_agents.sort_by(|a, b| (Reverse(a.requests), &a.product).cmp(&(Reverse(b.requests), &b.product)));
        let mut sums = Sums { costs: cost::Costs::new(self.context.inventory), ..Sums::default() };
        let mut minutes = ResourceTimelines::default();
        let shape = |(key, shape_summary): (Arc<ShapeKey>, ShapeSummary)| {
            self.shape(&key, shape_summary, &mut sums, &mut minutes, &jobs)
        };
        let room = if self.context.detail.all_shapes { summary.shapes.len() } else { 0 };
        let mut shapes: Vec<v1::Shape> = Vec::with_capacity(room);
        shapes.extend(summary.shapes.into_iter().filter_map(shape));
        minutes.add_to(&mut sums.times);
        sums.by_verb.add_to(&mut sums.counts.by_verb);
        sums.by_served_from.add_to(&mut sums.counts.by_served_from);
        shapes.sort_by_cached_key(|shape| {
            let is_list = shape.verb == "list";
            let from_etcd = is_list && (shape.served_from == "etcd" || shape.likely == Some("etcd"));
            let ignored = is_list && shape.limit == "ignored";
            let requests = shape.requests;
            let of = |is_wanted: bool| if is_wanted { requests } else { 0 };
            // The order of `ranking`, as for clients.
            Reverse([shape.load.amount, of(from_etcd), of(ignored), requests])
        });
        let client = v1::Client {
            identity,
            kind: kind.to_owned(),
            service_account,
            impersonated_by,
            user_agents,
            nodes: distinct(&summary.nodes),
            pods: distinct(&summary.pods),
            worst_severity: None,
            load: self.loads.to_v1(sums.load),
            cost: sums.costs.to_v1(self.cost_context),
            latency: latency(&sums.latency),
            rate: sums.times.rate(sums.span),
            first_timestamp: sums.span.map(|span| timestamp::format_micros(span.0)),
            last_timestamp: sums.span.map(|span| timestamp::format_micros(span.1)),
            counts: sums.counts.clone(),
            shapes,
            timelines: minutes.into_timelines(),
        };
        (client, sums)
    }

    /// Adds a shape to the sums. Returns the shape only if the report shows it.
    fn shape(
        &self,
        key: &ShapeKey,
        mut summary: ShapeSummary,
        sums: &mut Sums,
        minutes: &mut ResourceTimelines,
        jobs: &BTreeMap<String, Job>,
    ) -> Option<v1::Shape> {
        let (observed, certainty) = (summary.agreement, summary.certainty());
        let summed = ShapeSums::from_rows(key, &mut summary, self.measure);
        let ShapeSums { requests, open, row, times, products, pattern, costs, load } = summed;
        sums.unfinished += row.received.saturating_sub(requests);
        if requests == 0 {
            sums.events_without_request += row.events;
            return None;
        }
        let statuses = statuses(&row, requests);
        let verb = key.verb.map_or("other", Verb::as_str);
        let counts = &mut sums.counts;
        counts.requests += requests;
        sums.by_verb.add(verb, requests);
        sums.by_served_from.add(key.served_from.as_str(), requests);
        counts.statuses.merge(statuses);
        counts.observed.merge(observed);
        if key.limit == LimitVerdict::Ignored && key.verb == Some(Verb::List) {
            counts.limit_ignored += requests;
        }
        if key.is_from_etcd() {
            match key.verb {
                Some(Verb::List) => counts.etcd_lists += requests,
                Some(Verb::Get) => counts.etcd_gets += requests,
                _ => {}
            }
            let micros = if summary.long_running { 0 } else { row.latency.sum() };
            counts.etcd_micros = counts.etcd_micros.saturating_add(micros);
        }
        if !summary.long_running {
            sums.latency.merge_from(&row.latency);
            sums.add_first_not_long_running(row.span.map(|span| span.0));
        }
        sums.add_span(row.span);
        sums.open += open;
        sums.costs.add(&costs);
        sums.load.add(load);
        sums.counts.etcd_writes += load.etcd_writes;
        let rate = times.rate(row.span);
        minutes.add(key, requests, times);
        let is_costly = requests > 0 && !summary.long_running && key.is_costly();
        if !is_costly && observed.contradict == 0 && !self.context.detail.all_shapes {
            return None;
        }
        let (flows, item_counts) = (flows(row.rare().flows.as_deref()), row.rare().items);
        let part = ShapeCost {
            requests,
            work: summary.work.as_deref(),
            cost: costs.sum.as_ref(),
            items: item_counts,
            page_limit: summary.page_limit(),
        };
        let cost = self.texts.cost(&CostBasis::new(std::iter::once(part)), self.cost_context);
        let ignored_parameters: Vec<String> =
            row.rare().unknown_keys.iter().map(|key| String::from(&**key)).collect();
        let (latency, histogram) = (latency(&row.latency), v1::Histogram(row.latency.into_buckets()));
        let mut examples = row.exemplars.as_slice().iter().map(|exemplar| self.example(exemplar));
        let role = ClientRole::from_jobs(&summary, products.iter().filter_map(|product| jobs.get(product)));
        let misspelled = advice::misspelled(&ignored_parameters, &key.misspelled);
        let advice = misspelled.map(v1::Shared::from).or_else(|| {
            self.texts.advice(summary.verdict?.reason, key.verb?, key.kube_version, role, self.context)
        });
        Some(v1::Shape {
            verb,
            resource: key.resource.clone().map(Into::into),
            subresource: key.subresource.clone().map(Into::into),
            scope: key.scope.map(Scope::as_str),
            parameters: key.parameters.clone().into(),
            misspelled: key.misspelled.clone(),
            served_from: key.served_from.as_str(),
            likely: key.likely.map(ServedFrom::as_str),
            limit: key.limit.as_str(),
            rejected: key.rejected,
            reason: key.reason,
            certainty: certainty.as_str(),
            explanation: summary
                .verdict
                .map_or("Request shapes beyond the limit per client.", |v| v.reason.sentence()),
            advice,
            ignored_parameters,
            kube_version: self.texts.version(key.kube_version),
            products,
            requests,
            etcd_writes: load.etcd_writes,
            load: self.loads.to_v1(load),
            events: row.events,
            long_running: summary.long_running,
            latency,
            histogram,
            rate,
            first_timestamp: row.span.map(|span| v1::Timestamp(span.0)),
            last_timestamp: row.span.map(|span| v1::Timestamp(span.1)),
            statuses,
            observed,
            priority_and_fairness: flows,
            items: items(item_counts),
            pattern: pattern.as_deref().and_then(patterns::pattern),
            cost,
            example: examples.next(),
            more_examples: examples.collect(),
        })
    }

    pub(super) fn example(&self, exemplar: &Exemplar) -> v1::Example {
        v1::Example {
            request_uri: exemplar.shown_uri(),
            file: self.texts.file(exemplar.place.source),
            line: exemplar.place.line,
            audit_id: masked(exemplar.audit_id()).into(),
            timestamp: exemplar.received.map(v1::Timestamp),
            duration_micros: exemplar.micros,
            status: exemplar.status,
        }
    }
}

/// The sums over the rows of a shape.
#[derive(Default)]
struct ShapeSums {
    requests: u64,
    open: u64,
    row: Box<Row>,
    times: RequestsOverTime,
    products: Vec<String>,
    pattern: Option<Box<Pattern>>,
    costs: cost::Costs,
    load: RequestLoad,
}

impl ShapeSums {
    /// Sums the rows of a shape; each row is for one product. If events with the same audit ID have two products,
    /// they count as one request of each product.
    fn from_rows(key: &ShapeKey, summary: &mut ShapeSummary, measure: Measure) -> Self {
        let mut sums = Self::default();
        let mut rows = std::mem::take(&mut summary.rows);
        for one in &mut rows {
            sums.load.add(measure.load(key, summary, &one.row, one.cost.as_deref()));
            sums.requests += one.row.requests(measure.received_only);
            sums.open += one.row.open();
            sums.times.add(&RequestsOverTime::new(one.row.take_times(measure.received_only)));
            sums.products.push(std::mem::take(&mut one.product));
        }
        // Most shapes have one product. `reduce` needs no merge for these.
        let merged = rows.into_iter().reduce(|mut all, other| {
            all.merge(other);
            all
        });
        let Some(ProductRow { row, pattern, cost, minutes, .. }) = merged else { return sums };
        let minutes = minutes.map(|minutes| *minutes).unwrap_or_default();
        Self { row, pattern, costs: cost::Costs { sum: cost.map(|cost| *cost), minutes }, ..sums }
    }
}
