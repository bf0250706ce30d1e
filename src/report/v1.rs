//! The report as it is written with `--format json`, `schemaVersion` 1.
//!
//! A public contract: fields may be added, none may change its name, its type or its meaning without a new version.
//! Durations are whole microseconds, instants RFC 3339 in UTC, counts are of requests unless they say otherwise.

mod case;
mod cost;
mod etcd_log;
mod example;
mod finding;
mod input;
mod load;
mod pattern;
mod server_log;
mod shared;
mod timeline;
mod version;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::ledger::histogram::Buckets;
use crate::rules::Gates;

pub use case::{Case, Member, Members, Source};
pub use cost::{Amount, Cost, CostMinute, Inventory, InventoryFile, Lack, Ranking, Work};
pub use etcd_log::{EtcdAmount, EtcdClient, EtcdLog, EtcdRequest, EtcdRequests, EtcdSlow, EtcdSource};
pub use example::Example;
pub use finding::{
    Evidence, Finding, FindingCounts, KnownProduct, Named, Path, Permission, Policy, Program, Rival,
    RuleInfo, RuleRef, SourceInfo, Stats, Suppressed, SuppressionInfo, Who,
};
pub use input::{
    Copy, Damaged, Input, NotRead, NotReadFile, SkippedAt, SourceInput, UnknownFiles, UnreadAt, WithoutEvents,
};
pub use load::{Load, is_estimate};
pub use pattern::{
    AllFollowed, Chains, Followed, Herd, Herds, Informers, Instance, Pattern, Poller, Polling, Relists,
    Watches,
};
pub use server_log::{Items, PriorityAndFairness, TraceGroup};
pub use shared::{Instant, Shared};
pub(crate) use timeline::minute;
pub use timeline::{Peak, PeakClient, Point, Points, Timeline};
pub use version::{VersionEvidence, VersionRange, VersionTotals};

/// The version of this contract.
pub const SCHEMA_VERSION: u32 = 1;

/// What each client cost the control plane.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// 1.
    pub schema_version: u32,
    /// The kubetoll that wrote the report.
    pub kubetoll_version: String,
    /// What was read, and what of it could not be.
    pub input: Input,
    /// The server that the requests are judged for.
    pub server: Server,
    /// Sums over all clients.
    pub totals: Totals,
    /// The findings by their causes: the worst severity first, then the most load.
    pub cases: Vec<Case>,
    /// What rules found: what can't be seen first, then a client's findings together, the client with the worst
    /// before others.
    pub findings: Vec<Finding>,
    /// What `--fail-on` counts.
    #[serde(skip)]
    pub gates: Gates,
    /// How many findings there are.
    pub finding_counts: FindingCounts,
    /// The rules that judged.
    pub rules: Vec<RuleInfo>,
    /// Conditions and texts of rules that failed on a value.
    pub rule_failures: Vec<String>,
    /// What the policy file did.
    pub policy: Policy,
    /// What the cluster holds, as `--inventory` says; null without it.
    pub inventory: Option<Inventory>,
    /// What the clients are ranked by.
    pub ranking: Ranking,
    /// The clients, those with the most load first, as `ranking` says.
    pub clients: Vec<Client>,
    /// What patterns over time are made of.
    pub followed: AllFollowed,
    /// Slow requests (above 500 ms) that the apiserver's own log traces, the greatest time first.
    pub traces: Vec<TraceGroup>,
    /// Traces that are not counted there: more than 32,768 were seen.
    pub traces_left_out: u64,
    /// What etcd's own log says; null without one.
    pub etcd_log: Option<EtcdLog>,
}

