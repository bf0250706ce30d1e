//! Groups of rows that a rule evaluates together, and totals over all clients.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::facts::RowFacts;
use super::programs::Program;
use super::value::VariableValue;
use crate::cost::{Cost, CostBasis, ShapeCost};
use crate::judged::etcd::SlowReads;
use crate::judged::{ClientSummary, JudgedClients, RequestKey, RequestLoad, ShapeKey};
use crate::k8s::Verb;
use crate::ledger::{Histogram, Merge, RequestRates, Row, Targets, Timeline, timeline::Rate};
use crate::patterns::{Pattern, merge_counts};

/// The numbers of requests that a client sends for a resource. They include requests that the rule does not match.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Companions {
    pub(crate) watches: u64,
    pub(crate) lists: u64,
    /// Creates, updates, patches and deletes, including those of subresources.
    pub(crate) writes: u64,
}

merge_counts! { Companions: add watches, lists, writes; max }

/// A resource that a group's clients GET from etcd in the same minutes in which they send the group's requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InStep<'a> {
    /// The number of GETs in step with the group's requests. For each minute, it adds the smaller of two numbers: the
    /// GETs and the group's requests.
    pub(crate) reads: u64,
    pub(crate) resource: &'a str,
}

/// A resource with more GETs than this for each request of the group is ignored. The client probably sends these GETs
/// for another purpose.
const MOST_READS_EACH: u64 = 2;

/// A row of updates or patches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriterRow<'a> {
    pub(crate) client: usize,
    pub(crate) key: &'a ShapeKey,
    pub(crate) product: &'a str,
    pub(crate) row: &'a Row,
}

#[derive(Debug)]
pub struct ClientTotals<'a> {
    pub(crate) judged: &'a JudgedClients,
    pub(crate) requests: u64,
    /// LISTs and GETs read from etcd.
    pub(crate) etcd_reads: u64,
    requests_by_client: Vec<u64>,
    companions: HashMap<(usize, &'a str), Companions, FxBuildHasher>,
    /// The rows of updates and patches, by resource.
    writers: HashMap<&'a str, Vec<WriterRow<'a>>, FxBuildHasher>,
    /// For each client: the number of RequestReceived events without a ResponseComplete event, by request shape.
    unfinished: Vec<HashMap<RequestKey<'a>, u64, FxBuildHasher>>,
}

pub(crate) fn is_write(verb: Verb) -> bool {
    matches!(verb, Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection)
}

impl<'a> ClientTotals<'a> {
    #[must_use]
    pub fn new(judged: &'a JudgedClients) -> Self {
        let mut totals = Self {
            judged,
            requests: 0,
            etcd_reads: 0,
            requests_by_client: Vec::with_capacity(judged.clients.len()),
            companions: HashMap::default(),
            writers: HashMap::default(),
            unfinished: judged.clients.iter().map(unfinished).collect(),
        };
        for (index, client) in judged.clients.iter().enumerate() {
            let mut all = 0;
            for (key, shape_summary) in &client.shapes {
                let requests = judged.requests_of(shape_summary);
                all += requests;
                if key.reads_etcd() {
                    totals.etcd_reads += requests;
                }
                let (Some(verb), Some(resource)) = (key.verb, &key.resource) else { continue };
                let own = totals.companions.entry((index, resource)).or_default();
                match verb {
                    Verb::Watch => own.watches += requests,
                    Verb::List => own.lists += requests,
                    verb if is_write(verb) => own.writes += requests,
                    _ => {}
                }
                if matches!(verb, Verb::Update | Verb::Patch) && key.rejected.is_none() {
                    let rows = shape_summary.rows.iter();
                    let rows = rows.map(|product_row| WriterRow {
                        client: index,
                        key,
                        product: &product_row.product,
                        row: &product_row.row,
                    });
                    totals.writers.entry(resource).or_default().extend(rows);
                }
            }
            totals.requests += all;
            totals.requests_by_client.push(all);
        }
        totals
    }

