//! Tests of the inference from facts to versions.

use super::*;
use crate::apiserver::releases::BUILT_IN;
use crate::apiserver::{FeatureGates, Gate};
use crate::ledger::Sign;
use crate::requests::{ClaimSource, VersionClaim};
use crate::version::{Relation, VersionSource};

const fn v(minor: u16, patch: u16) -> KubeVersion {
    KubeVersion::new(minor, patch)
}

fn server() -> Server {
    Server::with_defaults(KubeVersion::NEWEST)
}

fn inferred_from(note: impl FnOnce(&mut crate::ledger::VersionEvidence)) -> Inferred {
    let mut ledger = Ledger::default();
    note(&mut ledger.versions);
    infer(&mut ledger, &server(), None, &|source| format!("{source}.log"))
}

fn kubelets(evidence: &mut crate::ledger::VersionEvidence, source: u32, versions: &[(KubeVersion, u64)]) {
    let mut node = 0;
    for (version, count) in versions {
        for _ in 0..*count {
            node += 1;
            evidence.note_claim(VersionClaim::new(ClaimSource::Kubelet, *version, node), source, Some(0));
        }
    }
}

fn summary(inferred: &Inferred) -> (String, String, &'static str) {
    let version = inferred.version.to_string();
    (version, inferred.candidates.to_string(), inferred.source.as_str())
}

fn versions_of(inferred: &Inferred) -> Vec<KubeVersion> {
    inferred.timeline.kube_versions().collect()
}

#[test]
fn refused_watch_list_narrows_the_version_of_kubelets() {
    let inferred = inferred_from(|evidence| {
        kubelets(evidence, 0, &[(v(30, 14), 40)]);
        evidence.show(Sign::InitialEventsRefused, 0, Some(5));
    });
    let expected = ("1.30.14".to_owned(), "1.30 to 1.31 and 1.33".to_owned(), "kubelet-user-agent");
    assert_eq!(summary(&inferred), expected);
    assert_eq!(inferred.from, "from 40 kubelets");
    let facts: Vec<String> =
        inferred.facts.iter().map(|fact| format!("{}: {}", fact.text, fact.excludes())).collect();
    assert_eq!(
        facts,
        [
            "40 kubelets state 1.30.14: 1.19 to 1.29 and 1.34 to 1.37",
            "WATCHes with sendInitialEvents got 422 (feature gate WatchList is off): 1.32 and 1.34 \
             to 1.37",
        ]
    );
    assert_eq!(inferred.notes, [] as [String; 0]);
}

#[test]
fn the_most_frequent_minor_counts_by_its_newest_patch() {
    let inferred = inferred_from(|evidence| {
        kubelets(evidence, 0, &[(v(31, 2), 3), (v(30, 4), 4), (v(30, 9), 1), (v(28, 0), 2)]);
    });
    let expected = ("1.31.2".to_owned(), "1.31".to_owned(), "kubelet-user-agent");
    assert_eq!(summary(&inferred), expected, "a server is not older than a kubelet");
    let inferred = inferred_from(|evidence| kubelets(evidence, 0, &[(v(30, 4), 4), (v(30, 9), 1)]));
    assert_eq!(summary(&inferred).0, "1.30.9");
}

#[test]
fn server_statement_wins_and_contradictions_are_noted() {
    let inferred = inferred_from(|evidence| {
        evidence.note(ClaimSource::Loopback, v(34, 7), 0, Some(5));
        evidence.show(Sign::InitialEventsRefused, 0, Some(5));
    });
    let expected = ("1.34.7".to_owned(), "1.34.7".to_owned(), "loopback-user-agent");
    assert_eq!(summary(&inferred), expected);
    assert_eq!(inferred.notes.len(), 1);
    let note = &inferred.notes[0];
    assert!(note.contains("got 422") && note.contains("states 1.34.7 (1.34.7)"), "{note}");
}

