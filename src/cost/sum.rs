//! What many requests cost: sums, with what is not known of them.

use super::work::{Amount, Bound, Work};
use crate::ledger::Merge;

/// A sum of objects and bytes over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Objects, of the requests of which that is known.
    pub objects: u64,
    /// Bytes, of the requests of which that is known.
    pub bytes: u64,
    /// The weakest of what is meant by the numbers.
    pub bound: Bound,
    /// Requests of which the objects are not known.
    pub without_objects: u64,
    /// Requests of which the bytes are not known.
    pub without_bytes: u64,
}

impl Sum {
    fn new(amount: Amount, requests: u64) -> Self {
        let or_none = |known: Option<u64>| if known.is_none() { requests } else { 0 };
        Self {
            objects: amount.objects.unwrap_or(0).saturating_mul(requests),
            bytes: amount.bytes.unwrap_or(0).saturating_mul(requests),
            bound: if requests == 0 { Bound::Exact } else { amount.bound },
            without_objects: or_none(amount.objects),
            without_bytes: or_none(amount.bytes),
        }
    }
}

impl Sum {
    /// It is more than a number can hold.
    fn is_saturated(&self) -> bool {
        self.objects == u64::MAX || self.bytes == u64::MAX
    }
}

impl Merge for Sum {
    fn merge(&mut self, other: Self) {
        self.objects = self.objects.saturating_add(other.objects);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.bound = self.bound.max(other.bound);
        self.without_objects += other.without_objects;
        self.without_bytes += other.without_bytes;
    }
}

/// What requests cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// What etcd reads.
    pub etcd: Sum,
    /// What the apiserver decodes.
    pub decoded: Sum,
    /// What the apiserver goes through.
    pub filtered: Sum,
    /// What clients can have received at most.
    pub received: Sum,
    /// Seats, added over the requests of which they are known.
    pub seats: u64,
    /// The most seats of one request; 0 if none is known.
    pub max_seats: u64,
}

impl Cost {
    /// What so many requests cost, each of which costs `work`.
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

    /// Whether requests are left out of a sum: the numbers are lower bounds then. Without any size there are no sums
    /// of bytes that could be.
    #[must_use]
    pub fn lacks_any(&self, has_sizes: bool) -> bool {
        let lacks =
            |sum: &Sum| sum.is_saturated() || sum.without_objects > 0 || (has_sizes && sum.without_bytes > 0);
        [self.etcd, self.filtered, self.received].iter().any(lacks)
    }
}

impl Merge for Cost {
    fn merge(&mut self, other: Self) {
        self.etcd.merge(other.etcd);
        self.decoded.merge(other.decoded);
        self.filtered.merge(other.filtered);
        self.received.merge(other.received);
        self.seats = self.seats.saturating_add(other.seats);
        self.max_seats = self.max_seats.max(other.max_seats);
    }
}
