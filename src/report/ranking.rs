//! Orders clients and chooses findings before the report is built. So no text is built for a finding that is not shown.

use std::cmp::Reverse;

use super::cases::Case;
use super::v1;
use crate::apiserver::LimitVerdict;
use crate::judged::{ClientSummary, JudgedClients, LoadUnit, RequestLoad};
use crate::k8s::Verb;
use crate::rules::figures::count;

/// The maximum number of findings in a report. Other findings are only counted. A finding takes up to 8 KB.
pub(crate) const MAX_FINDINGS: usize = 10_000;

/// How many findings and shapes the report holds. The others are only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// The number of cases with findings: those of the worst member in each of the first cases. `None` for all
    /// findings, up to [`MAX_FINDINGS`].
    pub cases: Option<usize>,
    /// Whether the report holds shapes that are not costly too.
    pub all_shapes: bool,
}

/// The unit of load, and the total load that shares are computed from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loads {
    pub(super) unit: LoadUnit,
    pub(super) total: u64,
}

impl Loads {
    pub(super) fn to_v1(self, load: RequestLoad) -> v1::Load {
        v1::Load {
            unit: self.unit.as_str(),
            amount: load.amount,
            share: share(load.amount, self.total),
            bound: load.bound.as_str(),
        }
    }
}

/// Returns the share of `part` in `total`, rounded to six decimals; `None` if `total` is 0.
#[allow(clippy::cast_precision_loss, reason = "six decimals are kept")]
fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| (part as f64 / total as f64 * 1e6).round() / 1e6)
}

pub(super) fn ranking(unit: LoadUnit, handled_unit: Option<&'static str>) -> v1::Ranking {
    v1::Ranking {
        basis: if handled_unit.is_some() { "inventory" } else { "latency" }.to_owned(),
        unit: unit.as_str(),
        by: ["load", "etcdLists", "limitIgnored", "requests"].map(str::to_owned).to_vec(),
        handled_unit,
    }
}

/// Returns the position of each client in the report, by the client's index, and the loads of all clients. The client
/// with the most load comes first.
pub(super) fn positions(judged_clients: &JudgedClients) -> (Vec<usize>, Loads) {
    let mut loads = Loads { unit: judged_clients.measure.unit, total: 0 };
    let ranked = judged_clients.clients.iter().enumerate().map(|(index, summary)| {
        let name = (summary.identity(), summary.kind(), summary.impersonated_by());
        let rank = rank(judged_clients, summary);
        loads.total = loads.total.saturating_add(rank.0[0]);
        (rank, name, index)
    });
    let mut order: Vec<_> = ranked.collect();
    order.sort_unstable();
    let mut positions = vec![0; order.len()];
    for (position, (.., index)) in order.into_iter().enumerate() {
        positions[index] = position;
    }
    (positions, loads)
}

/// Returns the sort key of a client, with the numbers in the order of [`ranking`]. The smallest key comes first.
fn rank(judged_clients: &JudgedClients, summary: &ClientSummary) -> Reverse<[u64; 4]> {
    let (mut etcd_lists, mut limit_ignored, mut all) = (0, 0, 0);
    for (key, shape) in &summary.shapes {
        let requests = judged_clients.requests_of(shape);
        all += requests;
        if key.verb == Some(Verb::List) {
            limit_ignored += if key.limit == LimitVerdict::Ignored { requests } else { 0 };
            etcd_lists += if key.is_from_etcd() { requests } else { 0 };
        }
    }
    Reverse([judged_clients.load_of(summary).amount, etcd_lists, limit_ignored, all])
}

impl Detail {
    pub const ALL: Self = Self { cases: None, all_shapes: true };

    /// Returns for each finding whether the report shows it.
    pub(super) fn is_shown(self, cases: &[Case], findings: usize) -> Vec<bool> {
        let wanted = match self.cases {
            None if findings <= MAX_FINDINGS => return vec![true; findings],
            None => return first_findings(cases, findings, MAX_FINDINGS),
            Some(wanted) => wanted,
        };
        let mut is_shown = vec![false; findings];
        for case in cases.iter().take(wanted) {
            case.findings[..case.worst_findings].iter().for_each(|at| is_shown[*at] = true);
        }
        is_shown
    }

    /// Returns a note if [`MAX_FINDINGS`] leaves findings out.
    pub(super) fn note(self, is_shown: &[bool]) -> Option<String> {
        let held = is_shown.iter().filter(|is_shown| **is_shown).count();
        (self.cases.is_none() && held < is_shown.len()).then(|| {
            format!(
                "the report holds the first {} of {} findings, in the order of cases; to see the others, select rules \
                 (--select) or filter clients (--client, --user)",
                count(held as u64),
                count(is_shown.len() as u64)
            )
        })
    }
}

/// Chooses the first `most` findings: first those of the worst member of each case, then the others.
fn first_findings(cases: &[Case], findings: usize, most: usize) -> Vec<bool> {
    let mut is_shown = vec![true; findings];
    let mut left = most;
    let worst_findings = cases.iter().flat_map(|case| &case.findings[..case.worst_findings]);
    for at in worst_findings.chain(cases.iter().flat_map(|case| &case.findings[case.worst_findings..])) {
        is_shown[*at] = left > 0;
        left = left.saturating_sub(1);
    }
    is_shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a case. Only its first finding belongs to the worst member.
    fn case(findings: Vec<usize>) -> Case {
        Case { findings, worst_findings: 1, ..Case::default() }
    }

    #[test]
    fn report_without_all_findings_has_a_note() {
        assert!(Detail::ALL.note(&[true; 3]).is_none());
        let note = Detail::ALL.note(&[true, false, true]).expect("one is left out");
        assert!(note.starts_with("the report holds the first 2 of 3 findings"), "{note}");
        assert!(Detail { cases: Some(0), ..Detail::ALL }.note(&[false]).is_none());
    }

    #[test]
    fn worst_findings_of_members_are_kept_first() {
        let cases = [case(vec![2, 0]), case(vec![1, 3])];
        let shown = |most| -> Vec<usize> {
            let is_shown = first_findings(&cases, 4, most);
            (0..4).filter(|at| is_shown[*at]).collect()
        };
        assert_eq!(
            [0, 1, 2, 3, 4].map(shown),
            [vec![], vec![2], vec![1, 2], vec![0, 1, 2], vec![0, 1, 2, 3]]
        );
        let too_many = MAX_FINDINGS + 1;
        let all = [case((0..too_many).rev().collect())];
        let is_shown = Detail::ALL.is_shown(&all, too_many);
        assert_eq!(is_shown.iter().position(|is_shown| !is_shown), Some(0), "the last one of the case");
        assert_eq!(is_shown.iter().filter(|is_shown| **is_shown).count(), MAX_FINDINGS);
    }
}
