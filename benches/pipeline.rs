//! How fast a log is read, stage by stage: `cargo bench --bench pipeline`.
//!
//! The stages add up: each measures what the one before it does and one more. `serde_json` is the reference: the
//! fields that kubetoll reads, borrowed from the lines, and nothing done with them.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput};
use kubetoll::classify::{Parts, classify};
use kubetoll::decode::{Decoder, Outcome, SourceFacts};
use kubetoll::input::framing::lines;
use kubetoll::input::{Block, Place};
use kubetoll::k8s::Event;
use kubetoll::pipeline::{self, Pass, Shared, Worker};

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/support/run.rs"]
mod run;
#[allow(dead_code, reason = "the example and the tests use the rest")]
#[path = "support/synth/mod.rs"]
mod synth;

/// The log's size in bytes: large enough to leave the processor's caches.
const SIZE: usize = 20_000_000;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(6))
        .configure_from_args();
    let block = Block { first_line: 1, bytes: synth::log(1, 200, SIZE), ..Block::default() };
    stages(&mut criterion, &block);
    whole(&mut criterion, &block.bytes);
    criterion.final_summary();
}

fn stages(criterion: &mut Criterion, block: &Block) {
    let mut group = criterion.benchmark_group("stages");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Bytes(block.bytes.len() as u64));
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
            let mut decoder = Decoder::new(None, run::MAX_LINE);
            for line in lines() {
                decoder.record(&line, SourceFacts::default(), &mut |outcome, _| {
                    black_box(outcome);
                });
            }
        });
    });
    group.bench_function("decode, classify", |bencher| {
        bencher.iter(|| {
            let mut decoder = Decoder::new(None, run::MAX_LINE);
            for line in lines() {
                let place = Place { source: 0, offset: line.offset, line: line.line };
                decoder.record(&line, SourceFacts::default(), &mut |outcome, _| {
                    let Outcome::Event(event) = outcome else { panic!("every line is an event") };
                    let stage = event.stage().expect("decode lets only the four stages pass");
                    let parts = Parts::of(event);
                    black_box(classify(event, &parts, stage, place));
                });
            }
        });
    });
    let (settings, timeline) = (run::settings(1, &[]), run::timeline());
    group.bench_function("decode, classify, observe", |bencher| {
        bencher.iter_with_large_drop(|| {
            let shared = Shared::new(&settings, &timeline, &[]);
            let mut worker = Worker::new(&shared, &Pass::Count);
            worker.read(block);
            worker.into_counted()
        });
    });
    group.finish();
}

/// From a file to a ledger.
fn whole(criterion: &mut Criterion, log: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("audit.log");
    std::fs::write(&path, log).expect("a file");
    let sources = run::sources(&[path]);
    let timeline = run::timeline();
    let mut group = criterion.benchmark_group("file to ledger");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Bytes(log.len() as u64));
    for threads in [1, 2] {
        let settings = run::settings(threads, &[]);
        group.bench_function(format!("{threads} threads"), |bencher| {
            bencher.iter_with_large_drop(|| {
                pipeline::run(&sources.list, &settings, &timeline, &Arc::default()).expect("threads")
            });
        });
    }
    group.finish();
}
