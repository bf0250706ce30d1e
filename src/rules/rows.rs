//! All rows, with what each is a part of: what rules judge.

use super::facts::{CLIENT, Facts, REQUEST, SERVER};
use super::group::Whole;
use super::names::{NameRef, Root};
use super::value::Value;
use crate::accounts::{Accounts, ProductRow};

/// What rules judge.
pub(super) struct Rows<'a> {
    pub(super) whole: Whole<'a>,
    pub(super) facts: Vec<Facts<'a>>,
    /// By row: index of its account, and of its shape among all.
    pub(super) places: Vec<(u32, u32)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(accounts: &'a Accounts) -> Self {
        let mut facts = Vec::new();
        let mut places = Vec::new();
        let mut shapes = 0;
        for (index, account) in accounts.clients.iter().enumerate() {
            for (key, entry) in &account.entries {
                for ProductRow { product, row, fit, pattern, slow_reads, cost, .. } in &entry.rows {
                    let (pattern, cost) = (pattern.as_deref(), cost.as_deref());
                    facts.push(Facts {
                        accounts,
                        account,
                        key,
                        entry,
                        product,
                        row,
                        fit,
                        pattern,
                        slow_reads,
                        cost,
                    });
                    places.push((u32::try_from(index).unwrap_or(u32::MAX), shapes));
                }
                shapes += 1;
            }
        }
        Self { whole: Whole::of(accounts), facts, places }
    }
}

/// A fact of a row.
pub(super) fn fact<'r>(name: NameRef, row: &'r Facts<'_>) -> Value<'r> {
    let names = match name.root {
        Root::Client => CLIENT,
        Root::Request => REQUEST,
        _ => SERVER,
    };
    (names[name.index].get)(row)
}
