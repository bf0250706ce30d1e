//! The whole reader, from bytes to a report.

use std::io::Read;

use kubetoll::decode::detect;
use kubetoll::input::Block;
use kubetoll::input::cut::{BLOCK_SIZE, Cutter};

use super::{conservation, run};

/// A reader that returns a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(buffer.len()).min(self.0.len());
        buffer[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

/// Detects a log's framing, splits, decodes and counts it, and builds its report. All sums agree. The sizes of
/// reads and of blocks do not matter.
pub fn reader(bytes: &[u8]) {
    let complete = report(bytes, usize::MAX, BLOCK_SIZE);
    for (step, block_size) in [(1 + bytes.len() / 2, BLOCK_SIZE), (1 + bytes.len() / 7, 1 + bytes.len() / 3)]
    {
        assert_eq!(
            report(bytes, step, block_size),
            complete,
            "read {step} at a time into blocks of {block_size}"
        );
    }
}

fn report(bytes: &[u8], step: usize, block_size: usize) -> kubetoll::report::Report {
    let settings = run::settings(1, &[]);
    let timeline = run::timeline();
    let framing = detect::framing(bytes);
    let tell = move |_: &[u8]| framing;
    let mut cutter = Cutter::new(Trickle(bytes, step), 0, run::MAX_LINE, tell).with_block_size(block_size);
    let (mut blocks, mut block) = (Vec::new(), Block::default());
    while cutter.fill(&mut block) {
        blocks.push(std::mem::take(&mut block));
    }
    let report = run::report(run::count(&blocks, &settings, &timeline), &run::sources(&[]), &timeline);
    conservation::check(&report);
    let held: usize = blocks.iter().map(|block| block.bytes.len()).sum();
    assert!(held <= bytes.len(), "no byte is read twice");
    report
}
