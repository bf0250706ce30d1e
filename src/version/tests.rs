//! What facts say together.

use super::*;
use crate::apiserver::releases::BUILT_IN;
use crate::apiserver::{FeatureGates, Gate};
use crate::classify::Statement;
use crate::ledger::Sign;

const fn v(minor: u16, patch: u16) -> KubeVersion {
    KubeVersion::new(minor, patch)
}

fn server() -> Server {
    Server::with_defaults(KubeVersion::NEWEST)
}

fn inferred(note: impl FnOnce(&mut crate::ledger::VersionEvidence)) -> Inferred {
    let mut ledger = Ledger::default();
    note(&mut ledger.versions);
    Inferred::of(&mut ledger, &server(), None, &|source| format!("{source}.log"))
}

fn kubelets(evidence: &mut crate::ledger::VersionEvidence, source: u32, versions: &[(KubeVersion, u64)]) {
    let mut node = 0;
    for (version, count) in versions {
        for _ in 0..*count {
            node += 1;
            evidence.state(Statement::with(Witness::Kubelet, *version, node), source, 0);
        }
    }
}

fn told(inferred: &Inferred) -> (String, String, &'static str) {
    let version = inferred.timeline.versions.last().expect("a version").to_string();
    (version, inferred.candidates.to_string(), inferred.source.as_str())
}

#[test]
fn kubelets_and_a_refused_watch_list_give_the_kubelets_version() {
    let inferred = inferred(|evidence| {
        kubelets(evidence, 0, &[(v(30, 14), 40)]);
        evidence.show(Sign::InitialEventsRefused, 0);
    });
    let expected = ("1.30.14".to_owned(), "1.30 to 1.31 and 1.33".to_owned(), "kubelet-user-agent");
    assert_eq!(told(&inferred), expected);
    assert_eq!(inferred.from, "from 40 kubelets");
    let facts: Vec<String> =
        inferred.facts.iter().map(|fact| format!("{}: {}", fact.text, fact.excludes())).collect();
    assert_eq!(
        facts,
        [
            "40 kubelets state 1.30.14: 1.19 to 1.29 and 1.34 to 1.37",
            "WATCHes with sendInitialEvents were answered with 422 (feature gate WatchList is off): 1.32 and 1.34 \
             to 1.37",
        ]
    );
    assert_eq!(inferred.notes, [] as [String; 0]);
}

#[test]
fn the_most_frequent_minor_counts_by_its_newest_patch() {
    let inferred = inferred(|evidence| {
        kubelets(evidence, 0, &[(v(31, 2), 3), (v(30, 4), 4), (v(30, 9), 1), (v(28, 0), 2)]);
    });
    let expected = ("1.31.2".to_owned(), "1.31".to_owned(), "kubelet-user-agent");
    assert_eq!(told(&inferred), expected, "a server is not older than a kubelet");
    let inferred = super::tests::inferred(|evidence| kubelets(evidence, 0, &[(v(30, 4), 4), (v(30, 9), 1)]));
    assert_eq!(told(&inferred).0, "1.30.9");
}

#[test]
fn what_the_server_states_beats_everything_and_contradictions_are_said() {
    let inferred = inferred(|evidence| {
        evidence.note(Witness::Loopback, v(34, 7), 0, 5);
        evidence.show(Sign::InitialEventsRefused, 0);
    });
    let expected = ("1.34.7".to_owned(), "1.34.7".to_owned(), "loopback-user-agent");
    assert_eq!(told(&inferred), expected);
    assert_eq!(inferred.notes.len(), 1);
    let note = &inferred.notes[0];
    assert!(note.contains("answered with 422") && note.contains("states 1.34.7 (1.34.7)"), "{note}");
}

#[test]
fn the_control_plane_is_the_servers_minor_or_one_before() {
    let inferred = inferred(|evidence| {
        evidence.state(Statement::with(Witness::Scheduler, v(30, 2), 1), 0, 0);
        kubelets(evidence, 0, &[(v(29, 1), 9)]);
    });
    let expected = ("1.30.2".to_owned(), "1.30 to 1.31".to_owned(), "control-plane-user-agent");
    assert_eq!(told(&inferred), expected);
}

