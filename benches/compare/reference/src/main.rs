//! How fast the bytes of an audit log pass through less than kubetoll does: the rates that it is held against.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};

mod blocks;
mod event;

/// Measure one step on one core, over files in the page cache.
#[derive(Parser)]
struct Arguments {
    /// What to do with the bytes.
    #[arg(long)]
    what: What,
    /// How often; the median is printed.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Files: plain lines, or for the last three gzip and zstd.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Count line feeds with memchr.
    Newlines,
    /// Pass over each line's top-level keys with sonic-rs' unchecked object iterator.
    Structural,
    /// Decode the dozen fields that an analysis reads with `serde_json`, borrowed from the line.
    Typed,
    /// Inflate gzip with zlib-rs through flate2.
    ZlibRs,
    /// Inflate gzip with libdeflate, which takes a whole file at once.
    Libdeflate,
    /// Decode zstd.
    Zstd,
}

fn main() -> anyhow::Result<()> {
    let Arguments { what, rounds, paths } = Arguments::parse();
    if what == What::Structural {
        for path in &paths {
            check(path).with_context(|| path.display().to_string())?;
        }
    }
    let mut times = Vec::new();
    let mut passed = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        passed = 0;
        let mut inside = Duration::ZERO;
        for path in &paths {
            passed += pass(what, path, &mut inside).with_context(|| path.display().to_string())?;
        }
        times.push(if what == What::Libdeflate { inside } else { begin.elapsed() });
    }
    times.sort();
    let seconds = times[times.len() / 2].as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a rate to show")]
    let rate = passed as f64 / seconds / 1e9;
    let name = what.to_possible_value().context("no value is hidden")?;
    println!("{:<11} {passed:>12} bytes  {seconds:.6} s  {rate:>6.2} GB/s", name.get_name());
    Ok(())
}

/// Does it once with one file; how many bytes passed, before compression. `inside` is the time without reading the file.
fn pass(what: What, path: &Path, inside: &mut Duration) -> anyhow::Result<u64> {
    let mut found = 0_usize;
    let passed = match what {
        What::Newlines => blocks::each(File::open(path)?, |block| {
            found += memchr::memchr_iter(b'\n', block).count();
            Ok(())
        })?,
        What::Structural => blocks::each_line(File::open(path)?, |line| {
            // SAFETY: the iterator wants valid JSON; `check` has seen that each line is.
            #[allow(unsafe_code, reason = "what is measured is this very function")]
            let fields = unsafe { sonic_rs::to_object_iter_unchecked(line) };
            for field in fields {
                black_box(field?);
                found += 1;
            }
            Ok(())
        })?,
        What::Typed => blocks::each_line(File::open(path)?, |line| {
            black_box(serde_json::from_slice::<event::Event<'_>>(line)?);
            found += 1;
            Ok(())
        })?,
        What::ZlibRs => drain(flate2::bufread::MultiGzDecoder::new(in_blocks(path)?))?,
        What::Libdeflate => {
            let packed = fs::read(path)?;
            // The last four bytes of a gzip file are its length, which libdeflate needs.
            let Some((_, length)) = packed.split_last_chunk::<4>() else { bail!("it is too short for gzip") };
            let mut plain = vec![0; usize::try_from(u32::from_le_bytes(*length))?];
            // The system gives memory when it is touched, which is none of libdeflate's time.
            plain.fill(1);
            let begin = Instant::now();
            let length = libdeflater::Decompressor::new().gzip_decompress(&packed, &mut plain)?;
            *inside += begin.elapsed();
            black_box(&plain);
            length as u64
        }
        What::Zstd => drain(zstd::Decoder::with_buffer(in_blocks(path)?)?)?,
    };
    black_box(found);
    Ok(passed)
}

fn in_blocks(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(blocks::SIZE, File::open(path)?))
}

/// Reads to the end, and keeps nothing.
fn drain(mut from: impl Read) -> io::Result<u64> {
    let mut block = vec![0; blocks::SIZE];
    let mut passed = 0;
    loop {
        match from.read(&mut block)? {
            0 => return Ok(passed),
            length => passed += length as u64,
        }
        black_box(&block);
    }
}

/// Whether each line is JSON; and the file is in the page cache then.
fn check(path: &Path) -> anyhow::Result<()> {
    let mut number = 0;
    blocks::each_line(File::open(path)?, |line| {
        number += 1;
        serde_json::from_slice::<serde::de::IgnoredAny>(line).with_context(|| format!("line {number}"))?;
        Ok(())
    })?;
    Ok(())
}
