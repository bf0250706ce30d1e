//! What a user may type.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::format::Format;
use super::output_path;
use crate::classify::grouping::By;
use crate::decode::{Envelope, Layers};
use crate::ledger::Dedup;
use crate::render::details::Details;
use crate::render::text::TOP;
use crate::rules::Severity;

/// What each exit status means.
const EXIT_STATUS: &str = "\
Exit status:
  0  the work was done
  1  something was found that --fail-on names
  2  the work could not be done: no such file, no audit event in it, a wrong flag, rule or policy file";

/// What each client costs your Kubernetes control plane, read from recorded audit logs.
#[derive(Debug, Parser)]
#[command(name = "kubetoll", version, max_term_width = 100, after_help = EXIT_STATUS)]
pub struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one")]
pub(super) enum Command {
    /// Read audit logs and report what each client costs.
    #[command(after_help = EXIT_STATUS)]
    Scan(ScanArgs),
    /// Say where one request is answered from, and why.
    Classify(ClassifyArgs),
    /// Show, explain and check the rules that findings come from.
    #[command(subcommand)]
    Rules(RulesCommand),
    /// List and explain the products that findings name, with their own settings.
    #[command(subcommand)]
    Products(ProductsCommand),
    /// Print an audit policy that logs what kubetoll needs, at the least volume.
    AuditPolicy(AuditPolicyArgs),
}

/// The server that requests are judged for.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// Version of kube-apiserver, with its patch level, such as 1.33.2.
    #[arg(long, value_name = "VERSION", help_heading = "Server")]
    pub kube_version: Option<String>,
    /// Version of etcd, such as 3.5.21; without it, one new enough for consistent reads from the cache.
    #[arg(long, value_name = "VERSION", help_heading = "Server")]
    pub etcd_version: Option<String>,
    /// Feature gates that differ from the version's defaults, such as `WatchList=false` or `AllBeta=false`.
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',', help_heading = "Server")]
    pub feature_gate: Vec<String>,
    /// A resource without a watch cache, beside events: `configmaps`, or `deployments.apps`.
    #[arg(long, value_name = "RESOURCE", value_delimiter = ',', help_heading = "Server")]
    pub uncached: Vec<String>,
    /// An API group that an aggregated server answers, beside the metrics APIs.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', help_heading = "Server")]
    pub aggregated: Vec<String>,
}

/// The logs that are read.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Audit logs: files, directories (searched), or `-` for standard input; plain, gzip or zstd.
    #[arg(required_unless_present = "file", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Another audit log, the same as PATH. May be given several times.
    #[arg(short, long, value_name = "PATH", value_parser = log_path)]
    file: Vec<PathBuf>,
}

/// A log's path. The name of an output format is none, unless there is such a file.
fn log_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match text.parse::<Format>() {
        Ok(_) if !path.exists() => Err(format!("-f takes a log; for an output format use --format {text}")),
        _ => Ok(path),
    }
}

impl LogArgs {
    /// All paths, however they were given.
    pub(super) fn all(&self) -> Vec<PathBuf> {
        [&*self.paths, &*self.file].concat()
    }
}

