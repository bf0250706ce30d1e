//! Tests with small hand-written histories.

use super::time::SECOND;
use super::*;
use crate::ledger::instance_histories::{RequestKind, ResponseClass};
use crate::requests::{Instance, InstanceKind};

/// One request: receive time, kind, response, duration and revision. Times are in milliseconds.
#[derive(Clone, Copy)]
struct TestRequest(i64, RequestKind, ResponseClass, u32, u32);

const LIST: u32 = 1;
const WATCH: u32 = 2;
const PAGE: u32 = 3;

fn list(at: i64) -> TestRequest {
    TestRequest(at, RequestKind::List, ResponseClass::Served, 100, 0)
}

fn watch(at: i64, duration: u32) -> TestRequest {
    TestRequest(at, RequestKind::WatchEnded, ResponseClass::Served, duration, 0)
}

fn open_watch(at: i64) -> TestRequest {
    TestRequest(at, RequestKind::WatchBegan, ResponseClass::Served, 0, 0)
}

fn page(at: i64, revision: u32) -> TestRequest {
    TestRequest(at, RequestKind::NextPage, ResponseClass::Served, 100, revision)
}

fn entries(done: &[TestRequest]) -> Vec<HistoryEntry> {
    let entry = |(index, did): (usize, &TestRequest)| {
        let TestRequest(at, kind, response, millis, revision) = *did;
        let shape = match kind {
            RequestKind::List | RequestKind::Get => LIST,
            RequestKind::NextPage | RequestKind::InconsistentPage => PAGE,
            RequestKind::WatchBegan | RequestKind::WatchEnded => WATCH,
        };
        let link = if shape == WATCH { u32::try_from(index).expect("small") + 1 } else { revision };
        HistoryEntry::made_up(at * 1_000, kind, response, (7, shape), link, millis).with_limit()
    };
    let mut entries: Vec<HistoryEntry> = done.iter().enumerate().map(entry).collect();
    entries.sort_unstable();
    entries
}

fn history(name: &str, done: &[TestRequest]) -> InstanceHistory {
    let entries = entries(done);
    let all_requests = entries.len() as u64;
    InstanceHistory {
        client: 1,
        product: 2,
        instance: Instance { by: InstanceKind::Pod, name: name.into() },
        entries,
        all_requests,
    }
}

fn patterns(histories: &[InstanceHistory]) -> HashMap<u32, Pattern> {
    patterns_of(histories.iter().cloned().map(InstanceRecords::new).collect())
}

fn patterns_of(mut instances: Vec<InstanceRecords>) -> HashMap<u32, Pattern> {
    let (_, rows) = client_patterns(&mut instances, 3_600 * SECOND);
    rows.0.into_iter().map(|(shape, pattern)| (shape, *pattern)).collect()
}

fn pattern(done: &[TestRequest], shape: u32) -> Pattern {
    patterns(&[history("a", done)]).remove(&shape).unwrap_or_default()
}

#[test]
fn a_list_with_a_watch_is_an_informer_start() {
    let done = [list(0), watch(200, 400_000), watch(400_300, 500_000), open_watch(900_400)];
    let informers = pattern(&done, LIST).informers;
    assert_eq!(informers, Informers { starts: 1, ..Informers::default() });
    let lists = pattern(&done, LIST).polling;
    assert_eq!((lists.alone, lists.reads), (0, 0));
    assert_eq!(pattern(&done, WATCH).watching.count, 3);
}

#[test]
fn each_relist_is_counted_by_its_cause() {
    let expired = TestRequest(400_300, RequestKind::WatchEnded, ResponseClass::Expired, 1, 0);
    let refused = TestRequest(600_000, RequestKind::WatchEnded, ResponseClass::Refused, 1, 0);
    let done = [
        list(0),
        watch(200, 400_000),
        expired,
        list(401_000),
        watch(401_200, 198_700),
        refused,
        list(601_000),
        watch(601_200, 100_000),
        list(702_000),
        watch(702_200, 10),
        list(703_000),
        open_watch(703_200),
    ];
    let pattern = pattern(&done, LIST);
    let expected = Informers {
        starts: 1,
        relists: Relists { expired: 2, refused: 1, ended: 1 },
        most_relists: 4,
        ..Informers::default()
    };
    assert_eq!(pattern.most_in_an_hour.relists, 3);
    assert_eq!(pattern.informers, expected, "a watch that ends at once has an expired revision too");
}

