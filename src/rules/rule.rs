//! A checked rule: its variables exist and its conditions compile.

use std::fmt;
use std::str::FromStr;

use super::checked::{CheckLevel, Checker};
use super::condition::Condition;
use super::error::{FileErrors, FilePosition};
use super::facts::{RowFacts, is_viewer};
use super::judge::threshold;
use super::names::Root;
use super::rule_file::{Reader, read};
use super::text::Text;
use super::value::Value;
use super::yaml;
use crate::judged::Job;
use crate::k8s::Library;

/// Stack size for parsing a rule, in bytes. The system allocates only the pages in use.
const STACK: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Info,
    /// Should be changed.
    Warning,
    /// Endangers the control plane.
    Error,
}

impl Severity {
    /// All severities, the lowest first.
    pub const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Error];

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
        found.ok_or_else(|| format!("no such severity '{text}'; known: info, warning, error"))
    }
}

/// How a rule groups rows: the `groupBy` of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent choices")]
pub struct RuleGroupBy {
    /// The whole input, without clients.
    pub input: bool,
    /// By user agent product.
    pub product: bool,
    /// By resource.
    pub resource: bool,
    /// By request shape.
    pub shape: bool,
    /// Evaluates clients that run one program together, after each of them alone.
    pub program: bool,
}

impl RuleGroupBy {
    /// The allowed words of `groupBy`.
    pub const WORDS: [&str; 6] = ["client", "product", "resource", "shape", "program", "input"];

    /// The words of `groupBy` for this grouping.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let Self { input, product, resource, shape, program } = self;
        let selected = [!input, product, resource, shape, program, input];
        Self::WORDS.into_iter().zip(selected).filter(|(_, selected)| *selected).map(|(word, _)| word)
    }
}

/// The clients that a fix is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Clients that request the pods of one node, mostly agents on that node.
    NodeAgent,
    /// Clients that run once and end.
    Job,
    /// Dashboards and other tools that show objects to people. Their users cannot change the code.
    Viewer,
    /// Clients that use a library.
    Library(Library),
    /// All other clients.
    Any,
}

impl Audience {
    pub fn all() -> impl Iterator<Item = Self> {
        let libraries = Library::ALL.into_iter().map(Self::Library);
        [Self::NodeAgent, Self::Job, Self::Viewer].into_iter().chain(libraries).chain([Self::Any])
    }

    /// The key in a rule's `fix`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NodeAgent => "node-agent",
            Self::Job => "job",
            Self::Viewer => "viewer",
            Self::Library(library) => library.as_str(),
            Self::Any => "any",
        }
    }

    /// The heading in a rule's page.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::NodeAgent => "agents that request the pods of their node",
            Self::Job => "backup tools and one-shot jobs",
            Self::Viewer => "dashboards, K9s, Lens",
            Self::Library(library) => library.as_str(),
            Self::Any => "any other client",
        }
    }

    /// The audiences of a row's client. For a command such as kubectl, its own fix comes before the fix for jobs.
    pub(super) fn for_row(row: &RowFacts<'_>) -> Audiences {
        let library = row.client.library(row.product);
        let is_agent = row.entry.asked.as_ref().is_some_and(|asked| asked.lists_pods_of_a_node());
        let agent = is_agent.then_some(Self::NodeAgent);
        if is_viewer(row) {
            let sure = vec![Self::Viewer, Self::Library(library), Self::Any];
            return Audiences { sure, job: Job::No, jobs: Vec::new() };
        }
        let sure = agent.into_iter().chain([Self::Library(library), Self::Any]).collect();
        match row.client.job(row.product) {
            Job::Yes if library.is_command() || is_agent => {
                let jobs = agent.into_iter().chain([Self::Library(library), Self::Job, Self::Any]);
                Audiences { sure: jobs.collect(), job: Job::No, jobs: Vec::new() }
            }
            // A job that reads the pods of one node takes the same fix as a node agent.
            _ if is_agent => Audiences { sure, job: Job::No, jobs: Vec::new() },
            job => Audiences { sure, job, jobs: vec![Self::Job] },
        }
    }
}

/// The audiences of a client, the best match first.
pub(super) struct Audiences {
    /// Audiences if the client keeps running.
    pub sure: Vec<Audience>,
    /// Whether the client is a job.
    pub job: Job,
    /// Audiences if the client is a job.
    pub jobs: Vec<Audience>,
}

