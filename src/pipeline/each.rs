//! Reads sources for commands that write records instead of counting them. Workers read blocks in parallel. The
//! command gets their results in the order of the sources and records.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rayon::prelude::*;

use super::settings::Settings;
use crate::decode::{Decoder, Extent, Outcome, SkipReason, SourceFacts, detect};
use crate::input::block::Damage;
use crate::input::{Block, Feed, Source, SourcePosition};

/// A worker, and the block that it reads now.
struct Lane<'w, W> {
    worker: &'w mut W,
    decoder: Decoder,
    block: Block,
}

/// Reads the sources block by block, in rounds. In each round, each worker gets one block, and `read` receives this
/// worker with each record of the block. Then `take` receives the workers of the round, in the order of the sources
/// and their blocks. Returns the sources that could not be read to the end. Each comes with the line at which its
/// readable part ends.
///
/// # Errors
/// The first error of `take`.
pub(crate) fn each<W: Send>(
    sources: &[Source],
    settings: &Settings,
    progress: &Arc<AtomicU64>,
    workers: &mut [W],
    read: &(impl Fn(&mut W, Outcome<'_>, SourcePosition) + Sync),
    take: &mut dyn FnMut(&mut W) -> io::Result<()>,
) -> io::Result<Vec<(u32, Damage, u64)>> {
    let Settings { format, max_record, year, .. } = settings;
    let wanted = (0..sources.len()).collect();
    let feed = Feed::new(sources, wanted, 1, *max_record, detect::framing_of(*format), Arc::clone(progress));
    let lane = |worker| Lane { worker, decoder: Decoder::new(*format, *max_record), block: Block::default() };
    let mut lanes: Vec<Lane<'_, W>> = workers.iter_mut().map(lane).collect();
    let mut damaged = Vec::new();
    loop {
        let mut filled = 0;
        for lane in &mut lanes {
            if !feed.next_block(0, &mut lane.block) {
                break;
            }
            filled += 1;
            // Only one block at a time may hold a long record. Another long record would wait for the permit of this
            // block. So the round ends here, and the permit is released after it.
            if lane.block.permit.is_some() {
                break;
            }
        }
        if filled == 0 {
            return Ok(damaged);
        }
        lanes[..filled].par_iter_mut().for_each(|lane| {
            let modified = sources.get(lane.block.source as usize).and_then(|source| source.modified);
            lane.read(SourceFacts { year: *year, modified }, *max_record, read);
        });
        for lane in &mut lanes[..filled] {
            take(lane.worker)?;
            damaged.extend(lane.block.damage.map(|(damage, line)| (lane.block.source, damage, line)));
            lane.block.permit = None;
        }
    }
}

impl<W> Lane<'_, W> {
    fn read(
        &mut self,
        facts: SourceFacts,
        max_record: usize,
        read: &impl Fn(&mut W, Outcome<'_>, SourcePosition),
    ) {
        let Self { worker, decoder, block } = self;
        let skip_long = |worker: &mut W, offset, line| {
            let position = SourcePosition { source: block.source, offset, line };
            read(worker, Outcome::Skip(SkipReason::TooLong, Extent::default()), position);
        };
        for long in &block.too_long {
            skip_long(worker, long.offset, long.line);
        }
        let mut position =
            SourcePosition { source: block.source, offset: block.offset, line: block.first_line };
        for record in block.records() {
            if record.bytes.len() > max_record {
                decoder.finish(&mut |outcome, _| read(worker, outcome, position));
                skip_long(worker, record.offset, record.line);
                continue;
            }
            position = SourcePosition { offset: record.offset, line: record.line, ..position };
            decoder.record(&record, facts, &mut |outcome, _| read(worker, outcome, position));
        }
        decoder.finish(&mut |outcome, _| read(worker, outcome, position));
    }
}
