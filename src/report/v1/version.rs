//! The server's version in the JSON report: what fits the log, and why.

use schemars::JsonSchema;
use serde::Serialize;

/// A range of Kubernetes versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionRange {
    /// The oldest version.
    pub min: String,
    /// The newest version. Without a patch level, the newest patch release of this minor version.
    pub max: String,
}

/// A fact in the log that excludes Kubernetes versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionEvidence {
    pub fact: String,
    /// The files that show the fact; empty for a sum over all files.
    pub source: String,
    /// The excluded versions, such as `1.19 to 1.29 and 1.34 to 1.37`.
    pub excludes: String,
}

/// The totals, assuming that the server has a version in this range. The log does not exclude these versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionTotals {
    /// The oldest version of the range.
    pub min: String,
    /// The newest version of the range.
    pub max: String,
    /// LISTs read from etcd.
    pub etcd_lists: u64,
    /// GETs read from etcd.
    pub etcd_gets: u64,
    /// LISTs whose limit the server ignored.
    pub limit_ignored: u64,
}
