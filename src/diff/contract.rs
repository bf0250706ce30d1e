//! The JSON report of `kubetoll diff`, `schemaVersion` 1. It is a public contract, like the report of a scan.

use schemars::JsonSchema;
use serde::Serialize;

/// What changed between two sides, each of one or more runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// The version of this contract: 1.
    pub(crate) schema_version: u32,
    /// The version of kubetoll that wrote the report.
    pub(crate) kubetoll_version: String,
    /// The unit of all rates after the start: `minute`, `node`, `run` or `request-of=SELECTOR`.
    pub(crate) per: String,
    pub(crate) base: DiffSide,
    pub(crate) new: DiffSide,
    /// Sums over all clients.
    pub(crate) totals: Vec<DiffTotal>,
    /// The requests that changed. Clients with the costliest changes are first.
    pub(crate) changes: Vec<RequestDifference>,
    /// Requests that differ by at least a fifth, but by no more than chance, so that it is not decided whether they
    /// changed.
    pub(crate) not_decided: Vec<RequestDifference>,
    /// The number of request shapes of a client that did not change.
    pub(crate) unchanged: u64,
    /// Findings that only the new side has, on requests that changed.
    pub(crate) new_findings: Vec<DiffFinding>,
    /// Findings that only the base side has, on requests that changed.
    pub(crate) gone_findings: Vec<DiffFinding>,
    /// Findings that only one side has, on requests that did not change by more than chance. For example, one run is
    /// longer, so that a count reaches a threshold.
    pub(crate) undecided_findings: Vec<DiffFinding>,
    /// The conditions of `--fail-on` that the new side meets, as sentences.
    pub(crate) failures: Vec<String>,
    /// What limits the comparison.
    pub(crate) notes: Vec<String>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffSide {
    pub(crate) runs: Vec<DiffRun>,
    /// The Kubernetes versions of the runs.
    pub(crate) kube_versions: Vec<String>,
}

/// One run: a log, a directory of logs, or a saved JSON report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffRun {
    pub(crate) path: String,
    pub(crate) requests: u64,
    pub(crate) clients: u64,
    /// The time from the first to the last event; null if the log has no timestamps.
    pub(crate) minutes: Option<f64>,
}

/// A sum over all clients, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffTotal {
    /// `requests`, `etcd-reads`, `writes` or `watches`.
    pub(crate) metric: &'static str,
    /// `start`: for each start of each client. `steady`: for each unit after the start.
    pub(crate) phase: &'static str,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// Whether the difference is more than chance.
    pub(crate) is_decided: bool,
}

/// How the requests of one client in one shape differ.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestDifference {
    /// The client's name, with `*` for random suffixes and with the replacements of `--map`.
    pub(crate) client: String,
    /// The request shape, such as `list pods cluster-wide ?limit=500`.
    pub(crate) shape: String,
    /// For entries of `notDecided`, what would be the change.
    pub(crate) change: Difference,
    /// The source of most requests before, such as `watch-cache`; null if there are none.
    pub(crate) source_before: Option<String>,
    /// The source of most requests after.
    pub(crate) source_after: Option<String>,
    #[serde(flatten)]
    pub(crate) phases: Phases,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Difference {
    /// The base side has no such request.
    New,
    More,
    /// The server serves the requests from elsewhere.
    ServedFromElsewhere,
    Less,
    /// The new side has no such request.
    Gone,
}

/// The phases of a program: its start, and the steady state after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Phases {
    /// For each start: the first LISTs of informers, and requests that the client sends only within a minute of its
    /// first request.
    pub(crate) start: PhaseDifference,
    /// For each unit: all other requests. A WATCH counts only if it ended within 65 s.
    pub(crate) steady: PhaseDifference,
    /// For each start: watches that are open at the same time.
    pub(crate) watches: PhaseDifference,
}

/// The rate of a phase before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PhaseDifference {
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// Whether the difference is more than chance.
    pub(crate) is_decided: bool,
}

/// A finding that only one side has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffFinding {
    /// The side that has it: `base` or `new`.
    pub(crate) side: &'static str,
    /// The rule's id, such as KT101.
    pub(crate) rule: String,
    pub(crate) rule_name: String,
    /// `info`, `warning` or `error`.
    pub(crate) severity: String,
    /// The client, as in `changes[]`.
    pub(crate) client: String,
    pub(crate) shape: Option<String>,
    pub(crate) message: String,
}

impl Difference {
    /// The change in texts.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::More => "more",
            Self::ServedFromElsewhere => "served from elsewhere",
            Self::Less => "less",
            Self::Gone => "gone",
        }
    }
}

impl PhaseDifference {
    /// The change, relative to the larger rate: 0.2 means that one rate is a fifth below the other.
    pub(super) fn size(&self) -> f64 {
        let most = self.before.max(self.after);
        if most > 0.0 { (self.after - self.before).abs() / most } else { 0.0 }
    }
}
