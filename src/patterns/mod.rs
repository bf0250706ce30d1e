//! What no single request shows, rebuilt from what each instance of a client read and watched: informers and how they
//! begin anew, polling, herds, pages, watches beside each other.
//!
//! Everything here is told per row of the ledger, so that rules may ask for it as for any other number.

pub mod chain;
pub mod herd;
pub mod informer;
pub mod polling;
pub mod restarts;
pub mod running;
#[cfg(test)]
mod tests;
pub mod watching;

use compact_str::CompactString;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

pub use chain::Chains;
pub use herd::{Asks, Herds};
pub use informer::Informers;
pub use polling::Polling;
pub use restarts::Restarts;
use restarts::{Process, Ran};
pub use running::Running;
pub use watching::Watching;

use crate::ledger::instance_histories::HistoryEntry;
use crate::ledger::instance_histories::InstanceHistories;
use crate::ledger::{Followed, HistoriesByKind, InstanceHistory, Merge};

/// A second in microseconds.
pub(crate) const SECOND: i64 = 1_000_000;

/// What a row asks: hashes of its client, its product, its shape without the answer ([`crate::ledger::instance_histories::shape_hash_of`]).
pub type PatternKey = (u64, u64, u32);

/// What a row's requests show when they are put in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Instances that made the requests.
    pub instances: u64,
    /// Informers: LISTs that a WATCH follows.
    pub informers: Informers,
    /// The same read again and again.
    pub polling: Polling,
    /// Many instances at once.
    pub herds: Herds,
    /// Pages that belong together.
    pub chains: Chains,
    /// Lives of watches.
    pub watching: Watching,
    /// Starts of a process, and the watches that it holds open.
    pub restarts: Restarts,
}

impl Merge for Pattern {
    fn merge(&mut self, other: Self) {
        self.merge_from(&other);
    }
}

impl Pattern {
    /// As [`Merge::merge`], of one that is kept.
    pub fn merge_from(&mut self, other: &Self) {
        // An instance that makes requests of several shapes is one of each; how many they are together is not known.
        self.instances = self.instances.max(other.instances);
        self.informers.merge(other.informers);
        self.polling.merge_from(&other.polling);
        self.herds.merge_from(&other.herds);
        self.chains.merge(other.chains);
        self.watching.merge(other.watching);
        self.restarts.merge(other.restarts);
    }
}

/// One LIST of a collection, or one page of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Received, in microseconds since 1970.
    pub from: i64,
    /// Ended.
    pub to: i64,
    /// A hash of the namespace that it asks for ([`namespace_hash`](crate::requests::namespace_hash)); 0 for none, or
    /// where it is not known.
    pub namespace: u32,
}

/// All patterns.
#[derive(Debug, Default)]
pub struct Patterns {
    clients: HashMap<u64, OfClient, FxBuildHasher>,
    /// How much was followed, by what it is.
    pub followed: AllFollowed,
    /// The LISTs, if they were asked for, those of a row together.
    lists: Vec<(PatternKey, Listed)>,
    /// How long instances run, by client and product.
    running: HashMap<(u64, u64), Running, FxBuildHasher>,
    nodes: running::Nodes,
}

/// The patterns of one client, by product and question.
#[derive(Debug, Default)]
pub struct OfClient(HashMap<(u64, u32), Box<Pattern>, FxBuildHasher>);

impl OfClient {
    /// The pattern of a row.
    pub fn take(&mut self, product: u64, ask: u32) -> Option<Box<Pattern>> {
        self.0.remove(&(product, ask))
    }
}

/// How much was followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllFollowed {
    /// Of LISTs.
    pub lists: Followed,
    /// Of watches.
    pub watches: Followed,
    /// Of GETs of single objects.
    pub objects: Followed,
}

impl Patterns {
    /// Rebuilds the patterns. `keep_lists` keeps when each LIST was under way.
    #[must_use]
    pub fn new(kept: HistoriesByKind, keep_lists: bool) -> Self {
        Self::with_lists(kept, &|_| true, keep_lists.then_some(&|_, _| true))
    }

