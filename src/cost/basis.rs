//! The basis of a cost: inventory, traces, limits or latency. A cost has exactly one basis.

use super::sum::Cost;
use super::work::Work;
use crate::ledger::{Items, Merge};

/// The cost of some requests, and its basis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum CostBasis {
    /// Computed from the inventory.
    Inventory {
        /// The cost of the most expensive request.
        one: Box<Work>,
        /// The cost of all requests.
        all: Box<Cost>,
    },
    /// The number of objects in responses, from the server's traces of slow requests.
    TraceCounts {
        /// The object counts of the responses that have a trace.
        items: Items,
        /// The number of all requests, with and without a trace.
        requests: u64,
    },
    /// An upper bound for the objects, from limits that the server honored.
    PageLimits {
        /// The maximum number of objects in one response.
        one: u64,
        /// The maximum number of objects in all responses.
        all: u64,
    },
    /// Only the latency is known.
    #[default]
    Latency,
}

/// The requests of one shape, with the known part of their cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShapeCost<'a> {
    pub(crate) requests: u64,
    /// The cost of one request, from the inventory.
    pub(crate) work: Option<&'a Work>,
    /// The cost of all requests, from the inventory.
    pub(crate) cost: Option<&'a Cost>,
    /// The number of objects in responses, from traces.
    pub(crate) items: Items,
    /// The honored limit; see [`super::page_limit`].
    pub(crate) page_limit: Option<u64>,
}

impl CostBasis {
    /// Finds the best basis for the sum of all shapes. An inventory is better than traces, and traces are better than
    /// limits. Limits are a basis only if all shapes have a limit; otherwise the sum has no upper bound.
    #[must_use]
    pub(crate) fn new<'a>(parts: impl Iterator<Item = ShapeCost<'a>> + Clone) -> Self {
        let one = parts.clone().filter_map(|part| part.work).max();
        if let Some(one) = one {
            let mut all = Cost::default();
            parts.filter_map(|part| part.cost).for_each(|cost| all.merge(*cost));
            return Self::Inventory { one: Box::new(*one), all: Box::new(all) };
        }
        let mut items = Items::default();
        parts.clone().for_each(|part| items.merge(part.items));
        if items.requests > 0 {
            return Self::TraceCounts { items, requests: parts.map(|part| part.requests).sum() };
        }
        let limits: Option<Vec<(u64, u64)>> =
            parts.map(|part| Some((part.page_limit?, part.requests))).collect();
        match limits {
            Some(limits) if !limits.is_empty() => Self::PageLimits {
                one: limits.iter().map(|(limit, _)| *limit).max().unwrap_or(0),
                all: limits
                    .iter()
                    .fold(0, |all, (limit, requests)| all.saturating_add(limit.saturating_mul(*requests))),
            },
            _ => Self::Latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(requests: u64, counted: u64, page_limit: Option<u64>) -> ShapeCost<'static> {
        let items = Items { requests: counted, sum: counted * 7, max: 7 };
        ShapeCost { requests, work: None, cost: None, items, page_limit }
    }

    #[test]
    fn the_sum_of_shapes_has_one_basis() {
        let basis = |parts: &[ShapeCost<'static>]| CostBasis::new(parts.iter().copied());
        let pages = [part(3, 0, Some(500)), part(2, 0, Some(10))];
        assert_eq!(basis(&pages), CostBasis::PageLimits { one: 500, all: 1_520 });
        assert_eq!(basis(&[pages[0], part(1, 0, None)]), CostBasis::Latency);
        let items = Items { requests: 2, sum: 14, max: 7 };
        assert_eq!(basis(&[pages[0], part(9, 2, None)]), CostBasis::TraceCounts { items, requests: 12 });
        assert_eq!(basis(&[]), CostBasis::Latency);
        let (one, all) = (Work::UNKNOWN, Cost::new(&Work::UNKNOWN, 9));
        let priced = ShapeCost { work: Some(&one), cost: Some(&all), ..part(9, 2, Some(5)) };
        assert_eq!(
            CostBasis::new(std::iter::once(priced)),
            CostBasis::Inventory { one: Box::new(one), all: Box::new(all) }
        );
    }
}
