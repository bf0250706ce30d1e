//! `kubetoll extract`: writes the events of a case as evidence for others.

mod selector;
mod writer;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use tempfile::SpooledTempFile;

use super::args::ExtractArgs;
use super::log_reader::{self, LogReader};
use super::output::{ERROR, SUCCESS, TextOutput, is_stdout, say};
use super::outputs::{self, Inputs};
use super::{etcd_log, inventory, judging, server};
use crate::anonymize::{Anonymizer, Key};
use crate::apiserver::Server;
use crate::input::{Sources, can_be_read_again};
use crate::ledger::ServerTimeline;
use crate::pipeline::Settings;
use crate::render::export;
use crate::render::plain::{counted, escaped};
use crate::report::{self, CaseFilter, Context, Detail};
use crate::requests::filter::Filter;
use selector::EventSelector;
use writer::{Counts, Writer};

/// The warning for output that is not anonymized.
const SECRETS: &str = "note: this writes the secrets that the log holds, such as tokens in query parameters; --anonymize writes none";

/// Output up to this size stays in memory until it is complete. Larger output goes to a temporary file. In bytes.
const MAX_WAITING: usize = 64 << 20;

pub(super) fn run(args: &ExtractArgs) -> anyhow::Result<u8> {
    log_reader::in_pool(&args.judge.read.reading, |threads| extract(args, threads))
}

fn extract(args: &ExtractArgs, threads: usize) -> anyhow::Result<u8> {
    let judge = &args.judge;
    let judging = judging::load(&judge.rules, &[])?;
    let server_args = judging::server_args(&judge.server, &judging.policy);
    let server = server::server(&server_args)?;
    let settings = log_reader::settings(&judge.read.reading, threads)?;
    let settings = Settings { patterns: !judge.no_patterns, ..settings };
    let anonymizer = anonymizer(args, &server)?;
    let paths = judge.read.logs.all();
    let sources = log_reader::sources(&paths, &judge.read.reading)?;
    let etcd_sources = etcd_log::sources(judge, settings.dedup)?;
    check_output(args, &sources, &etcd_sources)?;
    let chooses = !args.case.is_empty() || !settings.filter.is_empty();
    if chooses && !can_be_read_again(&sources.list) {
        bail!(
            "the log is read twice, first to find the requests and then to write them; standard input and pipes can't \
             be: write the log to a file first{}",
            if args.case.is_empty() { "" } else { ", or leave out --case to write all events" }
        );
    }
    let mut reader = LogReader { args: &judge.read.reading, paths, settings, sources, server };
    let chosen = if args.case.is_empty() {
        None
    } else {
        let etcd = etcd_log::read(judge, &etcd_sources, &reader.settings)?;
        let inventory = inventory::load(&judge.inventory)?;
        let given_version = server_args.kube_version.is_some().then_some(reader.server.version);
        let (ledger, detected) = reader.read(given_version, etcd.versions(&etcd_sources))?;
        let received_only = ledger.input.received_only();
        let context = Context {
            sources: &reader.sources,
            filters: Vec::new(),
            server: reader.server.clone(),
            version: &detected.version,
            etcd_from: detected.etcd.from,
            etcd_stated: detected.etcd.stated,
            notes: Vec::new(),
            etcd: etcd.etcd(&etcd_sources),
            rules: &judging.rules,
            policy: &judging.policy,
            inventory: inventory.as_ref(),
            detail: Detail { cases: Some(0), ..Detail::ALL },
        };
        let ranks: Vec<usize> = args.case.iter().map(|rank| *rank as usize).collect();
        let (report, requests) = report::build_with_cases(ledger, &context, &ranks);
        let mut cases = Vec::new();
        for (rank, requests) in args.case.iter().zip(requests) {
            let Some(requests) = requests else {
                bail!(
                    "--case {rank}: a scan with these flags finds {}",
                    counted(report.cases.len() as u64, "case")
                );
            };
            if requests.is_empty() {
                bail!("--case {rank}: this case is about the log itself and has no requests of its own");
            }
            if requests.is_folded {
                say(&format!(
                    "note: case {rank}: some requests are left out, as more clients or request shapes are in the log \
                     than kubetoll keeps apart"
                ));
            }
            cases.push(requests);
        }
        let of = |version| Server { version, ..reader.server.clone() };
        let servers = detected.version.timeline.kube_versions().map(of).collect();
        Some((CaseFilter::new(cases, servers, received_only), detected.version))
    };
    let (cases, version) = chosen.unzip();
    let always = ServerTimeline::always(reader.server.version);
    let timeline = version.as_ref().map_or(&always, |version| &version.timeline);
    let selector =
        chooses.then(|| EventSelector::new(&reader, timeline, cases, version.as_ref())).transpose()?;
    let advice = match (&selector, &version) {
        (Some(selector), Some(version)) => selector.version_advice(version)?,
        _ => None,
    };
    let etcd = reader.server.etcd.filter(|_| version.is_some() && server_args.etcd_version.is_none());
    let mut writer = Writer { selector, anonymizer, counts: Counts::default() };
    let status = write(&mut writer, &reader, args.output.as_deref())?;
    if status == SUCCESS {
        if !args.case.is_empty() {
            say(
                "note: the extract lacks other requests, also of the same clients; rules that judge a whole client or \
                 log, such as KT501 and KT901, may judge the extract differently",
            );
        }
        if let Some(advice) = advice {
            say(&advice);
        }
        if let Some(etcd) = etcd {
            say(&format!("note: etcd's log states its version; scan the extract with --etcd-version {etcd}"));
        }
    }
    Ok(status)
}

