//! The lines of a finding, and the report's summary. Each format shows them in its own way.

use serde_json::Value;

use super::plain::{count, counted, duration, escaped, per_cent, to_seconds};
use super::prose::Line;
use super::request::source;
use super::{cost, etcd_log, input, load, patterns};
use crate::report::Report;
use crate::report::v1::{Evidence, Finding, Named, Path, Server, ServerVersion, Who};

/// The maximum number of user agents that a finding names.
const NAMED_AGENTS: usize = 3;

/// Returns the lines of a finding with their titles: client, request, reason, amount.
pub(super) fn lines(finding: &Finding) -> Vec<(&'static str, Line)> {
    let mut facts = client_lines(finding);
    facts.extend(request_lines(finding));
    facts
}

pub(super) fn client_lines(finding: &Finding) -> Vec<(&'static str, Line)> {
    let Some(who) = &finding.who else { return Vec::new() };
    let mut facts = vec![("Who", identity(who, finding)), ("User agents", user_agents(who))];
    facts.extend(time_span(who).map(|line| ("Seen", line)));
    facts
}

pub(super) fn request_lines(finding: &Finding) -> Vec<(&'static str, Line)> {
    let mut facts = Vec::new();
    if let Some(shape) = &finding.shape {
        facts.push(("What", what(shape, finding.stats.get("shapes").and_then(Value::as_u64))));
    }
    if let Some(evidence) = &finding.evidence {
        facts.push(("Costliest", Line::default().code(&*evidence.uri)));
        facts.push(("Logged at", logged(evidence, &finding.more_evidence)));
    }
    if let Some(path) = &finding.path {
        facts.push(("Served from", served(path)));
        facts.push(("Decided by", decided(path)));
    }
    facts.extend(how_much(finding).map(|line| ("How much", line)));
    facts.extend(cost::finding_cost(finding).map(|line| ("Costs", line)));
    facts.extend(finding.etcd_slow.as_ref().map(|slow| ("etcd says", etcd_log::fact(slow))));
    let patterns = finding.pattern.as_deref().map(patterns::lines).unwrap_or_default();
    facts.extend(patterns.into_iter().map(|line| ("Over time", line)));
    facts
}

/// Returns the numbers of pods and nodes of a finding on several clients, such as `; 40 pods (…)`.
pub(super) fn instances(finding: &Finding) -> String {
    let Some(who) = finding.who.as_ref().filter(|who| who.program.is_some()) else { return String::new() };
    named(named(Line::default(), &who.pods, "pod"), &who.nodes, "node").plain()
}

fn identity(who: &Who, finding: &Finding) -> Line {
    let client = finding.client.as_deref();
    if who.program.is_some() {
        let line = named(Line::default().code(who.name.as_str()), &who.pods, "pod");
        let line = named(line, &who.nodes, "node");
        return line.text("; most requests by ").code(client.unwrap_or_default());
    }
    let line = Line::default();
    let line = match (&who.service_account, who.kind) {
        (Some(service_account), _) => line
            .text("ServiceAccount ")
            .code(format!("{}/{}", service_account.namespace, service_account.name)),
        (None, kind) => {
            line.text(format!("{} ", kind.replace('-', " "))).code(client.unwrap_or(who.name.as_str()))
        }
    };
    let line = match &who.impersonated_by {
        Some(real) => line.text(", impersonated by ").code(real),
        None => line,
    };
    let line = named(line, &who.pods, "pod");
    named(line, &who.nodes, "node")
}

/// Appends how many pods or nodes there are (`noun`), with a few names: `; 40 pods (web-1, web-2, …)`.
fn named(line: Line, named: &Named, noun: &str) -> Line {
    if named.count == 0 {
        return line;
    }
    let or_more = if named.more { " or more" } else { "" };
    let line = line.text(format!("; {}{or_more}", counted(named.count, noun)));
    if named.examples.is_empty() {
        return line;
    }
    let line = line.text(" (").codes(named.examples.iter().map(String::as_str));
    let all = named.examples.len() as u64 >= named.count && !named.more;
    line.text(if all { ")" } else { ", …)" })
}

fn user_agents(who: &Who) -> Line {
    if who.user_agents.values().all(String::is_empty) {
        return Line::default().text("none");
    }
    let examples = who.user_agents.values().take(NAMED_AGENTS).map(String::as_str);
    let line = Line::default().codes(examples);
    let line = match who.user_agents.len().checked_sub(NAMED_AGENTS).filter(|more| *more > 0) {
        Some(more) => line.text(format!(" and {more} more")),
        None => line,
    };
    match who.library {
        "unknown" => line.text("; unknown client library"),
        library => line.text(format!("; client library: {library}")),
    }
}

fn time_span(who: &Who) -> Option<Line> {
    let (first, last) = (who.first_timestamp.as_deref()?, who.last_timestamp.as_deref()?);
    Some(Line::default().text(format!("{} to {}", to_seconds(first), to_seconds(last))))
}

