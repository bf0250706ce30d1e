//! What no single request shows, rebuilt from what each instance of a client read and watched: informers and how they
//! begin anew, polling, herds, pages, watches beside each other.
//!
//! Everything here is told per row of the ledger, so that rules may ask for it as for any other number.

pub mod chain;
pub mod herd;
pub mod informer;
pub mod polling;
#[cfg(test)]
mod tests;
pub mod watching;

use compact_str::CompactString;
use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

pub use chain::Chains;
pub use herd::{Asks, Herds};
pub use informer::Informers;
pub use polling::Polling;
pub use watching::Watching;

use crate::classify::Instance;
use crate::ledger::lives::Record;
use crate::ledger::{Followed, Life, Lives, Merge};

/// A second in microseconds.
pub(crate) const SECOND: i64 = 1_000_000;

/// The name of a row: its client, its product, its shape. See [`crate::ledger::row_name`].
pub type RowName = (u64, u64, u32);

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
}

impl Merge for Pattern {
    fn merge(&mut self, other: Self) {
        // An instance that makes requests of several shapes is one of each; how many they are together is not known.
        self.instances = self.instances.max(other.instances);
        self.informers.merge(other.informers);
        self.polling.merge(other.polling);
        self.herds.merge(other.herds);
        self.chains.merge(other.chains);
        self.watching.merge(other.watching);
    }
}

/// One LIST of a collection, or one page of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Received, in microseconds since 1970.
    pub from: i64,
    /// Ended.
    pub to: i64,
    /// A hash of the namespace that it asks for ([`namespace_hash`](crate::classify::namespace_hash)); 0 for none, or
    /// where it is not known.
    pub namespace: u32,
}

/// All patterns.
#[derive(Debug, Default)]
pub struct Patterns {
    rows: HashMap<RowName, Pattern, FxBuildHasher>,
    /// Of LISTs and watches, how much was followed.
    pub collections: Followed,
    /// Of GETs of single objects, how much was followed.
    pub objects: Followed,
    /// The LISTs, if they were asked for, those of a row together.
    lists: Vec<(RowName, Listed)>,
}

impl Patterns {
    /// Rebuilds the patterns. `keep_lists` keeps when each LIST was under way.
    #[must_use]
    pub fn of(collections: Lives, objects: Lives, keep_lists: bool) -> Self {
        Self::with_lists(collections, objects, &|_, _| keep_lists)
    }

    /// Rebuilds the patterns, and keeps when LISTs were under way that are wanted, by when they were received and ended.
    #[must_use]
    pub fn with_lists(collections: Lives, objects: Lives, wanted: &dyn Fn(i64, i64) -> bool) -> Self {
        let (collections, followed) = collections.settled();
        let (objects, objects_followed) = objects.settled();
        let records = || collections.iter().flat_map(|life| &life.records);
        let log_begin = records().map(Record::at).min().unwrap_or(0);
        let log = (log_begin, records().map(Record::end).max().unwrap_or(0));
        let mut lists = lists(&collections, wanted);
        lists.sort_unstable();
        let mut rows: HashMap<RowName, Pattern, FxBuildHasher> = HashMap::default();
        for lives in [collections, objects] {
            // Lives of one product of a client stand together.
            let clients: Vec<&[Life]> =
                lives.chunk_by(|a, b| (a.client, a.product) == (b.client, b.product)).collect();
            let parts: Vec<Vec<(RowName, Pattern)>> =
                clients.into_par_iter().map(|lives| of_one_client(lives, log)).collect();
            for (name, pattern) in parts.into_iter().flatten() {
                rows.entry(name).or_default().merge(pattern);
            }
        }
        Self { rows, collections: followed, objects: objects_followed, lists }
    }

    /// The pattern of a row.
    pub fn take(&mut self, row: RowName) -> Option<Box<Pattern>> {
        self.rows.remove(&row).map(Box::new)
    }

    /// The LISTs of a row; none unless they were asked for.
    pub fn lists_of(&self, row: RowName) -> impl Iterator<Item = Listed> {
        let first = self.lists.partition_point(|(of, _)| *of < row);
        let of_row = self.lists[first..].iter().take_while(move |(of, _)| *of == row);
        of_row.map(|(_, list)| *list)
    }
}

fn lists(lives: &[Life], wanted: &dyn Fn(i64, i64) -> bool) -> Vec<(RowName, Listed)> {
    use crate::ledger::lives::What::{InconsistentPage, List, NextPage};
    let mut lists = Vec::new();
    for life in lives {
        // A further page is of the namespace that the first one of its target is of.
        let mut namespaces: HashMap<u32, u32, FxBuildHasher> = HashMap::default();
        for record in &life.records {
            let namespace = match record.what() {
                List => {
                    namespaces.insert(record.target, record.link);
                    record.link
                }
                NextPage | InconsistentPage => namespaces.get(&record.target).copied().unwrap_or(0),
                _ => continue,
            };
            let (from, to) = (record.at(), record.end());
            if wanted(from, to) {
                lists.push(((life.client, life.product, record.shape), Listed { from, to, namespace }));
            }
        }
    }
    lists
}

/// Rows of one product of a client, while they are being told of.
#[derive(Debug, Default)]
pub(crate) struct Rows(HashMap<u32, Pattern, FxBuildHasher>);

impl Rows {
    pub(crate) fn of(&mut self, shape: u32) -> &mut Pattern {
        self.0.entry(shape).or_default()
    }
}

/// `log` is the first LIST's or WATCH's arrival and the last one's end, in microseconds since 1970.
fn of_one_client(lives: &[Life], log: (i64, i64)) -> Vec<(RowName, Pattern)> {
    let mut rows = Rows::default();
    let mut reads = herd::Reads::default();
    for (index, life) in lives.iter().enumerate() {
        of_one_life(life, log.1, &mut rows);
        reads.add(u32::try_from(index).unwrap_or(u32::MAX), &life.records);
    }
    reads.tell((log.1 - log.0) / SECOND, &mut rows);
    let name = |shape| (lives[0].client, lives[0].product, shape);
    rows.0.into_iter().map(|(shape, pattern)| (name(shape), pattern)).collect()
}

fn of_one_life(life: &Life, log_end: i64, rows: &mut Rows) {
    let mut shapes: Vec<u32> = life.records.iter().map(|record| record.shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    for shape in shapes {
        rows.of(shape).instances += 1;
    }
    let mut records = life.records.clone();
    // Stable: what is of one target stays in the order of time.
    records.sort_by_key(|record| record.target);
    for of_target in records.chunk_by(|a, b| a.target == b.target) {
        of_one_target(&life.instance, of_target, log_end, rows);
    }
}

fn of_one_target(instance: &Instance<CompactString>, records: &[Record], log_end: i64, rows: &mut Rows) {
    let reads = chain::reads(records);
    let watches = watching::watches(records);
    let fates = informer::fates(&reads, &watches);
    chain::tell(&reads, rows);
    watching::tell(instance, &watches, log_end, rows);
    informer::tell(&reads, &watches, &fates, rows);
    polling::tell(instance, &reads, &fates, rows);
}
