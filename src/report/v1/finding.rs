//! What rules found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Cost, EtcdSlow, Example, Instant, Load, Pattern, ServiceAccount, Shared};

/// A finding: requests of a client that a rule judges.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule.
    pub rule: RuleRef,
    /// `info`, `warning` or `error`.
    pub severity: &'static str,
    /// The client's identity, as in `clients[]`; of a program's clients the one with the most requests. Null for a finding
    /// on the input.
    pub client: Option<String>,
    /// The resource, if it is one.
    pub resource: Option<String>,
    /// The shape with the most requests, such as `list pods cluster-wide ?limit=500`.
    pub shape: Option<String>,
    /// One sentence.
    pub message: String,
    /// What the server does and what it costs. Prose: paragraphs, lists with `- `, code in backticks.
    pub why: Shared<str>,
    /// What to change, for this kind of client on this server; prose.
    pub fix: String,
    /// What the fix makes worse; prose.
    pub tradeoff: Option<String>,
    /// Commands, one a line, that show it: the request again, its verdict, and its events in the log.
    pub verify: String,
    /// What to look for in the next log; prose.
    pub look_for: Option<String>,
    /// The numbers of docs/rules/names.md (`stats`, or `input`) that are not zero, false or empty.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub stats: Stats,
    /// Their part of the load of all clients; null for a finding on the input. Findings may be on the same requests.
    pub load: Option<Load>,
    /// What the requests cost: the costliest of them, and all; null for a finding on the input.
    pub cost: Option<Cost>,
    /// Who it is.
    pub who: Option<Who>,
    /// Where the requests were answered from, and why that is known: of the shape with the most requests.
    pub path: Option<Path>,
    /// The permission that the requests lack, where the server answered 403; else null.
    pub permission: Option<Permission>,
    /// Who else writes the objects that the client got conflicts on, as far as the log shows it.
    pub rivals: Vec<Rival>,
    /// What etcd's own log says of the client's LISTs of the resource; null for other findings, and without that log.
    pub etcd_slow: Option<EtcdSlow>,
    /// What the requests show when they are put in order.
    pub pattern: Option<Box<Pattern>>,
    /// The costliest request.
    pub evidence: Option<Evidence>,
    /// The next costliest.
    pub more_evidence: Vec<Evidence>,
    /// The same for the same rule, client and place in every run; no count is in it.
    pub fingerprint: String,
}

/// Numbers by their names, in the order of these. A list: a map's nodes would take more time than all that is in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats(Vec<(&'static str, serde_json::Value)>);

impl Stats {
    /// The number of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&serde_json::Value> {
        let at = self.0.binary_search_by(|(own, _)| (*own).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &serde_json::Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

impl FromIterator<(&'static str, serde_json::Value)> for Stats {
    fn from_iter<I: IntoIterator<Item = (&'static str, serde_json::Value)>>(all: I) -> Self {
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        Self(all)
    }
}

impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleRef {
    /// Stable for ever.
    pub id: Shared<str>,
    /// The name.
    pub name: Shared<str>,
}

/// Who made the requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Who {
    /// A short name: `namespace/name` for a ServiceAccount.
    pub name: String,
    /// The program, if the finding is on the sum of several clients that run it; else null.
    pub program: Option<Program>,
    /// `service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent`.
    pub kind: &'static str,
    /// The ServiceAccount; null for a program, which has several.
    pub service_account: Option<ServiceAccount>,
    /// Who asked, where the requests impersonate.
    pub impersonated_by: Option<String>,
    /// The library that the user agent tells.
    pub library: &'static str,
    /// The product of docs/products.md that it is; null if none is known.
    pub product: Option<KnownProduct>,
    /// Products of user agents, and one user agent of each, as the client sent it.
    pub user_agents: BTreeMap<String, String>,
    /// The pods of the client, or of all clients of the program.
    pub pods: Named,
    /// The nodes of the client, or of all clients of the program.
    pub nodes: Named,
    /// Received of the first event.
    pub first_timestamp: Option<String>,
    /// Received of the last event.
    pub last_timestamp: Option<String>,
}

/// A program that several clients run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Program {
    /// The name of their ServiceAccounts if all have the same one, else the product of their user agents.
    pub name: String,
    /// Number of clients in the sum.
    pub clients: u64,
}

/// A product that a client was recognized as: a hint, as a user agent is the client's to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownProduct {
    /// The name, as `kubetoll products explain` takes it.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// `controller`, `node-agent`, `backup`, `job`, `dashboard` or `tool`.
    pub kind: &'static str,
    /// What it was recognized by: `user-agent`, or `service-account` (its name by default).
    pub recognized_by: &'static str,
    /// Where the setting is documented with which the fix begins; null without one.
    pub source: Option<&'static str>,
}

