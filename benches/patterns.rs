//! The time to find patterns in the requests of clients that list and watch. The command in docs/patterns.md
//! measures the memory of the whole process.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kubetoll::input::Block;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::{Ledger, ServerTimeline};
use kubetoll::patterns::Patterns;
use kubetoll::pipeline::{Pass, Settings, Shared, Worker};

const PODS: usize = 1_000;
const LINES: usize = 100_000;

fn count(block: &Block, patterns: bool) -> Ledger {
    let settings = Settings { patterns, ..Settings::default() };
    let timeline = ServerTimeline::always(KubeVersion::new(34, 2));
    let shared = Shared::new(&settings, &timeline, &[]);
    let mut worker = Worker::new(&shared, &Pass::Count);
    worker.read(block);
    worker.into_counted().into_ledger()
}

fn patterns(criterion: &mut Criterion) {
    let log: String =
        synth::fleet::Fleet::new(7, PODS).take(LINES).flat_map(|line| [line, "\n".into()]).collect();
    let block = Block { bytes: log.into_bytes(), first_line: 1, ..Block::default() };
    let mut group = criterion.benchmark_group("a fleet of 1,000 pods, 100,000 events");
    group.sample_size(10).throughput(Throughput::Elements(LINES as u64));
    for (name, patterns) in [("counted", false), ("counted and kept in order", true)] {
        group.bench_function(name, |bencher| bencher.iter(|| black_box(count(&block, patterns))));
    }
    let histories = || std::mem::take(&mut count(&block, true).histories);
    group.bench_function("patterns of what was kept", |bencher| {
        bencher.iter_batched(
            histories,
            |histories| black_box(Patterns::new(histories, false)),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, patterns);
criterion_main!(benches);
