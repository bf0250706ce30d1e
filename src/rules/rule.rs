//! A rule that was checked: each name in it exists, each condition is one.

use std::fmt;
use std::str::FromStr;

use regex::Regex;

use super::condition::{Condition, Wrong};
use super::judge::threshold;
use super::mistake::{At, Mistakes, expected};
use super::names::{Root, Scope};
use super::text::Text;
use super::value::Value;
use super::written::{Case, Placed, Reader, Written, read};
use super::yaml;
use crate::k8s::Library;

/// Stack for reading a rule; what is not used is not taken.
const STACK: usize = 64 << 20;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth changing.
    Warning,
    /// Endangers the control plane.
    Error,
}

impl Severity {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Error];

    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|severity| severity.as_str() == text);
        found.ok_or_else(|| format!("no such severity '{text}'; known are info, warning, error"))
    }
}

/// What is judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent choices")]
pub struct GroupBy {
    /// What was read, and no client.
    pub input: bool,
    /// Each product of user agents apart.
    pub product: bool,
    /// Each resource apart.
    pub resource: bool,
    /// Each shape apart.
    pub shape: bool,
}

impl GroupBy {
    /// The words of `groupBy`.
    pub const WORDS: [&str; 5] = ["client", "product", "resource", "shape", "input"];

    /// The words that stand for it.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let Self { input, product, resource, shape } = self;
        let meant = [!input, product, resource, shape, input];
        Self::WORDS.into_iter().zip(meant).filter(|(_, meant)| *meant).map(|(word, _)| word)
    }
}

/// A fix for one kind of client: the first whose condition holds.
#[derive(Debug)]
pub struct Fix {
    /// The kind of client; `None` for any.
    pub library: Option<Library>,
    /// Conditions and texts.
    pub cases: Vec<(Option<Condition>, Text)>,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Stable for ever: `KT101`.
    pub id: String,
    /// The name.
    pub name: String,
    /// What it finds.
    pub summary: String,
    /// Which rows are judged; all without it.
    pub matches: Option<Condition>,
    /// What is judged together.
    pub group_by: GroupBy,
    /// Named numbers.
    pub thresholds: Vec<(String, f64)>,
    /// When a group is a finding, the worst first.
    pub levels: Vec<(Severity, Condition)>,
    /// The severity of all its findings, where a policy says so.
    pub fixed_severity: Option<Severity>,
    /// The finding in a sentence.
    pub message: Text,
    /// What the server does.
    pub why: String,
    /// What to change.
    pub fix: Vec<Fix>,
    /// What the fix makes worse.
    pub tradeoff: Option<String>,
    /// What is by design.
    pub quiet_for: Option<String>,
    /// What to look for afterwards.
    pub verify: Option<Text>,
    /// Where it comes from.
    pub references: Vec<String>,
    /// The file.
    pub file: String,
    /// Where its id stands in the file.
    pub id_at: At,
}

impl Rule {
    /// Reads and checks a rule. `None` if anything is wrong, all of which is noted.
    ///
    /// # Panics
    /// If the system gives no thread.
    #[must_use]
    pub fn parse(file: &str, source: &str, mistakes: &mut Mistakes) -> Option<Self> {
        // CEL's parser takes a lot of stack for each bracket before it says that there are too many.
        std::thread::scope(|scope| {
            let reading = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || Self::parse_here(file, source, mistakes))
                .expect("where kubetoll runs there are threads");
            reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn parse_here(file: &str, source: &str, mistakes: &mut Mistakes) -> Option<Self> {
        let before = mistakes.0.len();
        let node = yaml::read(file, source, mistakes)?;
        let written = read(node, &mut Reader { file, mistakes });
        let rule = Checker { file, source, mistakes }.rule(written);
        rule.filter(|_| mistakes.0.len() == before)
    }

    /// The values of its thresholds, by name.
    pub fn threshold_values(&self) -> impl Iterator<Item = (&str, Value<'static>)> {
        self.thresholds.iter().map(|(name, value)| (name.as_str(), threshold(*value)))
    }

    /// The beginning of its id, by which rules of a kind are selected together: `KT1`.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.id[..self.id.len() - 2]
    }

    /// Whether a word of `--select` or `--ignore` means the rule: its id, its name, or the beginning of its id
    /// (`KT1`, a family).
    #[must_use]
    pub fn is_meant(&self, word: &str) -> bool {
        self.name == word || self.id == word || is_family(word) && self.id.starts_with(word)
    }

    /// The roots that levels of the rule may name.
    fn level_roots(group_by: GroupBy) -> &'static [Root] {
        match group_by {
            GroupBy { input: true, .. } => &[Root::Input, Root::Threshold],
            // All rows of a group are of one shape.
            GroupBy { shape: true, .. } => {
                &[Root::Stats, Root::Threshold, Root::Client, Root::Request, Root::Server]
            }
            _ => &[Root::Stats, Root::Threshold, Root::Client, Root::Server],
        }
    }
}