#[test]
fn without_a_statement_the_newest_that_fits_is_used() {
    let flow_control =
        BUILT_IN.iter().position(|api| api.version == "v1beta2" && api.group.starts_with("flow"));
    let api = u8::try_from(flow_control.expect("an API")).expect("a small table");
    let inferred = inferred(|evidence| evidence.show(Sign::ApiServed(api), 0));
    assert_eq!(told(&inferred), ("1.28".to_owned(), "1.23 to 1.28".to_owned(), "newest-possible"));
    let nothing = super::tests::inferred(|_| {});
    assert_eq!(told(&nothing), ("1.37".to_owned(), "1.19 to 1.37".to_owned(), "newest-known"));
}

#[test]
fn a_gate_that_the_user_sets_says_nothing() {
    let mut ledger = Ledger::default();
    ledger.versions.show(Sign::InitialEventsRefused, 0);
    let mut gates = FeatureGates::default();
    gates.set(Gate::WatchList, false);
    let server = Server { gates, ..server() };
    let inferred = Inferred::of(&mut ledger, &server, None, &|_| String::new());
    assert_eq!(inferred.source, VersionSource::NewestKnown);
}

#[test]
fn logs_of_two_servers_are_judged_each_by_its_own_version() {
    let inferred = inferred(|evidence| {
        kubelets(evidence, 0, &[(v(27, 3), 5)]);
        kubelets(evidence, 1, &[(v(34, 1), 5)]);
    });
    assert_eq!(inferred.timeline.versions, [v(27, 3), v(34, 1)]);
    let era = |source| inferred.timeline.versions[usize::from(inferred.timeline.era(source, Some(1)))];
    assert_eq!([era(0), era(1)], [v(27, 3), v(34, 1)]);
    assert!(
        inferred.notes[0].contains("0.log fits 1.27 to 1.30, and 1.log fits 1.34 to 1.37"),
        "{:?}",
        inferred.notes
    );
}

#[test]
fn a_version_that_the_log_excludes_is_said() {
    let mut ledger = Ledger::default();
    kubelets(&mut ledger.versions, 0, &[(v(30, 14), 2)]);
    let of = |ledger: &mut Ledger, given| Inferred::of(ledger, &server(), Some(given), &|_| String::new());
    let wrong = of(&mut ledger, v(36, 2));
    assert_eq!(wrong.timeline.versions, [v(36, 2)]);
    assert_eq!(
        wrong.notes,
        ["--kube-version 1.36.2 contradicts the log: 2 kubelets state 1.30.14; that fits 1.30 to 1.33"]
    );
    let right = of(&mut ledger, KubeVersion { minor: 31, patch: None });
    assert_eq!(right.notes, [] as [String; 0]);
}

#[test]
fn start_lines_count_where_the_source_is_an_apiservers_log() {
    let inferred = inferred(|evidence| {
        evidence.note(Witness::StartLine, v(19, 4), 0, 5);
        evidence.show(Sign::ServersOwnLog, 0);
        evidence.note(Witness::StartLine, v(20, 1), 1, 5);
    });
    assert_eq!(told(&inferred), ("1.19.4".to_owned(), "1.19.4".to_owned(), "start-line"));
}

#[test]
fn unconfirmed_user_agents_choose_only_among_few_minors() {
    let claim = |evidence: &mut crate::ledger::VersionEvidence| {
        evidence.state(Statement::with(Witness::Unconfirmed, v(19, 4), 1), 0, 0);
    };
    assert_eq!(told(&inferred(claim)).2, "newest-known");
    let old_lines = inferred(|evidence| {
        claim(evidence);
        evidence.show(Sign::Mark(crate::k8s::Mark::AccessLineWithoutAuditId), 0);
    });
    assert_eq!(told(&old_lines), ("1.19.4".to_owned(), "1.19 to 1.21".to_owned(), "unconfirmed-user-agent"));
}
