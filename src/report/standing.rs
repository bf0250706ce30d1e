//! Where clients stand in the report. It is known before they are put into its form, so that no finding is put into
//! words for which a page has no room.

use super::cases::Case;
use super::load::{Ties, rank};
use crate::accounts::{Account, Accounts};
use crate::apiserver::LimitVerdict;
use crate::k8s::Verb;
use crate::rules::figures::count;

/// Findings that a report holds; all others are counted. One takes up to 8 KB.
pub const MAX_FINDINGS: usize = 10_000;

/// Which findings and shapes are told; all others are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of them.
    All,
    /// Of the first twice so many cases the findings of the worst member; and shapes that are costly.
    Clients(usize),
    /// All shapes and no client's findings: tables of rows hold none.
    Rows,
}

/// The place of each account's client, the costliest first, by the account's index.
pub(super) fn places(accounts: &Accounts) -> Vec<usize> {
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
fn ties(accounts: &Accounts, account: &Account) -> Ties {
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

impl Shown {
    /// Whether shapes that are not costly are told too.
    pub(super) fn has_all_shapes(self) -> bool {
        !matches!(self, Self::Clients(_))
    }

    /// Which of so many findings are told: of the first cases those of the worst member.
    pub(super) fn told(self, cases: &[Case], findings: usize) -> Vec<bool> {
        let wanted = match self {
            Self::All if findings <= MAX_FINDINGS => return vec![true; findings],
            Self::All => return first_findings(cases, findings, MAX_FINDINGS),
            Self::Rows => 0,
            Self::Clients(wanted) => 2 * wanted.max(1),
        };
        let mut told = vec![false; findings];
        for case in cases.iter().take(wanted) {
            case.findings[..case.of_worst].iter().for_each(|at| told[*at] = true);
        }
        told
    }

    /// Says that a report that is meant to hold all findings does not.
    pub(super) fn note(self, told: &[bool]) -> Option<String> {
        let held = told.iter().filter(|told| **told).count();
        (self == Self::All && held < told.len()).then(|| {
            format!(
                "the report holds the first {} of {} findings in the order of cases; select rules (--select) or filter \
                 clients (--client, --user) to see the others",
                count(held as u64),
                count(told.len() as u64)
            )
        })
    }
}

/// So many findings: those of the worst member of each case, then the others.
fn first_findings(cases: &[Case], findings: usize, most: usize) -> Vec<bool> {
    let mut told = vec![true; findings];
    let mut left = most;
    let of_worst = cases.iter().flat_map(|case| &case.findings[..case.of_worst]);
    for at in of_worst.chain(cases.iter().flat_map(|case| &case.findings[case.of_worst..])) {
        told[*at] = left > 0;
        left = left.saturating_sub(1);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_too_many_findings_holds_the_first_and_says_so() {
        let shown = |told: &[bool]| told.iter().filter(|told| **told).count();
        assert!(Shown::All.note(&[true; 3]).is_none());
        let note = Shown::All.note(&[true, false, true]).expect("one is left out");
        assert!(note.starts_with("the report holds the first 2 of 3 findings"), "{note}");
        assert!(Shown::Rows.note(&[false]).is_none(), "a table never has findings");
        assert_eq!(shown(&Shown::All.told(&[], MAX_FINDINGS)), MAX_FINDINGS);
    }
}
