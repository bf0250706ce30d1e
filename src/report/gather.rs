//! Rows of the ledger, judged and gathered into clients and shapes of the report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::build::{Context, file_name};
use super::evidence::compare;
use super::server_log::{flows, items};
use super::sums::{Sums, distinct, histogram, latency, one, rate, statuses, sum_observed};
use super::{advice, shape, v1};
use crate::apiserver::asked::is_long_running;
use crate::apiserver::judge::served_against_model;
use crate::apiserver::{Certainty, LimitVerdict, ServedFrom, Server, Verdict, certainty, judge};
use crate::classify::Shape;
use crate::k8s::identity::service_account;
use crate::k8s::{KubeVersion, Verb, timestamp};
use crate::ledger::{self, Client, Merge, Observed, Product, Row, Timeline, exemplar};

/// The name of everything beyond the number of clients that are told apart.
const OTHER_CLIENTS: &str = "(other clients)";
/// The name of everything beyond the number of products that are told apart.
const OTHER_PRODUCTS: &str = "(other products)";

/// What shapes of a client are one in the report: they look the same and get the same verdict.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShapeKey {
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
pub(super) struct Gathered {
    verdict: Option<Verdict>,
    /// Of all rows that hold requests the least certain, or of all rows if none does: a total order, as rows come
    /// in none.
    certainty: (bool, Certainty),
    long_running: bool,
    observed: v1::Observed,
    /// By product.
    rows: BTreeMap<String, Row>,
}

pub(super) struct Builder<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) received_only: bool,
    pub(super) servers: Vec<Server>,
}

impl Builder<'_> {
    pub(super) fn client(
        &self,
        key: Option<ledger::ClientKey>,
        client: Client,
        all: &mut Sums,
    ) -> v1::Client {
        let mut shapes: BTreeMap<ShapeKey, Gathered> = BTreeMap::new();
        let mut examples = BTreeMap::new();
        let (products, other_products) = client.products.into_parts();
        let mut products: Vec<(Box<str>, Product)> = products;
        products.extend(other_products.map(|product| (OTHER_PRODUCTS.into(), product)));
        for (name, product) in products {
            examples.insert(String::from(name.clone()), product.example.to_string());
            let (rows, other_rows) = product.rows.into_parts();
            let rows = rows.into_iter().map(|(shape, row)| (Some(shape), row));
            // A copy of an event that was counted elsewhere makes a row of its own where it differs in its details.
            let counted = |(_, row): &(Option<Shape>, Row)| row.events > 0;
            for (shape, row) in rows.chain(other_rows.map(|row| (None, row))).filter(counted) {
                self.gather(&mut shapes, shape.as_ref(), &name, row);
            }
        }
        let mut by_product: BTreeMap<&str, u64> = BTreeMap::new();
        for (product, row) in shapes.values().flat_map(|gathered| &gathered.rows) {
            *by_product.entry(product).or_default() += row.requests(self.received_only);
        }
        let mut user_agents: Vec<v1::UserAgent> = examples
            .into_iter()
            .map(|(product, example)| {
                let requests = by_product.get(&*product).copied().unwrap_or(0);
                v1::UserAgent { product, example, requests }
            })
            .collect();
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
            Some(key) => (identity(&key), key.kind.as_str(), key.impersonator.map(String::from)),
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
        let (gathered, observed) = gathered;
        let certainty = gathered.certainty;
        let own = shapes.entry(key).or_insert(gathered);
        own.observed = sum_observed(own.observed, observed);
        own.certainty = own.certainty.max(certainty);
        own.rows.entry(product.to_owned()).or_default().merge(row);
    }

    fn judged(
        &self,
        shape: &Shape,
        observed: &Observed,
        requests: u64,
    ) -> (ShapeKey, (Gathered, v1::Observed)) {
        let server = &self.servers[usize::from(shape.era)];
        let asked = shape.asked.as_borrowed();
        // Arrivals alone tell nothing of an answer.
        let status = shape.answer.status().filter(|_| !self.received_only);
        let verdict = judge(server, &asked, status);
        let mut fit = compare(asked.verb, &verdict, server.version, observed);
        if served_against_model(server, &asked, status) {
            fit.contradict += requests;
        }
        let key = ShapeKey {
            verb: Some(asked.verb),
            resource: Some(shape::resource(&shape.asked.target)),
            subresource: shape::subresource(&shape.asked.target),
            scope: shape::scope(&shape.asked.target).map(crate::k8s::Scope::as_str),
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
            certainty: (requests > 0, certainty(server, &asked, status)),
            long_running: is_long_running(&asked),
            observed: v1::Observed::default(),
            rows: BTreeMap::new(),
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
        // A request that two products share by its ID is one of each.
        let (mut requests, mut open) = (0, 0);
        let (mut row, mut timeline, mut products) = (Row::default(), Timeline::default(), Vec::new());
        for (product, own) in gathered.rows {
            requests += own.requests(self.received_only);
            open += own.open();
            timeline.merge(own.whole_timeline());
            products.push(product);
            row.merge(own);
        }
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
        let mut part = Sums { counts, timeline: timeline.clone(), span: row.span, open, ..Sums::default() };
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
        let ignored_parameters: Vec<String> =
            row.unknown_keys.iter().map(std::string::ToString::to_string).collect();
        let mut examples = row.exemplars.as_slice().iter().map(|exemplar| self.example(exemplar));
        let advice = advice::misspelt(&ignored_parameters, &key.misspelt).or_else(|| {
            let server = Server { version: key.kube_version, ..self.context.server.clone() };
            gathered.verdict.and_then(|verdict| advice::advice(verdict.reason, key.verb?, &server))
        });
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
            certainty: gathered.certainty.1.as_str().to_owned(),
            explanation: gathered
                .verdict
                .map_or("Shapes beyond the number that is told apart per client.", |v| v.reason.sentence())
                .to_owned(),
            advice,
            ignored_parameters,
            kube_version: key.kube_version.to_string(),
            products,
            requests,
            events: row.events,
            long_running: gathered.long_running,
            latency: latency(&row.latency),
            histogram: histogram(&row.latency),
            rate: rate(&timeline),
            first_timestamp: row.span.map(|span| timestamp::format_micros(span.0)),
            last_timestamp: row.span.map(|span| timestamp::format_micros(span.1)),
            statuses: statuses(&row, requests),
            observed: gathered.observed,
            priority_and_fairness: flows(row.flows.as_deref()),
            items: items(row.items),
            example: examples.next(),
            more_examples: examples.collect(),
        }
    }

    fn example(&self, exemplar: &exemplar::Exemplar) -> v1::Example {
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

/// A client in words: without a user, by its product and where it comes from.
fn identity(key: &ledger::ClientKey) -> String {
    match key.address {
        Some(address) => format!("{} ({address} address)", key.identity),
        None => key.identity.to_string(),
    }
}

impl Gathered {
    fn folded(observed: &Observed) -> (Self, v1::Observed) {
        let gathered = Self {
            verdict: None,
            certainty: (false, Certainty::Certain),
            long_running: false,
            observed: v1::Observed::default(),
            rows: BTreeMap::new(),
        };
        let fit = v1::Observed { measured: observed.measured(), ..v1::Observed::default() };
        (gathered, fit)
    }
}
