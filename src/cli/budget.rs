//! `kubetoll budget`: writes, lowers and explains budgets, and shows how requests grow with objects.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};

use super::budget_args::{
    BudgetCommand, BudgetExplainArgs, BudgetInitArgs, BudgetRatchetArgs, BudgetSlopeArgs, RunArgs,
};
use super::output::{GATE_FAILED, SUCCESS, TextOutput, is_stdout, say, width};
use super::page_args::PageFormat;
use super::run_profile::RunReader;
use super::{format, judging, log_reader, paths};
use crate::budget::{self, Budget, MeasuredRun, ObjectRun, SlopeReport, unfit};
use crate::diff::NameFolding;
use crate::files::read_up_to;
use crate::profile::RunProfile;
use crate::render;

/// The client of all nodes together.
const NODES: &str = "system:node:*";
/// The shortest run that shows a steady state, in minutes.
const SHORT: f64 = 2.0;

pub(super) fn run(command: &BudgetCommand) -> anyhow::Result<u8> {
    match command {
        BudgetCommand::Init(args) => in_pool(&args.run, |threads| init(args, threads)),
        BudgetCommand::Ratchet(args) => in_pool(&args.run, |threads| ratchet(args, threads)),
        BudgetCommand::Explain(args) => in_pool(&args.run, |threads| explain(args, threads)),
        BudgetCommand::Slope(args) => in_pool(&args.run, |threads| slope(args, threads)),
        BudgetCommand::Schema => {
            let text = serde_json::to_string_pretty(&budget::schema())? + "\n";
            TextOutput::Stdout.write_raw(&text)?;
            Ok(SUCCESS)
        }
    }
}

fn in_pool(args: &RunArgs, work: impl FnOnce(usize) -> anyhow::Result<u8> + Send) -> anyhow::Result<u8> {
    log_reader::in_pool(&args.reading, work)
}

/// Reads a budget file. Also returns its text.
pub(super) fn load(path: &Path) -> anyhow::Result<(Budget, String)> {
    let unreadable = || format!("{}: can't be read as a budget file", path.display());
    let bytes = read_up_to(path, budget::LONGEST).with_context(unreadable)?;
    let text = String::from_utf8(bytes).with_context(unreadable)?;
    let budget = Budget::read(&path.display().to_string(), &text)?;
    Ok((budget, text))
}

/// Reads runs that a budget can measure.
struct BudgetRuns<'a> {
    reader: RunReader<'a>,
}

impl<'a> BudgetRuns<'a> {
    fn new(args: &'a RunArgs, threads: usize) -> anyhow::Result<Self> {
        Ok(Self { reader: RunReader::new(&args.reading, &args.server, &args.rules, threads)? })
    }

    fn read(&self, path: &Path) -> anyhow::Result<RunProfile> {
        let run = self.reader.read(path)?;
        if let Some(why) = unfit(&run) {
            bail!("{}: {why}", paths::name(path));
        }
        if run.minutes.is_some_and(|minutes| minutes < SHORT) {
            let name = paths::name(path);
            say(&format!(
                "note: {name}: the run takes less than 2 minutes, so it hardly shows a steady state"
            ));
        }
        Ok(run)
    }

    fn measured(&self, logs: &[PathBuf]) -> anyhow::Result<Vec<MeasuredRun>> {
        check_stdin(logs)?;
        let folding = NameFolding::default();
        let read = |path: &PathBuf| {
            let mut run = self.read(path)?;
            // In a budget, * matches any text.
            let has_star = |name: &str| name.contains('*') && name != NODES;
            let starred = run.clients.keys().filter(|name| has_star(name)).count();
            if starred > 0 {
                let names = render::plain::counted(starred as u64, "client");
                say(&format!("note: {}: {names} with * in the name cannot have a budget", paths::name(path)));
                run.clients.retain(|name, _| !has_star(name));
            }
            Ok(MeasuredRun {
                clients: folding.fold_clients(&run),
                shows_open_watches: run.shows_open_watches,
            })
        };
        logs.iter().map(read).collect()
    }
}

fn check_stdin(logs: &[PathBuf]) -> anyhow::Result<()> {
    if logs.iter().filter(|path| is_stdout(path)).count() > 1 {
        bail!("only one run can come from standard input");
    }
    Ok(())
}

