//! Cases: findings with one cause are one case.
//!
//! Findings of one client are one case if most requests of the smaller one are the other's too, or if both are on the
//! same kind of requests for the same resource by the same product. A rule that judges a whole client is on all of its
//! requests, so its finding joins another only if each has most of the other's requests.
//!
//! Findings on the log itself (KT9…), such as verdicts that the server's own measurements contradict, have nothing to do with
//! what a client does: those of one rule are one case, whichever clients' requests show it.
//!
//! Cases of several clients are one if these are the same program and do the same: see [`Program`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::accounts::{Account, Accounts, Load};
use crate::apiserver::ServedFrom;
use crate::k8s::user_agent::names_no_client;
use crate::k8s::{Library, Scope, Verb};
use crate::rules::facts::Facts;
use crate::rules::group::Group;
use crate::rules::hits::HitRef;
use crate::rules::stats::{Get, STATS};
use crate::rules::value::{Name, Value};
use crate::rules::{Severity, client_name};

/// Members of a case that are named.
const WORST: usize = 3;
/// The rule whose message says best how often a LIST is repeated, and that for a GET.
const TELLING: [&str; 2] = ["KT307", "KT315"];

/// The rule on status writes that come with a GET each.
const READS_IN_STEP: &str = "KT410";

/// A case before it is put into words. Findings are named by their place among the hits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    pub severity: Severity,
    /// The client, or the program that several clients run.
    pub client: Option<String>,
    /// What the members are: `client`, `namespace` or `person`.
    pub members: &'static str,
    /// How many members there are; none for a finding on the input.
    pub count: usize,
    /// The worst members.
    pub worst: Vec<Member>,
    /// The findings, those of the worst member first; the first one leads.
    pub findings: Vec<usize>,
    /// How many of them are of the worst member.
    pub of_worst: usize,
    pub rules: Vec<String>,
    pub resource: Option<String>,
    pub requests: u64,
    pub peak_per_minute: f64,
    /// The load of its requests, but for those that a case before it has.
    pub load: Load,
}

/// One client of a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub account: usize,
    pub client: String,
    pub name: String,
    pub severity: Severity,
    pub requests: u64,
    pub load: Load,
}

/// A client's findings with one cause.
struct Cause<'h, 'r> {
    account: usize,
    hits: Vec<usize>,
    /// Its requests.
    group: Group<'r>,
    severity: Severity,
    resource: Option<&'h str>,
    /// All of its findings are of rules that judge a whole client.
    is_of_whole_client: bool,
    is_on_log: bool,
}

/// A program: clients with the same value run it, and do the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    kind: &'static str,
    /// The product of the user agent, the name of the `ServiceAccount`, or both.
    name: (Option<String>, Option<String>),
    verb: Option<Verb>,
    resource: Option<String>,
    subresource: Option<String>,
    scope: Option<Scope>,
    is_refused: bool,
}

