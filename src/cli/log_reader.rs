//! Reads the logs that the flags name, with their filters. Finds the server version that the logs show.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rayon::ThreadPoolBuilder;

use super::args::{FilterArgs, ReadingArgs};
use super::progress::Progress;
use super::{memory, paths, server};
use crate::apiserver::{ConfiguredNames, Server};
use crate::decode::Foreign;
use crate::input::{Damage, Sources, can_be_read_again};
use crate::k8s::{EtcdVersion, KubeVersion};
use crate::ledger::{Dedup, Ledger, ServerTimeline};
use crate::pipeline::{self, Settings};
use crate::render::input::{long_window, unknown};
use crate::report;
use crate::requests::filter::{Filter, NameFilter, StatusSet, parse_timestamp};
use crate::version::{self, Inferred};

/// Messages name at most this many files that were not read because they were compressed with `zstd --long`.
const NAMED_LONG_WINDOWS: usize = 3;

/// The stack size of a pool thread, in bytes. The main thread's stack has the same size.
const STACK: usize = 8 << 20;

/// Runs `work` in the thread pool that reads logs and builds the report. `work` gets the number of threads.
pub(super) fn in_pool<T: Send>(
    args: &ReadingArgs,
    work: impl FnOnce(usize) -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    let cores = all_cores();
    let threads = args.threads.map_or(cores, usize::from);
    memory::check(args, threads, cores)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build()?;
    pool.install(|| work(threads))
}

fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(super) fn settings(args: &ReadingArgs, threads: usize) -> anyhow::Result<Settings> {
    Ok(Settings {
        threads,
        max_record: usize::from(args.max_line.unwrap_or(memory::MAX_LINE)) << 20,
        filter: filter(&args.filter)?,
        format: args.input_format.map(|format| format.0),
        dedup: args.dedup.into(),
        year: args.year,
        ..Settings::default()
    })
}

pub(super) fn sources(paths: &[PathBuf], args: &ReadingArgs) -> anyhow::Result<Sources> {
    let mut sources = Sources::discover(paths)?;
    if Dedup::from(args.dedup) != Dedup::Off {
        sources.drop_duplicates();
    }
    Ok(sources)
}

fn filter(args: &FilterArgs) -> anyhow::Result<Filter> {
    let filter = Filter {
        users: NameFilter::for_users(&args.user).context("--user")?,
        verbs: NameFilter::for_verbs(&args.verb).context("--verb")?,
        resources: NameFilter::for_resources(&args.resource).context("--resource")?,
        namespaces: NameFilter::for_required(&args.namespace).context("--namespace")?,
        clients: NameFilter::for_clients(&args.client).context("--client")?,
        after: args.after.as_deref().map(parse_timestamp).transpose().context("--after")?,
        before: args.before.as_deref().map(parse_timestamp).transpose().context("--before")?,
        statuses: StatusSet::new(&args.http_status_code).context("--http-status-code")?,
        failed_only: args.failed_only,
    };
    filter.check()?;
    Ok(filter)
}

/// Where etcd's version comes from: a flag, or etcd's start lines in the logs.
pub(super) struct EtcdVersionSource {
    pub(super) from: &'static str,
    /// The versions in etcd's start lines, each with its file.
    pub(super) stated: Vec<(EtcdVersion, String)>,
    pub(super) notes: Vec<String>,
}

/// Sets etcd's version from its start lines, unless a flag sets it. The oldest version counts, because the apiserver
/// checks all members.
fn etcd_version(server: &mut Server, mut stated: Vec<(EtcdVersion, String)>) -> EtcdVersionSource {
    stated.sort_unstable();
    stated.dedup();
    let mut notes = Vec::new();
    let (Some((oldest, first)), Some((newest, last))) = (stated.first(), stated.last()) else {
        return EtcdVersionSource { from: "as given", stated, notes };
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
    EtcdVersionSource { from, stated, notes }
}

pub(super) struct LogReader<'a> {
    pub(super) args: &'a ReadingArgs,
    /// The paths as the user gave them. `sources` are the files in them.
    pub(super) paths: Vec<PathBuf>,
    pub(super) settings: Settings,
    pub(super) sources: Sources,
    pub(super) server: Server,
}

/// The versions of Kubernetes and etcd that kubetoll detected, and notes on them.
pub(super) struct DetectedServer {
    pub(super) version: Inferred,
    pub(super) etcd: EtcdVersionSource,
    pub(super) notes: Vec<String>,
}

