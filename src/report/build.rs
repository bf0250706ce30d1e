//! From a ledger to a report: verdicts, sums, order.

use std::collections::{BTreeSet, HashSet};

use rayon::prelude::*;

use super::case_requests::CaseRequests;
use super::cases::Case;
use super::etcd_log::Etcd;
use super::findings::{Findings, RuleTexts};
use super::gather::Builder;
use super::load::Loads;
use super::ranking::{Detail, places};
use super::sums::{Sums, latency};
use super::text_cache::TextCache;
use super::{cases, contradictions, cost, input, load, minutes, patterns, server_log, v1, version};
use crate::apiserver::Server;
use crate::cost::Inventory;
use crate::input::{Source, Sources};
use crate::judged::JudgedClients;
use crate::judged::etcd::SLACK;
use crate::k8s::EtcdVersion;
use crate::ledger::{Exemplar, Ledger};
use crate::patterns::Patterns;
use crate::requests::stable_hash;
use crate::rules::hits::HitRef;
use crate::rules::{FindingsOnClient, Policy, Rule, RuleSet, judge_some};
use crate::version::Inferred;

/// What a report needs beside the ledger.
#[derive(Debug)]
pub struct Context<'a> {
    /// The sources that the ledger was counted from.
    pub sources: &'a Sources,
    /// The server's configuration; its version is that of the timeline.
    pub server: Server,
    /// Its version, and where that is known from.
    pub version: &'a Inferred,
    /// Where etcd's version comes from, in words.
    pub etcd_from: &'static str,
    /// The versions that etcd states, each with the file that shows it.
    pub etcd_stated: Vec<(EtcdVersion, String)>,
    /// What a reader should know about how the server was found.
    pub notes: Vec<String>,
    /// etcd's own log, if there is one.
    pub etcd: Option<Etcd<'a>>,
    /// The rules that judge.
    pub rules: &'a RuleSet,
    /// What is known and accepted.
    pub policy: &'a Policy,
    /// What the cluster holds, if it was given.
    pub inventory: Option<&'a Inventory>,
    /// Which findings and shapes are told.
    pub detail: Detail,
}

/// Builds the report.
#[must_use]
pub fn build(ledger: Ledger, context: &Context<'_>) -> v1::Report {
    build_with_cases(ledger, context, &[]).0
}

/// Builds the report, and finds the requests of the cases of these ranks; `None` for a rank that no case has.
#[must_use]
pub fn build_with_cases(
    mut ledger: Ledger,
    context: &Context<'_>,
    case_ranks: &[usize],
) -> (v1::Report, Vec<Option<CaseRequests>>) {
    let received_only = ledger.input.received_only();
    let servers = version::servers(context);
    let by_version = version::totals(&mut ledger.clients, context, received_only);
    let traces = server_log::traces(&mut ledger.traces);
    // Of millions of LISTs, those that may have to do with one of etcd's slow reads.
    let slow = context.etcd.map(|etcd| etcd.log.lines.ranges.spans(SLACK));
    let overlaps = slow.as_ref().map(|slow| |from, to| slow.overlap(from, to));
    let wanted = overlaps.as_ref().map(|overlaps| overlaps as &dyn Fn(i64, i64) -> bool);
    let known: HashSet<u64> = ledger.clients.kept().map(|(key, _)| stable_hash(key)).collect();
    let patterns = Patterns::with_lists(ledger.histories, &|client| known.contains(&client), wanted);
    drop(known);
    let mut accounts = JudgedClients::new(
        ledger.clients,
        patterns,
        &servers,
        &context.server,
        version::doubt(context.version, &by_version),
        received_only,
        context.inventory.map(|inventory| (inventory, ledger.namespaces.into_weights())),
    );
    if let Some(etcd) = &context.etcd {
        accounts.match_slow_reads(etcd.log.lines.ranges.iter());
    }
    let followed = patterns::followed(&accounts.followed);
    let inventory = context.inventory.map(|inventory| cost::inventory(inventory, &accounts));
    let priced = cost::Priced::of(context.inventory, &accounts);
    let rules = &context.rules.rules;
    let (loads, measure) = (Loads::of(&accounts), accounts.measure);
    let places = places(&accounts);
    let mut cases = Vec::new();
    let mut requests = Vec::new();
    let mut omitted_note = None;
    let choose = |hits: &[HitRef<'_, '_>]| {
        cases = cases::cases(hits, &accounts, &context.policy.sources);
        let of_rank = |rank: &usize| Some(CaseRequests::of(cases.get(rank.checked_sub(1)?)?, hits));
        requests = case_ranks.iter().map(of_rank).collect();
        let is_shown = context.detail.is_shown(&cases, hits.len());
        omitted_note = context.detail.note(&is_shown);
        is_shown
    };
    let mut judged = judge_some(&accounts, &ledger.input, rules, &context.policy.suppressions, choose);
    let contradicted: HashSet<String> = identities(&accounts, &judged.contradicted);
    let worst = worst_severities(&judged.on_clients, places.len());
    let ranks = ranks(&cases, places.len());
    let gates = std::mem::take(&mut judged.gates);
    let judged_failures = std::mem::take(&mut judged.failures);
    let builder = Builder { context, received_only, priced, measure, loads, texts: TextCache::new(context) };
    let example = |exemplar: &Exemplar| builder.example(exemplar);
    let told = Findings {
        accounts: &accounts,
        rules,
        policy: context.policy,
        etcd: context.etcd,
        priced,
        loads,
        is_filtered: ledger.input.filtered > 0,
        texts: RuleTexts::of(rules),
        example: &example,
    }
    .tell(judged, &places, &cases);
    let etcd_log = context.etcd.map(|etcd| etcd.section(&accounts, ledger.input.span));
    let mut all = Sums { costs: cost::Costs::none(context.inventory), ..Sums::default() };
    let gathered = accounts.clients.into_par_iter().fold(Gathered::default, |gathered, account| {
        let (client, sums) = builder.client(account);
        gathered.with(vec![client], &sums)
    });
    let gathered =
        gathered.reduce(Gathered::default, |all, Gathered { clients, sums }| all.with(clients, &sums));
    all.add(&gathered.sums);
    let mut input = input::input(&ledger.input, context, &all);
    input.notes.extend(omitted_note);
    let clients = ordered(gathered.clients, worst, ranks, &places);
    let totals = totals(all, &clients, loads, priced, version::by_version(&by_version));
    let report = v1::Report {
        schema_version: v1::SCHEMA_VERSION,
        kubetoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        input,
        server: version::server(context, contradictions::note(&clients, &contradicted)),
        totals,
        cases: told.cases,
        finding_counts: told.counts,
        policy: told.policy,
        findings: told.findings,
        gates,
        rules: rules.iter().map(rule).collect(),
        rule_failures: judged_failures,
        inventory,
        ranking: load::ranking(loads.unit, context.inventory.map(|_| priced.unit.as_str())),
        clients,
        followed,
        traces,
        traces_left_out: ledger.traces.left_out(),
        etcd_log,
    };
    (report, requests)
}

