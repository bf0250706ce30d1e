//! From a ledger to a report: verdicts, sums, order.

use std::cmp::Reverse;

use super::gather::Builder;
use super::sums::{Sums, latency, rate};
use super::v1;
use crate::apiserver::Server;
use crate::decode::SkipReason;
use crate::input::Source;
use crate::k8s::{Stage, timestamp};
use crate::ledger::{InputCounts, Ledger, ServerTimeline};

/// Files without events that are named.
const NAMED_FILES: usize = 10;

/// Where the server's version is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum VersionSource {
    Flag,
    LoopbackUserAgent,
    ControlPlaneUserAgent,
    NewestKnown,
}

impl VersionSource {
    /// The value in the public JSON contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::LoopbackUserAgent => "loopback-user-agent",
            Self::ControlPlaneUserAgent => "control-plane-user-agent",
            Self::NewestKnown => "newest-known",
        }
    }
}

/// What a report needs beside the ledger.
#[derive(Debug)]
pub struct Context<'a> {
    /// The sources that the ledger was counted from.
    pub sources: &'a [Source],
    /// The server's configuration; its version is that of the timeline.
    pub server: Server,
    /// Which version answered when.
    pub timeline: &'a ServerTimeline,
    /// Where the version is known from.
    pub version_source: VersionSource,
    /// What a reader should know about how the server was found.
    pub notes: Vec<String>,
}

/// Builds the report.
#[must_use]
pub fn build(ledger: Ledger, context: &Context<'_>) -> v1::Report {
    let received_only = ledger.input.received_only();
    let builder = Builder {
        context,
        received_only,
        servers: context
            .timeline
            .versions
            .iter()
            .map(|version| Server { version: *version, ..context.server.clone() })
            .collect(),
    };
    let (known, rest) = ledger.clients.into_parts();
    let mut all = Sums::default();
    let mut clients: Vec<v1::Client> =
        known.into_iter().map(|(key, client)| builder.client(Some(key), client, &mut all)).collect();
    clients.extend(rest.map(|client| builder.client(None, client, &mut all)));
    clients.sort_by_cached_key(|client| {
        let counts = &client.counts;
        let cost = (counts.etcd_micros, counts.etcd_lists, counts.limit_ignored, counts.requests);
        (Reverse(cost), client.identity.clone(), client.impersonated_by.clone())
    });
    let totals = v1::Totals { counts: all.counts, latency: latency(&all.latency), rate: rate(&all.timeline) };
    v1::Report {
        schema_version: v1::SCHEMA_VERSION,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        input: input(&ledger.input, context, totals.counts.requests, all.open),
        server: server(context),
        totals,
        clients,
    }
}

pub(super) fn file_name(sources: &[Source], index: u32) -> String {
    usize::try_from(index).ok().and_then(|index| sources.get(index)).map(Source::name).unwrap_or_default()
}

fn input(counts: &InputCounts, context: &Context<'_>, requests: u64, open: u64) -> v1::Input {
    let stages = [
        (Stage::RequestReceived, "RequestReceived"),
        (Stage::ResponseStarted, "ResponseStarted"),
        (Stage::ResponseComplete, "ResponseComplete"),
        (Stage::Panic, "Panic"),
    ];
    let file = |source: u32| file_name(context.sources, source);
    let without: Vec<String> = context
        .sources
        .iter()
        .zip(0_u32..)
        .filter(|(_, index)| counts.sources.get(index).is_none_or(|source| source.events == 0))
        .map(|(source, _)| source.name())
        .collect();
    v1::Input {
        files: context.sources.len() as u64,
        bytes: counts.bytes,
        lines: counts.lines,
        events: counts.all_events(),
        events_by_stage: stages
            .into_iter()
            .map(|(stage, name)| (name.to_owned(), counts.events[stage as usize]))
            .collect(),
        filtered: counts.filtered,
        requests,
        open,
        received_only: counts.received_only(),
        replaced_utf8: counts.replaced_utf8,
        skipped: counts
            .skipped
            .iter()
            .map(|(reason, (count, _))| (reason.as_str().to_owned(), *count))
            .collect(),
        skipped_at: counts
            .skipped
            .iter()
            .filter(|(reason, _)| **reason != SkipReason::Blank)
            .flat_map(|(reason, (_, places))| places.iter().map(|at| (reason.as_str(), *at)))
            .map(|(reason, at)| v1::SkippedAt {
                reason: reason.to_owned(),
                file: file(at.source),
                line: at.line,
            })
            .collect(),
        damaged: counts
            .damaged
            .iter()
            .map(|(source, (damage, line))| v1::Damaged {
                damage: damage.as_str().to_owned(),
                file: file(*source),
                line: *line,
            })
            .collect(),
        without_events: v1::WithoutEvents {
            count: without.len() as u64,
            files: without.into_iter().take(NAMED_FILES).collect(),
        },
        first_timestamp: counts.span.map(|span| timestamp::format_micros(span.0)),
        last_timestamp: counts.span.map(|span| timestamp::format_micros(span.1)),
    }
}

fn server(context: &Context<'_>) -> v1::Server {
    v1::Server {
        kube_version: context.timeline.versions.last().map(ToString::to_string).unwrap_or_default(),
        version_source: context.version_source.as_str().to_owned(),
        kube_versions: context.timeline.versions.iter().map(ToString::to_string).collect(),
        etcd_version: context.server.etcd.map(|version| version.to_string()),
        feature_gates: context.server.gates.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        uncached: context.server.uncached.clone(),
        aggregated: context.server.aggregated.clone(),
        notes: context.notes.clone(),
    }
}
