//! The cases as `JUnit` XML. Each case is a test case. Cases of errors and warnings are failures.
//!
//! The file has no times and durations, so the same log always gives the same file. A test case's name has no rank and
//! no count, so that CI can track it from run to run.

use std::collections::HashMap;

use quick_junit::{NonSuccessKind, Report as Xml, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::case::{self, FindingIndex};
use super::client_name::client_name;
use super::escape::{escaped, without_commands};
use super::facts;
use crate::report::Report;
use crate::report::v1::{Case, Suppressed};

/// The class name for test cases on the log itself.
const INPUT: &str = "(input)";

/// Renders the report. Cases of severity info pass; suppressed findings become skipped test cases.
///
/// # Errors
/// Returns an error if XML cannot hold a text.
pub(crate) fn render(report: &Report) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("kubetoll");
    suite.add_property(("kubetoll", report.kubetoll_version.as_str()));
    suite.add_property(("server", &*escaped(&facts::server(report))));
    let findings = FindingIndex::new(report);
    let mut names = TestCaseNames::new(report);
    suite.add_test_cases(report.cases.iter().map(|case| test_case(case, &findings, &mut names)));
    suite.add_test_cases(report.policy.suppressed.iter().map(|one| skipped(one, report, &mut names)));
    if report.cases.is_empty() {
        let mut status = TestCaseStatus::success();
        if report.input.requests == 0 {
            status = TestCaseStatus::skipped();
            status.set_message("no requests, so nothing was judged");
        }
        let mut none = TestCase::new("no findings", status);
        none.set_classname("all clients");
        suite.add_test_case(none);
    }
    let failed = report.rule_failures.iter().enumerate();
    suite.add_test_cases(failed.map(|(index, failure)| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(escaped(failure));
        TestCase::new(format!("failure of a rule {}", index + 1), status)
    }));
    let read = [vec![facts::verdict(report)], facts::read(report), facts::problems(report)].concat();
    let read: Vec<_> = read.iter().map(|line| escaped(line)).collect();
    suite.set_system_out(read.join("\n"));
    let mut xml = Xml::new("kubetoll");
    xml.add_test_suite(suite);
    // Jenkins' schema allows `skipped` on a suite, but not on the list of suites.
    let sum = format!(" skipped=\"{}\"", xml.skipped);
    Ok(without_commands(&xml.to_string()?.replacen(&sum, "", 1)).into_owned())
}

/// Makes the names of test cases unique in each class.
struct TestCaseNames<'r> {
    /// The names of rules, by rule id.
    rules: HashMap<&'r str, &'r str>,
    /// How often each name was used in each class.
    taken: HashMap<(String, String), u64>,
}

impl<'r> TestCaseNames<'r> {
    fn new(report: &'r Report) -> Self {
        let rules = report.rules.iter().map(|rule| (&*rule.id, &*rule.name)).collect();
        Self { rules, taken: HashMap::new() }
    }

    fn test_case(
        &mut self,
        rule: &str,
        resource: Option<&str>,
        class: &str,
        status: TestCaseStatus,
    ) -> TestCase {
        let resource = resource.map(|resource| format!(": {resource}")).unwrap_or_default();
        let name = format!("{rule} {}{resource}", self.rules.get(rule).copied().unwrap_or_default());
        let taken = self.taken.entry((class.to_owned(), name.clone())).or_default();
        *taken += 1;
        let name = if *taken > 1 { format!("{name} ({taken})") } else { name };
        let mut case = TestCase::new(escaped(name.trim_end()), status);
        case.set_classname(escaped(class));
        case
    }
}

fn test_case(case: &Case, findings: &FindingIndex<'_>, names: &mut TestCaseNames<'_>) -> TestCase {
    let text = case::described(case, findings);
    let class = case.client.as_deref().unwrap_or(INPUT);
    let mut status = TestCaseStatus::success();
    if case.severity != "info" {
        let fix = case::fix(case);
        let fix = if fix.is_empty() { fix } else { format!(" (fix: {fix})") };
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let message = format!("{}. {}{fix}", case.rank, escaped(&case::sentence(case)));
        status.set_message(message).set_type(case.severity);
        status.set_description(&text);
    }
    let mut test_case = names.test_case(case::rule(case), case.resource.as_deref(), class, status);
    if case.severity == "info" {
        test_case.set_system_out(text);
    }
    test_case
}

fn skipped(one: &Suppressed, report: &Report, names: &mut TestCaseNames<'_>) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(escaped(&format!("held back until {}: {}", one.expires, one.reason)));
    let client = report.clients.iter().find(|client| Some(&client.identity) == one.client.as_ref());
    let class = client.map_or_else(|| one.client.clone().unwrap_or(INPUT.to_owned()), client_name);
    let mut case = names.test_case(&one.rule.id, one.shape.as_deref(), &class, status);
    case.set_system_out(format!("{}: {}", one.severity, escaped(&one.message)));
    case
}
