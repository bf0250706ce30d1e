//! Rows that a rule judges together, and the whole that they are a part of.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::facts::Facts;
use super::programs::Program;
use crate::cost::{Cost, CostBasis, ShapeCost};
use crate::judged::etcd::SlowReads;
use crate::judged::{self, ClientSummary, JudgedClients, ShapeKey};
use crate::k8s::Verb;
use crate::ledger::{Histogram, Load, Merge, Row, Targets, Timeline, timeline::Rate};
use crate::patterns::Pattern;

/// What a client does with a resource, whatever a rule matched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Companions {
    /// Requests that begin a watch.
    pub watches: u64,
    /// LISTs.
    pub lists: u64,
    /// Creates, updates, patches and deletes, of subresources too.
    pub writes: u64,
}

/// GETs from etcd that a client makes in the same minutes as other requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct InStep<'a> {
    /// The GETs, at most one for each of the other requests.
    pub reads: u64,
    /// The resource that they read.
    pub resource: &'a str,
}

/// GETs that are more than this many for each of the other requests are not made for them.
const MOST_READS_EACH: u64 = 2;

/// A client's updates or patches of one shape by one product.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// Index of the client.
    pub account: usize,
    /// The shape.
    pub key: &'a ShapeKey,
    /// The product.
    pub product: &'a str,
    /// The numbers.
    pub row: &'a Row,
}

/// Sums over all accounts.
#[derive(Debug)]
pub struct Whole<'a> {
    /// The accounts.
    pub accounts: &'a JudgedClients,
    /// All requests.
    pub requests: u64,
    /// LISTs and GETs that etcd answered.
    pub etcd_reads: u64,
    /// Requests by account.
    by_account: Vec<u64>,
    companions: HashMap<(usize, &'a str), Companions, FxBuildHasher>,
    /// Rows that update or patch, by resource.
    writers: HashMap<&'a str, Vec<Writer<'a>>, FxBuildHasher>,
    /// By account: questions of which requests were seen to arrive and not to end, and how many.
    unfinished: Vec<HashMap<Question<'a>, u64, FxBuildHasher>>,
}

/// Whether a request changes objects.
#[must_use]
pub fn is_write(verb: Verb) -> bool {
    matches!(verb, Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection)
}

impl<'a> Whole<'a> {
    /// Sums up.
    #[must_use]
    pub fn of(accounts: &'a JudgedClients) -> Self {
        let mut whole = Self {
            accounts,
            requests: 0,
            etcd_reads: 0,
            by_account: Vec::with_capacity(accounts.clients.len()),
            companions: HashMap::default(),
            writers: HashMap::default(),
            unfinished: accounts.clients.iter().map(unfinished).collect(),
        };
        for (index, account) in accounts.clients.iter().enumerate() {
            let mut all = 0;
            for (key, entry) in &account.entries {
                let requests = accounts.requests_of(entry);
                all += requests;
                if key.reads_etcd() {
                    whole.etcd_reads += requests;
                }
                let (Some(verb), Some(resource)) = (key.verb, &key.resource) else { continue };
                let own = whole.companions.entry((index, resource)).or_default();
                match verb {
                    Verb::Watch => own.watches += requests,
                    Verb::List => own.lists += requests,
                    verb if is_write(verb) => own.writes += requests,
                    _ => {}
                }
                if matches!(verb, Verb::Update | Verb::Patch) && key.rejected.is_none() {
                    let rows = entry.rows.iter();
                    let rows =
                        rows.map(|one| Writer { account: index, key, product: &one.product, row: &one.row });
                    whole.writers.entry(resource).or_default().extend(rows);
                }
            }
            whole.requests += all;
            whole.by_account.push(all);
        }
        whole
    }

    /// What a client does with a resource.
    #[must_use]
    pub fn companions(&self, account: usize, resource: &str) -> Companions {
        self.companions.get(&(account, resource)).copied().unwrap_or_default()
    }

