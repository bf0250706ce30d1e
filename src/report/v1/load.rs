//! Load in the JSON report: how much work requests cause in the apiserver and etcd.

use schemars::JsonSchema;
use serde::Serialize;

/// The load of some requests. Clients, findings, request shapes and cases are ranked by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Load {
    /// The unit. With an inventory, `objects`: objects that the apiserver handled (read from etcd or filtered from
    /// its watch cache), plus one for each write. Without an inventory, `requestMicros`: the time that the server
    /// took for requests. It excludes long-running requests and, if the log shows it, the wait in queues of API
    /// Priority and Fairness.
    pub(crate) unit: &'static str,
    /// The load, in the unit that `unit` names.
    pub(crate) amount: u64,
    /// The share of the load of all clients, from 0 to 1, with six decimals; null if the total load is 0.
    pub(crate) share: Option<f64>,
    /// The accuracy of the amount, as in `cost`: `exact`, `at-most`, `mean` or `estimate`.
    pub(crate) bound: &'static str,
}

/// Whether a number with this bound is an estimate.
#[must_use]
pub fn is_estimate(bound: &str) -> bool {
    matches!(bound, "mean" | "estimate")
}
