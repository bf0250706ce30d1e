//! Which row a request was counted in, by its audit ID: where several logs of the same servers are read, what one tells
//! of a request is added to the row that another made of it.

use std::collections::HashSet;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::parts::{PARTS, Parts};
use super::{Flows, Items, Merge, Row};
use crate::decode::klog::Apf;

/// How many requests are remembered at most: 18 to 36 bytes each.
const MAX_REQUESTS: usize = 1 << 24;

/// Requests by the hash of their audit ID and path.
#[derive(Debug)]
pub struct Index {
    /// All requests of the audit log are remembered, not just those that are asked for.
    all: bool,
    /// Requests that traces tell something of.
    wanted: HashSet<u64, FxBuildHasher>,
    parts: Parts<HashMap<u64, Place, FxBuildHasher>>,
}

/// Where a request was counted: in the access log or not, then the row. The audit log's is the least.
type Place = (bool, u64);

impl Index {
    /// An index of the audit log's requests if `all`, and of those that are wanted in either log.
    #[must_use]
    pub fn new(all: bool, wanted: impl Iterator<Item = u64>) -> Self {
        Self { all, wanted: wanted.collect(), parts: Parts::new(HashMap::default) }
    }

    /// Notes the row of a request.
    pub fn note(&self, request: u64, row: u64, is_access: bool) {
        let is_asked = (self.all && !is_access) || self.wanted.contains(&request);
        if !is_asked {
            return;
        }
        let mut part = self.parts.of(request);
        let full = part.len() >= MAX_REQUESTS / PARTS;
        match part.get_mut(&request) {
            Some(own) => *own = (*own).min((is_access, row)),
            None if full => {}
            None => {
                part.insert(request, (is_access, row));
            }
        }
    }

    /// The row in which the audit log's request was counted.
    pub fn audited(&self, request: u64) -> Option<u64> {
        self.parts.of(request).get(&request).filter(|(is_access, _)| !is_access).map(|(_, row)| *row)
    }

    /// The row in which a request was counted, in whichever log.
    pub fn row(&self, request: u64) -> Option<u64> {
        self.parts.of(request).get(&request).map(|(_, row)| *row)
    }

    /// Whether there may be requests that found no room.
    pub fn is_full(&self) -> bool {
        self.parts.each().any(|part| part.len() >= MAX_REQUESTS / PARTS)
    }
}

/// What other logs tell of the requests of rows.
#[derive(Debug, Default)]
pub struct Additions {
    rows: HashMap<u64, (Flows, Items), FxBuildHasher>,
}

impl Additions {
    /// What API Priority and Fairness did with a request of a row.
    pub fn apf(&mut self, row: u64, apf: &Apf<'_>) {
        self.rows.entry(row).or_default().0.record(apf);
    }

    /// How many objects the answer to a request of a row held.
    pub fn items(&mut self, row: u64, count: u64) {
        self.rows.entry(row).or_default().1.record(count);
    }

    /// Whether there is nothing to add.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds to a row what there is for it.
    pub fn give(&mut self, hash: u64, row: &mut Row) {
        if let Some((flows, items)) = self.rows.remove(&hash) {
            row.add_told(flows, items);
        }
    }
}

impl Merge for Additions {
    fn merge(&mut self, other: Self) {
        for (row, (flows, items)) in other.rows {
            let own = self.rows.entry(row).or_default();
            own.0.merge(flows);
            own.1.merge(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_logs_row_wins_in_any_order() {
        for order in [[(7, false), (8, true)], [(8, true), (7, false)]] {
            let index = Index::new(true, [1].into_iter());
            for (row, is_access) in order {
                index.note(1, row, is_access);
            }
            assert_eq!((index.audited(1), index.row(1)), (Some(7), Some(7)));
        }
        let index = Index::new(false, [1].into_iter());
        index.note(1, 8, true);
        index.note(2, 9, false);
        assert_eq!((index.audited(1), index.row(1), index.row(2)), (None, Some(8), None));
        assert!(!index.is_full());
    }

    #[test]
    fn a_row_without_a_seat_gets_none() {
        let mut additions = Additions::default();
        additions.items(5, 40);
        let (mut own, mut other) = (Row::default(), Row::default());
        additions.give(5, &mut own);
        additions.give(6, &mut other);
        assert_eq!((own.rare().items.max, other.rare().items.max), (40, 0));
        assert!(additions.is_empty());
    }
}
