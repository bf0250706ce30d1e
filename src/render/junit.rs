//! The findings as `JUnit` XML: a case for each rule and client with findings, and for each rule without.
//!
//! Neither times nor durations are in it: a log gives the same file every time.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report as Xml, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::escape::{escaped, without_commands};
use super::{facts, prose};
use crate::report::v1::{Finding, Report, RuleRef, Suppressed};

/// The class of cases on the input.
const INPUT: &str = "(input)";

/// Renders the report. Findings for information are no failures; those that a policy holds back are skipped cases.
///
/// # Errors
/// Where XML can't hold it.
pub fn render(report: &Report) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("kubetoll");
    suite.add_property(("kubetoll", report.kubetoll_version.as_str()));
    suite.add_property(("server", &*escaped(&facts::server(&report.server))));
    let cases = cases(report);
    suite.add_test_cases(cases.iter().map(Case::test_case));
    for rule in &report.rules {
        if !cases.iter().any(|case| *case.rule.id == *rule.id) {
            let mut passed = TestCase::new(name(&rule.id, &rule.name), TestCaseStatus::success());
            passed.set_classname("all clients");
            suite.add_test_case(passed);
        }
    }
    let failed = report.rule_failures.iter().enumerate();
    suite.add_test_cases(failed.map(|(index, failure)| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(escaped(failure));
        TestCase::new(format!("failure of a rule {}", index + 1), status)
    }));
    let told = [vec![facts::verdict(report)], facts::read(report), facts::amiss(report)].concat();
    let told: Vec<_> = told.iter().map(|line| escaped(line)).collect();
    suite.set_system_out(told.join("\n"));
    let mut xml = Xml::new("kubetoll");
    xml.add_test_suite(suite);
    Ok(without_commands(&xml.to_string()?).into_owned())
}

fn name(id: &str, name: &str) -> String {
    format!("{} {}", escaped(id), escaped(name))
}

/// What a rule says of a client.
struct Case<'r> {
    rule: &'r RuleRef,
    client: String,
    findings: Vec<&'r Finding>,
    suppressed: Vec<&'r Suppressed>,
}

/// The cases in the order of rules, then of clients' names.
fn cases(report: &Report) -> Vec<Case<'_>> {
    let mut cases = BTreeMap::new();
    for finding in &report.findings {
        case(&mut cases, &finding.rule, class_name(finding)).findings.push(finding);
    }
    for one in &report.policy.suppressed {
        let client = one.client.as_deref().unwrap_or(INPUT).to_owned();
        case(&mut cases, &one.rule, client).suppressed.push(one);
    }
    cases.into_values().collect()
}

fn case<'c, 'r>(
    cases: &'c mut BTreeMap<(&'r str, String), Case<'r>>,
    rule: &'r RuleRef,
    client: String,
) -> &'c mut Case<'r> {
    let new = Case { rule, client: client.clone(), findings: Vec::new(), suppressed: Vec::new() };
    cases.entry((&rule.id, client)).or_insert(new)
}

fn class_name(finding: &Finding) -> String {
    let real = finding.who.as_ref().and_then(|who| who.impersonated_by.as_ref());
    match (&finding.client, real) {
        (Some(client), Some(real)) => format!("{client} (by {real})"),
        (Some(client), None) => client.clone(),
        (None, _) => INPUT.to_owned(),
    }
}

impl Case<'_> {
    fn test_case(&self) -> TestCase {
        let is_failure = |finding: &&&Finding| finding.severity != "info";
        let text = self.text();
        let status = if let Some(worst) = self.findings.iter().find(is_failure) {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(escaped(&worst.message)).set_type(escaped(worst.severity));
            status.set_description(&text);
            status
        } else if let Some(one) = self.suppressed.first().filter(|_| self.findings.is_empty()) {
            let mut status = TestCaseStatus::skipped();
            status.set_message(escaped(&format!("held back until {}: {}", one.expires, one.reason)));
            status
        } else {
            TestCaseStatus::success()
        };
        let is_told = matches!(status, TestCaseStatus::NonSuccess { .. });
        let mut case = TestCase::new(name(&self.rule.id, &self.rule.name), status);
        case.set_classname(escaped(&self.client));
        if !is_told {
            case.set_system_out(text);
        }
        case
    }

    fn text(&self) -> String {
        let held = self.suppressed.iter().map(|one| {
            format!("held back until {}: {} ({})", one.expires, escaped(&one.message), escaped(&one.reason))
        });
        self.findings.iter().map(|finding| told(finding)).chain(held).collect::<Vec<_>>().join("\n\n")
    }
}

/// A finding in lines.
fn told(finding: &Finding) -> String {
    let facts = facts::of(finding);
    let facts = facts.iter().map(|(title, line)| format!("{title}: {}", line.plain()));
    let mut lines = vec![format!("{}: {}", finding.severity, escaped(&finding.message))];
    lines.extend(facts);
    let mut part = |title: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("\n{title}:\n{text}"));
        }
    };
    part("What to change", &prose::plain(&finding.fix));
    part("What that makes worse", &prose::plain(finding.tradeoff.as_deref().unwrap_or_default()));
    let verify: Vec<_> = finding.verify.lines().map(escaped).collect();
    part("To verify", &verify.join("\n"));
    part("Afterwards", &prose::plain(finding.look_for.as_deref().unwrap_or_default()));
    lines.join("\n")
}
