//! Evaluates the rules: matches rows, groups them, checks levels, and renders the texts of findings that a report
//! shows.

use std::collections::{BTreeSet, HashSet};

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::condition::{CheckedExpr, Condition};
use super::facts::RowFacts;
use super::finding_texts;
use super::gates::{self, Gates, Worst};
use super::group::RowGroup;
use super::input::{INPUT, InputFacts};
use super::matching::{Matcher, ResultCache};
use super::programs::ProgramRow;
use super::rows::{Rows, fact};
use super::rule::{Rule, Severity};
use super::stats::STATS;
use super::value::VariableValue;
use super::variables::{Root, VariableRef, threshold_value};
use super::{Finding, HitRef, Suppression};
use crate::apiserver::LimitVerdict;
use crate::apiserver::resources::OTHER;
use crate::judged::JudgedClients;
use crate::k8s::Verb;
use crate::ledger::InputCounts;

#[derive(Debug, Default)]
pub struct RuleResults {
    /// Findings, in the order of the rules.
    pub findings: Vec<Finding>,
    /// Suppressed findings, each with the index of its suppression.
    pub(crate) suppressed: Vec<(usize, Finding)>,
    /// The indices of suppressions that cover a row of a finding. All other suppressions are unused.
    pub(crate) used: BTreeSet<usize>,
    /// Error messages of conditions and texts that failed on the values of a row or group.
    pub failures: Vec<String>,
    /// How often CEL evaluated a condition or one of its operands.
    pub runs: u64,
}

/// The id of the rule that reports requests that contradict their verdicts.
const CONTRADICTED: &str = "KT902";

#[must_use]
pub fn judge(
    clients: &JudgedClients,
    input: &InputCounts,
    rules: &[Rule],
    suppressions: &[Suppression],
) -> RuleResults {
    let input = RuleInput::new(clients, input, rules);
    let hits = Hits::new(&input, rules, suppressions);
    let all = vec![true; hits.refs().len()];
    hits.render(&all)
}

/// The rows and the facts on the input that rules evaluate.
pub(crate) struct RuleInput<'a> {
    rows: Rows<'a>,
    input: InputFacts<'a>,
}

impl<'a> RuleInput<'a> {
    pub(crate) fn new(clients: &'a JudgedClients, input: &'a InputCounts, rules: &[Rule]) -> Self {
        let rows = Rows::new(clients, rules);
        let input = InputFacts::new(input, clients);
        Self { rows, input }
    }
}

/// The findings of all rules, without texts. Rendering a finding takes longer than its evaluation, so the report first
/// chooses the findings that it shows.
pub(crate) struct Hits<'r> {
    input: &'r RuleInput<'r>,
    rules: &'r [Rule],
    /// One entry for each rule.
    judged: Vec<RuleOutcome<'r>>,
}

impl<'r> Hits<'r> {
    pub(crate) fn new(input: &'r RuleInput<'r>, rules: &'r [Rule], suppressions: &[Suppression]) -> Self {
        let judged = rules.par_iter().map(|rule| {
            let mut run = RuleRun { rule, rows: &input.rows, suppressions, outcome: RuleOutcome::default() };
            if rule.group_by.input {
                run.judge_input(&input.input);
            } else if !rule.group_by.budget {
                run.judge_rows();
            }
            run.outcome
        });
        Self { input, rules, judged: judged.collect() }
    }

