//! The flags that several commands share: what to read, and how to judge it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::format::Format;
use super::number::number;
use crate::decode::{Envelope, Layers};
use crate::ledger::Dedup;

/// The audit logs to read.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Audit logs: files, directories (searched), or `-` for standard input; plain, gzip or zstd.
    #[arg(required_unless_present = "file", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Another audit log, like PATH. You can repeat this flag.
    #[arg(short, long, value_name = "PATH", value_parser = log_path)]
    file: Vec<PathBuf>,
}

/// Parses the path of a log. If no such file exists and the text names an output format, such as `json`, returns an
/// error.
fn log_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match text.parse::<Format>() {
        Ok(_) if !path.exists() => Err(format!("-f takes a log; for an output format use --format {text}")),
        _ => Ok(path),
    }
}

impl LogArgs {
    /// All paths, from arguments and from `--file`.
    pub(super) fn all(&self) -> Vec<PathBuf> {
        [&*self.paths, &*self.file].concat()
    }
}

/// What to read, and how.
#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    #[command(flatten)]
    pub(crate) logs: LogArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// How to read logs.
#[derive(Debug, Args)]
pub(super) struct ReadingArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Hide the progress bar.
    #[arg(long, help_heading = "Output")]
    pub(crate) no_progress: bool,
    /// The number of worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=512, "the number of workers, such as 4"), help_heading = "Reading")]
    pub(crate) threads: Option<u16>,
    /// The input format, such as `audit`, `cri` or `http-log`. Default: kubetoll detects the format of each record.
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub(crate) input_format: Option<InputFormat>,
    /// How to find duplicate events: `auto` uses bounded memory, and `exact` finds all duplicates.
    #[arg(long, value_enum, default_value_t = DedupArg::Auto, help_heading = "Reading")]
    pub(crate) dedup: DedupArg,
    /// The year of timestamps in the apiserver's own log, which show no year. Default: from the line's envelope, or
    /// from the time when the file was last modified.
    #[arg(long, value_name = "YEAR", value_parser = number::<i32>(1970..=9999, "a year, such as 2026"), help_heading = "Reading")]
    pub(crate) year: Option<i32>,
    /// The longest line or document to read, in MiB. Longer ones are skipped and counted. Default: 64. Four times
    /// this size, plus 64 MiB for each thread, must fit into memory.
    #[arg(long, value_name = "MIB", value_parser = number::<u16>(1..=1024, "MiB, such as 64"), help_heading = "Reading")]
    pub(crate) max_line: Option<u16>,
}

impl FilterArgs {
    /// The filters as flags, in a fixed order.
    pub(super) fn flags(&self) -> Vec<String> {
        let named = [
            ("user", &self.user),
            ("verb", &self.verb),
            ("resource", &self.resource),
            ("namespace", &self.namespace),
            ("client", &self.client),
            ("http-status-code", &self.http_status_code),
        ];
        let mut flags: Vec<String> = named
            .into_iter()
            .flat_map(|(name, values)| values.iter().map(move |value| format!("--{name}={value}")))
            .chain(self.before.iter().map(|time| format!("--before={time}")))
            .chain(self.after.iter().map(|time| format!("--after={time}")))
            .chain(self.failed_only.then(|| "--failed-only".to_owned()))
            .collect();
        flags.sort();
        flags
    }
}

/// The inputs, and the settings for verdicts and findings.
#[derive(Debug, Args)]
pub(super) struct JudgeArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// etcd's own log, to show slow requests: a file, a directory (searched), or `-`; plain, gzip or zstd. You can
    /// repeat this flag.
    #[arg(long, value_name = "PATH", help_heading = "Beside the audit logs")]
    pub(crate) etcd_log: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// A file with the number of objects in the cluster, to compute costs. Either a dump of kube-apiserver's
    /// /metrics, or CSV or YAML with `resource,objects,bytesPerObject` (see docs/cost.md). You can repeat this flag.
    /// For each resource, later files override earlier files.
    #[arg(long, value_name = "FILE", help_heading = "Cost")]
    pub(crate) inventory: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Do not look for patterns over time. This saves memory, but rules then find no polling, herds, repeated LISTs
    /// of informers, paginated LISTs or duplicate watches.
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_patterns: bool,
}

