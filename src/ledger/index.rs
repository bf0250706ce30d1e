//! Maps the audit ID of a request to its row. Other logs of the same servers contain facts about the request.
//! kubetoll adds these facts to the row.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::sharded::{SHARDS, Sharded};
use super::{Flows, Items, Merge, Row};
use crate::decode::klog::Apf;
use crate::requests::Request;

/// The maximum number of requests. Each takes 18 to 36 bytes.
const MAX_REQUESTS: usize = 1 << 24;

/// The maximum number of rows for one pair of audit ID and path. There may be several rows, because clients may reuse
/// an ID.
const MAX_ROWS: usize = 16;
/// The maximum number of reused IDs in each shard.
const MAX_REPEATED: usize = MAX_REQUESTS / SHARDS / MAX_ROWS;

/// Maps the hash of audit ID and path to rows.
#[derive(Debug)]
pub struct Index {
    /// True to index all requests of the audit log. False to index only the `wanted` requests.
    all: bool,
    /// The hashes of requests that have a trace.
    wanted: HashSet<u64, FxBuildHasher>,
    shards: Sharded<IndexShard>,
}

#[derive(Debug, Default)]
struct IndexShard {
    /// For the hash of each request: its first [`Place`] in sort order.
    requests: HashMap<u64, Place, FxBuildHasher>,
    /// The other places of requests with reused IDs.
    repeated: HashMap<u64, BTreeSet<Place>, FxBuildHasher>,
}

/// The row in which a request was counted, with the log and the result of the request. Rows of the audit log sort
/// before rows of the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_access: bool,
    result: RequestResult,
    row: u64,
}

/// Facts about a request that both the audit log and the access log contain. They distinguish requests with the same
/// ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestResult {
    status: u16,
    /// 16 bits of the user agent's hash.
    agent: u16,
}

impl RequestResult {
    #[must_use]
    pub(crate) fn from_request(request: &Request<'_>) -> Self {
        let [high, low, ..] = request.client.agent_hash.to_be_bytes();
        Self { status: request.status.unwrap_or(0), agent: u16::from_be_bytes([high, low]) }
    }

    /// How well two results agree: whether the statuses are equal, then whether the user agents are equal. A larger
    /// pair means better agreement.
    fn agreement(self, other: Self) -> (bool, bool) {
        (self.status == other.status, self.agent == other.agent)
    }
}

impl Index {
    /// Creates an index of the wanted requests of the audit log and the access log. If `all` is true, the index also
    /// contains all other requests of the audit log.
    #[must_use]
    pub(crate) fn new(all: bool, wanted: impl Iterator<Item = u64>) -> Self {
        Self { all, wanted: wanted.collect(), shards: Sharded::new(IndexShard::default) }
    }

    /// Records in which row a request was counted.
    pub(crate) fn note(&self, request: u64, row: u64, result: RequestResult, is_access: bool) {
        let is_wanted = (self.all && !is_access) || self.wanted.contains(&request);
        if !is_wanted {
            return;
        }
        let mut shard = self.shards.lock_for(request);
        let IndexShard { requests, repeated } = &mut *shard;
        let noted = Place { is_access, result, row };
        let full = requests.len() >= MAX_REQUESTS / SHARDS;
        let other = match requests.get_mut(&request) {
            Some(own) if *own == noted => return,
            Some(own) => {
                let other = noted.max(*own);
                *own = noted.min(*own);
                other
            }
            None if full => return,
            None => {
                requests.insert(request, noted);
                return;
            }
        };
        if repeated.len() < MAX_REPEATED || repeated.contains_key(&request) {
            let others = repeated.entry(request).or_default();
            others.insert(other);
            if others.len() > MAX_ROWS {
                others.pop_last();
            }
        }
    }

    /// Returns the row of a request in the audit log. If several requests have the same ID, returns the row whose
    /// result agrees best with `result`.
    pub(crate) fn audited(&self, request: u64, result: RequestResult) -> Option<u64> {
        let shard = self.shards.lock_for(request);
        let least = shard.requests.get(&request)?;
        let others = shard.repeated.get(&request).into_iter().flatten();
        let audited = std::iter::once(least).chain(others).filter(|place| !place.is_access);
        let best = audited.max_by_key(|place| (place.result.agreement(result), Reverse(**place)))?;
        Some(best.row)
    }

    /// Returns the row of a request. If both logs contain the request, returns its row in the audit log.
    pub(crate) fn row(&self, request: u64) -> Option<u64> {
        self.shards.lock_for(request).requests.get(&request).map(|place| place.row)
    }

    /// Whether requests may be missing because the index is full.
    pub(crate) fn is_full(&self) -> bool {
        self.shards.lock_each().any(|shard| shard.requests.len() >= MAX_REQUESTS / SHARDS)
    }
}

/// Facts from other logs, by the row of the request.
#[derive(Debug, Default)]
pub(crate) struct Additions {
    rows: HashMap<u64, (Flows, Items), FxBuildHasher>,
}

impl Additions {
    /// Adds the API Priority and Fairness fields of a request to a row.
    pub(crate) fn apf(&mut self, row: u64, apf: &Apf<'_>) {
        self.rows.entry(row).or_default().0.record(apf);
    }

    /// Adds one response with `count` objects to a row.
    pub(crate) fn items(&mut self, row: u64, count: u64) {
        self.rows.entry(row).or_default().1.record(count);
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Moves the facts about the row with this hash into `row`.
    pub(crate) fn add_to_row(&mut self, hash: u64, row: &mut Row) {
        if let Some((flows, items)) = self.rows.remove(&hash) {
            row.add_facts(flows, items);
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

    const OK: RequestResult = RequestResult { status: 200, agent: 1 };

    #[test]
    fn row_of_the_audit_log_wins_in_any_order() {
        for order in [[(7, false), (8, true)], [(8, true), (7, false)]] {
            let index = Index::new(true, [1].into_iter());
            for (row, is_access) in order {
                index.note(1, row, OK, is_access);
            }
            assert_eq!((index.audited(1, OK), index.row(1)), (Some(7), Some(7)));
        }
        let index = Index::new(false, [1].into_iter());
        index.note(1, 8, OK, true);
        index.note(2, 9, OK, false);
        assert_eq!((index.audited(1, OK), index.row(1), index.row(2)), (None, Some(8), None));
        assert!(!index.is_full());
    }

    #[test]
    fn status_and_user_agent_distinguish_requests_with_the_same_id() {
        let results =
            [(200, 1), (200, 2), (403, 1), (404, 3)].map(|(status, agent)| RequestResult { status, agent });
        for order in [[0_u8, 1, 2, 3], [3, 1, 0, 2]] {
            let index = Index::new(true, std::iter::empty());
            for at in order {
                index.note(1, u64::from(at), results[usize::from(at)], false);
            }
            for (row, result) in (0..).zip(results) {
                assert_eq!(index.audited(1, result), Some(row));
            }
            // The status counts more than the user agent.
            assert_eq!(index.audited(1, RequestResult { status: 403, agent: 9 }), Some(2));
            assert_eq!(index.audited(1, RequestResult { status: 500, agent: 2 }), Some(1));
        }
    }

    #[test]
    fn additions_reach_only_their_row() {
        let mut additions = Additions::default();
        additions.items(5, 40);
        let (mut own, mut other) = (Row::default(), Row::default());
        additions.add_to_row(5, &mut own);
        additions.add_to_row(6, &mut other);
        assert_eq!((own.rare().items.max, other.rare().items.max), (40, 0));
        assert!(additions.is_empty());
    }
}