#[test]
fn control_plane_version_allows_its_minor_and_the_next() {
    let inferred = inferred_from(|evidence| {
        evidence.note_claim(VersionClaim::new(ClaimSource::Scheduler, v(30, 2), 1), 0, Some(0));
        kubelets(evidence, 0, &[(v(29, 1), 9)]);
    });
    let expected = ("1.30.2".to_owned(), "1.30 to 1.31".to_owned(), "control-plane-user-agent");
    assert_eq!(summary(&inferred), expected);
}

#[test]
fn newest_fitting_release_is_used_without_claims() {
    let flow_control =
        BUILT_IN.iter().position(|api| api.version == "v1beta2" && api.group.starts_with("flow"));
    let api = u8::try_from(flow_control.expect("an API")).expect("a small table");
    let inferred = inferred_from(|evidence| evidence.show(Sign::ApiServed(api), 0, Some(5)));
    assert_eq!(summary(&inferred), ("1.28".to_owned(), "1.23 to 1.28".to_owned(), "newest-possible"));
    let nothing = inferred_from(|_| {});
    assert_eq!(summary(&nothing), ("1.37".to_owned(), "1.19 to 1.37".to_owned(), "newest-known"));
}

#[test]
fn gate_set_by_the_user_is_not_version_evidence() {
    let mut ledger = Ledger::default();
    ledger.versions.show(Sign::InitialEventsRefused, 0, Some(5));
    let mut gates = FeatureGates::default();
    gates.set(Gate::WatchList, false);
    let server = Server { gates, ..server() };
    let inferred = infer(&mut ledger, &server, None, &|_| String::new());
    assert_eq!(inferred.source, VersionSource::NewestKnown);
}

#[test]
fn each_source_is_judged_by_its_own_version() {
    let inferred = inferred_from(|evidence| {
        kubelets(evidence, 0, &[(v(27, 3), 5)]);
        kubelets(evidence, 1, &[(v(34, 1), 5)]);
    });
    assert_eq!(versions_of(&inferred), [v(27, 3), v(34, 1)]);
    let version_index = |source| {
        inferred.timeline.versions[usize::from(inferred.timeline.version_index(source, Some(1)))].version
    };
    assert_eq!([version_index(0), version_index(1)], [v(27, 3), v(34, 1)]);
    assert!(
        inferred.notes[0].ends_with("kubetoll judges each file by its own: 0.log: 1.27.3; 1.log: 1.34.1"),
        "{:?}",
        inferred.notes
    );
}

#[test]
fn given_version_that_the_log_excludes_is_noted() {
    let mut ledger = Ledger::default();
    kubelets(&mut ledger.versions, 0, &[(v(30, 14), 2)]);
    let with_flag = |ledger: &mut Ledger, given| infer(ledger, &server(), Some(given), &|_| String::new());
    let wrong = with_flag(&mut ledger, v(36, 2));
    assert_eq!(versions_of(&wrong), [v(36, 2)]);
    assert_eq!(
        wrong.notes,
        ["--kube-version 1.36.2 contradicts the log: 2 kubelets state 1.30.14, which fits 1.30 to 1.33"]
    );
    let right = with_flag(&mut ledger, KubeVersion { minor: 31, patch: None });
    assert_eq!(right.notes, [] as [String; 0]);
}

#[test]
fn start_lines_count_only_in_an_apiserver_log() {
    let inferred = inferred_from(|evidence| {
        evidence.note(ClaimSource::StartLine, v(19, 4), 0, Some(5));
        evidence.show(Sign::ServersOwnLog, 0, Some(5));
        evidence.note(ClaimSource::StartLine, v(20, 1), 1, Some(5));
    });
    assert_eq!(summary(&inferred), ("1.19.4".to_owned(), "1.19.4".to_owned(), "start-line"));
}

#[test]
fn unconfirmed_user_agents_decide_only_among_few_minors() {
    let claim = |evidence: &mut crate::ledger::VersionEvidence| {
        evidence.note_claim(VersionClaim::new(ClaimSource::Unconfirmed, v(19, 4), 1), 0, Some(0));
    };
    assert_eq!(summary(&inferred_from(claim)).2, "newest-known");
    let old_lines = inferred_from(|evidence| {
        claim(evidence);
        evidence.show(Sign::Mark(crate::k8s::Mark::AccessLineWithoutAuditId), 0, Some(5));
    });
    assert_eq!(
        summary(&old_lines),
        ("1.19.4".to_owned(), "1.19 to 1.21".to_owned(), "unconfirmed-user-agent")
    );
}

