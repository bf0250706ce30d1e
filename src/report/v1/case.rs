//! Cases: findings with one cause.

use schemars::JsonSchema;
use serde::Serialize;

use super::Load;

/// Findings with one cause: of one client, or of several clients that are the same program and do the same. Each finding
/// is in exactly one case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Its place: 1 for the first. Cases are ordered by severity, then by load.
    pub rank: u64,
    /// `info`, `warning` or `error`: that of the worst finding.
    pub severity: &'static str,
    /// The client's short name, or the program that several clients are; null for a case on the input.
    pub client: Option<String>,
    /// The clients.
    pub members: Members,
    /// Who does what how often: one sentence.
    pub what: String,
    /// `what` without the client, for a table with a column of clients.
    #[serde(skip)]
    pub does: String,
    /// The first step of what to change; prose.
    pub fix: String,
    /// The rules' ids, those with the worst findings first.
    pub rules: Vec<String>,
    /// The findings' fingerprints, those of the worst member first.
    pub findings: Vec<String>,
    /// The resource, if it is one.
    pub resource: Option<String>,
    /// Requests of all members that the findings are on; each counts once.
    pub requests: u64,
    /// Most of them in one minute.
    pub peak_per_minute: f64,
    /// Their part of the load of all clients. Requests that a case before this one has are left out, so all cases
    /// together have no more than 1.
    pub load: Load,
    /// The same in every run while the same program or client sends the same kind of requests for the same resource. It does
    /// not depend on the rules that fire, on counts, or on the number of clients that run the program.
    pub fingerprint: String,
    /// Where the client's code is, as `sources` of the policy file says; null if it does not.
    pub source: Option<Source>,
}

/// A place in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// The file, relative to the repository's root.
    pub path: String,
    /// The line in it, from 1.
    pub line: u64,
}

/// The clients of a case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Members {
    /// How many they are; 0 for a case on the input.
    pub count: u64,
    /// What they are: `namespace` if each is a ServiceAccount in another one, `person`, or `client`.
    pub kind: &'static str,
    /// The worst three.
    pub worst: Vec<Member>,
}

/// A client of a case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its identity, as in `clients[]`.
    pub client: String,
    /// A short name: `namespace/name` for a ServiceAccount.
    pub name: String,
    /// That of its worst finding in the case.
    pub severity: &'static str,
    /// Its requests that findings of the case are on.
    pub requests: u64,
    /// Their part of the load of all clients.
    pub load: Load,
}
