//! From sources to a ledger: wiring of the stages, nothing else.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rayon::ThreadPoolBuilder;

use crate::classify::filter::Filter;
use crate::classify::{Parts, classify};
use crate::decode::{SkipReason, line, lines};
use crate::input::{Block, Feed, Place, Source};
use crate::k8s::Event;
use crate::ledger::input::SourceCounts;
use crate::ledger::{Ledger, Merge, ServerTimeline, SkipAt};

/// How a run reads.
#[derive(Debug)]
pub struct Settings {
    /// Workers.
    pub threads: usize,
    /// The longest line that is read, in bytes.
    pub max_line: usize,
    /// Which requests are counted.
    pub filter: Filter,
}

/// Reads all sources and counts their requests. The result does not depend on the number of workers, on the size
/// of blocks or on the order of sources. `progress` counts the bytes that were read before decompression.
///
/// # Errors
/// Where the operating system gives no threads.
pub fn run(
    sources: &[Source],
    settings: &Settings,
    timeline: &ServerTimeline,
    progress: &Arc<AtomicU64>,
) -> anyhow::Result<Ledger> {
    let feed = Feed::new(sources, settings.threads, settings.max_line, Arc::clone(progress));
    let pool = ThreadPoolBuilder::new().num_threads(settings.threads).build()?;
    let ledgers = pool.broadcast(|worker| {
        let mut worker_ledger = Worker { settings, timeline, ledger: Ledger::default() };
        let mut block = Block::default();
        while feed.next_block(worker.index(), &mut block) {
            worker_ledger.read(&block);
        }
        worker_ledger.ledger
    });
    Ok(ledgers.into_iter().fold(Ledger::default(), |mut all, one| {
        all.merge(one);
        all
    }))
}

/// Counts the requests of one block of lines, as a worker does.
pub struct Worker<'a> {
    /// How the run reads.
    pub settings: &'a Settings,
    /// Which version answered when.
    pub timeline: &'a ServerTimeline,
    /// What was counted.
    pub ledger: Ledger,
}

impl Worker<'_> {
    /// Counts a block.
    pub fn read(&mut self, block: &Block) {
        let mut source = SourceCounts::default();
        self.ledger.input.bytes += block.bytes.len() as u64;
        for number in &block.too_long {
            let at = SkipAt { source: block.source, line: *number };
            self.ledger.input.skip(&mut source, SkipReason::TooLong, at);
        }
        if let Some(damage) = block.damage {
            self.ledger.input.damaged.insert(block.source, damage);
        }
        for line in lines(&block.bytes, block.first_line, block.offset) {
            let place = Place { source: block.source, offset: line.offset, line: line.number };
            if let Err(reason) = self.read_line(&mut source, line.bytes, place) {
                let at = SkipAt { source: block.source, line: line.number };
                self.ledger.input.skip(&mut source, reason, at);
                if reason == SkipReason::TooLong {
                    // As if the line had been passed over: where a read ends must not tell.
                    let end = line.offset - block.offset + line.bytes.len() as u64;
                    let feed = u64::from(end < block.bytes.len() as u64);
                    self.ledger.input.bytes -= line.bytes.len() as u64 + feed;
                }
            }
        }
        let counts = self.ledger.input.sources.entry(block.source).or_default();
        counts.lines += source.lines;
        counts.events += source.events;
    }

    fn read_line(&mut self, source: &mut SourceCounts, line: &[u8], place: Place) -> Result<(), SkipReason> {
        if line.len() > self.settings.max_line {
            return Err(SkipReason::TooLong);
        }
        match line::decode(line) {
            Ok(event) => self.observe(source, &event, place),
            Err(SkipReason::NotUtf8) => {
                let replaced = String::from_utf8_lossy(line);
                let event = line::decode(replaced.as_bytes()).map_err(|_| SkipReason::NotUtf8)?;
                self.ledger.input.replaced_utf8 += 1;
                self.observe(source, &event, place);
            }
            Err(reason) => return Err(reason),
        }
        Ok(())
    }

    fn observe(&mut self, source: &mut SourceCounts, event: &Event<'_>, place: Place) {
        let stage = event.stage().expect("decode lets only the four stages pass");
        self.ledger.input.event(source, stage);
        let parts = Parts::of(event);
        let mut request = classify(event, &parts, stage, place);
        if let Some(received) = request.received {
            self.ledger.input.span(received);
            if let Some(statement) = request.statement {
                self.ledger.versions.state(statement, place.source, received);
            }
        }
        request.era = self.timeline.era(place.source, request.received);
        if self.settings.filter.is_empty() || self.settings.filter.pass(&request) {
            self.ledger.observe(&request);
        } else {
            self.ledger.input.filtered += 1;
        }
    }
}
