//! `kubetoll scan`: reads logs and writes reports.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use super::args::{FailOn, ScanArgs};
use super::by::RankedCount;
use super::format::Format;
use super::gates::RemainingRequests;
use super::judging::Judging;
use super::log_reader::{self, LogReader};
use super::output::{ERROR, SUCCESS, TextOutput, append, is_stdout, say, width};
use super::outputs::{self, Inputs};
use super::{budget, etcd_log, gates, inventory, judging, server};
use crate::budget::{Budget, unfit};
use crate::decode::Foreign;
use crate::input::Sources;
use crate::ledger::ServerTimeline;
use crate::pipeline::Settings;
use crate::profile::RunProfile;
use crate::render;
use crate::render::details::Details;
use crate::render::formats::{FormatWriter, OutputFormat};
use crate::render::text::View;
use crate::report::{self, Context, Detail, Report};
use crate::requests::filter::Filter;

pub(super) fn run(mut args: ScanArgs) -> anyhow::Result<u8> {
    name_output(&mut args)?;
    log_reader::in_pool(&args.judge.read.reading, |threads| scan(&args, threads))
}

/// Sets the format of `--output` from a `--format` without a path, or else from the file extension.
fn name_output(args: &mut ScanArgs) -> anyhow::Result<()> {
    let Some(path) = args.output.as_ref().filter(|path| !is_stdout(path)) else { return Ok(()) };
    if args.format.iter().any(|format| format.path.is_none()) {
        return Ok(());
    }
    let to_stdout = args.format.iter_mut().find(|format| format.table_path().is_some_and(is_stdout));
    match to_stdout {
        Some(format) => format.path = Some(path.clone()),
        None => args.format.push(Format::from_path(path).map_err(|error| anyhow!("-o: {error}"))?),
    }
    args.output = None;
    Ok(())
}

fn scan(args: &ScanArgs, threads: usize) -> anyhow::Result<u8> {
    let judge = &args.judge;
    let mut judging = judging::load(&judge.rules, &args.fail_on)?;
    let budget = args.budget.as_deref().map(budget::load).transpose()?.map(|(budget, _)| budget);
    if budget.is_none() {
        judging.leave_out_budget()?;
    }
    check_patterns(args, &judging.fail_on)?;
    let server_args = judging::server_args(&judge.server, &judging.policy);
    let server = server::server(&server_args)?;
    let inventory = inventory::load(&judge.inventory)?;
    let count = RankedCount::from_args(args)?;
    let settings = log_reader::settings(&judge.read.reading, threads)?;
    let settings = Settings { patterns: !judge.no_patterns && count.is_none(), by: args.by, ..settings };
    let pages = match &count {
        Some(count) => vec![Format { format: OutputFormat::text(), path: count.to.clone() }],
        None => pages(&args.format, args.output.as_deref())?,
    };
    if args.details.is_some() && pages.iter().all(|page| !page.format.is_text()) {
        bail!("--details is a part of the text; leave out --details, or add --format text");
    }
    check_paths(args)?;
    let paths = judge.read.logs.all();
    let sources = log_reader::sources(&paths, &judge.read.reading)?;
    let etcd_sources = etcd_log::sources(judge, settings.dedup)?;
    check_outputs(args, &pages, &sources, &etcd_sources)?;
    let etcd = etcd_log::read(judge, &etcd_sources, &settings)?;
    let given_version = server_args.kube_version.is_some().then_some(server.version);
    let mut reader = LogReader { args: &judge.read.reading, paths, settings, sources, server };
    if let Some(count) = count {
        return print_count(&reader, &count, args);
    }
    let (ledger, mut detected) = reader.read(given_version, etcd.versions(&etcd_sources))?;
    if judge.no_patterns {
        detected.notes.push("kubetoll did not look for patterns over time (--no-patterns)".to_owned());
    }
    detected.notes.append(&mut detected.etcd.notes);
    let mut empty = reader.paths_without_events(&ledger);
    empty.extend(etcd.empty.iter().cloned());
    // A log with only traces of slow requests also gets a report.
    let holds_any = ledger.input.all_events() > 0 || ledger.input.foreign.contains_key(&Foreign::Trace);
    let context = Context {
        sources: &reader.sources,
        filters: args.judge.read.reading.filter.flags(),
        server: reader.server.clone(),
        version: &detected.version,
        etcd_from: detected.etcd.from,
        etcd_stated: detected.etcd.stated,
        notes: detected.notes,
        etcd: etcd.etcd(&etcd_sources),
        rules: &judging.rules,
        policy: &judging.policy,
        inventory: inventory.as_ref(),
        detail: detail(args, &pages),
    };
    let mut report = report::build(ledger, &context);
    if let Some(budget) = &budget {
        judge_budget(&mut report, budget, &judging)?;
    }
    if holds_any {
        write(&report, args, &pages)?;
    }
    let code = outcome(&report, args, &reader.settings.filter, &judging.fail_on, &empty);
    // The process ends now, so skip freeing its memory.
    std::mem::forget((report, judging));
    Ok(code)
}

