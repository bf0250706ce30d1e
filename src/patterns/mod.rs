//! Patterns over many requests: informers and relists, polling, herds, pagination, parallel watches. They are computed
//! from the history of each instance of a client.
//!
//! Each pattern is attributed to a row of the ledger, so that rules can use it like any other number.

mod chain;
mod herd;
mod informer;
mod pattern;
mod polling;
mod restarts;
mod running;
#[cfg(test)]
mod tests;
mod time;
mod watching;

use compact_str::CompactString;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

#[cfg(test)]
use pattern::Relists;
pub(crate) use pattern::{
    Chains, Herd, Herds, Informers, ListCost, Pattern, Poller, Polling, Watching, merge_counts,
};
pub(crate) use running::Running;

use pattern::ShapePatterns;
use restarts::{PodRun, Process};

use crate::ledger::instance_histories::{HistoryEntry, InstanceHistories};
use crate::ledger::{Followed, HistoriesByKind, InstanceHistory};

/// Identifies the row of a pattern by the hashes of its client, its product and its request shape
/// ([`crate::ledger::instance_histories::shape_hash_of`]).
pub(crate) type PatternKey = (u64, u64, u32);

/// The time during which one LIST of a collection, or one page of such a LIST, ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListInterval {
    /// When the server received the request, in microseconds since 1970.
    pub(crate) from: i64,
    /// When the request ended, in microseconds since 1970.
    pub(crate) to: i64,
    /// A hash of the namespace that the request reads ([`namespace_hash`](crate::requests::namespace_hash)); 0 without
    /// a namespace, or if it is unknown.
    pub(crate) namespace: u32,
}

#[derive(Debug, Default)]
pub struct Patterns {
    clients: HashMap<u64, ClientPatterns, FxBuildHasher>,
    /// How many instances and requests the histories contain, by kind of request.
    pub(crate) followed: AllFollowed,
    /// When each LIST ran, sorted by row. Empty unless the caller requests these times.
    lists: Vec<(PatternKey, ListInterval)>,
    /// Whether instances run forever or end, by client and product.
    running: HashMap<(u64, u64), Running, FxBuildHasher>,
    nodes: running::Nodes,
}

/// The patterns of one client, by product and request shape.
#[derive(Debug, Default)]
pub(crate) struct ClientPatterns(HashMap<(u64, u32), Box<Pattern>, FxBuildHasher>);

impl ClientPatterns {
    /// Removes and returns the pattern of a row.
    pub(crate) fn take(&mut self, product: u64, shape: u32) -> Option<Box<Pattern>> {
        self.0.remove(&(product, shape))
    }
}

/// How many instances and requests the histories contain, by kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AllFollowed {
    pub lists: Followed,
    pub(crate) watches: Followed,
    /// GETs of single objects.
    pub(crate) objects: Followed,
}

impl Patterns {
    /// Computes the patterns of all clients. With `keep_lists`, also keeps the times of each LIST.
    #[must_use]
    pub fn new(histories: HistoriesByKind, keep_lists: bool) -> Self {
        Self::with_lists(histories, &|_| true, keep_lists.then_some(&|_, _| true))
    }

    /// Computes the patterns of the clients that `has_patterns` accepts; its argument is the hash of a client. `wanted`
    /// selects the LISTs whose times are kept. Its arguments are the receive time and the end time of a LIST.
    pub(crate) fn with_lists(
        mut histories: HistoriesByKind,
        has_patterns: &dyn Fn(u64) -> bool,
        wanted: Option<&dyn Fn(i64, i64) -> bool>,
    ) -> Self {
        let HistoriesByKind { lists, watches, objects } = &mut histories;
        let ((mut lists, of_lists), ((mut watches, of_watches), (mut objects, of_objects))) =
            rayon::join(|| lists.settled(), || rayon::join(|| watches.settled(), || objects.settled()));
        let followed = AllFollowed { lists: of_lists, watches: of_watches, objects: of_objects };
        let log_end =
            lists.iter().chain(&watches).flat_map(|history| &history.entries).map(HistoryEntry::end).max();
        let log_end = log_end.unwrap_or(0);
        // Clients in the overflow row have no patterns.
        for kind in [&mut lists, &mut watches, &mut objects] {
            kind.retain(|history| has_patterns(history.client));
        }
        let (running, nodes) = running::running_by_product([&lists, &watches, &objects]);
        let mut intervals = wanted.map_or_else(Vec::new, |wanted| list_intervals(&mut lists, wanted));
        intervals.sort_unstable();
        let mut collections = InstanceRecords::joined(lists, watches, &histories.watches);
        let mut objects: Vec<InstanceRecords> = objects.into_iter().map(InstanceRecords::new).collect();
        // The instances of one product of a client are adjacent.
        let by_client = collections.chunk_by_mut(same_client).chain(objects.chunk_by_mut(same_client));
        let by_client: Vec<&mut [InstanceRecords]> = by_client.collect();
        let parts: Vec<((u64, u64), ShapePatterns)> =
            by_client.into_par_iter().map(|instances| client_patterns(instances, log_end)).collect();
        let mut clients: HashMap<u64, ClientPatterns, FxBuildHasher> = HashMap::default();
        for ((client, product), rows) in parts {
            let own = clients.entry(client).or_default();
            for (shape, pattern) in rows.0 {
                match own.0.entry((product, shape)) {
                    Entry::Vacant(free) => drop(free.insert(pattern)),
                    Entry::Occupied(mut own) => own.get_mut().merge_from(&pattern),
                }
            }
        }
        Self { clients, followed, lists: intervals, running, nodes }
    }

