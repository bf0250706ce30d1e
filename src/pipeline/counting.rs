//! Counts the outcomes of decoding. Some servers write two access lines for a request, with different latencies. The
//! line with the earlier timestamp counts, so access lines of one request wait for each other.

use std::collections::HashSet;

use super::pass::{Counted, Pass};
use super::pending_access_line::PendingAccessLine;
use super::shared::{Disposition, Shared, note, observe};
use super::version_evidence;
use crate::decode::etcd::EtcdLine;
use crate::decode::klog::AccessLine;
use crate::decode::on_demand::{PairedRequestReceived, PendingRequestReceived};
use crate::decode::{Envelope, Extent, Foreign, Layers, Outcome, SkipReason};
use crate::input::{Block, Record, RecordRun, SourcePosition};
use crate::k8s::{Event, Stage};
use crate::ledger::{
    Counter, Dedup, Index, Ledger, MAX_POSITIONS, Merge, RequestResult, SkipAt, SourceCounts, UnreadAt,
};
use crate::requests::{Classifier, Grouping, Request, is_same_moment, request_hash};

/// Servers of 1.25 to 1.33 write this many access lines for each request.
const LINES_PER_REQUEST: usize = 2;

/// The state of a worker, except its decoder.
#[derive(Debug)]
pub(super) struct Counting<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) shared: &'a Shared<'a>,
    pub(super) counted: Counted,
    /// The counts of the current block. [`Counting::end`] adds them to the counts of its source.
    source: SourceCounts,
    classifier: Classifier,
    /// Counts requests of audit logs.
    audit: Counter<'a>,
    /// Counts requests of access logs.
    access: Counter<'a>,
    /// Groups requests by a property. `None` if the user did not ask for groups.
    grouping: Option<Grouping>,
}

impl<'a> Counting<'a> {
    /// Creates the counts of one worker; all are 0.
    pub(crate) fn new(shared: &'a Shared<'a>, pass: &'a Pass<'a>) -> Self {
        Self {
            pass,
            shared,
            counted: Counted::default(),
            source: SourceCounts::default(),
            classifier: Classifier::new(shared.prints.clone()),
            audit: Counter::new(&shared.audit),
            access: Counter::new(&shared.access),
            grouping: shared.settings.by.map(Grouping::new),
        }
    }

    /// Merges the counts of all workers at the end of a pass. Counts the access lines that still wait for another
    /// line of their request. Frees the deduplicator.
    pub(crate) fn sum(mut all: Vec<Self>) -> Counted {
        let Some(first) = all.first_mut() else { return Counted::default() };
        let shared = first.shared;
        for (print, lines) in shared.pending_groups.take() {
            first.settle(print, lines);
        }
        // Free the deduplicator before merging needs memory.
        shared.deduplicator.forget();
        let each = all.into_iter().map(|counting| {
            let mut counted = counting.counted;
            counted.ledger.namespaces.merge(counting.audit.into_namespaces());
            counted.access.namespaces.merge(counting.access.into_namespaces());
            counted
        });
        let merge = |mut sum: Counted, one| {
            sum.merge(one);
            sum
        };
        let mut counted = each.reduce(merge).unwrap_or_default();
        shared.audit.move_to(&mut counted.ledger);
        shared.access.move_to(&mut counted.access);
        counted
    }

    /// Whether this pass counts bytes, lines, and records that are not events. Later passes read the same sources
    /// again and must not count these a second time.
    fn is_count(&self) -> bool {
        matches!(self.pass, Pass::Count | Pass::Etcd)
    }

