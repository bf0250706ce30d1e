//! Whose LISTs were under way while etcd read a collection slowly.

use std::collections::{BTreeMap, HashMap};

use super::{Accounts, Entry, ShapeKey};
use crate::apiserver::options::{Limit, PageSize, Single};
use crate::apiserver::{ServedFrom, stored};
use crate::k8s::{Scope, Verb};
use crate::ledger::etcd::SlowRange;
use crate::ledger::{Exemplar, Row};

/// How far the clocks of etcd and of the apiserver may differ, in microseconds. It counts only for reads during which
/// no LIST was under way: on one host, or with NTP, they hardly differ.
pub const SLACK: i64 = 1_000_000;
/// How far a LIST may seem to begin after a read or to end before it, and still be taken to cover it, in microseconds:
/// what NTP leaves between hosts, and etcd's milliseconds.
const JITTER: i64 = 100_000;

/// A LIST that may have read etcd, from its arrival to its end.
#[derive(Debug, Clone, Copy)]
pub struct ListUnderWay<'a> {
    /// Index of the client among the accounts.
    pub client: usize,
    /// The resource as reports name it.
    pub resource: &'a str,
    /// When it was received, in microseconds since 1970.
    pub from: i64,
    /// When it was answered, in microseconds since 1970.
    pub to: i64,
    /// It is for one namespace; `None` where that is not known.
    pub in_namespace: Option<bool>,
    /// Its limit; `None` where that is not known.
    pub limit: Option<Limit>,
}

/// The slow reads of a resource during which a client's LISTs of it were under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowReads {
    /// How many. One during which several clients' LISTs were under way counts for each of them.
    pub reads: u64,
    /// Of these, those that began and ended while one LIST was under way: only such a LIST can have waited for it.
    pub covered: u64,
    /// Those of which that, or where it is true of nobody the former, is true of this client only.
    pub alone: u64,
    /// The costliest; of those that are covered if there is one.
    pub worst: SlowRange,
}

/// All slow reads and whose they may be.
#[derive(Debug, Default)]
pub struct Matched {
    /// By client and resource.
    pub clients: BTreeMap<(usize, String), SlowReads>,
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
    /// of that size, or of greater ones where a selector leaves little of them.
    fn may_read(&self, range: &SlowRange) -> bool {
        let scope = self.in_namespace.is_none_or(|own| own == range.in_namespace);
        scope
            && match self.limit {
                None => true,
                Some(Limit::Absent | Limit::Unlimited) => range.limit == 0,
                Some(Limit::Page(PageSize::Exactly(size))) => range.limit >= u64::from(size),
                Some(Limit::Page(PageSize::UpTo(_) | PageSize::More)) => range.limit > 0,
                Some(Limit::Invalid) => false,
            }
    }
}

/// Finds for each slow read of a collection the clients whose LISTs of it were under way. Neither the order of the
/// reads nor that of the LISTs matters.
#[must_use]
pub fn under_way<'a>(
    ranges: impl Iterator<Item = &'a SlowRange>,
    lists: impl Iterator<Item = ListUnderWay<'a>>,
) -> Matched {
    let mut by_resource: HashMap<&str, Ranges<'a>> = HashMap::new();
    for range in ranges {
        by_resource.entry(&range.resource).or_default().all.push((range, BTreeMap::new()));
    }
    by_resource.values_mut().for_each(Ranges::sort);
    for list in lists {
        if let Some(ranges) = by_resource.get_mut(&*stored::stored_name(list.resource)) {
            ranges.meet(&list);
        }
    }
    let mut matched = Matched::default();
    for (resource, ranges) in by_resource {
        let mut counts = (0, 0);
        for (range, mut near) in ranges.all {
            let nearest = near.values().max().copied();
            if nearest > Some(Nearness::Near) {
                near.retain(|_, own| *own > Nearness::Near);
            }
            counts.0 += 1;
            counts.1 += u64::from(nearest.is_some());
            let likeliest = near.iter().filter(|(_, own)| Some(**own) == nearest);
            let mut likeliest: Vec<usize> = likeliest.map(|((client, _), _)| *client).collect();
            likeliest.dedup();
            for ((client, name), own) in near {
                matched.add(client, name, range, own, likeliest == [client]);
            }
        }
        matched.resources.insert(resource.to_owned(), counts);
    }
    matched
}