/// Adds the findings of a budget.
fn judge_budget(report: &mut Report, budget: &Budget, judging: &Judging) -> anyhow::Result<()> {
    let run = RunProfile::from_report(&serde_json::to_vec(&report.public)?)?;
    if let Some(why) = unfit(&run).filter(|_| report.totals.counts.requests > 0) {
        bail!("--budget: {why}");
    }
    report::add_findings(report, crate::budget::judge(budget, &run), &judging.rules, &judging.policy);
    Ok(())
}

/// Returns an error for `--details 2`, because clap reads `2` as a path: `--details` needs `=`.
fn check_paths(args: &ScanArgs) -> anyhow::Result<()> {
    if !matches!(args.details, Some(Details::All)) {
        return Ok(());
    }
    for path in args.judge.read.logs.all() {
        let Some(text) = path.to_str().filter(|text| !text.is_empty()) else { continue };
        let is_list = text.split(',').all(|part| part.parse::<u32>().is_ok());
        if is_list && !path.exists() {
            bail!("{text}: no such file; for details of a case, write --details={text}");
        }
    }
    Ok(())
}

/// Returns an error for gates with `--no-patterns`. Without patterns, the gates would count the LISTs of informers.
fn check_patterns(args: &ScanArgs, fail_on: &[FailOn]) -> anyhow::Result<()> {
    let word = fail_on.iter().find_map(|what| match what {
        FailOn::EtcdList => Some("etcd-list"),
        FailOn::LimitIgnored => Some("limit-ignored"),
        FailOn::EtcdGet | FailOn::Severity(_) | FailOn::Rule(_) => None,
    });
    match word.filter(|_| args.judge.no_patterns) {
        Some(word) => bail!(
            "--fail-on {word} leaves out the LISTs of informers, and --no-patterns does not look for informers; \
             leave out --no-patterns"
        ),
        None => Ok(()),
    }
}

/// The findings that the requested formats can show. A terminal has room for only some of thousands of findings.
/// Tables have no findings.
fn detail(args: &ScanArgs, pages: &[Format]) -> Detail {
    if pages.is_empty() && args.budget.is_none() {
        return Detail { cases: Some(0), ..Detail::ALL };
    }
    let are_for_terminals = pages.iter().all(|page| page.format.is_text());
    let has_tables = args.format.iter().any(|format| format.format.is_table());
    if are_for_terminals && !has_tables && args.details.is_none() && args.budget.is_none() {
        Detail { cases: Some(args.top), all_shapes: false }
    } else {
        Detail::ALL
    }
}

/// Prints errors, and returns the exit status.
fn outcome(report: &Report, args: &ScanArgs, filter: &Filter, wanted: &[FailOn], empty: &[String]) -> u8 {
    for message in empty {
        say(&format!("error: {message}"));
    }
    let remaining = RemainingRequests {
        requests: report.totals.counts.requests,
        filtered: report.input.filtered,
        received_only: report.input.received_only,
    };
    let is_enough = gates::enough_requests(&remaining, args.require_requests, filter);
    if !empty.is_empty() || !is_enough {
        return ERROR;
    }
    // A failed rule might have found what the gate checks.
    if !report.rule_failures.is_empty() && !wanted.is_empty() {
        say(&format!("error: a rule failed, so the gate can't be trusted: {}", report.rule_failures[0]));
        return ERROR;
    }
    gates::fail_on(report, wanted)
}

