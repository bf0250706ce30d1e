//! What a rule finds.

use super::group::Group;
use super::permission::Permission;
use super::programs::{self, ProgramName};
use super::rivals::Rival;
use super::rule::Severity;
use super::value::Value;
use crate::cost::CostBasis;
use crate::judged::Load;
use crate::judged::etcd::SlowReads;
use crate::ledger::{DistinctSet, Exemplar};
use crate::patterns::Pattern;
use crate::products::{Product, RecognizedBy};

/// A finding: a group of rows of which a level of a rule holds.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule's id.
    pub rule: String,
    /// Its place among all findings that no suppression holds back.
    pub hit: Option<usize>,
    /// How bad it is.
    pub severity: Severity,
    /// Index of the client among the accounts; `None` for a finding on the input.
    pub client: Option<usize>,
    /// The program, where clients that run it are judged together.
    pub program: Option<OnProgram>,
    /// The product, where the rule tells products apart, or there is one.
    pub product: Option<String>,
    /// The resource, where the rule tells resources apart, or there is one.
    pub resource: Option<String>,
    /// The shape with the most requests.
    pub shape: Option<String>,
    /// What tells the finding apart from others of the rule and client: no count is in it.
    pub key: Vec<String>,
    /// One sentence. Holds what clients chose.
    pub message: String,
    /// What to change, for this kind of client on this server. Prose; holds what clients chose.
    pub fix: String,
    /// What to look for afterwards, as `fix`.
    pub look_for: Option<String>,
    /// What the fix makes worse, as `fix`.
    pub tradeoff: Option<String>,
    /// The numbers.
    pub stats: Vec<(&'static str, Value<'static>)>,
    /// What is said of the request with the most requests.
    pub verdict: Option<FindingVerdict>,
    /// How much of the apiserver's and etcd's work they are.
    pub load: Load,
    /// What the requests cost, as far as that is known.
    pub cost: CostBasis,
    /// Received of the first and the last event, in microseconds since 1970.
    pub span: Option<(i64, i64)>,
    /// Products of user agents, and one user agent of each.
    pub user_agents: Vec<(String, String)>,
    /// Requests, as evidence: the costliest first.
    pub evidence: Vec<Exemplar>,
    /// The slow reads in etcd's own log during which LISTs among them were under way.
    pub slow_reads: Option<SlowReads>,
    /// The product that the client is, and what it was recognized by.
    pub known_product: Option<(&'static Product, RecognizedBy)>,
    /// The permission that the requests lack.
    pub permission: Option<Permission>,
    /// Who else writes the objects that the client got conflicts on.
    pub rivals: Vec<Rival>,
    /// What the requests show when they are put in order, if they show anything.
    pub pattern: Option<Box<Pattern>>,
}

/// The clients of a program that a finding is on together.
#[derive(Debug, Clone)]
pub struct OnProgram {
    /// What they have in common.
    pub name: ProgramName,
    /// The program in one word.
    pub short: String,
    /// The program in a sentence: `backup in 40 namespaces`.
    pub sentence: String,
    /// Number of clients.
    pub clients: u64,
    /// Their pods.
    pub pods: DistinctSet,
    /// Their nodes.
    pub nodes: DistinctSet,
}

impl OnProgram {
    /// The program of a group; `None` for a group of one client.
    pub(super) fn from_group(group: &Group<'_>) -> Option<Self> {
        let (program, members) = group.program.as_ref()?;
        let members = members.iter().map(|index| &group.totals.judged.clients[*index]);
        Some(Self {
            name: program.name.clone(),
            short: program.name.short(members.clone()).to_owned(),
            sentence: programs::in_a_sentence(&program.name, members.clone()),
            clients: members.count() as u64,
            pods: program.client.pods.clone(),
            nodes: program.client.nodes.clone(),
        })
    }
}

/// Where the requests were answered from, and why that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingVerdict {
    pub verb: &'static str,
    pub served_from: &'static str,
    pub likely: Option<&'static str>,
    pub limit: &'static str,
    pub reason: &'static str,
    pub explanation: &'static str,
    pub certainty: &'static str,
    pub kube_version: String,
    /// Slow requests of which the server's own measurement fits, and contradicts.
    pub observed: (u64, u64),
}
