//! What each instance of a client read and watched, one by one: what patterns over time are rebuilt from.
//!
//! Bounded, in a way that does not depend on the order in which events arrive: there is a ladder of steps, each of
//! which keeps less than the one before, and what is kept is what the first step keeps that fits. The upper steps keep
//! the earliest requests of each instance, so many for all and half as many with each step; the lower ones follow half
//! of the instances with each step, those whose hash begins with so many zeros. Adding a request never makes a step fit
//! that did not.

mod record;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use compact_str::CompactString;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

use super::sorted::make_room;
use super::{Merge, RowName};
use crate::apiserver::Target;
use crate::k8s::text::prefix;
use crate::k8s::{Scope, Verb};
use crate::requests::stable_hash;
use crate::requests::{Instance, Request};

pub use record::{Came, Record, What, ask_of};

/// How much is kept; a request takes 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Instances that are followed.
    lives: usize,
    /// Requests that are kept of every instance that is followed.
    free: usize,
    /// Requests that are kept beyond these, of all instances together.
    budget: usize,
    /// Requests that are kept of all instances together.
    records: usize,
    /// How often the number of requests that are kept of one instance can be halved before no more than `free` are.
    halvings: u32,
}

/// At most 24 MB for each kind of requests.
const BOUNDS: Bounds = Bounds { lives: 1 << 17, free: 128, budget: 1 << 16, records: 1 << 20, halvings: 8 };

impl Bounds {
    fn fit(&self, size: Size) -> bool {
        size.followed <= self.lives && size.excess <= self.budget && size.records <= self.records
    }

    /// Whether it is time to step down: that looks at everything, so that it waits for a quarter more than may be kept.
    pub fn are_exceeded(&self, size: Size) -> bool {
        let more = |bound: usize| bound + bound / 4;
        size.followed > more(self.lives)
            || size.excess > more(self.budget)
            || size.records > more(self.records)
    }

    /// The earliest so many requests of each instance are kept.
    fn each(&self, step: u32) -> usize {
        self.free << (self.halvings - step.min(self.halvings))
    }

    /// Instances are followed whose hash begins with so many zeros.
    fn zeros(&self, step: u32) -> u32 {
        step.saturating_sub(self.halvings)
    }
}

/// How much is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Instances that are followed.
    pub followed: usize,
    /// Requests beyond those that are kept of every instance.
    pub excess: usize,
    /// Requests.
    pub records: usize,
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        let add = |all: Self, one: Self| Self {
            followed: all.followed + one.followed,
            excess: all.excess + one.excess,
            records: all.records + one.records,
        };
        sizes.fold(Self::default(), add)
    }
}

/// The longest name of an instance that is kept, in bytes: a pod's has at most 253.
const MAX_NAME: usize = 253;

/// One instance of one product of a client.
#[derive(Debug, Clone)]
pub struct Life {
    /// The hash of the client's key.
    pub client: u64,
    /// The hash of the product's name.
    pub product: u64,
    /// Which instance.
    pub instance: Instance<CompactString>,
    /// What is kept of its requests, in no order.
    pub records: Vec<Record>,
    /// How many there were; of watches, those that ended.
    pub seen: u64,
}

impl Life {
    /// A WATCH that began and ended has two records, or three: one is kept, of copies that differ the least.
    fn pair(&mut self) {
        self.records
            .sort_unstable_by_key(|record| (record.at(), record.link, Reverse(record.what()), *record));
        self.records.dedup_by_key(|record| (record.at(), record.link));
    }

    /// When the last request was received that is kept, if not all are.
    #[must_use]
    pub fn until(&self) -> Option<i64> {
        (self.seen > self.ended()).then(|| self.records.iter().map(Record::at).max().unwrap_or(i64::MIN))
    }

    fn ended(&self) -> u64 {
        self.records.iter().filter(|record| record.what() != What::WatchBegan).count() as u64
    }

    fn keep_earliest(&mut self, cap: usize, paired: bool) {
        if paired {
            self.pair();
        }
        if self.records.len() > cap {
            self.records.select_nth_unstable(cap);
            self.records.truncate(cap);
            self.records.shrink_to(2 * cap);
        }
    }

    fn excess(&self, free: usize) -> usize {
        self.records.len().saturating_sub(free)
    }
}

/// The instances of all clients.
#[derive(Debug)]
pub struct Lives {
    followed: HashMap<u64, Life, FxBuildHasher>,
    bounds: Bounds,
    /// The requests are watches, of which each may have several records.
    paired: bool,
    /// How far down the ladder.
    step: u32,
    /// See [`Size`].
    excess: usize,
    records: usize,
    /// Requests of instances that are not followed.
    left_out: u64,
}

/// What all instances did. LISTs, watches and GETs are kept apart, so that many of one kind take no room from another.
#[derive(Debug)]
pub struct Kept {
    /// LISTs.
    pub lists: Lives,
    /// Watches.
    pub watches: Lives,
    /// GETs of single objects.
    pub objects: Lives,
}

impl Default for Kept {
    fn default() -> Self {
        let of = |paired| Lives::within(BOUNDS, paired);
        Self { lists: of(false), watches: of(true), objects: of(false) }
    }
}

impl Kept {
    /// Which of lists, watches and objects keep a request, and what is kept of it, if anything is.
    pub(super) fn choose<L>(kinds: [L; 3], request: &Request<'_>) -> Option<(L, Record)> {
        let [lists, watches, objects] = kinds;
        let asked = &request.spec.asked;
        let Target::Resource { subresource, scope, .. } = &asked.target else { return None };
        let kind = match (asked.verb, scope) {
            _ if !subresource.is_empty() => return None,
            (Verb::List, _) => lists,
            (Verb::Watch, _) => watches,
            (Verb::Get, Scope::Object) => objects,
            _ => return None,
        };
        Some((kind, Record::of(request)?))
    }
}