    /// Rebuilds the patterns of some clients, by their hashes, and keeps when LISTs were under way that are wanted, if any
    /// are, by when they were received and ended.
    #[must_use]
    pub fn with_lists(
        mut kept: HistoriesByKind,
        is_known: &dyn Fn(u64) -> bool,
        wanted: Option<&dyn Fn(i64, i64) -> bool>,
    ) -> Self {
        let HistoriesByKind { lists, watches, objects } = &mut kept;
        let ((mut lists, of_lists), ((mut watches, of_watches), (mut objects, of_objects))) =
            rayon::join(|| lists.settled(), || rayon::join(|| watches.settled(), || objects.settled()));
        let followed = AllFollowed { lists: of_lists, watches: of_watches, objects: of_objects };
        let log_end =
            lists.iter().chain(&watches).flat_map(|history| &history.entries).map(HistoryEntry::end).max();
        let log_end = log_end.unwrap_or(0);
        // Clients that are counted together have no patterns, however many they are.
        for histories in [&mut lists, &mut watches, &mut objects] {
            histories.retain(|history| is_known(history.client));
        }
        let (running, nodes) = running::of_clients([&lists, &watches, &objects]);
        let mut under_way = wanted.map_or_else(Vec::new, |wanted| under_way(&mut lists, wanted));
        under_way.sort_unstable();
        let mut collections = Instances::joined(lists, watches, &kept.watches);
        let mut objects: Vec<Instances> = objects.into_iter().map(Instances::new).collect();
        // Instances of one product of a client stand together.
        let of_clients = collections.chunk_by_mut(same_client).chain(objects.chunk_by_mut(same_client));
        let of_clients: Vec<&mut [Instances]> = of_clients.collect();
        let parts: Vec<((u64, u64), Rows)> =
            of_clients.into_par_iter().map(|instances| of_one_client(instances, log_end)).collect();
        let mut clients: HashMap<u64, OfClient, FxBuildHasher> = HashMap::default();
        for ((client, product), rows) in parts {
            let own = clients.entry(client).or_default();
            for (ask, pattern) in rows.0 {
                match own.0.entry((product, ask)) {
                    Entry::Vacant(free) => drop(free.insert(pattern)),
                    Entry::Occupied(mut own) => own.get_mut().merge(*pattern),
                }
            }
        }
        Self { clients, followed, lists: under_way, running, nodes }
    }

    /// The patterns of a client.
    pub fn take(&mut self, client: u64) -> OfClient {
        self.clients.remove(&client).unwrap_or_default()
    }

    /// How long the instances of a product of a client run.
    #[must_use]
    pub fn running(&self, client: u64, product: u64) -> Running {
        self.running.get(&(client, product)).copied().unwrap_or_default()
    }

    /// The nodes that a client's requests come from, if each has an identity of its own: those that are followed.
    #[must_use]
    pub fn nodes(&self, client: u64) -> &[CompactString] {
        self.nodes.get(&client).map_or(&[], Vec::as_slice)
    }

    /// The LISTs of a row; none unless they were asked for.
    pub fn lists_of(&self, row: PatternKey) -> impl Iterator<Item = Listed> {
        let first = self.lists.partition_point(|(of, _)| *of < row);
        let of_row = self.lists[first..].iter().take_while(move |(of, _)| *of == row);
        of_row.map(|(_, list)| *list)
    }
}

fn under_way(
    histories: &mut [InstanceHistory],
    wanted: &dyn Fn(i64, i64) -> bool,
) -> Vec<(PatternKey, Listed)> {
    use crate::ledger::instance_histories::RequestKind::{InconsistentPage, List, NextPage};
    let mut lists = Vec::new();
    for history in histories {
        // A further page is of the namespace that the first one of its target is of.
        let mut namespaces: HashMap<u32, u32, FxBuildHasher> = HashMap::default();
        history.entries.sort_unstable();
        for entry in &history.entries {
            let namespace = match entry.kind() {
                List => {
                    namespaces.insert(entry.target, entry.link);
                    entry.link
                }
                NextPage | InconsistentPage => namespaces.get(&entry.target).copied().unwrap_or(0),
                _ => continue,
            };
            let (from, to) = (entry.at(), entry.end());
            if wanted(from, to) {
                lists.push(((history.client, history.product, entry.ask), Listed { from, to, namespace }));
            }
        }
    }
    lists
}

/// One instance with all that it did.
#[derive(Debug)]
struct Instances {
    history: InstanceHistory,
    /// When the last of its watches began that was followed, if not all were.
    watched_until: Option<i64>,
    /// When it ran, as far as its informers show.
    ran: Option<Ran>,
}

impl Instances {
    fn new(history: InstanceHistory) -> Self {
        Self { history, watched_until: None, ran: None }
    }

    fn client(&self) -> (u64, u64) {
        (self.history.client, self.history.product)
    }

