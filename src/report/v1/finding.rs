//! Findings in the JSON report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Cost, EtcdSlow, Load, Pattern, ServiceAccount, Shared, Timestamp};
pub(crate) use crate::rules::FindingVerdict as Path;

/// A finding: requests of a client that match a rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub rule: RuleRef,
    /// `info`, `warning` or `error`.
    pub severity: &'static str,
    /// The client's identity, as in `clients[]`. For a finding on a program, the client with the most requests. Null
    /// for a finding on the input.
    pub client: Option<String>,
    /// The resource, if all requests are for one resource.
    pub(crate) resource: Option<String>,
    /// The request shape with the most requests, such as `list pods cluster-wide ?limit=500`.
    pub(crate) shape: Option<String>,
    /// The finding in one sentence.
    pub message: String,
    /// What the server does and what that costs. Text with paragraphs, lists with `- `, and code in backticks.
    pub(crate) why: Shared<str>,
    /// What to change, for this kind of client on this server, as text.
    pub(crate) fix: String,
    /// The disadvantages of the fix, as text.
    pub(crate) tradeoff: Option<String>,
    /// Commands that show the finding, one per line: they repeat the request, show its verdict, and select its events
    /// in the log.
    pub(crate) verify: String,
    /// What the next log shows after the fix, as text.
    pub(crate) look_for: Option<String>,
    /// The values of docs/rules/names.md (`stats`, or `input`) that are not zero, false or empty.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub stats: Stats,
    /// The load of the requests; null for a finding on the input. Several findings may count the same requests.
    pub(crate) load: Option<Load>,
    /// The cost of the costliest request and of all requests; null for a finding on the input.
    pub(crate) cost: Option<Cost>,
    /// Details of the client; null for a finding on the input.
    pub(crate) who: Option<Who>,
    /// The verdict on the request shape with the most requests.
    pub(crate) path: Option<Path>,
    /// The permission that the requests lack, if the server returned 403; else null.
    pub(crate) permission: Option<Permission>,
    /// Other clients that write the objects on which the client got conflicts, if the log shows them.
    pub(crate) rivals: Vec<Rival>,
    /// Slow reads in etcd's own log that match the LISTs of this finding. Null if none match, if the requests are for
    /// several resources, or without `--etcd-log`.
    pub(crate) etcd_slow: Option<EtcdSlow>,
    /// The pattern of the requests over time.
    pub(crate) pattern: Option<Box<Pattern>>,
    /// The costliest request, as evidence.
    pub evidence: Option<Evidence>,
    /// The next costliest requests.
    pub(crate) more_evidence: Vec<Evidence>,
    /// The stable identifier of the finding. It depends on the rule, the client and the request shape or resource,
    /// and not on counts.
    pub fingerprint: String,
    /// The line of the budget file to change; null without `--budget`, and for findings of other rules.
    pub(crate) budget: Option<BudgetLine>,
}

/// A line of a budget file (`--budget`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BudgetLine {
    pub(crate) file: String,
    /// The line in the file, from 1.
    pub(crate) line: u64,
    /// The client of the entry, as in the file. For a client without an entry, its name as the file would list it.
    pub(crate) client: String,
    /// The YAML to write: the new limits, or the missing entry. Empty if the entry is for nobody.
    pub(crate) write: Vec<String>,
}

/// Values sorted by name. They are in a list, because a map is slower: allocating its entries takes longer than its
/// lookups save.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats(Vec<(&'static str, serde_json::Value)>);

impl Stats {
    /// The value for a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&serde_json::Value> {
        let at = self.0.binary_search_by(|(own, _)| (*own).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &serde_json::Value)> {
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleRef {
    /// The id, which never changes.
    pub id: Shared<str>,
    pub name: Shared<str>,
}

/// Details of the client that sent the requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Who {
    /// A short name: `namespace/name` for a ServiceAccount.
    pub(crate) name: String,
    /// The program, if the finding is on all clients that run it; else null.
    pub(crate) program: Option<Program>,
    /// `service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent`.
    pub(crate) kind: &'static str,
    /// The ServiceAccount; null for a program, whose clients have several.
    pub(crate) service_account: Option<ServiceAccount>,
    /// The authenticated user, if the requests impersonate another user.
    pub(crate) impersonated_by: Option<String>,
    /// The client library in the user agent.
    pub(crate) library: &'static str,
    /// The client's product, if docs/products.md lists it; else null.
    pub(crate) product: Option<KnownProduct>,
    /// The products in user agents, each with an example of a user agent as the client sent it.
    pub(crate) user_agents: BTreeMap<String, String>,
    /// The pods of the client, or of all clients of the program.
    pub(crate) pods: Named,
    /// The nodes of the client, or of all clients of the program.
    pub(crate) nodes: Named,
    /// The receive time of the first event.
    pub(crate) first_timestamp: Option<String>,
    /// The receive time of the last event.
    pub(crate) last_timestamp: Option<String>,
}

/// A program that several clients run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Program {
    /// The name of the clients' ServiceAccounts if all clients use the same name, else the product in their user
    /// agents.
    pub(crate) name: String,
    /// The number of clients that run the program.
    pub(crate) clients: u64,
}

