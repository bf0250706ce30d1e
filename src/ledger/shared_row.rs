//! A row that several workers count into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Merge, Row};

/// A row behind a lock of its own, which workers remember beside the table that it stands in. It is empty once it was
/// folded into another.
#[derive(Debug, Clone)]
pub struct SharedRow(Arc<Mutex<Option<Row>>>);

impl Default for SharedRow {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(Row::default()))))
    }
}

impl SharedRow {
    /// Counts into the row; `None` if it was folded into another.
    pub fn count<T>(&self, count: impl FnOnce(&mut Row) -> T) -> Option<T> {
        self.lock().as_mut().map(count)
    }

    /// Counts into the row, for those who hold the table that it stands in.
    pub fn hold<T>(&self, count: impl FnOnce(&mut Row) -> T) -> T {
        count(self.lock().get_or_insert_default())
    }

    /// The row, which workers that remember it find folded.
    #[must_use]
    pub fn take(&self) -> Option<Row> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Merge for SharedRow {
    fn merge(&mut self, other: Self) {
        // Never both locks at once.
        if let Some(row) = other.take() {
            self.hold(|own| own.merge(row));
        }
    }
}
