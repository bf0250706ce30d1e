//! The arguments of `kubetoll budget`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::color::Color;
use super::judge_args::{ReadingArgs, RuleArgs, ServerArgs};
use super::output_path;
use super::page_args::{PageArgs, PageFormat};
use crate::budget::{FILE_NAME, Slack, Unlisted};

pub(super) const BUDGET_HELP: &str = "\
Examples:
  kubetoll budget init main-1.log main-2.log --user shop/order-operator --slack 20%
  kubetoll scan pr.log --budget kubetoll-budget.yaml --fail-on error
  kubetoll budget ratchet main.log
  kubetoll budget explain shop/order-operator
  kubetoll budget slope --run 10=ten.log --run 100=hundred.log --budget kubetoll-budget.yaml

docs/budget.md explains the file.";

const SLOPE_EXIT: &str = "\
Exit status:
  0  success
  1  a request of --budget grows by more than its maxSlope
  2  kubetoll could not do the work";

#[derive(Debug, Subcommand)]
pub(super) enum BudgetCommand {
    /// Write a budget file from one or more runs.
    ///
    /// Each LOG is one run: a log, a directory with the logs of one run, or a saved JSON report of `kubetoll scan`. A
    /// limit is the largest number of all runs, plus slack.
    Init(BudgetInitArgs),
    /// Lower the limits of a budget file to what runs measure, plus slack.
    ///
    /// Limits never rise. Comments, order and all other lines stay as they are. A rate falls only if the runs are below
    /// its limit by more than chance. Each LOG is one run, as for `kubetoll budget init`.
    Ratchet(BudgetRatchetArgs),
    /// Show what a budget file allows, and why.
    Explain(BudgetExplainArgs),
    /// Show whether requests grow with the number of objects, from runs with two numbers of objects.
    ///
    /// For each client and request shape, the report shows the additional requests for each additional object.
    #[command(after_help = SLOPE_EXIT)]
    Slope(BudgetSlopeArgs),
    /// Print the JSON Schema of budget files, for editors.
    Schema,
}

/// How to read runs.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
}

#[derive(Debug, Args)]
pub(super) struct BudgetInitArgs {
    /// The runs.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// How far limits are above what the runs show. Start counts and watches are whole numbers, rounded down.
    #[arg(long, value_name = "PERCENT", default_value = "20%", help_heading = "Budget")]
    pub(crate) slack: Slack,
    /// How to report a request without an entry: `fail` (an error), `warn` (a warning) or `allow` (not at all).
    #[arg(long, value_name = "WHAT", default_value = "fail", value_parser = unlisted, help_heading = "Budget")]
    pub(crate) unlisted: Unlisted,
    /// The budget file to write. It is written whole or not at all. PATH has a `/` or a `.`, or is `-` for standard
    /// output.
    #[arg(short, long, value_name = "PATH", default_value = FILE_NAME, value_parser = output_path::parse, help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Replace the file if it exists. Its comments and reasons are lost.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct BudgetRatchetArgs {
    /// The runs.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// The budget file.
    #[arg(long, value_name = "FILE", default_value = FILE_NAME, help_heading = "Budget")]
    pub(crate) budget: PathBuf,
    /// Show what would fall, and leave the file as it is.
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct BudgetExplainArgs {
    /// Only this client: its name in the file, or `namespace/name` of a ServiceAccount. Default: all clients.
    #[arg(value_name = "CLIENT")]
    pub(crate) entry: Option<String>,
    /// The budget file.
    #[arg(long, value_name = "FILE", default_value = FILE_NAME, help_heading = "Budget")]
    pub(crate) budget: PathBuf,
    /// Also show what this run uses of the budget.
    #[arg(long, value_name = "LOG", help_heading = "Budget")]
    pub(crate) log: Option<PathBuf>,
    /// When to color the text. `NO_COLOR` is honored.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct BudgetSlopeArgs {
    /// A run, and its number of objects, such as `10=ten.log`. Pass two numbers; several runs with one number count
    /// together.
    #[arg(long = "run", required = true, value_name = "OBJECTS=LOG", help_heading = "Runs")]
    pub(crate) runs: Vec<ObjectLog>,
    /// A budget file, whose `perObject` limits are checked.
    #[arg(long, value_name = "FILE", help_heading = "Runs")]
    pub(crate) budget: Option<PathBuf>,
    /// The output format. Default: text, or the format of the file extension of `--output`.
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) format: Option<PageFormat>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// A log with its number of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectLog {
    pub(crate) objects: u64,
    pub(crate) path: PathBuf,
}

impl FromStr for ObjectLog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "use OBJECTS=LOG, such as 10=ten.log".to_owned();
        let (objects, path) = text.split_once('=').ok_or_else(wrong)?;
        let objects: u64 = objects.trim().parse().map_err(|_| wrong())?;
        if path.is_empty() || objects > u64::from(u32::MAX) {
            return Err(wrong());
        }
        Ok(Self { objects, path: path.into() })
    }
}

fn unlisted(text: &str) -> Result<Unlisted, String> {
    let known = Unlisted::ALL.into_iter().find(|unlisted| unlisted.as_str() == text);
    known.ok_or_else(|| "use fail, warn or allow".to_owned())
}
