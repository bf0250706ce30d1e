//! Cases in the JSON report: findings with one cause.

use schemars::JsonSchema;
use serde::Serialize;

use super::Load;

/// Findings with one cause. They are of one client, or of several clients that run the same program and do the same.
/// Each finding is in exactly one case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// The position of the case, from 1. Cases are ordered by severity, then by load.
    pub(crate) rank: u64,
    /// The severity of the worst finding: `info`, `warning` or `error`.
    pub severity: &'static str,
    /// The client's short name, or the program that several clients run. Null for a case on the input.
    pub client: Option<String>,
    pub members: Members,
    /// One sentence: the client, its requests, and how often it sends them.
    pub what: String,
    /// The first step of the fix, as text.
    pub fix: String,
    /// The ids of the rules. The rule of the finding that `what` describes is first, then the rules with the worst
    /// findings.
    pub rules: Vec<String>,
    /// The fingerprints of the findings, those of the worst member first.
    pub findings: Vec<String>,
    /// The resource, if all findings are on one resource.
    pub resource: Option<String>,
    /// The number of the members' requests that the findings are about. Each request counts once.
    pub requests: u64,
    /// The most of these requests in one minute.
    pub peak_per_minute: f64,
    /// The load of these requests. A request of several cases counts for the first case. Thus the shares of all cases
    /// sum to at most 1.
    pub(crate) load: Load,
    /// The stable identifier of the case. It depends on the program or client, the resource and the kind of requests.
    /// It does not depend on counts, on the number of the program's clients, or on the rules that match.
    pub(crate) fingerprint: String,
    /// The location of the client's code, from `sources` of the policy file; null without an entry. For a finding on a
    /// budget (`--budget`), the line of the budget file.
    pub(crate) source: Option<Source>,
}

/// A location in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// The file's path, relative to the root of the repository.
    pub path: String,
    /// The line in the file, from 1.
    pub(crate) line: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Members {
    /// The number of clients; 0 for a case on the input.
    pub count: u64,
    /// What the members differ by: `namespace` (ServiceAccounts in different namespaces), `person` or `client`.
    pub(crate) kind: &'static str,
    /// The three worst members.
    pub worst: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Member {
    /// The client's identity, as in `clients[]`.
    pub client: String,
    /// A short name: `namespace/name` for a ServiceAccount.
    pub(crate) name: String,
    /// The severity of the client's worst finding in the case.
    pub(crate) severity: &'static str,
    /// The number of the client's requests that the findings are about.
    pub(crate) requests: u64,
    /// The load of the requests that `requests` counts.
    pub(crate) load: Load,
}
