//! The requests of each client instance. kubetoll computes patterns over time from these requests.
//!
//! Memory is bounded, and the result does not depend on the order of events. There is a sequence of steps, and each
//! step keeps less than the step before. kubetoll uses the first step whose result fits the limits. The first steps
//! keep the earliest requests of each instance, and each step halves the number of these requests. The other steps
//! keep fewer instances: those whose hash begins with enough zeros. Each of these steps halves the number of
//! instances. If the result of a step exceeds the limits, it still exceeds them after more requests arrive.

mod history_entry;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use compact_str::CompactString;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

use super::merge::merge_fields;
use super::packed::make_room;
use super::{Merge, RowHash};
use crate::apiserver::Target;
use crate::k8s::text::prefix;
use crate::k8s::{Scope, Verb};
use crate::requests::stable_hash;
use crate::requests::{Instance, Request};

pub(crate) use history_entry::{HistoryEntry, RequestKind, ResponseClass, shape_hash_of};

/// The limits for one kind of request. Each request takes 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The maximum number of instances that are kept.
    histories: usize,
    /// Every step, even the last one, may keep this many requests of each kept instance.
    free: usize,
    /// The maximum number of requests above `free`, summed over all instances.
    budget: usize,
    /// The maximum number of requests of all instances.
    entries: usize,
    /// The number of steps that halve the requests of each instance. The last of these steps keeps `free` requests of
    /// each instance.
    halvings: u32,
}

/// Limits for one kind of request: at most 24 MB.
const BOUNDS: Bounds =
    Bounds { histories: 1 << 17, free: 128, budget: 1 << 16, entries: 1 << 20, halvings: 8 };

impl Bounds {
    fn fit(&self, size: Size) -> bool {
        size.followed <= self.histories && size.excess <= self.budget && size.entries <= self.entries
    }

    /// Whether a limit is exceeded by more than a quarter. During counting, the histories step down only in this case,
    /// because stepping down visits every entry. At the end, they step down to the limits.
    pub(crate) fn are_exceeded(&self, size: Size) -> bool {
        let more = |bound: usize| bound + bound / 4;
        size.followed > more(self.histories)
            || size.excess > more(self.budget)
            || size.entries > more(self.entries)
    }

    /// The maximum number of requests that a step keeps of each instance. It keeps the earliest requests.
    fn each(&self, step: u32) -> usize {
        self.free << (self.halvings - step.min(self.halvings))
    }

    /// The number of zeros with which the hash of an instance must begin, so that the step keeps the instance.
    fn zeros(&self, step: u32) -> u32 {
        step.saturating_sub(self.halvings)
    }
}

/// The numbers that [`Bounds`] limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// The number of instances that are kept.
    pub(crate) followed: usize,
    /// The number of requests above `free`, summed over all instances.
    pub(crate) excess: usize,
    pub(crate) entries: usize,
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        let add = |all: Self, one: Self| Self {
            followed: all.followed + one.followed,
            excess: all.excess + one.excess,
            entries: all.entries + one.entries,
        };
        sizes.fold(Self::default(), add)
    }
}

/// Length limit of an instance's name, in bytes. The name of a pod has at most 253.
const MAX_NAME: usize = 253;

pub(super) fn bounded_name(name: &str) -> CompactString {
    prefix(name, MAX_NAME).into()
}

/// The history of one instance of one product of a client.
#[derive(Debug, Clone)]
pub(crate) struct InstanceHistory {
    /// Hash of the client's key.
    pub(crate) client: u64,
    /// Hash of the product's name.
    pub(crate) product: u64,
    pub(crate) instance: Instance<CompactString>,
    /// The kept requests, in no order.
    pub(crate) entries: Vec<HistoryEntry>,
    /// The number of all requests, kept or not. A WATCH counts only when it ends.
    pub(crate) all_requests: u64,
}

impl InstanceHistory {
    /// Keeps one entry for each WATCH: its end, or its start if it has no end. A WATCH can have an entry for its
    /// start, an entry for its end, and more entries for duplicates.
    fn pair(&mut self) {
        self.entries.sort_unstable_by_key(|entry| (entry.at(), entry.link, Reverse(entry.kind()), *entry));
        self.entries.dedup_by_key(|entry| (entry.at(), entry.link));
    }