/// How near a LIST is to a slow read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// Less than [`SLACK`] before or after it.
    Near,
    /// Under way during a part of it.
    Overlaps,
    /// Under way during all of it.
    Covers,
}

/// The clients near a range, each with a name of the resource, and how near the nearest of their LISTs is.
type Near<'a> = BTreeMap<(usize, &'a str), Nearness>;

/// The slow reads of one resource.
#[derive(Debug, Default)]
struct Ranges<'a> {
    /// By when they ended.
    all: Vec<(&'a SlowRange, Near<'a>)>,
    /// The longest took so long, in microseconds.
    longest: u64,
}

impl<'a> Ranges<'a> {
    fn sort(&mut self) {
        self.all.sort_by_key(|(range, _)| range.ended);
        self.longest = self.all.iter().map(|(range, _)| range.took_micros).max().unwrap_or(0);
    }

    /// Notes a LIST beside the reads that it is near.
    fn meet(&mut self, list: &ListUnderWay<'a>) {
        let first = self.all.partition_point(|(range, _)| range.ended < list.from.saturating_sub(SLACK));
        let latest = list.to.saturating_add(SLACK).saturating_add_unsigned(self.longest);
        for (range, near) in &mut self.all[first..] {
            if range.ended > latest {
                break;
            }
            if let Some(nearness) = list.nearness(range) {
                let own = near.entry((list.client, list.resource)).or_insert(nearness);
                *own = nearness.max(*own);
            }
        }
    }
}

impl Matched {
    fn add(&mut self, client: usize, resource: &str, range: &SlowRange, nearness: Nearness, alone: bool) {
        let is_covered = nearness == Nearness::Covers;
        let own = self.clients.entry((client, resource.to_owned())).or_insert_with(|| SlowReads {
            reads: 0,
            covered: 0,
            alone: 0,
            worst: range.clone(),
        });
        let is_first_covered = is_covered && own.covered == 0;
        if is_first_covered || (is_covered || own.covered == 0) && *range < own.worst {
            own.worst = range.clone();
        }
        own.reads += 1;
        own.covered += u64::from(is_covered);
        own.alone += u64::from(alone);
    }

    /// The clients with slow reads of a resource by its name in etcd's log, with their own names of it.
    pub fn of_resource(&self, stored: &str) -> impl Iterator<Item = (usize, &str, &SlowReads)> {
        let clients = self.clients.iter().filter(move |((_, name), _)| stored::stored_name(name) == stored);
        clients.map(|((client, name), reads)| (*client, name.as_str(), reads))
    }

    /// The slow reads of a client and a resource.
    #[must_use]
    pub fn of(&self, client: usize, resource: &str) -> Option<&SlowReads> {
        // A search by the pair would need a `String`.
        self.clients
            .range((client, String::new())..(client + 1, String::new()))
            .find(|((_, name), _)| name == resource)
            .map(|(_, reads)| reads)
    }
}

impl Accounts {
    /// Finds whose LISTs were under way during slow reads of etcd.
    pub fn match_slow_reads<'a>(&mut self, ranges: impl Iterator<Item = &'a SlowRange>) {
        let ranges: Vec<&SlowRange> = ranges.collect();
        self.slow_reads = under_way(ranges.into_iter(), self.lists_under_way());
    }

    /// The LISTs that are known one by one, of those that may have read a collection from etcd: those of the instances
    /// that are followed, and the costliest of each row.
    fn lists_under_way(&self) -> impl Iterator<Item = ListUnderWay<'_>> {
        let entries = self.clients.iter().enumerate().flat_map(|(client, account)| {
            account.entries.iter().map(move |(key, entry)| (client, key, entry))
        });
        entries.filter(|(_, key, entry)| reads_collections(key, entry)).flat_map(|(client, key, entry)| {
            let resource = key.resource.as_deref().unwrap_or_default();
            let limit = entry.asked.as_ref().map(|asked| asked.options.limit);
            let in_namespace = key.scope.map(|scope| scope == Scope::Namespace);
            let costliest = entry.rows.iter().flat_map(|one| exemplars(&one.row)).filter_map(|exemplar| {
                let from = exemplar.received?;
                Some((from, from.saturating_add_unsigned(exemplar.micros?)))
            });
            let followed = entry.rows.iter().flat_map(|one| one.lists.iter().copied());
            followed.chain(costliest).map(move |(from, to)| ListUnderWay {
                client,
                resource,
                from,
                to,
                in_namespace,
                limit,
            })
        })
    }
}

