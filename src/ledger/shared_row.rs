//! A row that several workers count into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Merge, Row};

/// A row behind a lock of its own, which workers remember beside the table that it stands in. What they remember is empty
/// once the row was folded into another, or stands where those of several clients are counted together.
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

    /// The same row, to be remembered.
    pub(super) fn remembered(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Lets go of those who remember it.
    pub(super) fn leave(&mut self) {
        *self = Self::of(self.taken());
    }

    /// Counts into a row that is remembered; `None` if it is empty.
    pub(super) fn count<R>(&self, count: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().as_mut().map(count)
    }

    /// Counts into a row of a table.
    pub(super) fn count_at_home<R>(&self, count: impl FnOnce(&mut T) -> R) -> R {
        self.count(count).expect("only what is remembered is empty")
    }

    /// The row without its lock.
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
        // Never both locks at once.
        let other = other.into_inner();
        self.count_at_home(|row| row.merge(other));
    }
}
