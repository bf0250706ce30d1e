//! The JSON report (`--format json`), `schemaVersion` 1.
//!
//! This is a public contract. Fields may be added. A field never changes its name, type or meaning without a new
//! version. Durations are whole microseconds. Timestamps are RFC 3339 in UTC. Counts are of requests, unless they say
//! otherwise.

mod case;
mod cost;
mod etcd_log;
mod finding;
mod input;
mod pattern;
mod server_log;
mod shared;
mod timeline;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::judged::{Agreement, shape_text};
use crate::ledger::histogram::Buckets;

pub use case::{Case, Member, Members, Source};
pub use cost::{Amount, Cost, CostMinute, Inventory, InventoryFile, Lack, Load, Ranking, Work, is_estimate};
pub(crate) use etcd_log::{EtcdAmount, EtcdClient, EtcdLog, EtcdRequest, EtcdRequests, EtcdSlow, EtcdSource};
pub use finding::Finding;
pub(crate) use finding::{
    BudgetLine, Evidence, Example, FindingCounts, KnownProduct, Named, Path, Permission, Policy, Program,
    Rival, RuleInfo, RuleRef, SourceInfo, Stats, Suppressed, SuppressionInfo, Who,
};
pub use input::{
    Copy, Damaged, Input, NotRead, NotReadFile, SkippedAt, SourceInput, UnknownFiles, UnreadAt, WithoutEvents,
};
pub use pattern::Pattern;
pub(crate) use pattern::{
    AllFollowed, Chains, Followed, Herd, Herds, Informers, Instance, Poller, Polling, Watches,
};
pub use server_log::{Items, PriorityAndFairness, TraceGroup};
pub use shared::{Shared, Timestamp};
pub use timeline::minute;
pub use timeline::{Peak, PeakClient, Point, Points, Timeline};

/// The version of this contract.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The report: what each client costs the control plane.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Report")]
pub struct PublicReport {
    /// The version of this contract: 1.
    pub(crate) schema_version: u32,
    /// The version of kubetoll that wrote the report.
    pub kubetoll_version: String,
    /// The input: records, skipped records and source files.
    pub input: Input,
    /// The server configuration that the verdicts assume.
    pub(crate) server: Server,
    /// Sums over all clients.
    pub totals: Totals,
    /// The cases: findings grouped by cause. Ordered by severity, then by load.
    pub cases: Vec<Case>,
    /// The findings. Findings on the input are first. Then the findings of one client are together, the client with
    /// the worst finding first.
    pub findings: Vec<Finding>,
    /// The number of findings by severity.
    pub finding_counts: FindingCounts,
    /// The rules that were active.
    pub(crate) rules: Vec<RuleInfo>,
    /// Errors in conditions and texts of rules, for example because a value has the wrong type.
    pub rule_failures: Vec<String>,
    /// The effect of the policy file.
    pub(crate) policy: Policy,
    /// The objects of the cluster, from `--inventory`; null without it.
    pub inventory: Option<Inventory>,
    /// How clients are ranked.
    pub(crate) ranking: Ranking,
    /// The clients, ordered as `ranking` describes.
    pub clients: Vec<Client>,
    /// How many requests kubetoll followed to find patterns over time.
    pub followed: AllFollowed,
    /// Traces of slow requests (more than 500 ms) in the apiserver's own log. The group with the largest total time
    /// is first.
    pub(crate) traces: Vec<TraceGroup>,
    /// The number of traces that `traces` omits. kubetoll keeps at most 32,768 traces.
    pub(crate) traces_left_out: u64,
    /// The content of etcd's own log; null without `--etcd-log`.
    pub(crate) etcd_log: Option<EtcdLog>,
}

