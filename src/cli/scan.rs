//! `kubetoll scan`: from logs to a report.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rayon::ThreadPoolBuilder;

use super::args::{FailOn, FilterArgs, ScanArgs};
use super::by::Count;
use super::format::{Format, Page};
use super::gates::Left;
use super::output::{Output, append, is_stdout, width};
use super::outputs::{self, Inputs};
use super::progress::Progress;
use super::say::say;
use super::{DONE, FAILED, etcd_log, gates, inventory, judging, memory, paths, server};
use crate::apiserver::{ConfiguredNames, Server, judge_alike};
use crate::classify::filter::{Filter, Names, StatusSet, instant};
use crate::decode::Foreign;
use crate::input::{Damage, Source, Sources, can_be_read_again};
use crate::k8s::{EtcdVersion, KubeVersion};
use crate::ledger::{Dedup, Ledger, ServerTimeline};
use crate::pipeline::{self, Settings};
use crate::render;
use crate::render::input::long_window;
use crate::render::text::View;
use crate::report::{self, Context, Report, Shown};
use crate::rules::policy::FILE_NAME;
use crate::version::Inferred;

/// How many files that are compressed with a long window are named where no event was read.
const NAMED_LONG_WINDOWS: usize = 3;
/// What a thread of the pool has for its stack, in bytes: as much as the main thread has.
const STACK: usize = 8 << 20;

pub(super) fn run(args: &ScanArgs) -> anyhow::Result<u8> {
    let cores = all_cores();
    let threads = args.threads.map_or(cores, usize::from);
    memory::check(args, threads, cores)?;
    // All of it in one pool: those who read build the report too.
    let pool = ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build()?;
    pool.install(|| scan(args, threads))
}

fn scan(args: &ScanArgs, threads: usize) -> anyhow::Result<u8> {
    let judging = judging::load(&args.rules, &args.fail_on)?;
    check_patterns(args, &judging.fail_on)?;
    let server_args = judging::server_args(&args.server, &judging.policy);
    let server = server::server(&server_args)?;
    let inventory = inventory::load(&args.inventory)?;
    let count = Count::of(args)?;
    let settings = Settings {
        threads,
        max_record: usize::from(args.max_line.unwrap_or(memory::MAX_LINE)) << 20,
        filter: filter(&args.filter)?,
        format: args.input_format.map(|format| format.0),
        dedup: args.dedup.into(),
        patterns: !args.no_patterns && count.is_none(),
        year: args.year,
        by: args.by.map(Into::into),
    };
    let pages = match &count {
        Some(count) => vec![Written { page: Page::Text, to: count.to.clone() }],
        None => pages(&args.format, args.output.as_deref())?,
    };
    if args.details.is_some() && pages.iter().all(|page| page.page != Page::Text) {
        bail!("--details is a part of the text; leave out --details, or add --format text");
    }
    let mut sources = Sources::discover(&args.logs.all())?;
    if settings.dedup != Dedup::Off {
        sources.drop_copies();
    }
    let etcd_sources = etcd_log::sources(args, settings.dedup)?;
    check_outputs(args, &pages, [&sources, &etcd_sources])?;
    let etcd = etcd_log::read(args, &etcd_sources, &settings)?;
    let known = server_args.kube_version.is_some().then_some(server.version);
    let mut run = Run { args, settings, sources, server };
    if let Some(count) = count {
        return run.count(&count);
    }
    let (ledger, mut found) = run.read(known, etcd.versions(&etcd_sources))?;
    if args.no_patterns {
        found.notes.push("kubetoll did not look for patterns over time (--no-patterns)".to_owned());
    }
    found.notes.append(&mut found.etcd.notes);
    let mut empty = run.paths_without_events(&ledger);
    empty.extend(etcd.empty.iter().cloned());
    // Traces of slow requests are worth a report by themselves.
    let holds_any = ledger.input.all_events() > 0 || ledger.input.foreign.contains_key(&Foreign::Trace);
    let context = Context {
        sources: &run.sources,
        server: run.server.clone(),
        version: &found.version,
        etcd_from: found.etcd.from,
        etcd_stated: found.etcd.stated,
        notes: found.notes,
        etcd: etcd.etcd(&etcd_sources),
        rules: &judging.rules,
        policy: &judging.policy,
        inventory: inventory.as_ref(),
        shown: shown(args, &pages),
    };
    let report = report::build(ledger, &context);
    if holds_any {
        write(&report, args, &pages)?;
    }
    let code = outcome(&report, args, &run.settings.filter, &judging.fail_on, &empty);
    // The process ends: what it holds is not taken apart piece by piece first.
    std::mem::forget((report, judging));
    Ok(code)
}