    /// The receive time of the last kept request. `None` if all requests are kept.
    #[must_use]
    pub(crate) fn until(&self) -> Option<i64> {
        (self.all_requests > self.ended())
            .then(|| self.entries.iter().map(HistoryEntry::at).max().unwrap_or(i64::MIN))
    }

    fn ended(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.kind() != RequestKind::WatchBegan).count() as u64
    }

    fn keep_earliest(&mut self, cap: usize, paired: bool) {
        if paired {
            self.pair();
        }
        if self.entries.len() > cap {
            self.entries.select_nth_unstable(cap);
            self.entries.truncate(cap);
            self.entries.shrink_to(2 * cap);
        }
    }

    fn excess(&self, free: usize) -> usize {
        self.entries.len().saturating_sub(free)
    }
}

/// The histories of all instances for one kind of request.
#[derive(Debug)]
pub(crate) struct InstanceHistories {
    followed: HashMap<u64, InstanceHistory, FxBuildHasher>,
    bounds: Bounds,
    /// True if the requests are WATCH requests. Each WATCH may have several entries.
    paired: bool,
    /// The current step; see the description of the module.
    step: u32,
    /// The number of requests above the limit `free`; see [`Size`].
    excess: usize,
    entries: usize,
    /// The number of requests of instances that are not kept.
    left_out: u64,
}

/// Instance histories by kind of request. Each kind has its own limits, so many requests of one kind do not evict
/// requests of another kind.
#[derive(Debug)]
pub struct HistoriesByKind {
    pub(crate) lists: InstanceHistories,
    pub(crate) watches: InstanceHistories,
    pub(crate) objects: InstanceHistories,
}

impl Default for HistoriesByKind {
    fn default() -> Self {
        let empty = |paired| InstanceHistories::within(BOUNDS, paired);
        Self { lists: empty(false), watches: empty(true), objects: empty(false) }
    }
}

impl HistoriesByKind {
    /// Chooses the histories that keep a request, and creates its entry. Returns `None` if no pattern uses the request.
    pub(super) fn choose<L>(kinds: [L; 3], request: &Request<'_>) -> Option<(L, HistoryEntry)> {
        let [lists, watches, objects] = kinds;
        let shape = &request.spec.shape;
        let Target::Resource { subresource, scope, .. } = &shape.target else { return None };
        let kind = match (shape.verb, scope) {
            _ if !subresource.is_empty() => return None,
            (Verb::List, _) => lists,
            (Verb::Watch, _) => watches,
            (Verb::Get, Scope::Object) => objects,
            _ => return None,
        };
        Some((kind, HistoryEntry::from_request(request)?))
    }
}

merge_fields!(HistoriesByKind: lists, watches, objects);

/// How many instances and requests the histories kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The number of instances that are kept.
    pub instances: u64,
    /// The histories keep one out of this many instances. A hash of the instance decides.
    pub one_of: u64,
    /// The number of requests that are kept.
    pub(crate) requests: u64,
    /// The number of requests that are not kept. Either their instance is not kept, or they are later than the first
    /// `of_each` requests of their instance.
    pub left_out: u64,
    /// The histories keep at most this many requests of each instance: the earliest ones. `None` if no instance has
    /// more requests.
    pub(crate) of_each: Option<u64>,
}

impl InstanceHistories {
    pub(super) fn within(bounds: Bounds, paired: bool) -> Self {
        Self { followed: HashMap::default(), bounds, paired, step: 0, excess: 0, entries: 0, left_out: 0 }
    }

    /// Whether the requests of an instance are kept on the current step.
    #[must_use]
    pub(crate) fn may_follow(&self, history: &InstanceHistory) -> bool {
        self.follows(stable_hash(&(history.client, history.product, history.instance.as_ref())))
    }

