//! The parts of SARIF 2.1.0 that kubetoll writes, under SARIF's names.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    pub(crate) schema: &'static str,
    pub(crate) version: &'static str,
    pub(crate) runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(crate) tool: Tool,
    pub(crate) invocations: [Invocation; 1],
    pub(crate) results: Vec<ResultObject>,
    pub(crate) properties: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(crate) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(crate) name: &'static str,
    pub(crate) semantic_version: String,
    pub(crate) information_uri: String,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub id: String,
    pub name: String,
    pub(crate) short_description: Message,
    pub(crate) full_description: Message,
    pub(crate) help: Message,
    pub(crate) help_uri: String,
}

#[derive(Serialize)]
pub(super) struct Message {
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) markdown: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(crate) execution_successful: bool,
    pub(crate) tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
pub(super) struct Notification {
    pub(crate) level: &'static str,
    pub(crate) message: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultObject {
    pub(crate) rule_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule_index: Option<usize>,
    pub(crate) level: &'static str,
    pub(crate) message: Message,
    pub(crate) locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) partial_fingerprints: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) properties: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "SARIF's names")]
pub(super) struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logical_locations: Vec<LogicalLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(crate) artifact_location: ArtifactLocation,
    pub(crate) region: Region,
}

#[derive(Serialize)]
pub(super) struct ArtifactLocation {
    pub(crate) uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(crate) start_line: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(crate) name: String,
    pub(crate) fully_qualified_name: String,
    pub(crate) kind: &'static str,
}
