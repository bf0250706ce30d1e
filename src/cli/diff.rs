//! `kubetoll diff`: compares the requests of two sides.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{anyhow, bail};

use super::args::{DiffArgs, DiffFormat};
use super::output::{GATE_FAILED, SUCCESS, TextOutput, is_stdout, say, width};
use super::run_profile::RunReader;
use super::{format, log_reader, paths};
use crate::diff::{DiffReport, Side, compare};
use crate::render;

pub(super) fn run(args: &DiffArgs) -> anyhow::Result<u8> {
    log_reader::in_pool(&args.reading, |threads| diff(args, threads))
}

fn diff(args: &DiffArgs, threads: usize) -> anyhow::Result<u8> {
    let all = || args.base.iter().chain(&args.new);
    if all().filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("only one run can come from standard input");
    }
    let mut known = BTreeSet::new();
    if let Some(path) = all().find(|path| !known.insert(*path)) {
        bail!("{}: this path is given twice; each path is another run", paths::name(path));
    }
    if let Some(output) = args.page.output.as_ref().filter(|path| !is_stdout(path))
        && all().any(|path| path == output)
    {
        bail!("{}: this is an input; write the output to another file", paths::name(output));
    }
    let reader = RunReader::new(&args.reading, &args.server, &args.rules, threads)?;
    let side = |paths: &[PathBuf]| -> anyhow::Result<Side> {
        let run = |path: &PathBuf| Ok((path.display().to_string(), reader.read(path)?));
        Ok(Side { runs: paths.iter().map(run).collect::<anyhow::Result<_>>()? })
    };
    let (base, new) = (side(&args.base)?, side(&args.new)?);
    let report =
        compare(&base, &new, &args.per, &args.map, &args.fail_on).map_err(|message| anyhow!(message))?;
    write(&report, args)?;
    for failure in &report.failures {
        say(&format!("failed: {failure}"));
    }
    Ok(if report.failures.is_empty() { SUCCESS } else { GATE_FAILED })
}

fn write(report: &DiffReport, args: &DiffArgs) -> anyhow::Result<()> {
    let output = TextOutput::prepare(args.page.output.as_deref())?;
    let of_file = format::of_ending(
        args.page.output.as_deref(),
        [DiffFormat::Text, DiffFormat::Json, DiffFormat::Markdown],
    );
    match args.format.unwrap_or(of_file) {
        DiffFormat::Text => output
            .write(&render::diff::text(report, &args.per, args.page.top, width()), args.page.color.choice()),
        DiffFormat::Json => output.write_raw(&(render::escape::pretty_json(report) + "\n")),
        DiffFormat::Markdown => output.write_raw(&render::diff::markdown(report, &args.per)),
        DiffFormat::Github => output.write_raw(&render::diff::annotations(report, &args.per)),
    }
}