/// How many different ones there were, and a few of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// How many.
    pub count: u64,
    /// There were more than that.
    pub more: bool,
    /// The first few in the order of bytes.
    pub examples: Vec<String>,
}

/// A permission that a client lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// The verb, as RBAC names it.
    pub verb: &'static str,
    /// The API group, empty for the core group; null for a path outside of the API's resources.
    pub api_group: Option<String>,
    /// The resource; null as `apiGroup`.
    pub resource: Option<String>,
    /// The subresource; null where there is none.
    pub subresource: Option<String>,
    /// The path, where it is none of the API's resources.
    pub non_resource_url: Option<String>,
    /// Namespaces of some of the requests; empty for the whole cluster.
    pub namespaces: Vec<String>,
    /// `Role` or `ClusterRole`: what the rule belongs into.
    pub role: &'static str,
    /// The RBAC rule, as YAML.
    pub rule: String,
    /// The command that asks the server whether the permission is there.
    pub check: String,
}

/// Another writer of the same objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rival {
    /// The client's identity, as in `clients[]`.
    pub client: String,
    /// A short name; with the product, where the client is the same.
    pub name: String,
    /// Objects that both write, an estimate above 64; 0 where it writes another subresource.
    pub objects: u64,
    /// Its writes of these objects, or where there are none, of the resource.
    pub writes: u64,
}

/// Where requests were answered from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Path {
    /// As in `shapes[]`.
    pub served_from: &'static str,
    /// As in `shapes[]`.
    pub likely: Option<&'static str>,
    /// As in `shapes[]`.
    pub limit: &'static str,
    /// As in `shapes[]`.
    pub reason: &'static str,
    /// As in `shapes[]`.
    pub explanation: &'static str,
    /// As in `shapes[]`.
    pub certainty: &'static str,
    /// The version of Kubernetes by which they are judged.
    pub kube_version: String,
    /// Slow requests of which the server's own measurement fits.
    pub agree: u64,
    /// Slow requests of which it contradicts.
    pub contradict: u64,
}

/// One request, as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The log.
    pub file: Shared<str>,
    /// The line in it, from 1.
    pub line: u64,
    /// The request's ID.
    #[serde(rename = "auditID")]
    pub audit_id: Box<str>,
    /// As the client sent it, but for what a continue token holds.
    pub uri: Box<str>,
    /// When it was received.
    pub timestamp: Option<Instant>,
    /// How long it took; null for a long-running one.
    pub duration_micros: Option<u64>,
    /// The answer's status.
    pub status: Option<u16>,
}

impl From<Example> for Evidence {
    fn from(example: Example) -> Self {
        let Example { request_uri, file, line, audit_id, timestamp, duration_micros, status } = example;
        Self { file, line, audit_id, uri: request_uri, timestamp, duration_micros, status }
    }
}

/// How many findings there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingCounts {
    pub error: u64,
    pub warning: u64,
    pub info: u64,
}

impl FindingCounts {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.error + self.warning + self.info
    }
}

/// A rule that judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleInfo {
    /// Stable for ever.
    pub id: String,
    /// The name.
    pub name: String,
    /// What it finds.
    pub summary: String,
    /// What the server does and what it costs. Prose: paragraphs, lists with `- `, code in backticks.
    pub why: String,
    /// What looks like it and is by design; prose.
    pub quiet_for: Option<String>,
    /// Issues, enhancement proposals and documents.
    pub references: Vec<String>,
}

/// What the policy file did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// The file; null without one.
    pub file: Option<String>,
    /// Findings that a suppression holds back.
    pub suppressed: Vec<Suppressed>,
    /// Suppressions that do not hold any more.
    pub expired: Vec<SuppressionInfo>,
    /// Suppressions that hold nothing back.
    pub unmatched: Vec<SuppressionInfo>,
    /// Sources that match no client of the log.
    pub unmatched_sources: Vec<SourceInfo>,
}

/// An entry of `sources`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceInfo {
    /// The client, as it is written.
    pub client: String,
    /// The file in the repository.
    pub path: String,
    /// The entry's line in the policy file.
    pub line: u64,
}

/// A finding that is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suppressed {
    pub rule: RuleRef,
    pub severity: String,
    pub client: Option<String>,
    pub shape: Option<String>,
    pub message: String,
    pub reason: String,
    pub expires: String,
    pub fingerprint: String,
}

/// A suppression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuppressionInfo {
    pub rule: String,
    pub client: Option<String>,
    pub shape: Option<String>,
    pub reason: String,
    pub expires: String,
    /// Where it stands in the policy file.
    pub line: u64,
}
