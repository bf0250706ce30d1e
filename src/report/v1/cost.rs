//! What requests cost, with the basis of each number: its part of the contract.

use schemars::JsonSchema;
use serde::Serialize;

/// What requests cost. The numbers of one basis are never added to those of another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// What the numbers come from: `inventory` (`--inventory`), `trace-counts` (objects in answers, as the server's
    /// traces of slow requests count them), `page-limits` (the limit that was asked for and honored), or `latency`:
    /// there are none, and `etcdMicros` and `latency` are all that is known.
    pub basis: &'static str,
    /// Requests are left out of a sum, as the inventory lacks their resource or, where it has sizes, its size: the sums
    /// are lower bounds.
    pub lower_bound: bool,
    /// What the control plane handles for all requests: what etcd reads, what the apiserver goes through and what it
    /// sends at most, added; in the unit of `ranking.handledUnit`.
    pub handled: Option<u64>,
    /// What one request costs: the costliest. Null for a client and for all clients.
    pub per_request: Option<Box<Work>>,
    /// What all requests cost. Those that were answered with 4xx count nothing, and those with
    /// 5xx what etcd may have read for them.
    pub total: Option<Box<Work>>,
    /// The minute in which etcd read the most, in the unit of `ranking.handledUnit`, for requests that began in it; null for a shape and for a finding.
    pub peak: Option<CostMinute>,
    /// The minutes in which etcd read anything: of a client and of all of them.
    pub minutes: Vec<CostMinute>,
    /// Requests for which etcd read something and of which the log has no time: they are in no minute.
    pub without_time: u64,
    /// The width of these minutes: 1, or more where a shape was active in more than 1,536 of them; null for a shape and
    /// for a finding.
    pub window_minutes: Option<u64>,
}

/// What one request or several make the servers do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// What etcd reads.
    pub etcd: Option<Amount>,
    /// What the apiserver decodes: what comes from etcd. Objects in the watch cache are decoded already.
    pub decoded: Option<Amount>,
    /// What the apiserver goes through to find the answer, from etcd or in its watch cache.
    pub filtered: Option<Amount>,
    /// What the client can have received at most. A watch: what it begins with.
    pub received: Option<Amount>,
    /// Seats of API Priority and Fairness as this version of the server estimates them, before the priority level's own
    /// cap; of several requests the sum.
    pub seats: Option<u64>,
    /// The most seats of one request.
    pub max_seats: Option<u64>,
}

/// Objects and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// Objects; null if they are not known of any request.
    pub objects: Option<u64>,
    /// Bytes of these objects as they are stored (in etcd, mostly protobuf; JSON on the wire is larger); null if they
    /// are not known of any request.
    pub bytes: Option<u64>,
    /// `exact`: this many, of the inventory; `at-most`: this many or fewer; `mean`: this many where all namespaces, or
    /// all nodes, hold as many objects as each other; `estimate`: about this many, as namespaces are weighed by how many
    /// objects of each the log names.
    pub bound: String,
    /// Requests of which the objects are not known: they are not in the numbers.
    pub unknown_requests: u64,
    /// Requests of which the bytes are not known, those among them: they are not in the bytes.
    pub unsized_requests: u64,
}

/// What requests that began in a minute cost, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostMinute {
    /// When it began.
    pub at: String,
    pub etcd_objects: u64,
    pub etcd_bytes: u64,
    pub filtered_objects: u64,
    pub received_bytes: u64,
}

/// What the cluster holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The files, in their order; what a later one says of a resource goes before what an earlier one says.
    pub files: Vec<InventoryFile>,
    /// Resources of which something is known.
    pub resources: u64,
    /// It has the size of some resource; else no bytes are told at all.
    pub has_sizes: bool,
    /// Nodes, which share the pods out; null if they are not known.
    pub nodes: Option<u64>,
    /// Where the number of nodes is from: `inventory`, or `log` (nodes that clients were seen on); null without one.
    pub nodes_from: Option<String>,
    /// Namespaces, which share out what is listed in one; null if they are not known: then the whole collection is
    /// taken for the most that a namespace can hold.
    pub namespaces: Option<u64>,
    /// Resources of the log that it lacks, those of the most requests first.
    pub lacks: Vec<Lack>,
}

/// A file of an inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InventoryFile {
    /// The file, as it was given.
    pub file: String,
    /// `metrics`, `csv` or `yaml`.
    pub format: String,
    /// Resources in it.
    pub resources: u64,
    /// What is to be known of it: values that stand for an error of the server, lines that can't be read.
    pub notes: Vec<String>,
}

/// A resource that clients read, and that the inventory lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lack {
    /// The resource.
    pub resource: String,
    /// `objects` (and bytes), or `bytes` alone.
    pub lacks: String,
    /// Requests of which the cost is not known for it.
    pub requests: u64,
    /// A name in a written inventory that is likely meant to be this resource's.
    pub near: Option<String>,
}

/// What clients are ranked by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ranking {
    /// `inventory` or `latency`.
    pub basis: String,
    /// The unit of all `load`s: `objects` with an inventory, else `requestMicros`.
    pub unit: &'static str,
    /// The numbers, the first deciding: `load`, then counts.
    pub by: Vec<String>,
    /// The unit of `cost.handled` and of peaks of cost: `bytes`, or `objects` if the sizes of some objects that clients
    /// read are not known; null without an inventory.
    pub handled_unit: Option<&'static str>,
}
