//! Chooses the unit in which a report compares costs.

use super::sum::{Cost, Sum};
use crate::named::named;

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