    pub(crate) fn take(&mut self, client: u64) -> ClientPatterns {
        self.clients.remove(&client).unwrap_or_default()
    }

    /// Whether the instances of a client's product run forever or end.
    pub(crate) fn running(&self, client: u64, product: u64) -> Running {
        self.running.get(&(client, product)).copied().unwrap_or_default()
    }

    /// The names of the client's instances that are nodes. Contains only instances with a history.
    pub(crate) fn nodes(&self, client: u64) -> &[CompactString] {
        self.nodes.get(&client).map_or(&[], Vec::as_slice)
    }

    /// When the LISTs of a row ran. Empty unless the caller requested these times.
    pub(crate) fn lists_of(&self, row: PatternKey) -> impl Iterator<Item = ListInterval> {
        let first = self.lists.partition_point(|(of, _)| *of < row);
        let of_row = self.lists[first..].iter().take_while(move |(of, _)| *of == row);
        of_row.map(|(_, list)| *list)
    }
}

fn list_intervals(
    histories: &mut [InstanceHistory],
    wanted: &dyn Fn(i64, i64) -> bool,
) -> Vec<(PatternKey, ListInterval)> {
    use crate::ledger::instance_histories::RequestKind::{InconsistentPage, List, NextPage};
    let mut lists = Vec::new();
    for history in histories {
        // The entry of a later page does not contain the namespace. So this map keeps the namespace of the first
        // page, by target.
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
                lists.push((
                    (history.client, history.product, entry.shape),
                    ListInterval { from, to, namespace },
                ));
            }
        }
    }
    lists
}

#[derive(Debug)]
struct InstanceRecords {
    history: InstanceHistory,
    /// The start of the last watch in the history, if the history omits later watches. `i64::MIN` if the history
    /// does not follow the watches of the instance. `None` in all other cases.
    watched_until: Option<i64>,
    /// When the instance ran, according to its informers.
    ran: Option<PodRun>,
}

impl InstanceRecords {
    fn new(history: InstanceHistory) -> Self {
        Self { history, watched_until: None, ran: None }
    }

    fn client(&self) -> (u64, u64) {
        (self.history.client, self.history.product)
    }

    /// Joins the LISTs and the watches of each instance.
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

fn same_client(a: &InstanceRecords, b: &InstanceRecords) -> bool {
    a.client() == b.client()
}

/// The minimum number of instances for each parallel task.
const MIN_CHUNK: usize = 64;

fn client_patterns(instances: &mut [InstanceRecords], log_end: i64) -> ((u64, u64), ShapePatterns) {
    let name = instances[0].client();
    let mut rows = instances
        .par_chunks_mut(MIN_CHUNK)
        .map(|instances| {
            let mut rows = ShapePatterns::default();
            for one in instances {
                add_instance(one, log_end, &mut rows);
            }
            rows
        })
        .reduce(ShapePatterns::default, ShapePatterns::add);
    let mut reads = herd::ListsByShape::default();
    for (index, one) in instances.iter().enumerate() {
        reads.add(u32::try_from(index).unwrap_or(u32::MAX), &one.history.entries);
    }
    reads.add_herds(&mut rows);
    let ran = instances.iter().filter_map(|one| Some((&one.history.instance, one.ran?)));
    restarts::add_replaced_pods(ran, &mut rows);
    (name, rows)
}

/// Sorts the instance's entries by target and time, and adds their patterns to `rows`.
fn add_instance(one: &mut InstanceRecords, log_end: i64, rows: &mut ShapePatterns) {
    one.history.entries.sort_unstable_by_key(HistoryEntry::by_target);
    let mut shapes: Vec<u32> = one.history.entries.iter().map(|entry| entry.shape).collect();
    // Consecutive entries mostly have the same shape, so this shortens the list before the sort.
    shapes.dedup();
    shapes.sort_unstable();
    shapes.dedup();
    for shape in shapes {
        rows.pattern(shape).instances += 1;
    }
    let mut process = Process::default();
    let mut polled: Vec<u32> = Vec::new();
    for of_target in one.history.entries.chunk_by(|a, b| a.target == b.target) {
        polled.extend(add_target(one, of_target, log_end, rows, &mut process));
    }
    polling::add_instance(polled, rows);
    one.ran = process.add_to(&one.history.instance, rows);
}

/// Adds the patterns of one target. If the instance polls the target, returns the request shape of the polling.
fn add_target(
    one: &InstanceRecords,
    entries: &[HistoryEntry],
    log_end: i64,
    rows: &mut ShapePatterns,
    process: &mut Process,
) -> Option<u32> {
    let instance = &one.history.instance;
    let reads = chain::reads(entries);
    let watches = watching::watches(entries);
    // The history may omit later watches of the instance. But if it has only watches of other targets, this target
    // probably has none.
    let watches_until = one.watched_until.filter(|until| *until == i64::MIN || !watches.is_empty());
    let roles = informer::roles(&reads, &watches, watches_until);
    chain::add(&reads, rows);
    watching::add(instance, &watches, log_end, rows);
    informer::add(instance, &reads, &watches, &roles, rows);
    process.add(&reads, &roles, &watches, log_end);
    polling::add(instance, &reads, &roles, rows)
}