/// The server configuration that the verdicts assume.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Server {
    /// The Kubernetes version: the best estimate. After an upgrade, the last version.
    pub(crate) kube_version: String,
    /// The source of `kubeVersion`: `flag`, `loopback-user-agent` or `start-line` (the server states it),
    /// `apiserver-user-agent`, `control-plane-user-agent`, `kubelet-user-agent`, `unconfirmed-user-agent` (in an
    /// access log), `newest-possible` (the newest version that fits `evidence`) or `newest-known` (the log shows
    /// nothing).
    pub(crate) version_source: String,
    /// All versions that the log shows. After an upgrade, they are in order of time, else ascending.
    pub(crate) kube_versions: Vec<String>,
    /// How several versions are related. `over-time`: an upgrade; each request is judged by the version at its time.
    /// `by-file`: each file is judged by its own version. `at-the-same-time`: one file holds requests to several
    /// servers; all are judged by `kubeVersion`. Null for one version.
    pub(crate) versions_differ: Option<String>,
    /// The evidence for each version, if the log shows several.
    pub(crate) servers: Vec<ServerVersion>,
    /// The oldest and the newest version that fit the evidence. Versions between them may be excluded.
    pub(crate) candidates: VersionRange,
    /// The facts that limit the version, the most trusted first.
    pub(crate) evidence: Vec<VersionEvidence>,
    /// etcd's version, from `--etcd-version` or from a start line in etcd's log. If null, kubetoll assumes etcd
    /// 3.4.31, 3.5.13 or later.
    pub(crate) etcd_version: Option<String>,
    /// The versions in etcd's start lines, from `--etcd-log` or from the audit logs. The oldest version is first.
    pub(crate) etcd_evidence: Vec<EtcdEvidence>,
    /// Feature gates from `--feature-gate` or the policy file.
    pub(crate) feature_gates: BTreeMap<String, bool>,
    /// Resources without a watch cache, besides events, from `--uncached` or the policy file.
    pub uncached: Vec<String>,
    /// API groups of aggregated API servers, besides the metrics APIs, from `--aggregated` or the policy file.
    pub aggregated: Vec<String>,
    /// Notes on how kubetoll detected the server.
    pub(crate) notes: Vec<String>,
}

/// A fact that shows etcd's version.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct EtcdEvidence {
    pub(crate) fact: String,
    pub(crate) source: String,
}

/// One of several Kubernetes versions that a log shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerVersion {
    /// The best estimate of the version.
    pub(crate) kube_version: String,
    /// The source of `kubeVersion`, with the values of `server.versionSource`.
    pub(crate) version_source: String,
    /// The oldest and the newest version that fit its evidence.
    pub(crate) candidates: VersionRange,
    /// Facts that fit this version and exclude another version of the log.
    pub(crate) evidence: Vec<String>,
    /// The files that show the version: the first file names, and the number of others.
    pub(crate) source: String,
    /// The time of the first evidence.
    pub(crate) first_timestamp: Option<String>,
    /// The time of the last evidence.
    pub(crate) last_timestamp: Option<String>,
}

/// A range of Kubernetes versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct VersionRange {
    /// The oldest version.
    pub(crate) min: String,
    /// The newest version. Without a patch level, the newest patch release of this minor version.
    pub(crate) max: String,
}

/// A fact in the log that excludes Kubernetes versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct VersionEvidence {
    pub(crate) fact: String,
    /// The files that show the fact; empty for a sum over all files.
    pub(crate) source: String,
    /// The excluded versions, such as `1.19 to 1.29 and 1.34 to 1.37`.
    pub(crate) excludes: String,
}

/// The totals, assuming that the server has a version in this range. The log does not exclude these versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionTotals {
    /// The oldest version of the range.
    pub(crate) min: String,
    /// The newest version of the range.
    pub(crate) max: String,
    /// LISTs read from etcd.
    pub(crate) etcd_lists: u64,
    /// GETs read from etcd.
    pub(crate) etcd_gets: u64,
    /// LISTs whose limit the server ignored.
    pub(crate) limit_ignored: u64,
}

/// Counts of requests, for one client or for all clients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub requests: u64,
    pub by_verb: BTreeMap<String, u64>,
    /// Requests by `servedFrom`.
    pub by_served_from: BTreeMap<String, u64>,
    /// LISTs read from etcd. This includes LISTs with the verdict `depends` that were likely read from etcd.
    pub etcd_lists: u64,
    /// GETs read from etcd.
    pub etcd_gets: u64,
    /// The total duration of the LISTs and GETs read from etcd, from received to complete.
    pub etcd_micros: u64,
    /// Writes to etcd: creates, updates, patches and deletes of stored resources and of their subresources. Refused
    /// (4xx) and failed (5xx) requests do not count, nor do requests with `dryRun=All`. A deletecollection counts as
    /// one.
    pub(crate) etcd_writes: u64,
    /// LISTs whose limit the server ignored.
    pub limit_ignored: u64,
    /// Requests by HTTP status.
    pub statuses: Statuses,
    /// Compares the server's own measurements of slow requests with the verdicts.
    pub(crate) observed: Agreement,
}

/// Sums over all clients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    #[serde(flatten)]
    pub counts: Counts,
    /// The durations of all requests, except long-running requests.
    pub(crate) latency: Option<Latency>,
    /// Requests per minute.
    pub(crate) rate: Option<Rate>,
    /// The minute in which the largest number of requests began, and the clients that sent them.
    pub peak: Option<Peak>,
    /// The minute in which the largest number of LISTs and GETs from etcd began, and the clients that sent them.
    pub etcd_peak: Option<Peak>,
    pub(crate) load: Load,
    /// The cost of the requests.
    pub cost: Cost,
    /// The totals for each range of versions that the log leaves possible. Empty if the version is known, or if the
    /// totals are equal for all ranges.
    pub(crate) by_version: Vec<VersionTotals>,
}

