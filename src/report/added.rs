//! Adds findings to a report that is built: those of a budget, which judges the report itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Report;
use super::cases::hashed;
use super::v1;
use crate::k8s::{Kind, Library, identity};
use crate::rules::{Policy, Rule, RuleSet, Severity, Worst};
use crate::shell::option;

/// A finding on a line of a budget file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AddedFinding {
    /// The id of the rule.
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    /// The client's name in a profile; `None` if the log does not have the client.
    pub(crate) client: Option<String>,
    pub(crate) shape: Option<String>,
    /// Distinguishes findings of one rule on one entry.
    pub(crate) aspect: &'static str,
    /// What the client does, after its name. Without a client, a whole clause.
    pub(crate) does: String,
    /// What to write in the file, or what else to do, as a clause.
    pub(crate) change: String,
    /// The fix, as Markdown that contains no text of clients outside code.
    pub(crate) fix: String,
    pub(crate) budget: v1::BudgetLine,
}

/// A finding with its case.
struct Added {
    /// The index of the client in the report.
    client: Option<usize>,
    severity: Severity,
    case: v1::Case,
    /// The text of the case without the client.
    action: String,
    finding: v1::Finding,
}

/// Adds findings that the rules of the run allow. A suppression in the policy file applies to them too.
pub(crate) fn add_findings(
    report: &mut Report,
    findings: Vec<AddedFinding>,
    rules: &RuleSet,
    policy: &Policy,
) {
    let mut added = Vec::new();
    for finding in findings {
        let Some(rule) = rules.rules.iter().find(|rule| rule.id == finding.rule) else { continue };
        let severity = rule.fixed_severity.unwrap_or(finding.severity);
        let client = finding.client.as_deref().and_then(|name| position(report, name));
        let public = public(report, &finding, rule, severity, client);
        let names = names(report, client, &finding);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut covering = policy.suppressions.iter();
        let shape = finding.shape.as_deref();
        let Some(suppression) = covering.find(|one| one.covers_names(rule, &names, shape)) else {
            let (case, action) = case(report, &finding, &public, client);
            added.push(Added { client, severity, case, action, finding: public });
            continue;
        };
        let line = suppression.at.line;
        report.public.policy.unmatched.retain(|one| one.line != line);
        report.public.policy.suppressed.push(v1::Suppressed {
            rule: public.rule,
            severity: severity.to_string(),
            client: public.client,
            shape: public.shape,
            fingerprint: public.fingerprint,
            message: public.message,
            reason: suppression.reason.clone(),
            expires: suppression.expires.to_string(),
        });
    }
    count(report, &added);
    let actions: BTreeMap<String, String> = report
        .public
        .cases
        .iter()
        .map(|case| (case.fingerprint.clone(), report.action(case).to_owned()))
        .chain(added.iter().map(|one| (one.case.fingerprint.clone(), one.action.clone())))
        .collect();
    let mut clients_of_cases: Vec<(String, usize)> = Vec::new();
    for (index, ranks) in report.page.case_ranks.iter().enumerate() {
        let cases = ranks.iter().filter_map(|rank| report.public.cases.get(usize::try_from(*rank).ok()? - 1));
        clients_of_cases.extend(cases.map(|case| (case.fingerprint.clone(), index)));
    }
    for Added { client, severity, case, finding, .. } in added {
        if let Some(index) = client {
            clients_of_cases.push((case.fingerprint.clone(), index));
            let worst = &mut report.public.clients[index].worst_severity;
            let known = worst.and_then(|worst| worst.parse().ok());
            *worst = Some(known.unwrap_or(severity).max(severity).as_str());
        }
        report.public.cases.push(case);
        report.public.findings.push(finding);
    }
    order(report);
    let cases = &report.public.cases;
    report.page.actions =
        cases.iter().map(|case| actions.get(&case.fingerprint).cloned().unwrap_or_default()).collect();
    let ranks: BTreeMap<&str, u64> = cases.iter().map(|case| (&*case.fingerprint, case.rank)).collect();
    for own in &mut report.page.case_ranks {
        own.clear();
    }
    for (fingerprint, client) in &clients_of_cases {
        report.page.case_ranks[*client].extend(ranks.get(&**fingerprint));
    }
    report.page.case_ranks.iter_mut().for_each(|ranks| ranks.sort_unstable());
}

