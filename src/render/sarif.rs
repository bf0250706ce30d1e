//! The findings as SARIF 2.1.0, which code scanning reads.

mod log;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use self::log::{
    ArtifactLocation, Driver, Invocation, Location, Log, LogicalLocation, Message, Notification,
    PhysicalLocation, Region, ResultObject, Rule, Run, Suppression, Tool,
};
use super::escape::pretty_json;
use super::plain::escaped;
use super::{facts, markdown, prose};
use crate::report::v1::{Evidence, Finding, Report, RuleInfo, Suppressed};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Renders the report.
///
/// # Panics
/// Never: what is written has names for keys.
#[must_use]
pub fn render(report: &Report) -> String {
    let suppressed = &report.policy.suppressed;
    let results = report.findings.iter().map(|finding| result(report, finding));
    let results = results.chain(suppressed.iter().map(|one| held_back(report, one))).collect();
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "kubetoll",
                semantic_version: report.kubetoll_version.clone(),
                rules: report.rules.iter().map(rule).collect(),
            },
        },
        invocations: [Invocation {
            execution_successful: report.rule_failures.is_empty(),
            tool_execution_notifications: notifications(report),
        }],
        results,
        properties: Map::from_iter([("verdict".to_owned(), facts::verdict(report).into())]),
    };
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run] };
    pretty_json(&log) + "\n"
}

fn rule(rule: &RuleInfo) -> Rule {
    Rule {
        id: rule.id.clone(),
        name: rule.name.clone(),
        short_description: message(&escaped(&rule.summary)),
        full_description: message(&prose::plain(&rule.why)),
        help: Message { markdown: Some(markdown::help(rule)), ..message(&help(rule)) },
    }
}

fn help(rule: &RuleInfo) -> String {
    let mut help = prose::plain(&rule.why);
    if let Some(quiet) = &rule.quiet_for {
        help.push_str("\n\nLooks like it and is by design:\n");
        help.push_str(&prose::plain(quiet));
    }
    if !rule.references.is_empty() {
        help.push_str("\n\nSee ");
        help.push_str(&escaped(&rule.references.join(", ")));
    }
    help
}

/// A message of text, in which a bracketed text before a parenthesis would be a link.
fn message(text: &str) -> Message {
    let text = if text.contains("](") {
        text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
    } else {
        text.to_owned()
    };
    Message { text, markdown: None }
}

fn notifications(report: &Report) -> Vec<Notification> {
    let told = |level| move |text: String| Notification { level, message: message(&escaped(&text)) };
    let amiss = facts::amiss(report).into_iter().map(told("warning"));
    amiss.chain(facts::read(report).into_iter().map(told("note"))).collect()
}

fn result(report: &Report, finding: &Finding) -> ResultObject {
    let physical = finding.evidence.as_ref().map(place).or_else(|| first_line(report));
    let logical = logical(finding.client.as_deref(), finding.shape.as_deref());
    let more = finding.more_evidence.iter().map(place);
    ResultObject {
        rule_id: finding.rule.id.to_string(),
        rule_index: rule_index(report, &finding.rule.id),
        level: level(finding.severity),
        message: message(&text(finding)),
        locations: [Location { physical_location: physical, logical_locations: vec![logical] }],
        related_locations: more
            .map(|place| Location { physical_location: Some(place), logical_locations: Vec::new() })
            .collect(),
        partial_fingerprints: BTreeMap::from([("kubetoll/v1", finding.fingerprint.clone())]),
        suppressions: (!report.policy.suppressed.is_empty()).then(Vec::new),
        properties: properties(finding),
    }
}

fn held_back(report: &Report, one: &Suppressed) -> ResultObject {
    let logical = logical(one.client.as_deref(), one.shape.as_deref());
    let justification = escaped(&format!("{} (until {})", one.reason, one.expires)).into_owned();
    ResultObject {
        rule_id: one.rule.id.to_string(),
        rule_index: rule_index(report, &one.rule.id),
        level: level(&one.severity),
        message: message(&escaped(&one.message)),
        locations: [Location { physical_location: first_line(report), logical_locations: vec![logical] }],
        related_locations: Vec::new(),
        partial_fingerprints: BTreeMap::from([("kubetoll/v1", one.fingerprint.clone())]),
        suppressions: Some(vec![Suppression { kind: "external", justification }]),
        properties: Map::new(),
    }
}

fn rule_index(report: &Report, id: &str) -> Option<usize> {
    report.rules.iter().position(|rule| rule.id == id)
}

fn level(severity: &str) -> &'static str {
    match severity {
        "error" => "error",
        "warning" => "warning",
        _ => "note",
    }
}

/// The message, and what to change.
fn text(finding: &Finding) -> String {
    let mut text = format!("{}\n\nWhat to change: {}", escaped(&finding.message), prose::plain(&finding.fix));
    if let Some(tradeoff) = &finding.tradeoff {
        text.push_str("\n\nWhat that makes worse: ");
        text.push_str(&prose::plain(tradeoff));
    }
    text
}

/// The numbers, and the facts that SARIF has no place for.
fn properties(finding: &Finding) -> Map<String, Value> {
    let facts: Map<String, Value> = facts::of(finding)
        .into_iter()
        .map(|(title, line)| (title.to_lowercase().replace(' ', "-"), line.plain().into()))
        .collect();
    let verify: Vec<Value> = finding.verify.lines().map(|line| escaped(line).into_owned().into()).collect();
    let mut properties = Map::new();
    properties.insert("facts".to_owned(), facts.into());
    let stats = finding.stats.iter().map(|(name, value)| (name.to_owned(), value.clone()));
    properties.insert("stats".to_owned(), stats.collect());
    properties.insert("verify".to_owned(), verify.into());
    if let Some(look_for) = &finding.look_for {
        properties.insert("afterwards".to_owned(), prose::plain(look_for).into());
    }
    properties
}

/// A client and a shape, or the input.
fn logical(client: Option<&str>, shape: Option<&str>) -> LogicalLocation {
    let (client, kind) = client.map_or(("input", "module"), |client| (client, "resource"));
    let whole = shape.map_or(client.to_owned(), |shape| format!("{client}/{shape}"));
    LogicalLocation {
        name: escaped(shape.unwrap_or(client)).into_owned(),
        fully_qualified_name: escaped(&whole).into_owned(),
        kind,
    }
}

fn place(evidence: &Evidence) -> PhysicalLocation {
    physical(&evidence.file, evidence.line)
}

/// Where no line of the log shows it: code scanning refuses a result without a file.
fn first_line(report: &Report) -> Option<PhysicalLocation> {
    report.input.sources.first().map(|source| physical(&source.file, 1))
}

fn physical(file: &str, line: u64) -> PhysicalLocation {
    PhysicalLocation {
        artifact_location: ArtifactLocation { uri: uri(file) },
        region: Region { start_line: line.max(1) },
    }
}

/// A path as a reference to a URI. Behind `file://` an absolute one has no host.
fn uri(path: &str) -> String {
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a String can't fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("logs/audit 1.log"), "logs/audit%201.log");
        assert_eq!(uri("/var/log/größe:x"), "file:///var/log/gr%C3%B6%C3%9Fe%3Ax");
    }

    #[test]
    fn a_message_holds_no_link() {
        assert_eq!(message("a [b](c) \\").text, "a \\[b\\](c) \\\\");
        assert_eq!(message("a [b] c").text, "a [b] c");
    }
}
