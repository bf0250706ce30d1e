//! All rows that rules evaluate, indexed for fast matching.
//!
//! Many rows share a request shape or a client. The variables `request.*` and `server.*` are evaluated once for each
//! distinct shape, `client.*` once for each client and product. Matching then compares small numbers instead of
//! strings.

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::facts::{CLIENT, REQUEST, RowFacts, SERVER};
use super::group::ClientTotals;
use super::programs::Programs;
use super::row_ids::{IndexedRows, RowIds};
use super::rule::{Rule, RuleGroupBy};
use super::value::VariableValue;
use super::variables::{Root, VariableRef};
use crate::judged::JudgedClients;

/// All rows, and the indices over them.
pub(super) struct Rows<'a> {
    pub(super) totals: ClientTotals<'a>,
    pub(super) facts: Vec<RowFacts<'a>>,
    /// The ids of each row, by its index.
    pub(super) ids: Vec<RowIds>,
    /// For each request id: the index of one of its rows, and a number for its resource.
    pub(super) requests: Vec<(u32, u32)>,
    /// For each client id: the index of one of its rows.
    pub(super) clients: Vec<u32>,
    pub(super) programs: Programs,
    columns: HashMap<VariableRef, FactColumn, FxBuildHasher>,
    orders: Vec<(RuleGroupBy, GroupedRows)>,
}

/// Pairs of group number and row index. Rows of a group are adjacent and in row order.
pub(super) type GroupedRows = Vec<(u32, u32)>;

/// Which id of a row determines a variable's value: the client id (`client.*`) or the request id (`request.*`,
/// `server.*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FactKey {
    Request,
    Client,
}

impl FactKey {
    pub(super) fn new(variable: VariableRef) -> Self {
        if variable.root == Root::Client { Self::Client } else { Self::Request }
    }

    pub(super) fn number(self, ids: &RowIds) -> usize {
        match self {
            Self::Request => ids.request_id as usize,
            Self::Client => ids.client_id as usize,
        }
    }
}

/// The values of one variable for all rows, as numbers: equal values have the same number. `by` is a kind of id.
/// `ids` contains the number of the value for each id of this kind.
pub(super) struct FactColumn {
    by: FactKey,
    ids: Vec<u32>,
    pub(super) distinct: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(judged: &'a JudgedClients, rules: &[Rule]) -> Self {
        let (totals, indexed) = rayon::join(|| ClientTotals::new(judged), || IndexedRows::new(judged));
        let IndexedRows { facts, ids, requests, clients } = indexed;
        let conjuncts =
            rules.iter().filter_map(|rule| rule.matches.as_ref()).flat_map(|matches| &matches.conjuncts);
        let mut wanted: Vec<VariableRef> =
            conjuncts.flat_map(|conjunct| conjunct.variables.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let column = |variable: VariableRef| {
            let values = |rows: &mut dyn Iterator<Item = u32>| {
                FactColumn::new(FactKey::new(variable), rows.map(|row| fact(variable, &facts[row as usize])))
            };
            match FactKey::new(variable) {
                FactKey::Request => values(&mut requests.iter().map(|(row, _)| *row)),
                FactKey::Client => values(&mut clients.iter().copied()),
            }
        };
        let columns: Vec<(VariableRef, FactColumn)> =
            wanted.into_par_iter().map(|variable| (variable, column(variable))).collect();
        let columns = columns.into_iter().collect();
        let mut groupings: Vec<RuleGroupBy> = Vec::new();
        for rule in rules.iter().filter(|rule| !rule.group_by.input) {
            let by = without_programs(rule.group_by);
            if !groupings.contains(&by) {
                groupings.push(by);
            }
        }
        let orders = groupings.into_par_iter().map(|by| (by, order(by, &ids, &requests))).collect();
        let programs = Programs::new(judged, &facts, &ids, &clients);
        Self { totals, facts, ids, requests, clients, programs, columns, orders }
    }

    /// Returns the rows grouped by a rule's `groupBy`.
    pub(super) fn order(&self, by: RuleGroupBy) -> &GroupedRows {
        let by = without_programs(by);
        let order = self.orders.iter().find(|(grouping, _)| *grouping == by);
        &order.expect("each rule has its order").1
    }

    /// Returns the column of a variable that a rule's `match` uses.
    pub(super) fn column(&self, variable: VariableRef) -> &FactColumn {
        &self.columns[&variable]
    }
}

/// Returns `groupBy` without `program`, which is a separate step.
fn without_programs(by: RuleGroupBy) -> RuleGroupBy {
    RuleGroupBy { program: false, ..by }
}

fn order(by: RuleGroupBy, ids: &[RowIds], requests: &[(u32, u32)]) -> GroupedRows {
    let key = |ids: &RowIds| -> u64 {
        // If the rule groups by shape and by resource, the shape's number suffices, because a shape has only one
        // resource. Rows are created shape by shape, so they are already nearly sorted by this number.
        let what = if by.shape {
            ids.shape
        } else if by.resource {
            requests[ids.request_id as usize].1
        } else {
            0
        };
        u64::from(what) << 32 | u64::from(if by.product { ids.client_id } else { 0 })
    };
    let mut order = GroupedRows::with_capacity(ids.len());
    let (mut row, mut group) = (0, 0);
    let mut keyed: Vec<(u64, u32)> = Vec::new();
    for of_client in ids.chunk_by(|a, b| a.client == b.client) {
        keyed.clear();
        keyed.extend(of_client.iter().zip(row..).map(|(ids, row)| (key(ids), row)));
        keyed.sort_unstable();
        for rows in keyed.chunk_by(|(a, _), (b, _)| a == b) {
            order.extend(rows.iter().map(|(_, row)| (group, *row)));
            group += 1;
        }
        row += u32::try_from(of_client.len()).unwrap_or(u32::MAX);
    }
    order
}

impl FactColumn {
    fn new<'v>(by: FactKey, values: impl Iterator<Item = VariableValue<'v>>) -> Self {
        let mut numbers: HashMap<VariableValue<'v>, u32, FxBuildHasher> = HashMap::default();
        let ids = values.map(|value| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(value).or_insert(next)
        });
        Self { by, ids: ids.collect(), distinct: numbers.len() }
    }

    /// Returns the number of the variable's value for a row. Rows with equal values get the same number.
    pub(super) fn id(&self, ids: &RowIds) -> usize {
        self.ids[self.by.number(ids)] as usize
    }
}

/// Returns the value of a variable for a row.
pub(super) fn fact<'r>(variable: VariableRef, row: &'r RowFacts<'_>) -> VariableValue<'r> {
    let names = match variable.root {
        Root::Client => CLIENT,
        Root::Request => REQUEST,
        _ => SERVER,
    };
    (names[variable.index].get)(row)
}
