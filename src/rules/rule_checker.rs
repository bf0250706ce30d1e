//! Checks a rule file and builds a rule from it. Every error of a file is reported with its position.

use std::sync::LazyLock;

use regex::Regex;

use super::condition::Condition;
use super::error::{FileErrors, FilePosition, expected};
use super::rule::{Audience, AudienceFix, BUDGET_RULES, ID, NAME, Rule, RuleGroupBy, Severity};
use super::rule_file::{FixCase, Positioned, Reader, RuleFile, read};
use super::text_template::TextTemplate;
use super::type_check::CheckError;
use super::variables::{Root, VariableScope};
use super::yaml;

/// The stack size for parsing a rule, in bytes. The system allocates only the pages in use.
const STACK: usize = 64 << 20;

/// Parses and checks a rule. If anything is wrong, adds to `errors` and returns `None`.
#[must_use]
pub fn parse_rule(file: &str, source: &str, errors: &mut FileErrors) -> Option<Rule> {
    // CEL's parser uses much stack for each bracket before it rejects a condition with too many. So the rule is
    // parsed on a thread with a large stack.
    std::thread::scope(|scope| {
        let reading = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || parse_at_level(file, source, CheckLevel::Full, errors))
            .expect("the system can start a thread");
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Parses an embedded rule. A test checks all of them.
pub(super) fn parse_embedded_rule(file: &str, source: &str) -> Rule {
    let mut errors = FileErrors::default();
    parse_at_level(file, source, CheckLevel::Embedded, &mut errors)
        .unwrap_or_else(|| panic!("an embedded rule is invalid: {errors}"))
}

fn parse_at_level(file: &str, source: &str, level: CheckLevel, errors: &mut FileErrors) -> Option<Rule> {
    let before = errors.0.len();
    let node = yaml::read(file, source, yaml::LONGEST, errors)?;
    let rule_file = read(node, &mut Reader { file, errors });
    let rule = RuleChecker { file, source, errors, level }.rule(rule_file);
    rule.filter(|_| errors.0.len() == before)
}

struct RuleChecker<'a> {
    file: &'a str,
    source: &'a str,
    errors: &'a mut FileErrors,
    level: CheckLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckLevel {
    /// For a user's rules.
    Full,
    /// For kubetoll's own rules, which a test checks in full. A run does not check their texts. It parses their
    /// conditions with a faster parser, which reports no positions.
    Embedded,
}

impl RuleChecker<'_> {
    fn rule(&mut self, rule_file: RuleFile) -> Option<Rule> {
        let id_form = "id; write two to eight capitals and three digits, such as KT101";
        let id = self.word(rule_file.id.as_ref(), &IDS, id_form);
        let name_form = "name; write lower-case words with hyphens, such as list-from-etcd";
        let name = self.word(rule_file.name.as_ref(), &NAMES, name_form);
        let group_by = self.group_by(&rule_file.group_by);
        if let Some(word) = rule_file.group_by.first().filter(|_| group_by.budget)
            && id.as_ref().is_some_and(|id| !BUDGET_RULES.contains(&id.as_str()))
        {
            let ids = BUDGET_RULES.join(", ");
            self.say(word.at, format!("groupBy: [budget] is only for a rule that replaces one of {ids}"));
        }
        let thresholds: Vec<(String, f64)> =
            rule_file.thresholds.iter().map(|(name, number)| (name.value.clone(), *number)).collect();
        let match_scope = VariableScope { roots: &Rule::ROW_ROOTS, thresholds: &thresholds };
        let matches = match &rule_file.matches {
            Some(text) if Rule::is_without_rows(group_by) => {
                let word = if group_by.input { "input" } else { "budget" };
                self.say(text.at, format!("'match' has no effect with groupBy: [{word}]; remove it"));
                None
            }
            Some(text) => self.condition(text, &match_scope),
            None => None,
        };
        let level_scope = VariableScope { roots: Rule::level_roots(group_by), thresholds: &thresholds };
        let mut levels = Vec::new();
        for (level, text) in &rule_file.levels {
            let severity: Option<Severity> = level.value.parse().ok();
            if let (Some(severity), Some(condition)) = (severity, self.condition(text, &level_scope)) {
                levels.push((severity, condition));
            }
        }
        levels.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
        self.unused_thresholds(&rule_file, &levels);
        let all_roots = Root::ALL
            .into_iter()
            .filter(|root| (*root == Root::Input) == group_by.input || *root == Root::Threshold);
        let all_roots: Vec<Root> = if group_by.budget { Vec::new() } else { all_roots.collect() };
        let text_scope = VariableScope { roots: &all_roots, thresholds: &thresholds };
        let message = rule_file
            .message
            .as_ref()
            .and_then(|text| self.text(text, &text_scope, !Rule::is_without_rows(group_by)));
        let case_scope = VariableScope { roots: &Rule::ROW_ROOTS, thresholds: &[] };
        let fix = self.fix(&rule_file.fix, &case_scope, &text_scope, !Rule::is_without_rows(group_by));
        let verify = rule_file
            .verify
            .as_ref()
            .map(|text| self.text(text, &text_scope, !Rule::is_without_rows(group_by)));
        let tradeoff = rule_file
            .tradeoff
            .as_ref()
            .map(|text| self.text(text, &text_scope, !Rule::is_without_rows(group_by)));
        let plain =
            |text: &Option<Positioned<String>>| text.as_ref().map(|text| text.value.trim().to_owned());
        let summary = rule_file.summary.as_ref().map(|summary| {
            if summary.value.contains('\n') {
                self.say(summary.at, "the summary must be one line");
            }
            summary.value.clone()
        });
        if levels.is_empty() && !rule_file.levels.is_empty() {
            return None;
        }
        Some(Rule {
            id_at: rule_file.id.as_ref().map_or(FilePosition::START, |id| id.at),
            id: id?,
            name: name?,
            summary: summary?,
            matches,
            group_by,
            thresholds: thresholds.clone(),
            levels,
            fixed_severity: None,
            message: message?,
            why: plain(&rule_file.why)?,
            fix,
            tradeoff: tradeoff.flatten(),
            quiet_for: plain(&rule_file.quiet_for),
            verify: verify.flatten(),
            references: rule_file.references.into_iter().map(|text| text.value).collect(),
            is_embedded: self.level == CheckLevel::Embedded,
            file: self.file.to_owned(),
        })
    }

    fn say(&mut self, at: FilePosition, message: impl Into<String>) {
        self.errors.add(self.file, at, message);
    }

    /// Checks the id or the name.
    fn word(&mut self, word: Option<&Positioned<String>>, pattern: &Regex, wanted: &str) -> Option<String> {
        let word = word?;
        let is_valid = pattern.is_match(&word.value);
        if !is_valid {
            self.say(word.at, format!("'{}' is not a rule {wanted}", word.value));
        }
        is_valid.then(|| word.value.clone())
    }

    fn group_by(&mut self, words: &[Positioned<String>]) -> RuleGroupBy {
        let mut group_by = RuleGroupBy::default();
        let mut client = false;
        for word in words {
            match word.value.as_str() {
                "client" => client = true,
                "product" => group_by.product = true,
                "resource" => group_by.resource = true,
                "shape" => group_by.shape = true,
                "program" => group_by.program = true,
                "input" => group_by.input = true,
                "budget" => group_by.budget = true,
                other => {
                    let hint = expected(other, RuleGroupBy::WORDS);
                    self.say(word.at, format!("cannot group by '{other}'{hint}"));
                }
            }
        }
        if let Some(first) = words.first() {
            let alone = [("input", group_by.input), ("budget", group_by.budget)];
            let alone = alone.into_iter().find(|(_, is_there)| *is_there);
            if let Some((word, _)) = alone.filter(|_| words.len() > 1) {
                self.say(
                    first.at,
                    format!("'{word}' cannot be combined with other values; write groupBy: [{word}]"),
                );
            } else if alone.is_none() && !client {
                self.say(
                    first.at,
                    "groupBy must begin with 'client'; for the whole input, write groupBy: [input]",
                );
            }
        }
        group_by
    }

    fn unused_thresholds(&mut self, rule_file: &RuleFile, levels: &[(Severity, Condition)]) {
        if levels.len() < rule_file.levels.len() {
            return;
        }
        for (index, (name, _)) in rule_file.thresholds.iter().enumerate() {
            let is_used = |condition: &Condition| {
                condition
                    .whole
                    .variables
                    .iter()
                    .any(|used| used.root == Root::Threshold && used.index == index)
            };
            if !levels.iter().any(|(_, condition)| is_used(condition)) {
                self.say(name.at, format!("no level uses threshold.{}; use it or remove it", name.value));
            }
        }
    }

    fn fix(
        &mut self,
        fixes_by_audience: &[(Positioned<String>, Vec<FixCase>)],
        case_scope: &VariableScope<'_>,
        texts: &VariableScope<'_>,
        plain: bool,
    ) -> Vec<AudienceFix> {
        let mut fixes = Vec::new();
        let mut any = false;
        for (key, cases) in fixes_by_audience {
            let audience = Audience::all().find(|audience| audience.as_str() == key.value);
            any |= audience == Some(Audience::Any);
            if audience.is_none() {
                let audiences = Audience::all().map(Audience::as_str);
                self.say(
                    key.at,
                    format!("no such library '{}'{}", key.value, expected(&key.value, audiences)),
                );
            }
            let mut checked = Vec::new();
            for case in cases {
                let when = case.when.as_ref().map(|when| self.condition(when, case_scope));
                if let Some(text) = self.text(&case.text, texts, plain) {
                    checked.push((when.flatten(), text));
                }
            }
            if let Some(last) = cases.last().and_then(|case| case.when.as_ref()) {
                self.say(
                    last.at,
                    "the last case of a fix cannot have 'when'; remove it, so that every client gets a fix",
                );
            }
            if let Some(audience) = audience {
                fixes.push(AudienceFix { audience, cases: checked });
            }
        }
        if let Some((first, _)) = fixes_by_audience.first().filter(|_| !any) {
            self.say(first.at, "the fix for 'any' is missing; add it for clients without a fix of their own");
        }
        fixes
    }

    fn condition(&mut self, text: &Positioned<String>, scope: &VariableScope<'_>) -> Option<Condition> {
        let condition = match self.level {
            CheckLevel::Full => Condition::compile(&text.value, scope),
            CheckLevel::Embedded => Condition::compile_trusted(&text.value, scope),
        };
        self.or_say(text, condition)
    }

    fn text(
        &mut self,
        text: &Positioned<String>,
        scope: &VariableScope<'_>,
        plain: bool,
    ) -> Option<TextTemplate> {
        let compiled = match self.level {
            CheckLevel::Full => TextTemplate::compile(&text.value, scope, plain),
            CheckLevel::Embedded => Ok(TextTemplate::compile_trusted(&text.value)),
        };
        self.or_say(text, compiled)
    }

    fn or_say<T>(&mut self, text: &Positioned<String>, result: Result<T, Vec<CheckError>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(wrong) => {
                for CheckError { offset, message } in wrong {
                    self.say(yaml::inside(self.source, text.at, &text.value, offset), message);
                }
                None
            }
        }
    }
}

static IDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(ID).expect("a pattern"));
static NAMES: LazyLock<Regex> = LazyLock::new(|| Regex::new(NAME).expect("a pattern"));
