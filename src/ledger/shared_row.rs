//! A row that several workers count into through handles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Merge, Row};

/// A handle to a row with its own mutex. Workers cache handles. A cached handle yields `None` after its row was merged
/// into another row.
#[derive(Debug)]
pub(crate) struct SharedRow<T = Row>(Arc<Mutex<Option<T>>>);

impl<T: Default> Default for SharedRow<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> SharedRow<T> {
    fn new(row: T) -> Self {
        Self(Arc::new(Mutex::new(Some(row))))
    }

    /// Returns another handle to this row, for a worker's cache.
    pub(super) fn new_handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Makes all cached handles of the row yield `None`. The row itself moves to a new handle.
    pub(super) fn detach_handles(&mut self) {
        *self = Self::new(self.take());
    }

    /// Counts through a cached handle. Returns `None` if the row was merged into another row.
    pub(super) fn count<R>(&self, count: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().as_mut().map(count)
    }

    /// Counts through the handle in the table of rows. This handle always has its row.
    pub(super) fn count_in_table<R>(&self, count: impl FnOnce(&mut T) -> R) -> R {
        self.count(count).expect("only cached handles can be empty")
    }

    #[must_use]
    pub(crate) fn into_inner(self) -> T {
        self.take()
    }

    fn take(&self) -> T {
        self.lock().take().expect("only cached handles can be empty")
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Merge> Merge for SharedRow<T> {
    fn merge(&mut self, other: Self) {
        // Hold only one lock at a time. Otherwise two workers that merge each other's rows could deadlock.
        let other = other.into_inner();
        self.count_in_table(|row| row.merge(other));
    }
}
