//! Builds the report from a ledger: verdicts, findings, sums and order.

use std::collections::HashSet;

use rayon::prelude::*;

use super::case_requests::CaseRequests;
use super::cases::Case;
use super::clients::ClientConverter;
use super::context::Context;
use super::findings::{Findings, RuleTexts};
use super::page::{PageFacts, Report};
use super::ranking::{Loads, positions, ranking};
use super::sums::{Sums, latency};
use super::text_cache::TextCache;
use super::{cases, contradictions, cost, input, minutes, patterns, server_log, v1, version};
use crate::judged::etcd::SLACK;
use crate::judged::{ClientSummary, JudgedClients};
use crate::ledger::{Clients, Exemplar, HistoriesByKind, Ledger};
use crate::patterns::Patterns;
use crate::requests::stable_hash;
use crate::rules::HitRef;
use crate::rules::group::RowGroup;
use crate::rules::{Hits, Rule, RuleInput, Severity};

#[must_use]
pub fn build(ledger: Ledger, context: &Context<'_>) -> Report {
    build_with_cases(ledger, context, &[]).0
}

/// Builds the report. Also returns, for each rank in `case_ranks`, the requests of the case with this rank. The entry
/// is `None` if no case has the rank.
#[must_use]
pub fn build_with_cases(
    mut ledger: Ledger,
    context: &Context<'_>,
    case_ranks: &[usize],
) -> (Report, Vec<Option<CaseRequests>>) {
    let other_files = input::other_files(context.sources, &ledger.input);
    for source in &other_files {
        ledger.input.remove(*source);
    }
    let received_only = ledger.input.received_only();
    let servers = version::servers(context);
    let by_version = version::totals(&mut ledger.clients, context, received_only);
    let traces = server_log::traces(&mut ledger.traces);
    let patterns = patterns_of(&mut ledger.clients, ledger.histories, context);
    let mut judged_clients = JudgedClients::new(
        ledger.clients,
        patterns,
        &servers,
        &context.server,
        version::doubt(context.version, &by_version),
        received_only,
        context.inventory.map(|inventory| (inventory, ledger.namespaces.into_weights())),
    );
    if let Some(etcd) = &context.etcd {
        judged_clients.match_slow_reads(etcd.log.lines.ranges.iter());
    }
    let followed = patterns::followed(&judged_clients.followed);
    let inventory = context.inventory.map(|inventory| cost::inventory(inventory, &judged_clients));
    let cost_context = cost::CostContext::new(context.inventory, &judged_clients);
    let rules = &context.rules.rules;
    let (positions, loads) = positions(&judged_clients);
    let measure = judged_clients.measure;
    let rule_input = RuleInput::new(&judged_clients, &ledger.input, rules);
    let found = Hits::new(&rule_input, rules, &context.policy.suppressions);
    let hits = found.refs();
    let cases = cases::cases(&hits, &judged_clients, &context.policy.sources);
    let of_rank = |rank: &usize| Some(CaseRequests::from_hits(cases.get(rank.checked_sub(1)?)?, &hits));
    let requests = case_ranks.iter().map(of_rank).collect();
    let is_shown = context.detail.is_shown(&cases, hits.len());
    let (worst, finding_counts) = (worst_severities(&hits, positions.len()), finding_counts(&hits));
    drop(hits);
    let contradicted = found.contradicted();
    let gates = found.gates();
    let mut judged = found.render(&is_shown);
    drop(rule_input);
    let rule_failures = std::mem::take(&mut judged.failures);
    let ranks = ranks(&cases, positions.len());
    let converter = ClientConverter { context, cost_context, measure, loads, texts: TextCache::new(context) };
    let example = |exemplar: &Exemplar| converter.example(exemplar);
    let reported = Findings {
        judged_clients: &judged_clients,
        rules,
        policy: context.policy,
        etcd: context.etcd,
        cost_context,
        loads,
        is_filtered: ledger.input.filtered > 0,
        texts: RuleTexts::by_id(rules),
        example: &example,
    }
    .to_v1(judged, &positions, &cases);
    let etcd_log = context.etcd.map(|etcd| etcd.section(&judged_clients, ledger.input.span));
    let mut all = Sums { costs: cost::Costs::new(context.inventory), ..Sums::default() };
    let (clients, sums) = converted(judged_clients.clients, &converter);
    all.add(&sums);
    let mut input = input::input(&ledger.input, context, &all, &other_files);
    input.notes.extend(context.detail.note(&is_shown));
    let (clients, case_ranks) = ordered(clients, worst, ranks, &positions);
    let first_not_long_running = all.first_not_long_running;
    let totals = totals(all, &clients, loads, cost_context, version::by_version(&by_version));
    let page = PageFacts {
        gates,
        server: version::texts(context),
        actions: reported.actions,
        case_ranks,
        first_not_long_running,
    };
    let public = v1::PublicReport {
        schema_version: v1::SCHEMA_VERSION,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        input,
        server: version::server(context, contradictions::note(&clients, &contradicted)),
        totals,
        cases: reported.cases,
        finding_counts,
        policy: reported.policy,
        findings: reported.findings,
        rules: rules.iter().map(rule).collect(),
        rule_failures,
        inventory,
        ranking: ranking(loads.unit, context.inventory.map(|_| cost_context.unit.as_str())),
        clients,
        followed,
        traces,
        traces_left_out: ledger.traces.left_out(),
        etcd_log,
    };
    (Report { public, page }, requests)
}

