//! The ledger's rows with their verdicts, gathered per client: what rules judge and the report tells.

mod agreement;
mod client_summary;
pub mod etcd;
mod impersonation;
mod key;
mod load;
mod pagination;
mod shape_summary;
pub(crate) mod shape_text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use compact_str::CompactString;
use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

pub use agreement::{Agreement, compare};
pub use client_summary::{Agent, ClientSummary, Job};
pub use key::ShapeKey;
pub use load::{Load, LoadUnit, Measure};
use pagination::Pagination;
pub use shape_summary::{ProductRow, ShapeSummary};

use crate::apiserver::judge::served_against_model;
use crate::apiserver::request_shape::is_long_running;
use crate::apiserver::{Certainty, RequestShape, Server, Verdict, certainty_within, judge};
use crate::cost::{Cost, Inventory, Minutes, Prices, Work, reads_on};
use crate::k8s::Scope;
use crate::ledger::lives::ask_of;
use crate::ledger::{Client, ClientKey, Clients, Merge, NamespaceWeights, Product, ProductRows, Row};
use crate::patterns::{AllFollowed, Listed, OfClient, Patterns, Running};
use crate::requests::{RowKey, stable_hash};
use crate::version::Doubt;

/// The name of everything beyond the number of products that are told apart.
const OTHER_PRODUCTS: &str = "(other products)";

/// All clients.
#[derive(Debug)]
pub struct JudgedClients {
    /// The clients, in no order.
    pub clients: Vec<ClientSummary>,
    /// The server's configuration; its version is that of the current version index.
    pub server: Server,
    /// How far the version is known.
    pub version: Doubt,
    /// The log holds arrivals only.
    pub received_only: bool,
    /// Resources that a request's path puts into a namespace.
    pub namespaced: BTreeSet<String>,
    /// What etcd's own log says of the clients' LISTs; empty without one.
    pub slow_reads: etcd::Matched,
    /// How much patterns are made of.
    pub followed: AllFollowed,
    /// Nodes that the log shows: the most of one client.
    pub nodes: u64,
    /// Nodes of the cluster: those of the inventory, or those that the log shows.
    pub cluster_nodes: u64,
    /// How load is measured.
    pub measure: Measure,
}

/// What requests are judged and priced by.
struct Measures<'a> {
    /// One server for each version index that rows name.
    servers: &'a [Server],
    /// The releases that the log leaves possible.
    version: Doubt,
    prices: Option<Prices<'a>>,
    /// How many objects of each namespace the log names.
    namespaces: NamespaceWeights,
    /// Judgments of what was asked, by version index and status: many clients ask alike.
    known: Mutex<HashMap<Arc<RequestShape<CompactString>>, Vec<Known>, FxBuildHasher>>,
}

/// A judgment, and its version index and status.
type Known = (u8, Option<u16>, Judgment);

/// How many different questions' judgments are remembered; of more, each is judged.
const REMEMBERED: usize = 4_096;

/// What the model says of a request, and the name that this gives to its shape.
#[derive(Debug, Clone)]
struct Judgment {
    key: Arc<ShapeKey>,
    verdict: Verdict,
    certainty: Certainty,
    /// The server served what the model refuses.
    against_model: bool,
}

impl Measures<'_> {
    fn judgment(&self, shape: &RowKey, status: Option<u16>) -> Judgment {
        let version_index = shape.version_index;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&shape.asked)
            && let Some((.., judgment)) =
                known.iter().find(|known| (known.0, known.1) == (version_index, status))
        {
            return judgment.clone();
        }
        let (server, asked) = (&self.servers[usize::from(version_index)], shape.asked.as_borrowed());
        let verdict = judge(server, &asked, status);
        let judgment = Judgment {
            key: Arc::new(ShapeKey::of(&shape.asked, verdict, server.version)),
            verdict,
            certainty: certainty_within(self.version.possible_in(version_index), server, &asked, status),
            against_model: served_against_model(server, &asked, status),
        };
        let mut known = known();
        if known.len() < REMEMBERED {
            known.entry(Arc::clone(&shape.asked)).or_default().push((
                version_index,
                status,
                judgment.clone(),
            ));
        }
        judgment
    }
}

