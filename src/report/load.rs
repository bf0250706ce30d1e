//! Load in the form of the report, and the order that it gives clients and shapes.

use std::cmp::Reverse;

use super::v1;
use crate::judged::{JudgedClients, Load, LoadUnit};

/// How the load of a part is told: in which unit, and as a share of which whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loads {
    pub(super) unit: LoadUnit,
    pub(super) total: u64,
}

impl Loads {
    pub(super) fn of(accounts: &JudgedClients) -> Self {
        let all = accounts.clients.iter().map(|account| accounts.load_of(account).amount);
        Self { unit: accounts.measure.unit, total: all.fold(0, u64::saturating_add) }
    }

    pub(super) fn told(self, load: Load) -> v1::Load {
        v1::Load {
            unit: self.unit.as_str(),
            amount: load.amount,
            share: share(load.amount, self.total),
            bound: load.bound.as_str(),
        }
    }
}

/// A part of the whole in millionths, which is exact enough for sums; null where there is no whole.
#[allow(clippy::cast_precision_loss, reason = "six decimals are kept")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e6).round() / 1e6)
}

/// What decides between clients or shapes of the same load, the first deciding.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ties {
    pub(super) etcd_lists: u64,
    pub(super) limit_ignored: u64,
    pub(super) requests: u64,
}

/// Where a client or a shape stands: the least comes first, as [`ranking`] says.
pub(super) fn rank(load: Load, ties: Ties) -> Reverse<[u64; 4]> {
    Reverse([load.amount, ties.etcd_lists, ties.limit_ignored, ties.requests])
}

/// What clients are ranked by.
pub(super) fn ranking(unit: LoadUnit, handled_unit: Option<&'static str>) -> v1::Ranking {
    v1::Ranking {
        basis: if handled_unit.is_some() { "inventory" } else { "latency" }.to_owned(),
        unit: unit.as_str(),
        by: ["load", "etcdLists", "limitIgnored", "requests"].map(str::to_owned).to_vec(),
        handled_unit,
    }
}
