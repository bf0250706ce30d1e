//! A case without texts.

use std::collections::BTreeSet;

use crate::judged::RequestLoad;
use crate::rules::Severity;

/// A case without texts. Findings are indices into the hits.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::report) struct Case {
    pub severity: Severity,
    /// The client, or the program that several clients run.
    pub client: Option<String>,
    /// What the members differ by: `client`, `namespace` or `person`.
    pub members: &'static str,
    /// The indices of the members in [`JudgedClients::clients`]. Empty for a finding on the input.
    pub(crate) clients: BTreeSet<usize>,
    pub(crate) worst: Vec<Member>,
    /// The findings, those of the worst member first. The first finding leads the case.
    pub findings: Vec<usize>,
    /// The number of findings of the worst member. If the leading finding is about all members together, this is the
    /// number of findings about all members together.
    pub(crate) worst_findings: usize,
    /// Whether the leading finding is on all members together.
    pub(crate) is_on_sum: bool,
    /// The number of resources that the worst member reads in a job's run or in views. 1 for other cases; 0 for a
    /// case on the input.
    pub(crate) resources: usize,
    /// The ids of the rules. The rule of the leading finding is first, then the rules with the worst findings.
    pub rules: Vec<String>,
    pub resource: Option<String>,
    pub requests: u64,
    pub peak_per_minute: f64,
    /// The load of the requests. Requests of an earlier case do not count.
    pub(crate) load: RequestLoad,
    pub(crate) fingerprint: String,
    /// The index of the first entry in the policy's `sources` that names a member.
    pub(crate) source: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Member {
    pub client: String,
    pub(crate) name: String,
    pub(crate) severity: Severity,
    pub(crate) requests: u64,
    pub(crate) load: RequestLoad,
}