impl Merge for Kept {
    fn merge(&mut self, other: Self) {
        self.lists.merge(other.lists);
        self.watches.merge(other.watches);
        self.objects.merge(other.objects);
    }
}

/// How much of what there was is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Followed {
    /// Instances that are followed.
    pub instances: u64,
    /// Of so many instances one is followed, by the hash of its name.
    pub one_of: u64,
    /// Requests that were followed.
    pub requests: u64,
    /// Requests that were not: of instances that were left out, and those that came after the first so many of one.
    pub left_out: u64,
    /// The most that was kept of one instance, its earliest requests, where more were left out.
    pub of_each: Option<u64>,
}

impl Lives {
    pub(super) fn within(bounds: Bounds, paired: bool) -> Self {
        Self { followed: HashMap::default(), bounds, paired, step: 0, excess: 0, records: 0, left_out: 0 }
    }

    /// Whether an instance is among those that are followed, if it did anything.
    #[must_use]
    pub fn may_follow(&self, life: &Life) -> bool {
        self.follows(stable_hash(&(life.client, life.product, life.instance.as_ref())))
    }

    /// None yet, within the same bounds.
    pub(super) fn none_alike(&self) -> Self {
        Self::within(self.bounds, self.paired)
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(super) fn size(&self) -> Size {
        Size { followed: self.followed.len(), excess: self.excess, records: self.records }
    }

    /// Adds what one request was; who does it goes down the ladder in time. `key` is the hash of the row's client and
    /// product with the instance.
    pub(super) fn add<'i>(
        &mut self,
        row: RowName,
        key: u64,
        instance: impl FnOnce() -> Instance<&'i str>,
        record: Record,
    ) {
        let ended = u64::from(record.what() != What::WatchBegan);
        if !self.follows(key) {
            self.left_out += ended;
            return;
        }
        let (free, each) = (self.bounds.free, self.bounds.each(self.step));
        let life = self.followed.entry(key).or_insert_with(|| Life {
            client: row.client,
            product: row.product,
            instance: instance().map(|name| prefix(name, MAX_NAME).into()),
            records: Vec::new(),
            seen: 0,
        });
        life.seen += ended;
        make_room(&mut life.records);
        life.records.push(record);
        self.excess += usize::from(life.records.len() > free);
        self.records += 1;
        if life.records.len() >= 2 * each {
            let before = (life.excess(free), life.records.len());
            life.keep_earliest(each, self.paired);
            self.excess -= before.0 - life.excess(free);
            self.records -= before.1 - life.records.len();
        }
    }

    fn follows(&self, key: u64) -> bool {
        key.leading_zeros() >= self.bounds.zeros(self.step)
    }

    /// Lets go of what a step does not keep. Returns how much is left.
    fn keep_to(&mut self, step: u32) -> Size {
        self.step = step;
        let (zeros, each) = (self.bounds.zeros(step), self.bounds.each(step));
        for (_, life) in self.followed.extract_if(|key, _| key.leading_zeros() < zeros) {
            self.left_out += life.seen;
        }
        (self.excess, self.records) = (0, 0);
        for life in self.followed.values_mut() {
            life.keep_earliest(each, self.paired);
            self.excess += life.excess(self.bounds.free);
            self.records += life.records.len();
        }
        self.size()
    }

    /// What was followed, the requests of each instance in no order, and how much that is.
    #[must_use]
    pub fn settled(&mut self) -> (Vec<Life>, Followed) {
        step_down(&mut [self]);
        let mut followed = Followed {
            one_of: 1 << self.bounds.zeros(self.step),
            left_out: self.left_out,
            ..Followed::default()
        };
        let mut lives: Vec<(u64, Life)> = self.followed.drain().collect();
        lives.sort_unstable_by_key(|(key, life)| (life.client, life.product, *key));
        let lives: Vec<Life> = lives.into_iter().map(|(_, life)| life).collect();
        for life in &lives {
            let kept = life.ended();
            followed.requests += kept;
            followed.left_out += life.seen - kept;
            if life.seen > kept {
                followed.of_each = Some(self.bounds.each(self.step) as u64);
            }
        }
        followed.instances = lives.len() as u64;
        (lives, followed)
    }
}

impl Merge for Lives {
    fn merge(&mut self, mut other: Self) {
        if self.followed.is_empty() {
            std::mem::swap(self, &mut other);
        }
        self.left_out += other.left_out;
        if other.step > self.step {
            self.keep_to(other.step);
        }
        let free = self.bounds.free;
        for (key, life) in other.followed {
            if !self.follows(key) {
                self.left_out += life.seen;
                continue;
            }
            match self.followed.entry(key) {
                Entry::Vacant(vacant) => {
                    self.excess += life.excess(free);
                    self.records += life.records.len();
                    vacant.insert(life);
                }
                Entry::Occupied(own) => {
                    let own = own.into_mut();
                    let before = own.excess(free);
                    own.seen += life.seen;
                    self.records += life.records.len();
                    own.records.extend(life.records);
                    self.excess += own.excess(free) - before;
                }
            }
        }
        if self.bounds.are_exceeded(self.size()) {
            step_down(&mut [self]);
        }
    }
}

/// Goes down the ladder until what all of these together hold fits. Returns how much that is.
pub(super) fn step_down(all: &mut [&mut Lives]) -> Size {
    let mut step = all.iter().map(|lives| lives.step).max().unwrap_or(0);
    loop {
        let size = all.iter_mut().map(|lives| lives.keep_to(step)).sum();
        if all.iter().all(|lives| lives.bounds.fit(size)) {
            return size;
        }
        step += 1;
    }
}
