//! The server's version in the JSON report: what fits the log, and why.

use schemars::JsonSchema;
use serde::Serialize;

/// A range of Kubernetes versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct VersionRange {
    /// The oldest version.
    pub(crate) min: String,
    /// The newest version. Without a patch level, the newest patch release of this minor version.
    pub(crate) max: String,
}

/// A fact in the log that excludes Kubernetes versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct VersionEvidence {
    pub(crate) fact: String,
    /// The files that show the fact; empty for a sum over all files.
    pub(crate) source: String,
    /// The excluded versions, such as `1.19 to 1.29 and 1.34 to 1.37`.
    pub(crate) excludes: String,
}

/// The totals, assuming that the server has a version in this range. The log does not exclude these versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionTotals {
    /// The oldest version of the range.
    pub(crate) min: String,
    /// The newest version of the range.
    pub(crate) max: String,
    /// LISTs read from etcd.
    pub(crate) etcd_lists: u64,
    /// GETs read from etcd.
    pub(crate) etcd_gets: u64,
    /// LISTs whose limit the server ignored.
    pub(crate) limit_ignored: u64,
}