/// Requests by HTTP status of the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Statuses {
    #[serde(rename = "1xx")]
    pub informational: u64,
    #[serde(rename = "2xx")]
    pub success: u64,
    #[serde(rename = "3xx")]
    pub redirect: u64,
    #[serde(rename = "4xx")]
    pub client_error: u64,
    #[serde(rename = "5xx")]
    pub server_error: u64,
    /// Requests without a status: they did not end, or the log has no status.
    pub none: u64,
    #[serde(rename = "409")]
    pub conflict: u64,
    #[serde(rename = "410")]
    pub(crate) gone: u64,
    #[serde(rename = "429")]
    pub(crate) too_many_requests: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    pub count: u64,
    pub(crate) sum_micros: u64,
    pub(crate) min_micros: u64,
    pub(crate) max_micros: u64,
    /// An upper bound of the median, at most an eighth above the exact value.
    pub(crate) p50_micros: u64,
    /// An upper bound of the 99th percentile, at most an eighth above the exact value.
    pub(crate) p99_micros: u64,
}

/// The buckets of a histogram in the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram(pub(crate) Buckets);

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.0.upper_ends().map(|(up_to_micros, count)| Bucket { up_to_micros, count }))
    }
}

/// A histogram bucket of similar durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bucket {
    /// The upper end of the bucket, at most an eighth above the shortest duration in it.
    pub(crate) up_to_micros: u64,
    pub(crate) count: u64,
}

/// Requests per minute.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rate {
    /// The most requests in one minute. If `windowMinutes` is more than 1, the mean per minute of the busiest window.
    pub(crate) peak_per_minute: f64,
    /// The start of the busiest minute, or of the busiest window if `windowMinutes` is more than 1.
    pub(crate) peak_at: Timestamp,
    /// The number of requests, divided by `activeMinutes`. If the time from the first to the last event is shorter,
    /// the divisor is that time. The divisor is at least one minute.
    pub(crate) mean_per_active_minute: f64,
    /// The number of minutes in all windows with at least one request.
    pub(crate) active_minutes: u64,
    /// The width of the windows in minutes. More than 1 if requests began in more than 1,536 different minutes.
    pub(crate) window_minutes: u64,
    /// The sum over all windows of the squared number of requests. `kubetoll diff` computes from it whether requests
    /// come in bursts.
    pub(crate) sum_of_squares: u64,
}

/// One client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// The user name that the requests act as; `system:node:*` for all nodes. `(other clients)` sums up the clients
    /// beyond the limit. A line of the access log has no user. Its client is named by product and address class, such
    /// as `kubelet (private address)`. The other classes are `loopback`, `link-local`, `public` and `unknown`.
    pub identity: String,
    /// `service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent`.
    pub(crate) kind: String,
    /// The ServiceAccount, if the client is one.
    pub(crate) service_account: Option<ServiceAccount>,
    /// The authenticated user, if the requests impersonate another user.
    pub(crate) impersonated_by: Option<String>,
    /// The products in user agents, ordered by requests.
    pub user_agents: Vec<UserAgent>,
    /// The distinct nodes on which the client ran.
    pub(crate) nodes: Distinct,
    /// The distinct pods of the client.
    pub(crate) pods: Distinct,
    #[serde(flatten)]
    pub counts: Counts,
    /// The severity of the client's worst finding; null without a finding.
    pub(crate) worst_severity: Option<&'static str>,
    /// The client's load. The shares of all clients sum to 1.
    pub(crate) load: Load,
    /// The cost of the requests.
    pub cost: Cost,
    /// The durations of the client's requests, except long-running requests.
    pub(crate) latency: Option<Latency>,
    /// Requests per minute.
    pub(crate) rate: Option<Rate>,
    /// The receive time of the first event.
    pub(crate) first_timestamp: Option<String>,
    /// The receive time of the last event.
    pub(crate) last_timestamp: Option<String>,
    /// The client's request shapes, ordered by load.
    pub shapes: Vec<Shape>,
    /// The client's requests per minute for each resource, ordered by the resource's name.
    pub timelines: Vec<Timeline>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ServiceAccount {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A product in user agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UserAgent {
    /// The name without the version; `(other products)` sums up the products beyond the limit.
    pub(crate) product: String,
    /// One user agent of this product, as the client sent it.
    pub(crate) example: String,
    pub requests: u64,
}

/// A number of distinct values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Distinct {
    pub(crate) count: u64,
    /// There are more values than `count`.
    pub(crate) more: bool,
}

