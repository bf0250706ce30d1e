//! Counts of the input: records, events by stage, foreign entries by kind, and skipped entries by reason and position.

use std::collections::{BTreeMap, BTreeSet};

use super::merge::merge_fields;
use super::{Activity, Merge};
use crate::decode::{Foreign, Layers, SkipReason};
use crate::input::block::Damage;
use crate::k8s::Stage;

/// The maximum number of positions that are kept for each [`SkipReason`], and for unreadable bytes.
pub const MAX_POSITIONS: usize = 5;

/// The position of a skipped record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkipAt {
    pub(crate) source: u32,
    /// The first line of the record, from 1.
    pub(crate) line: u64,
}

/// A sequence of unreadable bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadAt {
    pub(crate) source: u32,
    /// Offset of the first byte in the decompressed stream.
    pub(crate) offset: u64,
    /// Line on which the record with these bytes begins, from 1.
    pub(crate) line: u64,
    /// The number of unreadable bytes.
    pub(crate) bytes: u64,
}

/// Counts over all sources. A record consists of entries. Each entry is an event, foreign or skipped.
#[derive(Debug, Clone, Default)]
pub struct InputCounts {
    /// Bytes after decompression.
    pub(crate) bytes: u64,
    /// The number of unreadable bytes, and the positions of the first ones.
    pub(crate) unread: (u64, BTreeSet<UnreadAt>),
    pub lines: u64,
    /// Events by stage: RequestReceived, ResponseStarted, ResponseComplete, Panic. Requests in the access log count
    /// too.
    pub(crate) events: [u64; 4],
    /// Requests in the access log. `events` includes them.
    pub(crate) access_lines: u64,
    /// Requests in the access log that have an audit ID.
    pub(crate) access_ids: u64,
    /// Requests in the access log that were neither filtered out nor duplicates.
    pub(crate) access_counted: u64,
    /// Receive times of the first and the last request in the access log, in microseconds since 1970.
    pub(crate) access_span: Option<(i64, i64)>,
    /// Requests in the access log whose time is unknown, because their lines have no year.
    pub(crate) undated: u64,
    /// Events that the server truncated because they exceeded its size limit.
    pub(crate) truncated: u64,
    /// Events that a filter excluded.
    pub(crate) filtered: u64,
    pub duplicates: u64,
    /// Duplicate access log lines: some servers write two for each request.
    pub(crate) access_duplicates: u64,
    /// Requests that are in both logs. They count as events of the audit log.
    pub(crate) joined: u64,
    /// Requests in the access log that cannot be matched with the audit log, because the input is a pipe. They are not
    /// counted.
    pub(crate) not_joined: u64,
    /// True if the index for matching both logs was full.
    pub(crate) index_full: bool,
    /// Records that are not valid UTF-8. Their invalid bytes were replaced.
    pub(crate) replaced_utf8: u64,
    /// Entries of other logs, by kind.
    pub foreign: BTreeMap<Foreign, u64>,
    /// Skipped entries by reason, with their first positions.
    pub skipped: BTreeMap<SkipReason, (u64, BTreeSet<SkipAt>)>,
    /// Damaged sources: the kind of damage, and the line at which the readable part ends.
    pub(crate) damaged: BTreeMap<u32, (Damage, u64)>,
    /// Counts by source.
    pub(crate) sources: BTreeMap<u32, SourceCounts>,
    /// Receive times of the first and last event, in microseconds since 1970.
    pub(crate) span: Option<(i64, i64)>,
    pub(crate) activity: Activity,
}

/// Counts of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Bytes after decompression.
    pub(crate) bytes: u64,
    /// Unreadable bytes.
    pub(crate) unread: u64,
    pub(crate) lines: u64,
    /// Events; access log requests are included.
    pub(crate) events: u64,
    /// Requests in the access log. `events` includes them.
    pub(crate) access_lines: u64,
    /// Entries of other logs, by kind.
    pub(crate) foreign: BTreeMap<Foreign, u64>,
    pub(crate) skipped: BTreeMap<SkipReason, u64>,
    /// Events by the envelopes around them.
    pub(crate) by_layers: BTreeMap<Layers, u64>,
    /// How the source is split into records.
    pub(crate) framing: &'static str,
    /// Events in Azure's log category `kube-audit-admin`, which excludes read requests.
    pub(crate) without_reads: u64,
}

impl SourceCounts {
    pub(crate) fn event(&mut self, stage: Stage, layers: Layers, totals: &mut InputCounts) {
        self.events += 1;
        totals.events[stage as usize] += 1;
        *self.by_layers.entry(layers.shortened()).or_default() += 1;
    }

    pub(crate) fn foreign(&mut self, kind: Foreign, totals: &mut InputCounts) {
        self.foreign_times(kind, 1, totals);
    }

