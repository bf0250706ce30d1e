//! From accounts to findings.
//!
//! A part of a match runs once for each distinct combination of the facts that it names, and its answer is remembered
//! by them: facts are columns of small numbers, so that the cost of a rule is a look-up a row.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::condition::{Condition, Part};
use super::facts::{CLIENT, Facts, REQUEST, SERVER};
use super::group::Group;
use super::input::{INPUT, InputFacts};
use super::names::{NameRef, Root, threshold_kind};
use super::rows::{By, Column, Place, Rows, fact};
use super::rule::{Rule, Severity};
use super::stats::STATS;
use super::value::{Kind, Value};
use super::write;
use super::{Finding, Suppression};
use crate::accounts::Accounts;
use crate::ledger::InputCounts;

/// What rules found.
#[derive(Debug, Default)]
pub struct Judged {
    /// The findings, by rule.
    pub findings: Vec<Finding>,
    /// Findings that a suppression holds back, with the suppression's index.
    pub suppressed: Vec<(usize, Finding)>,
    /// Suppressions that cover a row of a finding.
    pub used: BTreeSet<usize>,
    /// Conditions and texts that failed on a value, in words.
    pub failures: Vec<String>,
    /// How often CEL was asked.
    pub runs: u64,
}

/// Judges.
#[must_use]
pub fn judge(
    accounts: &Accounts,
    input: &InputCounts,
    rules: &[Rule],
    suppressions: &[Suppression],
) -> Judged {
    let rows = Rows::new(accounts, rules);
    let input = InputFacts::of(input, &rows.whole);
    let judged: Vec<Judged> = rules
        .par_iter()
        .map(|rule| {
            let mut one = OneRule { rule, rows: &rows, suppressions, judged: Judged::default() };
            if rule.group_by.input {
                one.judge_input(&input);
            } else {
                one.judge_rows();
            }
            one.judged
        })
        .collect();
    judged.into_iter().fold(Judged::default(), |mut all, one| {
        all.findings.extend(one.findings);
        all.suppressed.extend(one.suppressed);
        all.used.extend(one.used);
        all.failures.extend(one.failures);
        all.runs += one.runs;
        all
    })
}

/// The word of a name.
pub(super) fn word(name: NameRef, rule: &Rule) -> String {
    match name.root {
        Root::Client => CLIENT[name.index].name.to_owned(),
        Root::Request => REQUEST[name.index].name.to_owned(),
        Root::Server => SERVER[name.index].name.to_owned(),
        Root::Stats => STATS[name.index].name.to_owned(),
        Root::Input => INPUT[name.index].name.to_owned(),
        Root::Threshold => rule.thresholds[name.index].0.clone(),
    }
}

/// A threshold's value.
#[allow(clippy::cast_possible_truncation, reason = "whole numbers of a rule file come from an i64")]
pub(super) fn threshold(value: f64) -> Value<'static> {
    if threshold_kind(value) == Kind::Int { Value::Int(value as i64) } else { Value::Double(value) }
}

/// CEL's answers to values.
type Memo<'v, A> = HashMap<Vec<Value<'v>>, A, FxBuildHasher>;
/// CEL's answers of each level.
type Levels = [Memo<'static, bool>];

/// A part of a rule's match, and the answers to it.
struct PartOfMatch<'r> {
    part: &'r Part,
    table: Option<Table<'r>>,
    memo: Memo<'r, Answer>,
}

/// Whether a part holds, or why that can't be told.
type Answer = Result<bool, String>;

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

/// What rows are judged together by: numbers of their account, resource, asker and shape, 0 for what a rule does not
/// tell apart.
type GroupKey = [u32; 4];

struct OneRule<'r, 'a> {
    rule: &'r Rule,
    rows: &'r Rows<'a>,
    suppressions: &'r [Suppression],
    judged: Judged,
}