#[derive(Debug, Args)]
pub(super) struct ScanArgs {
    #[command(flatten)]
    pub logs: LogArgs,
    /// etcd's own log, for what it says of slow requests: a file, a directory (searched), or `-`; plain, gzip or zstd.
    /// May be given several times.
    #[arg(long, value_name = "PATH", help_heading = "Beside the audit logs")]
    pub etcd_log: Vec<PathBuf>,
    #[command(flatten)]
    pub server: ServerArgs,
    /// What the cluster holds, to tell what requests cost: kube-apiserver's /metrics, or CSV or YAML with
    /// `resource,objects,bytesPerObject` (see docs/cost.md). May be given several times; the last one wins.
    #[arg(long, value_name = "FILE", help_heading = "Cost")]
    pub inventory: Vec<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// What to write: `text`, `json`, `markdown`, `sarif`, `junit` or `github`, each with `=PATH` for a file; tables
    /// as `parquet=PATH`, `csv=PATH` or `ndjson=PATH`. May be given several times.
    #[arg(long, value_name = "FORMAT[=PATH]", help_heading = "Output")]
    pub format: Vec<Format>,
    /// Write to a file instead of standard output, whole or not at all. PATH has a `/` or a `.`, or is `-` for standard
    /// output.
    #[arg(short, long, value_name = "PATH", value_parser = output_path::parse, help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print no report, only how many requests there are for each verb, user, …, most first: `--top` lines.
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["fail_on", "etcd_log", "inventory", "details"], help_heading = "Output")]
    pub by: Option<ByArg>,
    /// Cases in the table of the text; lines of `--by`.
    #[arg(long, value_name = "N", default_value_t = TOP, help_heading = "Output")]
    pub top: usize,
    /// Show details after the text: of all cases and clients, of cases by their numbers (`--details=1,3`), or of a client
    /// (`--details=monitoring/*`).
    #[arg(long, value_name = "CASE,…|CLIENT", num_args = 0..=1, require_equals = true, default_missing_value = "",
          help_heading = "Output")]
    pub details: Option<Details>,
    /// When to colour the text; `NO_COLOR` is honoured.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,
    /// Show no progress.
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,
    /// Exit with 1 if there is a finding of this severity or a worse one (`info`, `warning`, `error`) or of this rule
    /// (`KT101`, `list-from-etcd`), or such a request: `etcd-list`, `etcd-get`, `limit-ignored`. What kubetoll.yaml
    /// suppresses and LISTs that a WATCH follows do not count.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', help_heading = "Output")]
    pub fail_on: Vec<FailOn>,
    /// Exit with 2 if fewer requests than N are left to judge (1 without N), or if a name that a filter wants matches
    /// none: a gate on nothing never fails.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = clap::value_parser!(u64).range(1..), help_heading = "Output")]
    pub require_requests: Option<u64>,
    /// Workers; without it, one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512), help_heading = "Reading")]
    pub threads: Option<u16>,
    /// The form that the logs are in, such as `audit`, `cri` or `http-log`; without it each is told by its content.
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub input_format: Option<InputFormat>,
    /// How events that were read already are found: `auto` in bounded memory, `exact` among all of them.
    #[arg(long, value_enum, default_value_t = DedupArg::Auto, help_heading = "Reading")]
    pub dedup: DedupArg,
    /// Do not put requests in order: takes less memory, and rules find no polling, herds, new starts of informers,
    /// pages or watches beside each other.
    #[arg(long, help_heading = "Reading")]
    pub no_patterns: bool,
    /// The year of lines of the apiserver's own log, which has none; without it the envelope's or the file's.
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i32).range(1970..=9999), help_heading = "Reading")]
    pub year: Option<i32>,
    /// Longest line or document that is read; longer ones are counted as skipped. Default: 64. Four times as much, and
    /// 64 MiB for each thread, must fit into the memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Reading")]
    pub max_line: Option<u16>,
}

/// What judges.
#[derive(Debug, Args)]
pub(super) struct RuleArgs {
    /// A directory with rule files (*.yaml): they add to kubetoll's own, and one of the same id replaces it.
    #[arg(long, value_name = "DIR", help_heading = "Rules")]
    pub rules: Vec<PathBuf>,
    /// Judge by these rules only: ids, names, or families such as KT1.
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Rules")]
    pub select: Vec<String>,
    /// Do not judge by these rules.
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Rules")]
    pub ignore: Vec<String>,
    /// The policy file; without it, kubetoll.yaml in the working directory, if it is there.
    #[arg(long, value_name = "PATH", help_heading = "Rules")]
    pub config: Option<PathBuf>,
}

/// The name of an envelope, or of several in each other, as the report writes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputFormat(pub Layers);

impl FromStr for InputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Envelope::ALL.map(Envelope::as_str).join(", ");
        let find = |name: &str| Envelope::ALL.into_iter().find(|envelope| envelope.as_str() == name);
        let found: Option<Vec<Envelope>> = text.split('/').map(find).collect();
        found
            .filter(|envelopes| envelopes.len() <= Layers::MAX)
            .map(|envelopes| Self(envelopes.into_iter().fold(Layers::default(), Layers::with)))
            .ok_or_else(|| format!("no such form; known are {}", names()))
    }
}

/// What requests are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ByArg {
    /// The verb.
    Verb,
    /// The user who authenticated; each node counts alone.
    User,
    /// The resource with its group; a subresource counts with its resource.
    Resource,
    /// The HTTP status code.
    Code,
    /// The namespace.
    Namespace,
    /// The client as the report names it: the user that requests act as, all nodes together.
    Client,
}

impl From<ByArg> for By {
    fn from(arg: ByArg) -> Self {
        match arg {
            ByArg::Verb => Self::Verb,
            ByArg::User => Self::User,
            ByArg::Resource => Self::Resource,
            ByArg::Code => Self::Code,
            ByArg::Namespace => Self::Namespace,
            ByArg::Client => Self::Client,
        }
    }
}

/// How duplicates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DedupArg {
    Auto,
    Off,
    Exact,
}

impl From<DedupArg> for Dedup {
    fn from(arg: DedupArg) -> Self {
        match arg {
            DedupArg::Auto => Self::Auto,
            DedupArg::Off => Self::Off,
            DedupArg::Exact => Self::Exact,
        }
    }
}