/// The server that the requests are judged for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// Kubernetes' version: the best estimate, and after an upgrade the last one.
    pub kube_version: String,
    /// Where `kubeVersion` comes from: `flag`, `loopback-user-agent` or `start-line` (the server states it),
    /// `apiserver-user-agent`, `control-plane-user-agent`, `kubelet-user-agent`, `unconfirmed-user-agent` (of an access
    /// log), `newest-possible` (the newest that fits `evidence`) or `newest-known` (the log shows nothing).
    pub version_source: String,
    /// The same in words, with the other versions that are possible.
    #[serde(skip)]
    pub version_from: String,
    /// All versions that the log shows: in the order of time after an upgrade, else ascending.
    pub kube_versions: Vec<String>,
    /// How several versions are related: `over-time` (an upgrade; each request is judged by the version of its time),
    /// `by-file` (each file is judged by its own version) or `at-the-same-time` (one file holds the requests of several
    /// servers; all of them are judged by `kubeVersion`). Null for one version.
    pub versions_differ: Option<String>,
    /// What the log shows of each version, if it shows several.
    pub servers: Vec<ServerVersion>,
    /// The oldest and the newest version that fit the evidence. A version between them may be excluded.
    pub candidates: VersionRange,
    /// What the log shows of the version, the most trusted first.
    pub evidence: Vec<VersionEvidence>,
    /// The fewest facts that exclude what all of them exclude, with the versions that fit.
    #[serde(skip)]
    pub decisive: Vec<String>,
    /// etcd's version, as it was given or as a start line in its log states it. If it is null, etcd is taken for 3.4.31,
    /// 3.5.13 or later.
    pub etcd_version: Option<String>,
    /// What start lines of etcd state, in `--etcd-log` or among the audit logs, the oldest version first.
    pub etcd_evidence: Vec<EtcdEvidence>,
    /// Where etcd's version comes from, in words.
    #[serde(skip)]
    pub etcd_from: &'static str,
    /// Feature gates that were given.
    pub feature_gates: BTreeMap<String, bool>,
    /// Resources that were said to have no watch cache, beside events.
    pub uncached: Vec<String>,
    /// API groups that were said to be aggregated, beside the metrics APIs.
    pub aggregated: Vec<String>,
    /// What a reader should know about how the server was found.
    pub notes: Vec<String>,
}

/// A fact of etcd's version.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdEvidence {
    /// The fact.
    pub fact: String,
    /// The file that shows it.
    pub source: String,
}

/// One of several versions that a log shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// The best estimate.
    pub kube_version: String,
    /// Where it comes from, as in `versionSource` of the server.
    pub version_source: String,
    /// The oldest and the newest version that fit its evidence.
    pub candidates: VersionRange,
    /// Facts that fit this version and exclude another one of the log.
    pub evidence: Vec<String>,
    /// The files that show it; of many, the first ones and how many more.
    pub source: String,
    /// When the evidence was seen first.
    pub first_timestamp: Option<String>,
    /// When it was seen last.
    pub last_timestamp: Option<String>,
}

/// Counts of requests that a client and all clients have alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Requests by verb.
    pub by_verb: BTreeMap<String, u64>,
    /// Requests by where they were served from.
    pub by_served_from: BTreeMap<String, u64>,
    /// LISTs that etcd answered, likely ones of `depends` too.
    pub etcd_lists: u64,
    /// GETs that etcd answered.
    pub etcd_gets: u64,
    /// Time that LISTs and GETs took that etcd answered, from received to answered.
    pub etcd_micros: u64,
    /// Writes to etcd: creates, updates, patches and deletes of stored resources and of their subresources that were
    /// neither refused (4xx) nor failed (5xx), and not sent with `dryRun=All`. A deletecollection counts as one.
    pub etcd_writes: u64,
    /// LISTs of which the server ignored the limit.
    pub limit_ignored: u64,
    /// Answers by status.
    pub statuses: Statuses,
    /// How the server's own measurements fit the verdicts.
    pub observed: Observed,
}

