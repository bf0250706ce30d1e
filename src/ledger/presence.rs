//! Records the times at which evidence of a server version is in the log. The memory is fixed, and the result does
//! not depend on the order of the times.

/// The number of time slots of a [`Presence`]. Each is one bit of a `u64`.
const SLOTS: u64 = 64;

/// The first time, the last time, and the time slots with at least one time. A slot is `2^shift` microseconds wide:
/// the smallest width with which 64 slots cover all times. So neither the order of the times nor a repeated time
/// changes the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Presence {
    first: i64,
    last: i64,
    shift: u8,
    /// One bit for each slot: 1 if the slot has a time. The lowest bit is the slot of the first time. 0 if no time is
    /// known.
    slots: u64,
}

impl Presence {
    /// The first and the last time. `None` if no time is known.
    #[must_use]
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        (self.slots != 0).then_some((self.first, self.last))
    }

    /// Adds a time in microseconds since 1970, if it is known.
    pub(crate) fn add(&mut self, time: Option<i64>) {
        let Some(time) = time else { return };
        if self.slots == 0 {
            *self = Self { first: time, last: time, shift: 0, slots: 1 };
            return;
        }
        let slot = |presence: &Self| (time >> presence.shift).abs_diff(presence.first >> presence.shift);
        // Records are mostly in time order, so `slots` rarely needs a new width.
        if time < self.first || slot(self) >= SLOTS {
            self.widen(self.first.min(time), self.last.max(time));
        } else {
            self.last = self.last.max(time);
        }
        self.slots |= 1 << slot(self);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Some((first, last)) = other.span() else { return };
        if self.slots == 0 {
            *self = *other;
            return;
        }
        let mut other = *other;
        let (first, last) = (self.first.min(first), self.last.max(last));
        self.widen(first, last);
        other.widen(first, last);
        self.slots |= other.slots;
    }

    fn widen(&mut self, first: i64, last: i64) {
        let covers = |shift: &u8| (last >> shift).abs_diff(first >> shift) < SLOTS;
        // With a shift of 63, there are at most two slots.
        let shift = (self.shift..=63).find(covers).unwrap_or(63);
        let start = first >> shift;
        let slots = self.numbers(shift).fold(0, |slots, number| slots | 1 << number.abs_diff(start));
        *self = Self { first, last, shift, slots };
    }

    /// The numbers of the slots that contain a time, for slots of `2^shift` microseconds. They are in ascending order,
    /// and some may repeat.
    fn numbers(&self, shift: u8) -> impl Iterator<Item = i64> + use<> {
        let Self { first, slots, shift: own, .. } = *self;
        let start = first >> own;
        let numbers = (0..64_u8).filter(move |at| slots & 1 << at != 0);
        numbers.map(move |at| (start + i64::from(at)) >> (shift - own))
    }

    /// Returns the change from this version to `later`; `None` if `later` does not replace this version. This version
    /// must begin before `later` begins, and end before `later` ends. Both may overlap for a short part of the time,
    /// because an upgrade of several servers takes a while.
    #[must_use]
    pub(crate) fn precedes(&self, later: &Self) -> Option<Change> {
        let (own, other) = (self.span()?, later.span()?);
        if own.1 <= other.0 {
            return (own.0 < other.1).then_some(Change { from: other.0, until: other.0 });
        }
        let (both, total) = (own.1.abs_diff(other.0), own.0.abs_diff(other.1));
        let gradual = |most: u64| {
            let is_change = own.0 < other.0 && own.1 < other.1 && both <= most;
            is_change.then(|| Change { from: other.0, until: own.1.saturating_add(1) })
        };
        // A single late record can cause a long overlap. So first try an overlap of at most a quarter of the time.
        // Then try a change without an overlap. Then try an overlap of at most half of the time.
        gradual(total / 4).or_else(|| self.cut(later)).or_else(|| gradual(total / 2))
    }

    /// Returns a change without an overlap. Almost all slots of this version must be before the change, and almost
    /// all slots of `later` must be after it. At most one slot in 16 may be on the wrong side.
    fn cut(&self, later: &Self) -> Option<Change> {
        let first = later.span()?.0;
        let shift = self.shift.max(later.shift);
        let numbers = |presence: &Self| {
            let mut numbers: Vec<i64> = presence.numbers(shift).collect();
            numbers.dedup();
            numbers
        };
        let (old, new) = (numbers(self), numbers(later));
        let misplaced =
            |cut: i64| (old.len() - old.partition_point(|at| *at < cut), new.partition_point(|at| *at < cut));
        let cut = new.iter().copied().min_by_key(|cut| {
            let (old, new) = misplaced(*cut);
            (old + new, *cut)
        })?;
        let (wrong_old, wrong_new) = misplaced(cut);
        let are_few = (wrong_old + wrong_new) * 16 <= old.len() + new.len();
        let are_minorities = wrong_old * 4 <= new.len() && wrong_new * 4 <= old.len();
        let from = (cut << shift).max(first);
        (are_few && are_minorities).then_some(Change { from, until: from })
    }
}