fn anonymizer(args: &ExtractArgs, server: &Server) -> anyhow::Result<Option<Anonymizer>> {
    if !args.anonymize && args.anonymize_key_file.is_none() {
        return Ok(None);
    }
    let key = match secret(args.anonymize_key_file.as_deref())? {
        Some(secret) => Key::from_secret(&secret),
        None => Key::random(),
    };
    let configured = [&*server.uncached, &*server.aggregated].concat();
    Ok(Some(Anonymizer::new(key, &configured)))
}

/// The environment variable with the secret for pseudonyms. A flag would show the secret in `ps`.
const KEY_VARIABLE: &str = "KUBETOLL_ANONYMIZE_KEY";

/// The maximum length of a secret, in bytes.
const MAX_SECRET: u64 = 64 << 10;

/// The secret for pseudonyms without its line end: from the file, else from the environment.
fn secret(file: Option<&Path>) -> anyhow::Result<Option<Vec<u8>>> {
    let (name, mut secret) = match (file, std::env::var_os(KEY_VARIABLE)) {
        (Some(path), _) => {
            let name = format!("--anonymize-key-file {}", path.display());
            let mut secret = Vec::new();
            let read = File::open(path).and_then(|file| file.take(MAX_SECRET + 1).read_to_end(&mut secret));
            read.with_context(|| format!("{name}: can't be read"))?;
            if secret.len() as u64 > MAX_SECRET {
                bail!(
                    "{name}: is longer than {} KiB; name a file that holds the key alone",
                    MAX_SECRET >> 10
                );
            }
            (name, secret)
        }
        (None, Some(secret)) => (KEY_VARIABLE.to_owned(), secret.into_encoded_bytes()),
        (None, None) => return Ok(None),
    };
    secret.truncate(secret.trim_ascii_end().len());
    if secret.len() < Key::SHORTEST {
        bail!(
            "{name}: the key has {}; write {} or more at random, such as with `openssl rand -hex 32`",
            counted(secret.len() as u64, "byte"),
            Key::SHORTEST
        );
    }
    Ok(Some(secret))
}

fn check_output(args: &ExtractArgs, sources: &Sources, etcd_sources: &Sources) -> anyhow::Result<()> {
    let named: Vec<_> = args.output.iter().filter(|path| !is_stdout(path)).cloned().collect();
    for path in &named {
        export::check(path)?;
    }
    let mut inputs = Inputs::new(&args.judge, sources, etcd_sources);
    if let Some(path) = &args.anonymize_key_file {
        inputs.add(path, "the key");
    }
    outputs::check(&named, &inputs, named.is_empty())
}

/// Prints why no event was selected, such as a filter that no request matches. Returns the exit status.
fn nothing_selected(filter: &Filter, selector: Option<&EventSelector<'_>>) -> u8 {
    let received_only = selector.is_some_and(|selector| selector.received_only);
    let unmatched = filter.unmatched(received_only);
    for (flag, name) in &unmatched {
        say(&format!("error: --{flag} '{}': no request matches this", escaped(name)));
    }
    if unmatched.is_empty() {
        say("error: no request passes all filters");
    }
    say("note: no event was chosen, so nothing was written");
    ERROR
}

fn write(writer: &mut Writer<'_>, reader: &LogReader<'_>, path: Option<&Path>) -> anyhow::Result<u8> {
    let output = TextOutput::prepare(path)?;
    if writer.selector.as_ref().is_some_and(EventSelector::is_empty) {
        return Ok(nothing_selected(&reader.settings.filter, writer.selector.as_ref()));
    }
    if writer.anonymizer.is_none() {
        say(SECRETS);
    }
    let is_file = path.is_some_and(|path| !is_stdout(path));
    let mut problem = None;
    let done = if is_file {
        output
            .write_with(|out| {
                writer.write(reader, out)?;
                problem = writer.counts.problem();
                // Return an error if the output is incomplete, so that the file is not kept.
                if problem.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
            })
            .context("the events were not written")
    } else {
        let mut waiting = SpooledTempFile::new(MAX_WAITING);
        writer.write(reader, &mut waiting).context(
            "the events were not written; they wait in the temporary directory (TMPDIR), or use -o PATH",
        )?;
        problem = writer.counts.problem();
        match problem {
            Some(_) => Ok(()),
            None => output.write_with(|out| {
                waiting.rewind()?;
                io::copy(&mut waiting, out).map(drop)
            }),
        }
    };
    let counts = &writer.counts;
    let list = &reader.sources.list;
    for (source, damage, at) in &counts.damaged {
        let name = reader.sources.name(*source);
        say(&format!("note: {name}: {} behind line {at}; the events up to there were read", damage.as_str()));
    }
    if let Some(skipped) = counts.skipped(list) {
        say(&format!("note: skipped: {skipped}; they may hold events, and the extract lacks these"));
    }
    if let Some(problem) = problem {
        let file = if is_file { "no file was written" } else { "nothing was written" };
        say(&format!("error: {problem}; {file}"));
        return Ok(ERROR);
    }
    done?;
    let written = match counts.lines {
        0 => counted(counts.events, "event"),
        lines => format!("{} and {}", counted(counts.events, "event"), counted(lines, "access line")),
    };
    say(&format!("wrote {written} of {}", counted(counts.read, "record")));
    Ok(SUCCESS)
}
