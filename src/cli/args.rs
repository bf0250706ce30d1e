//! The command line's flags and arguments.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::budget_args::{BUDGET_HELP, BudgetCommand};
use super::color::Color;
use super::format::Format;
pub(super) use super::judge_args::{FilterArgs, JudgeArgs, ReadArgs, ReadingArgs, RuleArgs, ServerArgs};
use super::number::number;
use super::output_path;
use super::page_args::{PageArgs, PageFormat};
use crate::diff::{DiffFailOn, NameMap, Unit};
use crate::render::details::{self, Details};
use crate::render::formats;
use crate::render::text::TOP;
use crate::requests::grouping::RequestProperty;
use crate::rules::Severity;

const EXIT_STATUS: &str = "\
Exit status:
  0  success
  1  --fail-on found something
  2  kubetoll could not do the work: no such file, no audit event in it, or a wrong flag, rule or policy file";

const EXTRACT_HELP: &str = "\
Examples:
  kubetoll extract audit.log --case 1 -o ./case1.jsonl
  kubetoll extract audit.log --case 1,3 --anonymize -o ./evidence.jsonl
  kubetoll extract audit.log --client kubectl --after 2026-07-23T10:00:00Z
  kubetoll extract - --anonymize < audit.log > anonymous.jsonl

Case numbers are those of `kubetoll scan` with the same flags.
With --case or a filter, kubetoll reads the log twice, so it must be a file.
Exit status: 0 success, 2 kubetoll could not do the work.";

const UPGRADE_HELP: &str = "\
Examples:
  kubetoll upgrade audit.log --to 1.34.2
  kubetoll upgrade audit.log --from 1.30.14 --to 1.31.14,1.32.10,1.33.6 --etcd-to 3.5.24
  kubetoll upgrade audit.log --to 1.34.2 --format markdown -o ./upgrade.md

Exit status: 0 success, 2 kubetoll could not do the work.";

const DIFF_HELP: &str = "\
Examples:
  kubetoll diff --base main.log --new pr.log --user 'shop/order-operator'
  kubetoll diff --base main-1.log main-2.log main-3.log --new pr-1.log pr-2.log pr-3.log --fail-on new-shape
  kubetoll diff --base main.json --new pr.json --per 'request-of=patch orders.shop.example/status' --format markdown
  kubetoll diff --base main.log --new pr.log --fail-on 'etcd-reads>+10%' --fail-on 'watches>+0'

Exit status:
  0  success
  1  --fail-on found something
  2  kubetoll could not do the work, or the sides cannot be compared";

/// Shows what each client costs your Kubernetes control plane, from recorded audit logs.
#[derive(Debug, Parser)]
#[command(name = "kubetoll", version, max_term_width = 100, after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one")]
pub(super) enum Command {
    /// Read audit logs and report what each client costs.
    #[command(after_help = EXIT_STATUS)]
    Scan(ScanArgs),
    /// Write the events of a case or of a whole log as evidence for others.
    ///
    /// Writes audit events without their envelopes, one JSON object per line, with all stages of each request. Access
    /// lines (httplog) stay as they are. Bodies of requests may have secrets. With --anonymize, kubetoll omits bodies
    /// and replaces names with pseudonyms. docs/extract.md lists the fields that remain.
    #[command(after_help = EXTRACT_HELP)]
    Extract(ExtractArgs),
    /// Show what the recorded requests would do on a newer version of Kubernetes.
    ///
    /// Compares the recorded server with each version of `--to`: the requests that move between etcd and the watch
    /// cache, limits that become honored or ignored, requests that the server refuses, and removed APIs.
    #[command(after_help = UPGRADE_HELP)]
    Upgrade(UpgradeArgs),
    /// Compare the requests of two sides, such as before and after a change of an operator.
    ///
    /// Each PATH is one run: a log, a directory with the logs of one run, or a saved JSON report of `kubetoll scan`.
    /// With several runs a side, their spread shows which differences are chance.
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Write, lower and explain budgets: files with the requests that clients may send.
    #[command(subcommand, after_help = BUDGET_HELP)]
    Budget(BudgetCommand),
    /// Show where the server serves a request from, and why.
    Classify(ClassifyArgs),
    /// List, explain and check the rules for findings.
    #[command(subcommand)]
    Rules(RulesCommand),
    /// List and explain the client products that findings name, with the settings of each product.
    #[command(subcommand)]
    Products(ProductsCommand),
    /// Print an audit policy that logs what kubetoll needs, with the least volume.
    AuditPolicy(AuditPolicyArgs),
}

