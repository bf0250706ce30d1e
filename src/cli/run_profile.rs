//! Reads runs for `kubetoll diff` and `kubetoll budget`: logs, or saved JSON reports.

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
    reading: &'a ReadingArgs,
    server: &'a ServerArgs,
    threads: usize,
    rules: &'a RuleArgs,
    judging: Judging,
}

impl<'a> RunReader<'a> {
    pub(super) fn new(
        reading: &'a ReadingArgs,
        server: &'a ServerArgs,
        rules: &'a RuleArgs,
        threads: usize,
    ) -> anyhow::Result<Self> {
        Ok(Self { reading, server, threads, rules, judging: judging::load(rules, &[])? })
    }

    /// Reads a run: a saved JSON report, a log, or a directory with the logs of one run.
    pub(super) fn read(&self, path: &Path) -> anyhow::Result<RunProfile> {
        if starts_as_report(path) {
            if let Some(flag) = self.flag_for_logs() {
                bail!(
                    "{}: this is a saved report, so {flag} has no effect on it; scan its log again with {flag}",
                    paths::name(path)
                );
            }
            let json = std::fs::read(path).with_context(|| paths::name(path))?;
            let run = RunProfile::from_report(&json).with_context(|| paths::name(path))?;
            let flags = self.reading.filter.flags();
            if !flags.is_empty() && run.filters.as_ref() != Some(&flags) {
                bail!(
                    "{}: this saved report was made without {}; scan its log again with it",
                    paths::name(path),
                    flags.join(" ")
                );
            }
            return Ok(run);
        }
        self.read_logs(path).map_err(|error| {
            let (text, name) = (format!("{error:#}"), paths::name(path));
            if text.contains(&name) { error } else { anyhow!("{name}: {text}") }
        })
    }

    /// A flag that judges requests. The requests of a saved report are judged already.
    fn flag_for_logs(&self) -> Option<&'static str> {
        let ServerArgs { kube_version, etcd_version, feature_gate, uncached, aggregated } = self.server;
        [
            ("--kube-version", kube_version.is_some()),
            ("--etcd-version", etcd_version.is_some()),
            ("--feature-gate", !feature_gate.is_empty()),
            ("--uncached", !uncached.is_empty()),
            ("--aggregated", !aggregated.is_empty()),
            ("--select", !self.rules.select.is_empty()),
            ("--ignore", !self.rules.ignore.is_empty()),
            ("--rules", !self.rules.rules.is_empty()),
        ]
        .into_iter()
        .find_map(|(flag, is_given)| is_given.then_some(flag))
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
            filters: self.reading.filter.flags(),
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
        let profile = RunProfile::from_report(&serde_json::to_vec(&report.public)?)?;
        Ok(RunProfile { has_patterns: true, ..profile })
    }
}

fn starts_as_report(path: &Path) -> bool {
    let mut first = Vec::new();
    let Ok(file) = File::open(path) else { return false };
    file.metadata().is_ok_and(|metadata| metadata.is_file())
        && file.take(FIRST_BYTES).read_to_end(&mut first).is_ok()
        && is_report(&first)
}
