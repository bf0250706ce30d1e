//! Matches slow reads of collections in etcd's log to LISTs that ran at the same time.

use std::collections::{BTreeMap, HashMap};

use crate::apiserver::options::{Limit, PageSize};
use crate::apiserver::storage_key;
use crate::ledger::etcd::SlowRange;
use crate::named::named;

/// The largest assumed difference between the clocks of etcd and the apiserver, in microseconds. It applies only to
/// reads that overlap no LIST. Clocks on one host, or clocks with NTP, hardly differ.
pub(crate) const SLACK: i64 = 1_000_000;
/// A tolerance in microseconds. A LIST covers a read even if the LIST seems to begin up to this much later than the
/// read. The same holds if the LIST seems to end up to this much earlier than the read. The clocks of two hosts can
/// differ by this much even with NTP. Also, etcd logs only milliseconds.
const JITTER: i64 = 100_000;

/// The largest size to which the server enlarges pages.
///
/// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:maxLimit`.
const MAX_PAGE: u64 = 10_000;

/// A LIST that may have read from etcd.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunningList<'a> {
    /// Index of the client in [`JudgedClients::clients`](crate::judged::JudgedClients::clients).
    pub(crate) client: usize,
    /// Index of the LIST's row among the rows of all clients.
    pub(crate) row: usize,
    /// The resource's name in reports.
    pub(crate) resource: &'a str,
    /// Receive time, in microseconds since 1970.
    pub(crate) from: i64,
    /// End time, in microseconds since 1970.
    pub(crate) to: i64,
    /// Whether the LIST reads one namespace; `None` if unknown.
    pub(crate) in_namespace: Option<bool>,
    /// A hash of the namespace ([`namespace_hash`](crate::requests::namespace_hash)); 0 if unknown.
    pub(crate) namespace: u32,
    /// The limit of the LIST; `None` if unknown.
    pub(crate) limit: Option<Limit>,
    /// True if the LIST has a selector.
    pub(crate) selects: bool,
}

/// A slow read that matches LISTs of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlowRead {
    /// Index of the read in [`MatchedSlowReads::ranges`].
    pub(crate) range: usize,
    /// How well the best LIST of the client matches the read.
    pub(crate) nearness: Nearness,
    /// True if the LISTs that match the read best are all from this client.
    pub(crate) alone: bool,
}

/// The number of slow reads of a resource that match LISTs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowReads {
    /// Slow reads. A read that matches LISTs of several clients counts for each client.
    pub(crate) reads: u64,
    /// Reads that began and ended while one LIST of the client ran. Only such a LIST can have waited for the whole
    /// read.
    pub(crate) covered: u64,
    /// Bytes of the covered reads.
    pub(crate) covered_bytes: u64,
    /// Reads whose best matching LISTs are all from this client.
    pub(crate) alone: u64,
    /// The costliest covered read, or else the costliest read.
    pub(crate) worst: SlowRange,
}

#[derive(Debug, Default)]
pub(crate) struct MatchedSlowReads {
    /// The slow reads, costliest first.
    pub(crate) ranges: Vec<SlowRange>,
    /// The slow reads of each client and resource.
    pub(crate) clients: BTreeMap<(usize, String), Vec<SlowRead>>,
    /// By the resource's name in etcd's log: the number of slow reads, and how many of them match a client.
    pub(crate) resources: BTreeMap<String, (u64, u64)>,
}

impl RunningList<'_> {
    /// The time between the LIST and a read, in microseconds; 0 if they overlap.
    fn distance(&self, range: &SlowRange) -> i64 {
        let gap = |earlier: i64, later: i64| later.saturating_sub(earlier).max(0);
        gap(range.ended, self.from).max(gap(self.to, range.began()))
    }

    /// How well the LIST matches a read of its collection; `None` if it does not match.
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

    /// Whether the LIST may cause this read. Namespace and page size must match.
    ///
    /// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:GetList`. The server reads pages only if the LIST has a
    /// limit. The limit is the size of a page. If a selector drops too many objects of a page, the next page is twice
    /// as large, up to `maxLimit`.
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