#[derive(Debug, Args)]
pub(super) struct ScanArgs {
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    #[arg(long, help = formats::help(), value_name = "FORMAT[=PATH]", help_heading = "Output")]
    pub(crate) format: Vec<Format>,
    #[arg(short, long, help = output_path::help(), value_name = "PATH", value_parser = output_path::parse, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print how many requests each verb, user, … has, instead of the report. The largest numbers come first; `--top`
    /// limits the lines.
    #[arg(long, value_name = "WHAT", ignore_case = true, conflicts_with_all = ["fail_on", "etcd_log", "inventory", "details"], help_heading = "Output")]
    pub(crate) by: Option<RequestProperty>,
    /// The maximum number of cases on the page, or of lines with `--by`.
    #[arg(long, value_name = "N", default_value_t = TOP, value_parser = number::<usize>(0..=i64::MAX, "how many cases or lines to print, such as 20"), help_heading = "Output")]
    pub(crate) top: usize,
    /// Print details after the page: for all cases, for some cases (`--details=1,3`) or for clients
    /// (`--details=ops/*`).
    #[arg(long, value_name = "CASE,…|CLIENT", num_args = 0..=1, require_equals = true,
          default_missing_value = details::ALL, help_heading = "Output")]
    pub(crate) details: Option<Details>,
    /// When to color the text. `NO_COLOR` is honored.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(crate) color: Color,
    /// A budget file, which lists the requests that clients may send. Findings name the line to change. See
    /// docs/budget.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "no_patterns"], help_heading = "Rules")]
    pub(crate) budget: Option<PathBuf>,
    /// Exit with 1 for a finding of this severity or worse (`info`, `warning`, `error`) or of this rule (`KT101`,
    /// `list-from-etcd`). Also exit with 1 for a request of this kind: `etcd-list`, `etcd-get`, `limit-ignored`.
    /// Findings that kubetoll.yaml suppresses do not count. LISTs of informers do not count for `etcd-list` and
    /// `limit-ignored`: a WATCH follows them.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', help_heading = "Output")]
    pub(crate) fail_on: Vec<FailOn>,
    /// Exit with 2 if the filters leave fewer than N requests, or if a filter's name matches nothing. The flag
    /// without N means N = 1. Without this flag, `--fail-on` passes on a log without requests.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = number::<u64>(1..=i64::MAX, "how many requests, such as 100"), help_heading = "Output")]
    pub(crate) require_requests: Option<u64>,
}

#[derive(Debug, Args)]
pub(super) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    /// Only the events of these cases. To see the case numbers, run `kubetoll scan` with the same flags.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = number::<u32>(1..=i64::MAX, "the number of a case, such as 1, or several with commas"), help_heading = "Output")]
    pub(crate) case: Vec<u32>,
    /// Replace users, namespaces, names, addresses and selectors by pseudonyms, and leave out bodies and messages. A
    /// scan of the output finds the same cases.
    #[arg(long, help_heading = "Output")]
    pub(crate) anonymize: bool,
    /// Anonymize with the secret in this file, 16 bytes or more. Runs with the same secret give the same pseudonyms.
    /// With --anonymize, you can also pass the secret in `KUBETOLL_ANONYMIZE_KEY`. Without a secret, each run uses a
    /// random key.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) anonymize_key_file: Option<PathBuf>,
    /// Write to a file instead of standard output. The file is written whole or not at all. PATH has a `/` or a `.`,
    /// or is `-` for standard output.
    #[arg(short, long, value_name = "PATH", value_parser = output_path::json_lines, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct UpgradeArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The version to upgrade to, with its patch level, such as 1.34.2. With several versions, the report shows each
    /// step.
    #[arg(long, required = true, value_name = "VERSION", value_delimiter = ',', help_heading = "Servers")]
    pub(crate) to: Vec<String>,
    /// The version of the recorded server. Default: the version that the log shows.
    #[arg(long, value_name = "VERSION", help_heading = "Servers")]
    pub(crate) from: Option<String>,
    /// The version of etcd after the upgrade. Default: the version before.
    #[arg(long, value_name = "VERSION", help_heading = "Servers")]
    pub(crate) etcd_to: Option<String>,
    /// The version of etcd before the upgrade. Default: the version that the log shows, else a version that supports
    /// consistent reads from the cache.
    #[arg(long, value_name = "VERSION", help_heading = "Servers")]
    pub(crate) etcd_from: Option<String>,
    /// Feature gates that differ from the defaults, on each version that has them, such as `WatchList=false`.
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',', help_heading = "Servers")]
    pub(crate) feature_gate: Vec<String>,
    /// Feature gates that differ from the defaults only after the upgrade.
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',', help_heading = "Servers")]
    pub(crate) feature_gate_to: Vec<String>,
    /// A resource without a watch cache, such as `configmaps` or `deployments.apps`.
    #[arg(long, value_name = "RESOURCE", value_delimiter = ',', help_heading = "Servers")]
    pub(crate) uncached: Vec<String>,
    /// An API group that an aggregated API server serves.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', help_heading = "Servers")]
    pub(crate) aggregated: Vec<String>,
    /// The policy file, for the settings of the recorded server. Default: kubetoll.yaml in the working directory, if
    /// it exists.
    #[arg(long, value_name = "PATH", help_heading = "Servers")]
    pub(crate) config: Option<PathBuf>,
    /// The output format. Default: text, or the format of the file extension of `--output`.
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) format: Option<PageFormat>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// The runs before the change.
    #[arg(long, required = true, num_args = 1.., value_name = "PATH", help_heading = "Sides")]
    pub(crate) base: Vec<PathBuf>,
    /// The runs after the change.
    #[arg(long, required = true, num_args = 1.., value_name = "PATH", help_heading = "Sides")]
    pub(crate) new: Vec<PathBuf>,
    /// The unit of rates: `minute`, `node` (for each node and minute), `run`, or `request-of=SELECTOR`. A selector is
    /// a verb and a resource, such as `patch widgets.example.com/status`, with a client's identity before them if
    /// only its requests count.
    #[arg(long, value_name = "UNIT", default_value = "minute", help_heading = "Sides")]
    pub(crate) per: Unit,
    /// Compare clients whose names match the regular expression under another name. NAME may use `$1`. Random
    /// suffixes are always folded: `e2e-x7k2p` is compared as `e2e-*`.
    #[arg(long, value_name = "REGEX=NAME", help_heading = "Sides")]
    pub(crate) map: Vec<NameMap>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Exit with 1 for a request of a new shape (`new-shape`), for a new finding (`finding`), or for a total that
    /// rises by more than a limit and by more than chance: `etcd-reads>+10%`, `requests>+20%`, `writes>+5%`,
    /// `watches>+0`. You can repeat this flag.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', help_heading = "Output")]
    pub(crate) fail_on: Vec<DiffFailOn>,
    /// The output format. Default: text, or the format of the file extension of `--output`.
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) format: Option<DiffFormat>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// The output formats of `diff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    Text,
    Json,
    Markdown,
    Github,
}

