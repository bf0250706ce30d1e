//! A worker counts the records of the blocks that it takes.

mod access;
mod block_reader;
mod disposition;
pub(super) mod version;

use access::PendingAccessLine;
use block_reader::BlockReader;
use disposition::{Disposition, note, observe};

use super::Settings;
use crate::decode::etcd::EtcdLine;
use crate::decode::on_demand::{PairedRequestReceived, PendingRequestReceived};
use crate::decode::{Decoder, Envelope, Extent, Foreign, Layers, Outcome, SkipReason};
use crate::input::{Block, Record, RecordRun, Source, SourcePosition};
use crate::k8s::{Event, Stage};
use crate::ledger::{
    Additions, Counter, Dedup, Deduplicator, EtcdLines, Index, KEPT_PLACES, Ledger, Merge, PendingGroups,
    RequestResult, ServerTimeline, SharedLedger, SkipAt, SourceCounts, UnreadAt,
};
use crate::requests::{Classifier, Fingerprints, Grouping, Request, request_hash};

/// What a pass over the sources does with their records.
#[derive(Debug)]
pub enum Pass<'a> {
    /// Counts all records. Requests of access logs are counted separately.
    Count,
    /// Indexes the row of each request by audit ID, and counts nothing.
    Index(&'a Index),
    /// Adds access lines to the rows of their requests in the index. Counts the access lines that have no such row.
    Join(&'a Index),
    /// Reads etcd's log.
    Etcd,
}

/// State that all workers of a pass share.
#[derive(Debug)]
pub struct Shared<'a> {
    settings: &'a Settings,
    /// True if a filter is set.
    is_filtered: bool,
    timeline: &'a ServerTimeline,
    sources: &'a [Source],
    deduplicator: Deduplicator,
    prints: Fingerprints,
    /// Access lines that wait for other lines of their request.
    pending_groups: PendingGroups<PendingAccessLine>,
    /// Requests of audit logs.
    audit: SharedLedger,
    /// Requests of access logs.
    access: SharedLedger,
}

impl<'a> Shared<'a> {
    /// Creates the shared state of a pass.
    #[must_use]
    pub fn new(settings: &'a Settings, timeline: &'a ServerTimeline, sources: &'a [Source]) -> Self {
        let (deduplicator, prints) = (Deduplicator::new(settings.dedup), Fingerprints::default());
        let pending_groups = PendingGroups::new(access::room(settings.threads));
        let is_filtered = !settings.filter.is_empty();
        let (audit, access) = (SharedLedger::new(&timeline.names), SharedLedger::new(&timeline.names));
        Self { settings, is_filtered, timeline, sources, deduplicator, prints, pending_groups, audit, access }
    }

    /// Records the ResponseStarted event of a counted request and sets [`Request::begins_again`] if it is the second. The two
    /// events have different timestamps, so neither is a duplicate of the other.
    fn note_start(&self, event: &Event<'_>, request: &mut Request<'_>, disposition: Disposition) {
        if request.stage == Stage::ResponseStarted
            && request.spec.long_running
            && disposition == Disposition::Counted
        {
            let known = (self.prints.start(event, request), request.received.unwrap_or(0));
            request.begins_again = !self.deduplicator.insert(known);
        }
    }

    /// Whether each event is new, not a duplicate. All events have the receive time `at`. `prints` computes their
    /// hashes.
    fn are_new<const N: usize>(&self, at: i64, prints: impl FnOnce() -> [u64; N]) -> [bool; N] {
        if self.settings.dedup == Dedup::Off {
            [true; N]
        } else {
            self.deduplicator.insert_each(prints(), at)
        }
    }
}

/// The counts of a pass.
#[derive(Debug, Default)]
pub struct Counted {
    /// Requests of audit logs, and counts of all input.
    pub ledger: Ledger,
    /// Requests of access logs.
    pub access: Ledger,
    /// Facts from access lines and traces about requests of audit logs.
    pub additions: Additions,
    /// Lines of etcd's log.
    pub etcd: EtcdLines,
}

impl Counted {
    /// Merges all requests into one ledger.
    #[must_use]
    pub fn whole(self) -> Ledger {
        let mut whole = self.ledger;
        whole.merge(self.access);
        whole.clients.add(self.additions);
        whole
    }
}

