//! How often workers meet at a lock: `cargo bench --bench locks`.
//!
//! If another worker holds a row or a history, a worker counts into its own part and does not wait. It waits for the
//! other locks. The table shows how often a worker found each lock held, by the number of threads.

use std::collections::BTreeMap;
use std::sync::Mutex;

use kubetoll::input::Block;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::{ServerTimeline, contended_locks};
use kubetoll::pipeline::{Pass, Settings, Shared, Worker};

/// The size of each log in bytes.
const SIZE: usize = 60_000_000;
/// The size of a block in bytes, as in a scan.
const BLOCK: usize = 512 << 10;
/// The types that locks protect, and their columns. A worker waits only at the last three.
const LOCKS: [(&str, &str); 6] = [
    ("::Row>", "rows"),
    ("EventsBeforeEnd>", "pending"),
    ("InstanceHistories", "histories"),
    ("Part<", "parts"),
    ("Clients", "tables"),
    ("DedupShard", "duplicates"),
];

fn main() {
    print!("{:>7} {:>7} {:>9}", "clients", "threads", "events");
    for (_, column) in LOCKS {
        print!(" {column:>10}");
    }
    println!();
    for clients in [1, 10, 400] {
        let blocks = blocks(&synth::log(1, clients, SIZE));
        for threads in [1, 2, 4, 8, 16, 32] {
            let (events, contended) = contended(&blocks, threads);
            print!("{clients:>7} {threads:>7} {events:>9}");
            for (part, _) in LOCKS {
                print!(" {:>10}", contended.get(part).unwrap_or(&0));
            }
            println!();
        }
    }
}

fn blocks(log: &[u8]) -> Vec<Block> {
    let mut blocks = vec![Block { first_line: 1, ..Block::default() }];
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let last = blocks.last_mut().expect("never empty");
        if last.bytes.len() + line.len() > BLOCK {
            let (first_line, offset) = (last.first_line + last.lines, last.offset + last.bytes.len() as u64);
            blocks.push(Block { first_line, offset, ..Block::default() });
        }
        let last = blocks.last_mut().expect("never empty");
        last.bytes.extend_from_slice(line);
        last.lines += 1;
    }
    blocks
}

/// Counts the blocks with this many threads. Returns the number of events, and how often each lock was held by another
/// thread.
fn contended(blocks: &[Block], threads: usize) -> (u64, BTreeMap<&'static str, u64>) {
    let settings = Settings { threads, max_record: 1 << 20, ..Settings::default() };
    let timeline = ServerTimeline::always(KubeVersion::new(34, 2));
    let shared = Shared::new(&settings, &timeline, &[]);
    let (next, sum) = (Mutex::new(blocks.iter()), Mutex::new(BTreeMap::new()));
    let work = || {
        let mut worker = Worker::new(&shared, &Pass::Count);
        loop {
            let Some(block) = next.lock().expect("no panic").next() else { break };
            worker.read(block);
        }
        let mut sum = sum.lock().expect("no panic");
        for (name, count) in contended_locks() {
            let lock = LOCKS.into_iter().rfind(|(part, _)| name.contains(part));
            let (part, _) = lock.unwrap_or_else(|| panic!("{name} has no column"));
            *sum.entry(part).or_default() += count;
        }
        worker
    };
    let workers: Vec<Worker<'_>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let events = Worker::sum(workers).ledger.input.all_events();
    (events, sum.into_inner().expect("no panic"))
}
