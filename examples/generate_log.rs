//! Writes a made-up audit log, or a recorded one over and over; the same for the same seed:
//!
//! ```text
//! cargo run --release --example generate_log -- --bytes 100MB --seed 1 --out /tmp/audit.log
//! ```

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{Parser, ValueEnum};
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Write an audit log as a kube-apiserver would, made up from a seed.
#[derive(Parser)]
struct Arguments {
    /// Approximate size before compression, such as 100MB.
    #[arg(long, default_value = "10MB", value_parser = size)]
    bytes: u64,
    /// The same seed gives the same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Clients beside the control plane: half of them are nodes.
    #[arg(long, default_value_t = 200)]
    clients: usize,
    /// The audit level.
    #[arg(long, default_value = "metadata", conflicts_with = "fleet")]
    level: Level,
    /// Write a fleet instead: this many pods of one DaemonSet that list and watch.
    #[arg(long)]
    fleet: Option<usize>,
    /// A recorded audit log, plain or gzip. It is repeated with other audit IDs and later times.
    #[arg(long, conflicts_with_all = ["fleet", "clients", "level"])]
    recording: Option<PathBuf>,
    /// Compress as the apiserver (gzip, level 6) or a log shipper (zstd, level 3) does.
    #[arg(long)]
    compress: Option<Compression>,
    /// Write this many files of similar size before compression, as a rotated log; `--out` is their directory.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=9_999))]
    files: u32,
    /// The file to write; `-` is standard output.
    #[arg(long, default_value = "-")]
    out: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    /// Metadata alone.
    Metadata,
    /// Also bodies of requests and responses, of 2 KB to 1 MB.
    RequestResponse,
}

#[derive(Clone, Copy, ValueEnum)]
enum Compression {
    Gzip,
    Zstd,
}

/// The output of lines.
enum Sink {
    Plain(Box<dyn Write>),
    Gzip(GzEncoder<Box<dyn Write>>),
    Zstd(zstd::Encoder<'static, Box<dyn Write>>),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut log = log(&arguments)?;
    if arguments.files > 1 {
        return rotated(&arguments, &mut log);
    }
    if arguments.out == Path::new("-") {
        match write(&mut log, 0, arguments.bytes, Box::new(io::stdout().lock()), arguments.compress) {
            // The reader closed the pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map(drop).context("cannot write to standard output"),
        }
    } else {
        let name = || arguments.out.display().to_string();
        let file = File::create(&arguments.out).with_context(name)?;
        write(&mut log, 0, arguments.bytes, Box::new(file), arguments.compress).map(drop).with_context(name)
    }
}

fn log(arguments: &Arguments) -> anyhow::Result<Box<dyn Iterator<Item = String>>> {
    let Arguments { seed, clients, .. } = *arguments;
    if let Some(path) = &arguments.recording {
        let name = || path.display().to_string();
        let lines = recording(path).with_context(name)?;
        let log = synth::amplify::Amplified::new(&lines, seed).map_err(|error| anyhow!(error));
        return Ok(Box::new(log.with_context(name)?));
    }
    Ok(match (arguments.fleet, arguments.level) {
        (Some(pods), _) => Box::new(synth::fleet::Fleet::new(seed, pods)),
        (None, Level::Metadata) => Box::new(synth::Log::new(seed, clients)),
        (None, Level::RequestResponse) => Box::new(synth::Log::with_bodies(seed, clients)),
    })
}

fn recording(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return io::read_to_string(MultiGzDecoder::new(&*bytes));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes one log as pieces that follow each other, `audit-0001.jsonl` and so on.
fn rotated(arguments: &Arguments, log: &mut dyn Iterator<Item = String>) -> anyhow::Result<()> {
    if arguments.out == Path::new("-") {
        bail!("--files needs a directory: give one with --out");
    }
    fs::create_dir_all(&arguments.out).with_context(|| arguments.out.display().to_string())?;
    let mut written = 0;
    for number in 1..=arguments.files {
        // No piece is empty, even if an event is larger than a piece.
        let until = (arguments.bytes * u64::from(number) / u64::from(arguments.files)).max(written + 1);
        let ending = match arguments.compress {
            None => "",
            Some(Compression::Gzip) => ".gz",
            Some(Compression::Zstd) => ".zst",
        };
        let path = arguments.out.join(format!("audit-{number:04}.jsonl{ending}"));
        let name = || path.display().to_string();
        let file = File::create(&path).with_context(name)?;
        written = write(log, written, until, Box::new(file), arguments.compress).with_context(name)?;
    }
    Ok(())
}

/// Writes lines until the output has `until` bytes, and returns its size. `written` bytes are already there.
fn write(
    log: &mut dyn Iterator<Item = String>,
    mut written: u64,
    until: u64,
    out: Box<dyn Write>,
    compress: Option<Compression>,
) -> io::Result<u64> {
    let out: Box<dyn Write> = Box::new(BufWriter::with_capacity(1 << 20, out));
    let mut out = match compress {
        None => Sink::Plain(out),
        Some(Compression::Gzip) => Sink::Gzip(GzEncoder::new(out, flate2::Compression::new(6))),
        Some(Compression::Zstd) => Sink::Zstd(zstd::Encoder::new(out, 3)?),
    };
    while written < until {
        let Some(mut line) = log.next() else { break };
        line.push('\n');
        match &mut out {
            Sink::Plain(out) => out.write_all(line.as_bytes())?,
            Sink::Gzip(out) => out.write_all(line.as_bytes())?,
            Sink::Zstd(out) => out.write_all(line.as_bytes())?,
        }
        written += line.len() as u64;
    }
    match out {
        Sink::Plain(mut out) => out.flush()?,
        Sink::Gzip(out) => out.finish()?.flush()?,
        Sink::Zstd(out) => out.finish()?.flush()?,
    }
    Ok(written)
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