    /// The findings that are not suppressed, in the order of the rules.
    pub(crate) fn refs(&self) -> Vec<HitRef<'_, 'r>> {
        let of_rule = |(rule, outcome): (&'r Rule, _)| {
            reported(outcome).map(move |hit: &Hit<'r>| HitRef {
                rule,
                severity: hit.severity,
                group: hit.group.as_ref(),
            })
        };
        self.rules.iter().zip(&self.judged).flat_map(of_rule).collect()
    }

    /// The identities of clients with a finding of [`CONTRADICTED`], including suppressed findings.
    pub(crate) fn contradicted(&self) -> HashSet<String> {
        let judged = self.rules.iter().zip(&self.judged).filter(|(rule, _)| rule.id == CONTRADICTED);
        let groups = judged.flat_map(|(_, outcome)| &outcome.hits).filter_map(|hit| hit.group.as_ref());
        let clients = &self.input.rows.totals.judged.clients;
        groups.flat_map(RowGroup::members).map(|client| clients[*client].identity()).collect()
    }

    pub(crate) fn gates(&self) -> Gates {
        let rows = &self.input.rows;
        let mut is_accepted: Vec<bool> = Vec::new();
        for row in self.judged.iter().flat_map(|outcome| &outcome.accepted) {
            is_accepted.resize(rows.facts.len(), false);
            is_accepted[*row] = true;
        }
        let count = |is_counted| gates::requests(is_counted, rows, &is_accepted);
        let worst = |group: &RowGroup<'_>| Worst {
            client: group.rows[0].client.identity(),
            shape: group.rows[0].key.name(),
            requests: group.requests(),
        };
        let by_rule = self.rules.iter().zip(&self.judged).map(|(rule, outcome)| {
            gates::findings(rule, reported(outcome).map(|hit| (hit.severity, hit.group.as_ref().map(worst))))
        });
        Gates {
            etcd_list: count(|key| key.verb == Some(Verb::List) && key.is_from_etcd()),
            etcd_get: count(|key| key.verb == Some(Verb::Get) && key.is_from_etcd()),
            limit_ignored: count(|key| key.verb == Some(Verb::List) && key.limit == LimitVerdict::Ignored),
            rules: by_rule.collect(),
        }
    }

    /// Renders the findings for which `is_chosen` is true. `is_chosen` has an entry for each of [`Hits::refs`].
    ///
    /// Suppressed findings are always rendered. The texts of a user's own rules are always rendered too, because they
    /// can fail on a value.
    pub(crate) fn render(self, is_chosen: &[bool]) -> RuleResults {
        let Self { input, rules, judged } = self;
        let mut all = RuleResults::default();
        let mut failures: Vec<Vec<String>> = Vec::new();
        let mut hits: Vec<(usize, Option<usize>, Hit<'_>)> = Vec::new();
        let mut number = 0..;
        for (at, outcome) in judged.into_iter().enumerate() {
            all.used.extend(outcome.used);
            all.runs += outcome.runs;
            failures.push(outcome.failures);
            for hit in outcome.hits {
                let own = if hit.suppressed_by.is_none() { number.next() } else { None };
                hits.push((at, own, hit));
            }
        }
        let is_chosen = |number: Option<usize>| number.is_none_or(|number| is_chosen[number]);
        hits.retain(|(at, number, _)| !rules[*at].is_embedded || is_chosen(*number));
        let rendered = hits.into_par_iter().map(|(at, number, hit)| {
            let (finding, failed) = match &hit.group {
                Some(group) => finding_texts::on_group(&rules[at], hit.severity, group),
                None => finding_texts::on_input(&rules[at], hit.severity, &input.input),
            };
            let finding = Finding { hit: number, ..finding };
            (at, failed, is_chosen(number).then_some((hit.suppressed_by, finding)))
        });
        let rendered: Vec<_> = rendered.collect();
        all.findings.reserve_exact(rendered.len());
        for (at, failed, chosen) in rendered {
            failures[at].extend(failed);
            match chosen {
                None => {}
                Some((None, finding)) => all.findings.push(finding),
                Some((Some(index), finding)) => all.suppressed.push((index, finding)),
            }
        }
        all.failures = failures.into_iter().flatten().collect();
        all
    }
}

/// The findings of a rule that are not suppressed.
fn reported<'h, 'r>(outcome: &'h RuleOutcome<'r>) -> impl Iterator<Item = &'h Hit<'r>> {
    outcome.hits.iter().filter(|hit| hit.suppressed_by.is_none())
}

/// The minimum number of matching requests of a client. Clients with fewer requests repeat nothing, so they do not
/// count for the sum of their program.
const REPEATS: u64 = 3;

#[derive(Default)]
struct RuleOutcome<'r> {
    hits: Vec<Hit<'r>>,
    used: BTreeSet<usize>,
    failures: Vec<String>,
    runs: u64,
    /// Matched rows that a suppression covers. Gates on requests leave them out.
    accepted: Vec<usize>,
}

/// A finding whose texts are not rendered yet.
struct Hit<'r> {
    severity: Severity,
    /// `None` for a finding on the input.
    group: Option<RowGroup<'r>>,
    suppressed_by: Option<usize>,
}

struct RuleRun<'r, 's> {
    rule: &'r Rule,
    rows: &'r Rows<'r>,
    suppressions: &'s [Suppression],
    outcome: RuleOutcome<'r>,
}

/// Cached CEL results of each level.
type Levels = Vec<ResultCache<'static, bool>>;

