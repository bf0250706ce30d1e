//! Requests that are shown.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Instant, Shared};

/// One request, as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// As the client sent it, but for what a continue token holds.
    pub request_uri: Box<str>,
    pub file: Shared<str>,
    /// From 1.
    pub line: u64,
    #[serde(rename = "auditID")]
    pub audit_id: Box<str>,
    pub timestamp: Option<Instant>,
    pub duration_micros: Option<u64>,
    pub status: Option<u16>,
}
