//! Reads sources one after the other and passes on each record in order. Used to write records instead of counting them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::Settings;
use crate::decode::{Decoder, Outcome, SourceFacts, detect};
use crate::input::block::Damage;
use crate::input::{Block, Feed, Source, SourcePosition};

/// Calls `take` with the content of each record, in the order of sources and records. Returns the damaged sources, each with
/// its damage and the last line that was read.
///
/// # Errors
/// The first error of `take`.
pub fn each(
    sources: &[Source],
    settings: &Settings,
    progress: &Arc<AtomicU64>,
    take: &mut dyn FnMut(Outcome<'_>, SourcePosition) -> io::Result<()>,
) -> io::Result<Vec<(u32, Damage, u64)>> {
    let Settings { format, max_record, year, .. } = settings;
    let tell = {
        let format = *format;
        move |start: &[u8]| match format {
            Some(layers) => detect::framing_of(layers, start),
            None => detect::framing(start),
        }
    };
    let wanted = (0..sources.len()).collect();
    let feed = Feed::new(sources, wanted, 1, *max_record, tell, Arc::clone(progress));
    let mut decoder = Decoder::new(*format, *max_record);
    let (mut block, mut damaged) = (Block::default(), Vec::new());
    while feed.next_block(0, &mut block) {
        let modified = sources.get(block.source as usize).and_then(|source| source.modified);
        let facts = SourceFacts { year: *year, modified };
        let mut done = Ok(());
        let mut place = SourcePosition { source: block.source, offset: block.offset, line: block.first_line };
        for record in block.records().filter(|record| record.bytes.len() <= *max_record) {
            place = SourcePosition { offset: record.offset, line: record.line, ..place };
            decoder.record(&record, facts, &mut |outcome, _| {
                if done.is_ok() {
                    done = take(outcome, place);
                }
            });
            if done.is_err() {
                return done.map(|()| damaged);
            }
        }
        decoder.finish(&mut |outcome, _| {
            if done.is_ok() {
                done = take(outcome, place);
            }
        });
        done?;
        damaged.extend(block.damage.map(|(damage, line)| (block.source, damage, line)));
    }
    Ok(damaged)
}
