//! Properties of every log: the report does not depend on how the log is read, and its sums agree.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use kubetoll::apiserver::Server;
use kubetoll::input::Block;
use kubetoll::input::framing::count_lines;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::{Ledger, MAX_PRODUCTS, MAX_SHAPES, ServerTimeline, TimelineVersion};
use kubetoll::pipeline::{Pass, Shared, Worker};
use kubetoll::render::{self, text::View};
use kubetoll::report::{Detail, Report};
use kubetoll::version;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use super::{flood, strange};
use crate::support::cases::cases;
use crate::support::event::AuditEvent;
use crate::support::library::{conservation, run};

use super::any_damage::{Damage, Packing, any_damage, gzip, harmless, packing, zstd};
use crate::support::library::same::{difference, json_without, report_difference};

/// Files with these contents, in a directory that lasts as long as it is held.
fn files(contents: &[Vec<u8>]) -> (TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().expect("a directory");
    let paths =
        (0..contents.len()).map(|number| directory.path().join(number.to_string())).collect::<Vec<_>>();
    for (path, content) in paths.iter().zip(contents) {
        fs::write(path, content).expect("a file");
    }
    (directory, paths)
}

/// A log with damage, its last line whole.
fn damaged(seed: u64, size: usize, damage: &[Damage]) -> Vec<u8> {
    let mut log = synth::log(seed, 120, size);
    for damage in damage {
        damage.apply(&mut log);
    }
    if log.last().is_some_and(|last| *last != b'\n') {
        log.push(b'\n');
    }
    log
}

/// The log, split after these lines.
fn cut<'a>(log: &'a [u8], places: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = places
        .iter()
        .map(|at| memchr::memrchr(b'\n', &log[..at.index(log.len())]).map_or(0, |feed| feed + 1))
        .chain([0, log.len()])
        .collect();
    ends.sort_unstable();
    ends.windows(2).map(|pair| &log[pair[0]..pair[1]]).collect()
}

/// A server that was upgraded while the log was written.
fn upgrade() -> ServerTimeline {
    let versions = [30, 34].map(|minor| TimelineVersion::from(KubeVersion::new(minor, 1)));
    let starts = vec![(synth::BEGIN, versions[0]), (synth::BEGIN + 5_000_000, versions[1])];
    ServerTimeline::new(&versions, &BTreeMap::from([(0, starts.clone())]), &starts)
}

/// Keys with file and line numbers.
const PLACES: [&str; 11] = [
    "example",
    "moreExamples",
    "evidence",
    "moreEvidence",
    "verify",
    "files",
    "skippedAt",
    "unreadAt",
    "withoutEvents",
    "damaged",
    "sources",
];

