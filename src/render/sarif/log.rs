//! The parts of SARIF 2.1.0 that kubetoll writes, under SARIF's names. Objects whose keys are in alphabetical order need
//! no type here, because `json!` writes them in that order.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

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
    pub(crate) invocations: [Value; 1],
    pub(crate) results: Vec<ResultObject>,
    pub(crate) properties: Value,
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
    pub(crate) properties: Value,
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
    pub(crate) physical_location: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logical_locations: Vec<LogicalLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(crate) name: String,
    pub(crate) fully_qualified_name: String,
    pub(crate) kind: &'static str,
}
