//! The JSON report of `kubetoll upgrade`, `schemaVersion` 1. It is a public contract, like the report of a scan.

use schemars::JsonSchema;
use serde::Serialize;

/// What the recorded requests would do on other versions of the server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeReport {
    /// The version of this contract: 1.
    pub(crate) schema_version: u32,
    /// The version of kubetoll that wrote the report.
    pub(crate) kubetoll_version: String,
    /// The source files.
    pub(crate) files: Vec<String>,
    /// The receive time of the first event.
    pub(crate) first_timestamp: Option<String>,
    /// The receive time of the last event.
    pub(crate) last_timestamp: Option<String>,
    /// The number of requests in the log.
    pub(crate) requests: u64,
    /// The number of clients in the log.
    pub(crate) clients: u64,
    /// Requests without a URI, or from the overflow row. kubetoll cannot compare them.
    pub(crate) not_compared: u64,
    /// Requests whose source depends on facts that the log does not show, on at least one of the servers. kubetoll
    /// counts the likely source.
    pub(crate) uncertain: u64,
    /// The recorded server.
    pub(crate) from: ServerState,
    /// The other servers, oldest version first. Each one is compared with the one before.
    pub(crate) hops: Vec<UpgradeHop>,
    /// What the log or the versions leave open.
    pub(crate) notes: Vec<String>,
}

/// A server, with totals of the recorded requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerState {
    /// The Kubernetes version. If the log shows several, all of them.
    pub(crate) kube_version: String,
    /// etcd's version. If null, kubetoll assumes etcd 3.4.31, 3.5.13 or later.
    pub(crate) etcd_version: Option<String>,
    pub(crate) totals: UpgradeTotals,
}

/// What a server does with the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpgradeTotals {
    /// LISTs read from etcd.
    pub(crate) etcd_lists: u64,
    /// GETs read from etcd.
    pub(crate) etcd_gets: u64,
    /// The number of times that the server opens a WATCH in etcd.
    pub(crate) etcd_watches: u64,
    /// Requests of the verbs list, get and watch that the server serves from its watch cache.
    pub(crate) watch_cache_reads: u64,
    /// LISTs whose limit the server honors.
    pub(crate) limit_honored: u64,
    /// LISTs whose limit the server ignores.
    pub(crate) limit_ignored: u64,
    /// Requests that the server refuses, with or without a reason in the version.
    pub(crate) refused: u64,
    /// Requests for APIs that the server no longer serves. `refused` does not count them.
    pub(crate) removed_apis: u64,
}

/// The step from one version to the next one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpgradeHop {
    /// The Kubernetes version before this step.
    pub(crate) from_version: String,
    /// The server after this step.
    pub(crate) to: ServerState,
    /// Feature gates whose value differs, among those that decide where a read is served from.
    pub(crate) gates: Vec<GateChange>,
    /// The clients with changed requests. Clients that break or cost more are first.
    pub(crate) clients: Vec<ClientChanges>,
}

/// A feature gate whose value differs between two servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateChange {
    pub(crate) gate: &'static str,
    pub(crate) before: bool,
    pub(crate) after: bool,
    /// Whether the gate can be set after the step.
    pub(crate) can_be_set: bool,
}

/// The changes for one client.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientChanges {
    /// The client's identity, as in the report of a scan.
    pub(crate) client: String,
    /// The short name, as on the page of a scan.
    pub(crate) name: String,
    /// The products in the user agents of the changed requests.
    pub(crate) products: Vec<String>,
    /// Changed requests that break or cost more. A request with two such changes counts twice.
    pub(crate) worse: u64,
    /// Changed requests that cost less, or that the server no longer refuses.
    pub(crate) better: u64,
    /// The changes. The most urgent is first, then the one with the most requests.
    pub(crate) changes: Vec<ShapeChange>,
}

/// A change for the requests of one shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShapeChange {
    /// `api-removed`, `refused`, `to-etcd`, `limit-ignored`, `from-etcd`, `limit-honored` or `accepted`.
    pub(crate) change: &'static str,
    /// Whether the change breaks the client, or costs the control plane more.
    pub(crate) is_worse: bool,
    pub(crate) requests: u64,
    pub(crate) verb: &'static str,
    /// The resource with its group, such as `deployments.apps`.
    pub(crate) resource: String,
    pub(crate) subresource: Option<String>,
    /// `cluster`, `namespace` or `object`.
    pub(crate) scope: Option<&'static str>,
    /// The list options of the query.
    pub(crate) parameters: String,
    /// The API that is removed, such as `policy/v1beta1`. If kubetoll's table does not have it, and the recorded server
    /// wrote the annotation `k8s.io/removed-release`: `a deprecated version of` the resource.
    pub(crate) api: Option<String>,
    /// The source before the step, with the values of `servedFrom` in the report of a scan.
    pub(crate) before: &'static str,
    /// The source after the step.
    pub(crate) after: &'static str,
    /// The status with which the server refuses the requests after the step.
    pub(crate) status: Option<u16>,
    /// The reason for the verdict after the step, in one sentence.
    pub(crate) explanation: String,
}
