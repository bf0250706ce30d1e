//! All rows, with what each is a part of: what rules judge. Facts that many conditions ask for are columns of small
//! numbers, so that an answer to one of their values is found without looking at a text.

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::facts::{CLIENT, Facts, REQUEST, SERVER};
use super::group::Whole;
use super::names::{NameRef, Root};
use super::rule::Rule;
use super::value::Value;
use crate::accounts::{Accounts, ProductRow};

/// What rules judge.
pub(super) struct Rows<'a> {
    pub(super) whole: Whole<'a>,
    pub(super) facts: Vec<Facts<'a>>,
    /// By row: index of its account, and of its shape among all.
    pub(super) places: Vec<(u32, u32)>,
    columns: HashMap<NameRef, Column, FxBuildHasher>,
}

/// The values of a fact: each distinct one once, and which of them each row has.
pub(super) struct Column {
    pub(super) ids: Vec<u32>,
    pub(super) values: Vec<Value<'static>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(accounts: &'a Accounts, rules: &[Rule]) -> Self {
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
        let parts = rules.iter().filter_map(|rule| rule.matches.as_ref()).flat_map(|matches| &matches.parts);
        let mut wanted: Vec<NameRef> = parts.filter_map(|part| part.only_name()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let columns: Vec<(NameRef, Column)> =
            wanted.into_par_iter().map(|name| (name, Column::of(name, &facts))).collect();
        Self { whole: Whole::of(accounts), facts, places, columns: columns.into_iter().collect() }
    }

    /// The column of a fact that a part of a match hangs on alone.
    pub(super) fn column(&self, name: NameRef) -> Option<&Column> {
        self.columns.get(&name)
    }
}

impl Column {
    fn of(name: NameRef, facts: &[Facts<'_>]) -> Self {
        let mut known: HashMap<Value<'_>, u32, FxBuildHasher> = HashMap::default();
        let mut ids = Vec::with_capacity(facts.len());
        let mut values: Vec<Value<'static>> = Vec::new();
        for row in facts {
            let value = fact(name, row);
            // Rows are in the order of their clients and shapes: most are like the one before.
            let before = ids.last().copied().filter(|id: &u32| values[*id as usize] == value);
            let id = before.or_else(|| known.get(&value).copied()).unwrap_or_else(|| {
                let id = u32::try_from(values.len()).unwrap_or(u32::MAX);
                values.push(value.clone().into_owned());
                known.insert(value, id);
                id
            });
            ids.push(id);
        }
        Self { ids, values }
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
