//! Groups findings with one cause into cases.
//!
//! Two findings of one client become one case if most requests of the smaller finding also belong to the other. They
//! also become one case if their product, resource and kind of requests are the same. A rule that judges a whole
//! client matches all requests of the client. The finding of such a rule joins another finding only if the two share
//! most requests of the larger one.
//!
//! Findings of the rules KT9… are on the log itself and not on what a client does. For example, the server's own
//! measurements contradict verdicts. The findings of one such rule become one case for all clients.
//!
//! A crash loop or a backup run causes many findings, which become one case. A crash loop repeats a client's
//! discovery, LISTs and watches. A run of a backup tool reads one resource after the other. All findings of such a
//! case must be on the same product.
//!
//! Cases of several clients become one case if the clients run the same program and do the same: see
//! [`ProgramActivity`]. A rule may also judge all clients of a program together. Its finding on the sum of the
//! clients joins the case. The worst finding leads the case and sets its severity.

mod case;
mod causes;
mod identity;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) use self::case::{Case, Member};
use self::causes::{Cause, cause, causes, is_on_log};
pub(super) use self::identity::hashed;
use crate::apiserver::ServedFrom;
use crate::judged::{ClientSummary, JudgedClients, RequestLoad};
use crate::k8s::{Scope, Verb};
use crate::report::sums::peak_per_minute;
use crate::rules::HitRef;
use crate::rules::Severity;
use crate::rules::facts::RowFacts;
use crate::rules::group::RowGroup;
use crate::rules::programs::{self, ProgramName};
use crate::rules::sources::ClientSource;

/// The maximum number of members that a case names.
const MAX_NAMED: usize = 3;

/// A program and its action. Clients with equal values belong to one case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ProgramActivity {
    name: ProgramName,
    action: ProgramAction,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ProgramAction {
    Requests {
        verb: Option<Verb>,
        resource: Option<String>,
        subresource: Option<String>,
        scope: Option<Scope>,
        is_refused: bool,
    },
    /// A job's run that reads one resource after the other, or the views that a dashboard shows to people. Clients
    /// with different resources still belong to one case.
    Run,
    /// The finding of a rule that judges all requests of a client. The value is the rule's id.
    WholeClient(String),
}

/// Groups all hits into cases, ordered by severity, then by load.
pub(super) fn cases(
    hits: &[HitRef<'_, '_>],
    judged_clients: &JudgedClients,
    sources: &[ClientSource],
) -> Vec<Case> {
    let mut by_client: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut on_log: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut on_sums: Vec<usize> = Vec::new();
    let mut cases: Vec<(Case, Vec<&RowFacts<'_>>)> = Vec::new();
    for (at, hit) in hits.iter().enumerate() {
        match hit.group {
            Some(group) if group.program.is_some() => on_sums.push(at),
            Some(_) if is_on_log(hit) => on_log.entry(hit.rule.id.as_str()).or_default().push(at),
            Some(group) => by_client.entry(group.client).or_default().push(at),
            None => cases.push((on_input(at, hit), Vec::new())),
        }
    }
    let alone = |at: &usize| hits[*at].group.map(|group| cause(&[0], &[*at], hits, group.client));
    let mut alone: Vec<Vec<Cause<'_, '_>>> =
        on_log.values().map(|hits| hits.iter().filter_map(alone).collect()).collect();
    let mut programs: BTreeMap<ProgramActivity, Vec<Cause<'_, '_>>> = BTreeMap::new();
    for (client, own) in by_client {
        for cause in causes(&own, hits, client) {
            match program(&judged_clients.clients[client], &cause, hits) {
                Some(program) => programs.entry(program).or_default().push(cause),
                None => alone.push(vec![cause]),
            }
        }
    }
    join_sums(&on_sums, hits, judged_clients, &mut programs);
    for causes in alone.into_iter().chain(programs.into_values()) {
        cases.push(case(causes, hits, judged_clients, sources));
    }
    let sort = |cases: &mut Vec<(Case, Vec<&RowFacts<'_>>)>| {
        cases.sort_by(|(a, _), (b, _)| order(a, hits).cmp(&order(b, hits)));
    };
    sort(&mut cases);
    count_loads_once(&mut cases);
    sort(&mut cases);
    let mut cases: Vec<Case> = cases.into_iter().map(|(case, _)| case).collect();
    identity::make_unique(&mut cases, hits);
    cases
}

/// The sort key of cases. It does not depend on the order of clients or rules.
fn order<'c>(case: &'c Case, hits: &[HitRef<'_, '_>]) -> impl Ord + use<'c> {
    let lead = case.findings.first().map(|at| {
        let hit = &hits[*at];
        (hit.rule.id.clone(), hit.group.map(|group| group.leading().key.name()))
    });
    let member = case.worst.first().map(|member| &member.client);
    (Reverse((case.severity, case.load.amount, case.requests)), &case.client, member, &case.resource, lead)
}

