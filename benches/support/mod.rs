//! Shared by the benchmarks: the log, the measurement time, and how a worker counts.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use kubetoll::input::Block;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::ServerTimeline;
use kubetoll::pipeline::{Counted, Pass, Settings, Shared, Worker};

/// The log's size in bytes: large enough to leave the processor's caches.
const SIZE: usize = 20_000_000;

/// The log, the same for each benchmark.
pub fn log() -> Vec<u8> {
    synth::log(1, 200, SIZE)
}

/// Settings that count all requests.
pub fn settings(threads: usize) -> Settings {
    Settings { threads, max_record: 1 << 20, ..Settings::default() }
}

/// A timeline of one version.
pub fn timeline() -> ServerTimeline {
    ServerTimeline::always(KubeVersion::new(34, 2))
}

/// Criterion with the settings of all benchmarks. Command line flags override them.
pub fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(6))
        .configure_from_args()
}

/// A benchmark group with throughput, so its rows are comparable.
pub fn group<'c>(
    criterion: &'c mut Criterion,
    name: &str,
    throughput: Throughput,
) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat).throughput(throughput);
    group
}

/// The counts of one worker over a block.
pub fn counted(block: &Block, settings: &Settings, timeline: &ServerTimeline) -> Counted {
    let shared = Shared::new(settings, timeline, &[]);
    let mut worker = Worker::new(&shared, &Pass::Count);
    worker.read(block);
    worker.into_counted()
}