    pub(crate) fn companions(&self, client: usize, resource: &str) -> Companions {
        self.companions.get(&(client, resource)).copied().unwrap_or_default()
    }

    /// Returns the number of a client's requests for discovery and `OpenAPI` documents.
    pub(crate) fn discovery_of(&self, client: usize) -> u64 {
        let of = |class: &str| -> u64 {
            let shapes = self.judged.clients[client].shapes.iter();
            let shapes = shapes.filter(|(key, _)| key.resource.as_deref() == Some(class));
            shapes.map(|(_, shape_summary)| self.judged.requests_of(shape_summary)).sum()
        };
        of("(discovery)") + of("(openapi)")
    }

    pub(crate) fn writers(&self, resource: &str) -> &[WriterRow<'a>] {
        self.writers.get(resource).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn requests_of(&self, client: usize) -> u64 {
        self.requests_by_client.get(client).copied().unwrap_or(0)
    }
}

/// Rows that a rule evaluates together. All are of one client, or of clients that run one program.
#[derive(Debug)]
pub struct RowGroup<'a> {
    /// The rows, by descending number of requests. Never empty.
    pub(crate) rows: Vec<&'a RowFacts<'a>>,
    /// The index of the client. For a program, the client of the row with the most requests.
    pub(crate) client: usize,
    /// The program, and the indices of its clients that have rows in the group.
    pub(crate) program: Option<(&'a Program, Vec<usize>)>,
    /// For a program: a copy of the row with the most requests. In the copy, the client has the merged data of all
    /// clients of the program.
    merged_lead: Option<RowFacts<'a>>,
    pub(crate) totals: &'a ClientTotals<'a>,
    rate: OnceCell<Option<Rate>>,
    latency: OnceCell<Histogram>,
    targets: OnceCell<Targets>,
    pattern: OnceCell<Box<Pattern>>,
    cost: OnceCell<Cost>,
    in_step: OnceCell<InStep<'a>>,
}

/// A function that returns the value of a variable for a group.
pub(crate) type GroupGetter = for<'r, 'a> fn(&'r RowGroup<'a>) -> VariableValue<'r>;

impl<'a> RowGroup<'a> {
    /// Creates a group of rows of one client. Rows with the same number of requests keep their order, so that the
    /// result is deterministic.
    #[must_use]
    pub fn new(mut rows: Vec<&'a RowFacts<'a>>, client: usize, totals: &'a ClientTotals<'a>) -> Self {
        rows.sort_by_key(|facts| Reverse(facts.requests));
        Self {
            rows,
            client,
            program: None,
            merged_lead: None,
            totals,
            rate: OnceCell::new(),
            latency: OnceCell::new(),
            targets: OnceCell::new(),
            pattern: OnceCell::new(),
            cost: OnceCell::new(),
            in_step: OnceCell::new(),
        }
    }

    /// Creates a group of rows of several clients, each with the index of its client.
    pub(crate) fn from_program(
        rows: &[(&'a RowFacts<'a>, usize)],
        program: &'a Program,
        totals: &'a ClientTotals<'a>,
    ) -> Self {
        let mut members: Vec<usize> = rows.iter().map(|(_, client)| *client).collect();
        members.sort_unstable();
        members.dedup();
        // `JudgedClients` has no fixed order, so sort by client here to make the result deterministic.
        let mut facts: Vec<&'a RowFacts<'a>> = rows.iter().map(|(facts, _)| *facts).collect();
        facts.sort_by(|a, b| (&a.client.key, a.key, a.product).cmp(&(&b.client.key, b.key, b.product)));
        let group = Self::new(facts, members[0], totals);
        let leading = group.leading();
        let of_leading = rows.iter().find(|(facts, _)| std::ptr::eq(*facts, leading));
        let client = of_leading.map_or(members[0], |(_, client)| *client);
        let merged_lead = Some(RowFacts { client: &program.client, ..*leading });
        Self { client, program: Some((program, members)), merged_lead, ..group }
    }