/// Refuses gates that `--no-patterns` would make count the first LISTs of informers.
fn check_patterns(args: &ScanArgs, fail_on: &[FailOn]) -> anyhow::Result<()> {
    let word = fail_on.iter().find_map(|what| match what {
        FailOn::EtcdList => Some("etcd-list"),
        FailOn::LimitIgnored => Some("limit-ignored"),
        FailOn::EtcdGet | FailOn::Severity(_) | FailOn::Rule(_) => None,
    });
    match word.filter(|_| args.no_patterns) {
        Some(word) => bail!(
            "--fail-on {word} leaves out the LISTs of informers, and --no-patterns does not look for informers; \
             leave out --no-patterns"
        ),
        None => Ok(()),
    }
}

/// Where etcd's version comes from.
struct EtcdFrom {
    from: &'static str,
    /// What etcd's start lines state, and the files that show it.
    stated: Vec<(EtcdVersion, String)>,
    notes: Vec<String>,
}

/// Takes etcd's version from its start lines, unless the user names it. The apiserver asks all members, so that the oldest
/// one counts.
fn etcd_version(server: &mut Server, mut stated: Vec<(EtcdVersion, String)>) -> EtcdFrom {
    stated.sort_unstable();
    stated.dedup();
    let mut notes = Vec::new();
    let (Some((oldest, first)), Some((newest, last))) = (stated.first(), stated.last()) else {
        return EtcdFrom { from: "as given", stated, notes };
    };
    let from = if let Some(given) = server.etcd {
        if given.supports_request_watch_progress() != oldest.supports_request_watch_progress() {
            notes
                .push(format!("--etcd-version {given} contradicts etcd's log: a start line states {oldest}"));
        }
        "as given"
    } else {
        if oldest != newest {
            notes.push(format!(
                "etcd's log states {oldest} ({first}) and {newest} ({last}): members of two versions, or an upgrade; \
                 kubetoll uses {oldest}"
            ));
        }
        server.etcd = Some(*oldest);
        "a start line in its log states it"
    };
    EtcdFrom { from, stated, notes }
}

/// Which findings the pages that are asked for have room for: of thousands, a terminal's has some, and rows have none.
fn shown(args: &ScanArgs, pages: &[Written]) -> Shown {
    if pages.is_empty() {
        return Shown::Rows;
    }
    let are_for_terminals = pages.iter().all(|page| page.page == Page::Text);
    let has_tables = args.format.iter().any(|format| matches!(format, Format::Table(..)));
    if are_for_terminals && !has_tables && args.details.is_none() {
        Shown::Cases(args.top)
    } else {
        Shown::All
    }
}

/// Says what is wrong, and returns the exit status.
fn outcome(report: &Report, args: &ScanArgs, filter: &Filter, wanted: &[FailOn], empty: &[String]) -> u8 {
    for message in empty {
        say(&format!("error: {message}"));
    }
    let left = Left {
        requests: report.totals.counts.requests,
        filtered: report.input.filtered,
        received_only: report.input.received_only,
    };
    let is_enough = gates::enough_requests(&left, args.require_requests, filter);
    if !empty.is_empty() || !is_enough {
        return FAILED;
    }
    // A rule that failed may have found what the gate is for.
    if !report.rule_failures.is_empty() && !wanted.is_empty() {
        say(&format!("error: a rule failed, so the gate can't be trusted: {}", report.rule_failures[0]));
        return FAILED;
    }
    gates::fail_on(report, wanted)
}

