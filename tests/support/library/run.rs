//! Builds reports from files and blocks, as the command does.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use kubetoll::apiserver::Server;
use kubetoll::cost::{self, Inventory};
use kubetoll::input::block::yaml_spans;
use kubetoll::input::framing::{MayCut, count_feeds, count_lines};
use kubetoll::input::json::JsonScanner;
use kubetoll::input::{Block, Framing, RecordSpan, Source, Sources};
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::{Ledger, ServerTimeline};
use kubetoll::pipeline::{self, Pass, Settings, Shared, Worker};
use kubetoll::report::{Context, Detail, Report, build};
use kubetoll::requests::filter::{Filter, NameFilter};
use kubetoll::rules::{Policy, RuleSet};
use kubetoll::version::Inferred;

/// The server's version in these tests.
const VERSION: KubeVersion = KubeVersion::new(34, 2);
/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 1 << 20;

/// Parsed once, because a property test builds hundreds of reports.
static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::embedded);

/// Some resources of the logs, with a size and without.
static INVENTORY: LazyLock<Inventory> = LazyLock::new(|| {
    let mut inventory = Inventory::default();
    let text =
        "resource,objects,bytesPerObject\npods,5003,2047\nconfigmaps,211,901\nevents,7001,\nnodes,41,3001\n";
    cost::read(&mut inventory, "inventory.csv", text.as_bytes()).expect("an inventory");
    inventory
});

/// Settings that count requests of these verbs, or of all verbs if the list is empty.
pub fn settings(threads: usize, verbs: &[&str]) -> Settings {
    let verbs: Vec<String> = verbs.iter().map(|verb| (*verb).to_owned()).collect();
    let filter = Filter { verbs: NameFilter::new(&verbs).expect("short names"), ..Filter::default() };
    Settings { threads, max_record: MAX_LINE, filter, ..Settings::default() }
}

/// A timeline of one version.
pub fn timeline() -> ServerTimeline {
    ServerTimeline::always(VERSION)
}

/// Files as sources, in the order in which they are given.
pub fn sources(files: &[PathBuf]) -> Sources {
    let source =
        |file: &PathBuf| Source { path: Some(file.clone()), explicit: true, modified: None, size: 0 };
    Sources { list: files.iter().map(source).collect(), ..Sources::default() }
}

/// The report of a log with these rules, for a server of this version.
pub fn judged(log: &[u8], kube: KubeVersion, rules: &RuleSet) -> Report {
    let timeline = ServerTimeline::always(kube);
    let blocks = blocks(log, |_| false);
    let ledger = count(&blocks, &settings(1, &[]), &timeline);
    let sources = sources(&[]);
    let context = Context {
        sources: &sources,
        filters: Vec::new(),
        server: Server::with_defaults(kube),
        version: &Inferred::given(kube),
        etcd_from: "as given",
        etcd_stated: Vec::new(),
        notes: Vec::new(),
        etcd: None,
        rules,
        policy: &Policy::default(),
        inventory: None,
        detail: Detail::ALL,
    };
    build(ledger, &context)
}

/// Reads files and builds their report.
pub fn scan(files: &[PathBuf], settings: &Settings) -> Report {
    let sources = sources(files);
    let timeline = timeline();
    let ledger = pipeline::run(&sources.list, settings, &timeline, &Arc::default()).expect("threads");
    report(ledger, &sources, &timeline)
}

/// The ledger of blocks; each block has its own worker, in order.
pub fn count(blocks: &[Block], settings: &Settings, timeline: &ServerTimeline) -> Ledger {
    let shared = Shared::new(settings, timeline, &[]);
    let workers = blocks.iter().map(|block| {
        let mut worker = Worker::new(&shared, &Pass::Count);
        worker.read(block);
        worker
    });
    Worker::sum(workers).into_ledger()
}

/// The report of a ledger.
pub fn report(ledger: Ledger, sources: &Sources, timeline: &ServerTimeline) -> Report {
    report_of(ledger, sources, timeline, Detail::ALL)
}

/// The report of a ledger with this detail.
pub fn report_of(ledger: Ledger, sources: &Sources, timeline: &ServerTimeline, detail: Detail) -> Report {
    let version = Inferred { timeline: timeline.clone(), ..Inferred::given(VERSION) };
    let context = Context {
        sources,
        filters: Vec::new(),
        server: Server::with_defaults(VERSION),
        version: &version,
        etcd_from: "as given",
        etcd_stated: Vec::new(),
        notes: Vec::new(),
        etcd: None,
        rules: &RULES,
        policy: &Policy::default(),
        inventory: Some(&INVENTORY),
        detail,
    };
    build(ledger, &context)
}

/// Splits a text after the line feeds that `cut_behind` selects by their number.
pub fn blocks(text: &[u8], mut cut_behind: impl FnMut(usize) -> bool) -> Vec<Block> {
    let mut blocks = vec![Block { first_line: 1, ..Block::default() }];
    let (mut number, mut offset) = (1, 0);
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let last = blocks.last_mut().expect("never empty");
        last.bytes.extend_from_slice(line);
        last.lines += 1;
        number += 1;
        offset += line.len() as u64;
        if cut_behind(index) {
            blocks.push(Block { first_line: number, offset, ..Block::default() });
        }
    }
    blocks
}

/// A log as one block, and as the smallest blocks into which it may be split.
pub fn whole_and_pieces(bytes: &[u8], framing: Framing) -> (Block, Vec<Block>) {
    let mut spans = Vec::new();
    match framing {
        Framing::Lines => return (line_block(bytes), blocks(bytes, |_| true)),
        Framing::Joined(may_cut) => return (line_block(bytes), line_pieces(bytes, may_cut)),
        Framing::Json => {
            let mut scanner = JsonScanner::default();
            scanner.scan(bytes, true);
            spans.append(&mut scanner.take(0));
        }
        Framing::Yaml => yaml_spans(bytes, 1, &mut spans),
    }
    // Bytes between records belong to the next record. Bytes after the last record belong to that record.
    let block = |start: usize, end: usize, spans: &[RecordSpan]| Block {
        first_line: 1 + count_feeds(&bytes[..start]),
        offset: start as u64,
        bytes: bytes[start..end].to_vec(),
        framing,
        spans: spans
            .iter()
            .map(|span| RecordSpan { start: span.start - start, end: span.end - start, ..*span })
            .collect(),
        lines: if end == bytes.len() {
            count_lines(&bytes[start..])
        } else {
            count_feeds(&bytes[start..end])
        },
        ..Block::default()
    };
    let mut pieces = Vec::new();
    let mut start = 0;
    for (index, span) in spans.iter().enumerate() {
        let end = if index + 1 == spans.len() { bytes.len() } else { span.end };
        pieces.push(block(start, end, &spans[index..=index]));
        start = end;
    }
    (block(0, bytes.len(), &spans), pieces)
}

fn line_block(text: &[u8]) -> Block {
    blocks(text, |_| false).pop().expect("never empty")
}

fn line_pieces(text: &[u8], may_cut: MayCut) -> Vec<Block> {
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', text).map(|feed| feed + 1).collect();
    let mut pieces =
        blocks(text, |line| ends.get(line).is_some_and(|at| may_cut(&text[..*at], &text[*at..])));
    pieces.retain(|piece| !piece.bytes.is_empty());
    pieces
}