fn patterns_of(clients: &mut Clients, histories: HistoriesByKind, context: &Context<'_>) -> Patterns {
    // Keep only LISTs that may match a slow read of etcd. A log may hold millions of LISTs.
    let slow = context.etcd.map(|etcd| etcd.log.lines.ranges.spans(SLACK));
    let overlaps = slow.as_ref().map(|slow| |from, to| slow.overlap(from, to));
    let wanted = overlaps.as_ref().map(|overlaps| overlaps as &dyn Fn(i64, i64) -> bool);
    let client_hashes: HashSet<u64> = clients.entries().map(|(key, _)| stable_hash(key)).collect();
    Patterns::with_lists(histories, &|client| client_hashes.contains(&client), wanted)
}

fn totals(
    all: Sums,
    clients: &[v1::Client],
    loads: Loads,
    cost_context: cost::CostContext<'_>,
    by_version: Vec<v1::VersionTotals>,
) -> v1::Totals {
    v1::Totals {
        latency: latency(&all.latency),
        rate: all.times.rate(all.span),
        peak: minutes::peak(clients, |point| point.requests),
        etcd_peak: minutes::peak(clients, |point| point.etcd_reads),
        load: loads.to_v1(all.load),
        cost: all.costs.to_v1(cost_context),
        by_version,
        counts: all.counts,
    }
}

/// Sorts the clients, and adds the severity of their worst finding. Also returns the ranks of their cases.
fn ordered(
    clients: Vec<v1::Client>,
    worst: Vec<Option<Severity>>,
    ranks: Vec<Vec<u64>>,
    positions: &[usize],
) -> (Vec<v1::Client>, Vec<Vec<u64>>) {
    let clients = clients.into_iter().zip(worst).zip(ranks);
    let clients = clients.map(|((client, worst), ranks)| {
        (v1::Client { worst_severity: worst.map(Severity::as_str), ..client }, ranks)
    });
    let mut clients: Vec<_> = positions.iter().copied().zip(clients).collect();
    clients.sort_unstable_by_key(|(position, _)| *position);
    // A client without requests is shown only if it has a case.
    let is_shown = |(client, _): &(v1::Client, _)| client.counts.requests > 0 || client.has_finding();
    clients.into_iter().map(|(_, client)| client).filter(is_shown).unzip()
}

/// Returns for each client the ranks of its cases.
fn ranks(cases: &[Case], clients: usize) -> Vec<Vec<u64>> {
    let mut ranks = vec![Vec::new(); clients];
    for (rank, case) in (1..).zip(cases) {
        case.clients.iter().for_each(|client| ranks[*client].push(rank));
    }
    ranks
}

/// Returns for each client the severity of its worst finding.
fn worst_severities(hits: &[HitRef<'_, '_>], clients: usize) -> Vec<Option<Severity>> {
    let mut worst = vec![None; clients];
    for hit in hits {
        for client in hit.group.into_iter().flat_map(RowGroup::members) {
            worst[*client] = worst[*client].max(Some(hit.severity));
        }
    }
    worst
}

fn finding_counts(hits: &[HitRef<'_, '_>]) -> v1::FindingCounts {
    let count = |severity| hits.iter().filter(|hit| hit.severity == severity).count() as u64;
    v1::FindingCounts {
        error: count(Severity::Error),
        warning: count(Severity::Warning),
        info: count(Severity::Info),
    }
}

fn converted(summaries: Vec<ClientSummary>, converter: &ClientConverter<'_>) -> (Vec<v1::Client>, Sums) {
    let parts = summaries.into_par_iter().map(|summary| {
        let (client, sums) = converter.client(summary);
        (vec![client], sums)
    });
    parts.reduce(Default::default, |(mut all, mut all_sums), (clients, sums)| {
        all.extend(clients);
        all_sums.add(&sums);
        (all, all_sums)
    })
}

fn rule(rule: &Rule) -> v1::RuleInfo {
    v1::RuleInfo {
        id: rule.id.clone(),
        name: rule.name.clone(),
        summary: rule.summary.clone(),
        why: rule.why.clone(),
        quiet_for: rule.quiet_for.clone(),
        references: rule.references.clone(),
    }
}