#[test]
fn lists_without_a_watch_are_polling() {
    let done: Vec<TestRequest> = (0..20).map(|n| list(n * 30_000 + n % 3)).collect();
    let polling = pattern(&done, LIST).polling;
    assert_eq!((polling.reads, polling.pollers, polling.alone), (20, 1, 20));
    let busiest = &polling.busiest[0];
    assert!(busiest.median.abs_diff(30_000_000) < 3_000 && busiest.spread < 4_000, "{busiest:?}");
    let refused: Vec<TestRequest> =
        (0..20).map(|n| TestRequest(n * 1_000, RequestKind::List, ResponseClass::Refused, 1, 0)).collect();
    assert_eq!(pattern(&refused, LIST).polling, Polling::default(), "refused reads do not poll");
    assert_eq!(pattern(&done[..2], LIST).polling.reads, 0);
}

#[test]
fn pages_are_joined_by_their_revision() {
    let expired = TestRequest(9_000, RequestKind::NextPage, ResponseClass::Expired, 10, 6);
    let done = [
        list(0),
        page(1_000, 5),
        page(2_000, 5),
        list(7_000),
        page(8_000, 6),
        expired,
        list(10_000),
        page(11_000, 9),
        TestRequest(12_000, RequestKind::InconsistentPage, ResponseClass::Served, 100, 0),
    ];
    let chains = pattern(&done, PAGE).chains;
    let expected = Chains {
        count: 3,
        pages: 9,
        longest_pages: 3,
        longest_micros: 2_100_000,
        expired: 1,
        restarted: 1,
        inconsistent_pages: 1,
        without_first_page: 0,
    };
    assert_eq!(chains, expected);
    assert_eq!(pattern(&[page(1_000, 5), page(2_000, 5)], PAGE).chains.without_first_page, 1);
}

#[test]
fn two_informers_of_one_pod_have_parallel_watches() {
    let done = [
        list(0),
        list(300),
        watch(1_000, 300_000),
        watch(1_500, 300_000),
        open_watch(301_100),
        open_watch(301_600),
    ];
    let watching = pattern(&done, WATCH).watching;
    assert_eq!((watching.doubled, watching.most_at_once, watching.doubled_instances), (4, 2, 1));
    assert_eq!(pattern(&done, LIST).informers.starts_twice, 1);
    assert_eq!(pattern(&done, LIST).informers.starts, 2);
    // The second watch begins before the server notices the end of the old connection. It does not count as a watch
    // of a second informer.
    let late = [list(0), watch(1_000, 300_000), watch(290_000, 300_000)];
    assert_eq!(pattern(&late, WATCH).watching.most_at_once, 0);
}

#[test]
fn a_refused_watch_list_falls_back() {
    let mut done = entries(&[list(500), open_watch(900)]);
    done.push(
        HistoryEntry::made_up(0, RequestKind::WatchEnded, ResponseClass::Invalid, (7, 4), 9, 1)
            .with_initial_events(),
    );
    done.sort_unstable();
    let history = InstanceHistory { entries: done, ..history("a", &[]) };
    let patterns = patterns(&[history]);
    assert_eq!(patterns[&4].watching.fallbacks, 1);
    assert_eq!(patterns[&LIST].informers, Informers { starts: 1, ..Informers::default() });
}

#[test]
fn simultaneous_lists_are_a_herd_and_spread_lists_are_none() {
    let at = |name: i64, at: &[i64]| {
        history(&name.to_string(), &at.iter().map(|at| list(*at)).collect::<Vec<_>>())
    };
    let restart: Vec<InstanceHistory> =
        (0..40).map(|n| at(n, &[60_000 + n * 20, 600_000 + n * 25])).collect();
    let herds = &patterns(&restart)[&LIST].herds;
    assert_eq!((herds.count, herds.requests), (2, 80));
    let greatest = herds.greatest[0];
    assert_eq!((greatest.instances, greatest.from, greatest.to), (40, 600 * SECOND, 600_975_000));
    // Each instance lists once in ten minutes, at an even total rate.
    let rest: Vec<InstanceHistory> = (0..600).map(|n| at(n, &[n * 1_000, 600_000 + n * 1_000])).collect();
    let rest = &patterns(&rest)[&LIST];
    assert_eq!((rest.herds.count, rest.instances), (0, 600));
    // One instance alone is never a herd.
    let hurry: Vec<i64> = (0..100).map(|n| n * 10).collect();
    assert_eq!(patterns(&[at(0, &hurry)])[&LIST].herds.count, 0);
}

