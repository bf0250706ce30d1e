//! How much of the apiserver's and etcd's work requests are: its part of the contract.

use schemars::JsonSchema;
use serde::Serialize;

/// The load of some requests: the one measure that clients, findings, shapes and cases are ranked by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Load {
    /// `objects` with an inventory: objects that the apiserver handled (read from etcd or filtered from its watch cache),
    /// and one for each write. `requestMicros` without one: the time that the server took for requests, without
    /// long-running ones and without the wait in queues of API Priority and Fairness where the log knows it.
    pub unit: &'static str,
    /// How much, in this unit.
    pub amount: u64,
    /// The part of the load of all clients, from 0 to 1, to six decimals; null where there is no load at all.
    pub share: Option<f64>,
    /// What is meant by the amount, as in `cost`: `exact`, `at-most`, `mean` or `estimate`.
    pub bound: &'static str,
}

/// Whether a number is meant as an estimate.
#[must_use]
pub fn is_estimate(bound: &str) -> bool {
    matches!(bound, "mean" | "estimate")
}