    #[must_use]
    pub fn leading(&self) -> &'a RowFacts<'a> {
        self.rows[0]
    }

    /// Returns the row with the most requests. For a program, returns a copy of this row. In the copy, the client has
    /// the merged data of all clients of the program.
    pub(crate) fn representative(&self) -> &RowFacts<'a> {
        self.merged_lead.as_ref().unwrap_or(self.rows[0])
    }

    pub(crate) fn members(&self) -> &[usize] {
        self.program.as_ref().map_or(std::slice::from_ref(&self.client), |(_, members)| members)
    }

    /// Merges the rows into one value. `add` adds a row.
    fn merged<T: Default>(&self, add: impl Fn(&mut T, &RowFacts<'_>)) -> T {
        let mut all = T::default();
        self.rows.iter().for_each(|facts| add(&mut all, facts));
        all
    }

    pub(crate) fn sum(&self, of: impl Fn(&Row) -> u64) -> u64 {
        self.rows.iter().map(|facts| of(facts.row)).sum()
    }

    #[must_use]
    pub fn requests(&self) -> u64 {
        self.rows.iter().map(|facts| facts.requests).sum()
    }

    /// Returns the number of responses whose status fulfills a condition.
    pub(crate) fn responses(&self, is_wanted: impl Fn(u16) -> bool) -> u64 {
        self.sum(|row| row.statuses.count(&is_wanted))
    }

    /// Returns the peak rate and the active time; `None` without timestamps.
    pub(crate) fn rate(&self) -> Option<Rate> {
        *self.rate.get_or_init(|| {
            let times = || self.rows.iter().map(|facts| facts.row.times(self.totals.judged.received_only));
            let all = times().reduce(|mut all, times| {
                all.to_mut().merge_from(&times);
                all
            })?;
            RequestRates::rate_of(&all, || {
                let mut load = RequestRates::default();
                times().for_each(|times| load.add_all(&times));
                load
            })
        })
    }

    /// Finds the resource whose GETs from etcd are most often in the same minutes as the requests of the group. Ignores
    /// a resource with more than [`MOST_READS_EACH`] GETs for each request of the group.
    pub(crate) fn in_step(&self) -> InStep<'a> {
        *self.in_step.get_or_init(|| {
            let received_only = self.totals.judged.received_only;
            let own =
                self.merged(|all: &mut Timeline, facts| all.merge_from(&facts.row.times(received_only)));
            let (own, requests) = (own.windows(), own.total());
            let mut reads: BTreeMap<&'a str, Timeline> = BTreeMap::new();
            let shapes = self.members().iter().flat_map(|index| &self.totals.judged.clients[*index].shapes);
            for (key, shape_summary) in shapes {
                let (Some(Verb::Get), true, Some(resource)) = (key.verb, key.reads_etcd(), &key.resource)
                else {
                    continue;
                };
                let timeline = reads.entry(resource).or_default();
                shape_summary
                    .rows
                    .iter()
                    .for_each(|product_row| timeline.merge_from(&product_row.row.times(received_only)));
            }
            let in_step = reads.into_iter().filter(|(_, reads)| reads.total() <= requests * MOST_READS_EACH);
            let in_step =
                in_step.map(|(resource, reads)| InStep { reads: reads.windows().shared(&own), resource });
            in_step.rev().max_by_key(|in_step| in_step.reads).unwrap_or_default()
        })
    }

    pub(crate) fn latency(&self) -> &Histogram {
        if let [only] = &self.rows[..] {
            return &only.row.latency;
        }
        self.latency
            .get_or_init(|| self.merged(|all: &mut Histogram, facts| all.merge_from(&facts.row.latency)))
    }

    /// The objects or namespaces that the group's requests name.
    pub(crate) fn targets(&self) -> &Targets {
        if let [only] = &self.rows[..] {
            return &only.row.targets;
        }
        self.targets
            .get_or_init(|| self.merged(|all: &mut Targets, facts| all.merge(facts.row.targets.clone())))
    }

