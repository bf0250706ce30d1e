//! The command line: arguments, progress, exit status. Wiring only.

mod args;
mod audit_policy;
mod classify;
mod etcd_log;
mod format;
mod inventory;
mod judging;
mod output;
mod paths;
mod progress;
mod rules;
mod scan;
mod server;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

pub use args::Cli;
use args::Command;

use crate::render::plain::escaped;

/// The work was done.
const DONE: u8 = 0;
/// Something was found that the caller asked to fail on.
const FOUND: u8 = 1;
/// The work could not be done.
const FAILED: u8 = 2;

/// Runs the command that was asked for.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Scan(args) => scan::run(&args),
        Command::Classify(args) => classify::run(&args),
        Command::Rules(command) => rules::run(&command),
        Command::AuditPolicy(args) => audit_policy::run(&args),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return DONE;
        }
        // A message quotes what stands in a file.
        let message = format!("{error:#}");
        let lines: Vec<_> = message.lines().map(escaped).collect();
        anstream::eprintln!("error: {}", lines.join("\n"));
        FAILED
    }))
}

/// Whether the reader of our output went away (`kubetoll … | head`), which is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// The command line's own description, for the generated reference.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}