/// The sums over all clients.
fn totals(
    all: Sums,
    clients: &[v1::Client],
    loads: Loads,
    priced: cost::Priced<'_>,
    by_version: Vec<v1::VersionTotals>,
) -> v1::Totals {
    v1::Totals {
        latency: latency(&all.latency),
        rate: all.times.rate(),
        peak: minutes::peak(clients, |point| point.requests),
        etcd_peak: minutes::peak(clients, |point| point.etcd_reads),
        load: loads.told(all.load),
        cost: all.costs.told(priced),
        by_version,
        counts: all.counts,
    }
}

/// What accounts are called, by their indices.
fn identities<All: FromIterator<String>>(accounts: &JudgedClients, indices: &BTreeSet<usize>) -> All {
    indices.iter().map(|account| accounts.clients[*account].identity()).collect()
}

/// Clients in their order, each with the severity of its worst finding.
fn ordered(
    clients: Vec<v1::Client>,
    worst: Vec<Option<&'static str>>,
    ranks: Vec<Vec<u64>>,
    places: &[usize],
) -> Vec<v1::Client> {
    let clients = clients.into_iter().zip(worst).zip(ranks);
    let clients =
        clients.map(|((client, worst_severity), cases)| v1::Client { worst_severity, cases, ..client });
    let mut clients: Vec<(usize, v1::Client)> = places.iter().copied().zip(clients).collect();
    clients.sort_unstable_by_key(|(place, _)| *place);
    // A client without a request is worth a row only if it has a finding.
    let is_told = |client: &v1::Client| client.counts.requests > 0 || !client.cases.is_empty();
    clients.into_iter().map(|(_, client)| client).filter(is_told).collect()
}

/// The ranks of each account's cases.
fn ranks(cases: &[Case], accounts: usize) -> Vec<Vec<u64>> {
    let mut ranks = vec![Vec::new(); accounts];
    for (rank, case) in (1..).zip(cases) {
        case.accounts.iter().for_each(|account| ranks[*account].push(rank));
    }
    ranks
}

/// The severity of the worst finding on each account.
fn worst_severities(on_accounts: &[FindingsOnClient], accounts: usize) -> Vec<Option<&'static str>> {
    let mut worst = vec![None; accounts];
    for on in on_accounts {
        worst[on.client] = Some(on.worst.as_str());
    }
    worst
}

/// Clients, and the sums over them.
#[derive(Default)]
struct Gathered {
    clients: Vec<v1::Client>,
    sums: Sums,
}

impl Gathered {
    fn with(mut self, clients: Vec<v1::Client>, sums: &Sums) -> Self {
        self.clients.extend(clients);
        self.sums.add(sums);
        self
    }
}

pub(super) fn file_name(sources: &[Source], index: u32) -> String {
    usize::try_from(index).ok().and_then(|index| sources.get(index)).map(Source::name).unwrap_or_default()
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