#[test]
fn orphan_pages_and_pages_after_an_inconsistent_one_are_joined() {
    let complete = HistoryEntry::made_up(0, RequestKind::List, ResponseClass::Served, (7, LIST), 0, 100);
    let mut orphans = entries(&[page(390_000, 5), page(391_000, 5)]);
    orphans.insert(0, complete);
    let patterns = patterns(&[InstanceHistory { entries: orphans, ..history("a", &[]) }]);
    assert_eq!(
        (patterns[&PAGE].chains.pages, patterns[&PAGE].chains.without_first_page),
        (2, 1),
        "a LIST without a limit has none"
    );
    let inconsistent = TestRequest(3_000, RequestKind::InconsistentPage, ResponseClass::Served, 100, 0);
    let done = [list(0), page(1_000, 5), inconsistent, page(4_000, 9), page(5_000, 9)];
    let chains = pattern(&done, PAGE).chains;
    assert_eq!((chains.count, chains.pages, chains.without_first_page), (1, 5, 0));
    assert_eq!(
        pattern(&[list(0), page(700_000, 5)], PAGE).chains.without_first_page,
        1,
        "no server keeps a revision so long"
    );
}

#[test]
fn a_watch_without_an_end_makes_no_second_informer() {
    let done = [list(0), open_watch(200), list(300_000), open_watch(300_200)];
    assert_eq!(pattern(&done, WATCH).watching.most_at_once, 0);
    let two = [list(0), open_watch(200), list(400), open_watch(600)];
    assert_eq!(pattern(&two, WATCH).watching.most_at_once, 2, "of one start");
}

#[test]
fn polls_beside_an_informer_are_not_relists() {
    let polls = (0..60).map(|n| list(10_000 + n * 10_000));
    let watches = (0..10).map(|n| watch(200 + n * 60_000, 59_900));
    let done: Vec<TestRequest> = [list(0)].into_iter().chain(polls).chain(watches).collect();
    let pattern = pattern(&done, LIST);
    assert_eq!((pattern.informers.starts, pattern.informers.relists()), (1, 0));
    assert_eq!(pattern.polling.reads, 60);
}

#[test]
fn relists_are_found_if_server_clocks_differ() {
    let done: Vec<TestRequest> = (0..5)
        .flat_map(|n| {
            let at = n * 60_000;
            // The clock of the server that received the WATCH is behind.
            [list(at), TestRequest(at + 20, RequestKind::WatchEnded, ResponseClass::Expired, 1, 0)]
        })
        .collect();
    let Pattern { informers, most_in_an_hour, .. } = pattern(&done, LIST);
    assert_eq!((informers.starts, informers.relists.expired, most_in_an_hour.relists), (1, 4, 4));
}

#[test]
fn two_lists_before_a_watch_are_a_double_start() {
    let twice = |done: &[TestRequest]| pattern(done, LIST).informers.starts_twice;
    assert_eq!(twice(&[list(0), list(40_000)]), 0, "a job at its begin and its end");
    assert_eq!(twice(&[list(0), list(2_000), watch(2_200, 100_000)]), 1);
    let later = [list(0), watch(200, 300_000), list(301_000), list(303_000), watch(303_200, 100_000)];
    assert_eq!(twice(&later), 1, "a process that restarted in its pod");
    assert_eq!(twice(&[list(0), list(1_000), list(2_000), watch(2_200, 100_000)]), 0);
}

#[test]
fn reads_after_the_recorded_watches_are_not_standalone() {
    let done: Vec<TestRequest> =
        [list(0), watch(200, 300_000)].into_iter().chain((1..9).map(|n| list(n * 600_000))).collect();
    let alone = |watched_until| {
        let one = InstanceRecords { history: history("a", &done), watched_until, ran: None };
        patterns_of(vec![one])[&LIST].polling.alone
    };
    assert_eq!((alone(None), alone(Some(200_000)), alone(Some(i64::MIN))), (8, 0, 0));
}

#[test]
fn many_simultaneous_requests_take_linear_time() {
    let lists = (0..30_000).map(list);
    let watches = (0..30_000).map(|n| open_watch(30_000 + n));
    let done: Vec<TestRequest> = lists.chain(watches).collect();
    assert_eq!(pattern(&done, WATCH).watching.count, 30_000);
}
