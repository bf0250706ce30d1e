//! What each instance of a client read and watched, one by one: what patterns over time are rebuilt from.
//!
//! Bounded in two ways, neither of which depends on the order in which events arrive. Of more instances than fit,
//! those are followed whose hash begins with so many zeros. Of each instance the earliest requests are kept: as many
//! for all that the sum of what is beyond [`FREE`] stays within [`BUDGET`]; that number only sinks, and adding a
//! request never makes the sum smaller.

use compact_str::CompactString;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Merge;
use super::bounded::hash_of;
use crate::apiserver::options::Page;
use crate::classify::{Instance, Request};
use crate::k8s::text::prefix;
use crate::k8s::{Stage, Verb};

/// Instances that are followed.
const MAX_LIVES: usize = 1 << 17;
/// Requests that are kept of every instance that is followed.
const FREE: usize = 128;
/// Requests that are kept beyond these, of all instances together.
const BUDGET: usize = 1 << 20;
/// Requests that are kept of one instance, if there is room.
const MAX_RECORDS: usize = 1 << 15;
/// The longest name of an instance that is kept, in bytes: a pod's has at most 253.
const MAX_NAME: usize = 253;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A GET of one object.
    Get,
    /// A LIST's first or only page.
    List,
    /// A further page, at a revision.
    NextPage,
    /// A further page, at the newest revision, as the one before it had expired.
    InconsistentPage,
    /// A WATCH began to answer.
    WatchBegan,
    /// A WATCH ended.
    WatchEnded,
}

impl What {
    const ALL: [Self; 6] =
        [Self::Get, Self::List, Self::NextPage, Self::InconsistentPage, Self::WatchBegan, Self::WatchEnded];
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Came {
    /// It was served, as far as the log says.
    Served,
    /// 410: the revision has expired.
    Expired,
    /// Any other status from 400 on.
    Refused,
}

impl Came {
    const ALL: [Self; 3] = [Self::Served, Self::Expired, Self::Refused];

    fn of(status: Option<u16>) -> Self {
        match status {
            Some(410) => Self::Expired,
            Some(400..) => Self::Refused,
            _ => Self::Served,
        }
    }
}

/// One request of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Received, in microseconds since 1970, and in the lower 8 bits what was done and what came of it.
    when: i64,
    /// A hash of its path and selectors.
    pub target: u32,
    /// The hash of its shape: see [`shape_of`].
    pub shape: u32,
    /// Of a WATCH, a hash of its ID; of a further page, one of its revision.
    pub link: u32,
    /// How long it took or lived, in milliseconds.
    pub millis: u32,
}

const WHAT_BITS: u32 = 8;

impl Record {
    /// The record of a request; `None` for what no pattern is made of. `shape` is the hash of its row's shape.
    fn of(request: &Request<'_>, shape: u64) -> Option<Self> {
        let received = request.received?;
        let what = match (request.asked.verb, request.stage) {
            (Verb::Get, Stage::ResponseComplete | Stage::Panic) => What::Get,
            (Verb::List, Stage::ResponseComplete | Stage::Panic) => match request.asked.options.page {
                Page::AtRevision => What::NextPage,
                Page::Inconsistent => What::InconsistentPage,
                Page::First | Page::Invalid => What::List,
            },
            (Verb::Watch, Stage::ResponseComplete | Stage::Panic) => What::WatchEnded,
            (Verb::Watch, Stage::ResponseStarted) if request.status != Some(401) => What::WatchBegan,
            _ => return None,
        };
        let link = match what {
            What::WatchBegan | What::WatchEnded => hash_of(request.audit_id),
            What::NextPage => request.revision().map_or(0, |revision| hash_of(&revision)),
            _ => 0,
        };
        let asks_initial_events = i64::from(request.asked.options.send_initial_events == Some(true));
        let low = what as i64 | (Came::of(request.status) as i64) << 3 | asks_initial_events << 5;
        Some(Self {
            when: received << WHAT_BITS | low,
            target: half(request.collection_hash()),
            shape: half(shape),
            link: half(link),
            millis: u32::try_from(request.micros.unwrap_or(0) / 1_000).unwrap_or(u32::MAX),
        })
    }

    /// When it was received, in microseconds since 1970.
    #[must_use]
    pub fn at(&self) -> i64 {
        self.when >> WHAT_BITS
    }

    /// When it ended, in microseconds since 1970. Of a WATCH that began, the same as [`Record::at`].
    #[must_use]
    pub fn end(&self) -> i64 {
        self.at() + i64::from(self.millis) * 1_000
    }

    /// What was done.
    #[must_use]
    pub fn what(&self) -> What {
        What::ALL[(self.when & 7) as usize]
    }

    /// What came of it.
    #[must_use]
    pub fn came(&self) -> Came {
        Came::ALL[(self.when >> 3 & 3) as usize]
    }