impl<'r> RuleRun<'r, '_> {
    fn judge_input(&mut self, input: &InputFacts<'_>) {
        let rule = self.rule;
        let value = |variable: VariableRef| match variable.root {
            Root::Threshold => threshold_value(rule.thresholds[variable.index].1),
            _ => (INPUT[variable.index].get)(input),
        };
        let highest = rule.levels.iter().find(|(_, condition)| {
            condition.whole.holds_natively(value).unwrap_or_else(|values| self.run(condition, &values))
        });
        let Some((severity, _)) = highest else { return };
        let suppressed_by =
            self.suppressions.iter().position(|suppression| suppression.covers_input(self.rule));
        self.outcome.used.extend(suppressed_by);
        self.add_hit(None, *severity, suppressed_by);
    }

    fn judge_rows(&mut self) {
        let is_matched = self.matched();
        let all = self.rows;
        self.accept(&is_matched);
        let order = all.order(self.rule.group_by).iter();
        let matched: Vec<(u32, u32)> = order.filter(|(_, row)| is_matched[*row as usize]).copied().collect();
        let mut levels: Levels = self.rule.levels.iter().map(|_| ResultCache::default()).collect();
        for rows in groups(&matched) {
            let facts: Vec<&'r RowFacts<'r>> =
                rows.iter().map(|(_, row)| &all.facts[*row as usize]).collect();
            let client = all.ids[rows[0].1 as usize].client;
            let group = RowGroup::new(facts, client as usize, &all.totals);
            let Some(severity) = self.level(&group, &mut levels) else { continue };
            self.add_group(group, severity, &mut levels);
        }
        if self.rule.group_by.program {
            self.judge_programs(&is_matched, &mut levels);
        }
    }

    /// Evaluates the rule for all clients of a program together. Reports a finding on the program only if its
    /// severity is higher than that of each client's own finding.
    ///
    /// Rows that a suppression covers and clients with fewer than [`REPEATS`] requests do not count.
    fn judge_programs(&mut self, is_matched: &[bool], levels: &mut Levels) {
        let (all, by) = (self.rows, self.rule.group_by);
        let is_covered = |row: u32| {
            self.suppressions
                .iter()
                .any(|suppression| suppression.covers(self.rule, &all.facts[row as usize]))
        };
        let rows = all.programs.rows.iter().filter(|one| is_matched[one.row as usize]);
        let rows = rows.filter(|one| !is_covered(one.row));
        let what = |one: &ProgramRow| {
            if by.shape {
                one.shape
            } else if by.resource {
                all.requests[all.ids[one.row as usize].request_id as usize].1
            } else {
                0
            }
        };
        let mut rows: Vec<(u32, u32, u32)> = rows.map(|one| (one.program, what(one), one.row)).collect();
        rows.sort_unstable();
        let mut alone: HashMap<*const RowFacts<'_>, Severity, FxBuildHasher> = HashMap::default();
        for hit in reported(&self.outcome) {
            for facts in hit.group.iter().flat_map(|group| &group.rows) {
                alone.insert(std::ptr::from_ref(*facts), hit.severity);
            }
        }
        for of_group in rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let facts = |row: u32| (&all.facts[row as usize], all.ids[row as usize].client as usize);
            let mut own: Vec<(&RowFacts<'_>, usize)> = of_group.iter().map(|(.., row)| facts(*row)).collect();
            let mut requests: HashMap<usize, u64, FxBuildHasher> = HashMap::default();
            for (facts, client) in &own {
                *requests.entry(*client).or_default() += facts.requests;
            }
            own.retain(|(_, client)| requests[client] >= REPEATS);
            if own.iter().all(|(_, client)| *client == own[0].1) {
                continue;
            }
            let program = &all.programs.all[of_group[0].0 as usize];
            let group = RowGroup::from_program(&own, program, &all.totals);
            let Some(severity) = self.level(&group, levels) else { continue };
            let severity = self.rule.fixed_severity.unwrap_or(severity);
            let of_members = own.iter().filter_map(|(facts, _)| alone.get(&std::ptr::from_ref(*facts))).max();
            if of_members.is_none_or(|worst| severity > *worst) {
                self.add_hit(Some(group), severity, None);
            }
        }
    }

    /// Records the rows that a suppression removes from the gates on requests.
    fn accept(&mut self, is_matched: &[bool]) {
        let rule = self.rule;
        let own: Vec<&Suppression> =
            self.suppressions.iter().filter(|suppression| rule.is_selected_by(&suppression.rule)).collect();
        if own.is_empty() || !gates::is_of_requests(rule) {
            return;
        }
        let rows =
            self.rows.facts.iter().zip(is_matched).enumerate().filter(|(_, (_, is_matched))| **is_matched);
        let covered =
            rows.filter(|(_, (facts, _))| own.iter().any(|suppression| suppression.covers(rule, facts)));
        self.outcome.accepted = covered.map(|(at, _)| at).collect();
    }

    /// Adds a finding. If suppressions cover some of its rows, these rows become a suppressed finding. The other rows
    /// are then evaluated again, and may become a finding of their own.
    fn add_group(&mut self, group: RowGroup<'r>, severity: Severity, levels: &mut Levels) {
        if self.suppressions.is_empty() {
            return self.add_hit(Some(group), severity, None);
        }
        let of = |facts: &RowFacts<'_>| -> Vec<usize> {
            let all = self.suppressions.iter().enumerate();
            all.filter(|(_, suppression)| suppression.covers(self.rule, facts))
                .map(|(index, _)| index)
                .collect()
        };
        let covering: Vec<Vec<usize>> = group.rows.iter().map(|facts| of(facts)).collect();
        let Some(first) = covering.iter().flatten().min().copied() else {
            return self.add_hit(Some(group), severity, None);
        };
        self.outcome.used.extend(covering.iter().flatten());
        let part = |is_covered: bool| -> Vec<&'r RowFacts<'r>> {
            let rows = group.rows.iter().zip(&covering);
            rows.filter(|(_, by)| by.is_empty() != is_covered).map(|(facts, _)| *facts).collect()
        };
        let totals = &self.rows.totals;
        self.add_hit(Some(RowGroup::new(part(true), group.client, totals)), severity, Some(first));
        let rest = part(false);
        if !rest.is_empty() {
            let rest = RowGroup::new(rest, group.client, totals);
            if let Some(severity) = self.level(&rest, levels) {
                self.add_hit(Some(rest), severity, None);
            }
        }
    }

    fn add_hit(&mut self, group: Option<RowGroup<'r>>, severity: Severity, suppressed_by: Option<usize>) {
        let severity = self.rule.fixed_severity.unwrap_or(severity);
        self.outcome.hits.push(Hit { severity, group, suppressed_by });
    }

    /// Returns for each row whether the rule matches it.
    fn matched(&mut self) -> Vec<bool> {
        let (rule, rows) = (self.rule, self.rows);
        // The row `(other resources)` mixes resources, so rules that group by resource skip it.
        let is_mixed = |facts: &RowFacts<'_>| facts.key.resource.as_deref() == Some(OTHER);
        let by_resource = rule.group_by.resource || rule.group_by.shape;
        let is_judged: Vec<bool> = rows.facts.iter().map(|facts| !(by_resource && is_mixed(facts))).collect();
        let Some(condition) = &rule.matches else { return is_judged };
        let mut matching = Matcher::new(condition, rows);
        let mut is_matched = vec![false; rows.facts.len()];
        for (row, is_matched) in (0..).zip(&mut is_matched) {
            match matching.holds(row, rows, &mut |part, values| self.evaluate(part, values)) {
                Ok(holds) => *is_matched = holds && is_judged[row as usize],
                Err(error) => self.fail(&condition.source, &error),
            }
        }
        is_matched
    }

    fn evaluate(&mut self, expr: &CheckedExpr, values: &[VariableValue<'_>]) -> Result<bool, String> {
        self.outcome.runs += 1;
        expr.evaluate(values, |variable| variable.name(&self.rule.thresholds).to_owned())
    }

    fn fail(&mut self, source: &str, error: &str) {
        let failure = format!("{}: '{source}': {error}", self.rule.id);
        if !self.outcome.failures.contains(&failure) {
            self.outcome.failures.push(failure);
        }
    }

    fn run(&mut self, condition: &Condition, values: &[VariableValue<'_>]) -> bool {
        self.evaluate(&condition.whole, values).unwrap_or_else(|error| {
            self.fail(&condition.source, &error);
            false
        })
    }

    /// Finds the highest severity whose condition holds.
    fn level(&mut self, group: &RowGroup<'_>, levels: &mut Levels) -> Option<Severity> {
        // A group without requests is never a finding, even if a level holds for it.
        if group.requests() == 0 {
            return None;
        }
        let (rule, stats) = (self.rule, STATS.as_slice());
        for ((severity, condition), cache) in rule.levels.iter().zip(levels) {
            let value = |variable: VariableRef| match variable.root {
                Root::Stats => (stats[variable.index].get)(group),
                Root::Threshold => threshold_value(rule.thresholds[variable.index].1),
                _ => fact(variable, group.representative()),
            };
            let holds = condition.whole.holds_natively(value).unwrap_or_else(|values| {
                let values: Vec<_> = values.into_iter().map(VariableValue::into_owned).collect();
                cache.get(&values).copied().unwrap_or_else(|| {
                    let holds = self.run(condition, &values);
                    cache.insert(values, holds);
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

/// Splits rows into their groups, ordered by the first row of each group.
fn groups(matched: &[(u32, u32)]) -> Vec<&[(u32, u32)]> {
    let mut groups: Vec<_> = matched.chunk_by(|(a, _), (b, _)| a == b).collect();
    groups.sort_unstable_by_key(|rows| rows[0].1);
    groups
}
