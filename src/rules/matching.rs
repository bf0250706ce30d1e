//! Evaluates a rule's `match` for each row.
//!
//! The operands of the outermost `&&` that use only `request.*` and `server.*` are evaluated once for each request id.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::condition::{CheckedExpr, Condition};
use super::facts::RowFacts;
use super::rows::{Rows, fact};
use super::value::VariableValue;
use super::variables::Root;

/// CEL's results, cached by the values of the variables.
pub(super) type ResultCache<'v, A> = HashMap<Vec<VariableValue<'v>>, A, FxBuildHasher>;

/// Whether an operand holds, or the error of its evaluation.
pub(super) type EvalResult = Result<bool, String>;

/// Evaluates a rule's `match`. For most rows, one lookup suffices: the result of the operands that use only `request.*`
/// and `server.*`.
pub(super) struct Matcher<'r> {
    /// By request id: whether all of `request_conjuncts` hold.
    by_request: Vec<Option<EvalResult>>,
    request_conjuncts: Vec<CachedConjunct<'r>>,
    other_conjuncts: Vec<CachedConjunct<'r>>,
}

impl<'r> Matcher<'r> {
    pub(super) fn new(condition: &'r Condition, rows: &Rows<'_>) -> Self {
        let conjuncts = condition
            .conjuncts
            .iter()
            .map(|conjunct| CachedConjunct { conjunct, cache: ResultCache::default() });
        let (request_conjuncts, other_conjuncts) = conjuncts
            .partition(|one| one.conjunct.variables.iter().all(|variable| variable.root != Root::Client));
        Self { by_request: vec![None; rows.requests.len()], request_conjuncts, other_conjuncts }
    }

    /// Returns whether the match holds for a row. `run` evaluates an operand with CEL. If one operand is false, the
    /// match is false, even if another operand fails.
    #[inline]
    pub(super) fn holds(
        &mut self,
        row: u32,
        rows: &'r Rows<'_>,
        run: &mut impl FnMut(&CheckedExpr, &[VariableValue<'_>]) -> EvalResult,
    ) -> EvalResult {
        let request = rows.ids[row as usize].request_id as usize;
        let facts = &rows.facts[row as usize];
        let by_request =
            self.by_request[request].get_or_insert_with(|| all_hold(&mut self.request_conjuncts, facts, run));
        match by_request {
            Ok(false) => Ok(false),
            Ok(true) => all_hold(&mut self.other_conjuncts, facts, run),
            Err(error) => match all_hold(&mut self.other_conjuncts, facts, run) {
                Ok(true) => Err(error.clone()),
                other => other,
            },
        }
    }
}

fn all_hold<'r>(
    conjuncts: &mut [CachedConjunct<'r>],
    facts: &'r RowFacts<'_>,
    run: &mut impl FnMut(&CheckedExpr, &[VariableValue<'_>]) -> EvalResult,
) -> EvalResult {
    let mut failed = None;
    for conjunct in conjuncts {
        match conjunct.holds(facts, run) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(true), Err)
}

/// An operand of a match, with CEL's results.
struct CachedConjunct<'r> {
    conjunct: &'r CheckedExpr,
    cache: ResultCache<'r, EvalResult>,
}

impl<'r> CachedConjunct<'r> {
    fn holds(
        &mut self,
        facts: &'r RowFacts<'_>,
        run: &mut impl FnMut(&CheckedExpr, &[VariableValue<'_>]) -> EvalResult,
    ) -> EvalResult {
        let values = match self.conjunct.holds_natively(|variable| fact(variable, facts)) {
            Ok(holds) => return Ok(holds),
            Err(values) => values,
        };
        if let Some(cached) = self.cache.get(&values) {
            return cached.clone();
        }
        let holds = run(self.conjunct, &values);
        self.cache.insert(values, holds.clone());
        holds
    }
}
