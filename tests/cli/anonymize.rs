//! Anonymized logs give the same cases, for all scenarios and for made-up traffic.

use kubetoll::anonymize::{Anonymizer, Key};
use kubetoll::k8s::KubeVersion;
use kubetoll::report::Report;
use kubetoll::report::v1::Case;
use kubetoll::rules::RuleSet;
use proptest::prelude::*;
use rayon::prelude::*;

use crate::support::library::run;

use synth::scenarios::{self, Settings, Version};

fn anonymized(log: &[u8], key: &str) -> Vec<u8> {
    let anonymizer = Anonymizer::new(Key::from_text(key), &[]);
    let text = std::str::from_utf8(log).expect("text");
    let line = |line: &str| anonymizer.event(line).expect("an event") + "\n";
    text.lines().map(line).collect::<String>().into_bytes()
}

/// The fix of a case without the names that anonymization replaces.
fn without_names(case: &Case) -> String {
    let members = case.members.worst.iter().map(|member| &member.client);
    let names = members.chain(&case.client).chain(&case.resource);
    let fix = names.fold(case.fix.clone(), |fix, name| fix.replace(&**name, "X"));
    without_namespace(&fix)
}

/// A text without the name of a namespace.
fn without_namespace(text: &str) -> String {
    let Some((before, rest)) = text.split_once("namespace `") else { return text.to_owned() };
    format!("{before}namespace {}", rest.split_once('`').map_or("", |(_, after)| after))
}

/// The cases without names, in an order that names do not decide.
fn cases(report: &Report) -> Vec<(String, Vec<String>, u64, u64, String, String)> {
    let mut cases: Vec<_> = report
        .cases
        .iter()
        .map(|case| {
            let mut rules = case.rules.clone();
            rules.sort();
            let peak = format!("{:.0}", case.peak_per_minute);
            let fix = without_names(case);
            (case.severity.to_owned(), rules, case.requests, case.members.count, peak, fix)
        })
        .collect();
    cases.sort();
    cases
}

#[test]
fn each_scenario_has_the_same_cases() {
    let rules = RuleSet::embedded();
    let version = Version::TRIED[0];
    let kube = KubeVersion::new(version.minor, version.patch);
    let all = scenarios::all();
    let wrong: Vec<String> = all
        .par_iter()
        .filter_map(|scenario| {
            let settings = Settings { nodes: 10, minutes: 8, version, seed: 7, received: false };
            let log = scenarios::log(scenario, settings);
            let own = run::judged(&log, kube, &rules);
            let other = run::judged(&anonymized(&log, scenario.name), kube, &rules);
            let is_same = cases(&own) == cases(&other)
                && own.totals.counts.by_served_from == other.totals.counts.by_served_from
                && own.clients.len() == other.clients.len();
            (!is_same).then(|| format!("{}: {:#?} {:#?}", scenario.name, cases(&own), cases(&other)))
        })
        .collect();
    assert!(all.len() > 10 && wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]
    #[test]
    fn made_up_traffic_has_the_same_cases(seed: u64, clients in 3_usize..60) {
        let rules = RuleSet::embedded();
        let log = synth::log(seed, clients, 1 << 20);
        let without_names = anonymized(&log, "a");
        for kube in [KubeVersion::new(30, 4), KubeVersion::new(34, 0)] {
            let own = run::judged(&log, kube, &rules);
            let other = run::judged(&without_names, kube, &rules);
            prop_assert_eq!(cases(&own), cases(&other));
            prop_assert_eq!(&own.totals.counts.by_served_from, &other.totals.counts.by_served_from);
            prop_assert_eq!(&own.totals.counts.by_verb, &other.totals.counts.by_verb);
        }
    }
}
