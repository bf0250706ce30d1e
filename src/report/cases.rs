//! Cases: findings with one cause are one case.
//!
//! Findings of one client are one case if most requests of the smaller one are the other's too, or if both are on the
//! same kind of requests for the same resource by the same product. A rule that judges a whole client is on all of its
//! requests, so its finding joins another only if each has most of the other's requests.
//!
//! Findings on the log itself (KT9…), such as verdicts that the server's own measurements contradict, have nothing to do with
//! what a client does: those of one rule are one case, whichever clients' requests show it.
//!
//! Crash loops and backup runs cause many findings. These are one case. A crash loop repeats a client's discovery, LISTs
//! and watches. A run of a backup tool reads one resource after the other. The findings must be on the same product.
//!
//! Cases of several clients are one if these run the same program and do the same: see [`ProgramActivity`]. A rule may judge the
//! clients of a program together too. Its finding on their sum leads the case, and decides the case's severity if it is
//! worse than what each of them is found for alone.

mod causes;
mod identity;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use self::causes::{Cause, cause, causes, is_on_log};
use crate::apiserver::ServedFrom;
use crate::judged::{ClientSummary, JudgedClients, Load};
use crate::k8s::{Scope, Verb};
use crate::rules::facts::RowFacts;
use crate::rules::group::Group;
use crate::rules::hits::HitRef;
use crate::rules::programs::{self, ProgramName};
use crate::rules::sources::ClientSource;
use crate::rules::{Severity, client_name};

/// Members of a case that are named.
const WORST: usize = 3;

/// A case before it is put into words. Findings are named by their place among the hits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    pub severity: Severity,
    /// The client, or the program that several clients run.
    pub client: Option<String>,
    /// What the members are: `client`, `namespace` or `person`.
    pub members: &'static str,
    /// The members, by the index of their accounts; none for a finding on the input.
    pub accounts: BTreeSet<usize>,
    /// The worst members.
    pub worst: Vec<Member>,
    /// The findings, those of the worst member first; the first one leads.
    pub findings: Vec<usize>,
    /// How many of them are of the worst member, or on all members together.
    pub of_worst: usize,
    /// The finding that leads is on all members together.
    pub is_on_sum: bool,
    /// How many resources the findings of the worst member are on.
    pub resources: usize,
    pub rules: Vec<String>,
    pub resource: Option<String>,
    pub requests: u64,
    pub peak_per_minute: f64,
    /// The load of its requests, but for those that a case before it has.
    pub load: Load,
    pub fingerprint: String,
    /// The first of the policy's sources for one of the members.
    pub source: Option<usize>,
}

/// One client of a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub client: String,
    pub name: String,
    pub severity: Severity,
    pub requests: u64,
    pub load: Load,
}

/// A program and what it does: clients with the same value run it, and do the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ProgramActivity {
    name: ProgramName,
    does: Does,
}

/// What a program does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    Requests {
        verb: Option<Verb>,
        resource: Option<String>,
        subresource: Option<String>,
        scope: Option<Scope>,
        is_refused: bool,
    },
    /// A run of a job.
    Run,
    /// What a rule finds in all requests of a client.
    Whole(String),
}