/// What an id looks like.
pub const ID: &str = "^[A-Z]{2,8}[0-9]{3}$";
/// What a name looks like.
pub const NAME: &str = "^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$";

/// Whether a text looks so.
fn looks(text: &str, pattern: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

/// Capitals and at most two digits: the beginning of an id.
#[must_use]
pub fn is_family(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &word[letters..];
    letters >= 2 && digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

struct Checker<'a> {
    file: &'a str,
    source: &'a str,
    mistakes: &'a mut Mistakes,
}

impl Checker<'_> {
    fn rule(&mut self, written: Written) -> Option<Rule> {
        let id = written.id.as_ref().and_then(|id| self.id(id));
        let name = written.name.as_ref().and_then(|name| self.name(name));
        let group_by = self.group_by(&written.group_by);
        let thresholds: Vec<(String, f64)> =
            written.thresholds.iter().map(|(name, number)| (name.value.clone(), *number)).collect();
        let rows = Scope { roots: &[Root::Client, Root::Request, Root::Server], thresholds: &thresholds };
        let matches = match &written.matches {
            Some(text) if group_by.input => {
                self.say(text.at, "a rule on the input has no rows to match; drop 'match'");
                None
            }
            Some(text) => self.condition(text, &rows),
            None => None,
        };
        let groups = Scope { roots: Rule::level_roots(group_by), thresholds: &thresholds };
        let mut levels = Vec::new();
        for (level, text) in &written.levels {
            let severity: Option<Severity> = level.value.parse().ok();
            if let (Some(severity), Some(condition)) = (severity, self.condition(text, &groups)) {
                levels.push((severity, condition));
            }
        }
        levels.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
        self.unused_thresholds(&written, &levels);
        let all_roots = Root::ALL
            .into_iter()
            .filter(|root| (*root == Root::Input) == group_by.input || *root == Root::Threshold);
        let all_roots: Vec<Root> = all_roots.collect();
        let everything = Scope { roots: &all_roots, thresholds: &thresholds };
        let message = written.message.as_ref().and_then(|text| self.text(text, &everything, !group_by.input));
        let servers = Scope { roots: &[Root::Client, Root::Server], thresholds: &[] };
        let fix = self.fix(&written.fix, &servers, &everything, !group_by.input);
        let verify = written.verify.as_ref().map(|text| self.text(text, &everything, !group_by.input));
        let plain = |text: &Option<Placed<String>>| text.as_ref().map(|text| text.value.trim().to_owned());
        let summary = written.summary.as_ref().map(|summary| {
            if summary.value.contains('\n') {
                self.say(summary.at, "the summary must be one line");
            }
            summary.value.clone()
        });
        if levels.is_empty() && !written.levels.is_empty() {
            return None;
        }
        Some(Rule {
            id_at: written.id.as_ref().map_or(At::START, |id| id.at),
            id: id?,
            name: name?,
            summary: summary?,
            matches,
            group_by,
            thresholds: thresholds.clone(),
            levels,
            fixed_severity: None,
            message: message?,
            why: plain(&written.why)?,
            fix,
            tradeoff: plain(&written.tradeoff),
            quiet_for: plain(&written.quiet_for),
            verify: verify.flatten(),
            references: written.references.into_iter().map(|text| text.value).collect(),
            file: self.file.to_owned(),
        })
    }

    fn say(&mut self, at: At, message: impl Into<String>) {
        self.mistakes.add(self.file, at, message);
    }

    fn id(&mut self, id: &Placed<String>) -> Option<String> {
        let text = &id.value;
        let is_id = looks(text, ID);
        if !is_id {
            self.say(
                id.at,
                format!("'{text}' is no id; write two to eight capitals and three digits, such as KT101"),
            );
        }
        is_id.then(|| text.clone())
    }

    fn name(&mut self, name: &Placed<String>) -> Option<String> {
        let text = &name.value;
        let is_name = looks(text, NAME);
        if !is_name {
            self.say(
                name.at,
                format!("'{text}' is no name; write lower-case words with hyphens, such as list-from-etcd"),
            );
        }
        is_name.then(|| text.clone())
    }

    fn group_by(&mut self, words: &[Placed<String>]) -> GroupBy {
        let mut group_by = GroupBy::default();
        let mut client = false;
        for word in words {
            match word.value.as_str() {
                "client" => client = true,
                "product" => group_by.product = true,
                "resource" => group_by.resource = true,
                "shape" => group_by.shape = true,
                "input" => group_by.input = true,
                other => {
                    let hint = expected(other, GroupBy::WORDS);
                    self.say(word.at, format!("nothing is grouped by '{other}'{hint}"));
                }
            }
        }
        if let Some(first) = words.first() {
            if group_by.input && words.len() > 1 {
                self.say(first.at, "'input' is judged as a whole; write groupBy: [input]");
            } else if !group_by.input && !client {
                self.say(
                    first.at,
                    "a finding is of a client; begin with 'client', or write groupBy: [input]",
                );
            }
        }
        group_by
    }

    fn unused_thresholds(&mut self, written: &Written, levels: &[(Severity, Condition)]) {
        if levels.len() < written.levels.len() {
            return;
        }
        for (index, (name, _)) in written.thresholds.iter().enumerate() {
            let is_used = |condition: &Condition| {
                condition.names.iter().any(|used| used.root == Root::Threshold && used.index == index)
            };
            if !levels.iter().any(|(_, condition)| is_used(condition)) {
                self.say(name.at, format!("no level uses threshold.{}", name.value));
            }
        }
    }

    fn fix(
        &mut self,
        written: &[(Placed<String>, Vec<Case>)],
        servers: &Scope<'_>,
        texts: &Scope<'_>,
        plain: bool,
    ) -> Vec<Fix> {
        let mut fixes = Vec::new();
        let mut any = false;
        for (key, cases) in written {
            let library = Library::ALL.into_iter().find(|library| library.as_str() == key.value);
            any |= key.value == "any";
            if library.is_none() && key.value != "any" {
                let known = Library::ALL.iter().map(|library| library.as_str()).chain(["any"]);
                self.say(key.at, format!("no such library '{}'{}", key.value, expected(&key.value, known)));
            }
            let mut checked = Vec::new();
            for case in cases {
                let when = case.when.as_ref().map(|when| self.condition(when, servers));
                if let Some(text) = self.text(&case.text, texts, plain) {
                    checked.push((when.flatten(), text));
                }
            }
            if let Some(last) = cases.last().and_then(|case| case.when.as_ref()) {
                self.say(last.at, "the last case of a fix has no 'when', so that there always is a fix");
            }
            fixes.push(Fix { library, cases: checked });
        }
        if let Some((first, _)) = written.first().filter(|_| !any) {
            self.say(first.at, "a fix for 'any' client is missing");
        }
        fixes
    }

    fn condition(&mut self, text: &Placed<String>, scope: &Scope<'_>) -> Option<Condition> {
        let condition = Condition::compile(&text.value, scope);
        self.or_say(text, condition)
    }

    fn text(&mut self, text: &Placed<String>, scope: &Scope<'_>, plain: bool) -> Option<Text> {
        let compiled = Text::compile(&text.value, scope, plain);
        self.or_say(text, compiled)
    }

    fn or_say<T>(&mut self, text: &Placed<String>, result: Result<T, Vec<Wrong>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(wrong) => {
                for Wrong { offset, message } in wrong {
                    self.say(yaml::inside(self.source, text.at, &text.value, offset), message);
                }
                None
            }
        }
    }
}
