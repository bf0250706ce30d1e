//! The cases as SARIF 2.1.0 for code scanning. Each case becomes one result, and each result one alert.
//!
//! GitHub identifies an alert by its rule and `primaryLocationLineHash`. Suppressed findings are omitted: GitHub
//! ignores `suppressions` and would open alerts for them.

mod log;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::log::{Driver, Location, Log, LogicalLocation, Message, ResultObject, Rule, Run, Tool};
use super::case::{self, FindingIndex};
use super::escape::{percent_encoded, pretty_json};
use super::plain::{counted, escaped};
use super::{facts, links, markdown, prose};
use crate::report::Report;
use crate::report::v1::{Case, Evidence, RuleInfo};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The maximum number of results. GitHub shows 5,000 results of a run and refuses a file with more than 25,000.
const MAX_RESULTS: usize = 5_000;
/// The maximum number of log positions in a result.
const MAX_PLACES: usize = 10;

/// Renders the report.
pub(crate) fn render(report: &Report) -> String {
    let findings = FindingIndex::new(report);
    let cases = &report.cases[..report.cases.len().min(MAX_RESULTS)];
    let fired: BTreeSet<&str> = cases.iter().flat_map(|case| case.rules.iter().map(String::as_str)).collect();
    let fired: Vec<&RuleInfo> = report.rules.iter().filter(|rule| fired.contains(&*rule.id)).collect();
    let results = cases.iter().map(|case| result(report, case, &findings, &fired)).collect();
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "kubetoll",
                semantic_version: report.kubetoll_version.clone(),
                information_uri: links::about(),
                rules: fired.iter().map(|rule| self::rule(rule)).collect(),
            },
        },
        invocations: [json!({
            "executionSuccessful": report.rule_failures.is_empty(),
            "toolExecutionNotifications": notifications(report),
        })],
        results,
        properties: json!({ "verdict": facts::verdict(report) }),
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
        help_uri: links::rule(rule).unwrap_or_else(links::about),
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

/// Creates a text message. Escapes brackets before a parenthesis, because they would form a link.
fn message(text: &str) -> Message {
    let text = if text.contains("](") {
        text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
    } else {
        text.to_owned()
    };
    Message { text, markdown: None }
}

fn notifications(report: &Report) -> Vec<Value> {
    let notes = |level: &'static str| move |text: String| json!({ "level": level, "message": message(&escaped(&text)) });
    let problems = facts::problems(report).into_iter().map(notes("warning"));
    let suppressed = report.policy.suppressed.iter().map(|one| {
        format!("held back until {}: {} {} ({})", one.expires, one.rule.id, one.message, one.reason)
    });
    let read = facts::read(report).into_iter();
    let more = report.cases.len().saturating_sub(MAX_RESULTS);
    let more =
        (more > 0).then(|| format!("{} are left out: --format json", counted(more as u64, "more case")));
    problems.chain(more.map(notes("warning"))).chain(suppressed.chain(read).map(notes("note"))).collect()
}

fn result(report: &Report, case: &Case, findings: &FindingIndex<'_>, fired: &[&RuleInfo]) -> ResultObject {
    let worst_findings = findings.worst_findings(case);
    let mut seen = BTreeSet::new();
    let evidence =
        worst_findings.iter().flat_map(|finding| finding.evidence.iter().chain(&finding.more_evidence));
    let mut logged = evidence.filter(|one| seen.insert((&*one.file, one.line))).take(MAX_PLACES);
    let physical = match &case.source {
        Some(source) => Some(physical(&source.path, source.line)),
        None => logged.next().map(place).or_else(|| first_line(report)),
    };
    let related = (1..).zip(logged).map(|(id, one)| Location {
        id: Some(id),
        message: Some(message(&escaped(&format!("audit ID {}: {}", one.audit_id, one.uri)))),
        physical_location: Some(place(one)),
        logical_locations: Vec::new(),
    });
    ResultObject {
        rule_id: case::rule(case).to_owned(),
        rule_index: fired.iter().position(|rule| rule.id == case::rule(case)),
        level: if case.severity == "info" { "note" } else { case.severity },
        message: message(&text(case, findings)),
        related_locations: related.collect(),
        locations: [Location {
            id: None,
            message: None,
            physical_location: physical,
            logical_locations: vec![logical(case)],
        }],
        partial_fingerprints: BTreeMap::from([
            ("kubetoll/v2", case.fingerprint.clone()),
            // The format of CodeQL: the hash, and a number that distinguishes equal hashes.
            ("primaryLocationLineHash", format!("{}:1", case.fingerprint)),
        ]),
        properties: properties(report, case),
    }
}

fn text(case: &Case, findings: &FindingIndex<'_>) -> String {
    let mut parts = vec![escaped(&case::sentence(case)).into_owned()];
    if let Some(lead) = findings.worst_findings(case).first() {
        parts.push(format!("Fix: {}", prose::plain(&lead.fix)));
        if let Some(tradeoff) = &lead.tradeoff {
            parts.push(format!("Tradeoff: {}", prose::plain(tradeoff)));
        }
    }
    parts.push(case::summary(case));
    parts.join("\n\n")
}

fn properties(report: &Report, case: &Case) -> Value {
    json!({
        "rank": case.rank,
        "severity": case.severity,
        "client": case::client(case),
        "members": case.members.count,
        "what": case::does(report, case),
        "fix": case::fix(case),
        "rules": case.rules,
        "requests": case.requests,
        "peakPerMinute": case.peak_per_minute,
        "load": case.load,
        "findings": case.findings,
    })
}

fn logical(case: &Case) -> LogicalLocation {
    let (client, kind) = case.client.as_deref().map_or(("input", "module"), |client| (client, "resource"));
    let full_name =
        case.resource.as_deref().map_or(client.to_owned(), |resource| format!("{client}/{resource}"));
    LogicalLocation {
        name: escaped(client).into_owned(),
        fully_qualified_name: escaped(&full_name).into_owned(),
        kind,
    }
}

fn place(evidence: &Evidence) -> Value {
    physical(&evidence.file, evidence.line)
}

/// Returns the first line of the first file, for a case without a log line. Code scanning refuses a result without a
/// file.
fn first_line(report: &Report) -> Option<Value> {
    report.input.sources.first().map(|source| physical(&source.file, 1))
}

fn physical(file: &str, line: u64) -> Value {
    json!({ "artifactLocation": { "uri": uri(file) }, "region": { "startLine": line.max(1) } })
}

/// Converts a path to a URI reference. An absolute path becomes `file://` without a host.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", percent_encoded(path, b"-._~/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("logs/audit 1.log"), "logs/audit%201.log");
        assert_eq!(uri("/var/log/größe:x"), "file:///var/log/gr%C3%B6%C3%9Fe%3Ax");
    }

    #[test]
    fn message_holds_no_link() {
        assert_eq!(message("a [b](c) \\").text, "a \\[b\\](c) \\\\");
        assert_eq!(message("a [b] c").text, "a [b] c");
    }
}