/// When one version replaces another one. Only the old version is present before `from`, and only the new version after
/// `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// The first time of the new version, in microseconds since 1970.
    pub(crate) from: i64,
    /// The end of the overlap, in microseconds since 1970. It equals `from` if both versions do not overlap.
    pub(crate) until: i64,
}

impl Change {
    /// The change to the first version, which has no version before it.
    pub(crate) const BEGINNING: Self = Self { from: i64::MIN, until: i64::MIN };

    /// Whether the old and the new version overlap.
    #[must_use]
    pub(crate) fn is_gradual(self) -> bool {
        self.from < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn presence(times: impl IntoIterator<Item = i64>) -> Presence {
        let mut presence = Presence::default();
        times.into_iter().for_each(|time| presence.add(Some(time)));
        presence
    }

    #[test]
    fn versions_in_sequence_change_at_the_first_time_of_the_later() {
        let (old, new) = (presence([10, 20, 30]), presence([31, 50]));
        assert_eq!(old.precedes(&new), Some(Change { from: 31, until: 31 }));
        assert_eq!(new.precedes(&old), None);
        assert_eq!(presence([5]).precedes(&presence([5])), None, "the same time");
        assert_eq!(presence([]).precedes(&new), None);
    }

    #[test]
    fn a_short_overlap_is_still_a_change() {
        let minute = 60_000_000;
        let old = presence((0..600).map(|at| at * minute));
        let new = presence((595..1_200).map(|at| at * minute));
        let change = Change { from: 595 * minute, until: 599 * minute + 1 };
        assert_eq!(old.precedes(&new), Some(change));
        let straggler = presence((0..600).chain([1_100]).map(|at| at * minute));
        let change = straggler.precedes(&new).expect("a change");
        assert!((570..=620).contains(&(change.from / minute)) && !change.is_gradual(), "{change:?}");
    }

    #[test]
    fn a_long_overlap_is_a_gradual_change() {
        let minute = 60_000_000;
        let (old, new) = (presence((0..40).map(|at| at * minute)), presence((20..=60).map(|at| at * minute)));
        let change = Change { from: 20 * minute, until: 39 * minute + 1 };
        assert_eq!(old.precedes(&new), Some(change));
        assert_eq!(new.precedes(&old), None);
        let most_of_it = presence((5..=60).map(|at| at * minute));
        assert_eq!(old.precedes(&most_of_it), None);
    }

    #[test]
    fn complete_overlap_is_not_a_change() {
        let (old, new) = (presence(0..6_400), presence(6_300..6_400));
        assert_eq!(old.precedes(&new), None);
        assert_eq!(
            presence((0..100).map(|at| at * 2)).precedes(&presence((0..100).map(|at| at * 2 + 1))),
            None
        );
        assert_eq!(presence([10, 30]).precedes(&presence([20])), None);
    }

    proptest! {
        #[test]
        fn presence_is_independent_of_order_and_repetition(
            times in prop::collection::vec(prop_oneof![any::<i64>(), 0_i64..1_000, 0_i64..10_000_000], 1..40),
            cut in 0_usize..40,
        ) {
            let whole = presence(times.iter().copied());
            prop_assert_eq!(presence(times.iter().rev().chain(&times).copied()), whole);
            let (left, right) = times.split_at(cut.min(times.len()));
            let mut merged = presence(right.iter().copied());
            merged.merge(&presence(left.iter().copied()));
            prop_assert_eq!(merged, whole);
            prop_assert_eq!(whole.span(), times.iter().min().copied().zip(times.iter().max().copied()));
            prop_assert!(times.iter().all(|time| whole.numbers(whole.shift).any(|at| at == time >> whole.shift)));
        }
    }
}