/// Sums over all clients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// The sums.
    #[serde(flatten)]
    pub counts: Counts,
    /// Durations of all requests that are not long-running.
    pub latency: Option<Latency>,
    /// Requests a minute.
    pub rate: Option<Rate>,
    /// The minute in which most requests began, and who made them.
    pub peak: Option<Peak>,
    /// The same of LISTs and GETs that etcd answered.
    pub etcd_peak: Option<Peak>,
    /// The load of all clients.
    pub load: Load,
    /// What the requests cost.
    pub cost: Cost,
    /// The totals for each range of versions that the log leaves possible; empty if the version is known, or if all
    /// have the same totals.
    pub by_version: Vec<VersionTotals>,
}

/// Answers by HTTP status.
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
    /// Requests without a status: not ended, or not recorded.
    pub none: u64,
    #[serde(rename = "409")]
    pub conflict: u64,
    #[serde(rename = "410")]
    pub gone: u64,
    #[serde(rename = "429")]
    pub too_many_requests: u64,
}

/// How the server's own measurements of slow requests (`apiserver.latency.k8s.io/*`) fit the verdicts on them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// Requests that the server measured: those that took more than 500 ms.
    pub measured: u64,
    /// Reads whose measurement shows what the verdict says.
    pub agree: u64,
    /// Reads whose measurement shows something else, and requests that were served though the model refuses them.
    pub contradict: u64,
    /// Time spent in calls to etcd.
    pub etcd_micros: u64,
}

/// Durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    pub count: u64,
    pub sum_micros: u64,
    pub min_micros: u64,
    pub max_micros: u64,
    /// Not below the exact value, and above it by an eighth at most.
    pub p50_micros: u64,
    /// As `p50Micros`.
    pub p99_micros: u64,
}

/// Buckets as the ledger holds them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram(pub Buckets);

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.0.upper_ends().map(|(up_to_micros, count)| Bucket { up_to_micros, count }))
    }
}

/// Durations that are close to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bucket {
    /// None of them is greater; at most an eighth above the least of them.
    pub up_to_micros: u64,
    /// How many.
    pub count: u64,
}

/// Requests a minute.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    /// Most requests in one minute; with a wider window, the mean of its minutes.
    pub peak_per_minute: f64,
    /// When that minute, or window, began.
    pub peak_at: Instant,
    /// Requests over the minutes with at least one.
    pub mean_per_active_minute: f64,
    /// Minutes in windows with at least one request.
    pub active_minutes: u64,
    /// The width of the window with the peak: 1, or more where something was active in more than 1,536 minutes.
    pub window_minutes: u64,
}

/// One client: an identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// The user name that the requests act as; `system:node:*` for all nodes, `(other clients)` for what is
    /// beyond the number of clients that are told apart. An access line names no user; for it, product and address:
    /// `kubelet (private address)`, or `loopback`, `link-local`, `public`, `unknown`.
    pub identity: String,
    /// `service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent`.
    pub kind: String,
    /// The ServiceAccount, if it is one.
    pub service_account: Option<ServiceAccount>,
    /// Who asked, where the requests impersonate.
    pub impersonated_by: Option<String>,
    /// Products of user agents, most requests first.
    pub user_agents: Vec<UserAgent>,
    /// Distinct nodes.
    pub nodes: Distinct,
    /// Distinct pods.
    pub pods: Distinct,
    /// The sums.
    #[serde(flatten)]
    pub counts: Counts,
    /// The severity of its worst finding; null without one.
    pub worst_severity: Option<&'static str>,
    /// The ranks of the cases that it is a member of.
    #[serde(skip)]
    pub cases: Vec<u64>,
    /// Its part of the load of all clients: these add up to 1.
    pub load: Load,
    /// What the requests cost.
    pub cost: Cost,
    /// Durations of the requests that are not long-running.
    pub latency: Option<Latency>,
    /// Requests a minute.
    pub rate: Option<Rate>,
    /// Received of the first event.
    pub first_timestamp: Option<String>,
    /// As `first_timestamp`, of what is not long-running: a watch may be older than the log by hours.
    #[serde(skip)]
    pub first_answered: Option<Instant>,
    /// Received of the last event.
    pub last_timestamp: Option<String>,
    /// What it asked, the most load first.
    pub shapes: Vec<Shape>,
    /// Its requests a minute, by resource, in the order of their names.
    pub timelines: Vec<Timeline>,
}

