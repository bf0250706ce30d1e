//! The records of one block, each handed over as what it holds: arrivals once they were answered, events by turns.

use smallvec::SmallVec;

use super::{Counting, Pass, Uncounted};
use crate::decode::on_demand::PendingRequestReceived;
use crate::decode::{Decoder, Extent, LocatedEvent, SkipReason, SourceFacts};
use crate::input::{Block, Record, RecordKind, RecordRun, SourcePosition};

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
    place: SourcePosition,
    arrivals: PendingRequestReceived<'b>,
    /// Events whose turn comes.
    found: Vec<LocatedEvent<'b>>,
}

impl<'w, 'c, 'b> Reading<'w, 'c, 'b> {
    /// Begins a block.
    pub fn new(decoder: &'w mut Decoder, counting: &'w mut Counting<'c>, block: &'b Block) -> Self {
        let shared = counting.shared;
        let facts = SourceFacts {
            year: shared.settings.year,
            modified: shared.sources.get(block.source as usize).and_then(|source| source.modified),
        };
        let place = SourcePosition { source: block.source, offset: block.offset, line: block.first_line };
        let arrivals = PendingRequestReceived::with_lines(block.lines);
        Self { decoder, counting, block, facts, place, arrivals, found: Vec::with_capacity(TURN) }
    }

    /// Takes a record and its repetitions.
    pub fn run(&mut self, run: &RecordRun<'b>) {
        let is_read = self.record(run.record);
        let times = run.repeats.times;
        if times == 0 {
            return;
        }
        if !is_read {
            (1..=times).for_each(|nth| {
                self.record(run.nth(nth));
            });
            return;
        }
        // The first may have ended what was open before it.
        let mut outcomes = self.outcomes_of(&run.nth(1));
        match outcomes.pop().filter(|_| outcomes.is_empty()).flatten() {
            // Only if no partial line is open: each record would change it.
            Some(lost) if times > 1 && !self.decoder.has_pending_parts() => {
                self.counting.repeat(lost, run, self.block.source);
            }
            _ => (2..=times).for_each(|nth| {
                self.record(run.nth(nth));
            }),
        }
    }

    /// Takes a record. What came of it, at most the first two.
    fn outcomes_of(&mut self, record: &Record<'b>) -> SmallVec<[Option<Uncounted>; 2]> {
        let mut outcomes = SmallVec::new();
        if record.bytes.len() > self.counting.shared.settings.max_record {
            self.skip_long(record);
            return outcomes;
        }
        self.turn();
        self.place = place_of(record, self.block);
        let Self { decoder, counting, facts, place, arrivals, .. } = self;
        let replaced = decoder.record(record, *facts, &mut |outcome, layers| {
            if outcomes.len() < 2 {
                outcomes.push(Uncounted::of(&outcome));
            }
            counting.take(outcome, layers, *place, arrivals);
        });
        counting.counted.ledger.input.replaced_utf8 += u64::from(replaced);
        outcomes
    }

    /// Takes a record; false for an event that is handed over later.
    fn record(&mut self, record: Record<'b>) -> bool {
        if record.bytes.len() > self.counting.shared.settings.max_record {
            self.skip_long(&record);
            return true;
        }
        self.place = place_of(&record, self.block);
        if matches!(self.counting.pass, Pass::Count) && self.arrivals.keep(record) {
            let Self { decoder, counting, place, arrivals, .. } = self;
            decoder
                .note_event(&record, &mut |outcome, layers| counting.take(outcome, layers, *place, arrivals));
            false
        } else {
            self.read(&record)
        }
    }

    /// Hands over what is left.
    pub fn finish(&mut self) {
        self.give_up_parts();
        for record in self.arrivals.take_unpaired() {
            self.place = place_of(&record, self.block);
            self.read(&record);
        }
        self.turn();
    }