impl Merge for Counted {
    fn merge(&mut self, other: Self) {
        self.ledger.merge(other.ledger);
        self.access.merge(other.access);
        self.additions.merge(other.additions);
        self.etcd.merge(other.etcd);
    }
}

/// A worker of a pass.
#[derive(Debug)]
pub struct Worker<'a> {
    decoder: Decoder,
    counting: Counting<'a>,
}

/// The state with which a worker counts.
#[derive(Debug)]
struct Counting<'a> {
    pass: &'a Pass<'a>,
    shared: &'a Shared<'a>,
    counted: Counted,
    /// Counts of the current block's source.
    source: SourceCounts,
    classifier: Classifier,
    /// Counts requests of audit logs.
    audit: Counter<'a>,
    /// Counts requests of access logs.
    access: Counter<'a>,
    /// Groups requests by a property. `None` if the user did not ask for it.
    grouping: Option<Grouping>,
}

impl<'a> Worker<'a> {
    /// Creates a worker of a pass.
    #[must_use]
    pub fn new(shared: &'a Shared<'a>, pass: &'a Pass<'a>) -> Self {
        let Settings { format, max_record, .. } = shared.settings;
        let decoder = match pass {
            Pass::Etcd => Decoder::for_etcd(*max_record),
            _ => Decoder::new(*format, *max_record),
        };
        let counting = Counting {
            pass,
            shared,
            counted: Counted::default(),
            source: SourceCounts::default(),
            classifier: Classifier::new(shared.prints.clone()),
            audit: Counter::new(&shared.audit),
            access: Counter::new(&shared.access),
            grouping: shared.settings.by.map(Grouping::new),
        };
        Self { decoder, counting }
    }

    /// The counts of the only worker of a pass; see [`Worker::sum`].
    #[must_use]
    pub fn into_counted(self) -> Counted {
        Self::sum([self])
    }

    /// Merges the counts of all workers at the end of a pass. Counts the access lines that still wait, and frees the
    /// deduplicator.
    #[must_use]
    pub fn sum(workers: impl IntoIterator<Item = Self>) -> Counted {
        let mut counting: Vec<Counting<'_>> = workers.into_iter().map(|worker| worker.counting).collect();
        let Some(first) = counting.first_mut() else { return Counted::default() };
        let shared = first.shared;
        for (print, lines) in shared.pending_groups.take() {
            first.settle(print, lines);
        }
        // Free the deduplicator before merging needs memory.
        shared.deduplicator.forget();
        let each = counting.into_iter().map(|worker| {
            let mut counted = worker.counted;
            counted.ledger.namespaces.merge(worker.audit.into_namespaces());
            counted.access.namespaces.merge(worker.access.into_namespaces());
            counted
        });
        let sum = |mut all: Counted, one| {
            all.merge(one);
            all
        };
        let mut counted = each.reduce(sum).unwrap_or_default();
        shared.audit.give(&mut counted.ledger);
        shared.access.give(&mut counted.access);
        counted
    }

    /// Counts a block.
    pub fn read(&mut self, block: &Block) {
        let Self { decoder, counting } = self;
        counting.begin(block);
        let mut reader = BlockReader::new(decoder, counting, block);
        for run in block.runs() {
            reader.run(&run);
        }
        reader.finish();
        counting.end(block.source);
    }
}