    pub(crate) fn pattern(&self) -> &Pattern {
        let mut patterns = self.rows.iter().filter_map(|facts| facts.pattern);
        if let (Some(only), None) = (patterns.next(), patterns.next()) {
            return only;
        }
        self.pattern.get_or_init(|| {
            self.merged(|all: &mut Box<Pattern>, facts| {
                facts.pattern.into_iter().for_each(|own| all.merge_from(own));
            })
        })
    }

    /// When the first and the last event were received, in microseconds since 1970.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let spans = || self.rows.iter().filter_map(|facts| facts.row.span);
        Some((spans().map(|span| span.0).min()?, spans().map(|span| span.1).max()?))
    }

    /// Counts the watches, LISTs and writes that the group's clients send for the resource of the leading row.
    /// Includes requests that the rule does not match.
    pub(crate) fn companions(&self) -> Companions {
        let resource = self.leading().key.resource.as_deref().unwrap_or_default();
        let mut all = Companions::default();
        self.members().iter().for_each(|client| all.merge(self.totals.companions(*client, resource)));
        all
    }

    /// Slow reads in etcd's own log that match LISTs of the group.
    pub(crate) fn slow_reads(&self) -> Option<SlowReads> {
        self.totals.judged.slow_reads.count(self.rows.iter().flat_map(|facts| facts.slow_reads))
    }

    pub(crate) fn load(&self) -> RequestLoad {
        self.rows.iter().map(|facts| facts.load()).sum()
    }

    /// Returns the cost of the requests; zero without an inventory.
    pub(crate) fn cost(&self) -> &Cost {
        self.cost.get_or_init(|| {
            self.merged(|all: &mut Cost, facts| facts.cost.into_iter().for_each(|cost| all.merge(*cost)))
        })
    }

    pub(crate) fn known_cost(&self) -> CostBasis {
        CostBasis::new(self.rows.iter().map(|facts| ShapeCost {
            requests: facts.requests,
            work: facts.shape_summary.work.as_deref(),
            cost: facts.cost,
            items: facts.row.rare().items,
            page_limit: facts.shape_summary.page_limit(),
        }))
    }

    /// Returns the number of requests with a RequestReceived event but without a ResponseComplete event.
    ///
    /// A RequestReceived event has no verdict. Thus kubetoll compares the numbers of both events for a request shape,
    /// over all its verdicts.
    pub(crate) fn unfinished(&self) -> u64 {
        let unfinished = |client: &usize| &self.totals.unfinished[*client];
        if self.totals.judged.received_only || self.members().iter().all(|one| unfinished(one).is_empty()) {
            return 0;
        }
        let mut request: Vec<RequestKey<'_>> = self
            .rows
            .iter()
            .filter(|facts| !facts.shape_summary.long_running)
            .map(|facts| facts.key.request())
            .collect();
        request.sort_unstable();
        request.dedup();
        let of = |client| request.iter().filter_map(|request| unfinished(client).get(request)).sum::<u64>();
        self.members().iter().map(of).sum()
    }
}

/// Finds the request shapes of a client that have more RequestReceived than ResponseComplete events. The value is the
/// difference.
fn unfinished(client: &ClientSummary) -> HashMap<RequestKey<'_>, u64, FxBuildHasher> {
    let mut unfinished = HashMap::default();
    let mut shapes = client.shapes.iter().peekable();
    while let Some((key, shape_summary)) = shapes.next() {
        let request = key.request();
        let (mut received, mut ended) = shape_summary.received_and_ended();
        // Keys are sorted by request shape first, so equal shapes are adjacent.
        while let Some((_, shape_summary)) = shapes.next_if(|(key, _)| key.request() == request) {
            let (more_received, more_ended) = shape_summary.received_and_ended();
            (received, ended) = (received + more_received, ended + more_ended);
        }
        if received > ended {
            unfinished.insert(request, received - ended);
        }
    }
    unfinished
}
