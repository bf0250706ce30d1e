//! Findings: the result of a rule for a group of rows.

use schemars::JsonSchema;
use serde::Serialize;

use super::group::RowGroup;
use super::permission::Permission;
use super::programs::{self, ProgramName};
use super::rivals::Rival;
use super::rule::{Rule, Severity};
use super::value::VariableValue;
use crate::cost::CostBasis;
use crate::judged::RequestLoad;
use crate::judged::etcd::SlowReads;
use crate::ledger::{DistinctSet, Exemplar};
use crate::patterns::Pattern;
use crate::products::{Product, RecognizedBy};

/// A finding whose texts are not rendered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HitRef<'h, 'r> {
    pub(crate) rule: &'h Rule,
    pub(crate) severity: Severity,
    /// `None` for a finding on the input.
    pub(crate) group: Option<&'h RowGroup<'r>>,
}

/// A group of rows for which one of a rule's `levels` holds.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    pub rule: String,
    /// The index among the findings that are not suppressed; `None` for a suppressed finding.
    pub(crate) hit: Option<usize>,
    pub severity: Severity,
    /// Index of the client; `None` for a finding on the input.
    pub client: Option<usize>,
    /// The program, if the finding is on all clients that run it.
    pub program: Option<OnProgram>,
    /// The user agent product, if all rows have the same one.
    pub(crate) product: Option<String>,
    /// The resource, if all rows have the same one.
    pub(crate) resource: Option<String>,
    /// The name of the shape with the most requests.
    pub(crate) shape: Option<String>,
    /// Distinguishes findings of the same rule and client. Contains no counts, so a finding keeps its key in later
    /// logs.
    pub key: Vec<String>,
    /// One sentence. Contains text that clients chose, so escape it where it is shown.
    pub message: String,
    /// What to change, for this kind of client and server version. Markdown that contains text chosen by clients.
    pub(crate) fix: String,
    /// How to verify the fix in the next log. Same format as `fix`.
    pub(crate) look_for: Option<String>,
    /// What the fix makes worse. Same format as `fix`.
    pub(crate) tradeoff: Option<String>,
    pub stats: Vec<(&'static str, VariableValue<'static>)>,
    /// The verb of the shape with the most requests.
    pub(crate) verb: Option<&'static str>,
    /// The verdict on the shape with the most requests.
    pub(crate) verdict: Option<FindingVerdict>,
    pub(crate) load: RequestLoad,
    pub(crate) cost: CostBasis,
    /// When the first and the last event were received, in microseconds since 1970.
    pub(crate) span: Option<(i64, i64)>,
    /// User agent products, each with an example of a full user agent.
    pub(crate) user_agents: Vec<(String, String)>,
    /// Example requests as evidence, the most expensive first.
    pub evidence: Vec<Exemplar>,
    /// Slow reads in etcd's own log that match LISTs of the finding.
    pub(crate) slow_reads: Option<SlowReads>,
    /// The known product of the client, and how it was recognized.
    pub(crate) known_product: Option<(&'static Product, RecognizedBy)>,
    /// The missing permission, if the server refused the requests.
    pub(crate) permission: Option<Permission>,
    /// Other clients that write the objects on which this client gets conflicts (409).
    pub(crate) rivals: Vec<Rival>,
    pub(crate) pattern: Option<Box<Pattern>>,
}

/// The program that the clients of a finding share.
#[derive(Debug, Clone)]
pub struct OnProgram {
    pub(crate) name: ProgramName,
    /// The program in one word, for tables.
    pub(crate) short: String,
    /// The program for use in a sentence: `backup in 40 namespaces`.
    pub(crate) sentence: String,
    pub(crate) clients: u64,
    pub(crate) pods: DistinctSet,
    pub(crate) nodes: DistinctSet,
}

impl OnProgram {
    /// Returns `None` if the group is not for a program.
    pub(super) fn from_group(group: &RowGroup<'_>) -> Option<Self> {
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

/// The verdict on a request shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Path")]
pub(crate) struct FindingVerdict {
    /// As in `shapes[]`.
    pub(crate) served_from: &'static str,
    /// As in `shapes[]`.
    pub(crate) likely: Option<&'static str>,
    /// As in `shapes[]`.
    pub(crate) limit: &'static str,
    /// As in `shapes[]`.
    pub(crate) reason: &'static str,
    /// As in `shapes[]`.
    pub(crate) explanation: &'static str,
    /// As in `shapes[]`.
    pub(crate) certainty: &'static str,
    /// The Kubernetes version for which the verdict was computed.
    pub(crate) kube_version: String,
    /// Slow requests whose measurement by the server agrees with the verdict.
    pub(crate) agree: u64,
    /// Slow requests whose measurement by the server contradicts the verdict.
    pub(crate) contradict: u64,
}
