//! What the requests of one row show over time. The types that serialize are part of the public JSON contract.

use compact_str::CompactString;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;
use schemars::JsonSchema;
use serde::Serialize;

use std::cmp::Reverse;

use crate::ledger::{Histogram, Merge};
use crate::requests::Instance;

/// Implements [`Merge`] for a type with counts: adds some fields, and takes the maximum of the others.
macro_rules! merge_counts {
    ($type:ty: add $($($sum:ident).+),*; max $($maximum:ident),*) => {
        impl $crate::ledger::Merge for $type {
            fn merge(&mut self, other: Self) {
                $(self.$($sum).+ += other.$($sum).+;)*
                $(self.$maximum = self.$maximum.max(other.$maximum);)*
            }
        }
    };
}
pub(crate) use merge_counts;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The number of instances that sent the requests.
    pub instances: u64,
    pub informers: Informers,
    pub polling: Polling,
    pub herds: Herds,
    pub chains: Chains,
    pub(crate) watching: Watching,
    pub(crate) restarts: Restarts,
    pub(crate) most_in_an_hour: MostInAnHour,
}

impl Pattern {
    pub(crate) fn merge_from(&mut self, other: &Self) {
        // The two rows may share instances, so the sum would be too high.
        self.instances = self.instances.max(other.instances);
        self.informers.merge(other.informers);
        self.polling.merge_from(&other.polling);
        self.herds.merge_from(&other.herds);
        self.chains.merge(other.chains);
        self.watching.merge(other.watching);
        self.restarts.merge(other.restarts);
        self.most_in_an_hour.merge(other.most_in_an_hour);
    }
}

/// The patterns of one product of a client, by request shape.
#[derive(Debug, Default)]
pub(super) struct ShapePatterns(pub(super) HashMap<u32, Box<Pattern>, FxBuildHasher>);

impl ShapePatterns {
    pub(super) fn pattern(&mut self, shape: u32) -> &mut Pattern {
        self.0.entry(shape).or_default()
    }

    /// Adds the patterns of other instances of the same product of the same client.
    pub(super) fn add(mut self, other: Self) -> Self {
        for (shape, pattern) in other.0 {
            match self.0.entry(shape) {
                Entry::Vacant(free) => drop(free.insert(pattern)),
                Entry::Occupied(mut own) => {
                    let instances = own.get().instances + pattern.instances;
                    let polling = own.get().polling.instances + pattern.polling.instances;
                    own.get_mut().merge_from(&pattern);
                    own.get_mut().instances = instances;
                    own.get_mut().polling.instances = polling;
                }
            }
        }
        self
    }
}

/// Informers: LISTs followed by a WATCH of the same collection from the same instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Informers {
    /// The first LISTs of informers.
    pub starts: u64,
    /// The repeated LISTs of informers, by how the previous WATCH ended.
    pub relists: Relists,
    /// The largest number of repeated LISTs of one informer.
    pub(crate) most_relists: u64,
    /// The number of pages after the first one, summed over the first and the repeated LISTs of informers.
    pub(crate) further_pages: u64,
    /// Starts at which an instance sent the same LIST twice within a minute, both times without pagination.
    pub starts_twice: u64,
}

/// Why informers repeated their LIST.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relists {
    /// The WATCH returned 410, or ended within a second.
    pub(crate) expired: u64,
    /// The WATCH was refused with a status other than 410.
    pub(crate) refused: u64,
    /// The WATCH ended after a second or more.
    pub ended: u64,
}

impl Informers {
    pub(crate) fn relists(&self) -> u64 {
        self.relists.expired + self.relists.refused + self.relists.ended
    }
}

merge_counts! {
    Informers:
    add starts, relists.expired, relists.refused, relists.ended, further_pages, starts_twice;
    max most_relists
}

/// Reports show the names of at most this many instances.
const MAX_NAMED: usize = 5;

