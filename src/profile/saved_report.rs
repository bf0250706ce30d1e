//! The fields of a saved JSON report (`report::v1`) that a profile needs.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::apiserver::ServedFrom;

/// Sums of larger counts may overflow.
const LARGEST: u64 = 1 << 50;

/// A text is not a JSON report of `kubetoll scan`.
#[derive(Debug, Error)]
pub(crate) enum NotAReport {
    #[error("not a JSON report of `kubetoll scan`: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the report has schemaVersion {0}; this kubetoll reads schemaVersion 1. Scan the log again")]
    SchemaVersion(u32),
    #[error("the report has the unknown value {0:?} of servedFrom; scan the log again")]
    ServedFrom(String),
    #[error("the report has counts above 2^50")]
    TooLarge,
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
pub(super) struct SavedReport {
    pub(super) input: SavedInput,
    pub(super) server: SavedServer,
    pub(super) clients: Vec<SavedClient>,
    pub(super) findings: Vec<SavedFinding>,
    pub(super) followed: SavedFollowed,
}

impl SavedReport {
    pub(super) fn parse(json: &[u8]) -> Result<Self, NotAReport> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            schema_version: u32,
        }
        let json = json.strip_prefix("\u{feff}".as_bytes()).unwrap_or(json);
        let report: Self = match serde_json::from_slice::<Version>(json)?.schema_version {
            1 => serde_json::from_slice(json)?,
            other => return Err(NotAReport::SchemaVersion(other)),
        };
        for shape in report.clients.iter().flat_map(|client| &client.shapes) {
            for source in shape.likely.iter().chain([&shape.served_from]) {
                if !ServedFrom::ALL.iter().any(|known| known.as_str() == source) {
                    return Err(NotAReport::ServedFrom(source.clone()));
                }
            }
            if shape.largest() > LARGEST {
                return Err(NotAReport::TooLarge);
            }
        }
        Ok(report)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedInput {
    pub(super) filtered: u64,
    /// `None` in reports of kubetoll before 0.2.
    pub(super) filters: Option<Vec<String>>,
    pub(super) received_only: bool,
    pub(super) events_by_stage: BTreeMap<String, u64>,
    pub(super) access_lines: u64,
    pub(super) first_timestamp: Option<String>,
    pub(super) last_timestamp: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedServer {
    pub(super) kube_version: String,
    pub(super) version_source: String,
    pub(super) etcd_version: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SavedFollowed {
    pub(super) lists: SavedFollowedVerb,
    pub(super) watches: SavedFollowedVerb,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedFollowedVerb {
    pub(super) requests: u64,
    pub(super) left_out: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedClient {
    pub(super) identity: String,
    pub(super) impersonated_by: Option<String>,
    pub(super) nodes: Count,
    pub(super) last_timestamp: Option<String>,
    pub(super) shapes: Vec<SavedShape>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Count {
    pub(super) count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedShape {
    pub(super) verb: String,
    pub(super) resource: Option<String>,
    pub(super) subresource: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) parameters: String,
    pub(super) served_from: String,
    pub(super) likely: Option<String>,
    pub(super) requests: u64,
    pub(super) etcd_writes: u64,
    pub(super) rate: Option<SavedRate>,
    pub(super) first_timestamp: Option<String>,
    pub(super) last_timestamp: Option<String>,
    pub(super) pattern: Option<SavedPattern>,
}

impl SavedShape {
    /// The largest count, without squares.
    fn largest(&self) -> u64 {
        let pattern = self.pattern.as_ref();
        let informers = pattern.and_then(|pattern| pattern.informers.as_ref());
        let watches = pattern.and_then(|pattern| pattern.watches.as_ref());
        [
            self.requests,
            self.etcd_writes,
            pattern.map_or(0, |pattern| pattern.instances),
            informers.map_or(0, |informers| informers.starts.max(informers.further_pages)),
            watches.map_or(0, |watches| watches.short.max(watches.concurrent.unwrap_or(0))),
        ]
        .into_iter()
        .max()
        .unwrap_or(0)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedRate {
    pub(super) window_minutes: u64,
    /// 0 in reports of kubetoll before 0.2, which did not have it.
    #[serde(default)]
    pub(super) sum_of_squares: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct SavedPattern {
    pub(super) instances: u64,
    pub(super) informers: Option<SavedInformers>,
    pub(super) watches: Option<SavedWatches>,
}

impl SavedPattern {
    /// First LISTs of informers.
    pub(super) fn starts(&self) -> u64 {
        self.informers.as_ref().map_or(0, |informers| informers.starts)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedInformers {
    pub(super) starts: u64,
    pub(super) further_pages: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct SavedWatches {
    pub(super) short: u64,
    /// `None` in reports of kubetoll before 0.2.
    pub(super) concurrent: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SavedFinding {
    pub(super) rule: SavedRule,
    pub(super) severity: String,
    pub(super) client: Option<String>,
    pub(super) shape: Option<String>,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SavedRule {
    pub(super) id: String,
    pub(super) name: String,
}
