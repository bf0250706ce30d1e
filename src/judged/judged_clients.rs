//! Computes the verdict of each row of the ledger, and groups the rows by client and shape.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use compact_str::CompactString;
use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::agreement::{Agreement, compare};
use super::client_summary::ClientSummary;
use super::load::{LoadUnit, Measure, RequestLoad};
use super::pagination::Pagination;
use super::shape_key::ShapeKey;
use super::shape_summary::{ProductRow, ShapeSummary};
use super::{etcd, impersonation};
use crate::apiserver::judge::served_against_model;
use crate::apiserver::request_shape::is_long_running;
use crate::apiserver::{Certainty, RequestShape, Server, Verdict, certainty_within, judge};
use crate::cost::{Cost, CostByMinute, Inventory, Prices, Work, reads_several_pages};
use crate::k8s::Scope;
use crate::ledger::etcd::SlowRange;
use crate::ledger::instance_histories::shape_hash_of;
use crate::ledger::{Client, ClientKey, ClientProduct, Clients, Merge, NamespaceWeights, ProductRows, Row};
use crate::patterns::{AllFollowed, ClientPatterns, ListInterval, Patterns, Running};
use crate::requests::{RowKey, stable_hash};
use crate::version::Doubt;

/// The name of the overflow row for products.
const OTHER_PRODUCTS: &str = "(other products)";

/// All clients, with the verdicts on their requests.
#[derive(Debug)]
pub struct JudgedClients {
    /// The clients, in no particular order.
    pub clients: Vec<ClientSummary>,
    /// The server's configuration, with the best estimate of its version.
    pub(crate) server: Server,
    pub(crate) version: Doubt,
    /// True if the log contains only RequestReceived events.
    pub(crate) received_only: bool,
    /// The namespaced resources: those with at least one request that has a namespace in its path.
    pub(crate) namespaced: BTreeSet<String>,
    /// Slow reads in etcd's log, matched to the clients' LISTs. Empty without such a log.
    pub(crate) slow_reads: etcd::MatchedSlowReads,
    /// How many instances and requests the patterns cover, by kind of request.
    pub(crate) followed: AllFollowed,
    /// The number of nodes in the log: the largest number of nodes that one client ran on.
    pub(crate) nodes: u64,
    /// The number of nodes in the cluster: from the inventory, or else from the log.
    pub(crate) cluster_nodes: u64,
    pub(crate) measure: Measure,
}

struct VerdictInputs<'a> {
    /// The server for each version index.
    servers: &'a [Server],
    /// The versions that the server may have.
    version: Doubt,
    prices: Option<Prices<'a>>,
    /// For each namespace, the number of its objects whose names are in the log.
    namespaces: NamespaceWeights,
    /// Cached verdicts by request shape, because many clients send equal requests.
    verdicts_by_shape: Mutex<HashMap<Arc<RequestShape<CompactString>>, Vec<CachedVerdict>, FxBuildHasher>>,
}

/// The version index and the status, and the verdict for both.
type CachedVerdict = (u8, Option<u16>, KeyedVerdict);

/// Verdicts are cached for at most this many request shapes.
const MAX_CACHED_SHAPES: usize = 4_096;

/// The verdict on a request shape, and the key under which reports show it.
#[derive(Debug, Clone)]
struct KeyedVerdict {
    key: Arc<ShapeKey>,
    verdict: Verdict,
    certainty: Certainty,
    /// True if the server served a request that the model refuses.
    against_model: bool,
}

