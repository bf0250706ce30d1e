//! Accounts in the form of the report: clients, their shapes and their sums.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::build::{Context, file_name};
use super::minutes::Minutes;
use super::server_log::{flows, items};
use super::sums::{Sums, distinct, histogram, latency, observed, one, rate, statuses};
use super::{advice, cost, patterns, v1};
use crate::accounts::{Account, Entry, ProductRow, ShapeKey};
use crate::apiserver::{LimitVerdict, Server};
use crate::cost::{Known, Part};
use crate::k8s::{Verb, timestamp};
use crate::ledger::{Load, Merge, Row, Timeline, exemplar};
use crate::patterns::Pattern;

pub(super) struct Builder<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) received_only: bool,
    pub(super) priced: cost::Priced<'a>,
}

impl Builder<'_> {
    pub(super) fn client(&self, account: Account, all: &mut Sums) -> v1::Client {
        let (identity, kind) = (account.identity(), account.kind());
        let impersonated_by = account.impersonated_by().map(str::to_owned);
        let service_account = account
            .service_account()
            .map(|(namespace, name)| v1::ServiceAccount { namespace: namespace.into(), name: name.into() });
        let mut by_product: BTreeMap<&str, u64> = BTreeMap::new();
        for one in account.entries.values().flat_map(|entry| &entry.rows) {
            *by_product.entry(&one.product).or_default() += one.row.requests(self.received_only);
        }
        let mut user_agents: Vec<v1::UserAgent> = account
            .agents
            .into_iter()
            .map(|(product, (example, _))| {
                let requests = by_product.get(&*product).copied().unwrap_or(0);
                v1::UserAgent { product, example, requests }
            })
            .collect();
        user_agents.sort_by(|a, b| (Reverse(a.requests), &a.product).cmp(&(Reverse(b.requests), &b.product)));
        let mut sums = Sums { costs: cost::Costs::none(self.context.inventory), ..Sums::default() };
        let mut minutes = Minutes::default();
        let shape = |(key, entry)| self.shape(key, entry, &mut sums, &mut minutes);
        let mut shapes: Vec<v1::Shape> = account.entries.into_iter().map(shape).collect();
        shapes.sort_by_cached_key(|shape| {
            let micros =
                shape.latency.filter(|_| !shape.long_running).map_or(0, |latency| latency.sum_micros);
            let etcd = shape.served_from == "etcd" || shape.likely.as_deref() == Some("etcd");
            let ignored = shape.limit == "ignored" && shape.verb == "list";
            let latency =
                [if etcd { micros } else { 0 }, if ignored { shape.requests } else { 0 }, 0, shape.requests];
            cost::rank(&shape.cost, latency, self.priced)
        });
        all.add(&sums);
        v1::Client {
            identity,
            kind: kind.to_owned(),
            service_account,
            impersonated_by,
            user_agents,
            nodes: distinct(&account.nodes),
            pods: distinct(&account.pods),
            cost: sums.costs.told(self.priced),
            latency: latency(&sums.latency),
            rate: rate(&sums.timeline, &sums.load),
            first_timestamp: sums.span.map(|span| timestamp::format_micros(span.0)),
            last_timestamp: sums.span.map(|span| timestamp::format_micros(span.1)),
            counts: sums.counts,
            shapes,
            timelines: minutes.tell(),
        }
    }

    fn shape(&self, key: ShapeKey, mut entry: Entry, sums: &mut Sums, minutes: &mut Minutes) -> v1::Shape {
        let (observed, certainty) = (observed(entry.fit), entry.certainty());
        let added = Added::of(std::mem::take(&mut entry.rows), self.received_only);
        let Added { requests, open, row, timeline, load, products, pattern, costs } = added;
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
            observed,
        };
        let part = Part {
            requests,
            work: entry.work.as_deref(),
            cost: costs.sum.as_ref(),
            items: row.items,
            page_limit: entry.page_limit(),
        };
        let cost = cost::known(&Known::of(std::iter::once(part)), self.priced);
        let mut part = Sums {
            counts,
            timeline: timeline.clone(),
            load: load.clone(),
            span: row.span,
            open,
            costs,
            ..Sums::default()
        };
        if !entry.long_running {
            part.latency = row.latency.clone();
        }
        if key.is_from_etcd() {
            match key.verb {
                Some(Verb::List) => part.counts.etcd_lists = requests,
                Some(Verb::Get) => part.counts.etcd_gets = requests,
                _ => {}
            }
            part.counts.etcd_micros = part.latency.sum();
        }
        sums.add(&part);
        minutes.add(&key, requests, &timeline);
        let ignored_parameters: Vec<String> =
            row.unknown_keys.iter().map(std::string::ToString::to_string).collect();
        let mut examples = row.exemplars.as_slice().iter().map(|exemplar| self.example(exemplar));
        let advice = advice::misspelt(&ignored_parameters, &key.misspelt).or_else(|| {
            let server = Server { version: key.kube_version, ..self.context.server.clone() };
            entry.verdict.and_then(|verdict| advice::advice(verdict.reason, key.verb?, &server))
        });
        v1::Shape {
            verb: key.verb.map_or("other", Verb::as_str).to_owned(),
            resource: key.resource,
            subresource: key.subresource,
            scope: key.scope.map(|scope| scope.as_str().to_owned()),
            parameters: key.parameters,
            misspelt: key.misspelt,
            served_from: key.served_from.as_str().to_owned(),
            likely: key.likely.map(|likely| likely.as_str().to_owned()),
            limit: key.limit.as_str().to_owned(),
            rejected: key.rejected,
            reason: key.reason.to_owned(),
            certainty: certainty.as_str().to_owned(),
            explanation: entry
                .verdict
                .map_or("Shapes beyond the number that is told apart per client.", |v| v.reason.sentence())
                .to_owned(),
            advice,
            ignored_parameters,
            kube_version: key.kube_version.to_string(),
            products,
            requests,
            events: row.events,
            long_running: entry.long_running,
            latency: latency(&row.latency),
            histogram: histogram(&row.latency),
            rate: rate(&timeline, &load),
            first_timestamp: row.span.map(|span| timestamp::format_micros(span.0)),
            last_timestamp: row.span.map(|span| timestamp::format_micros(span.1)),
            statuses: statuses(&row, requests),
            observed,
            priority_and_fairness: flows(row.flows.as_deref()),
            items: items(row.items),
            pattern: patterns::pattern(&pattern),
            cost,
            example: examples.next(),
            more_examples: examples.collect(),
        }
    }

    pub(super) fn example(&self, exemplar: &exemplar::Exemplar) -> v1::Example {
        v1::Example {
            request_uri: exemplar.uri.to_string(),
            file: file_name(&self.context.sources.list, exemplar.place.source),
            line: exemplar.place.line,
            audit_id: exemplar.audit_id.to_string(),
            timestamp: exemplar.received.map(timestamp::format_micros),
            duration_micros: exemplar.micros,
            status: exemplar.status,
        }
    }
}

/// The rows of a shape, added.
#[derive(Default)]
struct Added {
    requests: u64,
    open: u64,
    row: Row,
    timeline: Timeline,
    load: Load,
    products: Vec<String>,
    pattern: Pattern,
    costs: cost::Costs,
}

impl Added {
    /// A request that two products share by its ID is one of each.
    fn of(rows: Vec<ProductRow>, received_only: bool) -> Self {
        let mut added = Self::default();
        for ProductRow { product, row, pattern, cost, minutes, .. } in rows {
            if let Some(pattern) = pattern {
                added.pattern.merge(*pattern);
            }
            if let Some(cost) = cost {
                added.costs.sum.get_or_insert_default().merge(*cost);
            }
            if let Some(minutes) = minutes {
                added.costs.minutes.merge(*minutes);
            }
            added.requests += row.requests(received_only);
            added.open += row.open();
            let times = row.times(received_only);
            added.load.add_all(&times);
            added.timeline.merge(times);
            added.products.push(product);
            added.row.merge(row);
        }
        added
    }
}