impl JudgedClients {
    /// Judges each row, and prices it where there is an inventory. `servers` holds one server for each version index.
    #[must_use]
    pub fn open(
        clients: Clients,
        mut patterns: Patterns,
        servers: &[Server],
        base: &Server,
        version: Doubt,
        received_only: bool,
        inventory: Option<(&Inventory, NamespaceWeights)>,
    ) -> Self {
        let (known, rest) = clients.into_parts();
        let nodes = known.iter().map(|(_, client)| client.nodes.count().0).max().unwrap_or(0);
        let unit = if inventory.is_some() { LoadUnit::Objects } else { LoadUnit::RequestMicros };
        let (inventory, namespaces) = inventory.unzip();
        let measures = Measures {
            servers,
            namespaces: namespaces.unwrap_or_default(),
            version: version.clone(),
            prices: inventory.map(|inventory| Prices { inventory, nodes_in_log: nodes }),
            known: Mutex::default(),
        };
        let mut accounts = Self {
            clients: Vec::new(),
            server: base.clone(),
            version,
            received_only,
            namespaced: BTreeSet::new(),
            slow_reads: etcd::Matched::default(),
            followed: patterns.followed,
            nodes,
            cluster_nodes: measures
                .prices
                .and_then(|prices| prices.nodes())
                .map_or(nodes, |nodes| nodes.count),
            measure: Measure { unit, received_only },
        };
        let known = known.into_iter().map(|(key, client)| {
            let shown = patterns.take(stable_hash(&key));
            (Some(key), client, shown)
        });
        let rest = rest.map(|client| (None, client, OfClient::default()));
        let all: Vec<(Option<ClientKey>, Client, OfClient)> = known.chain(rest).collect();
        let opened = all.into_par_iter().map(|(key, client, mut shown)| {
            let hash = key.as_ref().map(stable_hash);
            let lists = |product, ask| hash.map(|client| patterns.lists_of((client, product, ask)).collect());
            let running = |product| hash.map_or(Running::On, |client| patterns.running(client, product));
            let kubelets = hash.map_or(&[][..], |client| patterns.nodes(client)).to_vec();
            let opened = accounts.account(key, client, &mut shown, &lists, &running, &measures);
            ClientSummary { kubelets, ..opened }
        });
        let mut opened: Vec<ClientSummary> = opened.collect();
        impersonation::match_events(&mut opened);
        opened.retain(|account| !account.entries.is_empty());
        accounts.clients = opened;
        for key in accounts.clients.iter().flat_map(|account| account.entries.keys()) {
            if let (Some(Scope::Namespace), Some(resource)) = (key.scope, &key.resource)
                && !accounts.namespaced.contains(&**resource)
            {
                accounts.namespaced.insert(resource.to_string());
            }
        }
        accounts
    }

    /// The requests of an entry.
    #[must_use]
    pub fn requests_of(&self, entry: &ShapeSummary) -> u64 {
        entry.rows.iter().map(|one| self.requests(&one.row)).sum()
    }

    /// The requests of a row.
    #[must_use]
    pub fn requests(&self, row: &Row) -> u64 {
        row.requests(self.received_only)
    }

    /// The load of a client's requests.
    #[must_use]
    pub fn load_of(&self, account: &ClientSummary) -> Load {
        let mut load = Load::default();
        for (key, entry) in &account.entries {
            for one in &entry.rows {
                load.add(self.measure.load(key, entry, &one.row, one.cost.as_deref()));
            }
        }
        load
    }

    /// The requests of a row that were not refused (4xx), and that the server did not fail (5xx), as far as it is known.
    fn served(&self, row: &Row) -> u64 {
        load::served(row, self.received_only)
    }

    fn account(
        &self,
        key: Option<ClientKey>,
        client: Client,
        shown: &mut OfClient,
        lists_of: &dyn Fn(u64, u32) -> Option<Vec<Listed>>,
        running: &dyn Fn(u64) -> Running,
        measures: &Measures<'_>,
    ) -> ClientSummary {
        let mut account = ClientSummary {
            key,
            nodes: client.nodes,
            kubelets: Vec::new(),
            pods: client.pods,
            workloads: client.workloads,
            namespaces: client.namespaces,
            agents: BTreeMap::new(),
            entries: BTreeMap::new(),
        };
        let (products, other_products) = client.products.into_parts();
        let mut products: Vec<(Box<str>, Product)> = products;
        products.extend(other_products.map(|product| (OTHER_PRODUCTS.into(), product)));
        for (name, product) in products {
            account.add_agent(&name, &product.example, running(stable_hash(&*name)));
            // What is asked alike and answered differently shows one pattern: it is told at the row with most requests.
            let ProductRows { rows, overflow } = ProductRows::of(product, self.received_only);
            let rows = rows.into_iter().map(|(shape, row)| (Some(shape), row));
            let product = stable_hash(&*name);
            // A copy of an event that was counted elsewhere makes a row of its own where it differs in its details.
            let counted = |(_, row): &(Option<RowKey>, Box<Row>)| row.events > 0;
            let rows = rows.chain(overflow.map(|row| (None, row))).filter(counted).map(|(shape, mut row)| {
                row.settle();
                let ask = shape.as_ref().map(|shape| ask_of(&shape.asked));
                let pattern = ask.and_then(|ask| shown.take(product, ask));
                let lists = match (&pattern, ask) {
                    (Some(_), Some(ask)) => lists_of(product, ask).unwrap_or_default(),
                    _ => Vec::new(),
                };
                let one = ProductRow {
                    product: String::from(&*name),
                    row,
                    agreement: Agreement::default(),
                    pattern,
                    lists,
                    slow_reads: Box::default(),
                    cost: None,
                    minutes: None,
                };
                (shape, one)
            });
            if measures.prices.is_none() {
                // Pagination tell costs only.
                let pagination = Pagination::default();
                for (shape, one) in rows {
                    self.enter(&mut account.entries, shape, one, measures, &pagination);
                }
                continue;
            }
            let rows: Vec<(Option<RowKey>, ProductRow)> = rows.collect();
            let pagination = Pagination::of(rows.iter().filter_map(|(shape, one)| {
                let served = self.served(&one.row);
                Some((shape.as_ref()?, one, served))
            }));
            for (shape, one) in rows {
                self.enter(&mut account.entries, shape, one, measures, &pagination);
            }
        }
        account
    }