    /// Counts `times` foreign entries.
    pub(crate) fn foreign_times(&mut self, kind: Foreign, times: u64, totals: &mut InputCounts) {
        *self.foreign.entry(kind).or_default() += times;
        *totals.foreign.entry(kind).or_default() += times;
    }

    /// Counts `times` skipped entries, but does not record their positions. `unread` is the number of their
    /// unreadable bytes. Call it only if [`MAX_POSITIONS`] other entries with this reason are counted already,
    /// because reports show no further positions.
    pub(crate) fn skip_times(
        &mut self,
        reason: SkipReason,
        times: u64,
        unread: u64,
        totals: &mut InputCounts,
    ) {
        if times > 0 {
            *self.skipped.entry(reason).or_default() += times;
            totals.skipped.entry(reason).or_default().0 += times;
            self.unread += unread;
            totals.unread.0 += unread;
        }
    }

    pub(crate) fn skip(&mut self, reason: SkipReason, at: SkipAt, totals: &mut InputCounts) {
        *self.skipped.entry(reason).or_default() += 1;
        let (count, places) = totals.skipped.entry(reason).or_default();
        *count += 1;
        keep(places, at);
    }

    pub(crate) fn unread(&mut self, at: UnreadAt, totals: &mut InputCounts) {
        self.unread += at.bytes;
        totals.unread.0 += at.bytes;
        keep(&mut totals.unread.1, at);
    }

    /// Whether the source has events, or lines of the server that are evidence of its version.
    #[must_use]
    pub(crate) fn holds_any(&self) -> bool {
        let of_server = [Foreign::Trace, Foreign::Start, Foreign::EtcdStart];
        self.events > 0 || of_server.iter().any(|kind| self.foreign.contains_key(kind))
    }

    /// The number of entries: events, foreign entries and skipped entries.
    #[must_use]
    pub(crate) fn records(&self) -> u64 {
        self.events + self.foreign.values().sum::<u64>() + self.skipped.values().sum::<u64>()
    }
}

impl Merge for SourceCounts {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: bytes, unread, lines, events, access_lines, foreign, skipped, by_layers,
            without_reads);
        self.framing = self.framing.max(other.framing);
    }
}

impl InputCounts {
    /// Records the receive time of an event. `took` is the duration of the request in microseconds. The server wrote
    /// the event at the end of the request. So the end time counts for the detection of gaps: a WATCH may have begun
    /// hours before.
    pub(crate) fn received_at(&mut self, received: i64, took: Option<u64>) {
        self.span.merge(Some((received, received)));
        self.activity.note(received.saturating_add_unsigned(took.unwrap_or(0)));
    }

    /// Removes the counts of a source without events.
    pub(crate) fn remove(&mut self, source: u32) {
        let Some(own) = self.sources.remove(&source) else { return };
        self.bytes -= own.bytes;
        self.lines -= own.lines;
        self.unread.0 -= own.unread;
        self.unread.1.retain(|at| at.source != source);
        for (kind, count) in own.foreign {
            *self.foreign.entry(kind).or_default() -= count;
        }
        self.foreign.retain(|_, count| *count > 0);
        for (reason, count) in own.skipped {
            let (all, places) = self.skipped.entry(reason).or_default();
            *all -= count;
            places.retain(|at| at.source != source);
        }
        self.skipped.retain(|_, (count, _)| *count > 0);
        self.damaged.remove(&source);
    }

    /// The number of events, including those that a filter excluded.
    #[must_use]
    pub fn all_events(&self) -> u64 {
        self.events.iter().sum()
    }

    /// The number of entries: events, foreign entries and skipped entries.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.all_events()
            + self.foreign.values().sum::<u64>()
            + self.skipped.values().map(|(count, _)| count).sum::<u64>()
    }

    /// Whether all events are RequestReceived events. The audit policy then omits all other stages.
    #[must_use]
    pub fn received_only(&self) -> bool {
        self.events[Stage::RequestReceived as usize] > 0
            && self.events[Stage::RequestReceived as usize] == self.all_events()
    }
}

fn keep<T: Ord>(places: &mut BTreeSet<T>, at: T) {
    if places.len() < MAX_POSITIONS || places.last().is_some_and(|last| at < *last) {
        places.insert(at);
        if places.len() > MAX_POSITIONS {
            places.pop_last();
        }
    }
}

impl Merge for InputCounts {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: bytes, lines, events, access_lines, access_ids, access_counted, access_span,
            undated, truncated, filtered, duplicates, access_duplicates, joined, not_joined, index_full,
            replaced_utf8, foreign, sources, span, activity);
        self.unread.0 += other.unread.0;
        for at in other.unread.1 {
            keep(&mut self.unread.1, at);
        }
        for (reason, (count, places)) in other.skipped {
            let own = self.skipped.entry(reason).or_default();
            own.0 += count;
            for at in places {
                keep(&mut own.1, at);
            }
        }
        self.damaged.extend(other.damaged);
    }
}
