//! Scenarios of whole clusters: good days give no warning or error, bad clients give a finding.
//!
//! The scenarios are in `synth/src/scenarios`; docs/scenarios.md says how to try them at full size.

use std::collections::BTreeSet;

use kubetoll::k8s::KubeVersion;
use kubetoll::report::Report;
use kubetoll::report::v1::{Case, Finding};
use kubetoll::rules::RuleSet;
use rayon::prelude::*;

use crate::support::library::run;

use synth::scenarios::{self, Scenario, Settings, Version};

/// The report of a scenario, for the release of its cluster.
fn report(scenario: &Scenario, nodes: usize, version: Version, rules: &RuleSet) -> Report {
    let log = scenarios::log(scenario, Settings { nodes, minutes: 30, version, seed: 7, received: false });
    let kube = KubeVersion::new(version.minor, version.patch);
    run::judged(&log, kube, rules)
}

/// The maximum number of cases on a bad client.
const MOST_CASES: usize = 2;

/// The errors in the findings of a scenario.
fn wrong(scenario: &Scenario, nodes: usize, version: Version, rules: &RuleSet) -> Vec<String> {
    let report = report(scenario, nodes, version, rules);
    let place = format!("{} on {}, {nodes} nodes", scenario.name, version.number());
    let loud: Vec<&Finding> = report.findings.iter().filter(|finding| finding.severity != "info").collect();
    let client = |finding: &Finding| finding.client.clone().unwrap_or_default();
    // Findings are allowed even if a newer server handles the client well, because it still polls.
    let is_bad = |finding: &&Finding| {
        scenario.expected.as_ref().is_some_and(|expected| {
            let client = client(finding);
            if expected.client.is_empty() { client.is_empty() } else { client.ends_with(expected.client) }
        })
    };
    let (bad, others): (Vec<&Finding>, Vec<&Finding>) = loud.into_iter().partition(is_bad);
    let summary = |finding: &Finding| {
        format!("{} {} {}: {}", finding.severity, finding.rule.id, client(finding), finding.message)
    };
    let mut wrong: Vec<String> =
        others.iter().map(|finding| format!("{place}: {}", summary(finding))).collect();
    let Some(expected) = scenario.expected_on(version) else { return wrong };
    let actual = bad.iter().any(|finding| expected.rules.contains(&&*finding.rule.id));
    let error = !expected.error || bad.iter().any(|finding| finding.severity == "error");
    let prints: BTreeSet<&str> =
        report.findings.iter().filter(is_bad).map(|finding| &*finding.fingerprint).collect();
    let is_on_it = |case: &&Case| case.findings.iter().any(|print| prints.contains(&**print));
    let cases: Vec<&Case> = report.cases.iter().filter(is_on_it).collect();
    if !actual || !error || cases.len() > MOST_CASES {
        let all: Vec<&Finding> = report.findings.iter().filter(is_bad).collect();
        let all: Vec<String> = all.into_iter().map(summary).collect();
        let severity = if expected.error { "an error" } else { "a warning" };
        let cases: Vec<String> = cases.iter().map(|case| format!("{:?} {}", case.rules, case.what)).collect();
        wrong.push(format!(
            "{place}: {} needs {severity} of {}, and at most {MOST_CASES} cases; found {all:#?} in {cases:#?}",
            expected.client,
            expected.rules.join(" or "),
        ));
    }
    wrong
}

/// Runs each scenario on the releases that `versions` selects by the scenario's index.
fn try_all(nodes: usize, versions: impl Fn(usize) -> Vec<Version> + Sync) {
    let rules = RuleSet::embedded();
    let all = scenarios::all();
    let wrong: Vec<String> = all
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, scenario)| {
            versions(number).into_iter().map(move |version| (scenario, version))
        })
        .flat_map_iter(|(scenario, version)| wrong(scenario, nodes, version, &rules))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Scenarios use the releases in turn.
fn one(number: usize) -> Vec<Version> {
    vec![Version::TRIED[number % Version::TRIED.len()]]
}

#[test]
fn scenarios_are_judged_right_in_a_small_cluster() {
    try_all(24, one);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test judging -- --ignored scenarios"]
fn scenarios_are_judged_right_on_all_releases() {
    try_all(100, |_| Version::TRIED.to_vec());
}

#[test]
#[ignore = "takes minutes: cargo test --release --test judging -- --ignored scenarios"]
fn scenarios_are_judged_right_in_a_large_cluster() {
    try_all(500, one);
}

#[test]
fn scenarios_have_unique_names() {
    let all = scenarios::all();
    let names: BTreeSet<&str> = all.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn a_seed_gives_the_same_log_again() {
    let all = scenarios::all();
    let settings = Settings { nodes: 5, minutes: 3, version: Version::TRIED[2], seed: 3, received: true };
    let log = scenarios::log(&all[0], settings);
    assert!(log.len() > 100_000);
    assert!(log == scenarios::log(&all[0], settings));
    assert!(log != scenarios::log(&all[0], Settings { seed: 4, ..settings }));
}