/// Says before the work what could not be written after it, and refuses outputs that would hurt a file.
fn check_outputs(args: &ScanArgs, pages: &[Written], logs: [&Sources; 2]) -> anyhow::Result<()> {
    let formats = if args.by.is_some() { &[][..] } else { &args.format };
    let tables = formats.iter().filter_map(|format| match format {
        Format::Table(_, path) => Some(path),
        Format::Page(..) => None,
    });
    let paths =
        pages.iter().filter_map(|page| page.to.as_ref()).chain(tables).filter(|path| !is_stdout(path));
    let summary = step_summary().filter(|_| pages.iter().any(|page| page.page == Page::Github));
    let mut named: Vec<PathBuf> = paths.cloned().collect();
    for path in &named {
        render::export::check(path)?;
    }
    let count = pages.len() + formats.iter().filter(|format| matches!(format, Format::Table(..))).count();
    let writes_stdout = named.len() < count;
    named.extend(summary.clone());
    let mut inputs = Inputs::default();
    inputs.add_sources(logs[0], "an audit log");
    inputs.add_sources(logs[1], "a log of etcd");
    args.inventory.iter().for_each(|path| inputs.add(path, "the inventory"));
    inputs.add(args.rules.config.as_deref().unwrap_or(Path::new(FILE_NAME)), "the policy file");
    args.rules.rules.iter().for_each(|directory| inputs.add_rules(directory));
    let reads_stdin = logs.iter().any(|logs| logs.list.iter().any(|source| source.path.is_none()));
    outputs::check(&named, &inputs, reads_stdin, writes_stdout)?;
    summary.map_or(Ok(()), |path| append(&path, ""))
}

fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn filter(args: &FilterArgs) -> anyhow::Result<Filter> {
    let filter = Filter {
        users: Names::new(&args.user).context("--user")?,
        verbs: Names::of_verbs(&args.verb).context("--verb")?,
        resources: Names::new(&args.resource).context("--resource")?,
        namespaces: Names::of_all(&args.namespace).context("--namespace")?,
        clients: Names::of_all(&args.client).context("--client")?,
        after: args.after.as_deref().map(instant).transpose().context("--after")?,
        before: args.before.as_deref().map(instant).transpose().context("--before")?,
        statuses: StatusSet::new(&args.http_status_code).context("--http-status-code")?,
        failed_only: args.failed_only,
    };
    filter.check()?;
    Ok(filter)
}

/// A page, and the file that it goes to, or standard output.
struct Written {
    page: Page,
    to: Option<PathBuf>,
}

/// The pages that are asked for: text unless anything else was. One output at most goes to standard output; a page without
/// a path goes to `--output` in its place.
fn pages(formats: &[Format], output: Option<&Path>) -> anyhow::Result<Vec<Written>> {
    let mut pages: Vec<Written> = formats
        .iter()
        .filter_map(|format| match format {
            Format::Page(page, to) => Some(Written { page: *page, to: to.clone() }),
            Format::Table(..) => None,
        })
        .collect();
    let unnamed: Vec<&str> =
        pages.iter().filter(|page| page.to.is_none()).map(|page| page.page.as_str()).collect();
    if let [first, second, ..] = unnamed.as_slice() {
        bail!(
            "--format {first} and --format {second} both go to standard output; write one as --format {second}=PATH"
        );
    }
    let any_to_stdout =
        !unnamed.is_empty() || pages.iter().any(|page| page.to.as_deref().is_some_and(is_stdout));
    if unnamed.is_empty()
        && (formats.is_empty() || output.is_some_and(|path| !(is_stdout(path) && any_to_stdout)))
    {
        pages.push(Written { page: Page::Text, to: None });
    }
    if let Some(page) = pages.iter_mut().find(|page| page.to.is_none()) {
        page.to = output.map(Path::to_owned);
    }
    let tables = formats.iter().filter_map(|format| match format {
        Format::Table(_, path) => Some(path.as_path()),
        Format::Page(..) => None,
    });
    let to_stdout = pages.iter().map(|page| page.to.as_deref()).chain(tables.map(Some));
    if to_stdout.filter(|to| to.is_none_or(is_stdout)).count() > 1 {
        bail!("two outputs go to standard output; name a file for one of them");
    }
    Ok(pages)
}

