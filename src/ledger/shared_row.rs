//! A row that several workers count into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Merge, Row};

/// A row behind a lock of its own, which workers remember beside the table that it stands in. What they remember is empty
/// once the row was folded into another, or stands where those of several clients are counted together.
#[derive(Debug)]
pub struct SharedRow(Arc<Mutex<Option<Row>>>);

impl Default for SharedRow {
    fn default() -> Self {
        Self::of(Row::default())
    }
}

impl SharedRow {
    fn of(row: Row) -> Self {
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
    pub(super) fn count<T>(&self, count: impl FnOnce(&mut Row) -> T) -> Option<T> {
        self.lock().as_mut().map(count)
    }

    /// Counts into a row of a table.
    pub(super) fn count_at_home<T>(&self, count: impl FnOnce(&mut Row) -> T) -> T {
        self.count(count).expect("only what is remembered is empty")
    }

    /// The row, by itself.
    #[must_use]
    pub fn into_row(self) -> Row {
        self.taken()
    }

    fn taken(&self) -> Row {
        self.lock().take().expect("only what is remembered is empty")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Merge for SharedRow {
    fn merge(&mut self, other: Self) {
        // Never both locks at once.
        let other = other.into_row();
        self.count_at_home(|row| row.merge(other));
    }
}
