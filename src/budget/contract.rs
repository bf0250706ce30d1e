//! The JSON report of `kubetoll budget slope`, `schemaVersion` 1. It is a public contract, like the report of a scan.

use schemars::JsonSchema;
use serde::Serialize;

/// How requests grow with the number of objects, between two sets of runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlopeReport {
    /// The version of this contract: 1.
    pub(crate) schema_version: u32,
    /// The version of kubetoll that wrote the report.
    pub(crate) kubetoll_version: String,
    /// The number of objects in the runs with fewer objects.
    pub(crate) from: u64,
    /// The number of objects in the runs with more objects.
    pub(crate) to: u64,
    /// The runs, each with its number of objects.
    pub(crate) runs: Vec<SlopeRun>,
    /// Request shapes that grow, the largest slope first.
    pub(crate) growing: Vec<SlopeRow>,
    /// Request shapes that become fewer with more objects.
    pub(crate) shrinking: Vec<SlopeRow>,
    /// The number of request shapes that do not change by more than chance.
    pub(crate) unchanged: u64,
    /// What the entries with `perObject` of the budget file allow; empty without a budget.
    pub(crate) judgments: Vec<SlopeJudgment>,
    /// The entries that the runs break, as sentences.
    pub(crate) failures: Vec<String>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SlopeRun {
    pub(crate) path: String,
    pub(crate) objects: u64,
    pub(crate) minutes: f64,
}

/// The slopes of one request shape of one client.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlopeRow {
    /// The client's name, with `*` for random suffixes.
    pub(crate) client: String,
    /// The request shape, such as `list pods cluster-wide`.
    pub(crate) shape: String,
    /// Requests for each start.
    pub(crate) per_start: SlopePhase,
    /// Requests per minute, in steady state.
    pub(crate) per_minute: SlopePhase,
    /// Open watches.
    pub(crate) watches: SlopePhase,
}

/// One number in both sets of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlopePhase {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The difference for each additional object.
    pub(crate) slope: f64,
    /// Whether the difference is more than chance.
    pub(crate) is_decided: bool,
}

/// An entry with `perObject`, and its slope in the runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlopeJudgment {
    /// The line of `perObject` in the budget file.
    pub(crate) line: u64,
    pub(crate) client: String,
    pub(crate) shape: String,
    pub(crate) max_slope: f64,
    /// The largest slope that is more than chance; 0 without one. Null if the runs have no such request.
    pub(crate) slope: Option<f64>,
    pub(crate) is_within: bool,
}

impl SlopeRow {
    pub(crate) fn phases(&self) -> [(&'static str, &SlopePhase); 3] {
        [("per minute", &self.per_minute), ("for each start", &self.per_start), ("watches", &self.watches)]
    }

    /// The largest slope that is more than chance; 0 without one.
    pub(crate) fn largest(&self) -> f64 {
        let decided = self.phases().into_iter().filter(|(_, phase)| phase.is_decided);
        decided.map(|(_, phase)| phase.slope).fold(0.0, f64::max)
    }
}
