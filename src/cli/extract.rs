//! `kubetoll extract`: the events of a case, as evidence to hand on.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use anyhow::{Context as _, bail};
use rustc_hash::FxBuildHasher;

use super::args::{ExtractArgs, JudgeArgs};
use super::output::{Output, is_stdout};
use super::outputs::{self, Inputs};
use super::progress::Progress;
use super::run::{self, Run};
use super::say::say;
use super::{DONE, FAILED, etcd_log, inventory, judging, server};
use crate::anonymize::{self, Anonymizer, Key};
use crate::apiserver::Server;
use crate::decode::Outcome;
use crate::input::{SourcePosition, can_be_read_again};
use crate::k8s::Stage;
use crate::ledger::ServerTimeline;
use crate::pipeline;
use crate::render::export;
use crate::render::plain::{counted, escaped};
use crate::report::{self, CaseFilter, Context, Detail};
use crate::requests::filter::Filter;
use crate::requests::{Classifier, Request, request_hash};
use crate::rules::policy::FILE_NAME;

/// What must be known before the events are handed on.
const SECRETS: &str = "note: this writes the secrets that the log holds, such as tokens in query parameters; --anonymize writes none";

/// How many requests are found again by their audit IDs: they take 16 bytes each.
const MAX_REQUESTS: usize = 8 << 20;

pub(super) fn run(args: &ExtractArgs) -> anyhow::Result<u8> {
    run::in_pool(&args.judge, |threads| extract(args, threads))
}

fn extract(args: &ExtractArgs, threads: usize) -> anyhow::Result<u8> {
    let judge = &args.judge;
    let judging = judging::load(&judge.rules, &[])?;
    let server_args = judging::server_args(&judge.server, &judging.policy);
    let server = server::server(&server_args)?;
    let settings = run::settings(judge, threads)?;
    let anonymizer = anonymizer(args, &server)?;
    let sources = run::sources(judge)?;
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
    let mut run = Run { args: judge, settings, sources, server };
    let chosen = if args.case.is_empty() {
        None
    } else {
        let etcd = etcd_log::read(judge, &etcd_sources, &run.settings)?;
        let inventory = inventory::load(&judge.inventory)?;
        let known = server_args.kube_version.is_some().then_some(run.server.version);
        let (ledger, found) = run.read(known, etcd.versions(&etcd_sources))?;
        let received_only = ledger.input.received_only();
        let context = Context {
            sources: &run.sources,
            server: run.server.clone(),
            version: &found.version,
            etcd_from: found.etcd.from,
            etcd_stated: found.etcd.stated,
            notes: Vec::new(),
            etcd: etcd.etcd(&etcd_sources),
            rules: &judging.rules,
            policy: &judging.policy,
            inventory: inventory.as_ref(),
            detail: Detail::Rows,
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
        let of = |version| Server { version, ..run.server.clone() };
        let servers = found.version.timeline.kube_versions().map(of).collect();
        let versions: Vec<_> = found.version.timeline.kube_versions().collect();
        let advice = match &*versions {
            [version] => format!("scan it with --kube-version {version}"),
            _ => "the log shows several versions of Kubernetes: scan the extract with --kube-version"
                .to_owned(),
        };
        Some(((CaseFilter::new(cases, servers, received_only), advice), found.version.timeline.clone()))
    };
    let (cases, timeline) = chosen.unzip();
    let (cases, advice) = cases.unzip();
    let timeline = timeline.unwrap_or_else(|| ServerTimeline::always(run.server.version));
    let choice = chooses.then(|| Choice::of(&run, &timeline, cases)).transpose()?;
    let mut writer =
        Writer { choice, classifier: Classifier::default(), anonymizer, counts: Counts::default() };
    let status = write(&mut writer, &run, args.output.as_deref())?;
    // The events of a case may show another version than the whole log, or none.
    if let Some(advice) = advice.filter(|_| status == DONE) {
        say(&advice);
    }
    Ok(status)
}

/// The anonymizer that is asked for.
fn anonymizer(args: &ExtractArgs, server: &Server) -> anyhow::Result<Option<Anonymizer>> {
    if !args.anonymize && args.anonymize_key_file.is_none() {
        return Ok(None);
    }
    let key = match secret(args.anonymize_key_file.as_deref())? {
        Some(secret) => Key::of_secret(&secret),
        None => Key::random(),
    };
    let configured = [&*server.uncached, &*server.aggregated].concat();
    Ok(Some(Anonymizer::new(key, &configured)))
}

/// The environment variable with the secret that pseudonyms depend on. A flag would show it in `ps`.
const KEY_VARIABLE: &str = "KUBETOLL_ANONYMIZE_KEY";

/// The longest secret, in bytes.
const MAX_SECRET: u64 = 64 << 10;

/// The secret that pseudonyms depend on, without the end of its line: that of the file, else of the environment.
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

fn check_output(
    args: &ExtractArgs,
    sources: &crate::input::Sources,
    etcd_sources: &crate::input::Sources,
) -> anyhow::Result<()> {
    let named: Vec<_> = args.output.iter().filter(|path| !is_stdout(path)).cloned().collect();
    for path in &named {
        export::check(path)?;
    }
    let JudgeArgs { rules, inventory, .. } = &args.judge;
    let mut inputs = Inputs::default();
    inputs.add_sources(sources, "an audit log");
    inputs.add_sources(etcd_sources, "a log of etcd");
    for path in inventory {
        inputs.add(path, "the inventory");
    }
    if let Some(path) = &args.anonymize_key_file {
        inputs.add(path, "the key");
    }
    inputs.add(rules.config.as_deref().unwrap_or(Path::new(FILE_NAME)), "the policy file");
    rules.rules.iter().for_each(|directory| inputs.add_rules(directory));
    let reads_stdin = sources.list.iter().chain(&etcd_sources.list).any(|source| source.path.is_none());
    outputs::check(&named, &inputs, reads_stdin, named.is_empty())
}

/// Which events are written. An event that ends a request shows its client, its shape and its status. Events before it do not,
/// and are found by their audit IDs.
struct Choice<'a> {
    run: &'a Run<'a>,
    timeline: &'a ServerTimeline,
    cases: Option<CaseFilter>,
    received_only: bool,
    /// Whether the log holds an event.
    has_events: bool,
    /// Whether an event is chosen.
    has_chosen: bool,
    /// Hashes of audit ID and target.
    ids: HashSet<u64, FxBuildHasher>,
}

