//! Load: the one measure that ranks clients, request shapes and findings.
//!
//! With an inventory, load is the number of objects that the apiserver handles, plus one for each write. The
//! apiserver handles the objects that it reads from etcd, and those that it scans in the watch cache.
//!
//! Without an inventory, load is the time that the server takes for requests. That time excludes watches and other
//! long-running requests. It also excludes time in queues of API Priority and Fairness, if the log shows that time. A
//! waiting request costs the server nothing.

use std::iter::Sum;

use super::{ShapeKey, ShapeSummary};
use crate::apiserver::ServedFrom;
use crate::cost::{Bound, Cost};
use crate::ledger::Row;
use crate::named::named;

named! {
    /// The unit of load. A report uses one unit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(crate) enum LoadUnit {
        /// Microseconds that the server takes for requests.
        #[default]
        RequestMicros = "requestMicros",
        Objects = "objects",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measure {
    pub(crate) unit: LoadUnit,
    /// True if the log contains only RequestReceived events. Each of them then counts as a request.
    pub(crate) received_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RequestLoad {
    /// The amount, in the report's unit.
    pub(crate) amount: u64,
    /// Whether the amount is exact, a bound or an estimate.
    pub(crate) bound: Bound,
    pub(crate) etcd_writes: u64,
}

impl RequestLoad {
    pub(crate) fn add(&mut self, other: Self) {
        self.amount = self.amount.saturating_add(other.amount);
        self.bound = self.bound.max(other.bound);
        self.etcd_writes = self.etcd_writes.saturating_add(other.etcd_writes);
    }
}

impl Sum for RequestLoad {
    fn sum<I: Iterator<Item = Self>>(loads: I) -> Self {
        loads.fold(Self::default(), |mut all, load| {
            all.add(load);
            all
        })
    }
}

impl Measure {
    pub(crate) fn load(
        self,
        key: &ShapeKey,
        shape_summary: &ShapeSummary,
        row: &Row,
        cost: Option<&Cost>,
    ) -> RequestLoad {
        let etcd_writes = self.etcd_writes(key, shape_summary, row);
        match self.unit {
            LoadUnit::RequestMicros if shape_summary.long_running => {
                RequestLoad { etcd_writes, ..RequestLoad::default() }
            }
            LoadUnit::RequestMicros => {
                RequestLoad { amount: row.served_micros(), bound: Bound::Exact, etcd_writes }
            }
            LoadUnit::Objects => {
                // Objects from etcd are filtered too, so `filtered` counts all handled objects.
                let handled = cost.map(|cost| cost.filtered).unwrap_or_default();
                let amount = handled.objects.saturating_add(etcd_writes);
                RequestLoad { amount, bound: handled.bound, etcd_writes }
            }
        }
    }

    /// The number of writes to etcd: creates, updates, patches and deletes of stored resources and of their
    /// subresources. Requests with a 4xx or 5xx status and dry runs (`dryRun=All`) do not count. A DELETECOLLECTION
    /// counts as one write, because the log does not show how many objects it deleted.
    pub(crate) fn etcd_writes(self, key: &ShapeKey, shape_summary: &ShapeSummary, row: &Row) -> u64 {
        let is_dry_run = shape_summary.request_shape.as_ref().is_some_and(|shape| shape.options.dry_run);
        if key.served_from != ServedFrom::Write || is_dry_run {
            return 0;
        }
        self.served(row)
    }

    /// The number of requests in a row, except requests with a known 4xx or 5xx status.
    pub(super) fn served(self, row: &Row) -> u64 {
        let failed = row.statuses.count(|status| matches!(status / 100, 4 | 5));
        row.requests(self.received_only).saturating_sub(failed)
    }
}