impl<'r> OneRule<'r, '_> {
    fn judge_input(&mut self, input: &InputFacts) {
        let value = |name: NameRef| match name.root {
            Root::Threshold => threshold(self.rule.thresholds[name.index].1),
            _ => (INPUT[name.index].get)(input),
        };
        let mut held = None;
        for (severity, condition) in &self.rule.levels {
            let holds = condition.tell(value).unwrap_or_else(|| {
                let values: Vec<Value<'_>> = condition.names.iter().map(|name| value(*name)).collect();
                self.run(condition, &values)
            });
            if holds {
                held = Some(*severity);
                break;
            }
        }
        let Some(severity) = held.map(|held| self.rule.fixed_severity.unwrap_or(held)) else { return };
        let suppressed_by = self.suppressions.iter().position(|one| one.covers_input(self.rule));
        self.judged.used.extend(suppressed_by);
        self.keep(write::on_input(self.rule, severity, input), suppressed_by);
    }

    fn judge_rows(&mut self) {
        let matched = self.matched();
        let keyed = self.keyed(matched);
        let mut memos: Vec<Memo<'static, bool>> = self.rule.levels.iter().map(|_| Memo::default()).collect();
        let all = self.rows;
        for rows in groups(&keyed) {
            let facts: Vec<&'r Facts<'r>> = rows.iter().map(|(_, row)| &all.facts[*row as usize]).collect();
            let ([account, ..], _) = rows[0];
            let group = Group::new(facts, account as usize, &all.whole);
            let Some(severity) = self.level(&group, &mut memos) else { continue };
            self.found(&group, severity, &mut memos);
        }
    }

    /// A finding, or what of it no suppression holds back.
    fn found(&mut self, group: &Group<'r>, severity: Severity, memos: &mut Levels) {
        if self.suppressions.is_empty() {
            return self.write(group, severity, None);
        }
        let of = |facts: &Facts<'_>| -> Vec<usize> {
            let all = self.suppressions.iter().enumerate();
            all.filter(|(_, one)| one.covers(self.rule, facts)).map(|(index, _)| index).collect()
        };
        let covering: Vec<Vec<usize>> = group.rows.iter().map(|facts| of(facts)).collect();
        let Some(first) = covering.iter().flatten().min().copied() else {
            return self.write(group, severity, None);
        };
        self.judged.used.extend(covering.iter().flatten());
        let part = |is_covered: bool| -> Vec<&'r Facts<'r>> {
            let rows = group.rows.iter().zip(&covering);
            rows.filter(|(_, by)| by.is_empty() != is_covered).map(|(facts, _)| *facts).collect()
        };
        let whole = &self.rows.whole;
        self.write(&Group::new(part(true), group.account, whole), severity, Some(first));
        let rest = part(false);
        if !rest.is_empty() {
            let rest = Group::new(rest, group.account, whole);
            if let Some(severity) = self.level(&rest, memos) {
                self.write(&rest, severity, None);
            }
        }
    }

    fn write(&mut self, group: &Group<'_>, severity: Severity, suppressed_by: Option<usize>) {
        let severity = self.rule.fixed_severity.unwrap_or(severity);
        self.keep(write::on_group(self.rule, severity, group), suppressed_by);
    }

    fn keep(&mut self, written: (Finding, Vec<String>), suppressed_by: Option<usize>) {
        let (finding, failures) = written;
        self.judged.failures.extend(failures);
        match suppressed_by {
            None => self.judged.findings.push(finding),
            Some(index) => self.judged.suppressed.push((index, finding)),
        }
    }

    /// The rows that the rule is about.
    fn matched(&mut self) -> Vec<u32> {
        let count = u32::try_from(self.rows.facts.len()).unwrap_or(u32::MAX);
        let Some(condition) = &self.rule.matches else { return (0..count).collect() };
        let mut parts: Vec<PartOfMatch<'_>> =
            condition.parts.iter().map(|part| PartOfMatch::new(part, self.rows)).collect();
        // First what is only looked up: it settles most.
        parts.sort_by_key(|part| part.table.is_none());
        let rows = self.rows;
        (0..count)
            .filter(|row| {
                // A part that does not hold settles it, even if another can't be told.
                let mut failed = None;
                for part in &mut parts {
                    match part.holds(*row, rows, &mut |part, values| self.run_part(part, values)) {
                        Ok(true) => {}
                        Ok(false) => return false,
                        Err(error) => failed = Some(error),
                    }
                }
                if let Some(error) = &failed {
                    self.fail(&condition.source, error);
                }
                failed.is_none()
            })
            .collect()
    }

    fn run_part(&mut self, part: &Part, values: &[Value<'_>]) -> Result<bool, String> {
        self.judged.runs += 1;
        part.evaluate(values, |name| word(name, self.rule))
    }

    fn fail(&mut self, source: &str, error: &str) {
        let failure = format!("{}: '{source}': {error}", self.rule.id);
        if !self.judged.failures.contains(&failure) {
            self.judged.failures.push(failure);
        }
    }

    fn run(&mut self, condition: &Condition, values: &[Value<'_>]) -> bool {
        self.judged.runs += 1;
        let result = condition.evaluate(values, |name| word(name, self.rule));
        result.unwrap_or_else(|error| {
            self.fail(&condition.source, &error);
            false
        })
    }

    /// Rows with what they are judged together by, those of a group together and in their order.
    fn keyed(&self, matched: Vec<u32>) -> Vec<(GroupKey, u32)> {
        let by = self.rule.group_by;
        let keyed = matched.into_iter().map(|row| {
            let Place { account, shape, form, asker } = self.rows.places[row as usize];
            let resource = if by.resource { self.rows.forms[form as usize].1 } else { 0 };
            let key =
                [account, resource, if by.product { asker } else { 0 }, if by.shape { shape } else { 0 }];
            (key, row)
        });
        let mut keyed: Vec<(GroupKey, u32)> = keyed.collect();
        keyed.sort_unstable();
        keyed
    }

    /// The worst level that holds.
    fn level(&mut self, group: &Group<'_>, memos: &mut Levels) -> Option<Severity> {
        // Without requests there is nothing to find, whatever a level says.
        if group.requests() == 0 {
            return None;
        }
        let rule = self.rule;
        for ((severity, condition), memo) in rule.levels.iter().zip(memos) {
            let value = |name: NameRef| match name.root {
                Root::Stats => (STATS[name.index].get)(group),
                Root::Threshold => threshold(rule.thresholds[name.index].1),
                _ => fact(name, group.leading()),
            };
            let holds = condition.tell(value).unwrap_or_else(|| {
                let values: Vec<Value<'static>> =
                    condition.names.iter().map(|name| value(*name).into_owned()).collect();
                memo.get(&values).copied().unwrap_or_else(|| {
                    let holds = self.run(condition, &values);
                    memo.insert(values, holds);
                    holds
                })
            });
            if holds {
                return Some(*severity);
            }
        }
        None
    }
}

/// Groups, in the order of their first rows.
fn groups(keyed: &[(GroupKey, u32)]) -> Vec<&[(GroupKey, u32)]> {
    let mut groups: Vec<_> = keyed.chunk_by(|(a, _), (b, _)| a == b).collect();
    groups.sort_unstable_by_key(|rows| rows[0].1);
    groups
}
