//! The fields of the JSON report (`report::v1`) that a profile needs.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

/// A text is not a JSON report of `kubetoll scan`.
#[derive(Debug, Error)]
pub(crate) enum NotAReport {
    #[error("not a JSON report of `kubetoll scan`: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the report has schemaVersion {0}; this kubetoll reads schemaVersion 1")]
    SchemaVersion(u32),
}

/// Whether a file begins like a JSON report, and not like a log. An audit event never has `schemaVersion`.
#[must_use]
pub(crate) fn is_report(first_bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(first_bytes);
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let Some(object) = start.strip_prefix('{') else { return false };
    object.trim_start().starts_with("\"schemaVersion\"")
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportFile {
    pub(super) input: InputFields,
    pub(super) server: ServerFields,
    pub(super) clients: Vec<ClientFields>,
    pub(super) findings: Vec<FindingFields>,
    pub(super) followed: FollowedFields,
}

impl ReportFile {
    pub(super) fn parse(json: &[u8]) -> Result<Self, NotAReport> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            schema_version: u32,
        }
        match serde_json::from_slice::<Version>(json)?.schema_version {
            1 => Ok(serde_json::from_slice(json)?),
            other => Err(NotAReport::SchemaVersion(other)),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputFields {
    pub(super) filtered: u64,
    pub(super) received_only: bool,
    pub(super) events_by_stage: BTreeMap<String, u64>,
    pub(super) access_lines: u64,
    pub(super) first_timestamp: Option<String>,
    pub(super) last_timestamp: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerFields {
    pub(super) kube_version: String,
    pub(super) etcd_version: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FollowedFields {
    pub(super) lists: FollowedKind,
    pub(super) watches: FollowedKind,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FollowedKind {
    pub(super) requests: u64,
    pub(super) left_out: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientFields {
    pub(super) identity: String,
    pub(super) impersonated_by: Option<String>,
    pub(super) nodes: Count,
    pub(super) first_timestamp: Option<String>,
    pub(super) shapes: Vec<ShapeFields>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Count {
    pub(super) count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShapeFields {
    pub(super) verb: String,
    pub(super) resource: Option<String>,
    pub(super) subresource: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) parameters: String,
    pub(super) served_from: String,
    pub(super) likely: Option<String>,
    pub(super) requests: u64,
    pub(super) etcd_writes: u64,
    pub(super) rate: Option<RateFields>,
    pub(super) first_timestamp: Option<String>,
    pub(super) last_timestamp: Option<String>,
    pub(super) pattern: Option<PatternFields>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RateFields {
    pub(super) window_minutes: u64,
    /// 0 in reports of kubetoll before 0.2, which did not have it.
    #[serde(default)]
    pub(super) sum_of_squares: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct PatternFields {
    pub(super) instances: u64,
    pub(super) informers: Option<InformerFields>,
    pub(super) watches: Option<WatchFields>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InformerFields {
    pub(super) starts: u64,
    pub(super) further_pages: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct WatchFields {
    pub(super) short: u64,
    #[serde(default)]
    pub(super) concurrent: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct FindingFields {
    pub(super) rule: RuleFields,
    pub(super) severity: String,
    pub(super) client: Option<String>,
    pub(super) shape: Option<String>,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RuleFields {
    pub(super) id: String,
    pub(super) name: String,
}