/// Counts the load of each request only for its first case. Thus the loads of all cases sum to at most the total
/// load.
fn count_loads_once(cases: &mut [(Case, Vec<&RowFacts<'_>>)]) {
    let mut taken: HashSet<*const RowFacts<'_>> = HashSet::new();
    for (case, rows) in cases {
        case.load = RequestLoad::default();
        for facts in rows.iter() {
            if taken.insert(std::ptr::from_ref(*facts)) {
                case.load.add(facts.load());
            }
        }
    }
}

fn on_input(at: usize, hit: &HitRef<'_, '_>) -> Case {
    Case {
        severity: hit.severity,
        members: "client",
        findings: vec![at],
        worst_findings: 1,
        rules: vec![hit.rule.id.clone()],
        fingerprint: identity::on_input(&hit.rule.id),
        ..Case::default()
    }
}

/// Adds each finding on a whole program to the case that has most of the finding's requests.
fn join_sums<'h, 'r>(
    on_sums: &[usize],
    hits: &'h [HitRef<'h, 'r>],
    judged_clients: &JudgedClients,
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
        let summary = &judged_clients.clients[group.client];
        let majority =
            most.filter(|(_, requests)| requests * 2 > group.requests() && !sum.is_of_whole_client);
        let key = majority.map(|(program, _)| program.clone());
        let key = key.or_else(|| self::program(summary, &sum, hits));
        let alone = || ProgramActivity {
            name: program.name.clone(),
            action: ProgramAction::WholeClient(hit.rule.id.clone()),
        };
        joined.push((key.unwrap_or_else(alone), sum));
    }
    for (program, sum) in joined {
        programs.entry(program).or_default().push(sum);
    }
}

/// The program that sent the requests, with its actions. `None` if other clients cannot run the same program: see
/// [`ProgramName::new`].
fn program(
    summary: &ClientSummary,
    cause: &Cause<'_, '_>,
    hits: &[HitRef<'_, '_>],
) -> Option<ProgramActivity> {
    let lead = cause.group.leading();
    let name = ProgramName::new(summary, lead.product)?;
    let action = if cause.is_of_whole_client {
        ProgramAction::WholeClient(hits[cause.hits[0]].rule.id.clone())
    } else if cause.is_run || cause.is_view {
        ProgramAction::Run
    } else {
        ProgramAction::Requests {
            verb: lead.key.verb,
            resource: lead.key.resource.as_deref().map(str::to_owned),
            subresource: lead.key.subresource.as_deref().map(str::to_owned),
            scope: lead.key.scope,
            is_refused: lead.key.served_from == ServedFrom::Rejected,
        }
    };
    Some(ProgramActivity { name, action })
}

/// Builds a case from causes that share a program, or from a single cause.
fn case<'r>(
    mut causes: Vec<Cause<'_, 'r>>,
    hits: &[HitRef<'_, '_>],
    judged_clients: &JudgedClients,
    sources: &[ClientSource],
) -> (Case, Vec<&'r RowFacts<'r>>) {
    causes.sort_by_cached_key(|cause| {
        let summary = &judged_clients.clients[cause.client];
        let name = (summary.identity(), summary.impersonated_by().map(str::to_owned));
        let lead = cause.group.leading().key.name();
        (Reverse((cause.severity, cause.group.load().amount, cause.group.requests())), name, lead)
    });
    let members: BTreeSet<usize> = causes.iter().flat_map(|cause| cause.members.iter().copied()).collect();
    let first = &causes[0];
    let findings: Vec<usize> = causes.iter().flat_map(|cause| cause.hits.iter().copied()).collect();
    let severity = first.severity;
    let is_on_sum = first.is_on_sum;
    // The views of a program such as a dashboard have one cause for each resource. The first causes may be such
    // views, and each on all clients together. Then these causes all count as the causes of the worst member.
    let of_views = causes.iter().take_while(|cause| cause.is_view && cause.is_on_sum && is_on_sum);
    let worst_causes = &causes[..of_views.count().max(1)];
    let worst_findings = worst_causes.iter().map(|cause| cause.hits.len()).sum();
    let of_run = worst_causes.iter().filter(|cause| cause.is_run || cause.is_view);
    let resources: BTreeSet<Option<&str>> =
        of_run.flat_map(|cause| &cause.group.rows).map(|facts| facts.key.resource.as_deref()).collect();
    let resources = resources.len().max(1);
    let resource = first.resource.filter(|_| resources == 1).map(str::to_owned);
    let (client, noun) = named(&members, first, judged_clients);
    let client_index = first.client;
    let (summary, product, is_on_log) =
        (&judged_clients.clients[client_index], first.group.leading().product, first.is_on_log);
    let source = (!first.is_on_log).then(|| identity::source(&members, judged_clients, sources)).flatten();
    let worst = worst(&causes, judged_clients);
    let rules: BTreeMap<&str, Severity> = findings.iter().fold(BTreeMap::new(), |mut rules, at| {
        let worst = rules.entry(hits[*at].rule.id.as_str()).or_insert(hits[*at].severity);
        *worst = (*worst).max(hits[*at].severity);
        rules
    });
    let mut rules: Vec<(&str, Severity)> = rules.into_iter().collect();
    let leading = hits[findings[0]].rule.id.as_str();
    rules.sort_by_key(|(rule, severity)| (*rule != leading, Reverse(*severity)));
    let rules = rules.into_iter().map(|(rule, _)| rule.to_owned()).collect();
    let client_totals = first.group.totals;
    let mut seen = HashSet::new();
    let rows = causes.into_iter().flat_map(|cause| cause.group.rows);
    let rows = rows.filter(|facts| seen.insert(std::ptr::from_ref(*facts)));
    let all = RowGroup::new(rows.collect(), client_index, client_totals);
    let fingerprint = if is_on_log {
        identity::on_input(&hits[findings[0]].rule.id)
    } else {
        identity::on_clients(summary, product, &all, &findings, hits)
    };
    let case = Case {
        severity,
        client: Some(client),
        members: noun,
        clients: members,
        worst,
        findings,
        worst_findings,
        is_on_sum,
        resources,
        rules,
        resource,
        requests: all.requests(),
        peak_per_minute: all.rate().map_or(0.0, peak_per_minute),
        load: all.load(),
        fingerprint,
        source,
    };
    (case, all.rows)
}

