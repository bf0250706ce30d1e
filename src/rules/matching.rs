//! A rule's match: its parts, each run once for each distinct combination of the facts that it names: its answers are
//! remembered by them. Facts are columns of small numbers, so that the cost of a match is a look-up a row.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::condition::{Condition, Part};
use super::facts::Facts;
use super::rows::{By, Column, Place, Rows, fact};
use super::value::Value;

/// CEL's answers to values.
pub(super) type Memo<'v, A> = HashMap<Vec<Value<'v>>, A, FxBuildHasher>;

/// A rule's match. What is told by the form of a row alone settles most rows, and takes one look.
pub(super) struct Matching<'r> {
    /// Whether all parts hold that are told so, by form.
    by_form: Vec<Known>,
    of_form: Vec<PartOfMatch<'r>>,
    others: Vec<PartOfMatch<'r>>,
}

impl<'r> Matching<'r> {
    pub(super) fn new(condition: &'r Condition, rows: &'r Rows<'_>) -> Self {
        let parts = condition.parts.iter().map(|part| PartOfMatch::new(part, rows));
        let (of_form, mut others): (Vec<_>, Vec<_>) = parts.partition(PartOfMatch::is_by_form);
        // First what is only looked up: it settles most.
        others.sort_by_key(|part| part.table.is_none());
        Self { by_form: vec![Known::NotYet; rows.forms.len()], of_form, others }
    }

    /// Whether all parts hold for a row; `run` asks CEL. A part that does not hold settles it, even if another can't be
    /// told.
    #[inline]
    pub(super) fn holds(
        &mut self,
        row: u32,
        rows: &'r Rows<'_>,
        run: &mut impl FnMut(&Part, &[Value<'_>]) -> Answer,
    ) -> Answer {
        let form = rows.places[row as usize].form as usize;
        let by_form = match self.by_form[form] {
            Known::No => return Ok(false),
            Known::Yes => Ok(true),
            Known::NotYet => {
                let answer = all_hold(&mut self.of_form, row, rows, run);
                if let Ok(holds) = answer {
                    self.by_form[form] = if holds { Known::Yes } else { Known::No };
                }
                answer
            }
        };
        match by_form {
            Ok(false) => Ok(false),
            Ok(true) => all_hold(&mut self.others, row, rows, run),
            Err(error) => match all_hold(&mut self.others, row, rows, run) {
                Ok(true) => Err(error),
                other => other,
            },
        }
    }
}

fn all_hold<'r>(
    parts: &mut [PartOfMatch<'r>],
    row: u32,
    rows: &'r Rows<'_>,
    run: &mut impl FnMut(&Part, &[Value<'_>]) -> Answer,
) -> Answer {
    let mut failed = None;
    for part in parts {
        match part.holds(row, rows, run) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(true), Err)
}

/// A part of a rule's match, and the answers to it.
struct PartOfMatch<'r> {
    part: &'r Part,
    table: Option<Table<'r>>,
    memo: Memo<'r, Answer>,
}

/// Whether a part holds, or why that can't be told.
pub(super) type Answer = Result<bool, String>;

/// Answers by what the facts that a part names are told by.
struct Table<'r> {
    by: Told<'r>,
    answers: Vec<Known>,
}

/// By one number of a row's place, or by the values of facts.
enum Told<'r> {
    Place(By),
    Columns(Vec<&'r Column>),
}

/// What is known of an answer.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    NotYet,
    No,
    Yes,
}

/// The most combinations of values that a table has room for.
const LARGEST_TABLE: usize = 1 << 16;

impl<'r> Table<'r> {
    fn new(part: &Part, rows: &'r Rows<'_>) -> Option<Self> {
        let told_by = |by: By| part.names.iter().all(|name| By::of(*name) == by);
        let (by, size) = if told_by(By::Form) {
            (Told::Place(By::Form), rows.forms.len())
        } else if told_by(By::Asker) {
            (Told::Place(By::Asker), rows.askers.len())
        } else {
            let columns: Vec<&Column> = part.names.iter().map(|name| rows.column(*name)).collect();
            let size = columns.iter().try_fold(1_usize, |size, column| size.checked_mul(column.distinct))?;
            (Told::Columns(columns), size)
        };
        let is_large = matches!(by, Told::Columns(_)) && size > LARGEST_TABLE;
        (!is_large).then(|| Self { by, answers: vec![Known::NotYet; size] })
    }

    fn of_row(&mut self, place: &Place) -> &mut Known {
        let at = match &self.by {
            Told::Place(by) => by.number(place),
            Told::Columns(columns) => {
                columns.iter().fold(0, |at, column| at * column.distinct + column.id(place))
            }
        };
        &mut self.answers[at]
    }
}

impl<'r> PartOfMatch<'r> {
    fn new(part: &'r Part, rows: &'r Rows<'_>) -> Self {
        Self { part, table: Table::new(part, rows), memo: Memo::default() }
    }

    fn holds(
        &mut self,
        row: u32,
        rows: &'r Rows<'_>,
        run: &mut impl FnMut(&Part, &[Value<'_>]) -> Answer,
    ) -> Answer {
        let place = &rows.places[row as usize];
        let Some(known) = self.table.as_mut().map(|table| *table.of_row(place)) else {
            return self.told(&rows.facts[row as usize], run);
        };
        if known != Known::NotYet {
            return Ok(known == Known::Yes);
        }
        let answer = self.told(&rows.facts[row as usize], run);
        if let (Some(table), Ok(holds)) = (&mut self.table, &answer) {
            *table.of_row(place) = if *holds { Known::Yes } else { Known::No };
        }
        answer
    }

    fn is_by_form(&self) -> bool {
        self.table.as_ref().is_some_and(|table| matches!(table.by, Told::Place(By::Form)))
    }

    fn told(&mut self, facts: &'r Facts<'_>, run: &mut impl FnMut(&Part, &[Value<'_>]) -> Answer) -> Answer {
        if let Some(holds) = self.part.tell(|name| fact(name, facts)) {
            return Ok(holds);
        }
        let values: Vec<Value<'r>> = self.part.names.iter().map(|name| fact(*name, facts)).collect();
        if let Some(known) = self.memo.get(&values) {
            return known.clone();
        }
        let holds = run(self.part, &values);
        self.memo.insert(values, holds.clone());
        holds
    }
}