/// Formats `shape`, the request shape with the most requests. `shapes` is the number of all shapes. With several:
/// `mostly LIST pods, and 2 shapes like it`.
fn what(shape: &str, shapes: Option<u64>) -> Line {
    match shapes.unwrap_or(1).saturating_sub(1) {
        0 => Line::default().code(shape),
        others => Line::default()
            .text("mostly ")
            .code(shape)
            .text(format!(", and {} like it", counted(others, "shape"))),
    }
}

fn logged(evidence: &Evidence, more: &[Evidence]) -> Line {
    let line = Line::default()
        .code(format!("{}:{}", evidence.file, evidence.line))
        .text(", auditID ")
        .code(&*evidence.audit_id);
    let mut sentence = String::new();
    if let Some(at) = evidence.timestamp {
        sentence = format!(", {}", to_seconds(&at.to_string()));
    }
    if let Some(micros) = evidence.duration_micros {
        sentence = format!("{sentence}, took {}", duration(micros));
    }
    if let Some(status) = evidence.status {
        sentence = format!("{sentence}, status {status}");
    }
    let line = if sentence.is_empty() { line } else { line.text(sentence) };
    if more.is_empty() {
        return line;
    }
    let places: Vec<String> = more.iter().map(|one| format!("{}:{}", one.file, one.line)).collect();
    line.text("; more at ").codes(places.iter().map(String::as_str))
}

fn served(path: &Path) -> Line {
    let limit = if path.limit == "ignored" { ", limit ignored" } else { "" };
    let from = source(path.served_from, path.likely, None);
    Line::default().text(format!("{from}{limit}: {} (", path.explanation)).code(path.reason).text(")")
}

fn decided(path: &Path) -> Line {
    let certainty = match path.certainty {
        "certain" => "certain: all versions that fit the log agree",
        "by-version" => "by-version: the log also fits Kubernetes versions that give another verdict",
        _ => "by-config: with other feature gates or another etcd, the verdict differs",
    };
    let measured = match (path.agree, path.contradict) {
        (0, 0) => String::new(),
        (agree, contradict) => format!(
            "; the server's measurements of slow requests: {} agree, {} contradict",
            count(agree),
            count(contradict)
        ),
    };
    Line::default().text(format!("the rules of Kubernetes {}; {certainty}{measured}", path.kube_version))
}

fn how_much(finding: &Finding) -> Option<Line> {
    let number = |name: &str| finding.stats.get(name).and_then(figure);
    let requests = finding.stats.get("requests")?.as_u64()?;
    let mean = finding.stats.get("peakMeanMinutes").and_then(Value::as_u64).unwrap_or(1);
    let peak = number("peakPerMinute").map(|peak| format!("{peak} a minute at peak{}", on_average(mean)));
    let share =
        |name: &str| finding.stats.get(name).and_then(Value::as_f64).map(|share| per_cent(share / 100.0));
    let of_all = share("shareOfRequests").map(|share| format!("{share} of all requests"));
    let of_reads = share("shareOfEtcdReads").map(|share| format!("{share} of the reads from etcd"));
    let took = finding.stats.get("etcdMillis").and_then(Value::as_u64);
    let took =
        took.map(|millis| format!("{} in etcd (slow requests only)", duration(millis.saturating_mul(1_000))));
    let load = finding.load.filter(|load| load.amount > 0).map(|load| match load.unit {
        "objects" => format!("{} of the load by objects", load::share(&load)),
        _ => format!("{} of the request time", load::share(&load)),
    });
    let sentence: Vec<String> = [Some(counted(requests, "request")), peak, of_all, of_reads, load, took]
        .into_iter()
        .flatten()
        .collect();
    Some(Line::default().text(sentence.join(", ")))
}

/// Returns a note for a peak that is an average over several minutes: ` (on average of 5 minutes)`. Empty for the
/// peak of a single minute.
pub(super) fn on_average(minutes: u64) -> String {
    if minutes > 1 { format!(" (on average of {minutes} minutes)") } else { String::new() }
}

fn figure(value: &Value) -> Option<String> {
    value.as_u64().map(count).or_else(|| value.as_f64().map(|number| format!("{number:.1}")))
}

pub(super) fn is_empty_by_filters(report: &Report) -> bool {
    report.input.filtered > 0 && report.totals.counts.requests == 0
}

pub(super) fn verdict(report: &Report) -> String {
    if is_empty_by_filters(report) {
        return "nothing judged: the filters left no request".to_owned();
    }
    let of = |severity: &str| report.cases.iter().filter(|case| case.severity == severity).count() as u64;
    let (errors, warnings, info) = (of("error"), of("warning"), of("info"));
    let kinds = [
        (errors, counted(errors, "error")),
        (warnings, counted(warnings, "warning")),
        (info, format!("{} info", count(info))),
    ];
    let kinds: Vec<String> =
        kinds.into_iter().filter(|(cases, _)| *cases > 0).map(|(_, text)| text).collect();
    let findings = &report.finding_counts;
    let findings = findings.error + findings.warning + findings.info;
    let summary = match report.cases.len() as u64 {
        0 => "no findings".to_owned(),
        cases => {
            format!("{}: {} ({})", counted(cases, "case"), kinds.join(", "), counted(findings, "finding"))
        }
    };
    let rules = counted(report.rules.len() as u64, "rule");
    format!("{summary} in {}, judged by {rules}", counted(report.input.requests, "request"))
}

