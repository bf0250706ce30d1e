//! What the requests of one row show over time.

use compact_str::CompactString;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

use std::cmp::Reverse;

use crate::ledger::{Histogram, Merge};
use crate::requests::Instance;

/// The patterns in the requests of one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The number of instances that sent the requests.
    pub instances: u64,
    /// LISTs that a WATCH follows.
    pub informers: Informers,
    /// Repeated reads without a WATCH.
    pub polling: Polling,
    /// LISTs that many instances send at once.
    pub herds: Herds,
    /// Paginated LISTs.
    pub chains: Chains,
    /// Durations and overlaps of watches.
    pub(crate) watching: Watching,
    /// Starts of processes, and their open watches.
    pub(crate) restarts: Restarts,
}

impl Merge for Pattern {
    fn merge(&mut self, other: Self) {
        self.merge_from(&other);
    }
}

impl Pattern {
    /// Like [`Merge::merge`], but takes `other` by reference.
    pub(crate) fn merge_from(&mut self, other: &Self) {
        // The two rows may share instances, so the sum would be too high.
        self.instances = self.instances.max(other.instances);
        self.informers.merge(other.informers);
        self.polling.merge_from(&other.polling);
        self.herds.merge_from(&other.herds);
        self.chains.merge(other.chains);
        self.watching.merge(other.watching);
        self.restarts.merge(other.restarts);
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
                    own.get_mut().merge(*pattern);
                    own.get_mut().instances = instances;
                    own.get_mut().polling.instances = polling;
                }
            }
        }
        self
    }
}

/// Counts of informers and relists in one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Informers {
    /// LISTs that started an informer.
    pub starts: u64,
    /// Relists because the revision had expired.
    pub(crate) relists_expired: u64,
    /// Relists because the server refused the watch with another status than 410.
    pub(crate) relists_refused: u64,
    /// Relists because the watch had ended normally.
    pub(crate) relists_ended: u64,
    /// The largest number of relists of one informer.
    pub(crate) most_relists: u64,
    /// The largest number of relists of one informer within an hour. Only relists after an expired revision or a
    /// refused watch count. The instance must be a pod or a node, because one address may have several processes.
    pub(crate) most_in_an_hour: u64,
    /// The number of later pages, over all relists and all LISTs that started an informer.
    pub(crate) further_pages: u64,
    /// Double starts: an instance sends two complete LISTs when it starts.
    pub(crate) twice: u64,
}

impl Informers {
    /// All relists.
    pub(crate) fn relists(&self) -> u64 {
        self.relists_expired + self.relists_refused + self.relists_ended
    }
}

impl Merge for Informers {
    fn merge(&mut self, other: Self) {
        self.starts += other.starts;
        self.relists_expired += other.relists_expired;
        self.relists_refused += other.relists_refused;
        self.relists_ended += other.relists_ended;
        self.most_relists = self.most_relists.max(other.most_relists);
        self.most_in_an_hour = self.most_in_an_hour.max(other.most_in_an_hour);
        self.further_pages += other.further_pages;
        self.twice += other.twice;
    }
}

/// Reports show the names of at most this many instances.
const MAX_NAMED: usize = 5;

/// One instance that polls a collection or object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Poller {
    /// The number of reads by this instance.
    pub(crate) reads: u64,
    /// The median interval between reads, in microseconds.
    pub(crate) median: u64,
    /// The interquartile range of the intervals, in microseconds.
    pub(crate) spread: u64,
    pub(crate) instance: Instance<CompactString>,
}

/// The polling in one row.
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
    /// The median interval of each poller.
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

    /// Like [`Merge::merge`], but takes `other` by reference.
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

impl Merge for Polling {
    fn merge(&mut self, other: Self) {
        self.merge_from(&other);
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

/// The herds of a row.
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
}

impl Merge for Herds {
    fn merge(&mut self, other: Self) {
        self.merge_from(&other);
    }
}

impl Herds {
    /// Like [`Merge::merge`], but takes `other` by reference.
    pub(crate) fn merge_from(&mut self, other: &Self) {
        self.count += other.count;
        self.requests += other.requests;
        other.greatest.iter().for_each(|herd| self.keep(*herd));
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chains {
    /// LISTs with a second page.
    pub count: u64,
    /// The pages of these LISTs, including the first pages.
    pub pages: u64,
    /// The largest number of pages of a LIST.
    pub(crate) longest: u64,
    /// The longest time from the receipt of a LIST's first page to the end of its last page, in microseconds.
    pub(crate) longest_micros: u64,
    /// LISTs with a page that got status 410, because the revision had expired.
    pub(crate) expired: u64,
    /// Expired LISTs that the client sent again within a minute.
    pub(crate) restarted: u64,
    /// Pages at the newest revision. The server sends them if the LIST's own revision has expired.
    pub(crate) inconsistent: u64,
    /// LISTs whose first page is not in the log.
    pub(crate) headless: u64,
}

impl Merge for Chains {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.pages += other.pages;
        self.longest = self.longest.max(other.longest);
        self.longest_micros = self.longest_micros.max(other.longest_micros);
        self.expired += other.expired;
        self.restarted += other.restarted;
        self.inconsistent += other.inconsistent;
        self.headless += other.headless;
    }
}

/// Durations and overlaps of the watches in one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Watching {
    pub(crate) watches: u64,
    /// Watches with an end in the log.
    pub(crate) ended: u64,
    /// Watches that were served and ended within [`SHORT`](super::watching::SHORT).
    pub(crate) short: u64,
    /// The largest number of short watches of one collection by one instance.
    pub(crate) most_short: u64,
    /// The largest number of short watches of one collection by one instance within an hour.
    pub(crate) most_short_in_an_hour: u64,
    /// Watches that overlap another watch of the same collection by the same instance.
    pub(crate) beside: u64,
    /// The largest number of watches of one collection that one instance has open at the same time.
    pub(crate) most_at_once: u64,
    /// Instances with parallel watches.
    pub(crate) doubled_instances: u64,
    /// Refused watches with `sendInitialEvents` that a LIST follows.
    pub(crate) fallbacks: u64,
}

impl Merge for Watching {
    fn merge(&mut self, other: Self) {
        self.watches += other.watches;
        self.ended += other.ended;
        self.short += other.short;
        self.most_short = self.most_short.max(other.most_short);
        self.most_short_in_an_hour = self.most_short_in_an_hour.max(other.most_short_in_an_hour);
        self.beside += other.beside;
        self.most_at_once = self.most_at_once.max(other.most_at_once);
        self.doubled_instances += other.doubled_instances;
        self.fallbacks += other.fallbacks;
    }
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
