//! The body of the fuzz target for etcd's log.

use std::collections::BTreeSet;

use kubetoll::decode::{Decoder, Outcome, SourceFacts, detect};
use kubetoll::input::Block;
use kubetoll::ledger::{EtcdLines, InputCounts};
use kubetoll::pipeline::{Counted, Pass, Shared, Worker};

use super::run;

/// Each entry of any records is counted once. Block boundaries and block order do not matter.
pub fn etcd(bytes: &[u8]) {
    let (complete, mut pieces) = run::whole_and_pieces(bytes, detect::framing(bytes));
    let mut decoder = Decoder::for_etcd(run::MAX_LINE);
    let mut outcomes = 0;
    for record in complete.records() {
        decoder.record(&record, SourceFacts::default(), &mut |outcome, _| {
            outcomes += 1;
            if let Outcome::Etcd { line, .. } = outcome
                && let Some(slow) = &line.slow
            {
                assert!(slow.request.contains(slow.parsed_request().key), "a key is the request's own");
                let _ = slow.response_size();
            }
        });
    }
    decoder.finish(&mut |_, _| outcomes += 1);
    let complete = count(&[complete]);
    assert_eq!(counted(&complete), outcomes, "each entry is counted once");
    pieces.reverse();
    if !pieces.is_empty() {
        assert_eq!(debug_text(count(&pieces)), debug_text(complete));
    }
}

fn count(blocks: &[Block]) -> Counted {
    let (settings, timeline) = (run::settings(1, &[]), run::timeline());
    let shared = Shared::new(&settings, &timeline, &[]);
    Worker::sum(blocks.iter().map(|block| {
        let mut worker = Worker::new(&shared, &Pass::Etcd);
        worker.read(block);
        worker
    }))
}

fn counted(counted: &Counted) -> u64 {
    counted.ledger.input.records() + counted.etcd.slow + counted.etcd.other
}

/// All fields of the report.
fn debug_text(counted: Counted) -> String {
    let InputCounts { lines, foreign, skipped, .. } = &counted.ledger.input;
    let input = format!("{lines} {foreign:?} {skipped:?}");
    let EtcdLines { slow, other, duplicates, undated, zoneless, by_source, span, requests, ranges, versions } =
        counted.etcd;
    let requests: BTreeSet<String> = requests
        .into_parts()
        .0
        .into_iter()
        .map(|(key, slow)| {
            let errors: BTreeSet<String> =
                slow.errors.into_parts().0.into_iter().map(|error| format!("{error:?}")).collect();
            format!("{key:?} {:?} {:?} {:?} {:?} {errors:?}", slow.took, slow.items, slow.bytes, slow.worst)
        })
        .collect();
    format!(
        "{input} {slow} {other} {duplicates} {undated} {zoneless} {by_source:?} {span:?} {requests:?} {ranges:?} {versions:?}"
    )
}
