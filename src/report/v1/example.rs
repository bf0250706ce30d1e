//! Example requests in the JSON report.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Shared, Timestamp};

/// One request of the log, as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// The request URI as the client sent it. The content of a continue token is removed.
    pub(crate) request_uri: Box<str>,
    pub(crate) file: Shared<str>,
    /// The line in the file, from 1.
    pub(crate) line: u64,
    #[serde(rename = "auditID")]
    pub audit_id: Box<str>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) duration_micros: Option<u64>,
    pub(crate) status: Option<u16>,
}
