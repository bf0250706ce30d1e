//! The minutes in which a log has events. They show the log's gaps.

use std::collections::BTreeMap;

use super::Merge;

/// The maximum number of 64-bit words in [`Activity`]. Each word covers 64 minutes, so this is enough for eight
/// years.
const MAX_WORDS: usize = 1 << 16;

#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    /// Key: minutes since 1970, divided by 64. Value: one bit for each minute with events. Above [`MAX_WORDS`], the
    /// latest words are dropped.
    words: BTreeMap<u32, u64>,
}

/// A period without events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The start of the gap, in microseconds since 1970. It is the start of the first minute without events.
    pub(crate) from: i64,
    pub(crate) minutes: u64,
}

impl Activity {
    /// Records an event at `micros`, in microseconds since 1970.
    pub(crate) fn note(&mut self, micros: i64) {
        let minute = u32::try_from(micros.div_euclid(60_000_000)).unwrap_or(0);
        self.add(minute / 64, 1 << (minute % 64));
    }

    fn add(&mut self, word: u32, bits: u64) {
        *self.words.entry(word).or_default() |= bits;
        if self.words.len() > MAX_WORDS {
            self.words.pop_last();
        }
    }

    fn minutes(&self) -> impl Iterator<Item = u64> {
        self.words.iter().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| u64::from(*word) * 64 + bit)
        })
    }

    /// The longest gap between two minutes with events. If several gaps are equally long, the first of them.
    #[must_use]
    pub(crate) fn longest_gap(&self) -> Option<Gap> {
        let mut longest: Option<Gap> = None;
        let mut before: Option<u64> = None;
        for minute in self.minutes() {
            if let Some(before) = before {
                let minutes = minute - before - 1;
                if minutes > longest.map_or(0, |gap| gap.minutes) {
                    let from = i64::try_from((before + 1) * 60_000_000).unwrap_or(i64::MAX);
                    longest = Some(Gap { from, minutes });
                }
            }
            before = Some(minute);
        }
        longest
    }

    /// Number of minutes from the first to the last minute with events.
    #[must_use]
    pub(crate) fn span_minutes(&self) -> u64 {
        match (self.minutes().next(), self.minutes().last()) {
            (Some(first), Some(last)) => last - first + 1,
            _ => 0,
        }
    }
}

impl Merge for Activity {
    fn merge(&mut self, other: Self) {
        for (word, bits) in other.words {
            self.add(word, bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn active_minutes(activity: &Activity) -> u64 {
        activity.words.values().map(|bits| u64::from(bits.count_ones())).sum()
    }

    fn activity(minutes: &[u32]) -> Activity {
        let mut activity = Activity::default();
        for minute in minutes {
            activity.note(i64::from(*minute) * 60_000_000 + 7);
        }
        activity
    }

    proptest! {
        #[test]
        fn gaps_are_those_between_sorted_minutes(
            minutes in prop::collection::vec(0_u32..500, 0..40),
            cut in 0_usize..40,
        ) {
            let sorted: BTreeSet<u32> = minutes.iter().copied().collect();
            let sorted: Vec<u32> = sorted.into_iter().collect();
            let naive = sorted.windows(2).map(|pair| u64::from(pair[1] - pair[0] - 1)).max().filter(|gap| *gap > 0);
            let merged = crate::ledger::merge::merged_parts(&minutes, cut, activity);
            prop_assert_eq!(merged.longest_gap().map(|gap| gap.minutes), naive);
            prop_assert_eq!(activity(&minutes).longest_gap(), merged.longest_gap());
            prop_assert_eq!(active_minutes(&merged), sorted.len() as u64);
        }
    }

    #[test]
    fn a_gap_begins_after_the_last_event() {
        assert_eq!(activity(&[10, 14]).longest_gap(), Some(Gap { from: 11 * 60_000_000, minutes: 3 }));
        assert_eq!(activity(&[10, 11]).longest_gap(), None);
    }
}
