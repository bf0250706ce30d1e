//! The rules of a run: the embedded rules and the rules in the user's directories. A user's rule adds to the embedded
//! rules, or replaces the one with the same id.

use std::path::{Path, PathBuf};

use super::error::{FileErrors, FilePosition, expected};
use super::rule::{Rule, is_family};
use super::rule_checker::{parse_embedded_rule, parse_rule};

/// The name and text of each embedded rule file; written by build.rs.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.in"));

/// Whether an embedded rule has this name. docs/rules has a page for each embedded rule.
pub(crate) fn is_embedded(name: &str) -> bool {
    EMBEDDED.iter().any(|(file, _)| file.strip_suffix(".yaml") == Some(name))
}

/// The maximum number of threads that parse embedded rules. Starting more threads takes longer than they save.
const MOST_THREADS: usize = 4;

#[derive(Debug)]
pub struct RuleSet {
    /// Sorted by id.
    pub rules: Vec<Rule>,
}

/// Errors of rule files and directories.
#[derive(Debug, thiserror::Error)]
pub enum BadRules {
    #[error("{0}")]
    Errors(FileErrors),
    #[error("{path}: {error}; name a directory with rule files (*.yaml)")]
    Unreadable { path: String, error: String },
    #[error("{0}: the directory has no rule file (*.yaml)")]
    Empty(String),
}

impl RuleSet {
    /// Parses the embedded rules.
    #[must_use]
    pub fn embedded() -> Self {
        // Parsing in parallel makes the start faster. These threads end here and free their memory. The threads of a
        // pool would keep their memory.
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let parse = |part: &[(&str, &str)]| -> Vec<Rule> {
            part.iter().map(|(file, text)| parse_embedded_rule(file, text)).collect()
        };
        let rules = std::thread::scope(|scope| {
            let parts = EMBEDDED.chunks(EMBEDDED.len().div_ceil(threads));
            let parts: Vec<_> = parts.map(|part| scope.spawn(move || parse(part))).collect();
            let joined = parts.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        Self::sorted(rules)
    }

    /// Combines the embedded rules and the rules in directories. A rule replaces an earlier rule with the same id;
    /// later directories override earlier ones.
    pub(crate) fn with_directories(directories: &[PathBuf]) -> Result<Self, BadRules> {
        let mut set = Self::embedded();
        let mut errors = FileErrors::default();
        for directory in directories {
            let added = read_directory(directory, &mut errors)?;
            set.rules.retain(|own| !added.iter().any(|rule| rule.id == own.id));
            set.rules.extend(added);
        }
        check_names(&set.rules, &mut errors);
        errors.0.sort();
        if errors.0.is_empty() { Ok(Self::sorted(set.rules)) } else { Err(BadRules::Errors(errors)) }
    }

    /// Checks the rules of a directory as [`RuleSet::with_directories`] does, and returns their number.
    pub(crate) fn check(directory: &Path) -> Result<usize, BadRules> {
        let mut errors = FileErrors::default();
        let own = read_directory(directory, &mut errors)?.len();
        Self::with_directories(&[directory.to_owned()])?;
        Ok(own)
    }

    fn sorted(mut rules: Vec<Rule>) -> Self {
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        Self { rules }
    }

    /// Finds a rule by its id or name.
    pub(crate) fn find(&self, word: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == word || rule.name == word)
    }

    /// Keeps the rules that are selected and not ignored. Without `select`, all rules are selected.
    pub fn choose(&mut self, select: &[String], ignore: &[String]) -> Result<(), String> {
        for word in select.iter().chain(ignore) {
            self.check_word(word)?;
        }
        let selected = |rule: &Rule, words: &[String]| words.iter().any(|word| rule.is_selected_by(word));
        self.rules.retain(|rule| (select.is_empty() || selected(rule, select)) && !selected(rule, ignore));
        Ok(())
    }

    /// Checks that a word selects at least one rule.
    /// The error lists the expected words.
    pub(crate) fn check_word(&self, word: &str) -> Result<(), String> {
        if self.rules.iter().any(|rule| rule.is_selected_by(word)) {
            return Ok(());
        }
        let words = self.rules.iter().flat_map(|rule| [rule.name.as_str(), rule.id.as_str()]);
        let hint = expected(word, words);
        let has_hint = !hint.starts_with("; known") && !is_family(word) && !word.is_empty();
        let hint = if has_hint { &hint } else { "; `kubetoll rules list` shows them" };
        Err(format!("no such rule '{word}'{hint}"))
    }
}

fn read_directory(directory: &Path, errors: &mut FileErrors) -> Result<Vec<Rule>, BadRules> {
    let unreadable = |path: &Path, error: &dyn std::fmt::Display| BadRules::Unreadable {
        path: path.display().to_string(),
        error: error.to_string(),
    };
    if !directory.is_dir() {
        let error = if directory.exists() { "not a directory" } else { "no such directory" };
        return Err(unreadable(directory, &error));
    }
    let mut files = Vec::new();
    let products = directory.join("products");
    let mut has_products = false;
    for entry in walkdir::WalkDir::new(directory).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|error| unreadable(directory, &error))?;
        let is_rule =
            entry.path().extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if !is_rule || !entry.file_type().is_file() {
            continue;
        }
        // This directory holds product files, which `crate::products` reads.
        if entry.path().parent() == Some(&products) {
            has_products = true;
        } else {
            files.push(entry.into_path());
        }
    }
    if files.is_empty() && !has_products {
        return Err(BadRules::Empty(directory.display().to_string()));
    }
    let mut rules: Vec<Rule> = Vec::new();
    for path in files {
        let file = path.display().to_string();
        let bytes = crate::files::read_up_to(&path, crate::files::yaml::LONGEST)
            .map_err(|error| unreadable(&path, &error))?;
        let Ok(text) = String::from_utf8(bytes) else {
            errors.add(&file, FilePosition::START, "not valid UTF-8");
            continue;
        };
        let Some(rule) = parse_rule(&file, &text, errors) else { continue };
        match rules.iter().find(|other| other.id == rule.id) {
            Some(other) => {
                errors.add(
                    &rule.file,
                    rule.id_at,
                    format!("the id {} is also used in {}; choose another", rule.id, other.file),
                );
            }
            None => rules.push(rule),
        }
    }
    Ok(rules)
}

