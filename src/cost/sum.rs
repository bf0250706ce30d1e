//! Sums of costs over requests. A sum also counts the requests whose cost is unknown.

use super::work::{Amount, Bound, Work};
use crate::ledger::Merge;
use crate::ledger::merge::merge_fields;

/// The sum of objects and bytes over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Total objects, over requests whose object count is known.
    pub objects: u64,
    /// Total bytes, over requests whose bytes are known.
    pub(crate) bytes: u64,
    /// The least precise bound of all requests.
    pub(crate) bound: Bound,
    /// Requests whose object count is unknown.
    pub(crate) without_objects: u64,
    /// Requests whose bytes are unknown.
    pub(crate) without_bytes: u64,
}

impl Sum {
    fn new(amount: Amount, requests: u64) -> Self {
        let or_none = |number: Option<u64>| if number.is_none() { requests } else { 0 };
        Self {
            objects: amount.objects.unwrap_or(0).saturating_mul(requests),
            bytes: amount.bytes.unwrap_or(0).saturating_mul(requests),
            bound: if requests == 0 { Bound::Exact } else { amount.bound },
            without_objects: or_none(amount.objects),
            without_bytes: or_none(amount.bytes),
        }
    }

    /// Whether a sum reached the maximum of `u64`.
    fn is_saturated(&self) -> bool {
        self.objects == u64::MAX || self.bytes == u64::MAX
    }
}

impl Merge for Sum {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: objects, bytes, without_objects, without_bytes);
        self.bound = self.bound.max(other.bound);
    }
}

/// The cost of many requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// What etcd reads.
    pub etcd: Sum,
    /// What the apiserver decodes.
    pub(crate) decoded: Sum,
    /// What the apiserver scans to find the objects of the responses.
    pub(crate) filtered: Sum,
    /// An upper bound for what clients receive.
    pub(crate) received: Sum,
    /// Total seats, over requests whose seats are known.
    pub(crate) seats: u64,
    /// The maximum number of seats of one request; 0 if unknown.
    pub(crate) max_seats: u64,
}

impl Cost {
    /// Returns the cost of `requests` requests that cost `work` each.
    #[must_use]
    pub fn new(work: &Work, requests: u64) -> Self {
        let seats = work.seats.filter(|_| requests > 0).unwrap_or(0);
        Self {
            etcd: Sum::new(work.etcd, requests),
            decoded: Sum::new(work.decoded, requests),
            filtered: Sum::new(work.filtered, requests),
            received: Sum::new(work.received, requests),
            seats: seats.saturating_mul(requests),
            max_seats: seats,
        }
    }

    /// Whether the sums are lower bounds: they omit requests with an unknown cost, or they reached the maximum of
    /// `u64`. Unknown bytes matter only if the inventory has a size for any resource.
    #[must_use]
    pub(crate) fn is_lower_bound(&self, has_sizes: bool) -> bool {
        let lacks =
            |sum: &Sum| sum.is_saturated() || sum.without_objects > 0 || (has_sizes && sum.without_bytes > 0);
        [self.etcd, self.filtered, self.received].iter().any(lacks)
    }
}

impl Merge for Cost {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: etcd, decoded, filtered, received, seats);
        self.max_seats = self.max_seats.max(other.max_seats);
    }
}