/// Whether a page has the requested size or a size to which the server enlarges it.
fn doubled(limit: u64, page: u64) -> bool {
    let next = |size: &u64| (*size < MAX_PAGE).then(|| MAX_PAGE.min(size * 2));
    std::iter::successors(Some(limit), next).any(|size| size == page)
}

/// The largest usual page size below `size`; 0 if there is none.
fn smaller_usual(size: u16) -> u64 {
    Limit::USUAL.into_iter().rev().find(|usual| *usual < size).unwrap_or(0).into()
}

/// Finds the clients and the rows whose LISTs match each slow read of a collection. The result does not depend on the order
/// of the reads or of the LISTs.
pub(crate) fn match_to_lists<'a, 'r>(
    ranges: impl Iterator<Item = &'r SlowRange>,
    lists: impl Iterator<Item = RunningList<'a>>,
) -> (MatchedSlowReads, BTreeMap<usize, Vec<SlowRead>>) {
    let mut sorted: Vec<SlowRange> = ranges.cloned().collect();
    sorted.sort_unstable();
    let mut by_resource: HashMap<&str, ResourceReads<'_>> = HashMap::new();
    for (index, range) in sorted.iter().enumerate() {
        by_resource.entry(&range.resource).or_default().all.push((index, range, BTreeMap::new()));
    }
    by_resource.values_mut().for_each(ResourceReads::sort);
    for list in lists {
        if let Some(ranges) = by_resource.get_mut(&*storage_key::stored_name(list.resource)) {
            ranges.match_list(&list);
        }
    }
    let mut matched = MatchedSlowReads::default();
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

named! {
    /// How well a LIST matches a slow read in time.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Nearness {
        /// The LIST ended or began within [`SLACK`] of the read.
        Near = "near",
        /// The LIST ran during a part of the read.
        Overlaps = "overlaps",
        /// The LIST ran during the whole read.
        Covers = "covers",
    }
    pub(crate) fn as_str;
}

/// For each client, resource name and row: how well the best of its LISTs matches a slow read.
type NearClients<'a> = BTreeMap<(usize, &'a str, usize), Nearness>;

#[derive(Debug, Default)]
struct ResourceReads<'a> {
    /// The reads, sorted by end time.
    all: Vec<(usize, &'a SlowRange, NearClients<'a>)>,
    /// The duration of the longest read, in microseconds.
    longest: u64,
}

impl<'a> ResourceReads<'a> {
    fn sort(&mut self) {
        self.all.sort_by_key(|(_, range, _)| range.ended);
        self.longest = self.all.iter().map(|(_, range, _)| range.took_micros).max().unwrap_or(0);
    }

    /// Finds the reads that a LIST matches, and adds the LIST to them.
    fn match_list(&mut self, list: &RunningList<'a>) {
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

impl MatchedSlowReads {
    /// Counts each slow read once, even if `reads` has it several times. Returns `None` if there are none.
    pub(crate) fn count<'r>(&self, reads: impl IntoIterator<Item = &'r SlowRead>) -> Option<SlowReads> {
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
        // The ranges are sorted by cost, so the smallest index is the costliest read.
        let costliest = covered.first().copied().or_else(|| self.ranges.get(*all.keys().next()?));
        Some(SlowReads {
            reads: all.len() as u64,
            covered: covered.len() as u64,
            covered_bytes: covered.iter().fold(0, |sum, range| sum.saturating_add(range.bytes)),
            alone: all.values().filter(|(_, alone)| *alone).count() as u64,
            worst: costliest?.clone(),
        })
    }

    /// Iterates over the clients with slow reads of a resource. Yields the client, the resource's name in the
    /// client's requests, and the reads. `stored` is the resource's name in etcd's log.
    pub(crate) fn of_resource(&self, stored: &str) -> impl Iterator<Item = (usize, &str, &[SlowRead])> {
        let clients =
            self.clients.iter().filter(move |((_, name), _)| storage_key::stored_name(name) == stored);
        clients.map(|((client, name), reads)| (*client, name.as_str(), &**reads))
    }
}

#[cfg(test)]
mod tests;
