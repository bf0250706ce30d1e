//! Tests of the matching between slow reads and LISTs.

use super::*;
use crate::input::SourcePosition;
use proptest::prelude::*;

/// A slow read; times are in seconds.
fn range(resource: &str, began: i64, ended: i64, bytes: u64) -> SlowRange {
    SlowRange {
        bytes,
        took_micros: (ended - began).unsigned_abs() * 1_000_000,
        place: SourcePosition { source: 0, offset: bytes, line: bytes },
        ended: ended * 1_000_000,
        items: bytes / 10,
        limit: 0,
        in_namespace: false,
        namespace: 0,
        resource: resource.into(),
    }
}

fn list(client: usize, resource: &str, from: i64, to: i64) -> RunningList<'_> {
    let (from, to) = (from * 1_000_000, to * 1_000_000);
    RunningList {
        client,
        row: client,
        resource,
        from,
        to,
        in_namespace: None,
        namespace: 0,
        limit: None,
        selects: false,
    }
}

fn matched<'a>(
    ranges: impl Iterator<Item = &'a SlowRange>,
    lists: impl Iterator<Item = RunningList<'a>>,
) -> MatchedSlowReads {
    match_to_lists(ranges, lists).0
}

/// For each client and resource, four numbers:
/// - its slow reads
/// - the covered reads
/// - the reads whose best matching LISTs are all from this client
/// - the bytes of the worst read
fn counts(matched: &MatchedSlowReads) -> Vec<(usize, &str, [u64; 4])> {
    let clients = matched.clients.iter();
    clients
        .map(|((client, name), reads)| {
            let reads = matched.count(reads).expect("reads");
            (*client, name.as_str(), [reads.reads, reads.covered, reads.alone, reads.worst.bytes])
        })
        .collect()
}

#[test]
fn slow_read_matches_the_clients_with_overlapping_lists() {
    let ranges = [range("pods", 10, 20, 70), range("pods", 100, 101, 30), range("nodes", 10, 20, 10)];
    let lists = [
        list(0, "pods", 9, 21),
        list(1, "pods", 19, 19),
        list(0, "pods", 99, 102),
        list(2, "pods", 21, 22),
        list(3, "nodes", 40, 50),
    ];
    let matched = self::matched(ranges.iter(), lists.into_iter());
    assert_eq!(counts(&matched), [(0, "pods", [2, 2, 2, 70]), (1, "pods", [1, 0, 0, 70])]);
    assert_eq!(matched.resources["pods"], (2, 2));
    assert_eq!(matched.resources["nodes"], (1, 0));
}

#[test]
fn row_has_only_the_reads_of_its_own_lists() {
    let ranges = [range("pods", 10, 20, 70), range("pods", 30, 32, 30)];
    let of_row = |row, list| RunningList { row, ..list };
    let lists = [
        of_row(7, list(0, "pods", 9, 21)),
        of_row(7, list(0, "pods", 29, 33)),
        of_row(8, list(0, "pods", 15, 16)),
        of_row(9, list(0, "pods", 50, 51)),
    ];
    let (matched, of_rows) = match_to_lists(ranges.iter(), lists.into_iter());
    let count = |rows: &[usize]| {
        let reads = matched.count(rows.iter().filter_map(|row| of_rows.get(row)).flatten())?;
        Some([reads.reads, reads.covered, reads.covered_bytes, reads.alone])
    };
    assert_eq!(count(&[7]), Some([2, 2, 100, 2]));
    assert_eq!(count(&[8]), Some([1, 0, 0, 1]));
    assert_eq!(count(&[7, 8]), Some([2, 2, 100, 2]), "each read counts once");
    assert_eq!(count(&[9]), None);
}

#[test]
fn list_that_covers_a_read_ranks_above_one_that_overlaps() {
    let ranges = [range("pods", 10, 20, 70), range("pods", 30, 32, 30), range("pods", 50, 60, 90)];
    let lists = [
        list(0, "pods", 9, 21),
        list(1, "pods", 10, 20),
        list(2, "pods", 12, 13),
        list(2, "pods", 29, 33),
        list(0, "pods", 31, 31),
        list(0, "pods", 55, 56),
    ];
    let matched = self::matched(ranges.iter(), lists.into_iter());
    // A client's worst read is one that a LIST of the client covers, even if a costlier read only overlaps.
    let of = [(0, "pods", [3, 1, 1, 70]), (1, "pods", [1, 1, 0, 70]), (2, "pods", [2, 1, 1, 30])];
    assert_eq!(counts(&matched), of);
    let mut late = list(0, "pods", 10, 20);
    late.from += JITTER;
    assert_eq!(late.nearness(&ranges[0]), Some(Nearness::Covers));
    late.from += 1;
    assert_eq!(late.nearness(&ranges[0]), Some(Nearness::Overlaps));
}

