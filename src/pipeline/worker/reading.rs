//! The records of one block, each handed over as what it holds: arrivals once they were answered, events by turns.

use super::{Counting, Pass};
use crate::decode::on_demand::Arrivals;
use crate::decode::{Decoder, Extent, Found, SkipReason, SourceFacts};
use crate::input::{Block, Part, Place, Record};

/// How many events are found before they are handed over. With one, 46 million times in 150 MB code is fetched again
/// that was pushed out of a cache of 32 KB (`valgrind --tool=cachegrind`), with 8 it is 27 million times, with 16 it is
/// 25, and with 32 it is 24: what is found of more is itself pushed out.
const TURN: usize = 16;

/// A block that is being read.
pub(super) struct Reading<'w, 'c, 'b> {
    decoder: &'w mut Decoder,
    counting: &'w mut Counting<'c>,
    block: &'b Block,
    facts: SourceFacts,
    /// Where the last record stands.
    place: Place,
    arrivals: Arrivals<'b>,
    /// Events whose turn comes.
    found: Vec<Found<'b>>,
}

impl<'w, 'c, 'b> Reading<'w, 'c, 'b> {
    /// Begins a block.
    pub fn new(decoder: &'w mut Decoder, counting: &'w mut Counting<'c>, block: &'b Block) -> Self {
        let shared = counting.shared;
        let facts = SourceFacts {
            year: shared.settings.year,
            modified: shared.sources.get(block.source as usize).and_then(|source| source.modified),
        };
        let place = Place { source: block.source, offset: block.offset, line: block.first_line };
        let arrivals = Arrivals::of_lines(block.lines);
        Self { decoder, counting, block, facts, place, arrivals, found: Vec::with_capacity(TURN) }
    }

    /// Takes a record.
    pub fn record(&mut self, record: Record<'b>) {
        if record.bytes.len() > self.counting.shared.settings.max_record {
            return self.skip_long(&record);
        }
        self.place = place_of(&record, self.block);
        if matches!(self.counting.pass, Pass::Count) && self.arrivals.keep(record) {
            let Self { decoder, counting, place, arrivals, .. } = self;
            decoder.pass(&record, &mut |outcome, layers| counting.take(outcome, layers, *place, arrivals));
        } else {
            self.read(&record);
        }
    }

    /// Hands over what is left.
    pub fn finish(&mut self) {
        self.give_up_parts();
        for record in self.arrivals.take_unanswered() {
            self.place = place_of(&record, self.block);
            self.read(&record);
        }
        self.turn();
    }

    fn read(&mut self, record: &Record<'b>) {
        let Self { decoder, counting, place, arrivals, found, .. } = self;
        let is_found = decoder.find(*record, found, &mut |outcome, layers| {
            counting.take(outcome, layers, *place, arrivals);
        });
        if is_found {
            if self.found.len() == TURN {
                self.turn();
            }
            return;
        }
        self.turn();
        let Self { decoder, counting, facts, place, arrivals, .. } = self;
        let replaced = decoder.record(record, *facts, &mut |outcome, layers| {
            counting.take(outcome, layers, *place, arrivals);
        });
        counting.counted.ledger.input.replaced_utf8 += u64::from(replaced);
    }

    /// Hands over what was found.
    fn turn(&mut self) {
        let Self { decoder, counting, block, facts, arrivals, found, .. } = self;
        decoder.hand_over(found, *facts, &mut |record, outcome, layers| {
            counting.take(outcome, layers, place_of(record, block), arrivals);
        });
    }

    fn skip_long(&mut self, record: &Record<'b>) {
        self.give_up_parts();
        let block = self.block;
        // As if it had been passed over: where a read ends must not tell.
        let end = record.offset - block.offset + record.bytes.len() as u64;
        let has_feed = record.part == Part::Line
            && block.bytes.get(usize::try_from(end).unwrap_or(usize::MAX)) == Some(&b'\n');
        let bytes = record.bytes.len() as u64 + u64::from(has_feed);
        self.place = place_of(record, self.block);
        self.counting.skip(SkipReason::TooLong, Extent { bytes, ..Extent::default() }, self.place);
    }

    /// Hands over the parts of lines that do not go on.
    fn give_up_parts(&mut self) {
        self.turn();
        let Self { decoder, counting, place, arrivals, .. } = self;
        decoder.finish(&mut |outcome, layers| counting.take(outcome, layers, *place, arrivals));
    }
}

fn place_of(record: &Record<'_>, block: &Block) -> Place {
    Place { source: block.source, offset: record.offset, line: record.line }
}
