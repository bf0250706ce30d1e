//! What was read: records, events by stage, and what is no event, by kind, reason and place.

use std::collections::{BTreeMap, BTreeSet};

use super::{Activity, Merge};
use crate::decode::{Foreign, Layers, SkipReason};
use crate::input::block::Damage;
use crate::k8s::Stage;

/// How many places are kept per reason.
pub const KEPT_PLACES: usize = 5;

/// A record that was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkipAt {
    /// Index of the source.
    pub source: u32,
    /// Number of its first line, from 1.
    pub line: u64,
}

/// Bytes in a row that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadAt {
    /// Index of the source.
    pub source: u32,
    /// Offset of the first in the decompressed stream.
    pub offset: u64,
    /// Number of the line on which its record begins, from 1.
    pub line: u64,
    /// How many.
    pub bytes: u64,
}

/// The sums of what was read. Each entry of each record is an event, foreign or skipped.
#[derive(Debug, Clone, Default)]
pub struct InputCounts {
    /// Bytes after decompression.
    pub bytes: u64,
    /// Bytes that could not be read, and the first places of such.
    pub unread: (u64, BTreeSet<UnreadAt>),
    /// Lines.
    pub lines: u64,
    /// Events, by stage: RequestReceived, ResponseStarted, ResponseComplete, Panic. Requests of an access log are
    /// among them.
    pub events: [u64; 4],
    /// Of the events, requests of an access log.
    pub access_lines: u64,
    /// Of these, ones with an audit ID.
    pub access_ids: u64,
    /// Of the access log's requests, those that were neither filtered nor read before.
    pub access_counted: u64,
    /// Received of the first and last request of an access log, in microseconds since 1970.
    pub access_span: Option<(i64, i64)>,
    /// Requests of an access log of which the time is not known: their lines have no year.
    pub undated: u64,
    /// Of the events, those that the server cut, as they were larger than its log takes.
    pub truncated: u64,
    /// Of the events, those that a filter left out.
    pub filtered: u64,
    /// Of the events, those that were read already.
    pub duplicates: u64,
    /// Of these, lines of an access log: some servers write two for a request.
    pub access_duplicates: u64,
    /// Requests of an access log that are in the audit log too, and are counted there.
    pub joined: u64,
    /// Requests of an access log that are left out, as they can't be told from those of the audit log: on a pipe.
    pub not_joined: u64,
    /// There were more requests to join than can be remembered.
    pub index_full: bool,
    /// Records that were read with bytes replaced that are no UTF-8.
    pub replaced_utf8: u64,
    /// Entries that are of another log, by kind.
    pub foreign: BTreeMap<Foreign, u64>,
    /// Skipped entries by reason, and the first places of each.
    pub skipped: BTreeMap<SkipReason, (u64, BTreeSet<SkipAt>)>,
    /// Streams that end in damage, and the line at which they do.
    pub damaged: BTreeMap<u32, (Damage, u64)>,
    /// What each source held.
    pub sources: BTreeMap<u32, SourceCounts>,
    /// Received of the first and last event, in microseconds since 1970.
    pub span: Option<(i64, i64)>,
    /// The minutes with events.
    pub activity: Activity,
}

/// What one source held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Bytes after decompression.
    pub bytes: u64,
    /// Bytes that could not be read.
    pub unread: u64,
    /// Lines.
    pub lines: u64,
    /// Events; requests of an access log are among them.
    pub events: u64,
    /// Of the events, requests of an access log.
    pub access_lines: u64,
    /// Entries that are of another log, by kind.
    pub foreign: BTreeMap<Foreign, u64>,
    /// Skipped entries by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Events by the envelopes that they came in.
    pub forms: BTreeMap<Layers, u64>,
    /// How the source falls into records.
    pub framing: &'static str,
    /// Events of Azure's category without reads.
    pub without_reads: u64,
}

impl SourceCounts {
    /// Counts an event in its envelopes.
    pub fn event(&mut self, stage: Stage, layers: Layers, totals: &mut InputCounts) {
        self.events += 1;
        totals.events[stage as usize] += 1;
        *self.forms.entry(layers.shortened()).or_default() += 1;
    }

    /// Counts an entry of another log.
    pub fn foreign(&mut self, kind: Foreign, totals: &mut InputCounts) {
        self.foreign_times(kind, 1, totals);
    }

    /// Counts so many entries of another log.
    pub fn foreign_times(&mut self, kind: Foreign, times: u64, totals: &mut InputCounts) {
        *self.foreign.entry(kind).or_default() += times;
        *totals.foreign.entry(kind).or_default() += times;
    }

    /// Counts so many entries that are lost, and their bytes, behind [`KEPT_PLACES`] others that were lost for the same
    /// reason.
    pub fn skip_times(&mut self, reason: SkipReason, times: u64, unread: u64, totals: &mut InputCounts) {
        if times > 0 {
            *self.skipped.entry(reason).or_default() += times;
            totals.skipped.entry(reason).or_default().0 += times;
            self.unread += unread;
            totals.unread.0 += unread;
        }
    }