    /// Requests of a client for discovery and `OpenAPI` documents.
    #[must_use]
    pub fn discovery_of(&self, account: usize) -> u64 {
        let of = |class: &str| -> u64 {
            let entries = self.accounts.clients[account].entries.iter();
            let entries = entries.filter(|(key, _)| key.resource.as_deref() == Some(class));
            entries.map(|(_, entry)| self.accounts.requests_of(entry)).sum()
        };
        of("(discovery)") + of("(openapi)")
    }

    /// All rows that update or patch objects of a resource.
    #[must_use]
    pub fn writers(&self, resource: &str) -> &[Writer<'a>] {
        self.writers.get(resource).map_or(&[], Vec::as_slice)
    }

    /// All requests of a client.
    #[must_use]
    pub fn requests_of(&self, account: usize) -> u64 {
        self.by_account.get(account).copied().unwrap_or(0)
    }
}

/// Rows that a rule judges together; all are of one client, or of clients that run one program.
#[derive(Debug)]
pub struct Group<'a> {
    /// The rows, those with the most requests first. There is one at least.
    pub rows: Vec<&'a Facts<'a>>,
    /// Index of the client; of a program's clients that of the row with the most requests.
    pub account: usize,
    /// The program, and which of its clients have rows here.
    pub program: Option<(&'a Program, Vec<usize>)>,
    /// The leading row, with the facts of all clients of the program.
    merged_lead: Option<Facts<'a>>,
    /// What it is a part of.
    pub whole: &'a Whole<'a>,
    rate: OnceCell<Option<Rate>>,
    latency: OnceCell<Histogram>,
    targets: OnceCell<Targets>,
    pattern: OnceCell<Box<Pattern>>,
    cost: OnceCell<Cost>,
    in_step: OnceCell<InStep<'a>>,
}

impl<'a> Group<'a> {
    /// Rows as a group. They stand in the order of their account, which decides between those with equal requests.
    #[must_use]
    pub fn new(mut rows: Vec<&'a Facts<'a>>, account: usize, whole: &'a Whole<'a>) -> Self {
        rows.sort_by_key(|facts| Reverse(facts.requests));
        Self {
            rows,
            account,
            program: None,
            merged_lead: None,
            whole,
            rate: OnceCell::new(),
            latency: OnceCell::new(),
            targets: OnceCell::new(),
            pattern: OnceCell::new(),
            cost: OnceCell::new(),
            in_step: OnceCell::new(),
        }
    }

    /// Rows of clients that run a program, each with the index of its client.
    #[must_use]
    pub fn of_program(rows: &[(&'a Facts<'a>, usize)], program: &'a Program, whole: &'a Whole<'a>) -> Self {
        let mut members: Vec<usize> = rows.iter().map(|(_, account)| *account).collect();
        members.sort_unstable();
        members.dedup();
        // JudgedClients have no order of their own.
        let mut facts: Vec<&'a Facts<'a>> = rows.iter().map(|(facts, _)| *facts).collect();
        facts.sort_by(|a, b| (&a.account.key, a.key, a.product).cmp(&(&b.account.key, b.key, b.product)));
        let group = Self::new(facts, members[0], whole);
        let leading = group.leading();
        let of_leading = rows.iter().find(|(facts, _)| std::ptr::eq(*facts, leading));
        let account = of_leading.map_or(members[0], |(_, account)| *account);
        let merged_lead = Some(Facts { account: &program.account, ..*leading });
        Self { account, program: Some((program, members)), merged_lead, ..group }
    }

    /// The row with the most requests.
    #[must_use]
    pub fn leading(&self) -> &'a Facts<'a> {
        self.rows[0]
    }

