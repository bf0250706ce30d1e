//! Puts slow reads of collections beside the LISTs that were under way.

use std::collections::{BTreeMap, HashMap};

use crate::apiserver::options::{Limit, PageSize};
use crate::apiserver::storage_key;
use crate::ledger::etcd::SlowRange;

/// How far the clocks of etcd and of the apiserver may differ, in microseconds. It counts only for reads during which
/// no LIST was under way: on one host, or with NTP, they hardly differ.
pub const SLACK: i64 = 1_000_000;
/// How far a LIST may seem to begin after a read or to end before it, and still be taken to cover it, in microseconds:
/// what NTP leaves between hosts, and etcd's milliseconds.
const JITTER: i64 = 100_000;

/// The greatest page that the server makes of a smaller one.
///
/// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:maxLimit`.
const MAX_PAGE: u64 = 10_000;

/// A LIST that may have read etcd, from its arrival to its end.
#[derive(Debug, Clone, Copy)]
pub struct ListUnderWay<'a> {
    /// Index of the client among the accounts.
    pub client: usize,
    /// Index of its row among the rows of all accounts.
    pub row: usize,
    /// The resource as reports name it.
    pub resource: &'a str,
    /// When it was received, in microseconds since 1970.
    pub from: i64,
    /// When it was answered, in microseconds since 1970.
    pub to: i64,
    /// It is for one namespace; `None` where that is not known.
    pub in_namespace: Option<bool>,
    /// A hash of the namespace ([`namespace_hash`](crate::requests::namespace_hash)); 0 where it is not known.
    pub namespace: u32,
    /// Its limit; `None` where that is not known.
    pub limit: Option<Limit>,
    /// It has a selector.
    pub selects: bool,
}

/// A slow read during which LISTs were under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowRead {
    /// Which: its index in [`Matched::ranges`].
    pub range: usize,
    /// How near the nearest of these LISTs is.
    pub nearness: Nearness,
    /// No LIST of another client is as near.
    pub alone: bool,
}

/// Slow reads of a resource during which LISTs were under way, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowReads {
    /// How many. One during which several clients' LISTs were under way counts for each of them.
    pub reads: u64,
    /// Of these, those that began and ended while one LIST was under way: only such a LIST can have waited for it.
    pub covered: u64,
    /// Bytes of those that are covered.
    pub covered_bytes: u64,
    /// Those of which that, or where it is true of nobody the former, is true of this client only.
    pub alone: u64,
    /// The costliest; of those that are covered if there is one.
    pub worst: SlowRange,
}

/// All slow reads and whose they may be.
#[derive(Debug, Default)]
pub struct Matched {
    /// The slow reads, costliest first.
    pub ranges: Vec<SlowRange>,
    /// Those of each client and resource.
    pub clients: BTreeMap<(usize, String), Vec<SlowRead>>,
    /// By the resource's name in etcd's log: slow reads, and those of them that have a client.
    pub resources: BTreeMap<String, (u64, u64)>,
}

impl ListUnderWay<'_> {
    /// How far apart it and a read of the collection are: 0 if they overlap.
    fn distance(&self, range: &SlowRange) -> i64 {
        let gap = |earlier: i64, later: i64| later.saturating_sub(earlier).max(0);
        gap(range.ended, self.from).max(gap(self.to, range.began()))
    }

    /// How near it is to a read of the collection; `None` where it has nothing to do with it.
    fn nearness(&self, range: &SlowRange) -> Option<Nearness> {
        let covers = self.from <= range.began().saturating_add(JITTER)
            && self.to >= range.ended.saturating_sub(JITTER);
        match self.distance(range) {
            distance if distance > SLACK || !self.may_read(range) => None,
            0 if covers => Some(Nearness::Covers),
            0 => Some(Nearness::Overlaps),
            _ => Some(Nearness::Near),
        }
    }

    /// Whether it may read such a range: of a namespace or of all, in pages or at once.
    ///
    /// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:GetList`, which reads in pages exactly if there is a limit,
    /// of that size; where a selector leaves too little of a page, the next is twice as great, up to `maxLimit`.
    fn may_read(&self, range: &SlowRange) -> bool {
        let is_other = self.namespace != range.namespace && self.namespace != 0 && range.namespace != 0;
        let scope = self.in_namespace.is_none_or(|own| own == range.in_namespace)
            && !(range.in_namespace && is_other);
        scope
            && match self.limit {
                None => true,
                Some(Limit::Absent | Limit::Unlimited) => range.limit == 0,
                Some(Limit::Page(PageSize::Exactly(size))) if self.selects => {
                    doubled(size.into(), range.limit)
                }
                Some(Limit::Page(PageSize::Exactly(size))) => range.limit == u64::from(size),
                Some(Limit::Page(PageSize::UpTo(size))) => {
                    let greatest = if self.selects { MAX_PAGE.max(size.into()) } else { size.into() };
                    range.limit > smaller_usual(size) && range.limit <= greatest
                }
                Some(Limit::Page(PageSize::More)) => {
                    Limit::USUAL.iter().all(|usual| range.limit > u64::from(*usual))
                }
                Some(Limit::Invalid) => false,
            }
    }
}

/// Whether a page is of a size that was asked for, or of one that the server makes of it.
fn doubled(asked: u64, page: u64) -> bool {
    let next = |size: &u64| (*size < MAX_PAGE).then(|| MAX_PAGE.min(size * 2));
    std::iter::successors(Some(asked), next).any(|size| size == page)
}