    /// Counts an entry that is lost.
    pub fn skip(&mut self, reason: SkipReason, at: SkipAt, totals: &mut InputCounts) {
        *self.skipped.entry(reason).or_default() += 1;
        let (count, places) = totals.skipped.entry(reason).or_default();
        *count += 1;
        keep(places, at);
    }

    /// Counts bytes that could not be read.
    pub fn unread(&mut self, at: UnreadAt, totals: &mut InputCounts) {
        self.unread += at.bytes;
        totals.unread.0 += at.bytes;
        keep(&mut totals.unread.1, at);
    }

    /// Whether it holds events, or lines of the server that tell something.
    #[must_use]
    pub fn holds_any(&self) -> bool {
        let of_server = [Foreign::Trace, Foreign::Start, Foreign::EtcdStart];
        self.events > 0 || of_server.iter().any(|kind| self.foreign.contains_key(kind))
    }

    /// Entries of all records: events, foreign and skipped ones.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.events + self.foreign.values().sum::<u64>() + self.skipped.values().sum::<u64>()
    }
}

impl Merge for SourceCounts {
    fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.unread += other.unread;
        self.lines += other.lines;
        self.events += other.events;
        self.access_lines += other.access_lines;
        for (kind, count) in other.foreign {
            *self.foreign.entry(kind).or_default() += count;
        }
        for (reason, count) in other.skipped {
            *self.skipped.entry(reason).or_default() += count;
        }
        for (layers, events) in other.forms {
            *self.forms.entry(layers).or_default() += events;
        }
        self.framing = self.framing.max(other.framing);
        self.without_reads += other.without_reads;
    }
}

impl InputCounts {
    /// Takes note of an event: when its request was received, and how long that took if it ended. What was written
    /// when tells of gaps: a watch may have begun hours before the log.
    pub fn received_at(&mut self, received: i64, took: Option<u64>) {
        self.span = widened(self.span, received);
        self.activity.note(received.saturating_add_unsigned(took.unwrap_or(0)));
    }

    /// All events, filtered ones too.
    #[must_use]
    pub fn all_events(&self) -> u64 {
        self.events.iter().sum()
    }

    /// Entries of all records: events, foreign and skipped ones.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.all_events()
            + self.foreign.values().sum::<u64>()
            + self.skipped.values().map(|(count, _)| count).sum::<u64>()
    }

    /// Whether the log holds arrivals only: its policy omits the stages at which a request is answered.
    #[must_use]
    pub fn received_only(&self) -> bool {
        self.events[Stage::RequestReceived as usize] > 0
            && self.events[Stage::RequestReceived as usize] == self.all_events()
    }
}

/// A span with one more instant in it.
#[must_use]
pub fn widened(span: Option<(i64, i64)>, micros: i64) -> Option<(i64, i64)> {
    Some(span.map_or((micros, micros), |(first, last)| (first.min(micros), last.max(micros))))
}

fn keep<T: Ord>(places: &mut BTreeSet<T>, at: T) {
    if places.len() < KEPT_PLACES || places.last().is_some_and(|last| at < *last) {
        places.insert(at);
        if places.len() > KEPT_PLACES {
            places.pop_last();
        }
    }
}

impl Merge for InputCounts {
    fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.unread.0 += other.unread.0;
        for at in other.unread.1 {
            keep(&mut self.unread.1, at);
        }
        self.lines += other.lines;
        for (own, other) in self.events.iter_mut().zip(other.events) {
            *own += other;
        }
        self.access_lines += other.access_lines;
        self.access_ids += other.access_ids;
        self.access_counted += other.access_counted;
        self.undated += other.undated;
        self.truncated += other.truncated;
        self.filtered += other.filtered;
        self.duplicates += other.duplicates;
        self.access_duplicates += other.access_duplicates;
        self.joined += other.joined;
        self.not_joined += other.not_joined;
        self.index_full |= other.index_full;
        self.replaced_utf8 += other.replaced_utf8;
        for (kind, count) in other.foreign {
            *self.foreign.entry(kind).or_default() += count;
        }
        for (reason, (count, places)) in other.skipped {
            let own = self.skipped.entry(reason).or_default();
            own.0 += count;
            for at in places {
                keep(&mut own.1, at);
            }
        }
        self.damaged.extend(other.damaged);
        for (source, counts) in other.sources {
            self.sources.entry(source).or_default().merge(counts);
        }
        self.activity.merge(other.activity);
        for (own, other) in [(&mut self.span, other.span), (&mut self.access_span, other.access_span)] {
            if let Some((first, last)) = other {
                *own = widened(widened(*own, first), last);
            }
        }
    }
}
