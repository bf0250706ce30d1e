//! How fast a log is read, stage by stage: `cargo bench --bench pipeline`.
//!
//! Each stage does the work of the stage before it and one step more. Only the last one reads events in turns
//! and compares RequestReceived events with their ResponseComplete events, as a scan does. `serde_json` is the
//! reference: it borrows the fields that kubetoll reads from the lines and does nothing with them.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use kubetoll::decode::{Decoder, Outcome, SourceFacts};
use kubetoll::input::framing::lines;
use kubetoll::input::{Block, Source, SourcePosition};
use kubetoll::k8s::Event;
use kubetoll::pipeline;
use kubetoll::requests::Classifier;

mod support;

use support::{counted, settings, timeline};

fn main() {
    let mut criterion = support::criterion();
    let block = Block { first_line: 1, bytes: support::log(), ..Block::default() };
    stages(&mut criterion, &block);
    whole(&mut criterion, &block.bytes);
    criterion.final_summary();
}

fn stages(criterion: &mut Criterion, block: &Block) {
    let mut group = support::group(criterion, "stages", Throughput::Bytes(block.bytes.len() as u64));
    let lines = || lines(&block.bytes, 1, 0);
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| {
            for line in lines() {
                let event: Event<'_> = serde_json::from_slice(line.bytes).expect("every line is an event");
                black_box(event);
            }
        });
    });
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            let mut decoder = Decoder::new(None, settings(1).max_record);
            for line in lines() {
                decoder.record(&line, SourceFacts::default(), &mut |outcome, _| {
                    black_box(outcome);
                });
            }
        });
    });
    group.bench_function("decode, classify", |bencher| {
        bencher.iter(|| {
            let mut decoder = Decoder::new(None, settings(1).max_record);
            let mut classifier = Classifier::default();
            for line in lines() {
                let place = SourcePosition { source: 0, offset: line.offset, line: line.line };
                decoder.record(&line, SourceFacts::default(), &mut |outcome, _| {
                    let Outcome::Event(event, _) = outcome else { panic!("every line is an event") };
                    let stage = event.stage().expect("decode lets only the four stages pass");
                    black_box(classifier.event(event, stage, place));
                });
            }
        });
    });
    let (settings, timeline) = (settings(1), timeline());
    group.bench_function("decode, classify, observe", |bencher| {
        bencher.iter_with_large_drop(|| counted(block, &settings, &timeline));
    });
    group.finish();
}

/// From a file to a ledger.
fn whole(criterion: &mut Criterion, log: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("audit.log");
    std::fs::write(&path, log).expect("a file");
    let sources = [Source { path: Some(path), explicit: true, modified: None, size: 0 }];
    let timeline = timeline();
    let mut group = support::group(criterion, "file to ledger", Throughput::Bytes(log.len() as u64));
    for threads in [1, 2] {
        let settings = settings(threads);
        group.bench_function(format!("{threads} threads"), |bencher| {
            bencher.iter_with_large_drop(|| {
                pipeline::run(&sources, &settings, &timeline, &Arc::default()).expect("threads")
            });
        });
    }
    group.finish();
}