/// The server configuration for the verdicts.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// The version of kube-apiserver with its patch level, such as 1.33.2.
    #[arg(long, value_name = "VERSION", help_heading = "Server")]
    pub(crate) kube_version: Option<String>,
    /// The version of etcd, such as 3.5.21. Default: a version that supports consistent reads from the cache.
    #[arg(long, value_name = "VERSION", help_heading = "Server")]
    pub(crate) etcd_version: Option<String>,
    /// Feature gates that differ from the version's defaults, such as `WatchList=false` or `AllBeta=false`.
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',', help_heading = "Server")]
    pub(crate) feature_gate: Vec<String>,
    /// A resource without a watch cache, such as `configmaps` or `deployments.apps`. kubetoll already knows that
    /// events have none.
    #[arg(long, value_name = "RESOURCE", value_delimiter = ',', help_heading = "Server")]
    pub(crate) uncached: Vec<String>,
    /// An API group that an aggregated API server serves. kubetoll already knows the metrics APIs.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', help_heading = "Server")]
    pub(crate) aggregated: Vec<String>,
}

/// The rules and the policy file.
#[derive(Debug, Args)]
pub(super) struct RuleArgs {
    /// A directory with rule files (*.yaml), in addition to kubetoll's own. A rule with the same id replaces
    /// kubetoll's rule.
    #[arg(long, value_name = "DIR", help_heading = "Rules")]
    pub(crate) rules: Vec<PathBuf>,
    /// Use only these rules: ids, names, or families such as KT1.
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) select: Vec<String>,
    /// Do not use these rules.
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) ignore: Vec<String>,
    /// The policy file. Default: kubetoll.yaml in the working directory, if it exists.
    #[arg(long, value_name = "PATH", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,
}

/// An input format as the report writes it: the names of the envelopes, the outermost first. Examples: `cri`,
/// `cri/audit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputFormat(pub(crate) Layers);

impl FromStr for InputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Envelope::ALL.map(Envelope::as_str).join(", ");
        let find = |name: &str| Envelope::ALL.into_iter().find(|envelope| envelope.as_str() == name);
        let envelopes: Option<Vec<Envelope>> = text.split('/').map(find).collect();
        envelopes
            .filter(|envelopes| envelopes.len() <= Layers::MAX)
            .map(|envelopes| Self(envelopes.into_iter().fold(Layers::default(), Layers::with)))
            .ok_or_else(|| format!("not an input format; use one of: {}", names()))
    }
}

/// The values of `--dedup`.
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

/// The filters of requests. Names may contain `*`. A `-` before a name excludes the requests with this name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters (a* matches, -a leaves out)")]
pub(super) struct FilterArgs {
    /// Only requests of these users: the authenticated user or the impersonated user.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) user: Vec<String>,
    /// Only these verbs; case does not matter.
    #[arg(long, value_name = "VERB", allow_hyphen_values = true)]
    pub(crate) verb: Vec<String>,
    /// Only these resources: `pods`, `deployments.apps`, `pods/status`. Short names and kinds in any case are
    /// accepted (`po`, `Deployment`).
    #[arg(long, value_name = "RESOURCE", allow_hyphen_values = true)]
    pub(crate) resource: Vec<String>,
    /// Only requests in these namespaces.
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) namespace: Vec<String>,
    /// Only these clients: a name as the report prints it (`monitoring/poller`, `user bob`), a user agent's product
    /// (`kubectl`), an identity, or a kind (`service-account`).
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) client: Vec<String>,
    /// Only requests received before this time (RFC 3339, or a day).
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Option<String>,
    /// Only requests received at this time or later.
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Only requests with these status codes: `429`, `5xx`.
    #[arg(long, value_name = "CODE")]
    pub(crate) http_status_code: Vec<String>,
    /// Only requests with status code 400 or higher.
    #[arg(long)]
    pub(crate) failed_only: bool,
}

impl FilterArgs {
    /// Whether there are filters besides `--user`.
    pub(super) fn has_other_than_users(&self) -> bool {
        let Self { user: _, verb, resource, namespace, client, before, after, http_status_code, failed_only } =
            self;
        let lists = [verb, resource, namespace, client, http_status_code];
        lists.into_iter().any(|list| !list.is_empty()) || before.is_some() || after.is_some() || *failed_only
    }
}
