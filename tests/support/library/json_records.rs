//! The records of JSON that is read in pieces.

use std::ops::Range;

use kubetoll::input::json::JsonScanner;
use kubetoll::input::{Block, Framing, RecordKind};

/// Byte range, first line and kind of each record of a text. The scanner gets `step` bytes at a time.
pub(crate) fn json_records(bytes: &[u8], step: usize) -> Vec<(Range<usize>, u64, RecordKind)> {
    let mut scanner = JsonScanner::default();
    let (mut from, mut to, mut found) = (0, 0, Vec::new());
    while to < bytes.len() {
        to = (to + step).min(bytes.len());
        scanner.scan(&bytes[from..to], to == bytes.len());
        if let Some(cut) = scanner.cut() {
            let block = Block {
                offset: from as u64,
                bytes: bytes[from..from + cut].to_vec(),
                framing: Framing::Json,
                spans: scanner.take(cut),
                ..Block::default()
            };
            found.extend(block.records().map(|record| {
                let start = usize::try_from(record.offset).expect("in memory");
                (start..start + record.bytes.len(), record.line, record.kind)
            }));
            from += cut;
        }
    }
    found
}
