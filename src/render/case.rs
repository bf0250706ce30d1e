//! Texts that describe a case, shared by SARIF, `JUnit`, GitHub and Markdown.

use std::collections::HashMap;

use super::load::share;
use super::plain::{count, counted, cut, escaped, rounded};
use super::{facts, prose};
use crate::report::Report;
use crate::report::cases;
use crate::report::v1::{Case, Finding, Member};

/// The maximum length of a client name, in characters. Clients choose their names, so a name can have any length.
const MAX_NAME: usize = 120;

/// The findings of a report, by fingerprint.
pub(super) struct FindingIndex<'r>(HashMap<&'r str, &'r Finding>);

impl<'r> FindingIndex<'r> {
    pub(super) fn new(report: &'r Report) -> Self {
        Self(report.findings.iter().map(|finding| (&*finding.fingerprint, finding)).collect())
    }

    /// Returns the leading finding of a case, then the case's other findings on the same client. Returns an empty
    /// list if the report has too many findings and omits these.
    pub(super) fn worst_findings(&self, case: &Case) -> Vec<&'r Finding> {
        let mut findings = case.findings.iter().filter_map(|fingerprint| self.0.get(&**fingerprint).copied());
        let Some(first) = findings.next() else { return Vec::new() };
        let others = findings.filter(|finding| finding.client == first.client);
        std::iter::once(first).chain(others).collect()
    }
}

/// Returns the client's name. For a program, adds the number of its members: `backup (40 namespaces)`. Not escaped.
pub(super) fn client(case: &Case) -> String {
    let client = cut(case.client.as_deref().unwrap_or("log"), MAX_NAME);
    let members = usize::try_from(case.members.count).unwrap_or(usize::MAX);
    if members < 2 {
        return client.into_owned();
    }
    format!("{client} ({})", cases::counted(case.members.kind, members))
}

/// Returns what the client does, without the client's name. Not escaped.
pub(super) fn does(report: &Report, case: &Case) -> String {
    let action = report.action(case);
    if action.is_empty() { what(case) } else { action.to_owned() }
}

/// Returns a sentence: which client does what, and how often. Not escaped.
pub(super) fn sentence(case: &Case) -> String {
    let what = what(case);
    let is_named = case.client.as_deref().is_none_or(|client| what.starts_with(client));
    if is_named { what } else { format!("{}: {what}", client(case)) }
}

fn what(case: &Case) -> String {
    if case.what.is_empty() { format!("findings of {}", rules(case)) } else { case.what.clone() }
}

/// Returns `480 requests, at most 160 a minute, 25.1 % of the load`, or `None` for a case on the log itself.
pub(super) fn size(case: &Case) -> Option<String> {
    (case.members.count > 0).then(|| {
        format!(
            "{}, at most {} a minute, {} of the load",
            counted(case.requests, "request"),
            count(rounded(case.peak_per_minute)),
            share(&case.load)
        )
    })
}

/// Returns the rank, the severity, the size and the rules: `Case 1, error: 480 requests, …; rules KT101`.
pub(super) fn summary(case: &Case) -> String {
    let size = size(case).map(|size| format!("{size}; ")).unwrap_or_default();
    format!("Case {}, {}: {size}rules {}", case.rank, case.severity, rules(case))
}

/// Returns the location of the client's source code, from the policy file.
pub(super) fn source(case: &Case) -> Option<String> {
    case.source.as_ref().map(|source| format!("{}:{}", source.path, source.line))
}

pub(super) fn rules(case: &Case) -> String {
    escaped(&case.rules.join(", ")).into_owned()
}

/// The rule of the leading finding, which the sentence of the case describes.
pub(super) fn rule(case: &Case) -> &str {
    case.rules.first().map_or("", String::as_str)
}

/// Returns the first step of the fix, on one line.
pub(super) fn fix(case: &Case) -> String {
    prose::plain(&case.fix).replace('\n', " ")
}

/// Lists the worst clients of a case with their requests and load: `ops/backup (480 requests, 25.1 %)`. Returns
/// `None` unless the case has several clients.
pub(super) fn members(case: &Case) -> Option<String> {
    let member = |member: &Member| {
        format!(
            "{} ({}, {})",
            escaped(&member.name),
            counted(member.requests, "request"),
            share(&member.load)
        )
    };
    let worst: Vec<String> = case.members.worst.iter().map(member).collect();
    (case.members.count > 1).then(|| worst.join(", "))
}

pub(super) fn described(case: &Case, findings: &FindingIndex<'_>) -> String {
    let mut lines = vec![format!("{}. {}: {}", case.rank, case.severity, escaped(&sentence(case)))];
    let mut part = |title: &str, text: &str| {
        if !text.is_empty() {
            let gap = if text.contains('\n') { "\n" } else { " " };
            lines.push(format!("{title}:{gap}{text}"));
        }
    };
    part("Case", &size(case).unwrap_or_default());
    part("Rules", &rules(case));
    part("Source", &escaped(&source(case).unwrap_or_default()));
    part("Worst members", &members(case).unwrap_or_default());
    let worst_findings = findings.worst_findings(case);
    let Some(lead) = worst_findings.first() else { return lines.join("\n") };
    part("Fix", &prose::plain(&lead.fix));
    part("Tradeoff", &prose::plain(lead.tradeoff.as_deref().unwrap_or_default()));
    let verify: Vec<_> = lead.verify.lines().map(escaped).collect();
    part("Verify", &verify.join("\n"));
    part("Afterwards", &prose::plain(lead.look_for.as_deref().unwrap_or_default()));
    for (title, line) in facts::lines(lead) {
        part(title, &line.plain());
    }
    let finding = |finding: &&Finding| {
        format!("- {} {}: {}", finding.severity, escaped(&finding.rule.id), escaped(&finding.message))
    };
    if worst_findings.len() > 1 {
        part("Findings", &worst_findings.iter().map(finding).collect::<Vec<_>>().join("\n"));
    }
    lines.join("\n")
}