impl LogReader<'_> {
    /// Reads the logs. If they show several versions, reads them again to judge each request by the version at its
    /// time. `etcd` has the versions in etcd's own log.
    pub(super) fn read(
        &mut self,
        given_version: Option<KubeVersion>,
        mut etcd: Vec<(EtcdVersion, String)>,
    ) -> anyhow::Result<(Ledger, DetectedServer)> {
        let mut ledger = self.pass(&ServerTimeline::always(self.server.version))?;
        let list = &self.sources.list;
        let file = |source: u32| self.sources.name(source);
        etcd.extend(ledger.versions.etcd().map(|(version, source)| (version, file(source))));
        let etcd = etcd_version(&mut self.server, etcd);
        let mut version = version::infer(&mut ledger, &self.server, given_version, &file);
        let best = version.version;
        let mut notes = server::notes(&self.server, best);
        notes.append(&mut version.notes);
        if best < KubeVersion::OLDEST {
            notes.push(format!("Kubernetes {best} is older than 1.19; kubetoll judges it as 1.19"));
        }
        if version.judge_as_one_if_alike() {
            return Ok((ledger, DetectedServer { version, etcd, notes }));
        }
        if !can_be_read_again(list) {
            notes.push(format!(
                "kubetoll cannot read a pipe twice, so it judges all requests as {best}; pass files, and it judges each \
                 request by the version at its time or of its file"
            ));
            version.judge_as_one();
            return Ok((ledger, DetectedServer { version, etcd, notes }));
        }
        // Drop the first ledger, because two ledgers need twice the memory.
        drop(ledger);
        Ok((self.pass(&version.timeline)?, DetectedServer { version, etcd, notes }))
    }

    pub(super) fn pass(&self, timeline: &ServerTimeline) -> anyhow::Result<Ledger> {
        let progress = Progress::new(self.sources.bytes_on_disk, !self.args.no_progress);
        let timeline = timeline.clone().with_names(ConfiguredNames::new(&self.server));
        pipeline::run(&self.sources.list, &self.settings, &timeline, &progress.read)
    }

    /// A message for each given path without events.
    pub(super) fn paths_without_events(&self, ledger: &Ledger) -> Vec<String> {
        let holds_any = ledger.input.all_events() > 0;
        let holds_none = |index: u32| {
            let counts = ledger.input.sources.get(&index);
            // Start lines of etcd are useful only together with an audit log. So they count as content only if the
            // log has events.
            let of_server = if holds_any {
                &[Foreign::Trace, Foreign::Start, Foreign::EtcdStart][..]
            } else {
                &[Foreign::Trace, Foreign::Start]
            };
            counts.is_none_or(|counts| {
                counts.events == 0 && !of_server.iter().any(|kind| counts.foreign.contains_key(kind))
            })
        };
        let without_content: Vec<&PathBuf> =
            paths::without_content(&self.paths, &self.sources, holds_none).collect();
        let mut messages: Vec<String> = without_content
            .iter()
            .map(|given| self.nothing_in(given, ledger, self.paths.len() == 1))
            .collect();
        if !messages.is_empty() {
            let damaged = ledger.input.damaged.iter();
            let long =
                damaged.filter(|(_, (damage, _))| *damage == Damage::LongWindow).take(NAMED_LONG_WINDOWS);
            messages.extend(long.map(|(source, _)| long_window(&self.sources.name(*source))));
        }
        messages
    }

    /// Returns the message for a path without events, with the types of its files. If the user gave only this path
    /// (`is_alone`), the message also describes the skipped records.
    fn nothing_in(&self, given: &Path, ledger: &Ledger, is_alone: bool) -> String {
        let name = paths::name(given);
        let mut files = self.sources.clone();
        files.kinds.retain(|path, _| path.starts_with(given));
        let kinds = report::unknown_files(&files, &ledger.input);
        if let [kind] = &*kinds
            && let (false, Some(command)) = (kind.is_read, &kind.command)
            && given == Path::new(&kind.example)
        {
            let what = self.sources.kinds.get(given).map(ToString::to_string).unwrap_or_default();
            return format!("{name}: kubetoll does not read this {what}; run: {command}");
        }
        let what = if is_alone { skipped(ledger, kinds.is_empty()) } else { String::new() };
        let lines: Vec<String> = unknown(&kinds).into_iter().map(|line| format!("\n  {line}")).collect();
        let lines = lines.concat();
        format!(
            "{name}: holds no audit event{what}; kubetoll reads what kube-apiserver writes with --audit-log-path, as it is \
             or in the envelopes of clouds and collectors (docs/inputs.md){lines}"
        )
    }
}

/// Describes a log without events: its skipped and foreign records, and damaged files. If it has none of these, the
/// text says that the log is empty, but only if `is_empty` is true.
fn skipped(ledger: &Ledger, is_empty: bool) -> String {
    let input = &ledger.input;
    let skipped = input.skipped.iter().map(|(reason, (count, _))| (reason.as_str(), *count));
    let foreign = input.foreign.iter().map(|(kind, count)| (kind.as_str(), *count));
    let lines = skipped.chain(foreign).map(|(what, count)| match count {
        1 => format!("1 line is {what}"),
        count => format!("{count} lines are {what}"),
    });
    let streams = input.damaged.values().map(|(damage, _)| damage.as_str().to_owned());
    let content: Vec<String> = lines.chain(streams).collect();
    match &*content {
        [] if is_empty => " (it is empty)".to_owned(),
        [] => String::new(),
        content => format!(" ({})", content.join(", ")),
    }
}
