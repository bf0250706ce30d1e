//! Facts of all rows as columns of small numbers: what a condition hangs on is compared without looking at a text.

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::facts::{CLIENT, Facts, REQUEST, SERVER};
use super::group::Whole;
use super::names::{NameRef, Root};
use super::rule::Rule;
use super::value::Value;
use crate::accounts::{Accounts, ProductRow};

/// What rules judge, in a form that is fast to judge.
pub(super) struct Rows<'a> {
    pub(super) whole: Whole<'a>,
    pub(super) facts: Vec<Facts<'a>>,
    /// By row: index of its account, and of its shape among all.
    pub(super) places: Vec<(u32, u32)>,
    pub(super) columns: HashMap<NameRef, Column, FxBuildHasher>,
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
        let wanted =
            rules.iter().filter_map(|rule| rule.matches.as_ref()).flat_map(|matches| matches.names.clone());
        let grouped = ["resource", "product"].map(named);
        let mut wanted: Vec<NameRef> = wanted.chain(grouped).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let columns: Vec<(NameRef, Column)> =
            wanted.into_par_iter().map(|name| (name, Column::of(name, &facts))).collect();
        Self { whole: Whole::of(accounts), facts, places, columns: columns.into_iter().collect() }
    }
}

/// The columns that groups are made by.
pub(super) fn named(name: &str) -> NameRef {
    let (root, names) = if name == "resource" { (Root::Request, REQUEST) } else { (Root::Client, CLIENT) };
    let index = names.iter().position(|fact| fact.name == name).expect("it is in the list");
    NameRef { root, index }
}

impl Column {
    fn of(name: NameRef, facts: &[Facts<'_>]) -> Self {
        let mut known: HashMap<Value<'static>, u32, FxBuildHasher> = HashMap::default();
        let mut column = Self { ids: Vec::with_capacity(facts.len()), values: Vec::new() };
        for row in facts {
            let value = fact(name, row);
            let id = known.get(&value).copied().unwrap_or_else(|| {
                let id = u32::try_from(column.values.len()).unwrap_or(u32::MAX);
                let owned = value.into_owned();
                column.values.push(owned.clone());
                known.insert(owned, id);
                id
            });
            column.ids.push(id);
        }
        column
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
