//! Tests of the counts of etcd's log.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::ranges::{MAX_RANGES, Spans};
use super::*;
use crate::decode::etcd;

const KEYS: [&str; 9] = [
    r#"key:\"/registry/pods/\" range_end:\"/registry/pods0\" "#,
    r#"key:\"/registry/pods/\" range_end:\"/registry/pods0\" limit:500 "#,
    r#"key:\"/registry/pods/b/c\\000\" range_end:\"/registry/pods0\" limit:500 revision:9 "#,
    r#"key:\"/registry/pods/a/\" range_end:\"/registry/pods/a0\" "#,
    r#"key:\"/registry/pods\" range_end:\"/registry/podt\" count_only:true "#,
    r#"key:\"/registry/pods/\" range_end:\"/registry/pods0\" keys_only:true "#,
    r#"key:\"/registry/pods\" limit:1 "#,
    r#"key:\"/registry/minions/node-1\" "#,
    r#"header:<ID:7 > txn:<success:<request_put:<key:\"/registry/pods/a/b\" value_size:9 >> >"#,
];

fn line(key: &str, items: u64, bytes: u64, took: u64, second: u64) -> String {
    format!(
        "2026-03-01 09:{:02}:{:02}.000000 W | etcdserver: read-only range request \"{key}\" with result \
         \"range_response_count:{items} size:{bytes}\" took too long ({took}ms) to execute",
        second / 60,
        second % 60
    )
}

fn observe(lines: &mut EtcdLines, text: &str, number: u64) {
    let line = etcd::read(text).expect("etcd's").expect("whole");
    let place = SourcePosition { source: 0, offset: number * 100, line: number };
    let written = line.clock.resolve(&crate::decode::klog::ClockContext::default());
    lines.observe(&line.slow.expect("slow"), place, written, true);
}

/// All facts that a report shows about these lines, as text.
fn report_text(lines: EtcdLines) -> String {
    let ranges: Vec<_> = lines.ranges.iter().cloned().collect();
    let (requests, overflow) = lines.requests.into_parts();
    let mut requests: Vec<_> = requests
        .into_iter()
        .map(|(key, slow)| {
            let mut errors = slow.errors.into_parts().0;
            errors.sort_by(|a, b| a.0.cmp(&b.0));
            format!(
                "{key:?} {:?} {:?} {:?} {} {} {errors:?} {:?} {:?}",
                slow.took, slow.items, slow.bytes, slow.limited, slow.at_revision, slow.span, slow.worst
            )
        })
        .collect();
    requests.sort();
    format!(
        "{} {} {} {:?} {requests:#?} {} {ranges:#?}",
        lines.slow,
        lines.other,
        lines.undated,
        lines.span,
        overflow.is_some()
    )
}

fn kinds(lines: EtcdLines) -> Vec<(String, EtcdKind)> {
    let mut all: Vec<_> = lines
        .requests
        .into_parts()
        .0
        .into_iter()
        .map(|(key, _)| (key.resource.to_string(), key.kind))
        .collect();
    all.sort();
    all
}

#[test]
fn requests_are_classified_by_kind() {
    let mut lines = EtcdLines::default();
    for (text, number) in KEYS.iter().zip(1..) {
        observe(&mut lines, &line(text, 5, 100 * number, 200, number), number);
    }
    let ranges: Vec<_> =
        lines.ranges.iter().map(|range| (range.bytes, range.limit, range.in_namespace)).collect();
    assert_eq!(ranges, [(400, 0, true), (300, 500, false), (200, 500, false), (100, 0, false)]);
    let pods = |kind| ("pods".to_owned(), kind);
    assert_eq!(
        kinds(lines),
        [
            ("nodes".to_owned(), EtcdKind::Get),
            pods(EtcdKind::List),
            pods(EtcdKind::Count),
            pods(EtcdKind::Keys),
            pods(EtcdKind::RevisionCheck),
            pods(EtcdKind::Write),
        ]
    );
}

#[test]
fn worst_request_is_the_largest_then_longest_then_first() {
    let mut lines = EtcdLines::default();
    for (bytes, took, number) in [(7, 900, 1), (9, 200, 2), (9, 300, 4), (9, 300, 3)] {
        observe(&mut lines, &line(KEYS[0], 1, bytes, took, 10), number);
    }
    let (_, slow) = lines.requests.into_parts().0.remove(0);
    let worst = slow.worst.expect("one");
    assert_eq!((worst.bytes, worst.took_micros, worst.place.line), (9, 300_000, 3));
    assert_eq!((slow.bytes, slow.took.count()), (SumAndMax { sum: 34, max: 9 }, 4));
    assert_eq!(&*worst.key, "/registry/pods/");
}