    /// Instances with their LISTs and their watches.
    fn joined(
        lists: Vec<InstanceHistory>,
        watches: Vec<InstanceHistory>,
        followed: &InstanceHistories,
    ) -> Vec<Self> {
        let name = |history: &InstanceHistory| (history.client, history.product, history.instance.clone());
        let mut watches: HashMap<_, InstanceHistory, FxBuildHasher> =
            watches.into_iter().map(|history| (name(&history), history)).collect();
        let mut joined: Vec<Self> = Vec::with_capacity(lists.len());
        for history in lists {
            let mut one = Self::new(history);
            match watches.remove(&name(&one.history)) {
                Some(watching) => {
                    one.watched_until = watching.until();
                    one.history.entries.extend(watching.entries);
                }
                None if !followed.may_follow(&one.history) => one.watched_until = Some(i64::MIN),
                None => {}
            }
            joined.push(one);
        }
        joined.extend(watches.into_values().map(Self::new));
        joined.sort_unstable_by(|Self { history: a, .. }, Self { history: b, .. }| {
            (a.client, a.product, &a.instance).cmp(&(b.client, b.product, &b.instance))
        });
        joined
    }
}

/// The most instants within an hour. They stand in their order.
pub(crate) fn most_in_an_hour(instants: impl Iterator<Item = i64>) -> u64 {
    let instants: Vec<i64> = instants.collect();
    let until = |from: &i64| instants.partition_point(|at| *at < from + 3_600 * SECOND);
    instants.iter().enumerate().map(|(first, from)| (until(from) - first) as u64).max().unwrap_or(0)
}

fn same_client(a: &Instances, b: &Instances) -> bool {
    a.client() == b.client()
}

/// Rows of one product of a client, while they are being told of.
#[derive(Debug, Default)]
pub(crate) struct Rows(HashMap<u32, Box<Pattern>, FxBuildHasher>);

impl Rows {
    pub(crate) fn of(&mut self, ask: u32) -> &mut Pattern {
        self.0.entry(ask).or_default()
    }

    /// With those of other instances of the same product of the same client.
    fn add(mut self, other: Self) -> Self {
        for (ask, pattern) in other.0 {
            match self.0.entry(ask) {
                Entry::Vacant(free) => drop(free.insert(pattern)),
                Entry::Occupied(mut own) => {
                    let instances = own.get().instances + pattern.instances;
                    let polling = own.get().polling.instances + pattern.polling.instances;
                    own.get_mut().merge(*pattern);
                    own.get_mut().instances = instances;
                    own.get_mut().polling.instances = polling;
                }
            }
        }
        self
    }
}

/// So many instances of one client are told of by one thread at least.
const TOGETHER: usize = 64;

fn of_one_client(instances: &mut [Instances], log_end: i64) -> ((u64, u64), Rows) {
    let name = instances[0].client();
    let mut rows = instances
        .par_chunks_mut(TOGETHER)
        .map(|instances| {
            let mut rows = Rows::default();
            for one in instances {
                of_one_instance(one, log_end, &mut rows);
            }
            rows
        })
        .reduce(Rows::default, Rows::add);
    let mut reads = herd::Reads::default();
    for (index, one) in instances.iter().enumerate() {
        reads.add(u32::try_from(index).unwrap_or(u32::MAX), &one.history.entries);
    }
    reads.tell(&mut rows);
    let ran = instances.iter().filter_map(|one| Some((&one.history.instance, one.ran?)));
    restarts::tell_replaced(ran, &mut rows);
    (name, rows)
}

/// Leaves the instance's records by target, and those of one target in the order of time.
fn of_one_instance(one: &mut Instances, log_end: i64, rows: &mut Rows) {
    one.history.entries.sort_unstable_by_key(HistoryEntry::by_target);
    let mut asks: Vec<u32> = one.history.entries.iter().map(|entry| entry.ask).collect();
    // Those of one target mostly ask alike.
    asks.dedup();
    asks.sort_unstable();
    asks.dedup();
    for ask in asks {
        rows.of(ask).instances += 1;
    }
    let mut process = Process::default();
    let mut polled: Vec<u32> = Vec::new();
    for of_target in one.history.entries.chunk_by(|a, b| a.target == b.target) {
        polled.extend(of_one_target(one, of_target, log_end, rows, &mut process));
    }
    polling::tell_instance(polled, rows);
    one.ran = process.tell(&one.history.instance, rows);
}

/// Returns the shape in which the instance polls the target, if it does.
fn of_one_target(
    one: &Instances,
    entries: &[HistoryEntry],
    log_end: i64,
    rows: &mut Rows,
    process: &mut Process,
) -> Option<u32> {
    let instance = &one.history.instance;
    let reads = chain::reads(entries);
    let watches = watching::watches(entries);
    // What was not watched before is not known to have been watched later.
    let known_until = one.watched_until.filter(|until| *until == i64::MIN || !watches.is_empty());
    let roles = informer::roles(&reads, &watches, known_until);
    chain::tell(&reads, rows);
    watching::tell(instance, &watches, log_end, rows);
    informer::tell(instance, &reads, &watches, &roles, rows);
    process.add(&reads, &roles, &watches, log_end);
    polling::tell(instance, &reads, &roles, rows)
}