    /// Creates empty histories with the same limits.
    pub(super) fn none_alike(&self) -> Self {
        Self::within(self.bounds, self.paired)
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(super) fn size(&self) -> Size {
        Size { followed: self.followed.len(), excess: self.excess, entries: self.entries }
    }

    /// Adds the entry of one request. `key` is the hash of the client, the product and the instance. This function
    /// never steps down; the caller must do so when limits are exceeded.
    pub(super) fn add<'i>(
        &mut self,
        row: RowHash,
        key: u64,
        instance: impl FnOnce() -> Instance<&'i str>,
        entry: HistoryEntry,
    ) {
        let ended = u64::from(entry.kind() != RequestKind::WatchBegan);
        if !self.follows(key) {
            self.left_out += ended;
            return;
        }
        let (free, each) = (self.bounds.free, self.bounds.each(self.step));
        let history = self.followed.entry(key).or_insert_with(|| InstanceHistory {
            client: row.client,
            product: row.product,
            instance: instance().map(bounded_name),
            entries: Vec::new(),
            all_requests: 0,
        });
        history.all_requests += ended;
        make_room(&mut history.entries);
        history.entries.push(entry);
        self.excess += usize::from(history.entries.len() > free);
        self.entries += 1;
        if history.entries.len() >= 2 * each {
            let before = (history.excess(free), history.entries.len());
            history.keep_earliest(each, self.paired);
            self.excess -= before.0 - history.excess(free);
            self.entries -= before.1 - history.entries.len();
        }
    }

    fn follows(&self, key: u64) -> bool {
        key.leading_zeros() >= self.bounds.zeros(self.step)
    }

    /// Drops everything that a step does not keep. Returns the size of the rest.
    fn keep_to(&mut self, step: u32) -> Size {
        self.step = step;
        let (zeros, each) = (self.bounds.zeros(step), self.bounds.each(step));
        for (_, history) in self.followed.extract_if(|key, _| key.leading_zeros() < zeros) {
            self.left_out += history.all_requests;
        }
        (self.excess, self.entries) = (0, 0);
        for history in self.followed.values_mut() {
            history.keep_earliest(each, self.paired);
            self.excess += history.excess(self.bounds.free);
            self.entries += history.entries.len();
        }
        self.size()
    }

    /// Returns the kept histories, and how much was kept. The entries of a history are in no order.
    #[must_use]
    pub(crate) fn settled(&mut self) -> (Vec<InstanceHistory>, Followed) {
        step_down(&mut [self]);
        let mut followed = Followed {
            one_of: 1 << self.bounds.zeros(self.step),
            left_out: self.left_out,
            ..Followed::default()
        };
        let mut histories: Vec<(u64, InstanceHistory)> = self.followed.drain().collect();
        histories.sort_unstable_by_key(|(key, history)| (history.client, history.product, *key));
        let histories: Vec<InstanceHistory> = histories.into_iter().map(|(_, history)| history).collect();
        for history in &histories {
            let ended = history.ended();
            followed.requests += ended;
            followed.left_out += history.all_requests - ended;
            if history.all_requests > ended {
                followed.of_each = Some(self.bounds.each(self.step) as u64);
            }
        }
        followed.instances = histories.len() as u64;
        (histories, followed)
    }
}

impl Merge for InstanceHistories {
    fn merge(&mut self, mut other: Self) {
        if self.followed.is_empty() {
            std::mem::swap(self, &mut other);
        }
        self.left_out += other.left_out;
        if other.step > self.step {
            self.keep_to(other.step);
        }
        let free = self.bounds.free;
        for (key, history) in other.followed {
            if !self.follows(key) {
                self.left_out += history.all_requests;
                continue;
            }
            match self.followed.entry(key) {
                Entry::Vacant(vacant) => {
                    self.excess += history.excess(free);
                    self.entries += history.entries.len();
                    vacant.insert(history);
                }
                Entry::Occupied(own) => {
                    let own = own.into_mut();
                    let before = own.excess(free);
                    own.all_requests += history.all_requests;
                    self.entries += history.entries.len();
                    own.entries.extend(history.entries);
                    self.excess += own.excess(free) - before;
                }
            }
        }
        if self.bounds.are_exceeded(self.size()) {
            step_down(&mut [self]);
        }
    }
}

/// Drops requests step by step, until these histories together are within the limits. Returns their total size.
pub(super) fn step_down(all: &mut [&mut InstanceHistories]) -> Size {
    let mut step = all.iter().map(|histories| histories.step).max().unwrap_or(0);
    loop {
        let size = all.iter_mut().map(|histories| histories.keep_to(step)).sum();
        if all.iter().all(|histories| histories.bounds.fit(size)) {
            return size;
        }
        step += 1;
    }
}