    /// Reads a record; false for an event whose turn comes.
    fn read(&mut self, record: &Record<'b>) -> bool {
        let Self { decoder, counting, place, arrivals, found, .. } = self;
        let is_found = decoder.locate(*record, found, &mut |outcome, layers| {
            counting.take(outcome, layers, *place, arrivals);
        });
        if is_found {
            if self.found.len() == TURN {
                self.turn();
            }
            return false;
        }
        self.turn();
        let Self { decoder, counting, facts, place, arrivals, .. } = self;
        let replaced = decoder.record(record, *facts, &mut |outcome, layers| {
            counting.take(outcome, layers, *place, arrivals);
        });
        counting.counted.ledger.input.replaced_utf8 += u64::from(replaced);
        true
    }

    /// Hands over what was found.
    fn turn(&mut self) {
        let Self { decoder, counting, block, facts, arrivals, found, .. } = self;
        decoder.decode_located(found, *facts, &mut |record, outcome, layers| {
            counting.take(outcome, layers, place_of(record, block), arrivals);
        });
    }

    fn skip_long(&mut self, record: &Record<'b>) {
        self.give_up_parts();
        let block = self.block;
        // As if it had been passed over: where a read ends must not tell.
        let end = record.offset - block.offset + record.bytes.len() as u64;
        let has_feed = record.kind == RecordKind::Line
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

fn place_of(record: &Record<'_>, block: &Block) -> SourcePosition {
    SourcePosition { source: block.source, offset: record.offset, line: record.line }
}

#[cfg(test)]
mod tests {
    use super::super::{Pass, Shared, Worker};
    use super::*;
    use crate::decode::detect;
    use crate::input::Cutter;
    use crate::k8s::KubeVersion;
    use crate::ledger::ServerTimeline;
    use crate::pipeline::Settings;
    use proptest::prelude::*;

    const LINES: [&str; 17] = [
        "\n",
        "\r\n",
        "{\n",
        "{}\n",
        "[\n",
        "\"\n",
        "x\n",
        "\u{0}\n",
        "Trace[1]: x\n",
        "I0723 10:00:00.000000       1 x.go:1] x\n",
        "{\"kind\":\"Event\"\n",
        "{\"kind\":\"Event\"",
        "2026-07-23T10:00:00Z stdout P {\n",
        "2026-07-23T10:00:00Z stderr P {\n",
        "2026-07-23T10:00:00Z stdout F {\n",
        "{\"log\":\"x\",\"stream\":\"stdout\"}\n",
        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"auditID\":\"a\",\"stage\":\"ResponseComplete\",\"requestURI\":\"/x\",\"verb\":\"get\",\"user\":{\"username\":\"u\"}}\n",
    ];

    /// What is counted of a text, run by run or record by record.
    fn counted(text: &[u8], pass: &Pass<'_>, by_run: bool) -> String {
        let settings = Settings::default();
        let timeline = ServerTimeline::always(KubeVersion::NEWEST);
        let shared = Shared::new(&settings, &timeline, &[]);
        let mut worker = Worker::new(&shared, pass);
        let mut cutter = Cutter::new(text, 0, 1 << 20, detect::framing);
        let mut block = Block::default();
        while cutter.fill(&mut block) {
            let Worker { decoder, counting } = &mut worker;
            counting.begin(&block);
            let mut reading = Reading::new(decoder, counting, &block);
            if by_run {
                block.runs().for_each(|run| reading.run(&run));
            } else {
                block.records().for_each(|record| {
                    reading.record(record);
                });
            }
            reading.finish();
            counting.end(block.source);
        }
        let counted = worker.into_counted();
        format!("{:?} {:?}", counted.ledger.input, counted.etcd)
    }

    proptest! {
        #[test]
        fn repeated_records_count_as_each_by_itself(
            lines in prop::collection::vec((prop::sample::select(&LINES[..]), 1_usize..300), 1..8),
            of_etcd: bool,
        ) {
            let text: String = lines.iter().map(|(line, times)| line.repeat(*times)).collect();
            let pass = if of_etcd { Pass::Etcd } else { Pass::Count };
            prop_assert_eq!(counted(text.as_bytes(), &pass, true), counted(text.as_bytes(), &pass, false));
        }
    }
}