impl Counting<'_> {
    /// Whether the pass counts lines that are not events. Only one pass may count them.
    fn is_count(&self) -> bool {
        matches!(self.pass, Pass::Count | Pass::Etcd)
    }

    fn begin(&mut self, block: &Block) {
        self.source.bytes += block.bytes.len() as u64;
        self.source.lines += block.lines;
        self.source.framing = block.framing.as_str();
        for long in &block.too_long {
            let place = SourcePosition { source: block.source, offset: long.offset, line: long.line };
            self.source.bytes += long.read;
            self.skip(SkipReason::TooLong, Extent { bytes: long.bytes, ..Extent::default() }, place);
        }
        if let Some(damage) = block.damage.filter(|_| self.is_count()) {
            self.counted.ledger.input.damaged.insert(block.source, damage);
        }
    }

    fn end(&mut self, source: u32) {
        let counts = std::mem::take(&mut self.source);
        if self.is_count() {
            let input = &mut self.counted.ledger.input;
            input.bytes += counts.bytes;
            input.lines += counts.lines;
            input.sources.entry(source).or_default().merge(counts);
        }
    }

    fn take(
        &mut self,
        outcome: Outcome<'_>,
        layers: Layers,
        place: SourcePosition,
        pending: &mut PendingRequestReceived<'_>,
    ) {
        let outcome = if matches!(self.pass, Pass::Etcd) { beside_etcd(outcome) } else { outcome };
        match outcome {
            Outcome::Event(event, _) => self.event(event, layers, place, pending),
            Outcome::Access { line, logged_at: written, .. } => self.access(line, written, layers, place),
            Outcome::Trace(fragment) => {
                if self.is_count() {
                    self.source.foreign(Foreign::Trace, &mut self.counted.ledger.input);
                    self.counted.ledger.observe_trace(place, fragment);
                }
            }
            Outcome::Start { version, logged_at: written } => {
                if self.is_count() {
                    self.source.foreign(Foreign::Start, &mut self.counted.ledger.input);
                    let evidence = &mut self.counted.ledger.versions;
                    version::note_start(version, written, place.source, evidence);
                }
            }
            Outcome::Etcd { line, .. } if !matches!(self.pass, Pass::Etcd) => {
                if self.is_count() {
                    self.source.foreign(Foreign::EtcdStart, &mut self.counted.ledger.input);
                    if let Some(version) = line.version {
                        self.counted.ledger.versions.note_etcd(version, place.source);
                    }
                }
            }
            Outcome::Etcd { line, logged_at: written, is_zoneless } => {
                self.counted.etcd.zoneless += u64::from(is_zoneless && line.slow.is_some());
                self.etcd(line, written, place);
            }
            Outcome::Foreign(kind) => {
                if self.is_count() {
                    self.source.foreign(kind, &mut self.counted.ledger.input);
                }
            }
            Outcome::Skip(reason, extent) => self.skip(reason, extent, place),
        }
    }

    /// Counts the repeated records of a run after its first two. All of them have the outcome `lost`.
    fn repeat(&mut self, lost: Uncounted, run: &RecordRun<'_>, source: u32) {
        let lost = if matches!(self.pass, Pass::Etcd) { lost.beside_etcd() } else { lost };
        let times = run.repeats.times as u64 - 1;
        match lost {
            Uncounted::Foreign(kind) if self.is_count() => {
                self.source.foreign_times(kind, times, &mut self.counted.ledger.input);
            }
            Uncounted::Foreign(_) => {}
            Uncounted::Skip(reason, extent) => {
                // Only the first skipped records may keep their positions.
                let own = run.repeats.times.min(1 + KEPT_PLACES);
                for record in (2..=own).map(|nth| run.nth(nth)) {
                    let Record { offset, line, .. } = record;
                    self.skip(reason, extent, SourcePosition { source, offset, line });
                }
                if self.is_count() {
                    let others = times - (own as u64 - 1);
                    let unread = if reason.is_unread() { others * extent.bytes } else { 0 };
                    self.source.skip_times(reason, others, unread, &mut self.counted.ledger.input);
                }
            }
        }
    }

    fn skip(&mut self, reason: SkipReason, extent: Extent, place: SourcePosition) {
        if !self.is_count() {
            return;
        }
        let (source, line) = (place.source, place.line);
        let input = &mut self.counted.ledger.input;
        self.source.skip(reason, SkipAt { source, line }, input);
        if reason.is_unread() && extent.bytes > 0 {
            let offset = place.offset + extent.offset;
            self.source.unread(UnreadAt { source, offset, line, bytes: extent.bytes }, input);
        }
    }

    fn etcd(&mut self, line: &EtcdLine<'_>, written: Option<i64>, place: SourcePosition) {
        let lines = &mut self.counted.etcd;
        match &line.slow {
            None => lines.observe_other(line.version, place, written),
            Some(slow) => {
                let print = self.shared.prints.etcd(slow, written);
                let is_new = self.shared.settings.dedup == Dedup::Off
                    || self.shared.deduplicator.insert((print, written.unwrap_or(0)));
                lines.observe(slow, place, written, is_new);
            }
        }
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        layers: Layers,
        place: SourcePosition,
        pending: &mut PendingRequestReceived<'_>,
    ) {
        let stage = event.stage().expect("decode lets only the four stages pass");
        let Self { pass, shared, counted, source, classifier, audit, grouping, .. } = self;
        match pass {
            Pass::Join(_) | Pass::Etcd => {}
            Pass::Index(index) => {
                // The row that counts the end of a request is the row of the request.
                if !event.audit_id.is_empty() && stage != Stage::RequestReceived {
                    let mut request = classifier.event(event, stage, place);
                    request.version_index = shared.timeline.version_index(place.source, request.received);
                    index.note(
                        request_hash(request.audit_id, request.uri),
                        Ledger::row_hash(&request),
                        RequestResult::of(&request),
                        false,
                    );
                }
            }
            Pass::Count => {
                let cut =
                    event.annotations.as_ref().is_some_and(|annotations| &*annotations.truncated == "true");
                counted.ledger.input.truncated += u64::from(cut);
                let mut request = classifier.event(event, stage, place);
                let mut note_read = |stage| {
                    source.event(stage, layers, &mut counted.ledger.input);
                    source.without_reads += u64::from(layers.contains(Envelope::AzureAdmin));
                };
                note_read(stage);
                let answered = pending.pair(event, layers);
                if answered.is_some() {
                    note_read(Stage::RequestReceived);
                    if let Some(received) = request.received {
                        counted.ledger.input.received_at(received, None);
                    }
                }
                date(&mut request, shared, &mut counted.ledger);
                let ledger = &mut counted.ledger;
                let at = request.received.unwrap_or(0);
                let Some(PairedRequestReceived { record: Record { offset, line, .. }, logged_at: written }) =
                    answered
                else {
                    let [is_new] = shared.are_new(at, || [shared.prints.event(event, &request)]);
                    let disposition = shared.disposition(&request, is_new);
                    shared.note_start(event, &mut request, disposition);
                    note(disposition, &mut ledger.input);
                    return observe(shared.settings, audit, grouping, &request, disposition);
                };
                let received = request.request_received(SourcePosition { offset, line, ..place });
                let [is_new, received_is_new] =
                    shared.are_new(at, || shared.prints.event_and_request_received(event, &request, written));
                let dispositions =
                    [shared.disposition(&request, is_new), shared.disposition(&received, received_is_new)];
                shared.note_start(event, &mut request, dispositions[0]);
                for disposition in dispositions {
                    note(disposition, &mut ledger.input);
                }
                if dispositions == [Disposition::Counted; 2] && grouping.is_none() {
                    let row = audit.observe_with(&received, &request);
                    if shared.settings.patterns {
                        audit.follow(&request, row);
                    }
                } else {
                    observe(shared.settings, audit, grouping, &received, dispositions[1]);
                    observe(shared.settings, audit, grouping, &request, dispositions[0]);
                }
            }
        }
    }
}

