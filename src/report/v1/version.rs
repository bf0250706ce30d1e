//! The server's version: what fits the log, and why.

use schemars::JsonSchema;
use serde::Serialize;

/// A range of versions of Kubernetes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionRange {
    /// The oldest.
    pub min: String,
    /// The newest. Without a patch level it is the newest of its minor.
    pub max: String,
}

/// A fact in the log that excludes versions of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionEvidence {
    /// The fact.
    pub fact: String,
    /// The files that show it; empty for a sum over all.
    pub source: String,
    /// The versions that it excludes, such as `1.19 to 1.29 and 1.34 to 1.37`.
    pub excludes: String,
}

/// The totals as they are for a range of versions that the log leaves possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionTotals {
    /// The oldest version of the range.
    pub min: String,
    /// The newest.
    pub max: String,
    /// LISTs read from etcd.
    pub etcd_lists: u64,
    /// GETs read from etcd.
    pub etcd_gets: u64,
    /// LISTs whose limit the server ignored.
    pub limit_ignored: u64,
}