/// A known product. It is only a hint, because a client chooses its user agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnownProduct {
    /// The name for `kubetoll products explain`.
    pub(crate) name: &'static str,
    /// The product's title.
    pub(crate) title: &'static str,
    /// `controller`, `node-agent`, `backup`, `job`, `dashboard` or `tool`.
    pub(crate) kind: &'static str,
    /// What identifies the product: `user-agent`, or `service-account` (its default name).
    pub(crate) recognized_by: &'static str,
    /// The documentation of the setting with which the fix begins; null without such a setting.
    pub(crate) source: Option<&'static str>,
}

/// A number of distinct names, with the first few.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Named {
    pub(crate) count: u64,
    /// There are more names than `count`.
    pub(crate) more: bool,
    /// The first few names in byte order.
    pub(crate) examples: Vec<String>,
}

/// A permission that a client lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Permission {
    /// The verb in RBAC.
    pub(crate) verb: &'static str,
    /// The API group; empty for the core group. Null for a path that is not an API resource.
    pub(crate) api_group: Option<String>,
    /// The resource; null for a path that is not an API resource.
    pub(crate) resource: Option<String>,
    /// The subresource; null without one.
    pub(crate) subresource: Option<String>,
    /// The path, if it is not an API resource.
    pub(crate) non_resource_url: Option<String>,
    /// Some namespaces of the requests; empty for the whole cluster.
    pub(crate) namespaces: Vec<String>,
    /// The kind of object that must contain the RBAC rule: `Role` or `ClusterRole`.
    pub(crate) role: &'static str,
    /// The RBAC rule that grants the permission, as YAML.
    pub(crate) rule: String,
    /// The command that checks whether the client has the permission.
    pub(crate) check: String,
}

/// Another client that writes the same objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Rival {
    /// The client's identity, as in `clients[]`.
    pub(crate) client: String,
    /// The rival's short name. If the rival is the finding's client itself with another product, the name includes
    /// this product.
    pub(crate) name: String,
    /// The number of objects that both clients write. A number above 64 is an estimate. The number is 0 if the
    /// clients write different subresources.
    pub(crate) objects: u64,
    /// The rival's writes to these objects. If `objects` is 0, the rival's writes to the resource.
    pub(crate) writes: u64,
}

/// One request of the log, as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    pub(crate) file: Shared<str>,
    /// The line in the file, from 1.
    pub(crate) line: u64,
    /// The audit ID of the request.
    #[serde(rename = "auditID")]
    pub(crate) audit_id: Box<str>,
    /// The request URI as the client sent it. The content of a continue token is removed.
    pub(crate) uri: Box<str>,
    /// The receive time.
    pub(crate) timestamp: Option<Timestamp>,
    /// The duration; null for a long-running request.
    pub(crate) duration_micros: Option<u64>,
    /// The HTTP status of the response.
    pub(crate) status: Option<u16>,
}

/// One request of the log, as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// The request URI as the client sent it. The content of a continue token is removed.
    pub(crate) request_uri: Box<str>,
    pub(crate) file: Shared<str>,
    /// The line in the file, from 1.
    pub(crate) line: u64,
    #[serde(rename = "auditID")]
    pub audit_id: Box<str>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) duration_micros: Option<u64>,
    pub(crate) status: Option<u16>,
}

impl From<Example> for Evidence {
    fn from(example: Example) -> Self {
        let Example { request_uri, file, line, audit_id, timestamp, duration_micros, status } = example;
        Self { file, line, audit_id, uri: request_uri, timestamp, duration_micros, status }
    }
}

/// The number of findings by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingCounts {
    pub(crate) error: u64,
    pub(crate) warning: u64,
    pub(crate) info: u64,
}

/// An active rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleInfo {
    /// The id, which never changes.
    pub(crate) id: String,
    pub(crate) name: String,
    /// What the rule finds, in one line.
    pub(crate) summary: String,
    /// What the server does and what that costs. Text with paragraphs, lists with `- `, and code in backticks.
    pub(crate) why: String,
    /// Similar requests that the rule does not match, because they are by design. As text.
    pub(crate) quiet_for: Option<String>,
    /// Links to issues, enhancement proposals and documents.
    pub(crate) references: Vec<String>,
}

/// The effect of the policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    /// The policy file; null without one.
    pub(crate) file: Option<String>,
    /// Findings that a suppression hides.
    pub(crate) suppressed: Vec<Suppressed>,
    /// Suppressions that have expired.
    pub(crate) expired: Vec<SuppressionInfo>,
    /// Suppressions that match no finding.
    pub(crate) unmatched: Vec<SuppressionInfo>,
    /// Entries of `sources` that match no client of the log.
    pub(crate) unmatched_sources: Vec<SourceInfo>,
}

/// An entry of `sources` in the policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SourceInfo {
    /// The client's name as written in the policy file.
    pub(crate) client: String,
    pub(crate) path: String,
    /// The line of the entry in the policy file.
    pub(crate) line: u64,
}

/// A finding that a suppression hides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Suppressed {
    pub(crate) rule: RuleRef,
    pub(crate) severity: String,
    pub(crate) client: Option<String>,
    pub(crate) shape: Option<String>,
    pub(crate) message: String,
    pub(crate) reason: String,
    pub(crate) expires: String,
    pub(crate) fingerprint: String,
}

/// A suppression in the policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SuppressionInfo {
    pub(crate) rule: String,
    pub(crate) client: Option<String>,
    pub(crate) shape: Option<String>,
    pub(crate) reason: String,
    pub(crate) expires: String,
    /// The line in the policy file.
    pub(crate) line: u64,
}