/// One request shape of a client, with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shape {
    pub verb: &'static str,
    /// The resource with its group, such as `deployments.apps`. For a path without a resource, the class of the path,
    /// such as `(discovery)`. Null for the sum of the shapes beyond the limit.
    pub resource: Option<Shared<str>>,
    pub(crate) subresource: Option<Shared<str>>,
    /// `cluster`, `namespace` or `object`.
    pub(crate) scope: Option<&'static str>,
    /// The list options of the query, such as `limit=500&resourceVersion=0`. Values that differ between requests are
    /// replaced, as in `continue=…`.
    pub parameters: Shared<str>,
    /// Unknown query parameters, which the server ignores without an error: the first few.
    pub(crate) ignored_parameters: Vec<String>,
    /// List options that the ignored parameters likely mean.
    pub(crate) misspelled: Vec<String>,
    /// The source of the result, such as `watch-cache` or `etcd`. docs/report.md lists the values.
    pub served_from: &'static str,
    /// The more likely source of the result, if `servedFrom` is `depends`; else null.
    pub likely: Option<&'static str>,
    /// Whether the server honors the limit: `absent`, `honored` or `ignored`.
    pub(crate) limit: &'static str,
    /// The status with which the server refuses the request; null if it does not.
    pub rejected: Option<u16>,
    /// The stable code of the reason for the verdict.
    pub(crate) reason: &'static str,
    /// `certain`: all possible versions give this verdict. `by-version`: some give another verdict. `by-config`: the
    /// default settings give another verdict.
    pub(crate) certainty: &'static str,
    /// The reason for the verdict, in one sentence.
    pub(crate) explanation: &'static str,
    /// What to change; null if nothing is wrong.
    pub(crate) advice: Option<Shared<str>>,
    /// The Kubernetes version for which the verdict was computed.
    pub(crate) kube_version: Shared<str>,
    /// The products in the user agents of these requests.
    pub(crate) products: Vec<String>,
    pub requests: u64,
    /// The requests that wrote to etcd.
    pub(crate) etcd_writes: u64,
    /// The load of the requests that `requests` counts.
    pub(crate) load: Load,
    pub events: u64,
    /// The requests are watches or connections. Their durations are lifetimes and not a cost.
    pub(crate) long_running: bool,
    pub latency: Option<Latency>,
    /// The durations in buckets with at least one request, ascending.
    #[schemars(with = "Vec<Bucket>")]
    pub(crate) histogram: Histogram,
    /// Requests per minute.
    pub(crate) rate: Option<Rate>,
    /// The receive time of the first event.
    pub(crate) first_timestamp: Option<Timestamp>,
    /// The receive time of the last event.
    pub(crate) last_timestamp: Option<Timestamp>,
    /// Requests by HTTP status.
    pub statuses: Statuses,
    /// Compares the server's own measurements of slow requests with the verdict.
    pub(crate) observed: Agreement,
    /// How API Priority and Fairness classified and weighted the requests, if the log shows it.
    pub(crate) priority_and_fairness: Vec<PriorityAndFairness>,
    /// The number of objects in the responses, if traces of slow requests show it.
    pub(crate) items: Option<Items>,
    /// The pattern of the requests over time; null if there is none.
    pub pattern: Option<Box<Pattern>>,
    /// The cost of the requests.
    pub cost: Shared<Cost>,
    /// The costliest request, as evidence.
    pub example: Option<Example>,
    /// The next costliest requests.
    pub more_examples: Vec<Example>,
}

impl Client {
    /// Whether the client has a finding, and thus a case.
    pub(crate) fn has_finding(&self) -> bool {
        self.worst_severity.is_some()
    }
}

impl Shape {
    /// The name, such as `list pods cluster-wide ?limit=500`.
    pub(crate) fn name(&self) -> String {
        match &self.resource {
            None => shape_text::OTHER_SHAPES.to_owned(),
            Some(resource) => shape_text::name(
                self.verb,
                resource,
                self.subresource.as_deref(),
                self.scope,
                &self.parameters,
            ),
        }
    }

    /// Whether the shape is worth showing: the server reads from etcd for its requests, or ignores their limit or a
    /// parameter. Never true for long-running requests.
    pub(crate) fn is_costly(&self) -> bool {
        let etcd = self.served_from == "etcd" || self.likely == Some("etcd");
        let ignored = self.limit == "ignored" && self.verb == "list";
        !self.long_running && (etcd || ignored || !self.misspelled.is_empty())
    }
}
