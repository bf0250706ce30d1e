//! The costliest slow reads of collections. The cost of a read decides whether it is kept, so the order of the lines
//! does not matter.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use compact_str::CompactString;

use super::Merge;
use crate::input::SourcePosition;

/// The maximum number of reads that are kept.
pub(crate) const MAX_RANGES: usize = 4_096;

/// A slow read of a collection, or of one page of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowRange {
    /// Response size in bytes.
    pub(crate) bytes: u64,
    /// Duration in microseconds.
    pub(crate) took_micros: u64,
    /// The position of the line in the log.
    pub(crate) place: SourcePosition,
    /// End time, in microseconds since 1970.
    pub(crate) ended: i64,
    /// The number of keys in the response.
    pub(crate) items: u64,
    /// The maximum number of keys in the response; 0 for no limit.
    pub(crate) limit: u64,
    /// True if all keys belong to one namespace.
    pub(crate) in_namespace: bool,
    /// A hash of the namespace ([`namespace_hash`](crate::requests::namespace_hash)); 0 without a namespace.
    pub(crate) namespace: u32,
    /// The resource's name, as reports show it.
    pub(crate) resource: CompactString,
}

impl SlowRange {
    /// Start time, in microseconds since 1970.
    #[must_use]
    pub(crate) fn began(&self) -> i64 {
        self.ended.saturating_sub_unsigned(self.took_micros)
    }

    /// The total order: the costliest read first. Duplicates differ only in their position.
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    costliest: BTreeSet<SlowRange>,
}

impl Ranges {
    /// Keeps a read if it is one of the costliest and not a duplicate.
    pub(super) fn offer(&mut self, range: SlowRange) {
        if self.costliest.len() == MAX_RANGES && self.costliest.last().is_some_and(|last| range > *last) {
            return;
        }
        // Duplicates are adjacent in the order, because they differ only in their position. Keep the one with the
        // first position.
        if let Some(before) = self.costliest.range(..&range).next_back()
            && before.is_copy_of(&range)
        {
            return;
        }
        let behind =
            self.costliest.range(&range..).next().filter(|behind| behind.is_copy_of(&range)).cloned();
        if let Some(copy) = behind {
            self.costliest.remove(&copy);
        }
        self.costliest.insert(range);
        if self.costliest.len() > MAX_RANGES {
            self.costliest.pop_last();
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SlowRange> {
        self.costliest.iter()
    }

    /// Returns the time spans in which kept reads ran. Each span begins `slack` microseconds earlier and ends `slack`
    /// microseconds later than its reads.
    #[must_use]
    pub(crate) fn spans(&self, slack: i64) -> Spans {
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
}

/// Time spans in ascending order, in microseconds since 1970. They do not overlap each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Whether the time from `from` to `to` overlaps one of the spans.
    #[must_use]
    pub(crate) fn overlap(&self, from: i64, to: i64) -> bool {
        let first = self.0.partition_point(|span| span.1 < from);
        self.0.get(first).is_some_and(|span| span.0 <= to)
    }
}

impl Merge for Ranges {
    fn merge(&mut self, other: Self) {
        for range in other.costliest {
            self.offer(range);
        }
    }
}
