//! Where clients stand in the report. It is known before they are put into its form, so that no finding is put into
//! words for which a page has no room.

use super::cases::Case;
use super::load::{Ties, rank};
use crate::apiserver::LimitVerdict;
use crate::judged::{ClientSummary, JudgedClients};
use crate::k8s::Verb;
use crate::rules::figures::count;

/// Findings that a report holds; all others are counted. One takes up to 8 KB.
pub const MAX_FINDINGS: usize = 10_000;

/// Which findings and shapes are shown; all others are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All of them.
    All,
    /// Of the first `n` cases the findings of the worst member; and shapes that are costly.
    Cases(usize),
    /// All shapes and no client's findings: tables of rows hold none.
    Rows,
}

/// The place of each account's client, the costliest first, by the account's index.
pub(super) fn places(accounts: &JudgedClients) -> Vec<usize> {
    let mut order: Vec<(_, usize)> = accounts
        .clients
        .iter()
        .enumerate()
        .map(|(index, account)| {
            let name = (account.identity(), account.kind(), account.impersonated_by());
            ((rank(accounts.load_of(account), ties(accounts, account)), name), index)
        })
        .collect();
    order.sort_unstable();
    let mut places = vec![0; order.len()];
    for (place, (_, index)) in order.into_iter().enumerate() {
        places[index] = place;
    }
    places
}

/// What decides between clients of the same load.
fn ties(accounts: &JudgedClients, account: &ClientSummary) -> Ties {
    let mut ties = Ties::default();
    for (key, entry) in &account.entries {
        let requests = accounts.requests_of(entry);
        ties.requests += requests;
        if key.verb == Some(Verb::List) {
            ties.limit_ignored += if key.limit == LimitVerdict::Ignored { requests } else { 0 };
            ties.etcd_lists += if key.is_from_etcd() { requests } else { 0 };
        }
    }
    ties
}

impl Detail {
    /// Whether shapes that are not costly are shown too.
    pub(super) fn has_all_shapes(self) -> bool {
        !matches!(self, Self::Cases(_))
    }

    /// Which of so many findings are shown: of the first cases those of the worst member.
    pub(super) fn is_shown(self, cases: &[Case], findings: usize) -> Vec<bool> {
        let wanted = match self {
            Self::All if findings <= MAX_FINDINGS => return vec![true; findings],
            Self::All => return first_findings(cases, findings, MAX_FINDINGS),
            Self::Rows => 0,
            Self::Cases(wanted) => wanted,
        };
        let mut is_shown = vec![false; findings];
        for case in cases.iter().take(wanted) {
            case.findings[..case.of_worst].iter().for_each(|at| is_shown[*at] = true);
        }
        is_shown
    }

    /// A note, if findings were left out.
    pub(super) fn note(self, is_shown: &[bool]) -> Option<String> {
        let held = is_shown.iter().filter(|is_shown| **is_shown).count();
        (self == Self::All && held < is_shown.len()).then(|| {
            format!(
                "the report holds the first {} of {} findings, in the order of cases; to see the others, select rules \
                 (--select) or filter clients (--client, --user)",
                count(held as u64),
                count(is_shown.len() as u64)
            )
        })
    }
}

/// The first `most` findings: those of the worst member of each case, then the others.
fn first_findings(cases: &[Case], findings: usize, most: usize) -> Vec<bool> {
    let mut is_shown = vec![true; findings];
    let mut left = most;
    let of_worst = cases.iter().flat_map(|case| &case.findings[..case.of_worst]);
    for at in of_worst.chain(cases.iter().flat_map(|case| &case.findings[case.of_worst..])) {
        is_shown[*at] = left > 0;
        left = left.saturating_sub(1);
    }
    is_shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::judged::Load;
    use crate::rules::Severity;

    /// A case whose first finding is the worst member's.
    fn case(findings: Vec<usize>) -> Case {
        Case {
            severity: Severity::Warning,
            client: None,
            members: "client",
            accounts: BTreeSet::from([0, 1]),
            worst: Vec::new(),
            findings,
            of_worst: 1,
            is_on_sum: false,
            resources: 1,
            rules: Vec::new(),
            resource: None,
            requests: 1,
            peak_per_minute: 1.0,
            load: Load::default(),
            fingerprint: String::new(),
            source: None,
        }
    }

    #[test]
    fn a_report_that_leaves_findings_out_has_a_note() {
        assert!(Detail::All.note(&[true; 3]).is_none());
        let note = Detail::All.note(&[true, false, true]).expect("one is left out");
        assert!(note.starts_with("the report holds the first 2 of 3 findings"), "{note}");
        assert!(Detail::Rows.note(&[false]).is_none(), "a table never has findings");
    }

    #[test]
    fn the_first_findings_are_those_of_the_worst_members_in_the_order_of_cases() {
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
        let is_shown = Detail::All.is_shown(&all, too_many);
        assert_eq!(is_shown.iter().position(|is_shown| !is_shown), Some(0), "the last one of the case");
        assert_eq!(is_shown.iter().filter(|is_shown| **is_shown).count(), MAX_FINDINGS);
    }
}