impl<'a> Choice<'a> {
    /// Reads the log for the audit IDs of the chosen requests.
    fn of(run: &'a Run<'a>, timeline: &'a ServerTimeline, cases: Option<CaseFilter>) -> anyhow::Result<Self> {
        let mut choice = Self {
            run,
            timeline,
            cases,
            received_only: false,
            has_events: false,
            has_chosen: false,
            ids: HashSet::default(),
        };
        loop {
            let (mut has_ended, mut has_received) = (false, false);
            let mut classifier = Classifier::default();
            let progress = Progress::new(run.sources.bytes_on_disk, !run.args.no_progress);
            pipeline::each(&run.sources.list, &run.settings, &progress.read, &mut |outcome, place| {
                let Some(mut request) = request(&outcome, &mut classifier, place) else { return Ok(()) };
                let is_received = request.stage == Stage::RequestReceived;
                (has_ended, has_received) = (has_ended || !is_received, has_received || is_received);
                let decides = choice.decides(&mut request);
                choice.has_chosen |= decides;
                if decides && !request.audit_id.is_empty() {
                    choice.ids.insert(request_hash(request.audit_id, request.uri));
                    if choice.ids.len() > MAX_REQUESTS {
                        let message =
                            "more than 8,388,608 requests are chosen; choose fewer with --after and --before";
                        return Err(io::Error::other(message));
                    }
                }
                Ok(())
            })?;
            choice.has_events = has_ended || has_received;
            if has_ended || !has_received || choice.received_only {
                return Ok(choice);
            }
            // A log of RequestReceived events only: these are the requests.
            choice.received_only = true;
        }
    }

    /// Whether the log holds events, and none is chosen.
    fn is_empty(&self) -> bool {
        self.has_events && !self.has_chosen
    }

    /// Whether an event shows that its request is chosen.
    fn decides(&mut self, request: &mut Request<'_>) -> bool {
        request.version_index = self.timeline.version_index(request.place.source, request.received);
        (self.received_only || !request.is_before_end())
            && (self.run.settings.filter.is_empty() || self.run.settings.filter.pass(request))
            && self.cases.as_mut().is_none_or(|cases| cases.pass(request))
    }

    fn is_chosen(&mut self, request: &mut Request<'_>) -> bool {
        self.decides(request)
            || (request.is_before_end() && self.ids.contains(&request_hash(request.audit_id, request.uri)))
    }
}

/// The request of an event or of an access line.
fn request<'e>(
    outcome: &Outcome<'e>,
    classifier: &'e mut Classifier,
    place: SourcePosition,
) -> Option<Request<'e>> {
    match *outcome {
        Outcome::Event(event, _) => Some(classifier.event(event, event.stage()?, place)),
        Outcome::Access { line, logged_at: written, .. } => Some(classifier.line(line, written, place)),
        _ => None,
    }
}

/// What was written, and what was not.
#[derive(Debug, Default)]
struct Counts {
    read: u64,
    events: u64,
    lines: u64,
    /// Access lines that have no anonymous form.
    lines_left_out: u64,
    /// Events with a field that can't be read.
    events_left_out: u64,
}

