//! What was read: lines, events by stage, and what is no event, by reason and place.

use std::collections::{BTreeMap, BTreeSet};

use super::Merge;
use crate::decode::SkipReason;
use crate::input::block::Damage;
use crate::k8s::Stage;

/// How many places are kept per reason.
const KEPT_PLACES: usize = 5;

/// A line that was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkipAt {
    /// Index of the source.
    pub source: u32,
    /// Number of the line, from 1.
    pub line: u64,
}

/// The sums of what was read. `lines` is always the sum of all events and of all skipped lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputCounts {
    /// Bytes after decompression, without lines that were too long.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Events, by stage: RequestReceived, ResponseStarted, ResponseComplete, Panic.
    pub events: [u64; 4],
    /// Events that a filter left out.
    pub filtered: u64,
    /// Lines that were read with bytes replaced that are no UTF-8.
    pub replaced_utf8: u64,
    /// Skipped lines by reason, and the first places of each.
    pub skipped: BTreeMap<SkipReason, (u64, BTreeSet<SkipAt>)>,
    /// Streams that end in damage, and the line at which they do.
    pub damaged: BTreeMap<u32, (Damage, u64)>,
    /// Events and lines by source.
    pub sources: BTreeMap<u32, SourceCounts>,
    /// Received of the first and last event, in microseconds since 1970.
    pub span: Option<(i64, i64)>,
}

/// What one source held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Lines.
    pub lines: u64,
    /// Events.
    pub events: u64,
}

impl InputCounts {
    /// Counts a line that holds an event.
    pub fn event(&mut self, source: &mut SourceCounts, stage: Stage) {
        self.lines += 1;
        source.lines += 1;
        source.events += 1;
        self.events[stage as usize] += 1;
    }

    /// Counts a line that holds none.
    pub fn skip(&mut self, source: &mut SourceCounts, reason: SkipReason, at: SkipAt) {
        self.lines += 1;
        source.lines += 1;
        let (count, places) = self.skipped.entry(reason).or_default();
        *count += 1;
        keep(places, at);
    }

    /// Widens the span by an instant.
    pub fn span(&mut self, micros: i64) {
        self.span =
            Some(self.span.map_or((micros, micros), |(first, last)| (first.min(micros), last.max(micros))));
    }

    /// All events, filtered ones too.
    #[must_use]
    pub fn all_events(&self) -> u64 {
        self.events.iter().sum()
    }

    /// Whether the log holds arrivals only: its policy omits the stages at which a request is answered.
    #[must_use]
    pub fn received_only(&self) -> bool {
        self.events[Stage::RequestReceived as usize] > 0
            && self.events[Stage::RequestReceived as usize] == self.all_events()
    }
}

fn keep(places: &mut BTreeSet<SkipAt>, at: SkipAt) {
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
        self.lines += other.lines;
        for (own, other) in self.events.iter_mut().zip(other.events) {
            *own += other;
        }
        self.filtered += other.filtered;
        self.replaced_utf8 += other.replaced_utf8;
        for (reason, (count, places)) in other.skipped {
            let own = self.skipped.entry(reason).or_default();
            own.0 += count;
            for at in places {
                keep(&mut own.1, at);
            }
        }
        self.damaged.extend(other.damaged);
        for (source, counts) in other.sources {
            let own = self.sources.entry(source).or_default();
            own.lines += counts.lines;
            own.events += counts.events;
        }
        if let Some((first, last)) = other.span {
            self.span(first);
            self.span(last);
        }
    }
}
