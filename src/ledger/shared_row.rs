//! A row that several workers count into through handles. No worker waits for another: while one worker counts into the
//! row, the others count into parts of the row. The parts are merged into the row every few events, so they stay small.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::sharded::{lock, try_lock};
use super::{Merge, Row};

/// The number of parts of a contended row.
const PARTS: usize = 16;
/// A worker tries to merge a part into its row when the part has this many events.
const ENOUGH: usize = 16;
/// A worker waits for the row when the part has this many events. A row tracks at most 8,192 long-running requests with an
/// end and no start. The limit is lower, because a part may have all ends, and another part all starts.
const MOST: usize = 1 << 12;

/// A handle to a row. Workers cache handles. A cached handle yields `None` after its row was merged into another row.
#[derive(Debug)]
pub(crate) struct SharedRow<T = Row>(Arc<SplitRow<T>>);

#[derive(Debug)]
struct SplitRow<T> {
    /// `None` after the row was merged into another row.
    row: Mutex<Option<T>>,
    /// Set when two workers need the row at the same time. Empty if the row was merged into another row before.
    parts: OnceLock<Box<[Mutex<Part<T>>]>>,
}

#[derive(Debug)]
enum Part<T> {
    /// Counts and their number of events. `None` if all counts are merged into the row.
    Open(Option<Box<T>>, usize),
    /// The row was merged into another row.
    Closed,
}

impl<T: Default + Merge> Default for SharedRow<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Default + Merge> SharedRow<T> {
    fn new(row: T) -> Self {
        Self(Arc::new(SplitRow { row: Mutex::new(Some(row)), parts: OnceLock::new() }))
    }

    /// Returns another handle to this row, for a worker's cache.
    pub(super) fn new_handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Makes all cached handles of the row yield `None`. The row itself moves to a new handle.
    pub(super) fn detach_handles(&mut self) {
        *self = Self::new(self.take());
    }

    /// Counts through a cached handle. Returns `None` if the row was merged into another row. `count` receives the row
    /// or a part of it.
    pub(super) fn count<R>(&self, count: impl FnOnce(&mut T) -> R) -> Option<R> {
        let SplitRow { row, parts } = &*self.0;
        match parts.get() {
            None => match try_lock(row) {
                Some(mut row) => row.as_mut().map(count),
                None => self.count_in_part(parts.get_or_init(open_parts), count),
            },
            Some(parts) => self.count_in_part(parts, count),
        }
    }

    #[cold]
    fn count_in_part<R>(&self, parts: &[Mutex<Part<T>>], count: impl FnOnce(&mut T) -> R) -> Option<R> {
        let own = parts.get(thread_number() % parts.len().max(1))?;
        let mut part = try_lock(own).or_else(|| parts.iter().find_map(try_lock)).unwrap_or_else(|| lock(own));
        let Part::Open(counts, events) = &mut *part else { return None };
        if counts.is_none() || *events >= ENOUGH {
            let row = match try_lock(&self.0.row) {
                None if *events >= MOST => Some(lock(&self.0.row)),
                row => row,
            };
            if let Some(mut row) = row {
                // If the row is merged into another row now, that worker also takes this part.
                let row = row.as_mut()?;
                counts.take().into_iter().for_each(|counts| row.merge(*counts));
                *events = 0;
                return Some(count(row));
            }
        }
        *events += 1;
        Some(count(counts.get_or_insert_default()))
    }

    /// Counts through the handle in the table of rows. This handle always has its row.
    pub(super) fn count_in_table<R>(&self, count: impl FnOnce(&mut T) -> R) -> R {
        self.count(count).expect("only cached handles can be empty")
    }

    /// Merges all parts into the row, and calls `show` with it. Call it after the last event.
    pub(super) fn show<R>(&mut self, show: impl FnOnce(&mut T) -> R) -> R {
        if self.0.parts.get().is_some() {
            self.detach_handles();
        }
        show(lock(&self.0.row).as_mut().expect("only cached handles can be empty"))
    }

    #[must_use]
    pub(crate) fn into_inner(self) -> T {
        self.take()
    }

    fn take(&self) -> T {
        // Do not hold the lock of the row while waiting for a part. Its worker may wait for the row.
        let mut row = lock(&self.0.row).take().expect("only cached handles can be empty");
        for part in self.0.parts.get_or_init(Box::default) {
            if let Part::Open(Some(counts), _) = std::mem::replace(&mut *lock(part), Part::Closed) {
                row.merge(*counts);
            }
        }
        row
    }
}

