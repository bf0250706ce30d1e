//! Writes a made-up audit log, the same for the same seed:
//!
//! ```text
//! cargo run --release --example generate_log -- --bytes 100MB --seed 1 --out /tmp/audit.log
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

#[allow(dead_code, reason = "the benchmarks and the tests use the rest")]
#[path = "../benches/support/synth/mod.rs"]
mod synth;

/// Write an audit log as a kube-apiserver would, made up from a seed.
#[derive(Parser)]
struct Arguments {
    /// About how much to write, such as 100MB.
    #[arg(long, default_value = "10MB", value_parser = size)]
    bytes: u64,
    /// The same seed gives the same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Clients beside the control plane: half of them are nodes.
    #[arg(long, default_value_t = 200)]
    clients: usize,
    /// Pods of one daemon set that list and watch, in place of a cluster with so many clients.
    #[arg(long)]
    fleet: Option<usize>,
    /// The file to write; `-` is standard output.
    #[arg(long, default_value = "-")]
    out: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.out == Path::new("-") {
        match write(&arguments, io::stdout().lock()) {
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write to standard output"),
        }
    } else {
        let name = || arguments.out.display().to_string();
        let file = File::create(&arguments.out).with_context(name)?;
        write(&arguments, file).with_context(name)
    }
}

fn write(arguments: &Arguments, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let mut written = 0;
    let log: Box<dyn Iterator<Item = String>> = match arguments.fleet {
        Some(pods) => Box::new(synth::fleet::Fleet::new(arguments.seed, pods)),
        None => Box::new(synth::Log::new(arguments.seed, arguments.clients)),
    };
    for line in log {
        if written >= arguments.bytes {
            break;
        }
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
        written += line.len() as u64 + 1;
    }
    out.flush()
}

/// Reads a size such as `500`, `64KB`, `100MB` or `2GB`, in powers of 1000.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err("write a size such as 100MB".to_owned()),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(scale))
        .ok_or_else(|| "write a size such as 100MB".to_owned())
}