/// Sorts cases and findings as a report does. A case of a budget has no load of its own if others have its requests.
fn order(report: &mut Report) {
    let severity = |text: &str| text.parse::<Severity>().unwrap_or_default();
    report.public.cases.sort_by_key(|case| Reverse((severity(case.severity), case.load.amount)));
    for (rank, case) in (1..).zip(&mut report.public.cases) {
        case.rank = rank;
    }
    let clients: BTreeMap<&str, (Reverse<Severity>, usize)> = report
        .public
        .clients
        .iter()
        .enumerate()
        .rev()
        .map(|(at, client)| {
            (&*client.identity, (Reverse(client.worst_severity.map_or(Severity::Info, severity)), at))
        })
        .collect();
    report.public.findings.sort_by_key(|finding| {
        let client = finding.client.as_deref().and_then(|client| clients.get(client).copied());
        (finding.client.is_some(), client, Reverse(severity(finding.severity)), finding.rule.id.to_string())
    });
}

/// Counts the findings, also for `--fail-on`.
fn count(report: &mut Report, added: &[Added]) {
    for Added { client, severity, case, finding, .. } in added {
        let counts = &mut report.public.finding_counts;
        *match severity {
            Severity::Error => &mut counts.error,
            Severity::Warning => &mut counts.warning,
            Severity::Info => &mut counts.info,
        } += 1;
        let worst = client.and(finding.client.as_ref()).map(|client| Worst {
            client: client.clone(),
            shape: finding.shape.clone().unwrap_or_default(),
            requests: case.requests,
        });
        if let Some(rule) = report.page.gates.rules.iter_mut().find(|rule| rule.id == *finding.rule.id) {
            rule.add(*severity, worst);
        }
    }
}

/// The index of the client with this name in a profile.
fn position(report: &Report, name: &str) -> Option<usize> {
    report.public.clients.iter().position(|client| match &client.impersonated_by {
        Some(real) => {
            name.strip_prefix(&*client.identity).is_some_and(|rest| rest == format!(" (by {real})"))
        }
        None => client.identity == name,
    })
}

/// The names that a suppression may use.
fn names(report: &Report, client: Option<usize>, finding: &AddedFinding) -> Vec<String> {
    let identity = client.map_or(&finding.budget.client, |index| &report.public.clients[index].identity);
    let service_account = identity::service_account(identity);
    let short = service_account.map(|(namespace, name)| format!("{namespace}/{name}"));
    std::iter::once(identity.clone()).chain(short).collect()
}

fn short_name(client: &v1::Client) -> String {
    identity::short_name(&client.kind, &client.identity).into_owned()
}

/// The shapes of the client with the finding's name.
fn shapes<'c>(client: &'c v1::Client, name: Option<&str>) -> impl Iterator<Item = &'c v1::Shape> {
    client.shapes.iter().filter(move |shape| name.is_none_or(|name| shape.name() == name))
}

fn public(
    report: &Report,
    finding: &AddedFinding,
    rule: &Rule,
    severity: Severity,
    client: Option<usize>,
) -> v1::Finding {
    let client = client.map(|index| &report.public.clients[index]);
    let shape = finding.shape.as_deref();
    let largest = client
        .and_then(|client| shapes(client, shape).max_by_key(|shape| shape.requests))
        .filter(|_| shape.is_some());
    let mut evidence = client.into_iter().flat_map(|client| shapes(client, shape));
    let evidence = evidence.find_map(|shape| shape.example.clone());
    let resource = largest.and_then(|shape| shape.resource.as_deref()).map(str::to_owned);
    let name = client.map(short_name);
    let subject = name.as_ref().map_or(String::new(), |name| format!("{name} "));
    let v1::BudgetLine { file, line, client: entry, .. } = &finding.budget;
    let key = [rule.id.as_str(), entry, shape.unwrap_or_default(), finding.aspect];
    let identity = client.map(|client| client.identity.clone());
    // A client without an entry is not one finding with the other ones.
    let own = if shape.is_none() { identity.clone() } else { None };
    v1::Finding {
        rule: v1::RuleRef { id: rule.id.as_str().into(), name: rule.name.as_str().into() },
        severity: severity.as_str(),
        message: format!("{subject}{}; {file}:{line}: {}", finding.does, finding.change),
        why: rule.why.as_str().into(),
        fix: finding.fix.clone(),
        tradeoff: None,
        verify: verify(report, client, largest),
        look_for: None,
        stats: v1::Stats::default(),
        load: client.map(|client| shape_load(client, shape)),
        cost: None,
        who: client.map(who),
        path: largest.map(path),
        permission: None,
        rivals: Vec::new(),
        etcd_slow: None,
        pattern: None,
        evidence: evidence.map(v1::Evidence::from),
        more_evidence: Vec::new(),
        fingerprint: hashed(key.into_iter().chain(own.as_deref())),
        client: identity,
        resource,
        shape: finding.shape.clone(),
        budget: Some(finding.budget.clone()),
    }
}