/// The maximum number of server versions that the head of the report names.
const NAMED_SERVERS: usize = 4;

/// Describes the server version used for the verdicts, and its source.
pub(super) fn server(report: &Report) -> String {
    let etcd = report
        .server
        .etcd_version
        .as_deref()
        .map_or("etcd 3.4.31, 3.5.13 or later (assumed)".to_owned(), |version| {
            format!("etcd {version} ({})", report.page.server.etcd_from)
        });
    format!("{}, {}", kubernetes(report), escaped(&etcd))
}

/// Describes the Kubernetes version used for the verdicts, its source, and the flag that sets it.
pub(super) fn kubernetes(report: &Report) -> String {
    let server = &report.server;
    let versions = match server.versions_differ.as_deref() {
        Some("by-file") => {
            let own = |one: &ServerVersion| format!("{} ({})", one.kube_version, one.source);
            let mut all: Vec<String> = server.servers.iter().take(NAMED_SERVERS).map(own).collect();
            match server.servers.len().saturating_sub(NAMED_SERVERS) {
                0 => {}
                more => all.push(counted(more as u64, "more version")),
            }
            all.join(" and ")
        }
        Some("at-the-same-time") => server.kube_versions.join(" and "),
        _ => server.kube_versions.join(", then "),
    };
    escaped(&format!("Kubernetes {versions} ({})", report.page.server.version_from)).into_owned()
}

/// Returns the notes on how kubetoll detected the server. They contain file names.
pub(super) fn notes(server: &Server) -> impl Iterator<Item = String> {
    server.notes.iter().map(|note| escaped(note).into_owned())
}

pub(super) fn version_evidence(report: &Report) -> Option<String> {
    let decisive = &report.page.server.decisive;
    let is_asked = report.server.version_source != "flag" && !decisive.is_empty();
    is_asked.then(|| format!("the log shows: {}", decisive.join("; ")))
}

/// Describes the input and its losses, the server, the total cost and the inventory. Also describes the requests that
/// the patterns over time do not cover.
pub(super) fn read(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(input::lines(&report.input));
    lines.push(server(report));
    lines.extend(version_evidence(report));
    lines.extend(cost::totals(report));
    lines.extend(report.inventory.iter().flat_map(cost::inventory));
    lines.extend(notes(&report.server));
    lines.extend(patterns::left_out(report));
    lines
}

/// Describes how often the server's own measurements agree with the verdicts. `None` without measurements.
pub(super) fn measured(report: &Report) -> Option<String> {
    let observed = &report.totals.counts.observed;
    (observed.agree + observed.contradict > 0).then(|| {
        format!(
            "{} of slow, served or refused requests: {} agree with the verdicts, {} contradict",
            counted(observed.measured, "measurement"),
            count(observed.agree),
            count(observed.contradict),
        )
    })
}

/// Returns a warning if the server's own measurements contradict most of the verdicts that they check.
pub(super) fn contradicted(report: &Report) -> Option<String> {
    let observed = &report.totals.counts.observed;
    (observed.contradict > observed.agree).then(|| {
        format!(
            "the server's own measurements contradict {} of {} verdicts; set the version with --kube-version",
            count(observed.contradict),
            count(observed.agree + observed.contradict),
        )
    })
}

pub(super) fn suppressed(report: &Report) -> Option<String> {
    let suppressed = report.policy.suppressed.len() as u64;
    let file = report.policy.file.as_deref().filter(|_| suppressed > 0)?;
    Some(format!("{} suppresses {}", escaped(file), counted(suppressed, "finding")))
}

/// Returns the problems of the rules or the policy: rules that failed, suppressions that expired, entries that match
/// nothing.
pub(super) fn problems(report: &Report) -> Vec<String> {
    let policy = &report.policy;
    let failed = report.rule_failures.iter().map(|failure| format!("a rule failed: {failure}"));
    let held = |one: &crate::report::v1::SuppressionInfo| {
        let parts = [Some(&one.rule), one.client.as_ref(), one.shape.as_ref()];
        parts.into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
    };
    let file = policy.file.as_deref().unwrap_or_default();
    let expired = policy.expired.iter().map(|one| {
        format!(
            "{file}:{}: expired on {}: suppression of {} ({})",
            one.line,
            one.expires,
            held(one),
            one.reason
        )
    });
    let unmatched = policy.unmatched.iter().map(|one| {
        format!("{file}:{}: holds nothing back: suppression of {} ({})", one.line, held(one), one.reason)
    });
    let sources = policy.unmatched_sources.iter().map(|one| {
        format!("{file}:{}: no client in this log matches: source of {} ({})", one.line, one.client, one.path)
    });
    failed.chain(expired).chain(unmatched).chain(sources).collect()
}