    /// Adds a row to the entry that it belongs to. `None` is what is beyond the number of shapes.
    fn enter(
        &self,
        entries: &mut BTreeMap<Arc<ShapeKey>, ShapeSummary>,
        shape: Option<RowKey>,
        mut one: ProductRow,
        measures: &Measures<'_>,
        pagination: &Pagination,
    ) {
        let (row, requests) = (&one.row, self.requests(&one.row));
        let (key, entry, agreement) = if let Some(shape) = shape {
            self.judged(measures, shape, row, requests, pagination)
        } else {
            let entry = ShapeSummary {
                work: measures.prices.map(|_| Box::new(Work::UNKNOWN)),
                ..ShapeSummary::folded()
            };
            let key = Arc::new(ShapeKey::folded(self.server.version));
            (key, entry, Agreement { measured: row.rare().observed.measured(), ..Agreement::default() })
        };
        if !etcd::reads_collections(&key, &entry) {
            one.lists = Vec::new();
        }
        let work = entry.work.clone();
        if let (Some(pattern), Some(work)) = (&mut one.pattern, &work) {
            pattern.herds.price(work.asks());
        }
        if let Some(work) = &work {
            self.price(&mut one, work);
        }
        one.agreement = agreement;
        let (certainty, long_running) = (entry.certainty, entry.long_running);
        let own = entries.entry(key).or_insert(entry);
        // A shape may hold requests that were refused and others that were not.
        own.long_running |= long_running;
        own.agreement.merge(agreement);
        own.certainty = own.certainty.max(certainty);
        own.work = own.work.take().max(work);
        match own.rows.binary_search_by(|own| own.product.cmp(&one.product)) {
            Ok(at) => own.rows[at].merge(one),
            Err(at) => {
                own.rows.reserve_exact(1);
                own.rows.insert(at, one);
            }
        }
    }

    /// What is answered with 4xx has read nothing of a collection; what is answered with 5xx was not sent.
    fn price(&self, one: &mut ProductRow, work: &Work) {
        let failed = one.row.statuses.count(|status| status / 100 == 5);
        let served = self.served(&one.row);
        let mut cost = Cost::new(work, served);
        cost.merge(Cost::new(&work.failed(), failed));
        one.cost = Some(Box::new(cost));
        let (served_at, failed_at) = one.row.served_and_failed_times(self.received_only);
        let mut minutes = Minutes::default();
        minutes.add(&served_at, served, work);
        minutes.add(&failed_at, failed, &work.failed());
        one.minutes = (!minutes.is_empty()).then(|| Box::new(minutes));
    }

    fn judged(
        &self,
        measures: &Measures<'_>,
        shape: RowKey,
        row: &Row,
        requests: u64,
        pagination: &Pagination,
    ) -> (Arc<ShapeKey>, ShapeSummary, Agreement) {
        let server = &measures.servers[usize::from(shape.version_index)];
        let asked = shape.asked.as_borrowed();
        // Arrivals alone tell nothing of an answer.
        let status = shape.answer.status().filter(|_| !self.received_only);
        let Judgment { key, verdict, certainty, against_model } = measures.judgment(&shape, status);
        let mut agreement = compare(asked.verb, &verdict, server.version, &row.rare().observed);
        if against_model {
            agreement.contradict += requests;
        }
        let work = measures.prices.map(|prices| {
            let resource = key.resource.as_deref().unwrap_or_default();
            let part = measures.namespaces.part(&shape.asked, &row.targets);
            let work = prices.work_in(server, &asked, &verdict, resource, part);
            let pages = pagination.of_page(&shape).filter(|_| reads_on(&asked.options, &verdict));
            Box::new(pages.map_or(work, |(pagination, pages)| work.as_page(pagination, pages)))
        });
        let entry = ShapeSummary {
            verdict: Some(verdict),
            certainty: (requests > 0, certainty),
            // A refused request never begins to run: its duration is work, and no lifetime.
            long_running: is_long_running(&asked) && status.is_none_or(|status| status / 100 != 4),
            agreement: Agreement::default(),
            work,
            rows: Vec::new(),
            asked: Some(shape.asked),
        };
        (key, entry, agreement)
    }
}
