//! Load: the one measure that ranks clients, request shapes and findings.
//!
//! With an inventory it is the objects that the apiserver handled (read from etcd or filtered from its watch cache), and
//! one more for each write. Without one it is the time that the server took for requests. Watches and other long-running
//! requests are left out of that, and so is the wait in queues of API Priority and Fairness where the log knows it: a
//! request that waits costs the server nothing.

use super::{ShapeKey, ShapeSummary};
use crate::apiserver::ServedFrom;
use crate::cost::{Bound, Cost};
use crate::ledger::Row;

/// What load is counted in: all of a report in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadUnit {
    /// Microseconds of requests.
    #[default]
    RequestMicros,
    /// Objects.
    Objects,
}

impl LoadUnit {
    /// The value in the public JSON contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestMicros => "requestMicros",
            Self::Objects => "objects",
        }
    }
}

/// How load is measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measure {
    /// What it is counted in.
    pub unit: LoadUnit,
    /// The log holds RequestReceived events only: each counts as a request.
    pub received_only: bool,
}

/// The load of some requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// How much, in the report's unit.
    pub amount: u64,
    /// What is meant by the amount.
    pub bound: Bound,
    /// Writes to etcd.
    pub etcd_writes: u64,
}

impl Load {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.amount = self.amount.saturating_add(other.amount);
        self.bound = self.bound.max(other.bound);
        self.etcd_writes = self.etcd_writes.saturating_add(other.etcd_writes);
    }
}

impl Measure {
    /// The load of a row: of one product's requests of a shape.
    #[must_use]
    pub fn load(self, key: &ShapeKey, entry: &ShapeSummary, row: &Row, cost: Option<&Cost>) -> Load {
        let etcd_writes = self.etcd_writes(key, entry, row);
        match self.unit {
            LoadUnit::RequestMicros if entry.long_running => Load { etcd_writes, ..Load::default() },
            LoadUnit::RequestMicros => Load { amount: row.served_micros(), bound: Bound::Exact, etcd_writes },
            LoadUnit::Objects => {
                // What comes from etcd is filtered too, so this is everything that was handled.
                let handled = cost.map(|cost| cost.filtered).unwrap_or_default();
                let amount = handled.objects.saturating_add(etcd_writes);
                Load { amount, bound: handled.bound, etcd_writes }
            }
        }
    }

    /// Writes to etcd: creates, updates, patches and deletes of stored resources and of their subresources, as far as the
    /// server did not refuse them (4xx), fail them (5xx) or only check them (`dryRun=All`). A deletecollection counts as
    /// one: how many objects it deleted is not in the log.
    #[must_use]
    pub fn etcd_writes(self, key: &ShapeKey, entry: &ShapeSummary, row: &Row) -> u64 {
        let is_dry_run = entry.asked.as_ref().is_some_and(|asked| asked.options.dry_run);
        if key.served_from != ServedFrom::Write || is_dry_run {
            return 0;
        }
        served(row, self.received_only)
    }
}

/// The requests of a row that were not refused (4xx), and that the server did not fail (5xx), as far as it is known.
pub(super) fn served(row: &Row, received_only: bool) -> u64 {
    let failed = row.statuses.count(|status| matches!(status / 100, 4 | 5));
    row.requests(received_only).saturating_sub(failed)
}