/// Checks before the work that all outputs can be written and that none overwrites an input.
fn check_outputs(
    args: &ScanArgs,
    pages: &[Format],
    sources: &Sources,
    etcd_sources: &Sources,
) -> anyhow::Result<()> {
    let formats = if args.by.is_some() { &[][..] } else { &args.format };
    let tables = formats.iter().filter_map(Format::table_path);
    let paths =
        pages.iter().filter_map(|page| page.path.as_deref()).chain(tables).filter(|path| !is_stdout(path));
    let summary = step_summary().filter(|_| pages.iter().any(|page| page.format.job_summary.is_some()));
    let mut named: Vec<PathBuf> = paths.map(Path::to_owned).collect();
    for path in &named {
        render::export::check(path)?;
    }
    let count = pages.len() + formats.iter().filter(|format| format.format.is_table()).count();
    let writes_stdout = named.len() < count;
    named.extend(summary.clone());
    let mut inputs = Inputs::new(&args.judge, sources, etcd_sources);
    args.budget.iter().for_each(|path| inputs.add(path, "the budget"));
    outputs::check(&named, &inputs, writes_stdout)?;
    summary.map_or(Ok(()), |path| append(&path, ""))
}

/// Prints a ranked count.
fn print_count(reader: &LogReader<'_>, count: &RankedCount, args: &ScanArgs) -> anyhow::Result<u8> {
    let ledger = reader.pass(&ServerTimeline::always(reader.server.version))?;
    let (filtered, received_only) = (ledger.input.filtered, ledger.input.received_only());
    let empty = reader.paths_without_events(&ledger);
    for message in &empty {
        say(&format!("error: {message}"));
    }
    if ledger.input.all_events() == 0 {
        return Ok(ERROR);
    }
    let ranked = count.write(ledger, args.top)?;
    let remaining = RemainingRequests { requests: ranked.requests, filtered, received_only };
    let is_enough = gates::enough_requests(&remaining, args.require_requests, &reader.settings.filter);
    Ok(if empty.is_empty() && is_enough { SUCCESS } else { ERROR })
}

/// The requested reports; text by default. At most one goes to standard output. With `--output`, a format without a
/// path goes to that file.
fn pages(formats: &[Format], output: Option<&Path>) -> anyhow::Result<Vec<Format>> {
    let mut pages: Vec<Format> = formats.iter().filter(|format| !format.format.is_table()).cloned().collect();
    let unnamed: Vec<&str> =
        pages.iter().filter(|page| page.path.is_none()).map(|page| page.format.name).collect();
    if let [first, second, ..] = unnamed.as_slice() {
        bail!(
            "--format {first} and --format {second} both go to standard output; write one as --format {second}=PATH"
        );
    }
    let any_to_stdout =
        !unnamed.is_empty() || pages.iter().any(|page| page.path.as_deref().is_some_and(is_stdout));
    if unnamed.is_empty()
        && (formats.is_empty() || output.is_some_and(|path| !(is_stdout(path) && any_to_stdout)))
    {
        pages.push(Format { format: OutputFormat::text(), path: None });
    }
    if let Some(page) = pages.iter_mut().find(|page| page.path.is_none()) {
        page.path = output.map(Path::to_owned);
    }
    let tables = formats.iter().filter_map(Format::table_path);
    let to_stdout = pages.iter().map(|page| page.path.as_deref()).chain(tables.map(Some));
    if to_stdout.filter(|to| to.is_none_or(is_stdout)).count() > 1 {
        bail!("two outputs go to standard output; name a file for one of them");
    }
    Ok(pages)
}

fn write(report: &Report, args: &ScanArgs, pages: &[Format]) -> anyhow::Result<()> {
    let details = args
        .details
        .as_ref()
        .map(|details| details.choose(report).map_err(anyhow::Error::msg))
        .transpose()?;
    let view = View { top: args.top, width: width(), details };
    let tables = args.format.iter().filter(|format| format.format.is_table());
    for Format { format, path } in tables.chain(pages) {
        match format.writer {
            FormatWriter::Table(table) => {
                render::export::write(report, table, path.as_deref().unwrap_or(Path::new("-")))?;
            }
            FormatWriter::Terminal(page) => {
                TextOutput::prepare(path.as_deref())?.write(&page(report, &view), args.color.choice())?;
            }
            FormatWriter::Page(page) => TextOutput::prepare(path.as_deref())?.write_raw(&page(report)?)?,
            FormatWriter::Stream(write) => {
                TextOutput::prepare(path.as_deref())?.write_with(|out| write(report, out))?;
            }
        }
        if let Some((summary, path)) = format.job_summary.zip(step_summary()) {
            append(&path, &summary(report))?;
        }
    }
    Ok(())
}

/// The file for the job summary in a GitHub workflow.
fn step_summary() -> Option<PathBuf> {
    std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from)
}