/// Fails with the differences if two reports differ.
fn same(left: &Report, right: &Report) -> Result<(), TestCaseError> {
    prop_assert_eq!(report_difference(left, right), Vec::<String>::new());
    Ok(())
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn paired_and_unpaired_request_received_events_decode_the_same(
        seed: u64,
        damage in prop::collection::vec(any_damage(), 0..40),
        verbs in prop_oneof![Just([].as_slice()), Just(["list"].as_slice())],
    ) {
        let log = damaged(seed, 300_000, &damage);
        let complete = Block { first_line: 1, lines: count_lines(&log), bytes: log, ..Block::default() };
        let (mut alone, mut offset) = (Vec::new(), 0);
        for (line, bytes) in (1..).zip(complete.bytes.split_inclusive(|byte| *byte == b'\n')) {
            let block = Block { first_line: line, lines: 1, bytes: bytes.to_vec(), offset, ..Block::default() };
            offset += bytes.len() as u64;
            alone.push(block);
        }
        let (settings, timeline) = (run::settings(1, verbs), upgrade());
        let report = |blocks: &[Block]| {
            run::report(run::count(blocks, &settings, &timeline), &run::sources(&[]), &timeline)
        };
        same(&report(std::slice::from_ref(&complete)), &report(&alone))?;
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn report_is_independent_of_threads_and_files(
        seed: u64,
        mut damage in prop::collection::vec(any_damage(), 20..40),
        long: Index,
        excess in 1_usize..300_000,
        places in prop::collection::vec(any::<Index>(), 4),
        order in Just([0, 1, 2, 3, 4]).prop_shuffle(),
    ) {
        damage.retain(|damage| !matches!(damage, Damage::End(_)));
        damage.push(Damage::Long(long, excess));
        let log = damaged(seed, 2_000_000, &damage);
        let (_directory, complete) = files(std::slice::from_ref(&log));
        let one = run::scan(&complete, &run::settings(1, &[]));
        conservation::check(&one);
        prop_assert!(one.input.events > 1_500 && one.input.skipped.contains_key("too-long"), "{:?}", one.input);

        let parts = cut(&log, &places);
        let stored = |index: usize| match index % 3 {
            0 => parts[index].to_vec(),
            1 => gzip(parts[index]),
            _ => zstd(parts[index]),
        };
        let (_directory, split) = files(&order.map(stored));
        let split_by_one = run::scan(&split, &run::settings(1, &[]));
        let counts = |report| json_without(report, &PLACES);
        prop_assert_eq!(difference(&counts(&split_by_one), &counts(&one)), Vec::<String>::new());
        for threads in [2, 3] {
            let settings = run::settings(threads, &[]);
            same(&run::scan(&complete, &settings), &one)?;
            same(&run::scan(&split, &settings), &split_by_one)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn report_is_independent_of_blocks_and_their_order(
        seed: u64,
        damage in prop::collection::vec(any_damage(), 0..8),
        strange in prop::collection::vec(strange::line(), 0..120),
        cuts in prop::collection::vec(any::<bool>(), 1..40),
        shuffled in Just((0..400).collect::<Vec<usize>>()).prop_shuffle(),
        workers in 1_usize..4,
    ) {
        let mut log = damaged(seed, 120_000, &damage);
        log.extend_from_slice(strange.join("\n").as_bytes());
        let (settings, timeline) = (run::settings(1, &[]), upgrade());
        let mut complete = run::count(&run::blocks(&log, |_| false), &settings, &timeline);
        let versions = complete.versions.in_order();
        let complete = run::report(complete, &run::sources(&[]), &timeline);
        conservation::check(&complete);

        let blocks = run::blocks(&log, |line| cuts[line % cuts.len()]);
        let shared = Shared::new(&settings, &timeline, &[]);
        let mut counting: Vec<Worker<'_>> = (0..workers).map(|_| Worker::new(&shared, &Pass::Count)).collect();
        for at in shuffled.iter().filter(|at| **at < blocks.len()) {
            counting[at % workers].read(&blocks[*at]);
        }
        prop_assert!(blocks.len() <= shuffled.len());
        let mut merged = Worker::sum(counting.into_iter().rev()).into_ledger();
        prop_assert_eq!(&merged.versions.in_order(), &versions);
        let merged = run::report(merged, &run::sources(&[]), &timeline);
        same(&merged, &complete)?;
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn the_page_is_the_same_with_less_detail(seed: u64, top in 0_usize..12) {
        let ((complete, all), (part, some)) = (page(seed, top, Detail::ALL), page(seed, top, Detail { cases: Some(top), all_shapes: false }));
        let most = if top <= 10 { 40 } else { 43 };
        prop_assert!(complete.lines().count() <= most, "{}", complete);
        prop_assert_eq!(part, complete);
        prop_assert!(some <= all, "{} of {}", some, all);
    }
}

/// A page of a made-up log, and the number of findings in its report.
fn page(seed: u64, top: usize, detail: Detail) -> (String, usize) {
    let report = made_up(seed, detail);
    (render::text::render(&report, &View { top, width: 100, details: None }), report.findings.len())
}

/// The report of a made-up log.
fn made_up(seed: u64, detail: Detail) -> Report {
    let log = damaged(seed, 400_000, &[]);
    let (settings, timeline) = (run::settings(1, &[]), upgrade());
    let ledger = run::count(&run::blocks(&log, |_| false), &settings, &timeline);
    run::report_of(ledger, &run::sources(&[]), &timeline, detail)
}

#[test]
fn rows_have_the_same_counts_without_findings() {
    for seed in 0..4 {
        let [all, rows] =
            [Detail::ALL, Detail { cases: Some(0), ..Detail::ALL }].map(|detail| made_up(seed, detail));
        assert!(!all.findings.is_empty() && rows.findings.iter().all(|finding| finding.client.is_none()));
        assert_eq!((&rows.finding_counts, &rows.rule_failures), (&all.finding_counts, &all.rule_failures));
        assert_eq!((&rows.totals, &rows.input), (&all.totals, &all.input));
        assert!(rows.clients == all.clients, "seed {seed}");
    }
}

#[test]
fn the_page_omits_details_that_do_not_fit() {
    let lengths = |seed| {
        [Detail::ALL, Detail { cases: Some(0), all_shapes: false }].map(|detail| page(seed, 0, detail).1)
    };
    assert!((0..8).map(lengths).any(|[all, some]| some < all));
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn damaged_logs_lose_no_record(
        seed: u64,
        damage in prop::collection::vec(any_damage(), 0..10),
        packing in packing(),
        cut_at in any::<Option<Index>>(),
        flip in any::<Option<Index>>(),
        verbs in prop::sample::select(vec![&[][..], &["list", "watch"], &["-get"], &["none"]]),
    ) {
        let log = damaged(seed, 50_000, &damage);
        let settings = run::settings(2, verbs);
        let (_directory, paths) = files(std::slice::from_ref(&log));
        let plain = run::scan(&paths, &settings);
        conservation::check(&plain);
        prop_assert!(plain.input.damaged.is_empty());
        let lines = log.split_inclusive(|byte| *byte == b'\n').count();
        prop_assert_eq!((plain.input.lines, plain.input.bytes), (lines as u64, log.len() as u64));

        let mut packed = packing.pack(&log);
        fs::write(&paths[0], &packed).expect("a file");
        same(&run::scan(&paths, &settings), &plain)?;

        if let Some(at) = cut_at.filter(|_| !packed.is_empty()) {
            packed.truncate(at.index(packed.len()));
        }
        if let Some(at) = flip.filter(|_| !packed.is_empty()) {
            let at = at.index(packed.len());
            packed[at] ^= 0x11;
        }
        fs::write(&paths[0], &packed).expect("a file");
        let torn = run::scan(&paths, &settings);
        conservation::check(&torn);
        prop_assert!(torn.input.damaged.len() <= 1);
        let whole_streams = matches!(packing, Packing::Plain | Packing::Gzip(None) | Packing::Zstd(None));
        if whole_streams && flip.is_none() {
            prop_assert!(torn.input.events <= plain.input.events, "a prefix holds no more");
        }
    }

    #[test]
    fn harmless_damage_loses_no_event(
        seed: u64,
        damage in prop::collection::vec(harmless(), 0..10),
    ) {
        let log = damaged(seed, 20_000, &[]);
        let events = log.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let log = damaged(seed, 20_000, &damage);
        let (_directory, paths) = files(&[log]);
        let report = run::scan(&paths, &run::settings(1, &[]));
        conservation::check(&report);
        prop_assert_eq!(report.input.events, events);
        prop_assert!(report.input.skipped.keys().all(|reason| reason == "blank"), "{:?}", report.input.skipped);
    }
}

/// The counts of some lines. Both orders of the lines must give the same.
fn both_ways(lines: &[String]) -> (Ledger, Report) {
    let (settings, timeline) = (run::settings(1, &[]), run::timeline());
    let read = |lines: String| {
        let mut ledger =
            run::count(&run::blocks(lines.as_bytes(), |line| line % 1_000 == 999), &settings, &timeline);
        (ledger.versions.in_order(), run::report(ledger, &run::sources(&[]), &timeline), lines)
    };
    let (versions, report, text) = read(lines.concat());
    let (backwards_versions, backwards, _) = read(lines.iter().rev().map(String::as_str).collect());
    assert_eq!(versions, backwards_versions);
    let by_place = |report| json_without(report, &["line"]);
    assert_eq!(difference(&by_place(&report), &by_place(&backwards)), Vec::<String>::new());
    conservation::check(&report);
    assert_eq!(report.totals.counts.requests, lines.len() as u64);
    (run::count(&run::blocks(text.as_bytes(), |_| false), &settings, &timeline), report)
}

#[test]
fn a_flood_of_user_agents_takes_bounded_memory() {
    let mut rng = synth::Rng::new(5);
    let lines: Vec<String> = (0..50_000).map(|number| flood::agent(number, &mut rng)).collect();
    let (ledger, report) = both_ways(&lines);
    let [client] = &*report.clients else { panic!("one user is one client") };
    assert_eq!(client.user_agents.len(), MAX_PRODUCTS + 1);
    let (clients, _) = ledger.clients.into_parts();
    assert!(clients[0].1.products.len() <= 2 * MAX_PRODUCTS, "nor was there more on the way");
}

#[test]
fn a_flood_of_resources_takes_bounded_memory() {
    let mut rng = synth::Rng::new(6);
    let lines: Vec<String> = (0..6_000).map(|number| flood::resource(number, &mut rng)).collect();
    let (_, report) = both_ways(&lines);
    assert_eq!(report.clients[0].shapes.len(), MAX_SHAPES + 1);
}

#[test]
fn folded_shapes_name_a_namespace_in_any_order() {
    let staged = |stage: &str, verb: &str, uri: &str, at: usize| {
        let at = u64::try_from(at % 3_600).expect("an hour") * 1_000_000;
        let event = AuditEvent::new(&format!("{verb}{uri}"), verb, uri)
            .by("system:serviceaccount:own:a", "a")
            .stage(stage)
            .since("2026-01-01T00:00:00Z")
            .at(at, 0);
        event.line().trim_end().to_owned()
    };
    let event = |verb: &str, uri: &str, at: usize| staged("ResponseComplete", verb, uri, at);
    // Reads in the kubelet's own namespace are its upkeep; writes there are not.
    let filling: Vec<String> =
        (0..3 * MAX_SHAPES).map(|n| event("list", &format!("/api/v1/r{n}"), n)).collect();
    let named = |verbs: [&str; 2], number: usize| {
        let uri = format!("/apis/g/v1/namespaces/own/things{number}/x");
        let own = verbs.iter().map(|verb| event(verb, &uri, number));
        let log: Vec<String> = filling.iter().cloned().chain(own).collect();
        let (settings, timeline) = (run::settings(1, &[]), upgrade());
        let mut ledger = run::count(&run::blocks(log.join("\n").as_bytes(), |_| false), &settings, &timeline);
        let (_, client) = ledger.clients.entries().next().expect("a client");
        client.namespaces.count()
    };
    let of_arrival = |number: usize, is_first: bool| {
        let uri = format!("/apis/g/v1/namespaces/own/things{number}/x");
        let received = staged("RequestReceived", "update", &uri, number);
        let mut log = filling.clone();
        log.insert(if is_first { 0 } else { log.len() }, received);
        let (settings, timeline) = (run::settings(1, &[]), upgrade());
        let mut ledger = run::count(&run::blocks(log.join("\n").as_bytes(), |_| false), &settings, &timeline);
        let (_, client) = ledger.clients.entries().next().expect("a client");
        client.namespaces.count()
    };
    // Folded rows count a sample of their targets, by hashes that are the same in every run. The sample
    // contains these targets.
    for number in [34, 133, 291, 368] {
        assert_eq!([true, false].map(|is_first| of_arrival(number, is_first)), [(0, false); 2], "{number}");
        assert_eq!(named(["get", "update"], number), (1, false), "{number}");
        assert_eq!(named(["update", "get"], number), (1, false), "{number}");
    }
}

#[test]
fn a_flood_of_versions_hides_no_version_source() {
    let mut lines: Vec<String> = (0..6_000).map(flood::version).collect();
    lines.push(
        flood::version(6_000)
            .replace("system:node:n", "system:apiserver")
            .replace("kubelet/v1.12.0", "kube-apiserver/v1.34.2"),
    );
    let (mut ledger, _) = both_ways(&lines);
    let version =
        version::infer(&mut ledger, &Server::with_defaults(KubeVersion::NEWEST), None, &|_| String::new())
            .version;
    assert_eq!(version, KubeVersion::new(34, 2), "the server's own client states it");
}
