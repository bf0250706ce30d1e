//! A checked rule: its variables exist and its conditions compile.

use std::fmt;
use std::str::FromStr;

use super::condition::Condition;
use super::error::FilePosition;
use super::facts::{RowFacts, is_viewer};
use super::text_template::TextTemplate;
use super::value::VariableValue;
use super::variables::{Root, threshold_value};
use crate::judged::Job;
use crate::k8s::Library;
use crate::named::named;

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum Severity {
        #[default]
        Info = "info",
        /// The user should fix the problem that the finding reports.
        Warning = "warning",
        /// The problem that the finding reports endangers the control plane.
        Error = "error",
    }
    pub(crate) fn as_str;
    /// All severities, the lowest first.
    pub(crate) const ALL;
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let severity = Self::ALL.into_iter().find(|severity| severity.as_str() == text);
        severity.ok_or_else(|| format!("no such severity '{text}'; known: info, warning, error"))
    }
}

/// The `groupBy` of a rule: which rows the rule evaluates together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent choices")]
pub struct RuleGroupBy {
    /// One group for the whole input, without clients.
    pub input: bool,
    pub product: bool,
    pub resource: bool,
    pub shape: bool,
    /// In addition to each client, the clients of a program form a group.
    pub(crate) program: bool,
    /// The rule judges a run by a budget file (`--budget`). No rows match it.
    pub budget: bool,
}

impl RuleGroupBy {
    /// The words that `groupBy` allows.
    pub(crate) const WORDS: [&str; 7] =
        ["client", "product", "resource", "shape", "program", "input", "budget"];

    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        let Self { input, product, resource, shape, program, budget } = self;
        let selected = [!input && !budget, product, resource, shape, program, input, budget];
        Self::WORDS.into_iter().zip(selected).filter(|(_, selected)| *selected).map(|(word, _)| word)
    }
}

/// The kind of client that a fix is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Clients that request the pods of one node. Most are agents on that node.
    NodeAgent,
    /// Clients that run once and end.
    Job,
    /// Dashboards and other tools that show objects to people. Their users cannot change the code.
    Viewer,
    Library(Library),
    /// All other clients.
    Any,
}

impl Audience {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let libraries = Library::ALL.into_iter().map(Self::Library);
        [Self::NodeAgent, Self::Job, Self::Viewer].into_iter().chain(libraries).chain([Self::Any])
    }

    /// Returns the key in a rule's `fix`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NodeAgent => "node-agent",
            Self::Job => "job",
            Self::Viewer => "viewer",
            Self::Library(library) => library.as_str(),
            Self::Any => "any",
        }
    }

    /// Returns the heading in a rule's page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::NodeAgent => "agents that request the pods of their node",
            Self::Job => "backup tools and one-shot jobs",
            Self::Viewer => "dashboards, K9s, Lens",
            Self::Library(library) => library.as_str(),
            Self::Any => "any other client",
        }
    }

    /// Returns the audiences that the client of a row belongs to. If the client is a command such as kubectl, the fix
    /// for this command comes before the fix for jobs.
    pub(super) fn for_row(row: &RowFacts<'_>) -> Audiences {
        let library = row.client.library(row.product);
        let is_agent =
            row.shape_summary.request_shape.as_ref().is_some_and(|shape| shape.lists_pods_of_a_node());
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
            // A job that reads the pods of one node gets the same fix as a node agent.
            _ if is_agent => Audiences { sure, job: Job::No, jobs: Vec::new() },
            job => Audiences { sure, job, jobs: vec![Self::Job] },
        }
    }
}

/// The audiences that a client belongs to, the best match first.
pub(super) struct Audiences {
    /// The audiences if the client keeps running.
    pub(crate) sure: Vec<Audience>,
    pub(crate) job: Job,
    /// The audiences if the client is a job.
    pub(crate) jobs: Vec<Audience>,
}