struct Run<'a> {
    args: &'a ScanArgs,
    settings: Settings,
    sources: Sources,
    server: Server,
}

/// What was found out about the server.
struct Found {
    version: Inferred,
    etcd: EtcdFrom,
    notes: Vec<String>,
}

impl Run<'_> {
    /// Reads the log; a second time where it shows several versions, each request then by the version of its time.
    /// `etcd` are the versions that etcd's own log states.
    fn read(
        &mut self,
        known: Option<KubeVersion>,
        mut etcd: Vec<(EtcdVersion, String)>,
    ) -> anyhow::Result<(Ledger, Found)> {
        let mut ledger = self.pass(&ServerTimeline::always(self.server.version))?;
        let list = &self.sources.list;
        let file = |source: u32| {
            let source = usize::try_from(source).ok().and_then(|source| list.get(source));
            source.map(Source::name).unwrap_or_default()
        };
        etcd.extend(ledger.versions.etcd().map(|(version, source)| (version, file(source))));
        let etcd = etcd_version(&mut self.server, etcd);
        let mut version = Inferred::of(&mut ledger, &self.server, known, &file);
        let best = version.version;
        let mut notes = server::notes(&self.server, best);
        notes.append(&mut version.notes);
        if best < KubeVersion::OLDEST {
            notes.push(format!("Kubernetes {best} is older than 1.19; kubetoll judges it as 1.19"));
        }
        if version.timeline.versions().all(|version| judge_alike(version, best)) {
            version.judge_as_one();
            return Ok((ledger, Found { version, etcd, notes }));
        }
        if !can_be_read_again(list) {
            notes.push(format!(
                "kubetoll cannot read a pipe twice, so it judges all requests as {best}; pass files, and it judges each \
                 request by the version at its time or of its file"
            ));
            version.judge_as_one();
            return Ok((ledger, Found { version, etcd, notes }));
        }
        // Both ledgers at once would take twice the memory.
        drop(ledger);
        Ok((self.pass(&version.timeline)?, Found { version, etcd, notes }))
    }

    /// Prints a ranked count.
    fn count(&self, count: &Count) -> anyhow::Result<u8> {
        let ledger = self.pass(&ServerTimeline::always(self.server.version))?;
        let (filtered, received_only) = (ledger.input.filtered, ledger.input.received_only());
        let empty = self.paths_without_events(&ledger);
        for message in &empty {
            say(&format!("error: {message}"));
        }
        if ledger.input.all_events() == 0 {
            return Ok(FAILED);
        }
        let ranked = count.write(ledger, self.args.top)?;
        let left = Left { requests: ranked.requests, filtered, received_only };
        let is_enough = gates::enough_requests(&left, self.args.require_requests, &self.settings.filter);
        Ok(if empty.is_empty() && is_enough { DONE } else { FAILED })
    }

    fn pass(&self, timeline: &ServerTimeline) -> anyhow::Result<Ledger> {
        let progress = Progress::new(self.sources.bytes_on_disk, !self.args.no_progress);
        let timeline = timeline.clone().with_names(ConfiguredNames::of(&self.server));
        pipeline::run(&self.sources.list, &self.settings, &timeline, &progress.read)
    }

    /// A message for each path that was given and holds no event.
    fn paths_without_events(&self, ledger: &Ledger) -> Vec<String> {
        let holds_any = ledger.input.all_events() > 0;
        let holds_none = |index: u32| {
            let counts = ledger.input.sources.get(&index);
            // A file of etcd's log is read beside audit logs, and says nothing alone.
            let of_server = if holds_any {
                &[Foreign::Trace, Foreign::Start, Foreign::EtcdStart][..]
            } else {
                &[Foreign::Trace, Foreign::Start]
            };
            counts.is_none_or(|counts| {
                counts.events == 0 && !of_server.iter().any(|kind| counts.foreign.contains_key(kind))
            })
        };
        let paths = self.args.logs.all();
        let mut messages: Vec<String> = paths::silent(&paths, &self.sources, holds_none)
            .map(|given| {
                format!(
                    "{}: holds no audit event{}; kubetoll reads what kube-apiserver writes with --audit-log-path, as \
                     it is or in the envelopes of clouds and collectors (docs/inputs.md)",
                    paths::name(given),
                    if paths.len() == 1 { skipped(ledger) } else { String::new() }
                )
            })
            .collect();
        if !messages.is_empty() {
            let damaged = ledger.input.damaged.iter();
            let long =
                damaged.filter(|(_, (damage, _))| *damage == Damage::LongWindow).take(NAMED_LONG_WINDOWS);
            let file = |source: u32| self.sources.list.get(usize::try_from(source).ok()?);
            messages.extend(long.filter_map(|(source, _)| Some(long_window(&file(*source)?.name()))));
        }
        messages
    }
}