#[test]
fn errors_are_counted_by_their_text_without_numbers() {
    assert_eq!(error_class("etcdserver: request timed out"), "etcdserver: request timed out");
    assert_eq!(error_class("revision 12345 of 9"), "revision N of N");
    let mut lines = EtcdLines::default();
    for number in 0..40 {
        let error = char::from(b'a' + u8::try_from(number % 26).expect("small"));
        let text = line(KEYS[7], 0, 0, 200, 1)
            .replace("range_response_count:0 size:0", &format!("error:{error} {number}"));
        observe(&mut lines, &text, number);
    }
    let (_, slow) = lines.requests.into_parts().0.remove(0);
    let (errors, overflow) = slow.errors.into_parts();
    let counted = errors.iter().map(|(_, count)| count).sum::<u64>() + overflow.unwrap_or(0);
    assert_eq!((errors.len(), counted), (MAX_ERRORS, 40));
}

#[test]
fn ranges_above_the_limit_are_counted_and_the_costliest_stay() {
    let more = MAX_RANGES as u64 + 50;
    let fill = |numbers: &mut dyn Iterator<Item = u64>| {
        let mut lines = EtcdLines::default();
        for number in numbers {
            observe(&mut lines, &line(KEYS[0], 1, number, 200, number % 3_600), number);
        }
        lines
    };
    let forwards = fill(&mut (0..more));
    let backwards = fill(&mut (0..more).rev());
    assert_eq!(forwards.ranges.iter().count(), MAX_RANGES);
    assert_eq!(forwards.ranges.iter().last().map(|range| range.bytes), Some(50));
    assert!(forwards.ranges == backwards.ranges);
}

#[test]
fn spans_cover_all_ranges() {
    let mut lines = EtcdLines::default();
    for (took, second, number) in [(2_000, 10, 1), (3_000, 12, 2), (100, 30, 3)] {
        observe(&mut lines, &line(KEYS[0], 1, 9, took, second), number);
    }
    let spans = lines.ranges.spans(1_000_000);
    let first = lines.ranges.iter().map(SlowRange::began).min().expect("a range");
    // Times are in tenths of a second after the start of the first range. The ranges are 0 to 40 and 219 to 220.
    // `slack` adds one second at each end.
    let overlap = |from: i64, to: i64| spans.overlap(first + from * 100_000, first + to * 100_000);
    for (from, to, want) in [
        (-30, -11, false),
        (-30, -10, true),
        (15, 16, true),
        (50, 50, true),
        (51, 208, false),
        (51, 230, true),
        (231, 250, false),
    ] {
        assert_eq!(overlap(from, to), want, "{from} {to}");
    }
    assert!(!Spans::default().overlap(0, i64::MAX));
}

#[test]
fn duplicates_only_affect_the_shown_position() {
    let text = line(KEYS[0], 1, 9, 200, 1);
    let places = |order: [u64; 2]| {
        let mut lines = EtcdLines::default();
        for (number, is_new) in order.into_iter().zip([true, false]) {
            let line = etcd::read(&text).expect("etcd's").expect("whole");
            let place = SourcePosition { source: 0, offset: number, line: number };
            lines.observe(&line.slow.expect("slow"), place, Some(7), is_new);
        }
        assert_eq!((lines.slow, lines.duplicates), (2, 1));
        report_text(lines)
    };
    assert_eq!(places([3, 8]), places([8, 3]));
}

proptest! {
    #[test]
    fn etcd_lines_are_independent_of_order_and_split(
        all in prop::collection::vec((select(&KEYS[..]), 0_u64..4, 0_u64..4, 100_u64..104, 0_u64..9), 1..60),
        turn: Index,
        cut: Index,
    ) {
        let all: Vec<(u64, String)> = (1..)
            .zip(all)
            .map(|(number, (key, items, bytes, took, second))| (number, line(key, items, bytes, took, second)))
            .collect();
        let count = |lines: &[(u64, String)]| {
            let mut counted = EtcdLines::default();
            for (number, text) in lines {
                observe(&mut counted, text, *number);
            }
            counted
        };
        let mut turned = all.clone();
        turned.rotate_left(turn.index(all.len()));
        turned.reverse();
        let merged = crate::ledger::merge::merged_parts(&turned, cut.index(all.len()), count);
        prop_assert_eq!(report_text(count(&all)), report_text(merged));
    }
}
