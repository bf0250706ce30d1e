//! Facts that only the apiserver's own log holds, in the JSON report.

use schemars::JsonSchema;
use serde::Serialize;

use super::Latency;

/// How API Priority and Fairness handled requests of one shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriorityAndFairness {
    /// The name of the `PriorityLevelConfiguration`; `(other)` for the sum of the entries beyond the limit.
    pub(crate) priority_level: String,
    /// The name of the `FlowSchema`; `(other)` for the sum of the entries beyond the limit.
    pub(crate) flow_schema: String,
    pub(crate) requests: u64,
    /// The sum of the requests' seats. The seats of a request are the server's estimate of its work. The sum is 0 if
    /// the log does not show seats (before 1.24).
    pub(crate) seats: u64,
    pub(crate) max_seats: u64,
    /// The total execution time.
    pub(crate) execution_micros: u64,
}

/// The number of objects in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Items {
    /// Requests with a known number of objects.
    pub(crate) requests: u64,
    /// The number of objects in all responses.
    pub(crate) sum: u64,
    /// The most objects in one response.
    pub(crate) max: u64,
}

/// Traces of slow requests of one product for one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceGroup {
    /// The traced operation, such as `List`, `Create` or `SerializeObject`. A `SerializeObject` trace covers only a
    /// part of a request. Another trace may cover the whole request. `(other operations)` is the sum of the groups
    /// beyond the limit.
    pub(crate) operation: String,
    /// The resource with its group, such as `deployments.apps`. For a path without a resource, the class of the path,
    /// such as `(discovery)`. Null if the trace does not show it.
    pub(crate) resource: Option<String>,
    pub(crate) subresource: Option<String>,
    /// `cluster`, `namespace` or `object`.
    pub(crate) scope: Option<String>,
    /// The product in the client's user agent.
    pub(crate) product: String,
    /// The number of traces.
    pub(crate) traces: u64,
    /// The number of objects in the responses, if the traces show it.
    pub(crate) items: Option<Items>,
    /// The durations; null if no trace shows one.
    pub(crate) latency: Option<Latency>,
}
