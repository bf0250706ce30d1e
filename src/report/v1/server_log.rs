//! What only the apiserver's own log tells: its part of the contract.

use schemars::JsonSchema;
use serde::Serialize;

use super::Latency;

/// How API Priority and Fairness handled requests of a shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriorityAndFairness {
    /// The `PriorityLevelConfiguration`'s name; `(other)` for those that are not told apart.
    pub priority_level: String,
    /// The `FlowSchema`'s name; `(other)` for those that are not told apart.
    pub flow_schema: String,
    /// Requests.
    pub requests: u64,
    /// Their seats, added: the server's estimate of their work. 0 where the log does not say (before 1.24).
    pub seats: u64,
    /// The most seats of one request.
    pub max_seats: u64,
    /// How long they were executed.
    pub execution_micros: u64,
}

/// Objects in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Items {
    /// Requests whose answer's objects are counted.
    pub requests: u64,
    /// Objects in all of these answers.
    pub sum: u64,
    /// The most in one answer.
    pub max: u64,
}

/// Traces of slow requests of one product for one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceGroup {
    /// What was traced: `List`, `Create`, `SerializeObject` (which is a part of another trace's request);
    /// `(other operations)` for those that are not told apart.
    pub operation: String,
    /// Resource with its group, such as `deployments.apps`; a class in brackets for other paths; null where the trace
    /// does not say.
    pub resource: Option<String>,
    /// Subresource.
    pub subresource: Option<String>,
    /// `cluster`, `namespace` or `object`.
    pub scope: Option<String>,
    /// The product of the client's user agent.
    pub product: String,
    /// Traces.
    pub traces: u64,
    /// Objects in the answers, where the trace counts them.
    pub items: Option<Items>,
    /// Durations; null where no trace says.
    pub latency: Option<Latency>,
}