/// One instance that polls a collection or object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Poller {
    pub(crate) reads: u64,
    /// The median interval between reads, in microseconds.
    pub(crate) median: u64,
    /// The interquartile range of the intervals, in microseconds.
    pub(crate) spread: u64,
    pub(crate) instance: Instance<CompactString>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Polling {
    /// The reads of all pollers.
    pub reads: u64,
    /// The number of pollers. An instance counts once for each collection or object that it polls.
    pub pollers: u64,
    /// The number of instances that poll. If rows are merged, it is the largest number of any of these rows, because
    /// rows may share instances.
    pub(crate) instances: u64,
    /// The largest number of collections or objects that one instance polls.
    pub(crate) most_targets: u64,
    /// The shortest median interval of a poller with at least 5 reads, in microseconds.
    pub(crate) fastest: Option<u64>,
    /// Served reads that no WATCH follows, whether they are polling or not.
    pub(crate) alone: u64,
    /// The intervals between successive reads of each poller.
    pub(crate) intervals: Histogram,
    pub(crate) medians: Histogram,
    /// The spread of each poller, in percent of its median.
    pub(crate) spreads: Histogram,
    /// The pollers with the most reads.
    pub busiest: Vec<Poller>,
}

impl Polling {
    /// Adds a poller to the busiest pollers if it has enough reads.
    pub(super) fn name(&mut self, reads: u64, median: u64, spread: u64, instance: &Instance<CompactString>) {
        let order = (Reverse(reads), median, spread, instance);
        let before = |own: &Poller| (Reverse(own.reads), own.median, own.spread, &own.instance) < order;
        let at = self.busiest.partition_point(before);
        if at < MAX_NAMED {
            self.busiest.truncate(MAX_NAMED - 1);
            self.busiest.insert(at, Poller { reads, median, spread, instance: instance.clone() });
        }
    }

    pub(crate) fn merge_from(&mut self, other: &Self) {
        self.reads += other.reads;
        self.pollers += other.pollers;
        self.alone += other.alone;
        // The two rows may share instances, so the sum would be too high.
        self.instances = self.instances.max(other.instances);
        self.most_targets = self.most_targets.max(other.most_targets);
        self.fastest = [self.fastest, other.fastest].into_iter().flatten().min();
        self.intervals.merge_from(&other.intervals);
        self.medians.merge_from(&other.medians);
        self.spreads.merge_from(&other.spreads);
        for Poller { reads, median, spread, instance } in &other.busiest {
            self.name(*reads, *median, *spread, instance);
        }
    }
}

/// The maximum number of herds whose details a row keeps.
const MAX_HERDS: usize = 32;

/// Many instances that send the same LIST at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Herd {
    pub instances: u64,
    /// The number of LISTs of all instances.
    pub(crate) requests: u64,
    /// When the server received the first LIST, in microseconds since 1970.
    pub(crate) from: i64,
    /// When the server received the last LIST, in microseconds since 1970.
    pub(crate) to: i64,
    /// The cost of all LISTs of the herd. Unknown parts are `None`.
    pub(crate) cost: ListCost,
}

/// The cost of LISTs. The number of objects may be known even if the number of bytes is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListCost {
    /// Objects read from etcd.
    pub(crate) etcd_objects: Option<u64>,
    /// Bytes read from etcd.
    pub(crate) etcd_bytes: Option<u64>,
    /// The maximum number of objects that the clients received.
    pub(crate) received_objects: Option<u64>,
    /// The maximum number of bytes that the clients received.
    pub(crate) received_bytes: Option<u64>,
    /// True if the received objects and bytes are a mean or an estimate.
    pub(crate) received_is_mean: bool,
}

