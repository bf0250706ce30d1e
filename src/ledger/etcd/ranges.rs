//! Slow reads of collections one by one: the costliest of them, picked by a total order and never by arrival.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use compact_str::CompactString;

use super::Merge;
use crate::input::SourcePosition;

/// Ranges that are kept.
pub const MAX_RANGES: usize = 4_096;

/// A slow read of a collection, or of a page of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowRange {
    /// Bytes of the answer.
    pub bytes: u64,
    /// How long it took, in microseconds.
    pub took_micros: u64,
    /// Where it stands.
    pub place: SourcePosition,
    /// When it ended, in microseconds since 1970.
    pub ended: i64,
    /// Keys in the answer.
    pub items: u64,
    /// The limit; 0 for none.
    pub limit: u64,
    /// The keys are those of one namespace.
    pub in_namespace: bool,
    /// A hash of the namespace ([`namespace_hash`](crate::requests::namespace_hash)); 0 for none.
    pub namespace: u32,
    /// The resource as reports name it.
    pub resource: CompactString,
}

impl SlowRange {
    /// When it began, in microseconds since 1970.
    #[must_use]
    pub fn began(&self) -> i64 {
        self.ended.saturating_sub_unsigned(self.took_micros)
    }

    /// The costliest first; of copies, which are equal but for the place, that in the first place.
    fn rank(&self) -> impl Ord + '_ {
        (
            Reverse(self.bytes),
            Reverse(self.took_micros),
            self.ended,
            &self.resource,
            (self.in_namespace, self.namespace),
            self.limit,
            self.items,
            self.place,
        )
    }

    fn is_copy_of(&self, other: &Self) -> bool {
        Self { place: other.place, ..self.clone() } == *other
    }
}

impl Ord for SlowRange {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for SlowRange {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The costliest slow reads of collections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    kept: BTreeSet<SlowRange>,
    /// All that were counted.
    all: u64,
}

impl Ranges {
    /// Takes a range, or another copy of one.
    pub(super) fn offer(&mut self, range: SlowRange, is_new: bool) {
        self.all += u64::from(is_new);
        self.keep(range);
    }

    fn keep(&mut self, range: SlowRange) {
        if self.kept.len() == MAX_RANGES && self.kept.last().is_some_and(|last| range > *last) {
            return;
        }
        // Copies stand beside each other, and their order is that of their places.
        if let Some(before) = self.kept.range(..&range).next_back()
            && before.is_copy_of(&range)
        {
            return;
        }
        let behind = self.kept.range(&range..).next().filter(|behind| behind.is_copy_of(&range)).cloned();
        if let Some(copy) = behind {
            self.kept.remove(&copy);
        }
        self.kept.insert(range);
        if self.kept.len() > MAX_RANGES {
            self.kept.pop_last();
        }
    }

    /// The ranges, costliest first.
    pub fn iter(&self) -> impl Iterator<Item = &SlowRange> {
        self.kept.iter()
    }

    /// When one of them was under way, or less than `slack` microseconds away.
    #[must_use]
    pub fn spans(&self, slack: i64) -> Spans {
        let span =
            |range: &SlowRange| (range.began().saturating_sub(slack), range.ended.saturating_add(slack));
        let mut all: Vec<(i64, i64)> = self.iter().map(span).collect();
        all.sort_unstable();
        let mut spans: Vec<(i64, i64)> = Vec::new();
        for (from, to) in all {
            match spans.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => spans.push((from, to)),
            }
        }
        Spans(spans)
    }

    /// Ranges that are not kept, as they were less costly.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.all.saturating_sub(self.kept.len() as u64)
    }
}

/// Spans of time, none of which meets another, in their order; in microseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Whether something that lasted from one instant to another overlaps one of them.
    #[must_use]
    pub fn overlap(&self, from: i64, to: i64) -> bool {
        let first = self.0.partition_point(|span| span.1 < from);
        self.0.get(first).is_some_and(|span| span.0 <= to)
    }
}

impl Merge for Ranges {
    fn merge(&mut self, other: Self) {
        self.all += other.all;
        for range in other.kept {
            self.keep(range);
        }
    }
}
