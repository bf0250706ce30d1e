//! The command line: arguments, progress and exit status.

mod args;
mod budget;
mod budget_args;
mod by;
mod classify;
mod color;
mod diff;
mod etcd_log;
mod extract;
mod format;
mod gates;
mod inventory;
mod judge_args;
mod judging;
mod kubectl;
mod log_reader;
mod memory;
mod number;
mod output;
mod output_path;
mod outputs;
mod page_args;
mod paths;
mod products;
mod progress;
mod rules;
mod run_profile;
mod scan;
mod server;
mod upgrade;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

pub(crate) use args::Cli;
use args::Command;
use output::{ERROR, SUCCESS, TextOutput, say};

use crate::files::partial;
use crate::render::plain::escaped;

/// The audit policy that kubetoll needs from kube-apiserver, with a comment on each line.
const AUDIT_POLICY: &str = include_str!("audit-policy.yaml");

#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        let arguments: Vec<String> =
            std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
        match classify::quoted_command(&arguments).filter(|_| error.kind() == ErrorKind::UnknownArgument) {
            Some(command) => {
                say(&format!("error: the command has options; quote it: {}", escaped(&command)));
                std::process::exit(ERROR.into())
            }
            None => error.exit(),
        }
    });
    if let Err(error) = partial::remove_on_signals() {
        say(&format!("note: a signal may leave partial files behind: {error}"));
    }
    let done = match cli.command {
        Command::Scan(args) => scan::run(args),
        Command::Extract(args) => extract::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Budget(command) => budget::run(&command),
        Command::Upgrade(args) => upgrade::run(&args),
        Command::Classify(args) => classify::run(&args),
        Command::Rules(command) => rules::run(&command),
        Command::Products(command) => products::run(&command),
        Command::AuditPolicy(args) => {
            let output = TextOutput::prepare(args.output.as_deref());
            output.and_then(|output| output.write_raw(AUDIT_POLICY)).map(|()| SUCCESS)
        }
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        // Use `say`, because it escapes the message, which may quote hostile file content.
        say(&format!("error: {error:#}"));
        ERROR
    }))
}

/// The command line's definition, for the generated reference.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}
