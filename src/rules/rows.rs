//! All rows that rules evaluate, indexed for fast matching.
//!
//! Many rows share a request shape. Conditions on `request.*` and `server.*` are evaluated once for each of them.

use rayon::prelude::*;

use super::facts::{CLIENT, REQUEST, RowFacts, SERVER};
use super::group::ClientTotals;
use super::programs::Programs;
use super::row_ids::{IndexedRows, RowIds};
use super::rule::{Rule, RuleGroupBy};
use super::value::VariableValue;
use super::variables::{Root, VariableRef};
use crate::judged::JudgedClients;

pub(super) struct Rows<'a> {
    pub(super) totals: ClientTotals<'a>,
    pub(super) facts: Vec<RowFacts<'a>>,
    pub(super) ids: Vec<RowIds>,
    /// For each request id: the index of one of its rows, and a number for its resource.
    pub(super) requests: Vec<(u32, u32)>,
    pub(super) programs: Programs,
    orders: Vec<(RuleGroupBy, GroupedRows)>,
}

/// Pairs of group number and row index. Rows of a group are adjacent and in row order.
pub(super) type GroupedRows = Vec<(u32, u32)>;

impl<'a> Rows<'a> {
    pub(super) fn new(judged: &'a JudgedClients, rules: &[Rule]) -> Self {
        let (totals, indexed) = rayon::join(|| ClientTotals::new(judged), || IndexedRows::new(judged));
        let IndexedRows { facts, ids, requests, clients } = indexed;
        let mut groupings: Vec<RuleGroupBy> = Vec::new();
        for rule in rules.iter().filter(|rule| !rule.group_by.input && !rule.group_by.budget) {
            let by = without_programs(rule.group_by);
            if !groupings.contains(&by) {
                groupings.push(by);
            }
        }
        let orders = groupings.into_par_iter().map(|by| (by, order(by, &ids, &requests))).collect();
        let programs = Programs::new(judged, &facts, &ids, &clients);
        Self { totals, facts, ids, requests, programs, orders }
    }

    /// Returns the rows grouped by a rule's `groupBy`.
    pub(super) fn order(&self, by: RuleGroupBy) -> &GroupedRows {
        let by = without_programs(by);
        let order = self.orders.iter().find(|(grouping, _)| *grouping == by);
        &order.expect("each rule has its order").1
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

/// Returns the value of a variable for a row.
pub(super) fn fact<'r>(variable: VariableRef, row: &'r RowFacts<'_>) -> VariableValue<'r> {
    let names = match variable.root {
        Root::Client => CLIENT,
        Root::Request => REQUEST,
        _ => SERVER,
    };
    (names[variable.index].get)(row)
}
