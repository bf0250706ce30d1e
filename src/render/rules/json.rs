//! Rules as JSON. The keys are those of a rule file, plus the policy's settings.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::render::escape::pretty_json;
use crate::rules::Rule;
use crate::rules::rule::{AudienceFix, Severity};
use crate::rules::text_template::TextTemplate;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleJson<'a> {
    id: &'a str,
    name: &'a str,
    summary: &'a str,
    #[serde(rename = "match")]
    matches: Option<&'a str>,
    group_by: Vec<&'static str>,
    thresholds: BTreeMap<&'a str, serde_json::Value>,
    levels: BTreeMap<&'static str, &'a str>,
    /// The severity that the policy file sets for all levels.
    severity: Option<&'static str>,
    message: &'a str,
    why: &'a str,
    fix: BTreeMap<&'static str, Vec<FixCaseJson<'a>>>,
    tradeoff: Option<&'a str>,
    quiet_for: Option<&'a str>,
    verify: Option<&'a str>,
    references: &'a [String],
}

#[derive(Debug, Serialize)]
struct FixCaseJson<'a> {
    when: Option<&'a str>,
    text: &'a str,
}

/// Renders rules as a JSON array.
#[must_use]
pub fn render(rules: &[Rule]) -> String {
    let rules: Vec<RuleJson<'_>> = rules.iter().map(rule_json).collect();
    pretty_json(&rules) + "\n"
}

fn rule_json(rule: &Rule) -> RuleJson<'_> {
    RuleJson {
        id: &rule.id,
        name: &rule.name,
        summary: &rule.summary,
        matches: rule.matches.as_ref().map(|condition| condition.source.as_str()),
        group_by: rule.group_by.words().collect(),
        thresholds: rule.threshold_values().map(|(name, value)| (name, value.to_json())).collect(),
        levels: rule.levels.iter().map(|(level, one)| (level.as_str(), one.source.as_str())).collect(),
        severity: rule.fixed_severity.map(Severity::as_str),
        message: rule.message.source(),
        why: &rule.why,
        fix: rule.fix.iter().map(|fix| (fix.audience.as_str(), fix_cases(fix))).collect(),
        tradeoff: rule.tradeoff.as_ref().map(TextTemplate::source),
        quiet_for: rule.quiet_for.as_deref(),
        verify: rule.verify.as_ref().map(TextTemplate::source),
        references: &rule.references,
    }
}

fn fix_cases(fix: &AudienceFix) -> Vec<FixCaseJson<'_>> {
    let cases = fix.cases.iter();
    cases
        .map(|(when, text)| FixCaseJson {
            when: when.as_ref().map(|when| when.source.as_str()),
            text: text.source(),
        })
        .collect()
}
