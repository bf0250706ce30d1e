//! What the cost of requests is known by, without ever mixing two ways of knowing it.

use super::sum::Cost;
use super::work::Work;
use crate::ledger::{Items, Merge};

/// What some requests cost, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CostBasis {
    /// By the inventory.
    Inventory {
        /// One request: the costliest.
        one: Box<Work>,
        /// All of them.
        all: Box<Cost>,
    },
    /// By the server's traces of slow requests, which count the objects of their answers.
    TraceCounts {
        /// The answers that were counted.
        items: Items,
        /// All requests.
        requests: u64,
    },
    /// By the limit that was asked for and honored: at most so many objects.
    PageLimits {
        /// In one answer.
        one: u64,
        /// In all answers.
        all: u64,
    },
    /// By nothing but the time that they took.
    #[default]
    Latency,
}

/// Some requests of one shape.
#[derive(Debug, Clone, Copy)]
pub struct ShapeCost<'a> {
    /// Requests.
    pub requests: u64,
    /// What one costs by the inventory.
    pub work: Option<&'a Work>,
    /// What all cost by the inventory.
    pub cost: Option<&'a Cost>,
    /// Objects in answers, as traces count them.
    pub items: Items,
    /// The limit that is honored; see [`super::page_limit`].
    pub page_limit: Option<u64>,
}

impl CostBasis {
    /// By what the cost of all parts together is known. The inventory goes before traces, and limits must be known
    /// of all parts: otherwise they bound nothing.
    #[must_use]
    pub fn new<'a>(parts: impl Iterator<Item = ShapeCost<'a>> + Clone) -> Self {
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
    fn one_basis_holds_for_all_parts() {
        let known = |parts: &[ShapeCost<'static>]| CostBasis::new(parts.iter().copied());
        let pages = [part(3, 0, Some(500)), part(2, 0, Some(10))];
        assert_eq!(known(&pages), CostBasis::PageLimits { one: 500, all: 1_520 });
        assert_eq!(known(&[pages[0], part(1, 0, None)]), CostBasis::Latency);
        let items = Items { requests: 2, sum: 14, max: 7 };
        assert_eq!(known(&[pages[0], part(9, 2, None)]), CostBasis::TraceCounts { items, requests: 12 });
        assert_eq!(known(&[]), CostBasis::Latency);
        let (one, all) = (Work::UNKNOWN, Cost::new(&Work::UNKNOWN, 9));
        let priced = ShapeCost { work: Some(&one), cost: Some(&all), ..part(9, 2, Some(5)) };
        assert_eq!(
            CostBasis::new(std::iter::once(priced)),
            CostBasis::Inventory { one: Box::new(one), all: Box::new(all) }
        );
    }
}