impl Counts {
    /// Why what was written is not all that was asked for.
    fn problem(&self, damaged: usize) -> Option<String> {
        match self {
            _ if damaged > 0 => Some("the log can't be read to its end".to_owned()),
            Self { read: 0, .. } => {
                Some("the log holds no audit event; `kubetoll scan` says what it holds".to_owned())
            }
            Self { events_left_out: left_out @ 1.., .. } => {
                let left_out = counted(*left_out, "event");
                Some(format!("{left_out} can't be anonymized: a field has another type than in the API"))
            }
            Self { events: 0, lines_left_out: left_out @ 1.., .. } => {
                let left_out = counted(*left_out, "access line");
                Some(format!("access lines can't be anonymized, and {left_out} are all there is"))
            }
            _ => None,
        }
    }
}

/// Writes events.
struct Writer<'a> {
    choice: Option<Choice<'a>>,
    classifier: Classifier,
    anonymizer: Option<Anonymizer>,
    counts: Counts,
}

impl Writer<'_> {
    fn take(&mut self, outcome: Outcome<'_>, place: SourcePosition, out: &mut dyn Write) -> io::Result<()> {
        let Self { choice, classifier, anonymizer, counts } = self;
        let Some(mut request) = request(&outcome, classifier, place) else { return Ok(()) };
        counts.read += 1;
        if choice.as_mut().is_some_and(|choice| !choice.is_chosen(&mut request)) {
            return Ok(());
        }
        let made;
        let text = match outcome {
            Outcome::Event(_, Some(text)) => text,
            Outcome::Event(event, None) => {
                made = anonymize::to_json(event);
                &made
            }
            Outcome::Access { .. } if anonymizer.is_some() => {
                counts.lines_left_out += 1;
                return Ok(());
            }
            Outcome::Access { text, .. } => {
                counts.lines += 1;
                return line(text, out);
            }
            _ => return Ok(()),
        };
        match anonymizer.as_ref().map(|anonymizer| anonymizer.event(text)) {
            Some(None) => {
                counts.events_left_out += 1;
                return Ok(());
            }
            Some(Some(anonymous)) => line(&anonymous, out)?,
            None => line(text, out)?,
        }
        counts.events += 1;
        Ok(())
    }
}

/// One line. JSON has line breaks between its tokens only.
fn line(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut parts = text.split(['\n', '\r']);
    out.write_all(parts.next().unwrap_or_default().as_bytes())?;
    for part in parts {
        out.write_all(b" ")?;
        out.write_all(part.as_bytes())?;
    }
    out.write_all(b"\n")
}

/// Says which filters left no event.
fn nothing_chosen(filter: &Filter, choice: Option<&Choice<'_>>) -> u8 {
    let received_only = choice.is_some_and(|choice| choice.received_only);
    let unmatched = filter.unmatched(received_only);
    for (flag, name) in &unmatched {
        say(&format!("error: --{flag} '{}': no request matches this", escaped(name)));
    }
    if unmatched.is_empty() {
        say("error: no request passes all filters");
    }
    say("note: no event was chosen, so nothing was written");
    FAILED
}

fn write(writer: &mut Writer<'_>, run: &Run<'_>, path: Option<&Path>) -> anyhow::Result<u8> {
    let output = Output::prepare(path)?;
    if writer.choice.as_ref().is_some_and(Choice::is_empty) {
        return Ok(nothing_chosen(&run.settings.filter, writer.choice.as_ref()));
    }
    if writer.anonymizer.is_none() {
        say(SECRETS);
    }
    let progress = Progress::new(run.sources.bytes_on_disk, !run.args.no_progress);
    let damaged = RefCell::new(Vec::new());
    let mut problem = None;
    let done = output
        .write_with(|out| {
            let mut out = io::BufWriter::with_capacity(1 << 16, out);
            let done =
                pipeline::each(&run.sources.list, &run.settings, &progress.read, &mut |outcome, place| {
                    writer.take(outcome, place, &mut out)
                })?;
            problem = writer.counts.problem(done.len());
            damaged.replace(done);
            out.flush()?;
            // A file is not kept where this fails.
            if problem.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
        })
        .context("the events were not written");
    drop(progress);
    for (source, damage, at) in damaged.take() {
        let name = run.sources.list.get(source as usize).map(crate::input::Source::name).unwrap_or_default();
        say(&format!("note: {name}: {} behind line {at}; the events up to there were read", damage.as_str()));
    }
    if let Some(problem) = problem {
        let is_file = path.is_some_and(|path| !is_stdout(path));
        say(&format!("error: {problem}{}", if is_file { "; no file was written" } else { "" }));
        return Ok(FAILED);
    }
    done?;
    let Counts { read, events, lines, lines_left_out, .. } = writer.counts;
    let written = match lines {
        0 => counted(events, "event"),
        lines => format!("{} and {}", counted(events, "event"), counted(lines, "access line")),
    };
    say(&format!("wrote {written} of {}", counted(read, "record")));
    if lines_left_out > 0 {
        say(&format!(
            "note: {} left out: access lines can't be anonymized",
            counted(lines_left_out, "access line")
        ));
    }
    Ok(DONE)
}