impl VerdictInputs<'_> {
    fn keyed_verdict(&self, row_key: &RowKey, status: Option<u16>) -> KeyedVerdict {
        let version_index = row_key.version_index;
        let cache = || self.verdicts_by_shape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = cache().get(&row_key.shape)
            && let Some((.., verdict_and_key)) =
                cached.iter().find(|cached| (cached.0, cached.1) == (version_index, status))
        {
            return verdict_and_key.clone();
        }
        let (server, shape) = (&self.servers[usize::from(version_index)], row_key.shape.as_borrowed());
        let verdict = judge(server, &shape, status);
        let verdict_and_key = KeyedVerdict {
            key: Arc::new(ShapeKey::new(&row_key.shape, verdict, server.version)),
            verdict,
            certainty: certainty_within(self.version.possible_in(version_index), server, &shape, status),
            against_model: served_against_model(server, &shape, status),
        };
        let mut cache = cache();
        if cache.len() < MAX_CACHED_SHAPES {
            cache.entry(Arc::clone(&row_key.shape)).or_default().push((
                version_index,
                status,
                verdict_and_key.clone(),
            ));
        }
        verdict_and_key
    }
}

impl JudgedClients {
    /// Computes the verdict of each row, and its cost if there is an inventory. `servers` has a server for each version index.
    #[must_use]
    pub fn new(
        clients: Clients,
        mut patterns: Patterns,
        servers: &[Server],
        base: &Server,
        version: Doubt,
        received_only: bool,
        inventory: Option<(&Inventory, NamespaceWeights)>,
    ) -> Self {
        let (separate, overflow) = clients.into_parts();
        let nodes = separate.iter().map(|(_, client)| client.nodes.count().0).max().unwrap_or(0);
        let unit = if inventory.is_some() { LoadUnit::Objects } else { LoadUnit::RequestMicros };
        let (inventory, namespaces) = inventory.unzip();
        let inputs = VerdictInputs {
            servers,
            namespaces: namespaces.unwrap_or_default(),
            version: version.clone(),
            prices: inventory.map(|inventory| Prices { inventory, nodes_in_log: nodes }),
            verdicts_by_shape: Mutex::default(),
        };
        let mut judged = Self {
            clients: Vec::new(),
            server: base.clone(),
            version,
            received_only,
            namespaced: BTreeSet::new(),
            slow_reads: etcd::MatchedSlowReads::default(),
            followed: patterns.followed,
            nodes,
            cluster_nodes: inputs.prices.and_then(|prices| prices.nodes()).map_or(nodes, |nodes| nodes.count),
            measure: Measure { unit, received_only },
        };
        let separate = separate.into_iter().map(|(key, client)| {
            let client_patterns = patterns.take(stable_hash(&key));
            (Some(key), client, client_patterns)
        });
        let overflow = overflow.map(|client| (None, client, ClientPatterns::default()));
        let all: Vec<(Option<ClientKey>, Client, ClientPatterns)> = separate.chain(overflow).collect();
        let summaries = all.into_par_iter().map(|(key, client, mut client_patterns)| {
            let hash = key.as_ref().map(stable_hash);
            let lists = |product, shape_hash| {
                hash.map(|client| patterns.lists_of((client, product, shape_hash)).collect())
            };
            let running = |product| hash.map_or(Running::On, |client| patterns.running(client, product));
            let kubelets = hash.map_or(&[][..], |client| patterns.nodes(client)).to_vec();
            let summary = judged.client_summary(key, client, &mut client_patterns, &lists, &running, &inputs);
            ClientSummary { kubelets, ..summary }
        });
        let mut summaries: Vec<ClientSummary> = summaries.collect();
        impersonation::match_events(&mut summaries);
        summaries.retain(|client| !client.shapes.is_empty());
        judged.clients = summaries;
        for key in judged.clients.iter().flat_map(|client| client.shapes.keys()) {
            if let (Some(Scope::Namespace), Some(resource)) = (key.scope, &key.resource)
                && !judged.namespaced.contains(&**resource)
            {
                judged.namespaced.insert(resource.to_string());
            }
        }
        judged
    }