/// What a log without events holds instead.
fn skipped(ledger: &Ledger) -> String {
    let input = &ledger.input;
    let skipped = input.skipped.iter().map(|(reason, (count, _))| (reason.as_str(), *count));
    let foreign = input.foreign.iter().map(|(kind, count)| (kind.as_str(), *count));
    let lines = skipped.chain(foreign).map(|(what, count)| match count {
        1 => format!("1 line is {what}"),
        count => format!("{count} lines are {what}"),
    });
    let streams = input.damaged.values().map(|(damage, _)| damage.as_str().to_owned());
    let found: Vec<String> = lines.chain(streams).collect();
    if found.is_empty() { " (it is empty)".to_owned() } else { format!(" ({})", found.join(", ")) }
}

fn write(report: &Report, args: &ScanArgs, pages: &[Written]) -> anyhow::Result<()> {
    let details = args
        .details
        .as_ref()
        .map(|details| details.choose(report).map_err(anyhow::Error::msg))
        .transpose()?;
    let view = View { top: args.top, width: width(), details };
    for format in &args.format {
        if let Format::Table(format, path) = format {
            render::export::write(report, *format, path)?;
        }
    }
    for Written { page, to } in pages {
        let output = Output::prepare(to.as_deref())?;
        match page {
            Page::Text => {
                output.write(&render::text::render(report, &view), args.color.choice())?;
            }
            Page::Json => output.write_with(|out| render::json::write(report, out))?,
            Page::Markdown => output.write_whole(&render::markdown::render(report))?,
            Page::Sarif => output.write_whole(&render::sarif::render(report))?,
            Page::Junit => output.write_whole(&render::junit::render(report)?)?,
            Page::Github => {
                output.write_whole(&render::github::render(report))?;
                github_summary(report)?;
            }
        }
    }
    Ok(())
}

/// Adds the report to the job's summary, where a workflow of GitHub runs.
fn github_summary(report: &Report) -> anyhow::Result<()> {
    match step_summary() {
        Some(path) => append(&path, &render::markdown::render(report)),
        None => Ok(()),
    }
}

/// Where a workflow of GitHub takes a job's summary from.
fn step_summary() -> Option<PathBuf> {
    std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from)
}