impl ListCost {
    fn times(self, requests: u64) -> Self {
        let times = |number: Option<u64>| number.map(|number| number.saturating_mul(requests));
        Self {
            etcd_objects: times(self.etcd_objects),
            etcd_bytes: times(self.etcd_bytes),
            received_objects: times(self.received_objects),
            received_bytes: times(self.received_bytes),
            received_is_mean: self.received_is_mean,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Herds {
    pub count: u64,
    /// The number of LISTs in all herds.
    pub(crate) requests: u64,
    /// The herds with the most instances, in descending order.
    pub greatest: Vec<Herd>,
}

impl Herds {
    /// Sets the cost of each herd from the cost of one LIST.
    pub(crate) fn set_cost(&mut self, each: ListCost) {
        for herd in &mut self.greatest {
            herd.cost = each.times(herd.requests);
        }
    }

    pub(super) fn add(&mut self, herd: Herd) {
        self.count += 1;
        self.requests += herd.requests;
        self.keep(herd);
    }

    fn keep(&mut self, herd: Herd) {
        self.greatest.push(herd);
        self.greatest.sort_unstable_by(|a, b| b.cmp(a));
        self.greatest.truncate(MAX_HERDS);
    }

    pub(crate) fn merge_from(&mut self, other: &Self) {
        self.count += other.count;
        self.requests += other.requests;
        other.greatest.iter().for_each(|herd| self.keep(*herd));
    }
}

/// LISTs with several pages. They belong to the request shape of the second page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chains {
    pub count: u64,
    /// The number of pages of these LISTs, including first pages.
    pub pages: u64,
    /// The largest number of pages of one LIST.
    pub longest_pages: u64,
    /// The longest time from the receive time of the first page to the end of the last page.
    pub(crate) longest_micros: u64,
    /// LISTs with a 410 response to a page, because its revision had expired.
    pub(crate) expired: u64,
    /// LISTs that began again within a minute after a 410.
    pub(crate) restarted: u64,
    /// Pages read at the newest revision, because the revision of the first page had expired.
    pub(crate) inconsistent_pages: u64,
    /// LISTs whose first page is not in the log.
    pub(crate) without_first_page: u64,
}

merge_counts! {
    Chains:
    add count, pages, expired, restarted, inconsistent_pages, without_first_page;
    max longest_pages, longest_micros
}

/// The lifetimes of watches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Watches")]
pub struct Watching {
    pub(crate) count: u64,
    /// Watches that ended.
    pub(crate) ended: u64,
    /// Served watches that ended within 65 s.
    pub(crate) short: u64,
    /// The largest number of these short watches from one instance for one collection.
    pub(crate) most_short: u64,
    /// Watches that ran at the same time as another watch of the same collection from the same pod or node.
    pub doubled: u64,
    /// The largest number of watches of one collection that one pod or node had open at the same time.
    pub most_at_once: u64,
    /// The number of pods or nodes that had several watches of one collection open at the same time.
    pub doubled_instances: u64,
    /// Watches with `sendInitialEvents` that were refused and followed by a LIST.
    pub(crate) fallbacks: u64,
    /// Watches that ran at the same time: the largest number from each instance for each collection, summed. A watch
    /// that continues another one does not count again.
    pub(crate) concurrent: u64,
}

merge_counts! {
    Watching:
    add count, ended, short, doubled, doubled_instances, fallbacks, concurrent;
    max most_short, most_at_once
}

/// The largest numbers within an hour, each from one instance for one collection. Rules read them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MostInAnHour {
    /// Relists after an expired revision or a refused watch. The instance must be a pod or a node, because one address
    /// may have several processes.
    pub(crate) relists: u64,
    /// The watches that [`Watching::short`] counts.
    pub(crate) short_watches: u64,
}

merge_counts! {
    MostInAnHour:
    add;
    max relists, short_watches
}

/// Restarts and open watches of processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Restarts {
    /// The largest number of starts of one instance within an hour.
    pub(crate) most_starts: u64,
    /// For the instance that `most_starts` is from: the number of informers in its largest start.
    pub(crate) informers: u64,
    /// Like `most_starts`, but assumes that a watch without an end in the log ended before the next start.
    pub(crate) most_unended_starts: u64,
    /// Instances with three or more starts within an hour.
    pub(crate) instances: u64,
    /// The largest number of pods of one `ReplicaSet` that replaced each other within an hour.
    pub(crate) replaced_pods: u64,
    /// The largest number of watches that one instance had open at the same time.
    pub(crate) most_open: u64,
}

impl Merge for Restarts {
    fn merge(&mut self, other: Self) {
        let starts = |restarts: &Self| (restarts.most_starts, restarts.informers);
        (self.most_starts, self.informers) = starts(self).max(starts(&other));
        self.most_unended_starts = self.most_unended_starts.max(other.most_unended_starts);
        self.instances += other.instances;
        self.replaced_pods = self.replaced_pods.max(other.replaced_pods);
        self.most_open = self.most_open.max(other.most_open);
    }
}