/// The name of the client or program. Also returns what the members differ by.
fn named(
    members: &BTreeSet<usize>,
    first: &Cause<'_, '_>,
    judged_clients: &JudgedClients,
) -> (String, &'static str) {
    let summary = &judged_clients.clients[first.client];
    if members.len() == 1 {
        return (summary.short_name(), "client");
    }
    let product = first.group.leading().product;
    if first.is_on_log {
        return ("several clients".to_owned(), "client");
    }
    let all = || members.iter().map(|index| &judged_clients.clients[*index]);
    let noun = programs::noun(all());
    let name = ProgramName::new(summary, product);
    (name.as_ref().map_or(product, |name| name.short(all())).to_owned(), noun)
}

fn worst(causes: &[Cause<'_, '_>], judged_clients: &JudgedClients) -> Vec<Member> {
    let mut by_client: BTreeMap<usize, Member> = BTreeMap::new();
    let mut seen = HashSet::new();
    for cause in causes {
        let index: HashMap<*const ClientSummary, usize> =
            cause.members.iter().map(|at| (std::ptr::from_ref(&judged_clients.clients[*at]), *at)).collect();
        for facts in &cause.group.rows {
            let Some(client) = index.get(&std::ptr::from_ref(facts.client)) else { continue };
            let member = by_client.entry(*client).or_insert_with(|| Member {
                client: facts.client.identity(),
                name: facts.client.short_name(),
                severity: cause.severity,
                requests: 0,
                load: RequestLoad::default(),
            });
            member.severity = member.severity.max(cause.severity);
            if seen.insert(std::ptr::from_ref(*facts)) {
                member.requests += facts.requests;
                member.load.add(facts.load());
            }
        }
    }
    let mut worst: Vec<Member> = by_client.into_values().collect();
    let key = |member: &Member| Reverse((member.severity, member.load.amount, member.requests));
    worst.sort_by(|a, b| (key(a), &a.client, &a.name).cmp(&(key(b), &b.client, &b.name)));
    worst.truncate(MAX_NAMED);
    worst
}

/// A number of members: `40 namespaces`, `15 people`, `2 clients`.
pub(crate) fn counted(noun: &str, number: usize) -> String {
    let noun = match (noun, number) {
        (noun, 1) => noun.to_owned(),
        ("person", _) => "people".to_owned(),
        (noun, _) => format!("{noun}s"),
    };
    format!("{} {noun}", crate::rules::figures::count(number as u64))
}