#[derive(Debug, Args)]
pub(super) struct ClassifyArgs {
    /// The request, such as 'GET /api/v1/pods?limit=500' or 'LIST /api/v1/pods'. Or a command that sends it: 'kubectl
    /// get pods -A', 'curl https://…'. Quote a command with options. The default method is GET. Without
    /// --kube-version, the output is a table of all releases.
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin", value_name = "REQUEST")]
    pub(crate) request: Vec<String>,
    /// Read one JSON object per line from standard input, and write one verdict per line (see docs/classify.md).
    #[arg(long)]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// When to color the text. `NO_COLOR` is honored.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

#[derive(Debug, Args)]
pub(super) struct AuditPolicyArgs {
    /// Write to a file instead of standard output. The file is written whole or not at all. PATH has a `/` or a `.`,
    /// or is `-` for standard output.
    #[arg(short, long, value_name = "PATH", value_parser = output_path::yaml)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// List the active rules.
    List(ListArgs),
    /// Explain a rule: the requests that it matches, their costs, and the fix.
    Explain(ExplainArgs),
    /// Check the rule files of a directory. Reports all errors as `file:line:column: message`.
    Check(CheckArgs),
    /// Print the JSON Schema of rule files, for editors.
    Schema(SchemaArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum ProductsCommand {
    /// List all products.
    List {
        /// The output format: a table, a JSON array with all fields, or Markdown as in docs/products.md.
        #[arg(long, value_enum, default_value_t = ProductsFormat::Text, help_heading = "Output")]
        format: ProductsFormat,
        /// A directory with rule files. kubetoll also reads product files in the subdirectory `products/` of this
        /// directory.
        #[arg(long, value_name = "DIR", help_heading = "Rules")]
        rules: Vec<PathBuf>,
    },
    /// Show how kubetoll recognizes a product, and the product's settings.
    Explain {
        /// The product's name, such as velero.
        #[arg(value_name = "PRODUCT")]
        product: String,
        /// A directory with rule files. kubetoll also reads product files in the subdirectory `products/` of this
        /// directory.
        #[arg(long, value_name = "DIR", help_heading = "Rules")]
        rules: Vec<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProductsFormat {
    Text,
    Json,
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RulesFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// The output format: a table, or a JSON array with all fields.
    #[arg(long, value_enum, default_value_t = RulesFormat::Text, help_heading = "Output")]
    pub(crate) format: RulesFormat,
    /// When to color the text. `NO_COLOR` is honored.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(crate) color: Color,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The rule's id or name, such as KT101 or list-from-etcd.
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
    /// A directory with rule files (*.yaml), in addition to kubetoll's own.
    #[arg(long, value_name = "DIR", help_heading = "Rules")]
    pub(crate) rules: Vec<PathBuf>,
    /// The policy file. Default: kubetoll.yaml in the working directory, if it exists.
    #[arg(long, value_name = "PATH", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,
    /// When to color the text. `NO_COLOR` is honored.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(crate) color: Color,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The directory with rule files (*.yaml).
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// Print the schema of the policy file (kubetoll.yaml) instead.
    #[arg(long)]
    pub(crate) policy: bool,
}

/// A condition of `--fail-on`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailOn {
    /// A finding of this severity or worse.
    Severity(Severity),
    /// A LIST read from etcd.
    EtcdList,
    /// A GET read from etcd.
    EtcdGet,
    /// A LIST whose limit the server ignored.
    LimitIgnored,
    /// A finding of this rule. The value is the rule's id, its name, or a family such as `KT1`. Whether such a rule
    /// exists is checked later, when the rules are loaded.
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
    fn clap_definition_is_valid() {
        super::super::command().debug_assert();
    }
}