fn init(args: &BudgetInitArgs, threads: usize) -> anyhow::Result<u8> {
    let output = &args.output;
    if !is_stdout(output) && !args.force && !judging::is_absent(output) {
        bail!(
            "{}: the file exists; --force replaces it and its comments, and `kubetoll budget ratchet` lowers its limits",
            output.display()
        );
    }
    if args.logs.contains(output) && !is_stdout(output) {
        bail!("{}: this is an input; write the budget to another file", paths::name(output));
    }
    let prepared = TextOutput::prepare(Some(output))?;
    let filter = &args.run.reading.filter;
    let runs = BudgetRuns::new(&args.run, threads)?.measured(&args.logs)?;
    let clients: std::collections::BTreeSet<&String> =
        runs.iter().flat_map(|run| run.clients.keys()).collect();
    if clients.is_empty() {
        bail!("the runs have no request that the filters leave, so there is nothing to write");
    }
    let text = budget::init(&runs, &filter.user, args.slack, args.unlisted);
    if text.len() > budget::LONGEST {
        bail!(
            "a budget of {} is longer than {} MiB; name some clients with --user",
            render::plain::counted(clients.len() as u64, "client"),
            budget::LONGEST >> 20
        );
    }
    // The text has names that clients choose. Reading it shows that they cannot break the file.
    let name = output.display().to_string();
    Budget::read(&name, &text).map_err(|errors| anyhow!("the budget would not be valid: {errors}"))?;
    prepared.write_raw(&text)?;
    if !is_stdout(output) {
        let shapes: usize = text.matches("- request: ").count();
        say(&format!(
            "{name}: a budget for {} and {}",
            render::plain::counted(clients.len() as u64, "client"),
            render::plain::counted(shapes as u64, "request shape")
        ));
    }
    let running: Vec<&str> = clients
        .iter()
        .filter(|name| {
            let mut in_runs = runs.iter().filter_map(|run| run.clients.get(**name));
            in_runs.all(|client| client.was_running)
        })
        .map(|name| name.as_str())
        .collect();
    if let [first, others @ ..] = running.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        say(&format!(
            "note: these clients were running before the log begins, so the budget does not allow them a start: \
             {first}{more}"
        ));
    }
    if filter.user.is_empty() {
        say("note: the budget judges all clients; --user limits it to some");
    }
    if filter.has_other_than_users() {
        say("note: the runs were read with filters; pass the same filters to `kubetoll scan --budget`");
    }
    Ok(SUCCESS)
}

fn ratchet(args: &BudgetRatchetArgs, threads: usize) -> anyhow::Result<u8> {
    let (budget, text) = load(&args.budget)?;
    let runs = BudgetRuns::new(&args.run, threads)?.measured(&args.logs)?;
    let done = budget::ratchet(&budget, &text, &runs)
        .map_err(|error| anyhow!("{}: {error}", args.budget.display()))?;
    if !args.dry_run && done.text != text {
        TextOutput::prepare(Some(&args.budget))?.write_raw(&done.text)?;
    }
    let page = render::budget::ratchet(&budget, &done, args.dry_run, width());
    TextOutput::Stdout.write(&page, anstream::ColorChoice::Auto)?;
    Ok(SUCCESS)
}

fn explain(args: &BudgetExplainArgs, threads: usize) -> anyhow::Result<u8> {
    let (budget, _) = load(&args.budget)?;
    let run = match &args.log {
        Some(log) => Some(BudgetRuns::new(&args.run, threads)?.read(log)?),
        None => None,
    };
    let clients: Vec<usize> = match &args.entry {
        Some(name) => budget.named(name),
        None => (0..budget.clients.len()).collect(),
    };
    if let Some(name) = args.entry.as_ref().filter(|_| clients.is_empty()) {
        let names = budget.clients.iter().map(|client| &*client.client);
        bail!("{}: no entry for '{name}'{}", budget.file, crate::files::expected(name, names));
    }
    let used = run.as_ref().map(|run| budget::used(&budget, run));
    let page = render::budget::explain(&budget, &clients, used.as_deref(), width());
    TextOutput::Stdout.write(&page, args.color.choice())?;
    Ok(SUCCESS)
}

fn slope(args: &BudgetSlopeArgs, threads: usize) -> anyhow::Result<u8> {
    let paths: Vec<PathBuf> = args.runs.iter().map(|run| run.path.clone()).collect();
    check_stdin(&paths)?;
    if let Some(output) = args.page.output.as_ref().filter(|path| !is_stdout(path))
        && (paths.contains(output) || args.budget.as_ref() == Some(output))
    {
        bail!("{}: this is an input; write the output to another file", paths::name(output));
    }
    let budget = args.budget.as_deref().map(load).transpose()?.map(|(budget, _)| budget);
    let reader = BudgetRuns::new(&args.run, threads)?;
    let read = |run: &super::budget_args::ObjectLog| {
        let profile = reader.read(&run.path)?;
        Ok(ObjectRun { objects: run.objects, path: run.path.display().to_string(), profile })
    };
    let runs: Vec<ObjectRun> = args.runs.iter().map(read).collect::<anyhow::Result<_>>()?;
    let report = budget::slope(&runs, budget.as_ref()).map_err(|error| anyhow!(error))?;
    write_slope(&report, args)?;
    for failure in &report.failures {
        say(&format!("failed: {failure}"));
    }
    Ok(if report.failures.is_empty() { SUCCESS } else { GATE_FAILED })
}

fn write_slope(report: &SlopeReport, args: &BudgetSlopeArgs) -> anyhow::Result<()> {
    let output = TextOutput::prepare(args.page.output.as_deref())?;
    let of_file = format::of_ending(
        args.page.output.as_deref(),
        [PageFormat::Text, PageFormat::Json, PageFormat::Markdown],
    );
    match args.format.unwrap_or(of_file) {
        PageFormat::Text => {
            output.write(&render::slope::text(report, args.page.top, width()), args.page.color.choice())
        }
        PageFormat::Json => output.write_raw(&(render::escape::pretty_json(report) + "\n")),
        PageFormat::Markdown => output.write_raw(&render::slope::markdown(report)),
    }
}