/// Sets the server version of a request and records the version evidence in the request.
fn date(request: &mut Request<'_>, shared: &Shared<'_>, ledger: &mut Ledger) {
    let source = request.place.source;
    if let Some(received) = request.received {
        ledger.input.received_at(received, request.micros);
    }
    version::note(request, &mut ledger.versions);
    request.version_index = shared.timeline.version_index(source, request.received);
}

/// A skipped or foreign record.
#[derive(Debug, Clone, Copy)]
enum Uncounted {
    Skip(SkipReason, Extent),
    Foreign(Foreign),
}

impl Uncounted {
    fn from_outcome(outcome: &Outcome<'_>) -> Option<Self> {
        match outcome {
            Outcome::Skip(reason, extent) => Some(Self::Skip(*reason, *extent)),
            Outcome::Foreign(kind) => Some(Self::Foreign(*kind)),
            _ => None,
        }
    }

    fn beside_etcd(self) -> Self {
        match self {
            Self::Skip(SkipReason::NotAnEvent, _) => Self::Foreign(Foreign::Json),
            lost => lost,
        }
    }
}

/// Converts the outcome for a line in etcd's log that another program wrote.
fn beside_etcd(outcome: Outcome<'_>) -> Outcome<'_> {
    match outcome {
        Outcome::Event(..) | Outcome::Skip(SkipReason::NotAnEvent, _) => Outcome::Foreign(Foreign::Json),
        Outcome::Access { .. } | Outcome::Trace(_) | Outcome::Start { .. } => Outcome::Foreign(Foreign::Klog),
        outcome => outcome,
    }
}