fn shape_load(client: &v1::Client, name: Option<&str>) -> v1::Load {
    let mut sum = v1::Load { amount: 0, share: client.load.share.map(|_| 0.0), ..client.load };
    for shape in shapes(client, name) {
        sum.amount += shape.load.amount;
        sum.share = sum.share.zip(shape.load.share).map(|(one, other)| one + other);
    }
    sum
}

/// The case of a finding, and its text without the client. Each finding is a case of its own, because each has its line
/// in the file.
fn case(
    report: &Report,
    finding: &AddedFinding,
    public: &v1::Finding,
    client: Option<usize>,
) -> (v1::Case, String) {
    let own = client.map(|index| &report.public.clients[index]);
    let of_shapes = || own.into_iter().flat_map(|client| shapes(client, finding.shape.as_deref()));
    let requests = of_shapes().map(|shape| shape.requests).sum();
    let peak = of_shapes().filter_map(|shape| Some(shape.rate.as_ref()?.peak_per_minute)).fold(0.0, f64::max);
    let load = public.load.unwrap_or(v1::Load { amount: 0, share: None, ..report.public.totals.load });
    // The requests of another case count there.
    let is_counted = report.public.findings.iter().any(|other| other.client == public.client);
    let load = if is_counted { v1::Load { amount: 0, share: load.share.map(|_| 0.0), ..load } } else { load };
    let member = own.map(|client| v1::Member {
        client: client.identity.clone(),
        name: short_name(client),
        severity: public.severity,
        requests,
        load,
    });
    let subject = own.map_or(String::new(), |client| short_name(client) + " ");
    let case = v1::Case {
        rank: 0,
        severity: public.severity,
        client: own.map(short_name),
        members: v1::Members {
            count: u64::from(own.is_some()),
            kind: "client",
            worst: member.into_iter().collect(),
        },
        what: format!("{subject}{}", finding.does),
        fix: finding.fix.lines().next().unwrap_or_default().to_owned(),
        rules: vec![public.rule.id.to_string()],
        findings: vec![public.fingerprint.clone()],
        resource: public.resource.clone(),
        requests,
        peak_per_minute: peak,
        load,
        fingerprint: public.fingerprint.clone(),
        source: Some(v1::Source { path: finding.budget.file.clone(), line: finding.budget.line }),
    };
    (case, finding.does.clone())
}

fn who(client: &v1::Client) -> v1::Who {
    let agents = client.user_agents.iter();
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == client.kind);
    v1::Who {
        name: short_name(client),
        program: None,
        kind: kind.unwrap_or_default().as_str(),
        service_account: client.service_account.clone(),
        impersonated_by: client.impersonated_by.clone(),
        library: client
            .user_agents
            .first()
            .map_or("unknown", |agent| Library::from_product(&agent.product, &agent.example).as_str()),
        product: None,
        user_agents: agents.map(|agent| (agent.product.clone(), agent.example.clone())).collect(),
        pods: v1::Named { count: client.pods.count, more: client.pods.more, examples: Vec::new() },
        nodes: v1::Named { count: client.nodes.count, more: client.nodes.more, examples: Vec::new() },
        first_timestamp: client.first_timestamp.clone(),
        last_timestamp: client.last_timestamp.clone(),
    }
}

fn path(shape: &v1::Shape) -> v1::Path {
    v1::Path {
        served_from: shape.served_from,
        likely: shape.likely,
        limit: shape.limit,
        reason: shape.reason,
        explanation: shape.explanation,
        certainty: shape.certainty,
        kube_version: shape.kube_version.to_string(),
        agree: shape.observed.agree,
        contradict: shape.observed.contradict,
    }
}

/// The command that selects the requests.
fn verify(report: &Report, client: Option<&v1::Client>, shape: Option<&v1::Shape>) -> String {
    let Some(client) = client else { return String::new() };
    let file = report
        .public
        .input
        .sources
        .first()
        .map_or("LOG".to_owned(), |source| crate::shell::operand(&source.file));
    let user = option("user", &client.identity);
    let verb = shape.map_or(String::new(), |shape| format!(" --verb {}", shape.verb));
    let resource = shape.and_then(|shape| shape.resource.as_deref()).filter(|name| !name.starts_with('('));
    let resource = resource.map_or(String::new(), |name| format!(" {}", option("resource", name)));
    format!("kubetoll scan {file} {user}{verb}{resource}")
}