/// The cases of all hits: the worst severity first, then the most load.
pub(super) fn cases(
    hits: &[HitRef<'_, '_>],
    accounts: &JudgedClients,
    sources: &[ClientSource],
) -> Vec<Case> {
    let mut by_account: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut on_log: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut on_sums: Vec<usize> = Vec::new();
    let mut cases: Vec<(Case, Vec<&RowFacts<'_>>)> = Vec::new();
    for (at, hit) in hits.iter().enumerate() {
        match hit.group {
            Some(group) if group.program.is_some() => on_sums.push(at),
            Some(_) if is_on_log(hit) => on_log.entry(hit.rule.id.as_str()).or_default().push(at),
            Some(group) => by_account.entry(group.client).or_default().push(at),
            None => cases.push((on_input(at, hit), Vec::new())),
        }
    }
    let alone = |at: &usize| hits[*at].group.map(|group| cause(&[0], &[*at], hits, group.client));
    let mut alone: Vec<Vec<Cause<'_, '_>>> =
        on_log.values().map(|hits| hits.iter().filter_map(alone).collect()).collect();
    let mut programs: BTreeMap<ProgramActivity, Vec<Cause<'_, '_>>> = BTreeMap::new();
    for (account, own) in by_account {
        for cause in causes(&own, hits, account) {
            match program(&accounts.clients[account], &cause, hits) {
                Some(program) => programs.entry(program).or_default().push(cause),
                None => alone.push(vec![cause]),
            }
        }
    }
    join_sums(&on_sums, hits, accounts, &mut programs);
    for causes in alone.into_iter().chain(programs.into_values()) {
        cases.push(case(causes, hits, accounts, sources));
    }
    let sort = |cases: &mut Vec<(Case, Vec<&RowFacts<'_>>)>| {
        cases.sort_by(|(a, _), (b, _)| order(a, hits).cmp(&order(b, hits)));
    };
    sort(&mut cases);
    share_out(&mut cases, accounts);
    sort(&mut cases);
    let mut cases: Vec<Case> = cases.into_iter().map(|(case, _)| case).collect();
    identity::make_unique(&mut cases, hits);
    cases
}

/// What decides the order of cases: nothing in it depends on the order of clients or rules.
fn order<'c>(case: &'c Case, hits: &[HitRef<'_, '_>]) -> impl Ord + use<'c> {
    let lead = case.findings.first().map(|at| {
        let hit = &hits[*at];
        (hit.rule.id.clone(), hit.group.map(|group| group.leading().key.name()))
    });
    let member = case.worst.first().map(|member| &member.client);
    (Reverse((case.severity, case.load.amount, case.requests)), &case.client, member, &case.resource, lead)
}

