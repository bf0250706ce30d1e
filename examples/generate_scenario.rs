//! Writes the audit log of a whole cluster in which one thing happens; the same for the same seed:
//!
//! ```text
//! cargo run --example generate_scenario -- --list
//! cargo run --example generate_scenario -- rolling-upgrade --nodes 100 --kube-version 1.30 --out /tmp/audit.log
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Parser;

use synth::scenarios::{self, Settings, Version};

/// Write the audit log of a cluster in which one thing happens.
#[derive(Parser)]
struct Arguments {
    /// The scenario; see --list.
    #[arg(required_unless_present = "list")]
    scenario: Option<String>,
    /// List the scenarios.
    #[arg(long)]
    list: bool,
    /// Nodes of the cluster.
    #[arg(long, default_value_t = 100)]
    nodes: usize,
    /// Length of the log.
    #[arg(long, default_value_t = 30)]
    minutes: u32,
    /// Release of the cluster, such as 1.30 or 1.30.14.
    #[arg(long, default_value = "1.34", value_parser = version)]
    kube_version: Version,
    /// The same seed gives the same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Log RequestReceived events too.
    #[arg(long)]
    received: bool,
    /// The file to write; `-` is standard output.
    #[arg(long, default_value = "-")]
    out: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let all = scenarios::all();
    let Some(name) = arguments.scenario.as_deref().filter(|_| !arguments.list) else {
        for scenario in &all {
            println!("{:<28} {}", scenario.name, scenario.summary);
        }
        return Ok(());
    };
    let scenario = all
        .iter()
        .find(|scenario| scenario.name == name)
        .ok_or_else(|| anyhow!("no scenario '{name}'; --list shows them"))?;
    let log = scenarios::log(
        scenario,
        Settings {
            nodes: arguments.nodes,
            minutes: arguments.minutes.into(),
            version: arguments.kube_version,
            seed: arguments.seed,
            received: arguments.received,
        },
    );
    if arguments.out.as_os_str() == "-" {
        return match io::stdout().lock().write_all(&log) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write to standard output")
            }
            _ => Ok(()),
        };
    }
    fs::write(&arguments.out, log).with_context(|| arguments.out.display().to_string())
}

fn version(text: &str) -> Result<Version, String> {
    Version::parse(text).ok_or_else(|| "write a release such as 1.30 or 1.30.14".to_owned())
}