/// The result for a log of two servers, 1.30.14 and 1.34.2. In each of 200 steps, both show evidence of their
/// version. `at` returns the receive time in seconds, for a step and a minor version. `source` returns the source for
/// a minor version. With `with_loopback`, both servers also state their version.
fn two_servers(at: impl Fn(i64, u16) -> i64, source: impl Fn(u16) -> u32, with_loopback: bool) -> Inferred {
    inferred_from(|evidence| {
        for step in 0..200 {
            for version in [v(30, 14), v(34, 2)] {
                let time = Some(at(step, version.minor) * 1_000_000);
                let source = source(version.minor);
                // Both clusters use the same node names.
                let node = u64::try_from(step % 9).expect("not negative");
                evidence.note_claim(VersionClaim::new(ClaimSource::Kubelet, version, node), source, time);
                evidence.note_claim(VersionClaim::new(ClaimSource::Scheduler, version, 1), source, time);
                let is_new = version.minor == 34;
                let sign = if is_new { Sign::InitialEventsServed } else { Sign::InitialEventsRefused };
                evidence.show(sign, source, time);
                if with_loopback {
                    evidence.note(ClaimSource::Loopback, version, source, time);
                }
            }
        }
    })
}

#[test]
fn overlapping_evidence_means_two_servers() {
    for with_loopback in [true, false] {
        let mixed = two_servers(|step, _| step, |_| 0, with_loopback);
        assert_eq!(mixed.relation, Relation::Mixed);
        let versions: Vec<KubeVersion> = mixed.servers.iter().map(|one| one.version).collect();
        assert_eq!(versions, [v(30, 14), v(34, 2)]);
        assert_eq!(versions_of(&mixed), [v(34, 2)], "equally frequent, so the newer");
        assert!(mixed.candidates.contains(v(30, 14)) && mixed.candidates.contains(v(34, 2)));
        assert!(!mixed.is_settled());
        assert!(mixed.notes[0].starts_with("0.log shows Kubernetes 1.30.14 and 1.34.2 at the same time"));
        for (one, fact) in mixed.servers.iter().zip(["9 kubelets state 1.30.14", "9 kubelets state 1.34.2"]) {
            assert!(one.facts.iter().any(|other| other == fact), "{one:?}");
        }
        assert!(!mixed.notes.iter().any(|note| note.contains("upgrade,")), "{:?}", mixed.notes);
    }
}

#[test]
fn consecutive_evidence_means_an_upgrade() {
    for with_loopback in [true, false] {
        let upgrade =
            two_servers(|step, minor| step + if minor == 34 { 1_000 } else { 0 }, |_| 0, with_loopback);
        assert_eq!(upgrade.relation, Relation::OverTime);
        assert_eq!(versions_of(&upgrade), [v(30, 14), v(34, 2)]);
        let version = |at: i64| {
            let version_index = upgrade.timeline.version_index(0, Some(at * 1_000_000));
            upgrade.timeline.versions[usize::from(version_index)].version
        };
        assert_eq!([version(-5), version(999), version(1_000)], [v(30, 14), v(30, 14), v(34, 2)]);
        assert!(upgrade.notes[0].contains("an upgrade, 1.30.14, then 1.34.2"), "{:?}", upgrade.notes);
        assert_eq!(upgrade.version, v(34, 2));
    }
}

#[test]
fn files_of_two_servers_are_not_an_upgrade() {
    for with_loopback in [true, false] {
        let files = two_servers(|step, _| step, |minor| u32::from(minor == 30), with_loopback);
        assert_eq!(files.relation, Relation::BySource);
        let version_index = |source| {
            files.timeline.versions[usize::from(files.timeline.version_index(source, Some(7)))].version
        };
        assert_eq!([version_index(0), version_index(1), version_index(2)], [v(34, 2), v(30, 14), v(34, 2)]);
        assert!(files.notes[0].ends_with("0.log: 1.34.2; 1.log: 1.30.14"), "{:?}", files.notes);
    }
}

