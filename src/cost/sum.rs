//! Sums of costs over requests. A sum also counts the requests whose cost is unknown.

use super::work::{Amount, Bound, Work};
use crate::ledger::Merge;
use crate::ledger::merge::merge_fields;
use crate::named::named;

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

named! {
    /// The unit in which a report compares costs. All costs of a report have the same unit.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) enum Unit {
        #[default]
        Bytes = "bytes",
        /// Objects. Used if some objects have no known size.
        Objects = "objects",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

impl Unit {
    /// Chooses bytes if all costs have bytes, otherwise objects. Ignores requests with an unknown object count,
    /// because they have neither objects nor bytes.
    #[must_use]
    pub(crate) fn for_costs<'a>(mut costs: impl Iterator<Item = &'a Cost>, has_sizes: bool) -> Self {
        let lacks_sizes = |sum: Sum| sum.without_bytes > sum.without_objects;
        let any_lacks = |cost: &Cost| [cost.etcd, cost.filtered, cost.received].into_iter().any(lacks_sizes);
        if !has_sizes || costs.any(any_lacks) { Self::Objects } else { Self::Bytes }
    }

    pub(super) fn in_sum(self, sum: Sum) -> u64 {
        match self {
            Self::Bytes => sum.bytes,
            Self::Objects => sum.objects,
        }
    }
}

impl Cost {
    /// Returns the load on the control plane: what etcd reads, plus what the apiserver scans, plus an upper bound for
    /// what clients receive.
    #[must_use]
    pub(crate) fn handled(&self, unit: Unit) -> u64 {
        [self.etcd, self.filtered, self.received]
            .into_iter()
            .fold(0, |all, sum| all.saturating_add(unit.in_sum(sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(objects: u64, bytes: u64, without_bytes: u64) -> Cost {
        let sum = Sum { objects, bytes, without_bytes, ..Sum::default() };
        Cost { etcd: sum, filtered: sum, received: sum, ..Cost::default() }
    }

    #[test]
    fn one_cost_without_a_size_makes_the_unit_objects() {
        let (sized, unsized_) = (cost(10, 5_000, 0), cost(1_000_000, 0, 1));
        let unknown =
            Cost { etcd: Sum { without_objects: 1, without_bytes: 1, ..Sum::default() }, ..Cost::default() };
        let unit = |costs: &[Cost]| Unit::for_costs(costs.iter(), true);
        assert_eq!((unit(&[sized, unknown]), unit(&[sized, unsized_])), (Unit::Bytes, Unit::Objects));
        assert_eq!(Unit::for_costs([sized].iter(), false), Unit::Objects);
        assert_eq!((sized.handled(Unit::Bytes), unsized_.handled(Unit::Objects)), (15_000, 3_000_000));
    }
}
