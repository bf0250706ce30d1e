//! Evaluates a rule's `match` for each row.
//!
//! The results of each operand of the outermost `&&` are cached separately, by the values of its variables. These
//! values are numbered from 0 (see [`FactColumn`]), so a row usually costs one lookup.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::condition::{Condition, Conjunct};
use super::facts::RowFacts;
use super::row_ids::RowIds;
use super::rows::{FactColumn, FactKey, Rows, fact};
use super::value::VariableValue;

/// CEL's results, cached by the values of the variables.
pub(super) type ResultCache<'v, A> = HashMap<Vec<VariableValue<'v>>, A, FxBuildHasher>;

/// Evaluates a rule's `match`. For most rows, one lookup suffices: the result of the operands that use only `request.*`
/// and `server.*`.
pub(super) struct Matcher<'r> {
    /// By request id: whether all of `request_conjuncts` hold.
    by_request: Vec<CachedResult>,
    request_conjuncts: Vec<CachedConjunct<'r>>,
    other_conjuncts: Vec<CachedConjunct<'r>>,
}

impl<'r> Matcher<'r> {
    pub(super) fn new(condition: &'r Condition, rows: &'r Rows<'_>) -> Self {
        let conjuncts = condition.conjuncts.iter().map(|conjunct| CachedConjunct::new(conjunct, rows));
        let (request_conjuncts, mut others): (Vec<_>, Vec<_>) =
            conjuncts.partition(CachedConjunct::is_by_request);
        // Operands with a table come first: they are cheap and decide most rows.
        others.sort_by_key(|conjunct| conjunct.table.is_none());
        Self {
            by_request: vec![CachedResult::NotYet; rows.requests.len()],
            request_conjuncts,
            other_conjuncts: others,
        }
    }

    /// Returns whether the match holds for a row. `run` evaluates an operand with CEL. If one operand is false, the
    /// match is false, even if another operand fails.
    #[inline]
    pub(super) fn holds(
        &mut self,
        row: u32,
        rows: &'r Rows<'_>,
        run: &mut impl FnMut(&Conjunct, &[VariableValue<'_>]) -> EvalResult,
    ) -> EvalResult {
        let request = rows.ids[row as usize].request_id as usize;
        let by_request = match self.by_request[request] {
            CachedResult::No => return Ok(false),
            CachedResult::Yes => Ok(true),
            CachedResult::NotYet => {
                let result = all_hold(&mut self.request_conjuncts, row, rows, run);
                if let Ok(holds) = result {
                    self.by_request[request] = if holds { CachedResult::Yes } else { CachedResult::No };
                }
                result
            }
        };
        match by_request {
            Ok(false) => Ok(false),
            Ok(true) => all_hold(&mut self.other_conjuncts, row, rows, run),
            Err(error) => match all_hold(&mut self.other_conjuncts, row, rows, run) {
                Ok(true) => Err(error),
                other => other,
            },
        }
    }
}

fn all_hold<'r>(
    conjuncts: &mut [CachedConjunct<'r>],
    row: u32,
    rows: &'r Rows<'_>,
    run: &mut impl FnMut(&Conjunct, &[VariableValue<'_>]) -> EvalResult,
) -> EvalResult {
    let mut failed = None;
    for conjunct in conjuncts {
        match conjunct.holds(row, rows, run) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(true), Err)
}

/// An operand of a match, with its cached results.
struct CachedConjunct<'r> {
    conjunct: &'r Conjunct,
    table: Option<ResultTable<'r>>,
    cache: ResultCache<'r, EvalResult>,
}

/// Whether an operand holds, or the error of its evaluation.
pub(super) type EvalResult = Result<bool, String>;

/// Cached results of an operand, in a flat table.
struct ResultTable<'r> {
    by: TableKey<'r>,
    results: Vec<CachedResult>,
}

/// How the table's index is computed: from one id of a row, or from the values of the operand's variables.
enum TableKey<'r> {
    Ids(FactKey),
    Columns(Vec<&'r FactColumn>),
}

#[derive(Clone, Copy, PartialEq)]
enum CachedResult {
    NotYet,
    No,
    Yes,
}

/// The maximum number of entries of a table. Operands with more combinations of values use a hash map.
const LARGEST_TABLE: usize = 1 << 16;

impl<'r> ResultTable<'r> {
    fn new(conjunct: &Conjunct, rows: &'r Rows<'_>) -> Option<Self> {
        let uses_only = |by: FactKey| conjunct.variables.iter().all(|variable| FactKey::new(*variable) == by);
        let (by, size) = if uses_only(FactKey::Request) {
            (TableKey::Ids(FactKey::Request), rows.requests.len())
        } else if uses_only(FactKey::Client) {
            (TableKey::Ids(FactKey::Client), rows.clients.len())
        } else {
            let columns: Vec<&FactColumn> =
                conjunct.variables.iter().map(|variable| rows.column(*variable)).collect();
            let size = columns.iter().try_fold(1_usize, |size, column| size.checked_mul(column.distinct))?;
            (TableKey::Columns(columns), size)
        };
        let is_large = matches!(by, TableKey::Columns(_)) && size > LARGEST_TABLE;
        (!is_large).then(|| Self { by, results: vec![CachedResult::NotYet; size] })
    }

    fn result_of(&mut self, ids: &RowIds) -> &mut CachedResult {
        let at = match &self.by {
            TableKey::Ids(by) => by.number(ids),
            TableKey::Columns(columns) => {
                columns.iter().fold(0, |at, column| at * column.distinct + column.id(ids))
            }
        };
        &mut self.results[at]
    }
}

impl<'r> CachedConjunct<'r> {
    fn new(conjunct: &'r Conjunct, rows: &'r Rows<'_>) -> Self {
        Self { conjunct, table: ResultTable::new(conjunct, rows), cache: ResultCache::default() }
    }

    fn holds(
        &mut self,
        row: u32,
        rows: &'r Rows<'_>,
        run: &mut impl FnMut(&Conjunct, &[VariableValue<'_>]) -> EvalResult,
    ) -> EvalResult {
        let ids = &rows.ids[row as usize];
        let Some(cached) = self.table.as_mut().map(|table| *table.result_of(ids)) else {
            return self.evaluate(&rows.facts[row as usize], run);
        };
        if cached != CachedResult::NotYet {
            return Ok(cached == CachedResult::Yes);
        }
        let result = self.evaluate(&rows.facts[row as usize], run);
        if let (Some(table), Ok(holds)) = (&mut self.table, &result) {
            *table.result_of(ids) = if *holds { CachedResult::Yes } else { CachedResult::No };
        }
        result
    }

    fn is_by_request(&self) -> bool {
        self.table.as_ref().is_some_and(|table| matches!(table.by, TableKey::Ids(FactKey::Request)))
    }

    fn evaluate(
        &mut self,
        facts: &'r RowFacts<'_>,
        run: &mut impl FnMut(&Conjunct, &[VariableValue<'_>]) -> EvalResult,
    ) -> EvalResult {
        if let Some(holds) = self.conjunct.holds_natively(|variable| fact(variable, facts)) {
            return Ok(holds);
        }
        let values: Vec<VariableValue<'r>> =
            self.conjunct.variables.iter().map(|variable| fact(*variable, facts)).collect();
        if let Some(cached) = self.cache.get(&values) {
            return cached.clone();
        }
        let holds = run(self.conjunct, &values);
        self.cache.insert(values, holds.clone());
        holds
    }
}
