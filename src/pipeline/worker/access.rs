//! Counts access lines. Some servers write two lines for a request, with different latencies. The line with the earlier
//! timestamp counts, so lines of one request wait for each other.

use std::collections::HashSet;

use super::{Counting, Disposition, Pass, date, note, observe};
use crate::decode::Layers;
use crate::decode::klog::{AccessLine, Apf};
use crate::input::SourcePosition;
use crate::ledger::input::widened;
use crate::ledger::{Index, Ledger, RequestResult};
use crate::requests::{is_same_moment, request_hash};

/// The maximum memory for lines that wait, in bytes.
const ROOM: usize = 1 << 25;
/// The maximum memory for each worker, in bytes, if there are many workers. It is enough for the lines of some blocks,
/// because another worker may be that far ahead.
const ROOM_PER_WORKER: usize = 1 << 22;

/// All time zone offsets are multiples of this, in microseconds.
const ZONE_STEP: i64 = 15 * 60 * 1_000_000;
/// Servers of 1.25 to 1.33 write this many lines for a request.
const LINES_PER_REQUEST: usize = 2;

/// The maximum memory for lines that wait, in bytes.
pub(super) fn room(threads: usize) -> usize {
    ROOM.max(ROOM_PER_WORKER * threads)
}

/// An access line that waits for other lines of its request.
#[derive(Debug)]
pub(super) struct PendingAccessLine {
    line: AccessLine<'static>,
    written: Option<i64>,
    place: SourcePosition,
}

impl PendingAccessLine {
    /// The order in which the lines of a request are considered. Two lines compare equal only if they count equally.
    fn rank(&self) -> (Option<i64>, Option<u64>, SourcePosition, Option<&Apf<'static>>) {
        (self.written, self.line.latency_micros, self.place, self.line.apf.as_ref())
    }

    /// The start time of the request, in microseconds since 1970. It is the same for both lines of a request: a line
    /// that is written one second later has one second more latency.
    fn began(&self) -> Option<i64> {
        let latency = self.line.latency_micros.and_then(|micros| i64::try_from(micros).ok()).unwrap_or(0);
        self.written.and_then(|written| written.checked_sub(latency))
    }

    /// A value that is equal for duplicates of one line. Timestamps of duplicates may differ by a time zone offset,
    /// because klog writes no zone.
    fn content(&self) -> (Option<i64>, Option<u64>) {
        (self.written.map(|written| written.rem_euclid(ZONE_STEP)), self.line.latency_micros)
    }
}

impl Counting<'_> {
    pub(super) fn access(
        &mut self,
        line: &AccessLine<'_>,
        written: Option<i64>,
        layers: Layers,
        place: SourcePosition,
    ) {
        match self.pass {
            Pass::Index(index) => return self.index_access(index, line, written, place),
            Pass::Count => self.note_access(line, written, layers, place),
            Pass::Join(_) => {}
            Pass::Etcd => return,
        }
        let print = self.shared.prints.access(line, written);
        if line.audit_id.is_empty() {
            let is_new = self.shared.deduplicator.insert((print, written.unwrap_or(0)));
            self.count_access(line, written, place, is_new);
            return;
        }
        let size =
            size_of::<PendingAccessLine>() + line.uri.len() + line.user_agent.len() + line.audit_id.len();
        let pending = PendingAccessLine { line: line.to_static(), written, place };
        if let Some((print, lines)) = self.shared.pending_groups.add(print, pending, size) {
            self.settle(print, lines);
        }
    }

    /// Counts the lines with one audit ID, client, verb, URI and status.
    ///
    /// Servers write at most two different lines for a request. If there are more, a client chose the audit ID or a
    /// tool masked it. Then lines belong to one request only if the same start time follows from them.
    pub(super) fn settle(&mut self, print: u64, mut lines: Vec<PendingAccessLine>) {
        lines.sort_by(|one, other| one.rank().cmp(&other.rank()));
        let mut contents = HashSet::new();
        let differ: Vec<bool> = lines.iter().map(|pending| contents.insert(pending.content())).collect();
        let is_one = contents.len() <= LINES_PER_REQUEST;
        // Only one of the two lines may hold the API Priority and Fairness fields.
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
            self.count_access(&pending.line, pending.written, pending.place, is_new);
        }
    }

    fn index_access(
        &mut self,
        index: &Index,
        line: &AccessLine<'_>,
        written: Option<i64>,
        place: SourcePosition,
    ) {
        if line.audit_id.is_empty() {
            return;
        }
        let mut request = self.classifier.line(line, written, place);
        request.version_index = self.shared.timeline.version_index(place.source, request.received);
        let (row, result) = (Ledger::row_hash(&request), RequestResult::of(&request));
        index.note(request_hash(&line.audit_id, &line.uri), row, result, true);
    }

    /// Records the evidence of a line, whether it counts or not.
    fn note_access(
        &mut self,
        line: &AccessLine<'_>,
        written: Option<i64>,
        layers: Layers,
        place: SourcePosition,
    ) {
        let Self { shared, counted, source, classifier, .. } = self;
        let mut request = classifier.line(line, written, place);
        source.event(request.stage, layers, &mut counted.ledger.input);
        source.access_lines += 1;
        let input = &mut counted.ledger.input;
        input.access_lines += 1;
        input.access_ids += u64::from(!line.audit_id.is_empty());
        input.undated += u64::from(request.received.is_none());
        if let Some(received) = request.received {
            input.access_span = widened(input.access_span, received);
        }
        date(&mut request, shared, &mut counted.ledger);
    }

    /// Counts a line: as a request if it is new, otherwise as a duplicate.
    fn count_access(
        &mut self,
        line: &AccessLine<'_>,
        written: Option<i64>,
        place: SourcePosition,
        is_new: bool,
    ) {
        let Self { pass, shared, counted, classifier, access, grouping, .. } = self;
        let mut request = classifier.line(line, written, place);
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
        match hash.and_then(|hash| index.audited(hash, RequestResult::of(&request))) {
            Some(row) if is_new => {
                // A line that the filter excludes was counted as filtered. But it still contains facts about a request
                // of the audit log.
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
