//! Costs and load in the JSON report: how much work requests cause in the apiserver and etcd.

use schemars::JsonSchema;
use serde::Serialize;

/// The cost of requests. Numbers with different bases must not be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// The source of the numbers. `inventory`: `--inventory`. `trace-counts`: objects in responses, as the server's
    /// traces of slow requests count them. `page-limits`: the limits that the server honored. `latency`: only
    /// durations are known (`etcdMicros` and `latency`), and this object has no numbers.
    pub basis: &'static str,
    /// The sums omit requests with an unknown cost, so the sums are lower bounds. For example, the inventory lacks
    /// the resource or its size.
    pub(crate) lower_bound: bool,
    /// What the servers handle for all requests, in the unit of `ranking.handledUnit`: the sum of `total.etcd`,
    /// `total.filtered` and `total.received`.
    pub(crate) handled: Option<u64>,
    /// The cost of the costliest request. Null for a client and for all clients.
    pub(crate) per_request: Option<Box<Work>>,
    /// The cost of all requests. Requests with a 4xx status cost nothing. Requests with a 5xx status cost what etcd
    /// may have read.
    pub total: Option<Box<Work>>,
    /// The minute whose requests made etcd read the most, in the unit of `ranking.handledUnit`. Requests count in the
    /// minute in which they began. Null for a request shape and for a finding.
    pub(crate) peak: Option<CostMinute>,
    /// The minutes with reads from etcd, for a client and for all clients.
    pub(crate) minutes: Vec<CostMinute>,
    /// Requests that read from etcd but have no timestamp in the log. No minute includes them.
    pub(crate) without_time: u64,
    /// The width of each entry of `minutes`, in minutes. It is more than 1 if a shape was active in more than 1,536
    /// minutes. Null for a request shape and for a finding.
    pub(crate) window_minutes: Option<u64>,
}

/// The work of the servers for one or several requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    pub etcd: Option<Amount>,
    /// What the apiserver decodes: the objects from etcd. Objects in the watch cache are decoded already.
    pub decoded: Option<Amount>,
    /// The objects that the apiserver filters for the result, from etcd or from its watch cache.
    pub filtered: Option<Amount>,
    /// The most that the client can receive. For a watch: its initial events.
    pub received: Option<Amount>,
    /// The seats in API Priority and Fairness, as this server version estimates them. The cap of the priority level
    /// is not applied. For several requests, the sum.
    pub seats: Option<u64>,
    pub(crate) max_seats: Option<u64>,
}

/// A number of objects and their size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// The number of objects; null if it is unknown for all requests.
    pub objects: Option<u64>,
    /// The size of these objects as stored in etcd, mostly as protobuf; JSON in responses is larger. Null if it is
    /// unknown for all requests.
    pub bytes: Option<u64>,
    /// `exact`: the number in the inventory. `at-most`: an upper bound. `mean`: assumes an even spread over
    /// namespaces or nodes. `estimate`: each namespace has a weight, which is the number of its objects that the log
    /// names.
    pub bound: String,
    /// Requests whose number of objects is unknown. `objects` and `bytes` omit them.
    pub unknown_requests: u64,
    /// Requests whose size is unknown, including those with an unknown number of objects. `bytes` omits them.
    pub(crate) unsized_requests: u64,
}

/// The known cost of the requests that began in one minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostMinute {
    /// The start of the minute.
    pub(crate) at: String,
    pub(crate) etcd_objects: u64,
    pub(crate) etcd_bytes: u64,
    pub(crate) filtered_objects: u64,
    pub(crate) received_bytes: u64,
}

/// The inventory: how many objects the cluster holds, and their sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The files in the given order. For each resource, later files override earlier files.
    pub files: Vec<InventoryFile>,
    /// The number of resources with a known number of objects or size.
    pub(crate) resources: u64,
    /// At least one resource has a size. If none has, the report has no bytes.
    pub(crate) has_sizes: bool,
    /// The number of nodes, used to spread pods over nodes; null if unknown.
    pub(crate) nodes: Option<u64>,
    /// The source of `nodes`: `inventory`, or `log` (nodes that clients ran on). Null if `nodes` is null.
    pub(crate) nodes_from: Option<String>,
    /// The number of namespaces, used to spread objects over namespaces. Null if unknown: then the whole collection
    /// is the upper bound for one namespace.
    pub(crate) namespaces: Option<u64>,
    /// Resources that clients read, if the inventory lacks their number of objects or their size. Resources without a
    /// number of objects come first. Within both groups, the resource with the most requests is first.
    pub(crate) lacks: Vec<Lack>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InventoryFile {
    /// The path as given.
    pub(crate) file: String,
    /// `metrics`, `csv` or `yaml`.
    pub(crate) format: String,
    /// The number of resources in the file.
    pub(crate) resources: u64,
    /// Notes on the file, such as values that show a server error, and lines that kubetoll cannot read.
    pub(crate) notes: Vec<String>,
}

/// A resource that clients read. The inventory lacks its number of objects or its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lack {
    pub(crate) resource: String,
    /// What the inventory lacks: `objects` (the number of objects, and so also their size), or `bytes` (only the
    /// size).
    pub(crate) lacks: String,
    /// Requests whose number of objects or size is unknown, because the inventory lacks it.
    pub(crate) requests: u64,
    /// A name in a CSV or YAML inventory that likely means this resource.
    pub(crate) near: Option<String>,
}

/// How clients are ranked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ranking {
    /// `inventory` or `latency`.
    pub(crate) basis: String,
    /// The unit of all `load`s: `objects` with an inventory, else `requestMicros`.
    pub(crate) unit: &'static str,
    /// The sort keys in order of priority: `load`, then counts.
    pub(crate) by: Vec<String>,
    /// The unit of `cost.handled` and of cost peaks: `bytes`, or `objects` if some sizes of objects that clients read
    /// are unknown. Null without an inventory.
    pub(crate) handled_unit: Option<&'static str>,
}

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