#[test]
fn clock_difference_is_allowed_only_without_overlap() {
    let ranges = [range("pods", 10, 20, 70)];
    let near = |lists: &[RunningList<'static>]| {
        let matched = self::matched(ranges.iter(), lists.iter().copied());
        matched.clients.into_keys().map(|(client, _)| client).collect::<Vec<_>>()
    };
    assert_eq!(near(&[list(0, "pods", 21, 25), list(1, "pods", 3, 9), list(2, "pods", 22, 23)]), [0, 1]);
    assert_eq!(near(&[list(0, "pods", 21, 25), list(1, "pods", 3, 10)]), [1]);
}

#[test]
fn list_matches_only_reads_of_its_namespace_and_page_size() {
    let page = |limit| SlowRange { limit, ..range("pods", 10, 20, 70) };
    let own = |limit| RunningList { limit: Some(limit), ..list(0, "pods", 10, 20) };
    let exactly = |size| Limit::Page(PageSize::Exactly(size));
    for (limit, of_range, plain, with_selector) in [
        (Limit::Absent, 0, true, true),
        (Limit::Absent, 500, false, false),
        (Limit::Unlimited, 0, true, true),
        (exactly(500), 500, true, true),
        (exactly(500), 1_000, false, true),
        (exactly(500), 8_000, false, true),
        (exactly(500), 9_000, false, false),
        (exactly(500), 10_000, false, true),
        (exactly(500), 16_000, false, false),
        (exactly(500), 100, false, false),
        (exactly(500), 0, false, false),
        (exactly(50_000), 50_000, true, true),
        (exactly(50_000), 10_000, false, false),
        (Limit::Page(PageSize::UpTo(500)), 300, true, true),
        (Limit::Page(PageSize::UpTo(500)), 600, false, true),
        (Limit::Page(PageSize::UpTo(500)), 250, false, false),
        (Limit::Page(PageSize::More), 70_000, true, true),
        (Limit::Page(PageSize::More), 500, false, false),
        (Limit::Invalid, 0, false, false),
    ] {
        let list = own(limit);
        assert_eq!(list.may_read(&page(of_range)), plain, "{limit:?} {of_range}");
        let selecting = RunningList { selects: true, ..list };
        assert_eq!(
            selecting.may_read(&page(of_range)),
            with_selector,
            "{limit:?} {of_range} with a selector"
        );
    }
    let of_namespace = RunningList { in_namespace: Some(true), ..list(0, "pods", 10, 20) };
    assert!(!of_namespace.may_read(&page(0)));
    let page_in = |namespace| SlowRange { in_namespace: true, namespace, ..page(0) };
    assert!(of_namespace.may_read(&page_in(7)), "which one is not known");
    let of_seven = RunningList { namespace: 7, ..of_namespace };
    assert!(of_seven.may_read(&page_in(7)) && !of_seven.may_read(&page_in(8)));
}

#[test]
fn api_groups_with_shared_storage_share_slow_reads() {
    let ranges = [range("events", 10, 20, 70)];
    let matched = self::matched(ranges.iter(), [list(0, "events.events.k8s.io", 10, 20)].into_iter());
    assert_eq!(counts(&matched), [(0, "events.events.k8s.io", [1, 1, 1, 70])]);
}

proptest! {
    /// The naive implementation compares each pair.
    #[test]
    fn matching_finds_every_pair_in_any_order(
        ranges in prop::collection::vec((0_i64..60, 0_i64..20), 0..30),
        lists in prop::collection::vec((0_usize..4, 0_i64..60, 0_i64..20), 0..30),
    ) {
        let ranges: Vec<SlowRange> = (1..)
            .zip(ranges)
            .map(|(bytes, (began, took))| range("pods", began, began + took, bytes))
            .collect();
        let lists: Vec<RunningList<'_>> =
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
        let matched = self::matched(ranges.iter().rev(), lists.iter().rev().copied());
        let reads: BTreeMap<usize, u64> =
            matched.clients.iter().map(|((client, _), reads)| (*client, reads.len() as u64)).collect();
        prop_assert_eq!(&reads, &naive);
        let again = self::matched(ranges.iter(), lists.into_iter());
        prop_assert_eq!(counts(&matched), counts(&again));
    }
}