    pub(crate) fn begin(&mut self, block: &Block) {
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

    pub(crate) fn end(&mut self, source: u32) {
        let counts = std::mem::take(&mut self.source);
        if self.is_count() {
            let input = &mut self.counted.ledger.input;
            input.bytes += counts.bytes;
            input.lines += counts.lines;
            input.sources.entry(source).or_default().merge(counts);
        }
    }

    pub(crate) fn take(
        &mut self,
        outcome: Outcome<'_>,
        layers: Layers,
        place: SourcePosition,
        pending: &mut PendingRequestReceived<'_>,
    ) {
        let outcome = if matches!(self.pass, Pass::Etcd) { beside_etcd(outcome) } else { outcome };
        match outcome {
            Outcome::Event(event, _) => self.event(event, layers, place, pending),
            Outcome::Access { line, logged_at, .. } => self.access(line, logged_at, layers, place),
            Outcome::Trace(fragment) => {
                if self.is_count() {
                    self.source.foreign(Foreign::Trace, &mut self.counted.ledger.input);
                    self.counted.ledger.observe_trace(place, fragment);
                }
            }
            Outcome::Start { version, logged_at } => {
                if self.is_count() {
                    self.source.foreign(Foreign::Start, &mut self.counted.ledger.input);
                    let evidence = &mut self.counted.ledger.versions;
                    version_evidence::note_start(version, logged_at, place.source, evidence);
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
            Outcome::Etcd { line, logged_at, is_zoneless } => {
                self.counted.etcd.zoneless += u64::from(is_zoneless && line.slow.is_some());
                self.etcd(line, logged_at, place);
            }
            Outcome::Foreign(kind) => {
                if self.is_count() {
                    self.source.foreign(kind, &mut self.counted.ledger.input);
                }
            }
            Outcome::Skip(reason, extent) => self.skip(reason, extent, place),
        }
    }

    /// Counts the records of a run, except the first two, which are already counted. All these records have the
    /// outcome `uncounted`.
    pub(crate) fn repeat(&mut self, uncounted: Uncounted, run: &RecordRun<'_>, source: u32) {
        let uncounted = if matches!(self.pass, Pass::Etcd) { uncounted.beside_etcd() } else { uncounted };
        let times = run.repeats.times as u64 - 1;
        match uncounted {
            Uncounted::Foreign(kind) if self.is_count() => {
                self.source.foreign_times(kind, times, &mut self.counted.ledger.input);
            }
            Uncounted::Foreign(_) => {}
            Uncounted::Skip(reason, extent) => {
                // The report shows only the first `MAX_POSITIONS` positions for each skip reason. So only that many
                // records need their own position.
                let own = run.repeats.times.min(1 + MAX_POSITIONS);
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

    pub(crate) fn skip(&mut self, reason: SkipReason, extent: Extent, place: SourcePosition) {
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

    fn etcd(&mut self, line: &EtcdLine<'_>, logged_at: Option<i64>, place: SourcePosition) {
        let lines = &mut self.counted.etcd;
        match &line.slow {
            None => lines.observe_other(line.version, place, logged_at),
            Some(slow) => {
                let print = self.shared.prints.etcd(slow, logged_at);
                let is_new = self.shared.settings.dedup == Dedup::Off
                    || self.shared.deduplicator.insert((print, logged_at.unwrap_or(0)));
                lines.observe(slow, place, logged_at, is_new);
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
                // The index must return the row that counts the request's end. A RequestReceived event may count in
                // another row, so it is not indexed.
                if !event.audit_id.is_empty() && stage != Stage::RequestReceived {
                    let mut request = classifier.event(event, stage, place);
                    request.version_index = shared.timeline.version_index(place.source, request.received);
                    index.note(
                        request_hash(request.audit_id, request.uri),
                        Ledger::row_hash(&request),
                        RequestResult::from_request(&request),
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
                let paired = pending.pair(event, layers);
                if paired.is_some() {
                    note_read(Stage::RequestReceived);
                    if let Some(received) = request.received {
                        counted.ledger.input.received_at(received, None);
                    }
                }
                date(&mut request, shared, &mut counted.ledger);
                let ledger = &mut counted.ledger;
                let at = request.received.unwrap_or(0);
                let Some(PairedRequestReceived { record: Record { offset, line, .. }, logged_at }) = paired
                else {
                    let [is_new] = shared.are_new(at, || [shared.prints.event(event, &request)]);
                    let disposition = shared.disposition(&request, is_new);
                    shared.note_start(event, &mut request, disposition);
                    note(disposition, &mut ledger.input);
                    return observe(shared.settings, audit, grouping, &request, disposition);
                };
                let received = request.request_received(SourcePosition { offset, line, ..place });
                let [is_new, received_is_new] = shared
                    .are_new(at, || shared.prints.event_and_request_received(event, &request, logged_at));
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

    fn access(
        &mut self,
        line: &AccessLine<'_>,
        logged_at: Option<i64>,
        layers: Layers,
        place: SourcePosition,
    ) {
        match self.pass {
            Pass::Index(index) => return self.index_access(index, line, logged_at, place),
            Pass::Count => self.note_access(line, logged_at, layers, place),
            Pass::Join(_) => {}
            Pass::Etcd => return,
        }
        let print = self.shared.prints.access(line, logged_at);
        if line.audit_id.is_empty() {
            let is_new = self.shared.deduplicator.insert((print, logged_at.unwrap_or(0)));
            self.count_access(line, logged_at, place, is_new);
            return;
        }
        let size =
            size_of::<PendingAccessLine>() + line.uri.len() + line.user_agent.len() + line.audit_id.len();
        let pending = PendingAccessLine { line: line.to_static(), logged_at, place };
        if let Some((print, lines)) = self.shared.pending_groups.add(print, pending, size) {
            self.settle(print, lines);
        }
    }

    /// Counts access lines that have the same audit ID, client, verb, URI and status.
    ///
    /// Servers write at most two different lines for a request. If there are more, a client chose the audit ID or a
    /// tool masked it. Then lines belong to one request only if their start times are almost equal; see
    /// [`PendingAccessLine::began`].
    pub(crate) fn settle(&mut self, print: u64, mut lines: Vec<PendingAccessLine>) {
        lines.sort_by(|one, other| one.rank().cmp(&other.rank()));
        let mut contents = HashSet::new();
        let differ: Vec<bool> = lines.iter().map(|pending| contents.insert(pending.content())).collect();
        let is_one = contents.len() <= LINES_PER_REQUEST;
        // The later line may be the only one with API Priority and Fairness fields. Then the earlier line, which
        // counts, takes them over.
        for at in (1..lines.len()).rev() {
            let (before, after) = lines.split_at_mut(at);
            if let (Some(first), Some(second)) = (before.last_mut(), after.first_mut())
                && first.line.apf.is_none()
                && (is_one || is_same_moment(first.began(), second.began()))
            {
                first.line.apf = second.line.apf.take();
            }
        }
        for (at, pending) in lines.iter().enumerate() {
            let is_first = at == 0 || (differ[at] && !is_one);
            let is_new = is_first
                && self.shared.deduplicator.insert_one_of(self.shared.prints.moments(print, pending.began()));
            self.count_access(&pending.line, pending.logged_at, pending.place, is_new);
        }
    }

    fn index_access(
        &mut self,
        index: &Index,
        line: &AccessLine<'_>,
        logged_at: Option<i64>,
        place: SourcePosition,
    ) {
        if line.audit_id.is_empty() {
            return;
        }
        let mut request = self.classifier.line(line, logged_at, place);
        request.version_index = self.shared.timeline.version_index(place.source, request.received);
        let (row, result) = (Ledger::row_hash(&request), RequestResult::from_request(&request));
        index.note(request_hash(&line.audit_id, &line.uri), row, result, true);
    }

    /// Records what a line shows, such as its receive time and version evidence. Does so even if the line does not
    /// count as a request.
    fn note_access(
        &mut self,
        line: &AccessLine<'_>,
        logged_at: Option<i64>,
        layers: Layers,
        place: SourcePosition,
    ) {
        let Self { shared, counted, source, classifier, .. } = self;
        let mut request = classifier.line(line, logged_at, place);
        source.event(request.stage, layers, &mut counted.ledger.input);
        source.access_lines += 1;
        let input = &mut counted.ledger.input;
        input.access_lines += 1;
        input.access_ids += u64::from(!line.audit_id.is_empty());
        input.undated += u64::from(request.received.is_none());
        if let Some(received) = request.received {
            input.access_span.merge(Some((received, received)));
        }
        date(&mut request, shared, &mut counted.ledger);
    }

    /// Counts a line: as a request if it is new, otherwise as a duplicate.
    fn count_access(
        &mut self,
        line: &AccessLine<'_>,
        logged_at: Option<i64>,
        place: SourcePosition,
        is_new: bool,
    ) {
        let Self { pass, shared, counted, classifier, access, grouping, .. } = self;
        let mut request = classifier.line(line, logged_at, place);
        request.version_index = shared.timeline.version_index(place.source, request.received);
        let settings = shared.settings;
        let Pass::Join(index) = pass else {
            let disposition = shared.disposition(&request, is_new);
            observe(settings, access, grouping, &request, disposition);
            let input = &mut counted.ledger.input;
            input.access_counted += u64::from(disposition == Disposition::Counted);
            input.access_duplicates += u64::from(matches!(disposition, Disposition::Duplicate { .. }));
            note(disposition, input);
            return;
        };
        let hash = (!line.audit_id.is_empty()).then(|| request_hash(&line.audit_id, &line.uri));
        match hash.and_then(|hash| index.audited(hash, RequestResult::from_request(&request))) {
            Some(row) if is_new => {
                // If the filter excludes this line, it was already counted as filtered, so it does not count as
                // joined. But it still contains facts about a request of the audit log.
                let wanted = settings.filter.is_empty() || settings.filter.pass(&request);
                counted.ledger.input.joined += u64::from(wanted);
                if let Some(apf) = &line.apf {
                    counted.additions.apf(row, apf);
                }
            }
            Some(_) => {}
            None => {
                observe(settings, access, grouping, &request, shared.disposition(&request, is_new));
            }
        }
    }
}

/// Records the receive time and the version evidence of a request in the ledger. Sets the version index of the
/// request.
fn date(request: &mut Request<'_>, shared: &Shared<'_>, ledger: &mut Ledger) {
    let source = request.place.source;
    if let Some(received) = request.received {
        ledger.input.received_at(received, request.micros);
    }
    version_evidence::note(request, &mut ledger.versions);
    request.version_index = shared.timeline.version_index(source, request.received);
}

/// A skipped or foreign record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Uncounted {
    Skip(SkipReason, Extent),
    Foreign(Foreign),
}

impl Uncounted {
    pub(crate) fn from_outcome(outcome: &Outcome<'_>) -> Option<Self> {
        match outcome {
            Outcome::Skip(reason, extent) => Some(Self::Skip(*reason, *extent)),
            Outcome::Foreign(kind) => Some(Self::Foreign(*kind)),
            _ => None,
        }
    }

    fn beside_etcd(self) -> Self {
        match self {
            Self::Skip(SkipReason::NotAnEvent, _) => Self::Foreign(Foreign::Json),
            uncounted => uncounted,
        }
    }
}

/// Converts the outcome of a line in etcd's log. A line that another program wrote becomes a foreign record.
fn beside_etcd(outcome: Outcome<'_>) -> Outcome<'_> {
    match outcome {
        Outcome::Event(..) | Outcome::Skip(SkipReason::NotAnEvent, _) => Outcome::Foreign(Foreign::Json),
        Outcome::Access { .. } | Outcome::Trace(_) | Outcome::Start { .. } => Outcome::Foreign(Foreign::Klog),
        outcome => outcome,
    }
}