/// A fix for one audience.
#[derive(Debug)]
pub struct Fix {
    pub audience: Audience,
    /// Conditions and texts; the first whose condition holds is used.
    pub cases: Vec<(Option<Condition>, Text)>,
}

#[derive(Debug)]
pub struct Rule {
    /// Never changes: `KT101`.
    pub id: String,
    pub name: String,
    /// What the rule finds, in one line.
    pub summary: String,
    /// Selects rows; `None` selects all.
    pub matches: Option<Condition>,
    /// How a rule groups rows: the `groupBy` of its file.
    pub group_by: RuleGroupBy,
    /// Named numbers for levels.
    pub thresholds: Vec<(String, f64)>,
    /// Conditions for each severity, the highest severity first.
    pub levels: Vec<(Severity, Condition)>,
    /// Severity of all its findings, if the policy sets one.
    pub fixed_severity: Option<Severity>,
    pub message: Text,
    /// What the server does and what it costs.
    pub why: String,
    /// What to change.
    pub fix: Vec<Fix>,
    pub tradeoff: Option<Text>,
    /// What looks like a finding but is by design.
    pub quiet_for: Option<String>,
    /// How to verify the fix in the next log.
    pub verify: Option<Text>,
    /// Issues, enhancement proposals and documents.
    pub references: Vec<String>,
    /// Whether it is one of kubetoll's own rules. Tests check that their texts never fail.
    pub is_embedded: bool,
    pub file: String,
    /// Position of the id in the file.
    pub id_at: FilePosition,
}

/// Whether a word selects a rule: its id, name, or family.
#[must_use]
pub fn word_selects(word: &str, id: &str, name: &str) -> bool {
    name == word || id == word || is_family(word) && id.starts_with(word)
}

impl Rule {
    /// Reads and checks a rule. Returns `None` and adds to `errors` if anything is wrong.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[must_use]
    pub fn parse(file: &str, source: &str, errors: &mut FileErrors) -> Option<Self> {
        // CEL's parser needs much stack for each bracket before it reports too many of them.
        std::thread::scope(|scope| {
            let reading = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || Self::parse_here(file, source, CheckLevel::Full, errors))
                .expect("the system can start a thread");
            reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Reads an embedded rule. A test checks all of them.
    ///
    /// # Panics
    /// If the rule is invalid.
    pub(super) fn parse_embedded(file: &str, source: &str) -> Self {
        let mut errors = FileErrors::default();
        Self::parse_here(file, source, CheckLevel::Embedded, &mut errors)
            .unwrap_or_else(|| panic!("an embedded rule is invalid: {errors}"))
    }

    fn parse_here(file: &str, source: &str, level: CheckLevel, errors: &mut FileErrors) -> Option<Self> {
        let before = errors.0.len();
        let node = yaml::read(file, source, yaml::LONGEST, errors)?;
        let written = read(node, &mut Reader { file, errors });
        let rule = Checker { file, source, errors, level }.rule(written);
        rule.filter(|_| errors.0.len() == before)
    }

    pub fn threshold_values(&self) -> impl Iterator<Item = (&str, Value<'static>)> {
        self.thresholds.iter().map(|(name, value)| (name.as_str(), threshold(*value)))
    }

    /// The start of the id that rules of a kind share: `KT1`.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.id[..self.id.len() - 2]
    }

    /// Whether a word of `--select` or `--ignore` selects the rule: its id, its name, or its family (`KT1`).
    #[must_use]
    pub fn is_selected_by(&self, word: &str) -> bool {
        word_selects(word, &self.id, &self.name)
    }

    /// The roots of variables that levels may use.
    pub(super) fn level_roots(group_by: RuleGroupBy) -> &'static [Root] {
        match group_by {
            RuleGroupBy { input: true, .. } => &[Root::Input, Root::Threshold],
            // All rows of such a group have one shape, so `request.*` has one value.
            RuleGroupBy { shape: true, .. } => {
                &[Root::Stats, Root::Threshold, Root::Client, Root::Request, Root::Server]
            }
            _ => &[Root::Stats, Root::Threshold, Root::Client, Root::Server],
        }
    }
}

/// Pattern of an id.
pub const ID: &str = "^[A-Z]{2,8}[0-9]{3}$";
/// Pattern of a name.
pub const NAME: &str = "^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$";

/// Whether a word is the start of an id: capitals and at most two digits.
#[must_use]
pub fn is_family(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &word[letters..];
    letters >= 2 && digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