#[derive(Debug)]
pub struct AudienceFix {
    pub(crate) audience: Audience,
    /// Pairs of condition and text. The first pair whose condition holds applies.
    pub(crate) cases: Vec<(Option<Condition>, TextTemplate)>,
}

#[derive(Debug)]
pub struct Rule {
    /// The rule's id, such as `KT101`. It never changes.
    pub id: String,
    pub name: String,
    /// What the rule finds, in one line.
    pub(crate) summary: String,
    /// The condition that selects rows; `None` selects all rows.
    pub matches: Option<Condition>,
    pub group_by: RuleGroupBy,
    /// The names and values of numbers that levels use.
    pub thresholds: Vec<(String, f64)>,
    /// The condition of each severity, the highest severity first.
    pub levels: Vec<(Severity, Condition)>,
    /// The severity of all findings of the rule, if the policy sets one.
    pub(crate) fixed_severity: Option<Severity>,
    pub(crate) message: TextTemplate,
    /// Why the requests are a problem: the work that they cause on the server, and its cost.
    pub why: String,
    pub fix: Vec<AudienceFix>,
    pub(crate) tradeoff: Option<TextTemplate>,
    /// Requests that look like a finding but are intended, and how the rule excludes them.
    pub(crate) quiet_for: Option<String>,
    /// How to verify the fix in the next log.
    pub(crate) verify: Option<TextTemplate>,
    /// Issues, enhancement proposals and documents.
    pub(crate) references: Vec<String>,
    /// Whether the rule is embedded in kubetoll. Tests check that the texts of embedded rules never fail.
    pub(crate) is_embedded: bool,
    pub(crate) file: String,
    /// The position of the id in the file.
    pub(crate) id_at: FilePosition,
}

/// Whether a word selects a rule: its id, name, or family.
pub(crate) fn word_selects(word: &str, id: &str, name: &str) -> bool {
    name == word || id == word || is_family(word) && id.starts_with(word)
}

impl Rule {
    pub(crate) fn threshold_values(&self) -> impl Iterator<Item = (&str, VariableValue<'static>)> {
        self.thresholds.iter().map(|(name, value)| (name.as_str(), threshold_value(*value)))
    }

    /// Whether the rule has no client, so its texts have no variables of one.
    pub(super) fn is_without_rows(group_by: RuleGroupBy) -> bool {
        group_by.input || group_by.budget
    }

    /// Returns the part of the id that related rules share: `KT1`.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.id[..self.id.len() - 2]
    }

    /// Whether a word of `--select` or `--ignore` selects the rule: its id, its name, or its family (`KT1`).
    #[must_use]
    pub fn is_selected_by(&self, word: &str) -> bool {
        word_selects(word, &self.id, &self.name)
    }

    /// The roots of the variables that `match` and the cases of a fix may use.
    pub(super) const ROW_ROOTS: [Root; 3] = [Root::Client, Root::Request, Root::Server];

    /// Returns the roots of the variables that levels may use.
    pub(super) fn level_roots(group_by: RuleGroupBy) -> &'static [Root] {
        match group_by {
            RuleGroupBy { input: true, .. } => &[Root::Input, Root::Threshold],
            RuleGroupBy { budget: true, .. } => &[],
            // All rows of a group have one shape here, so `request.*` has one value.
            RuleGroupBy { shape: true, .. } => {
                &[Root::Stats, Root::Threshold, Root::Client, Root::Request, Root::Server]
            }
            _ => &[Root::Stats, Root::Threshold, Root::Client, Root::Server],
        }
    }
}

/// The rules that judge a run by a budget: a request over its limit, a request without an entry, an entry for nobody.
pub(crate) const BUDGET_RULES: [&str; 3] = ["KT601", "KT602", "KT603"];

/// The regular expression for an id.
pub(crate) const ID: &str = "^[A-Z]{2,8}[0-9]{3}$";
/// The regular expression for a name.
pub(crate) const NAME: &str = "^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$";

/// Whether a word is the start of an id: capitals and at most two digits.
pub(crate) fn is_family(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &word[letters..];
    letters >= 2 && digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
