//! Converts load to the JSON report, and ranks clients and shapes by it.

use std::cmp::Reverse;

use super::v1;
use crate::judged::{JudgedClients, LoadUnit, RequestLoad};

/// The unit of load, and the total load that shares are computed from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loads {
    pub(super) unit: LoadUnit,
    pub(super) total: u64,
}

impl Loads {
    pub(super) fn new(judged_clients: &JudgedClients) -> Self {
        let all = judged_clients.clients.iter().map(|summary| judged_clients.load_of(summary).amount);
        Self { unit: judged_clients.measure.unit, total: all.fold(0, u64::saturating_add) }
    }

    pub(super) fn to_v1(self, load: RequestLoad) -> v1::Load {
        v1::Load {
            unit: self.unit.as_str(),
            amount: load.amount,
            share: share(load.amount, self.total),
            bound: load.bound.as_str(),
        }
    }
}

/// Returns the share of `part` in `total`, rounded to six decimals; `None` if `total` is 0.
#[allow(clippy::cast_precision_loss, reason = "six decimals are kept")]
fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| (part as f64 / total as f64 * 1e6).round() / 1e6)
}

/// The sort keys for clients or shapes with equal load, the most important first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TieBreakers {
    pub(super) etcd_lists: u64,
    pub(super) limit_ignored: u64,
    pub(super) requests: u64,
}

/// Returns the sort key of a client or shape, as [`ranking`] describes. The smallest key comes first.
pub(super) fn rank(load: RequestLoad, tie_breakers: TieBreakers) -> Reverse<[u64; 4]> {
    Reverse([load.amount, tie_breakers.etcd_lists, tie_breakers.limit_ignored, tie_breakers.requests])
}

/// How clients are ranked.
pub(super) fn ranking(unit: LoadUnit, handled_unit: Option<&'static str>) -> v1::Ranking {
    v1::Ranking {
        basis: if handled_unit.is_some() { "inventory" } else { "latency" }.to_owned(),
        unit: unit.as_str(),
        by: ["load", "etcdLists", "limitIgnored", "requests"].map(str::to_owned).to_vec(),
        handled_unit,
    }
}
