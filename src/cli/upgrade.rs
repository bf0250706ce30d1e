//! `kubetoll upgrade`: shows what the recorded requests would do on another version of the server.

use anyhow::{Context as _, bail};

use super::args::{RuleArgs, ServerArgs, UpgradeArgs};
use super::format;
use super::log_reader::{self, LogReader};
use super::output::{ERROR, SUCCESS, TextOutput, is_stdout, say, width};
use super::outputs::{self, Inputs};
use super::page_args::PageFormat;
use super::{judging, server};
use crate::apiserver::Server;
use crate::input::Source;
use crate::k8s::KubeVersion;
use crate::k8s::timestamp::format_micros;
use crate::ledger::Ledger;
use crate::pipeline::Settings;
use crate::render;
use crate::render::plain::counted;
use crate::requests::contract::supported;
use crate::upgrade::{Comparison, ServerState, UpgradeReport, compare};
use crate::version::{Inferred, VersionSource};

pub(super) fn run(args: &UpgradeArgs) -> anyhow::Result<u8> {
    log_reader::in_pool(&args.read.reading, |threads| upgrade(args, threads))
}

fn upgrade(args: &UpgradeArgs, threads: usize) -> anyhow::Result<u8> {
    let (_, policy) = judging::all(&RuleArgs {
        rules: Vec::new(),
        select: Vec::new(),
        ignore: Vec::new(),
        config: args.config.clone(),
    })?;
    let server_args = judging::server_args(
        &ServerArgs {
            kube_version: args.from.clone(),
            etcd_version: args.etcd_from.clone(),
            feature_gate: args.feature_gate.clone(),
            uncached: args.uncached.clone(),
            aggregated: args.aggregated.clone(),
        },
        &policy,
    );
    let from = server::server(&server_args).map_err(|error| with_own_flags(&error))?;
    let others = others(args, &server_args)?;
    let settings = Settings { patterns: false, ..log_reader::settings(&args.read.reading, threads)? };
    let paths = args.read.logs.all();
    let sources = log_reader::sources(&paths, &args.read.reading)?;
    let named: Vec<_> = args.page.output.iter().filter(|path| !is_stdout(path)).cloned().collect();
    let inputs = Inputs::from_logs(&sources, args.config.as_deref());
    outputs::check(&named, &inputs, named.is_empty())?;
    let given = server_args.kube_version.is_some().then_some(from.version);
    let mut reader = LogReader { args: &args.read.reading, paths, settings, sources, server: from };
    let (ledger, detected) = reader.read(given, Vec::new())?;
    let empty = reader.paths_without_events(&ledger);
    for message in &empty {
        say(&format!("error: {message}"));
    }
    if ledger.input.all_events() == 0 {
        return Ok(ERROR);
    }
    let version = detected.version;
    if version.source == VersionSource::NewestKnown {
        bail!("the log does not show the version of the server; pass it, such as --from 1.31.4");
    }
    if let Some(other) = others.iter().find(|other| other.version < version.version) {
        bail!(
            "--to {}: the recorded server is newer, {} ({}); the log fits {}. Pass a newer version, or the recorded \
             version with --from",
            other.version,
            version.version,
            version.from,
            version.candidates
        );
    }
    // A version that the user did not give comes from the log.
    let others: Vec<Server> =
        others.into_iter().map(|other| Server { etcd: other.etcd.or(reader.server.etcd), ..other }).collect();
    let mut notes = detected.notes;
    notes.extend(detected.etcd.notes);
    let report = report(ledger, &reader, &version, &others, notes);
    write(&report, args)?;
    Ok(if empty.is_empty() { SUCCESS } else { ERROR })
}

/// The servers of `--to`, oldest version first.
fn others(args: &UpgradeArgs, recorded: &ServerArgs) -> anyhow::Result<Vec<Server>> {
    let mut others = Vec::new();
    for to in &args.to {
        let version: KubeVersion = supported(to.parse().context("--to")?).context("--to")?;
        let mut feature_gate = recorded.feature_gate.clone();
        feature_gate.extend(args.feature_gate_to.iter().cloned());
        let own = ServerArgs {
            kube_version: Some(version.to_string()),
            etcd_version: args.etcd_to.clone(),
            feature_gate,
            uncached: recorded.uncached.clone(),
            aggregated: recorded.aggregated.clone(),
        };
        others.push(server::server(&own).map_err(|error| with_own_flags(&error))?);
    }
    others.sort_by_key(|server| server.version);
    others.dedup_by_key(|server| server.version);
    Ok(others)
}