    /// The row with the most requests, with the facts of all clients of the program.
    #[must_use]
    pub fn representative(&self) -> &Facts<'a> {
        self.merged_lead.as_ref().unwrap_or(self.rows[0])
    }

    /// The clients, by index.
    #[must_use]
    pub fn members(&self) -> &[usize] {
        self.program.as_ref().map_or(std::slice::from_ref(&self.account), |(_, members)| members)
    }

    /// A sum over the rows.
    pub fn sum(&self, of: impl Fn(&Row) -> u64) -> u64 {
        self.rows.iter().map(|facts| of(facts.row)).sum()
    }

    /// Requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.rows.iter().map(|facts| facts.requests).sum()
    }

    /// Answers whose status a condition holds for.
    pub fn answers(&self, is_wanted: impl Fn(u16) -> bool) -> u64 {
        self.sum(|row| row.statuses.count(&is_wanted))
    }

    /// Peak and active time, or `None` without a timestamp.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        *self.rate.get_or_init(|| {
            let times = || self.rows.iter().map(|facts| facts.row.times(self.whole.accounts.received_only));
            let all = times().reduce(|mut all, times| {
                all.to_mut().merge_from(&times);
                all
            })?;
            Load::rate_of(&all, || {
                let mut load = Load::default();
                times().for_each(|times| load.add_all(&times));
                load
            })
        })
    }

    /// The resource that the client reads from etcd in step with the group's requests: minute by minute about as many GETs
    /// as requests.
    #[must_use]
    pub fn in_step(&self) -> InStep<'a> {
        *self.in_step.get_or_init(|| {
            let received_only = self.whole.accounts.received_only;
            let mut own = Timeline::default();
            for facts in &self.rows {
                own.merge_from(&facts.row.times(received_only));
            }
            let (own, requests) = (own.windows(), own.total());
            let mut reads: BTreeMap<&'a str, Timeline> = BTreeMap::new();
            let entries =
                self.members().iter().flat_map(|index| &self.whole.accounts.clients[*index].entries);
            for (key, entry) in entries {
                let (Some(Verb::Get), true, Some(resource)) = (key.verb, key.reads_etcd(), &key.resource)
                else {
                    continue;
                };
                let timeline = reads.entry(resource).or_default();
                entry.rows.iter().for_each(|one| timeline.merge_from(&one.row.times(received_only)));
            }
            let in_step = reads.into_iter().filter(|(_, reads)| reads.total() <= requests * MOST_READS_EACH);
            let in_step =
                in_step.map(|(resource, reads)| InStep { reads: reads.windows().shared(&own), resource });
            in_step.rev().max_by_key(|in_step| in_step.reads).unwrap_or_default()
        })
    }

    /// Durations.
    #[must_use]
    pub fn latency(&self) -> &Histogram {
        if let [only] = &self.rows[..] {
            return &only.row.latency;
        }
        self.latency.get_or_init(|| {
            let mut latency = Histogram::default();
            for facts in &self.rows {
                latency.merge_from(&facts.row.latency);
            }
            latency
        })
    }

    /// What the requests are for.
    #[must_use]
    pub fn targets(&self) -> &Targets {
        if let [only] = &self.rows[..] {
            return &only.row.targets;
        }
        self.targets.get_or_init(|| {
            let mut targets = Targets::default();
            for facts in &self.rows {
                targets.merge(facts.row.targets.clone());
            }
            targets
        })
    }

    /// What the requests show when they are put in order.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        let mut patterns = self.rows.iter().filter_map(|facts| facts.pattern);
        if let (Some(only), None) = (patterns.next(), patterns.next()) {
            return only;
        }
        self.pattern.get_or_init(|| {
            let mut pattern = Box::<Pattern>::default();
            for own in self.rows.iter().filter_map(|facts| facts.pattern) {
                pattern.merge_from(own);
            }
            pattern
        })
    }

    /// Received of the first and the last event, in microseconds since 1970.
    #[must_use]
    pub fn span(&self) -> Option<(i64, i64)> {
        let spans = || self.rows.iter().filter_map(|facts| facts.row.span);
        Some((spans().map(|span| span.0).min()?, spans().map(|span| span.1).max()?))
    }

    /// What the client does with the resource of the leading row.
    #[must_use]
    pub fn companions(&self) -> Companions {
        let resource = self.leading().key.resource.as_deref().unwrap_or_default();
        self.members().iter().fold(Companions::default(), |all, account| {
            let own = self.whole.companions(*account, resource);
            Companions {
                watches: all.watches + own.watches,
                lists: all.lists + own.lists,
                writes: all.writes + own.writes,
            }
        })
    }

    /// The slow reads in etcd's own log during which LISTs of the group were under way.
    #[must_use]
    pub fn slow_reads(&self) -> Option<SlowReads> {
        self.whole.accounts.slow_reads.count(self.rows.iter().flat_map(|facts| facts.slow_reads))
    }

    /// How much of the apiserver's and etcd's work the requests are.
    #[must_use]
    pub fn load(&self) -> judged::Load {
        let measure = self.whole.accounts.measure;
        self.rows.iter().fold(judged::Load::default(), |mut all, facts| {
            all.add(measure.load(facts.key, facts.entry, facts.row, facts.cost));
            all
        })
    }

    /// What the requests cost; nothing without an inventory.
    #[must_use]
    pub fn cost(&self) -> &Cost {
        self.cost.get_or_init(|| {
            self.rows.iter().filter_map(|facts| facts.cost).fold(Cost::default(), |mut all, cost| {
                all.merge(*cost);
                all
            })
        })
    }

    /// What the requests cost, as far as that is known.
    #[must_use]
    pub fn known_cost(&self) -> CostBasis {
        CostBasis::new(self.rows.iter().map(|facts| ShapeCost {
            requests: facts.requests,
            work: facts.entry.work.as_deref(),
            cost: facts.cost,
            items: facts.row.rare().items,
            page_limit: facts.entry.page_limit(),
        }))
    }

    /// Requests that were seen to arrive and not to end. What an arrival asks is known, and not how it was answered,
    /// so arrivals and ends are compared over all answers.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        let unfinished = |account: &usize| &self.whole.unfinished[*account];
        if self.whole.accounts.received_only || self.members().iter().all(|one| unfinished(one).is_empty()) {
            return 0;
        }
        let mut asked: Vec<Question<'_>> = self
            .rows
            .iter()
            .filter(|facts| !facts.entry.long_running)
            .map(|facts| question(facts.key))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        let of = |account| asked.iter().filter_map(|asked| unfinished(account).get(asked)).sum::<u64>();
        self.members().iter().map(of).sum()
    }
}

/// What of a shape is asked, and no part of its answer.
type Question<'a> = (Option<Verb>, Option<&'a str>, Option<&'a str>, Option<crate::k8s::Scope>, &'a str);

fn question(key: &ShapeKey) -> Question<'_> {
    (key.verb, key.resource.as_deref(), key.subresource.as_deref(), key.scope, &key.parameters)
}

/// The questions of a client of which more requests were seen to arrive than to end.
fn unfinished(account: &ClientSummary) -> HashMap<Question<'_>, u64, FxBuildHasher> {
    let mut unfinished = HashMap::default();
    let mut entries = account.entries.iter().peekable();
    while let Some((key, entry)) = entries.next() {
        let asked = question(key);
        let (mut arrived, mut ended) = entry.arrived_and_ended();
        // Keys are ordered by what is asked first, so those that ask alike stand together.
        while let Some((_, entry)) = entries.next_if(|(key, _)| question(key) == asked) {
            let (more_arrived, more_ended) = entry.arrived_and_ended();
            (arrived, ended) = (arrived + more_arrived, ended + more_ended);
        }
        if arrived > ended {
            unfinished.insert(asked, arrived - ended);
        }
    }
    unfinished
}
