//! A rule that was checked: each name in it exists, each condition is one.

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
        found.ok_or_else(|| format!("no such severity '{text}'; known: info, warning, error"))
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
    /// Clients that run one program, after each of them alone.
    pub program: bool,
}

impl GroupBy {
    /// The words of `groupBy`.
    pub const WORDS: [&str; 6] = ["client", "product", "resource", "shape", "program", "input"];

    /// The words that stand for it.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let Self { input, product, resource, shape, program } = self;
        let meant = [!input, product, resource, shape, program, input];
        Self::WORDS.into_iter().zip(meant).filter(|(_, meant)| *meant).map(|(word, _)| word)
    }
}

/// Which clients a fix is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Clients that ask for the pods of one node, mostly the agent on it.
    NodeAgent,
    /// Clients that run and end.
    Job,
    /// Dashboards and other tools that show objects to people. Their users cannot change the code.
    Viewer,
    /// Clients that are built on a library.
    Library(Library),
    /// All others.
    Any,
}

impl Audience {
    /// All of them.
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

    /// Who it is, as a heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::NodeAgent => "agents that ask for the pods of their node",
            Self::Job => "backup tools and one-shot jobs",
            Self::Viewer => "dashboards, K9s, Lens",
            Self::Library(library) => library.as_str(),
            Self::Any => "any other client",
        }
    }

    /// Which fixes a row's client may take. What a command can do decides before that it is a job.
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
            // What helps an agent of a node helps a job that asks for the same.
            _ if is_agent => Audiences { sure, job: Job::No, jobs: Vec::new() },
            job => Audiences { sure, job, jobs: vec![Self::Job] },
        }
    }
}

/// Which fixes a client may take, the first best.
pub(super) struct Audiences {
    /// Those for a client that runs on.
    pub sure: Vec<Audience>,
    /// Whether it runs and ends.
    pub job: Job,
    /// Those for a client that runs and ends.
    pub jobs: Vec<Audience>,
}

/// A fix for one kind of client: the first whose condition holds.
#[derive(Debug)]
pub struct Fix {
    /// The kind of client.
    pub audience: Audience,
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
    pub tradeoff: Option<Text>,
    /// What is by design.
    pub quiet_for: Option<String>,
    /// What to look for afterwards.
    pub verify: Option<Text>,
    /// Where it comes from.
    pub references: Vec<String>,
    /// It is one of kubetoll's own, of which tests check that it fails on nothing.
    pub is_embedded: bool,
    /// The file.
    pub file: String,
    /// Where its id stands in the file.
    pub id_at: FilePosition,
}

/// Whether a word means a rule: by its id, its name, or its family.
#[must_use]
pub fn is_meant(word: &str, id: &str, name: &str) -> bool {
    name == word || id == word || is_family(word) && id.starts_with(word)
}

impl Rule {
    /// Reads and checks a rule. `None` if anything is wrong, all of which is noted.
    ///
    /// # Panics
    /// If the system gives no thread.
    #[must_use]
    pub fn parse(file: &str, source: &str, errors: &mut FileErrors) -> Option<Self> {
        // CEL's parser takes a lot of stack for each bracket before it says that there are too many.
        std::thread::scope(|scope| {
            let reading = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || Self::parse_here(file, source, CheckLevel::Full, errors))
                .expect("where kubetoll runs there are threads");
            reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Reads an embedded rule, of which a test checks that it is right.
    ///
    /// # Panics
    /// If it is not.
    pub(super) fn parse_embedded(file: &str, source: &str) -> Self {
        let mut errors = FileErrors::default();
        Self::parse_here(file, source, CheckLevel::Embedded, &mut errors)
            .unwrap_or_else(|| panic!("the embedded rules are checked by a test: {errors}"))
    }

    fn parse_here(file: &str, source: &str, level: CheckLevel, errors: &mut FileErrors) -> Option<Self> {
        let before = errors.0.len();
        let node = yaml::read(file, source, yaml::LONGEST, errors)?;
        let written = read(node, &mut Reader { file, errors });
        let rule = Checker { file, source, errors, level }.rule(written);
        rule.filter(|_| errors.0.len() == before)
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
        is_meant(word, &self.id, &self.name)
    }

    /// The roots that levels of the rule may name.
    pub(super) fn level_roots(group_by: GroupBy) -> &'static [Root] {
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

/// Capitals and at most two digits: the beginning of an id.
#[must_use]
pub fn is_family(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &word[letters..];
    letters >= 2 && digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
