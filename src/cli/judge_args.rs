//! The arguments that decide what is read and how it is judged: those of `scan`, which `extract` has too.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::format::Format;
use super::number::number;
use crate::decode::{Envelope, Layers};
use crate::ledger::Dedup;

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

/// What is read, and what judges it.
#[derive(Debug, Args)]
pub(super) struct JudgeArgs {
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
    /// Show no progress.
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,
    /// Workers; without it, one for each core.
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=512, "the number of workers, such as 4"), help_heading = "Reading")]
    pub threads: Option<u16>,
    /// The input format, such as `audit`, `cri` or `http-log`. Without it, kubetoll detects the format of each record.
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
    #[arg(long, value_name = "YEAR", value_parser = number::<i32>(1970..=9999, "a year, such as 2026"), help_heading = "Reading")]
    pub year: Option<i32>,
    /// Longest line or document that is read; longer ones are counted as skipped. Default: 64. Four times as much, and
    /// 64 MiB for each thread, must fit into the memory.
    #[arg(long, value_name = "MIB", value_parser = number::<u16>(1..=1024, "MiB, such as 64"), help_heading = "Reading")]
    pub max_line: Option<u16>,
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
    /// Only these verbs; case does not matter.
    #[arg(
        long,
        value_name = "VERB",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub verb: Vec<String>,
    /// Only these resources: `pods`, `deployments.apps`, `pods/status`; short names, kinds and capitals work, too (`po`,
    /// `Deployment`).
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
    /// Only these clients: a name as the report prints it (`monitoring/poller`, `user bob`), a user agent's product
    /// (`kubectl`), an identity, or a kind (`service-account`).
    #[arg(
        long,
        value_name = "NAME",
        allow_hyphen_values = true,
        help_heading = "Filters (a* matches, -a leaves out)"
    )]
    pub client: Vec<String>,
    /// Only requests received before this time (RFC 3339, or a day).
    #[arg(long, value_name = "TIME", help_heading = "Filters (a* matches, -a leaves out)")]
    pub before: Option<String>,
    /// Only requests received at this time or later.
    #[arg(long, value_name = "TIME", help_heading = "Filters (a* matches, -a leaves out)")]
    pub after: Option<String>,
    /// Only requests answered with these: `429`, `5xx`.
    #[arg(long, value_name = "CODE", help_heading = "Filters (a* matches, -a leaves out)")]
    pub http_status_code: Vec<String>,
    /// Only requests answered with 400 or above.
    #[arg(long, help_heading = "Filters (a* matches, -a leaves out)")]
    pub failed_only: bool,
}