/// The usual size below another, or 0.
fn smaller_usual(size: u16) -> u64 {
    Limit::USUAL.into_iter().rev().find(|usual| *usual < size).unwrap_or(0).into()
}

/// Finds for each slow read of a collection the clients whose LISTs of it were under way, and the rows of these LISTs.
/// Neither the order of the reads nor that of the LISTs matters.
#[must_use]
pub fn under_way<'a, 'r>(
    ranges: impl Iterator<Item = &'r SlowRange>,
    lists: impl Iterator<Item = ListUnderWay<'a>>,
) -> (Matched, BTreeMap<usize, Vec<SlowRead>>) {
    let mut sorted: Vec<SlowRange> = ranges.cloned().collect();
    sorted.sort_unstable();
    let mut by_resource: HashMap<&str, Ranges<'_>> = HashMap::new();
    for (index, range) in sorted.iter().enumerate() {
        by_resource.entry(&range.resource).or_default().all.push((index, range, BTreeMap::new()));
    }
    by_resource.values_mut().for_each(Ranges::sort);
    for list in lists {
        if let Some(ranges) = by_resource.get_mut(&*storage_key::stored_name(list.resource)) {
            ranges.meet(&list);
        }
    }
    let mut matched = Matched::default();
    let mut of_rows: BTreeMap<usize, Vec<SlowRead>> = BTreeMap::new();
    for (resource, ranges) in by_resource {
        let mut counts = (0, 0);
        for (range, _, mut near) in ranges.all {
            let nearest = near.values().max().copied();
            if nearest > Some(Nearness::Near) {
                near.retain(|_, own| *own > Nearness::Near);
            }
            counts.0 += 1;
            counts.1 += u64::from(nearest.is_some());
            let likeliest = near.iter().filter(|(_, own)| Some(**own) == nearest);
            let mut likeliest: Vec<usize> = likeliest.map(|((client, ..), _)| *client).collect();
            likeliest.dedup();
            for ((client, name, row), nearness) in near {
                let read = SlowRead { range, nearness, alone: likeliest == [client] };
                matched.clients.entry((client, name.to_owned())).or_default().push(read);
                of_rows.entry(row).or_default().push(read);
            }
        }
        matched.resources.insert(resource.to_owned(), counts);
    }
    matched.ranges = sorted;
    (matched, of_rows)
}

/// How near a LIST is to a slow read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// Less than [`SLACK`] before or after it.
    Near,
    /// Under way during a part of it.
    Overlaps,
    /// Under way during all of it.
    Covers,
}

impl Nearness {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Overlaps => "overlaps",
            Self::Covers => "covers",
        }
    }
}

/// The clients near a range, each with a name of the resource and a row, and how near the nearest of its LISTs is.
type Near<'a> = BTreeMap<(usize, &'a str, usize), Nearness>;

/// The slow reads of one resource.
#[derive(Debug, Default)]
struct Ranges<'a> {
    /// By when they ended.
    all: Vec<(usize, &'a SlowRange, Near<'a>)>,
    /// The longest took so long, in microseconds.
    longest: u64,
}

impl<'a> Ranges<'a> {
    fn sort(&mut self) {
        self.all.sort_by_key(|(_, range, _)| range.ended);
        self.longest = self.all.iter().map(|(_, range, _)| range.took_micros).max().unwrap_or(0);
    }

    /// Notes a LIST beside the reads that it is near.
    fn meet(&mut self, list: &ListUnderWay<'a>) {
        let first = self.all.partition_point(|(_, range, _)| range.ended < list.from.saturating_sub(SLACK));
        let latest = list.to.saturating_add(SLACK).saturating_add_unsigned(self.longest);
        for (_, range, near) in &mut self.all[first..] {
            if range.ended > latest {
                break;
            }
            if let Some(nearness) = list.nearness(range) {
                let own = near.entry((list.client, list.resource, list.row)).or_insert(nearness);
                *own = nearness.max(*own);
            }
        }
    }
}

impl Matched {
    /// Counts slow reads; each once, however often it is among them. `None` if there are none.
    #[must_use]
    pub fn count<'r>(&self, reads: impl IntoIterator<Item = &'r SlowRead>) -> Option<SlowReads> {
        let mut all: BTreeMap<usize, (Nearness, bool)> = BTreeMap::new();
        for read in reads {
            let own = all.entry(read.range).or_insert((read.nearness, read.alone));
            *own = (own.0.max(read.nearness), own.1 | read.alone);
        }
        let covered: Vec<&SlowRange> = all
            .iter()
            .filter(|(_, (nearness, _))| *nearness == Nearness::Covers)
            .map(|(range, _)| &self.ranges[*range])
            .collect();
        // The ranges stand in the order of their cost.
        let costliest = covered.first().copied().or_else(|| self.ranges.get(*all.keys().next()?));
        Some(SlowReads {
            reads: all.len() as u64,
            covered: covered.len() as u64,
            covered_bytes: covered.iter().fold(0, |sum, range| sum.saturating_add(range.bytes)),
            alone: all.values().filter(|(_, alone)| *alone).count() as u64,
            worst: costliest?.clone(),
        })
    }

    /// The clients with slow reads of a resource by its name in etcd's log, with their own names of it.
    pub fn of_resource(&self, stored: &str) -> impl Iterator<Item = (usize, &str, &[SlowRead])> {
        let clients =
            self.clients.iter().filter(move |((_, name), _)| storage_key::stored_name(name) == stored);
        clients.map(|((client, name), reads)| (*client, name.as_str(), &**reads))
    }
}

#[cfg(test)]
mod tests;