/// Whether etcd may have read a collection for such requests.
pub(super) fn reads_collections(key: &ShapeKey, entry: &Entry) -> bool {
    let one_key = entry.asked.as_ref().is_some_and(|asked| asked.options.single == Single::Key);
    key.verb == Some(Verb::List)
        && matches!(key.served_from, ServedFrom::Etcd | ServedFrom::Depends)
        && !one_key
}

fn exemplars(row: &Row) -> impl Iterator<Item = &Exemplar> {
    let failed = row.failed.as_ref().map_or(&[] as &[Exemplar], |failed| failed.as_slice());
    row.exemplars.as_slice().iter().chain(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Place;
    use proptest::prelude::*;

    /// In seconds.
    fn range(resource: &str, began: i64, ended: i64, bytes: u64) -> SlowRange {
        SlowRange {
            bytes,
            took_micros: (ended - began).unsigned_abs() * 1_000_000,
            place: Place { source: 0, offset: bytes, line: bytes },
            ended: ended * 1_000_000,
            items: bytes / 10,
            limit: 0,
            in_namespace: false,
            resource: resource.into(),
        }
    }

    fn list(client: usize, resource: &str, from: i64, to: i64) -> ListUnderWay<'_> {
        let (from, to) = (from * 1_000_000, to * 1_000_000);
        ListUnderWay { client, resource, from, to, in_namespace: None, limit: None }
    }

    /// Client, resource, reads, those that are covered, those of it alone, bytes of the worst.
    fn told(matched: &Matched) -> Vec<(usize, &str, [u64; 4])> {
        let clients = matched.clients.iter();
        clients
            .map(|((client, name), reads)| {
                (*client, name.as_str(), [reads.reads, reads.covered, reads.alone, reads.worst.bytes])
            })
            .collect()
    }

    #[test]
    fn a_read_is_of_those_whose_lists_were_under_way() {
        let ranges = [range("pods", 10, 20, 70), range("pods", 100, 101, 30), range("nodes", 10, 20, 10)];
        let lists = [
            list(0, "pods", 9, 21),
            list(1, "pods", 19, 19),
            list(0, "pods", 99, 102),
            list(2, "pods", 21, 22),
            list(3, "nodes", 40, 50),
        ];
        let matched = under_way(ranges.iter(), lists.into_iter());
        assert_eq!(told(&matched), [(0, "pods", [2, 2, 2, 70]), (1, "pods", [1, 0, 0, 70])]);
        assert_eq!(matched.resources["pods"], (2, 2));
        assert_eq!(matched.resources["nodes"], (1, 0));
        assert_eq!(matched.of(1, "pods").map(|reads| reads.reads), Some(1));
        assert!(matched.of(1, "nodes").is_none() && matched.of(2, "pods").is_none());
    }

    #[test]
    fn a_list_that_waited_for_a_read_is_told_from_one_beside_it() {
        let ranges = [range("pods", 10, 20, 70), range("pods", 30, 32, 30), range("pods", 50, 60, 90)];
        let lists = [
            list(0, "pods", 9, 21),
            list(1, "pods", 10, 20),
            list(2, "pods", 12, 13),
            list(2, "pods", 29, 33),
            list(0, "pods", 31, 31),
            list(0, "pods", 55, 56),
        ];
        let matched = under_way(ranges.iter(), lists.into_iter());
        // The worst of the client that waited for one is that one, though it was beside a worse.
        let of = [(0, "pods", [3, 1, 1, 70]), (1, "pods", [1, 1, 0, 70]), (2, "pods", [2, 1, 1, 30])];
        assert_eq!(told(&matched), of);
        let mut late = list(0, "pods", 10, 20);
        late.from += JITTER;
        assert_eq!(late.nearness(&ranges[0]), Some(Nearness::Covers));
        late.from += 1;
        assert_eq!(late.nearness(&ranges[0]), Some(Nearness::Overlaps));
    }

    #[test]
    fn clocks_may_differ_where_nothing_overlaps() {
        let ranges = [range("pods", 10, 20, 70)];
        let near = |lists: &[ListUnderWay<'static>]| {
            let matched = under_way(ranges.iter(), lists.iter().copied());
            matched.clients.into_keys().map(|(client, _)| client).collect::<Vec<_>>()
        };
        assert_eq!(near(&[list(0, "pods", 21, 25), list(1, "pods", 3, 9), list(2, "pods", 22, 23)]), [0, 1]);
        assert_eq!(near(&[list(0, "pods", 21, 25), list(1, "pods", 3, 10)]), [1]);
    }

    #[test]
    fn a_list_reads_its_own_range_only() {
        let page = |limit| SlowRange { limit, ..range("pods", 10, 20, 70) };
        let own = |limit| ListUnderWay { limit: Some(limit), ..list(0, "pods", 10, 20) };
        for (limit, of_range, want) in [
            (Limit::Absent, 0, true),
            (Limit::Absent, 500, false),
            (Limit::Unlimited, 0, true),
            (Limit::Page(PageSize::Exactly(500)), 500, true),
            (Limit::Page(PageSize::Exactly(500)), 1_000, true),
            (Limit::Page(PageSize::Exactly(500)), 100, false),
            (Limit::Page(PageSize::Exactly(500)), 0, false),
            (Limit::Page(PageSize::More), 70_000, true),
            (Limit::Invalid, 0, false),
        ] {
            assert_eq!(own(limit).may_read(&page(of_range)), want, "{limit:?} {of_range}");
        }
        let of_namespace = ListUnderWay { in_namespace: Some(true), ..list(0, "pods", 10, 20) };
        assert!(!of_namespace.may_read(&page(0)));
        assert!(of_namespace.may_read(&SlowRange { in_namespace: true, ..page(0) }));
    }

    #[test]
    fn groups_that_share_their_objects_share_their_reads() {
        let ranges = [range("events", 10, 20, 70)];
        let matched = under_way(ranges.iter(), [list(0, "events.events.k8s.io", 10, 20)].into_iter());
        assert_eq!(told(&matched), [(0, "events.events.k8s.io", [1, 1, 1, 70])]);
    }

    proptest! {
        /// The naive twin looks at each pair.
        #[test]
        fn no_pair_is_missed_whatever_the_order(
            ranges in prop::collection::vec((0_i64..60, 0_i64..20), 0..30),
            lists in prop::collection::vec((0_usize..4, 0_i64..60, 0_i64..20), 0..30),
        ) {
            let ranges: Vec<SlowRange> = (1..)
                .zip(ranges)
                .map(|(bytes, (began, took))| range("pods", began, began + took, bytes))
                .collect();
            let lists: Vec<ListUnderWay<'_>> =
                lists.into_iter().map(|(client, from, took)| list(client, "pods", from, from + took)).collect();
            let mut naive: BTreeMap<usize, u64> = BTreeMap::new();
            for range in &ranges {
                let within = |slack| {
                    let near = lists.iter().filter(move |list| list.distance(range) <= slack);
                    near.map(|list| list.client).collect::<std::collections::BTreeSet<_>>()
                };
                let clients = if within(0).is_empty() { within(SLACK) } else { within(0) };
                for client in clients {
                    *naive.entry(client).or_default() += 1;
                }
            }
            let matched = under_way(ranges.iter().rev(), lists.iter().rev().copied());
            let reads: BTreeMap<usize, u64> =
                matched.clients.iter().map(|((client, _), reads)| (*client, reads.reads)).collect();
            prop_assert_eq!(&reads, &naive);
            let again = under_way(ranges.iter(), lists.into_iter());
            prop_assert_eq!(told(&matched), told(&again));
        }
    }
}