fn check_names(rules: &[Rule], errors: &mut FileErrors) {
    for (index, rule) in rules.iter().enumerate() {
        if let Some(other) = rules[..index].iter().find(|other| other.name == rule.name) {
            errors.add(
                &rule.file,
                rule.id_at,
                format!("the name {} is also the name of {}; choose another", rule.name, other.id),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::condition::Condition;

    #[test]
    fn embedded_rules_are_valid() {
        let mut errors = FileErrors::default();
        let rules: Vec<Rule> =
            EMBEDDED.iter().filter_map(|(file, text)| parse_rule(file, text, &mut errors)).collect();
        check_names(&rules, &mut errors);
        assert!(errors.0.is_empty(), "{errors}");
        for rule in &rules {
            assert_eq!(rule.file, format!("{}.yaml", rule.name), "a file has its rule's name");
            assert!(rule.id.starts_with("KT"), "{}", rule.id);
        }
        // A run parses embedded rules with another parser. Its result must be the same.
        for (checked, (file, text)) in rules.iter().zip(EMBEDDED) {
            assert_eq!(parts(checked), parts(&parse_embedded_rule(file, text)), "{file}");
        }
    }

    /// The verbs that a fix may begin with.
    const STEPS: &str = "Add Ask Begin Cache Call Change Check Close Compare Copy Correct Create Delete Do Drop Exclude Find Give Grant Keep Leave \
                         Lengthen Let List LIST Log Look Lower Make Move Name Pass Pause Process Put Raise Read Record Reduce \
                         Register Remove Renew Replace Request Return Run See Send Set Share Skip Spread Start Stop Switch Take Treat Turn \
                         Upgrade Use WATCH Wait Watch Work Write";

    #[test]
    fn each_fix_begins_with_a_step() {
        for (file, text) in EMBEDDED {
            let rule = parse_embedded_rule(file, text);
            for (_, text) in rule.fix.iter().flat_map(|fix| &fix.cases) {
                // The text for the placeholder `permission` begins with such a verb, so skip the placeholder.
                let mut step = text.source();
                while let Some((_, rest)) = step.split_once("%}").filter(|_| step.starts_with("{%")) {
                    step = rest.trim_start().trim_start_matches("{{ permission }}");
                }
                let word = step.split([' ', ',', ':', '\n']).next().unwrap_or_default();
                assert!(STEPS.split_whitespace().any(|step| step == word), "{file}: {word:?} in {step}");
            }
        }
    }

    /// Returns all conditions and texts of a rule as text, without the node ids of the parser.
    fn parts(rule: &Rule) -> Vec<String> {
        let id = regex::Regex::new(r"\bid: [0-9]+").expect("a pattern");
        let condition = |condition: &Condition| id.replace_all(&format!("{condition:?}"), "").into_owned();
        let conditions = rule.matches.iter().chain(rule.levels.iter().map(|(_, level)| level));
        let cases = || rule.fix.iter().flat_map(|fix| &fix.cases);
        let texts = [&rule.message]
            .into_iter()
            .chain(&rule.verify)
            .chain(&rule.tradeoff)
            .chain(cases().map(|(_, text)| text));
        let conditions = conditions.chain(cases().filter_map(|(when, _)| when.as_ref())).map(condition);
        conditions.chain(texts.map(|text| text.source().to_owned())).collect()
    }
}