    pub(crate) fn match_slow_reads<'a>(&mut self, ranges: impl Iterator<Item = &'a SlowRange>) {
        self.slow_reads = etcd::match_slow_reads(&mut self.clients, ranges);
    }

    pub(crate) fn requests_of(&self, shape_summary: &ShapeSummary) -> u64 {
        shape_summary.rows.iter().map(|product_row| self.requests(&product_row.row)).sum()
    }

    pub(crate) fn requests(&self, row: &Row) -> u64 {
        row.requests(self.received_only)
    }

    pub(crate) fn load_of(&self, client: &ClientSummary) -> RequestLoad {
        let rows =
            client.shapes.iter().flat_map(|(key, shape)| shape.rows.iter().map(move |row| (key, shape, row)));
        rows.map(|(key, shape, one)| self.measure.load(key, shape, &one.row, one.cost.as_deref())).sum()
    }

    fn client_summary(
        &self,
        key: Option<ClientKey>,
        client: Client,
        client_patterns: &mut ClientPatterns,
        lists_of: &dyn Fn(u64, u32) -> Option<Vec<ListInterval>>,
        running: &dyn Fn(u64) -> Running,
        inputs: &VerdictInputs<'_>,
    ) -> ClientSummary {
        let mut summary = ClientSummary {
            key,
            nodes: client.nodes,
            kubelets: Vec::new(),
            pods: client.pods,
            workloads: client.workloads,
            namespaces: client.namespaces,
            agents: BTreeMap::new(),
            shapes: BTreeMap::new(),
        };
        let (products, other_products) = client.products.into_parts();
        let mut products: Vec<(Box<str>, ClientProduct)> = products;
        products.extend(other_products.map(|product| (OTHER_PRODUCTS.into(), product)));
        for (name, product) in products {
            summary.add_agent(&name, &product.example, running(stable_hash(&*name)));
            // Rows that differ only in the response class share one pattern. The pattern is reported at the row with
            // the most requests.
            let ProductRows { rows, overflow } = ProductRows::from_product(product, self.received_only);
            let rows = rows.into_iter().map(|(row_key, row)| (Some(row_key), row));
            let product = stable_hash(&*name);
            // A duplicate event with different details can create a separate row. Such a row has no counted events,
            // so drop it.
            let counted = |(_, row): &(Option<RowKey>, Box<Row>)| row.events > 0;
            let rows =
                rows.chain(overflow.map(|row| (None, row))).filter(counted).map(|(row_key, mut row)| {
                    row.settle();
                    let shape_hash = row_key.as_ref().map(|row_key| shape_hash_of(&row_key.shape));
                    let pattern = shape_hash.and_then(|shape_hash| client_patterns.take(product, shape_hash));
                    let lists = match (&pattern, shape_hash) {
                        (Some(_), Some(shape_hash)) => lists_of(product, shape_hash).unwrap_or_default(),
                        _ => Vec::new(),
                    };
                    let product_row = ProductRow {
                        product: String::from(&*name),
                        row,
                        agreement: Agreement::default(),
                        pattern,
                        lists,
                        slow_reads: Box::default(),
                        cost: None,
                        minutes: None,
                    };
                    (row_key, product_row)
                });
            let rows: Vec<(Option<RowKey>, ProductRow)> = rows.collect();
            // Page counts are needed only for costs, and without an inventory kubetoll computes no costs.
            let priced = rows.iter().filter(|_| inputs.prices.is_some());
            let pagination = Pagination::new(priced.filter_map(|(row_key, product_row)| {
                let served = self.measure.served(&product_row.row);
                Some((row_key.as_ref()?, product_row, served))
            }));
            for (row_key, product_row) in rows {
                self.add_row(&mut summary.shapes, row_key, product_row, inputs, &pagination);
            }
        }
        summary
    }

    /// Adds a row to the summary of its shape. A `row_key` of `None` is the overflow row.
    fn add_row(
        &self,
        shapes: &mut BTreeMap<Arc<ShapeKey>, ShapeSummary>,
        row_key: Option<RowKey>,
        mut product_row: ProductRow,
        inputs: &VerdictInputs<'_>,
        pagination: &Pagination,
    ) {
        let (row, requests) = (&product_row.row, self.requests(&product_row.row));
        let (key, shape_summary, agreement) = if let Some(row_key) = row_key {
            self.shape_summary(inputs, row_key, row, requests, pagination)
        } else {
            let work = inputs.prices.map(|_| Box::new(Work::UNKNOWN));
            let agreement = Agreement { measured: row.rare().observed.measured(), ..Agreement::default() };
            let key = Arc::new(ShapeKey::folded(self.server.version));
            (key, ShapeSummary { work, ..ShapeSummary::folded() }, agreement)
        };
        if !shape_summary.may_read_collection(&key) {
            product_row.lists = Vec::new();
        }
        let work = shape_summary.work.clone();
        if let (Some(pattern), Some(work)) = (&mut product_row.pattern, &work) {
            pattern.herds.set_cost(work.list_cost());
        }
        if let Some(work) = &work {
            self.price(&mut product_row, work);
        }
        product_row.agreement = agreement;
        let (certainty, long_running) = (shape_summary.certainty, shape_summary.long_running);
        let own = shapes.entry(key).or_insert(shape_summary);
        // Refused requests are not long-running. But a shape with refused requests can also have long-running
        // requests.
        own.long_running |= long_running;
        own.agreement.merge(agreement);
        own.certainty = own.certainty.max(certainty);
        own.work = own.work.take().max(work);
        match own.rows.binary_search_by(|own| own.product.cmp(&product_row.product)) {
            Ok(at) => own.rows[at].merge(product_row),
            Err(at) => {
                own.rows.reserve_exact(1);
                own.rows.insert(at, product_row);
            }
        }
    }

    /// Sets the cost of a row. A request with a 4xx status costs nothing here, because it did not read a collection.
    /// A request with a 5xx status may have read from etcd, but the server sent no objects.
    fn price(&self, product_row: &mut ProductRow, work: &Work) {
        let failed = product_row.row.statuses.count(|status| status / 100 == 5);
        let served = self.measure.served(&product_row.row);
        let mut cost = Cost::new(work, served);
        cost.merge(Cost::new(&work.failed(), failed));
        product_row.cost = Some(Box::new(cost));
        let (served_at, failed_at) = product_row.row.served_and_failed_times(self.received_only);
        let mut minutes = CostByMinute::default();
        minutes.add(&served_at, served, work);
        minutes.add(&failed_at, failed, &work.failed());
        product_row.minutes = (!minutes.is_empty()).then(|| Box::new(minutes));
    }

    fn shape_summary(
        &self,
        inputs: &VerdictInputs<'_>,
        row_key: RowKey,
        row: &Row,
        requests: u64,
        pagination: &Pagination,
    ) -> (Arc<ShapeKey>, ShapeSummary, Agreement) {
        let server = &inputs.servers[usize::from(row_key.version_index)];
        let shape = row_key.shape.as_borrowed();
        // RequestReceived events have no response.
        let status = row_key.status_class.status().filter(|_| !self.received_only);
        let KeyedVerdict { key, verdict, certainty, against_model } = inputs.keyed_verdict(&row_key, status);
        let mut agreement = compare(shape.verb, verdict, server.version, &row.rare().observed);
        if against_model {
            agreement.contradict += requests;
        }
        let work = inputs.prices.map(|prices| {
            let resource = key.resource.as_deref().unwrap_or_default();
            let part = inputs.namespaces.part(&row_key.shape, &row.targets);
            let work = prices.work_in(server, &shape, verdict, resource, part);
            let pages =
                pagination.pages_of(&row_key).filter(|_| reads_several_pages(&shape.options, &verdict));
            Box::new(pages.map_or(work, |(lists, pages)| work.as_page(lists, pages)))
        });
        let shape_summary = ShapeSummary {
            verdict: Some(verdict),
            certainty: (requests > 0, certainty),
            // A refused request never becomes long-running: its duration is work and not a lifetime.
            long_running: is_long_running(&shape) && status.is_none_or(|status| status / 100 != 4),
            agreement: Agreement::default(),
            work,
            rows: Vec::new(),
            request_shape: Some(row_key.shape),
        };
        (key, shape_summary, agreement)
    }
}