/// Which requests are counted. Names may hold `*`; one that begins with `-` is left out.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only requests of these users, acting or asking.
    #[arg(
        long,
        value_name = "NAME",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub user: Vec<String>,
    /// Only these verbs.
    #[arg(
        long,
        value_name = "VERB",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub verb: Vec<String>,
    /// Only these resources: `pods`, `deployments.apps`, `pods/status`.
    #[arg(
        long,
        value_name = "RESOURCE",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub resource: Vec<String>,
    /// Only requests in these namespaces.
    #[arg(
        short,
        long,
        value_name = "NAME",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub namespace: Vec<String>,
    /// Only these clients: a user agent's product (`kubectl`), an identity, or a kind (`service-account`).
    #[arg(
        long,
        value_name = "NAME",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub client: Vec<String>,
    /// Only requests received before this instant (RFC 3339, or a day).
    #[arg(long, value_name = "TIME", help_heading = "Filters (a* matches, -a leaves out)")]
    pub before: Option<String>,
    /// Only requests received at this instant or later.
    #[arg(long, value_name = "TIME", help_heading = "Filters (a* matches, -a leaves out)")]
    pub after: Option<String>,
    /// Only requests answered with these: `429`, `5xx`.
    #[arg(long, value_name = "CODE", help_heading = "Filters (a* matches, -a leaves out)")]
    pub http_status_code: Vec<String>,
    /// Only requests answered with 400 or above.
    #[arg(long, help_heading = "Filters (a* matches, -a leaves out)")]
    pub failed_only: bool,
}

#[derive(Debug, Args)]
pub(super) struct ClassifyArgs {
    /// The request, such as 'GET /api/v1/pods?limit=500' or 'LIST /api/v1/pods', or a command that sends it: 'kubectl get
    /// pods -A', 'curl https://…'. Quote a command that has options. Without a method it is a GET. Without
    /// --kube-version the output is a table of all releases.
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin", value_name = "REQUEST")]
    pub request: Vec<String>,
    /// Judge one JSON object a line from standard input, and write one a line (see docs/classify.md).
    #[arg(long)]
    pub stdin: bool,
    #[command(flatten)]
    pub server: ServerArgs,
    /// When to colour the text; `NO_COLOR` is honoured.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub(super) struct AuditPolicyArgs {
    /// Write it to a file instead of standard output, whole or not at all. PATH has a `/` or a `.`, or is `-` for
    /// standard output.
    #[arg(short, long, value_name = "PATH", value_parser = output_path::parse)]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// List the rules that would judge.
    List(ListArgs),
    /// Print all that is known of a rule: what it matches, why that costs, and what to change.
    Explain(ExplainArgs),
    /// Check the rule files of a directory; every mistake is told at once, each as `file:line:column: message`.
    Check(CheckArgs),
    /// Print the JSON Schema of rule files, for editors.
    Schema(SchemaArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum ProductsCommand {
    /// List the products.
    List {
        /// What to write: a table, a JSON array of all that the products hold, or the page of the docs.
        #[arg(long, value_enum, default_value_t = ProductsFormat::Text, help_heading = "Output")]
        format: ProductsFormat,
        /// A directory with rule files, whose `products/` is read beside kubetoll's own.
        #[arg(long, value_name = "DIR", help_heading = "Rules")]
        rules: Vec<PathBuf>,
    },
    /// Show how a product is recognized, and its own settings.
    Explain {
        /// The product's name, such as velero.
        #[arg(value_name = "PRODUCT")]
        product: String,
        /// A directory with rule files, whose `products/` is read beside kubetoll's own.
        #[arg(long, value_name = "DIR", help_heading = "Rules")]
        rules: Vec<PathBuf>,
    },
}

/// How products are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProductsFormat {
    Text,
    Json,
    Markdown,
}

/// How rules are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RulesFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub rules: RuleArgs,
    /// What to write: a table, or a JSON array of all that the rules hold.
    #[arg(long, value_enum, default_value_t = RulesFormat::Text, help_heading = "Output")]
    pub format: RulesFormat,
    /// When to colour the text; `NO_COLOR` is honoured.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The rule's id or name, such as KT101 or list-from-etcd.
    #[arg(value_name = "RULE")]
    pub rule: String,
    /// A directory with rule files (*.yaml) beside kubetoll's own.
    #[arg(long, value_name = "DIR", help_heading = "Rules")]
    pub rules: Vec<PathBuf>,
    /// The policy file; without it, kubetoll.yaml in the working directory, if it is there.
    #[arg(long, value_name = "PATH", help_heading = "Rules")]
    pub config: Option<PathBuf>,
    /// When to colour the text; `NO_COLOR` is honoured.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The directory with rule files (*.yaml).
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The schema of the policy file (kubetoll.yaml) instead.
    #[arg(long)]
    pub policy: bool,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub(super) fn choice(self) -> anstream::ColorChoice {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
    }
}

/// What to fail on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailOn {
    /// A finding of this severity or a worse one.
    Severity(Severity),
    /// A LIST that etcd answered.
    EtcdList,
    /// A GET that etcd answered.
    EtcdGet,
    /// A LIST of which the server ignored the limit.
    LimitIgnored,
    /// A finding of a rule: id, name or family. Whether there is one, the rules say later.
    Rule(String),
}

impl FromStr for FailOn {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "etcd-list" => Self::EtcdList,
            "etcd-get" => Self::EtcdGet,
            "limit-ignored" => Self::LimitIgnored,
            _ => text.parse().map_or_else(|_| Self::Rule(text.to_owned()), Self::Severity),
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_is_well_formed() {
        super::super::command().debug_assert();
    }
}