/// Requests that two cases have count for the first: the loads of all cases add up to no more than that of all clients.
fn share_out(cases: &mut [(Case, Vec<&RowFacts<'_>>)], accounts: &JudgedClients) {
    let mut taken: HashSet<*const RowFacts<'_>> = HashSet::new();
    for (case, rows) in cases {
        case.load = Load::default();
        for facts in rows.iter() {
            if taken.insert(std::ptr::from_ref(*facts)) {
                case.load.add(load_of(facts, accounts));
            }
        }
    }
}

fn load_of(facts: &RowFacts<'_>, accounts: &JudgedClients) -> Load {
    accounts.measure.load(facts.key, facts.entry, facts.row, facts.cost)
}

fn on_input(at: usize, hit: &HitRef<'_, '_>) -> Case {
    Case {
        severity: hit.severity,
        client: None,
        members: "client",
        accounts: BTreeSet::new(),
        worst: Vec::new(),
        findings: vec![at],
        of_worst: 1,
        is_on_sum: false,
        resources: 0,
        rules: vec![hit.rule.id.clone()],
        resource: None,
        requests: 0,
        peak_per_minute: 0.0,
        load: Load::default(),
        fingerprint: identity::on_input(&hit.rule.id),
        source: None,
    }
}

/// Adds findings on all clients of a program to the cases of these clients: to the one that has most of their requests.
fn join_sums<'h, 'r>(
    on_sums: &[usize],
    hits: &'h [HitRef<'h, 'r>],
    accounts: &JudgedClients,
    programs: &mut BTreeMap<ProgramActivity, Vec<Cause<'h, 'r>>>,
) {
    let mut by_row: HashMap<*const RowFacts<'r>, &ProgramActivity> = HashMap::new();
    for (program, causes) in programs.iter() {
        for facts in causes.iter().flat_map(|cause| &cause.group.rows) {
            by_row.entry(std::ptr::from_ref(*facts)).or_insert(program);
        }
    }
    let mut joined: Vec<(ProgramActivity, Cause<'h, 'r>)> = Vec::new();
    for at in on_sums {
        let hit = &hits[*at];
        let Some((group, (program, members))) = hit.group.zip(hit.group.and_then(|one| one.program.as_ref()))
        else {
            continue;
        };
        let sum =
            Cause { members: members.clone(), is_on_sum: true, ..cause(&[0], &[*at], hits, group.client) };
        let mut shared: BTreeMap<&ProgramActivity, u64> = BTreeMap::new();
        for facts in &group.rows {
            if let Some(program) = by_row.get(&std::ptr::from_ref(*facts)) {
                *shared.entry(program).or_default() += facts.requests;
            }
        }
        let most = shared.into_iter().max_by_key(|(_, requests)| *requests);
        let account = &accounts.clients[group.client];
        let known = most.filter(|(_, requests)| requests * 2 > group.requests() && !sum.is_of_whole_client);
        let key = known.map(|(known, _)| known.clone());
        let key = key.or_else(|| self::program(account, &sum, hits));
        let alone = || ProgramActivity { name: program.name.clone(), does: Does::Whole(hit.rule.id.clone()) };
        joined.push((key.unwrap_or_else(alone), sum));
    }
    for (program, sum) in joined {
        programs.entry(program).or_default().push(sum);
    }
}

/// The program that makes a client's requests and what it does, if others may run it too.
fn program(
    account: &ClientSummary,
    cause: &Cause<'_, '_>,
    hits: &[HitRef<'_, '_>],
) -> Option<ProgramActivity> {
    let lead = cause.group.leading();
    let name = ProgramName::new(account, lead.product)?;
    let does = if cause.is_of_whole_client {
        Does::Whole(hits[cause.hits[0]].rule.id.clone())
    } else if cause.is_run {
        Does::Run
    } else {
        Does::Requests {
            verb: lead.key.verb,
            resource: lead.key.resource.as_deref().map(str::to_owned),
            subresource: lead.key.subresource.as_deref().map(str::to_owned),
            scope: lead.key.scope,
            is_refused: lead.key.served_from == ServedFrom::Rejected,
        }
    };
    Some(ProgramActivity { name, does })
}

/// One case of causes with one program; of a program that one client runs, its own.
fn case<'r>(
    mut causes: Vec<Cause<'_, 'r>>,
    hits: &[HitRef<'_, '_>],
    accounts: &JudgedClients,
    sources: &[ClientSource],
) -> (Case, Vec<&'r RowFacts<'r>>) {
    causes.sort_by_cached_key(|cause| {
        let account = &accounts.clients[cause.account];
        let name = (account.identity(), account.impersonated_by().map(str::to_owned));
        let lead = cause.group.leading().key.name();
        (Reverse((cause.severity, cause.group.load().amount, cause.group.requests())), name, lead)
    });
    let members: BTreeSet<usize> = causes.iter().flat_map(|cause| cause.members.iter().copied()).collect();
    let first = &causes[0];
    let findings: Vec<usize> = causes.iter().flat_map(|cause| cause.hits.iter().copied()).collect();
    let severity = first.severity;
    let resource = first.resource.map(str::to_owned);
    let of_worst = first.hits.len();
    let is_on_sum = first.is_on_sum;
    let resources: BTreeSet<Option<&str>> =
        first.group.rows.iter().filter(|_| first.is_run).map(|facts| facts.key.resource.as_deref()).collect();
    let resources = resources.len().max(1);
    let (client, noun) = named(&members, first, accounts);
    let account_index = first.account;
    let (account, product, is_on_log) =
        (&accounts.clients[account_index], first.group.leading().product, first.is_on_log);
    let source = (!first.is_on_log).then(|| identity::source(&members, accounts, sources)).flatten();
    let worst = worst(&causes, accounts);
    let rules: BTreeMap<&str, Severity> = findings.iter().fold(BTreeMap::new(), |mut rules, at| {
        let worst = rules.entry(hits[*at].rule.id.as_str()).or_insert(hits[*at].severity);
        *worst = (*worst).max(hits[*at].severity);
        rules
    });
    let mut rules: Vec<(&str, Severity)> = rules.into_iter().collect();
    rules.sort_by_key(|(_, severity)| Reverse(*severity));
    let rules = rules.into_iter().map(|(rule, _)| rule.to_owned()).collect();
    let whole = first.group.totals;
    let mut seen = HashSet::new();
    let rows = causes.into_iter().flat_map(|cause| cause.group.rows);
    let rows = rows.filter(|facts| seen.insert(std::ptr::from_ref(*facts)));
    let all = Group::new(rows.collect(), account_index, whole);
    let fingerprint = if is_on_log {
        identity::on_input(&hits[findings[0]].rule.id)
    } else {
        identity::on_clients(account, product, &all, &findings, hits)
    };
    let case = Case {
        severity,
        client: Some(client),
        members: noun,
        accounts: members,
        worst,
        findings,
        of_worst,
        is_on_sum,
        resources,
        rules,
        resource,
        requests: all.requests(),
        peak_per_minute: peak(&all),
        load: all.load(),
        fingerprint,
        source,
    };
    (case, all.rows)
}

#[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
fn peak(group: &Group<'_>) -> f64 {
    let tenths = |value: f64| (value * 10.0).round() / 10.0;
    group.rate().map_or(0.0, |rate| tenths(rate.peak as f64 / rate.window_minutes as f64))
}

/// The client or program, and what its members are.
fn named(
    members: &BTreeSet<usize>,
    first: &Cause<'_, '_>,
    accounts: &JudgedClients,
) -> (String, &'static str) {
    let account = &accounts.clients[first.account];
    if members.len() == 1 {
        return (client_name(account), "client");
    }
    let product = first.group.leading().product;
    if first.is_on_log {
        return ("several clients".to_owned(), "client");
    }
    let all = || members.iter().map(|index| &accounts.clients[*index]);
    let noun = programs::noun(all());
    let name = ProgramName::new(account, product);
    (name.as_ref().map_or(product, |name| name.short(all())).to_owned(), noun)
}

fn worst(causes: &[Cause<'_, '_>], accounts: &JudgedClients) -> Vec<Member> {
    let mut by_account: BTreeMap<usize, Member> = BTreeMap::new();
    let mut seen = HashSet::new();
    for cause in causes {
        let index: HashMap<*const ClientSummary, usize> =
            cause.members.iter().map(|at| (std::ptr::from_ref(&accounts.clients[*at]), *at)).collect();
        for facts in &cause.group.rows {
            let Some(account) = index.get(&std::ptr::from_ref(facts.client)) else { continue };
            let member = by_account.entry(*account).or_insert_with(|| Member {
                client: facts.client.identity(),
                name: client_name(facts.client),
                severity: cause.severity,
                requests: 0,
                load: Load::default(),
            });
            member.severity = member.severity.max(cause.severity);
            if seen.insert(std::ptr::from_ref(*facts)) {
                member.requests += facts.requests;
                member.load.add(load_of(facts, accounts));
            }
        }
    }
    let mut worst: Vec<Member> = by_account.into_values().collect();
    let key = |member: &Member| Reverse((member.severity, member.load.amount, member.requests));
    worst.sort_by(|a, b| (key(a), &a.client, &a.name).cmp(&(key(b), &b.client, &b.name)));
    worst.truncate(WORST);
    worst
}

/// So many members: `40 namespaces`, `15 people`, `2 clients`.
pub(crate) fn counted(noun: &str, number: usize) -> String {
    let noun = match (noun, number) {
        (noun, 1) => noun.to_owned(),
        ("person", _) => "people".to_owned(),
        (noun, _) => format!("{noun}s"),
    };
    format!("{} {noun}", crate::rules::figures::count(number as u64))
}