/// The cases of all hits: the worst severity first, then the most load.
pub(super) fn cases(hits: &[HitRef<'_, '_>], accounts: &Accounts) -> Vec<Case> {
    let mut by_account: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut on_log: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut cases: Vec<(Case, Vec<&Facts<'_>>)> = Vec::new();
    for (at, hit) in hits.iter().enumerate() {
        match hit.group {
            Some(_) if is_on_log(hit) => on_log.entry(hit.rule.id.as_str()).or_default().push(at),
            Some(group) => by_account.entry(group.account).or_default().push(at),
            None => cases.push((on_input(at, hit), Vec::new())),
        }
    }
    let alone = |at: &usize| hits[*at].group.map(|group| cause(&[0], &[*at], hits, group.account));
    let mut alone: Vec<Vec<Cause<'_, '_>>> =
        on_log.values().map(|hits| hits.iter().filter_map(alone).collect()).collect();
    let mut programs: BTreeMap<Program, Vec<Cause<'_, '_>>> = BTreeMap::new();
    for (account, own) in by_account {
        for cause in causes(&own, hits, account) {
            match program(&accounts.clients[account], &cause) {
                Some(program) => programs.entry(program).or_default().push(cause),
                None => alone.push(vec![cause]),
            }
        }
    }
    for causes in alone.into_iter().chain(programs.into_values()) {
        cases.push(case(causes, hits, accounts));
    }
    let sort = |cases: &mut Vec<(Case, Vec<&Facts<'_>>)>| {
        cases.sort_by(|(a, _), (b, _)| order(a, hits).cmp(&order(b, hits)));
    };
    sort(&mut cases);
    share_out(&mut cases, accounts);
    sort(&mut cases);
    cases.into_iter().map(|(case, _)| case).collect()
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
fn share_out(cases: &mut [(Case, Vec<&Facts<'_>>)], accounts: &Accounts) {
    let mut taken: HashSet<*const Facts<'_>> = HashSet::new();
    for (case, rows) in cases {
        case.load = Load::default();
        for facts in rows.iter() {
            if taken.insert(std::ptr::from_ref(*facts)) {
                case.load.add(load_of(facts, accounts));
            }
        }
    }
}

fn load_of(facts: &Facts<'_>, accounts: &Accounts) -> Load {
    accounts.measure.load(facts.key, facts.entry, facts.row, facts.cost)
}

fn on_input(at: usize, hit: &HitRef<'_, '_>) -> Case {
    Case {
        severity: hit.severity,
        client: None,
        members: "client",
        count: 0,
        worst: Vec::new(),
        findings: vec![at],
        of_worst: 1,
        rules: vec![hit.rule.id.clone()],
        resource: None,
        requests: 0,
        peak_per_minute: 0.0,
        load: Load::default(),
    }
}

/// A client's hits by their causes.
fn causes<'h, 'r>(own: &[usize], hits: &'h [HitRef<'h, 'r>], account: usize) -> Vec<Cause<'h, 'r>> {
    let groups: Vec<&Group<'r>> = own.iter().filter_map(|at| hits[*at].group).collect();
    let mut sets = Sets::new(own.len());
    // Hits by the rows that they have, so that only those with a row in common are compared.
    let mut by_row: HashMap<*const Facts<'r>, Vec<usize>> = HashMap::new();
    let mut by_kind: HashMap<(Option<&str>, &str, Kind), usize> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        for facts in &group.rows {
            by_row.entry(std::ptr::from_ref(*facts)).or_default().push(index);
        }
        let lead = group.leading();
        if !is_of_whole_client(&hits[own[index]]) && has_one_resource(group) {
            let key = (lead.key.resource.as_deref(), lead.product, Kind::of(lead));
            let first = *by_kind.entry(key).or_insert(index);
            sets.join(first, index);
        }
    }
    for (index, group) in groups.iter().enumerate() {
        if let Some(resource) = reads_in_step(&hits[own[index]], group)
            && let Some(reads) =
                by_kind.get(&(Some(resource.as_str()), group.leading().product, Kind::ReadsOne))
        {
            sets.join(index, *reads);
        }
    }
    let mut shared: HashMap<(usize, usize), u64> = HashMap::new();
    for (row, with) in &by_row {
        let facts = groups[with[0]].rows.iter().find(|facts| std::ptr::from_ref(**facts) == *row);
        let requests = facts.map_or(0, |facts| facts.requests);
        for (at, one) in with.iter().enumerate() {
            for other in &with[at + 1..] {
                *shared.entry((*one, *other)).or_default() += requests;
            }
        }
    }
    for ((one, other), shared) in shared {
        let sizes = [groups[one].requests(), groups[other].requests()];
        let is_whole = [one, other].iter().any(|index| is_of_whole_client(&hits[own[*index]]));
        let size = if is_whole { sizes[0].max(sizes[1]) } else { sizes[0].min(sizes[1]) };
        if shared * 2 > size {
            sets.join(one, other);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..own.len() {
        members.entry(sets.find(index)).or_default().push(index);
    }
    members.into_values().map(|members| cause(&members, own, hits, account)).collect()
}

fn cause<'h, 'r>(
    members: &[usize],
    own: &[usize],
    hits: &'h [HitRef<'h, 'r>],
    account: usize,
) -> Cause<'h, 'r> {
    let mut of_cause: Vec<usize> = members.iter().map(|member| own[*member]).collect();
    let severity = of_cause.iter().map(|at| hits[*at].severity).max().unwrap_or(Severity::Info);
    // The finding that leads is one of the worst: one that tells how often, or the one with the most requests.
    of_cause.sort_by_cached_key(|at| {
        let hit = &hits[*at];
        let is_telling = TELLING.contains(&hit.rule.id.as_str());
        let requests = hit.group.map_or(0, Group::requests);
        let shape = hit.group.map(|group| group.leading().key.name());
        (Reverse((hit.severity, is_telling, requests)), hit.rule.id.clone(), shape)
    });
    let mut seen = HashSet::new();
    let groups: Vec<&'h Group<'r>> = of_cause.iter().filter_map(|at| hits[*at].group).collect();
    let mut rows: Vec<&'r Facts<'r>> = groups.iter().flat_map(|group| group.rows.iter().copied()).collect();
    rows.retain(|facts| seen.insert(std::ptr::from_ref(*facts)));
    // In the account's order, which decides between rows with equal requests.
    rows.sort_by_key(|facts| facts.key);
    let lead = groups[0];
    let resource = has_one_resource(lead).then(|| lead.leading().key.resource.as_deref()).flatten();
    let group = Group::new(rows, account, lead.whole);
    let is_of_whole_client = of_cause.iter().all(|at| is_of_whole_client(&hits[*at]));
    let is_on_log = of_cause.iter().all(|at| is_on_log(&hits[*at]));
    Cause { account, hits: of_cause, group, severity, resource, is_of_whole_client, is_on_log }
}

fn has_one_resource(group: &Group<'_>) -> bool {
    let resource = &group.leading().key.resource;
    group.rows.iter().all(|facts| facts.key.resource == *resource)
}

/// The resource of the GETs that writes come with, if the finding is on such writes: they are one loop.
fn reads_in_step(hit: &HitRef<'_, '_>, group: &Group<'_>) -> Option<String> {
    let is_it = |name: &&Name<Get>| name.name == "readsInStepResource" && hit.rule.id == READS_IN_STEP;
    match (STATS.iter().find(is_it)?.get)(group) {
        Value::Text(resource) if !resource.is_empty() => Some(resource.into_owned()),
        _ => None,
    }
}

/// Whether a finding is on the log, and not on what a client does.
fn is_on_log(hit: &HitRef<'_, '_>) -> bool {
    hit.rule.id.starts_with("KT9")
}

/// Whether a rule judges all requests of a client together, whatever they are for.
fn is_of_whole_client(hit: &HitRef<'_, '_>) -> bool {
    !hit.rule.group_by.resource && !hit.rule.group_by.shape
}

/// What requests do with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    ReadsMany,
    ReadsOne,
    Writes,
    Refused,
    Other,
}

impl Kind {
    fn of(facts: &Facts<'_>) -> Self {
        match facts.key.verb {
            _ if facts.key.served_from == ServedFrom::Rejected => Self::Refused,
            Some(Verb::List | Verb::Watch) => Self::ReadsMany,
            Some(Verb::Get) => Self::ReadsOne,
            Some(Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection) => {
                Self::Writes
            }
            _ => Self::Other,
        }
    }
}

/// Sets that are joined.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// The program that makes a client's requests, if others may run it too.
fn program(account: &Account, cause: &Cause<'_, '_>) -> Option<Program> {
    if cause.is_of_whole_client {
        return None;
    }
    let lead = cause.group.leading();
    let library = account.library(lead.product);
    let product = Some(lead.product.to_owned()).filter(|product| !product.starts_with('('));
    let name = match account.kind() {
        "service-account" => {
            let (_, name) = account.service_account()?;
            // A tool or a library's default name is that of many programs: then the ServiceAccount's must be the same.
            let is_named = !names_many_programs(lead.product, library) && library != Library::ControlPlane;
            (product, (!is_named).then(|| name.to_owned()))
        }
        "user" if account.key.is_some() && !is_library_default(lead.product) => (Some(product?), None),
        _ => return None,
    };
    Some(Program {
        kind: account.kind(),
        name,
        verb: lead.key.verb,
        resource: lead.key.resource.as_deref().map(str::to_owned),
        subresource: lead.key.subresource.as_deref().map(str::to_owned),
        scope: lead.key.scope,
        is_refused: lead.key.served_from == ServedFrom::Rejected,
    })
}

/// Whether a product is what a library calls each client that does not name itself.
fn is_library_default(product: &str) -> bool {
    const DEFAULTS: [&str; 6] =
        ["OpenAPI-Generator", "Swagger-Codegen", "kubernetes-client", "kube-rs", "client-go", "curl"];
    names_no_client(product) || DEFAULTS.contains(&product)
}

/// Whether different programs are likely to have this product: a library's default, or a tool that scripts call.
fn names_many_programs(product: &str, library: Library) -> bool {
    let is_tool = matches!(
        library,
        Library::Kubectl | Library::Helm | Library::Terraform | Library::Curl | Library::Browser
    );
    // These libraries put their own name into the user agent, and programs hardly ever change it.
    let is_default = matches!(
        library,
        Library::Python | Library::Java | Library::JavaScript | Library::DotNet | Library::GoHttp
    );
    is_tool || is_default || is_library_default(product)
}

/// One case of causes with one program; of a program that one client runs, its own.
fn case<'r>(
    mut causes: Vec<Cause<'_, 'r>>,
    hits: &[HitRef<'_, '_>],
    accounts: &Accounts,
) -> (Case, Vec<&'r Facts<'r>>) {
    causes.sort_by_cached_key(|cause| {
        let account = &accounts.clients[cause.account];
        let name = (account.identity(), account.impersonated_by().map(str::to_owned));
        let lead = cause.group.leading().key.name();
        (Reverse((cause.severity, cause.group.load().amount, cause.group.requests())), name, lead)
    });
    let members: BTreeSet<usize> = causes.iter().map(|cause| cause.account).collect();
    let first = &causes[0];
    let findings: Vec<usize> = causes.iter().flat_map(|cause| cause.hits.iter().copied()).collect();
    let severity = first.severity;
    let resource = first.resource.map(str::to_owned);
    let of_worst = first.hits.len();
    let (client, noun) = named(&members, first, accounts);
    let worst = worst(&causes, accounts);
    let rules: BTreeMap<&str, Severity> = findings.iter().fold(BTreeMap::new(), |mut rules, at| {
        let worst = rules.entry(hits[*at].rule.id.as_str()).or_insert(hits[*at].severity);
        *worst = (*worst).max(hits[*at].severity);
        rules
    });
    let mut rules: Vec<(&str, Severity)> = rules.into_iter().collect();
    rules.sort_by_key(|(_, severity)| Reverse(*severity));
    let rules = rules.into_iter().map(|(rule, _)| rule.to_owned()).collect();
    let whole = first.group.whole;
    let all = Group::new(causes.into_iter().flat_map(|cause| cause.group.rows).collect(), 0, whole);
    let case = Case {
        severity,
        client: Some(client),
        members: noun,
        count: members.len(),
        worst,
        findings,
        of_worst,
        rules,
        resource,
        requests: all.requests(),
        peak_per_minute: peak(&all),
        load: all.load(),
    };
    (case, all.rows)
}

#[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
fn peak(group: &Group<'_>) -> f64 {
    let tenths = |value: f64| (value * 10.0).round() / 10.0;
    group.rate().map_or(0.0, |rate| tenths(rate.peak as f64 / rate.window_minutes as f64))
}

/// The client or program, and what its members are.
fn named(members: &BTreeSet<usize>, first: &Cause<'_, '_>, accounts: &Accounts) -> (String, &'static str) {
    let account = &accounts.clients[first.account];
    if members.len() == 1 {
        return (client_name(account), "client");
    }
    let of = |index: &usize| accounts.clients[*index].service_account();
    let accounts_of: Option<Vec<(&str, &str)>> = members.iter().map(of).collect();
    let product = first.group.leading().product.to_owned();
    if first.is_on_log {
        return ("several clients".to_owned(), "client");
    }
    let Some(named) = accounts_of else { return (product, "person") };
    let namespaces: BTreeSet<&str> = named.iter().map(|(namespace, _)| *namespace).collect();
    let noun = if namespaces.len() == named.len() { "namespace" } else { "client" };
    let (_, name) = named[0];
    let has_one_name = named.iter().all(|(_, other)| *other == name);
    (if has_one_name && name != "default" { name.to_owned() } else { product }, noun)
}

fn worst(causes: &[Cause<'_, '_>], accounts: &Accounts) -> Vec<Member> {
    let mut worst: Vec<Member> = Vec::new();
    for cause in causes {
        if let Some(own) = worst.iter_mut().find(|member| member.account == cause.account) {
            own.requests += cause.group.requests();
            own.load.add(cause.group.load());
            continue;
        }
        let account = &accounts.clients[cause.account];
        worst.push(Member {
            account: cause.account,
            client: account.identity(),
            name: client_name(account),
            severity: cause.severity,
            requests: cause.group.requests(),
            load: cause.group.load(),
        });
    }
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