/// A ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServiceAccount {
    pub namespace: String,
    pub name: String,
}

/// A product of user agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserAgent {
    /// The name without its version; `(other products)` for those that are not told apart.
    pub product: String,
    /// One user agent of it, as the client sent it.
    pub example: String,
    /// Requests.
    pub requests: u64,
}

/// How many different ones there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Distinct {
    /// How many.
    pub count: u64,
    /// There were more than that.
    pub more: bool,
}

/// One fingerprint of requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shape {
    /// It is polled, and etcd answered, or a limit or a parameter was ignored.
    #[serde(skip)]
    pub is_costly: bool,
    /// Verb.
    pub verb: &'static str,
    /// Resource with its group, such as `deployments.apps`; a class in brackets for other paths; null for what is
    /// beyond the number of shapes that are told apart.
    pub resource: Option<Shared<str>>,
    /// Subresource.
    pub subresource: Option<Shared<str>>,
    /// `cluster`, `namespace` or `object`.
    pub scope: Option<&'static str>,
    /// The query's list options in classes, such as `limit=500&resourceVersion=0`.
    pub parameters: Shared<str>,
    /// Keys that the server ignores without a word: a few of them.
    pub ignored_parameters: Vec<String>,
    /// List options that the ignored keys were likely meant to be.
    pub misspelled: Vec<String>,
    /// Where it was served from.
    pub served_from: &'static str,
    /// For `depends`, which it was in most cases.
    pub likely: Option<&'static str>,
    /// `absent`, `honored` or `ignored`.
    pub limit: &'static str,
    /// The status with which the server refuses it.
    pub rejected: Option<u16>,
    /// A stable code.
    pub reason: &'static str,
    /// `certain` (all versions that fit the log agree), `by-version` or `by-config`.
    pub certainty: &'static str,
    /// One sentence.
    pub explanation: &'static str,
    /// What to change; null where nothing is wrong.
    pub advice: Option<Shared<str>>,
    /// The version of Kubernetes by which it is judged.
    pub kube_version: Shared<str>,
    /// Products of user agents that asked it.
    pub products: Vec<String>,
    /// Requests.
    pub requests: u64,
    /// Those of them that wrote to etcd.
    pub etcd_writes: u64,
    /// Their part of the load of all clients.
    pub load: Load,
    /// Events.
    pub events: u64,
    /// The durations are lifetimes of a watch or a connection, and no cost.
    pub long_running: bool,
    /// Durations.
    pub latency: Option<Latency>,
    /// How often which durations were: buckets that were hit, ascending.
    #[schemars(with = "Vec<Bucket>")]
    pub histogram: Histogram,
    /// Requests a minute.
    pub rate: Option<Rate>,
    /// Received of the first event.
    pub first_timestamp: Option<Instant>,
    /// Received of the last event.
    pub last_timestamp: Option<Instant>,
    /// Answers by status.
    pub statuses: Statuses,
    /// How the server's own measurements fit.
    pub observed: Observed,
    /// How API Priority and Fairness queued and weighed it, where the log says so.
    pub priority_and_fairness: Vec<PriorityAndFairness>,
    /// Objects in the answers, where a trace of a slow request counts them.
    pub items: Option<Items>,
    /// What the requests show when they are put in order; null for what no pattern is made of.
    pub pattern: Option<Box<Pattern>>,
    /// What the requests cost.
    pub cost: Shared<Cost>,
    /// The costliest request.
    pub example: Option<Example>,
    /// The next costliest.
    pub more_examples: Vec<Example>,
}