#[test]
fn most_frequent_kubelets_decide_between_two_servers() {
    let mixed = inferred_from(|evidence| {
        for (version, nodes) in [(v(30, 14), 5), (v(34, 2), 2)] {
            for node in 0..nodes {
                for at in [0, 9] {
                    evidence.note_claim(VersionClaim::new(ClaimSource::Kubelet, version, node), 0, Some(at));
                }
            }
        }
    });
    assert_eq!((mixed.relation, mixed.version), (Relation::Mixed, v(30, 14)));
}

#[test]
fn old_nodes_and_settings_do_not_prove_another_server() {
    let inferred = inferred_from(|evidence| {
        evidence.note(ClaimSource::Loopback, v(34, 7), 0, Some(5));
        kubelets(evidence, 0, &[(v(27, 1), 3)]);
        evidence.show(Sign::InitialEventsRefused, 0, Some(5));
    });
    assert_eq!((inferred.relation, inferred.version), (Relation::One, v(34, 7)));
    assert_eq!(inferred.notes.len(), 2, "{:?}", inferred.notes);
}

#[test]
fn a_few_unsupported_kubelets_do_not_prove_another_server() {
    for old in [v(27, 3), v(35, 1)] {
        let few = inferred_from(|evidence| kubelets(evidence, 0, &[(v(31, 2), 99), (old, 1)]));
        assert_eq!((few.relation, few.version), (Relation::One, v(31, 2)));
        assert_eq!(few.candidates.to_string(), "1.31 to 1.34");
        assert_eq!(few.notes.len(), 1, "{:?}", few.notes);
        assert!(few.notes[0].contains("a version that the server does not support"), "{:?}", few.notes);
        let many = inferred_from(|evidence| kubelets(evidence, 0, &[(v(31, 2), 60), (old, 40)]));
        assert_eq!(many.relation, Relation::Mixed);
        let with_scheduler = inferred_from(|evidence| {
            kubelets(evidence, 0, &[(v(31, 2), 99), (old, 1)]);
            evidence.note_claim(VersionClaim::new(ClaimSource::Scheduler, old, 1), 0, Some(0));
            evidence.note_claim(VersionClaim::new(ClaimSource::Scheduler, v(31, 2), 2), 0, Some(0));
        });
        assert_eq!(with_scheduler.relation, Relation::Mixed, "there is other evidence");
    }
}

#[test]
fn only_the_overlap_of_a_gradual_upgrade_is_mixed() {
    let minute = 60_000_000;
    let times: Vec<(i64, KubeVersion)> = (0..=33)
        .map(|at| (at * minute, v(30, 4)))
        .chain((25..60).map(|at| (at * minute, v(31, 1))))
        .collect();
    for is_backwards in [false, true] {
        let upgrade = inferred_from(|evidence| {
            let mut times = times.clone();
            if is_backwards {
                times.reverse();
            }
            for (at, version) in times {
                evidence.note(ClaimSource::Loopback, version, 0, Some(at));
            }
        });
        assert_eq!(upgrade.relation, Relation::OverTime);
        let version_index = |at: i64| usize::from(upgrade.timeline.version_index(0, Some(at * minute)));
        let judged = |at| {
            (
                upgrade.timeline.versions[version_index(at)].version,
                upgrade.by_version_index[version_index(at)].to_string(),
            )
        };
        assert_eq!(judged(24), (v(30, 4), "1.30.4".to_owned()));
        assert_eq!(judged(30).0, v(31, 1));
        assert!(
            [v(30, 4), v(31, 1)].iter().all(|one| upgrade.by_version_index[version_index(30)].contains(*one))
        );
        assert_eq!(judged(34), (v(31, 1), "1.31.1".to_owned()));
        let note =
            "an upgrade from 1.30.4 to 1.31.1 between 1970-01-01 00:25:00 UTC and 1970-01-01 00:33:00 UTC";
        assert!(upgrade.notes.iter().any(|other| other.starts_with(note)), "{:?}", upgrade.notes);
    }
}