fn open_parts<T>() -> Box<[Mutex<Part<T>>]> {
    (0..PARTS).map(|_| Mutex::new(Part::Open(None, 0))).collect()
}

/// A number that spreads threads over the parts of rows.
fn thread_number() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

impl<T: Default + Merge> Merge for SharedRow<T> {
    fn merge(&mut self, other: Self) {
        // Hold only one lock at a time. Otherwise two workers that merge each other's rows could deadlock.
        let other = other.into_inner();
        lock(&self.0.row).as_mut().expect("only cached handles can be empty").merge(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::SourcePosition;
    use crate::k8s::{Event, Stage};
    use crate::requests::{Classifier, Request};
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq)]
    struct Sum(u64);

    impl Merge for Sum {
        fn merge(&mut self, other: Self) {
            self.0 += other.0;
        }
    }

    proptest! {
        #[test]
        fn no_event_is_lost_when_rows_are_contended_and_merged(workers in 1_u64..20, merges in 0_u64..9) {
            let table = Mutex::new(SharedRow::<Sum>::default());
            let work = || {
                let mut handle = lock(&table).new_handle();
                for _ in 0..200 {
                    if handle.count(|sum| sum.0 += 1).is_none() {
                        let row = lock(&table);
                        row.count_in_table(|sum| sum.0 += 1);
                        handle = row.new_handle();
                    }
                }
            };
            std::thread::scope(|scope| {
                (0..workers).for_each(|_| drop(scope.spawn(work)));
                (0..merges).for_each(|_| lock(&table).detach_handles());
            });
            prop_assert_eq!(lock(&table).show(|sum| sum.0), 200 * workers);
        }
    }

    /// Calls `by` with requests. For each, `times` contains the minute and the duration in milliseconds.
    fn each_request(times: &[(u32, u32)], mut by: impl FnMut(&Request<'_>)) {
        let mut classifier = Classifier::default();
        for (line, (minute, millis)) in (1..).zip(times) {
            let json = format!(
                r#"{{"auditID":"a{line}","stage":"ResponseComplete","verb":"get","user":{{"username":"u"}},
                "requestURI":"/api/v1/namespaces/n/configmaps/c{}","responseStatus":{{"code":{}}},
                "requestReceivedTimestamp":"2026-07-23T10:{minute:02}:00.000000Z",
                "stageTimestamp":"2026-07-23T10:{minute:02}:{:02}.{:03}000Z"}}"#,
                millis % 90,
                200 + millis % 2 * 300,
                millis / 1_000,
                millis % 1_000,
            );
            let event: Event<'_> = serde_json::from_str(&json).expect("an event");
            by(&classifier.event(
                &event,
                Stage::ResponseComplete,
                SourcePosition { source: 0, offset: 0, line },
            ));
        }
    }

    proptest! {
        #[test]
        fn contended_rows_equal_uncontended_ones(
            times in prop::collection::vec((0_u32..60, 0_u32..60_000), 0..300),
            workers in 1_u64..5,
        ) {
            let (mut alone, shared) = (Row::default(), SharedRow::<Row>::default());
            each_request(&times, |request| {
                alone.observe(request);
            });
            std::thread::scope(|scope| {
                for worker in 0..workers {
                    let (times, handle) = (&times, shared.new_handle());
                    scope.spawn(move || each_request(times, |request| {
                        if request.place.line % workers == worker {
                            handle.count(|row| row.observe(request)).expect("no other row takes this one");
                        }
                    }));
                }
            });
            let settled = |row: Row| {
                let mut settled = Row::default();
                settled.merge(row);
                settled.settle();
                format!("{settled:?}")
            };
            prop_assert_eq!(settled(shared.into_inner()), settled(alone));
        }
    }

    #[test]
    fn workers_count_into_parts_while_the_row_is_held() {
        let row = SharedRow::<Sum>::default();
        let held = lock(&row.0.row);
        for _ in 0..MOST - 1 {
            assert_eq!(row.count(|sum| sum.0 += 1), Some(()));
        }
        drop(held);
        let handle = row.new_handle();
        assert_eq!(row.into_inner(), Sum(MOST as u64 - 1));
        assert_eq!(handle.count(|sum| sum.0 += 1), None);
    }
}
