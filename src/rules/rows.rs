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

/// Which of the values of a fact each row has: numbers below that of the distinct ones.
pub(super) struct Column {
    pub(super) ids: Vec<u32>,
    pub(super) distinct: usize,
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
        let mut wanted: Vec<NameRef> = parts.flat_map(|part| part.names.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let columns: Vec<(NameRef, Column)> =
            wanted.into_par_iter().map(|name| (name, Column::of(name, &facts))).collect();
        Self { whole: Whole::of(accounts), facts, places, columns: columns.into_iter().collect() }
    }

    /// The column of a fact that a part of a match names.
    pub(super) fn column(&self, name: NameRef) -> &Column {
        &self.columns[&name]
    }
}

impl Column {
    fn of(name: NameRef, facts: &[Facts<'_>]) -> Self {
        let mut known: HashMap<Value<'_>, u32, FxBuildHasher> = HashMap::default();
        let mut ids = Vec::with_capacity(facts.len());
        let mut last: Option<(Value<'_>, u32)> = None;
        for row in facts {
            let value = fact(name, row);
            // Rows are in the order of their clients and shapes: most are like the one before.
            let id = match &last {
                Some((before, id)) if *before == value => *id,
                _ => {
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    let id = *known.entry(value.clone()).or_insert(next);
                    last = Some((value, id));
                    id
                }
            };
            ids.push(id);
        }
        Self { ids, distinct: known.len() }
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
