//! Where clients stand in the report. It is known before they are put into its form, so that no finding is put into
//! words for which a page has no room.

use super::cases::Case;
use super::load::{Ties, rank};
use crate::accounts::{Account, Accounts};
use crate::apiserver::LimitVerdict;
use crate::k8s::Verb;

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
            Self::All => return vec![true; findings],
            Self::Rows => 0,
            Self::Clients(wanted) => 2 * wanted.max(1),
        };
        let mut told = vec![false; findings];
        for case in cases.iter().take(wanted) {
            case.findings[..case.of_worst].iter().for_each(|at| told[*at] = true);
        }
        told
    }
}