/// Names the flags of this command in the error of another one.
fn with_own_flags(error: &anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}");
    anyhow::anyhow!(
        text.replace("--kube-version", "--from").replace("--etcd-version", "--etcd-from or --etcd-to")
    )
}

fn report(
    ledger: Ledger,
    reader: &LogReader<'_>,
    version: &Inferred,
    others: &[Server],
    mut notes: Vec<String>,
) -> UpgradeReport {
    let recorded: Vec<Server> =
        version.timeline.kube_versions().map(|version| Server { version, ..reader.server.clone() }).collect();
    let input = ledger.input;
    let received_only = input.received_only();
    let Comparison { requests, clients, not_compared, uncertain, from, hops } =
        compare(ledger.clients, &recorded, others, received_only);
    let mut recorded_versions: Vec<String> =
        recorded.iter().map(|server| server.version.to_string()).collect();
    recorded_versions.dedup();
    for other in others {
        notes.extend(server::notes(other, other.version));
    }
    if !version.is_settled() {
        notes.push(format!(
            "kubetoll estimates the recorded version: {} ({}); the log fits {}. Pass the version with --from",
            version.version, version.from, version.candidates
        ));
    }
    if others.iter().any(|other| other.etcd.is_none()) {
        notes.push(
            "The log does not show etcd's version. kubetoll assumes etcd 3.4.31, 3.5.13 or later; with an older etcd, a \
             server from 1.31 on reads each LIST without resourceVersion from etcd. Pass --etcd-to"
                .to_owned(),
        );
    }
    if not_compared > 0 {
        notes.push(format!(
            "{} cannot be compared, because the log lacks their URIs",
            counted(not_compared, "request")
        ));
    }
    if uncertain > 0 {
        notes.push(format!(
            "The source of {} depends on facts that a log does not show, such as the age of a continue token; kubetoll \
             counts the likely source",
            counted(uncertain, "request")
        ));
    }
    let skipped: u64 = input.skipped.values().map(|(count, _)| count).sum();
    if skipped > 0 || !input.damaged.is_empty() {
        notes.push(format!(
            "kubetoll skipped {} and could not read {} to the end; `kubetoll scan` says where",
            counted(skipped, "record"),
            counted(input.damaged.len() as u64, "file")
        ));
    }
    if received_only {
        notes.push("The log has only RequestReceived events, so it shows no refused requests".to_owned());
    }
    notes.push(
        "Components of the new release and newer client libraries send other requests. For example, informers of \
         client-go 0.35 begin with a WATCH instead of a LIST. Record such traffic on a server of the new version"
            .to_owned(),
    );
    UpgradeReport {
        schema_version: 1,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        files: reader.sources.list.iter().map(Source::name).collect(),
        first_timestamp: input.span.map(|span| format_micros(span.0)),
        last_timestamp: input.span.map(|span| format_micros(span.1)),
        requests,
        clients,
        not_compared,
        uncertain,
        from: ServerState {
            kube_version: recorded_versions.join(", "),
            etcd_version: reader.server.etcd.map(|version| version.to_string()),
            totals: from,
        },
        hops,
        notes,
    }
}

fn write(report: &UpgradeReport, args: &UpgradeArgs) -> anyhow::Result<()> {
    let output = TextOutput::prepare(args.page.output.as_deref())?;
    let of_file = format::of_ending(
        args.page.output.as_deref(),
        [PageFormat::Text, PageFormat::Json, PageFormat::Markdown],
    );
    match args.format.unwrap_or(of_file) {
        PageFormat::Text => {
            output.write(&render::upgrade::text(report, args.page.top, width()), args.page.color.choice())
        }
        PageFormat::Json => output.write_raw(&(render::escape::pretty_json(report) + "\n")),
        PageFormat::Markdown => output.write_raw(&render::upgrade::markdown(report)),
    }
}
