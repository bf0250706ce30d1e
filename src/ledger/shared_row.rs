//! A row that several workers count into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Merge, Row};

/// A row with its own mutex. Workers cache handles to it. A cached handle yields `None` after the row was merged into
/// another row.
#[derive(Debug)]
pub struct SharedRow<T = Row>(Arc<Mutex<Option<T>>>);

impl<T: Default> Default for SharedRow<T> {
    fn default() -> Self {
        Self::of(T::default())
    }
}

impl<T> SharedRow<T> {
    fn of(row: T) -> Self {
        Self(Arc::new(Mutex::new(Some(row))))
    }

    /// A handle for a worker's cache.
    pub(super) fn remembered(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Empties all cached handles of the row.
    pub(super) fn leave(&mut self) {
        *self = Self::of(self.taken());
    }

    /// Counts through a cached handle. `None` if the row was merged into another one.
    pub(super) fn count<R>(&self, count: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().as_mut().map(count)
    }

    /// Counts through the handle in the table, which is never empty.
    pub(super) fn count_at_home<R>(&self, count: impl FnOnce(&mut T) -> R) -> R {
        self.count(count).expect("only what is remembered is empty")
    }

    #[must_use]
    pub fn into_inner(self) -> T {
        self.taken()
    }

    fn taken(&self) -> T {
        self.lock().take().expect("only what is remembered is empty")
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Merge> Merge for SharedRow<T> {
    fn merge(&mut self, other: Self) {
        // Holds one lock at a time: two workers that merge crosswise would deadlock.
        let other = other.into_inner();
        self.count_at_home(|row| row.merge(other));
    }
}
