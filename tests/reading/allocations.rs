//! An event allocates no memory if a similar event was counted before.

use kubetoll::input::Block;
use kubetoll::pipeline::{Pass, Shared, Worker};

use crate::support::library::run;

const EVENTS: usize = 3_000;
/// Hours of the warm-up.
const HOURS: usize = 21;

/// Events in a block.
fn block(log: &str) -> Block {
    run::blocks(log.as_bytes(), |_| false).pop().expect("one block")
}

#[test]
fn events_of_known_kinds_allocate_nothing() {
    let first: String = synth::Log::new(7, 20).take(EVENTS).map(|line| line + "\n").collect();
    assert!(first.contains("\"auditID\":\"") && first.contains("T08:"));
    // Other requests of the same clients and shapes, hours later.
    let again = |hour: usize| {
        block(
            &first
                .replace("T08:", &format!("T{hour:02}:"))
                .replace("\"auditID\":\"", &format!("\"auditID\":\"{hour}")),
        )
    };
    let settings = run::settings(1, &[]);
    let timeline = run::timeline();
    let shared = Shared::new(&settings, &timeline, &[]);
    let mut worker = Worker::new(&shared, &Pass::Count);
    (0..HOURS).for_each(|hour| worker.read(&again(hour)));
    let later = again(HOURS);
    let allocated = allocation_counter::measure(|| worker.read(&later));
    // Collections sometimes grow, and each growth is one large allocation.
    let (allocations, events) = (allocated.count_total, EVENTS as u64);
    assert!(20 * allocations < events, "{allocations} allocations for {events} events");
    let counted = worker.into_counted();
    assert_eq!(counted.ledger.input.all_events(), (HOURS + 1) as u64 * EVENTS as u64);
    assert_eq!(counted.ledger.input.duplicates, 0);
}
