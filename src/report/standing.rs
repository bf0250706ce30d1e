//! Where clients stand in the report. It is known before they are put into its form, so that no finding is put into
//! words for which a page has no room.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::load::{Ties, rank};
use crate::accounts::{Account, Accounts};
use crate::apiserver::LimitVerdict;
use crate::k8s::Verb;
use crate::rules::OnAccount;

/// Which findings and shapes are told; all others are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of them.
    All,
    /// Findings of the first so many clients, and of so many more that there are twice as many of them; and shapes that
    /// are costly.
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

    /// The accounts whose findings are not told, if the clients stand so.
    pub(super) fn leave_out(self, mut on: Vec<OnAccount>, places: &[usize]) -> BTreeSet<usize> {
        let wanted = match self {
            Self::All => return BTreeSet::new(),
            Self::Rows => return on.iter().map(|one| one.account).collect(),
            Self::Clients(wanted) => wanted,
        };
        on.sort_unstable_by_key(|one| (Reverse(one.worst), places[one.account]));
        let mut told = 0;
        let is_left_out = |(before, one): (usize, OnAccount)| {
            let has_room = before < wanted.max(1) || told < 2 * wanted;
            told += one.findings;
            (!has_room).then_some(one.account)
        };
        on.into_iter().enumerate().filter_map(is_left_out).collect()
    }
}