    /// It is a WATCH that asks for the present objects first (`sendInitialEvents=true`).
    #[must_use]
    pub fn asks_initial_events(&self) -> bool {
        self.when >> 5 & 1 == 1
    }
}

/// The upper half of a hash, which is the better one.
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The name of a row's shape in records.
#[must_use]
pub fn shape_of(hash: u64) -> u32 {
    half(hash)
}

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
    /// How many there were.
    pub seen: u64,
}

impl Life {
    fn keep_earliest(&mut self, cap: usize) {
        if self.records.len() > cap {
            self.records.select_nth_unstable(cap);
            self.records.truncate(cap);
            self.records.shrink_to(2 * cap);
        }
    }

    fn excess(&self) -> usize {
        self.records.len().saturating_sub(FREE)
    }
}

/// The instances of all clients.
#[derive(Debug)]
pub struct Lives {
    lives: HashMap<u64, Life, FxBuildHasher>,
    /// Only instances whose hash has so many leading zeros are followed.
    sampled: u32,
    /// Of each the earliest so many requests are kept.
    cap: usize,
    /// Requests that are held beyond [`FREE`].
    excess: usize,
    /// Requests of instances that are not followed.
    left_out: u64,
}

impl Default for Lives {
    fn default() -> Self {
        Self { lives: HashMap::default(), sampled: 0, cap: MAX_RECORDS, excess: 0, left_out: 0 }
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
    /// Keeps what is known of a request. `shape` is the hash of its row's shape.
    pub fn note(&mut self, client: u64, product: u64, shape: u64, request: &Request<'_>) {
        let Some(record) = Record::of(request, shape) else { return };
        let instance = request.instance();
        let key = hash_of(&(client, product, instance));
        if key.leading_zeros() < self.sampled {
            self.left_out += 1;
            return;
        }
        let life = self.lives.entry(key).or_insert_with(|| Life {
            client,
            product,
            instance: instance.map(|name| prefix(name, MAX_NAME).into()),
            records: Vec::new(),
            seen: 0,
        });
        life.seen += 1;
        life.records.push(record);
        self.excess += usize::from(life.records.len() > FREE);
        if life.records.len() >= 2 * self.cap {
            let before = life.excess();
            life.keep_earliest(self.cap);
            self.excess -= before - life.excess();
        }
        self.tighten_if(2);
    }

    /// Keeps to the bounds once what is held is so many times as much.
    fn tighten_if(&mut self, times: usize) {
        if self.lives.len() > times * MAX_LIVES {
            while self.lives.len() > MAX_LIVES {
                self.sample(self.sampled + 1);
            }
        }
        while self.excess > times * BUDGET {
            self.keep_earliest();
            if self.excess > BUDGET {
                self.cap /= 2;
            }
        }
    }

    fn sample(&mut self, zeros: u32) {
        if zeros <= self.sampled {
            return;
        }
        self.sampled = zeros;
        for (_, life) in self.lives.extract_if(|key, _| key.leading_zeros() < zeros) {
            self.left_out += life.seen;
            self.excess -= life.excess();
        }
    }

    fn keep_earliest(&mut self) {
        self.excess = 0;
        for life in self.lives.values_mut() {
            life.keep_earliest(self.cap);
            self.excess += life.excess();
        }
    }

    /// What was followed, the requests of each instance by time, and how much that is.
    #[must_use]
    pub fn settled(mut self) -> (Vec<Life>, Followed) {
        self.keep_earliest();
        self.tighten_if(1);
        let mut followed =
            Followed { one_of: 1 << self.sampled, left_out: self.left_out, ..Followed::default() };
        let mut lives: Vec<(u64, Life)> = self.lives.into_iter().collect();
        lives.sort_unstable_by_key(|(key, life)| (life.client, life.product, *key));
        let mut lives: Vec<Life> = lives.into_iter().map(|(_, life)| life).collect();
        for life in &mut lives {
            life.records.sort_unstable();
            let kept = life.records.len() as u64;
            followed.requests += kept;
            followed.left_out += life.seen - kept;
            if life.seen > kept {
                followed.of_each = Some(self.cap as u64);
            }
        }
        followed.instances = lives.len() as u64;
        (lives, followed)
    }
}

impl Merge for Lives {
    fn merge(&mut self, other: Self) {
        self.left_out += other.left_out;
        self.sample(other.sampled);
        self.cap = self.cap.min(other.cap);
        for (key, life) in other.lives {
            if key.leading_zeros() < self.sampled {
                self.left_out += life.seen;
                continue;
            }
            let own = match self.lives.entry(key) {
                hashbrown::hash_map::Entry::Occupied(own) => own.into_mut(),
                hashbrown::hash_map::Entry::Vacant(free) => {
                    self.excess += life.excess();
                    free.insert(life);
                    continue;
                }
            };
            let before = own.excess();
            own.seen += life.seen;
            own.records.extend(life.records);
            self.excess += own.excess() - before;
        }
        self.tighten_if(1);
    }
}
