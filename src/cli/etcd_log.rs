//! Reads etcd's own log (`--etcd-log`).

use std::path::Path;

use anyhow::{Context, bail};

use super::args::JudgeArgs;
use super::paths;
use super::progress::Progress;
use crate::input::Sources;
use crate::k8s::EtcdVersion;
use crate::ledger::{Dedup, EtcdLog};
use crate::pipeline::{self, Settings};
use crate::report::EtcdLogInput;

/// The files of etcd's log; empty without `--etcd-log`.
pub(super) fn sources(args: &JudgeArgs, dedup: Dedup) -> anyhow::Result<Sources> {
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    if args.etcd_log.iter().any(|path| is_stdin(path))
        && args.read.logs.all().iter().any(|path| is_stdin(path))
    {
        bail!("standard input ('-') is named for the audit log and for --etcd-log; name it once");
    }
    let mut sources = Sources::discover(&args.etcd_log).context("--etcd-log")?;
    if dedup != Dedup::Off {
        sources.drop_duplicates();
    }
    Ok(sources)
}

/// etcd's log, and a message for each given path without lines of etcd.
pub(super) struct EtcdLogResult {
    log: Option<EtcdLog>,
    pub(super) empty: Vec<String>,
}

impl EtcdLogResult {
    /// The versions in etcd's start lines, each with its file.
    pub(super) fn versions(&self, sources: &Sources) -> Vec<(EtcdVersion, String)> {
        let stated = self.log.iter().flat_map(|log| log.lines.versions.iter());
        stated.map(|(version, source)| (version, sources.name(source))).collect()
    }

    pub(super) fn etcd<'a>(&'a self, sources: &'a Sources) -> Option<EtcdLogInput<'a>> {
        self.log.as_ref().map(|log| EtcdLogInput { log, sources })
    }
}

pub(super) fn read(
    args: &JudgeArgs,
    sources: &Sources,
    settings: &Settings,
) -> anyhow::Result<EtcdLogResult> {
    if args.etcd_log.is_empty() {
        return Ok(EtcdLogResult { log: None, empty: Vec::new() });
    }
    let progress = Progress::new(sources.bytes_on_disk, !args.read.reading.no_progress);
    let log = pipeline::etcd_log(&sources.list, settings, &progress.read)?;
    let holds_none = |source: u32| !log.lines.by_source.contains_key(&source);
    let empty = paths::without_content(&args.etcd_log, sources, holds_none)
        .map(|given| {
            format!(
                "{}: holds no line of etcd's log; kubetoll reads what etcd writes as JSON or, up to 3.4, as text \
                 (docs/etcd-log.md)",
                paths::name(given)
            )
        })
        .collect();
    Ok(EtcdLogResult { log: Some(log), empty })
}
