//! Reads runs for `kubetoll diff`: logs, or saved JSON reports.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};

use super::args::{ReadingArgs, RuleArgs, ServerArgs};
use super::judging::{self, Judging};
use super::log_reader::{self, LogReader};
use super::{paths, server};
use crate::profile::{RunProfile, is_report};
use crate::report::{self, Context, Detail};

/// The first bytes of a file show whether it is a JSON report.
const FIRST_BYTES: u64 = 64;

/// Reads each path as one run.
pub(super) struct RunReader<'a> {
    pub(super) reading: &'a ReadingArgs,
    pub(super) server: &'a ServerArgs,
    pub(super) threads: usize,
    judging: Judging,
}

impl<'a> RunReader<'a> {
    pub(super) fn new(
        reading: &'a ReadingArgs,
        server: &'a ServerArgs,
        rules: &RuleArgs,
        threads: usize,
    ) -> anyhow::Result<Self> {
        Ok(Self { reading, server, threads, judging: judging::load(rules, &[])? })
    }

    /// Reads a run: a saved JSON report, a log, or a directory with the logs of one run.
    pub(super) fn read(&self, path: &Path) -> anyhow::Result<RunProfile> {
        if starts_as_report(path) {
            let json = std::fs::read(path).with_context(|| paths::name(path))?;
            return RunProfile::from_report(&json).with_context(|| paths::name(path));
        }
        self.read_logs(path).map_err(|error| {
            let (text, name) = (format!("{error:#}"), paths::name(path));
            if text.contains(&name) { error } else { anyhow!("{name}: {text}") }
        })
    }

    fn read_logs(&self, path: &Path) -> anyhow::Result<RunProfile> {
        let server_args = judging::server_args(self.server, &self.judging.policy);
        let server = server::server(&server_args)?;
        let paths: Vec<PathBuf> = vec![path.to_owned()];
        let settings = log_reader::settings(self.reading, self.threads)?;
        let sources = log_reader::sources(&paths, self.reading)?;
        let given = server_args.kube_version.is_some().then_some(server.version);
        let mut reader = LogReader { args: self.reading, paths, settings, sources, server };
        let (ledger, mut detected) = reader.read(given, Vec::new())?;
        if let Some(message) = reader.paths_without_events(&ledger).into_iter().next() {
            bail!(message);
        }
        detected.notes.append(&mut detected.etcd.notes);
        let context = Context {
            sources: &reader.sources,
            server: reader.server.clone(),
            version: &detected.version,
            etcd_from: detected.etcd.from,
            etcd_stated: detected.etcd.stated,
            notes: detected.notes,
            etcd: None,
            rules: &self.judging.rules,
            policy: &self.judging.policy,
            inventory: None,
            detail: Detail::ALL,
        };
        let report = report::build(ledger, &context);
        Ok(RunProfile::from_report(&serde_json::to_vec(&report.public)?)?)
    }
}

fn starts_as_report(path: &Path) -> bool {
    let mut first = Vec::new();
    let Ok(file) = File::open(path) else { return false };
    file.metadata().is_ok_and(|metadata| metadata.is_file())
        && file.take(FIRST_BYTES).read_to_end(&mut first).is_ok()
        && is_report(&first)
}
