//! Converts findings to the JSON report.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rayon::prelude::*;

use super::cases::{Case, hashed};
use super::etcd_log::EtcdLogInput;
use super::ranking::Loads;
use super::{case_texts, cost, patterns, v1};
use crate::judged::{ClientSummary, JudgedClients};
use crate::k8s::timestamp;
use crate::ledger::DistinctSet;
use crate::rules::permission::{Permission, PermissionTarget};
use crate::rules::programs::ProgramName;
use crate::rules::rivals::Rival;
use crate::rules::{self, OnProgram, Policy, Rule, RuleResults, Severity};
use crate::shell::{operand, option, quoted};

/// The data that all findings of a report share.
pub(super) struct Findings<'a> {
    pub(super) judged_clients: &'a JudgedClients,
    pub(super) rules: &'a [Rule],
    pub(super) policy: &'a Policy,
    pub(super) etcd: Option<EtcdLogInput<'a>>,
    pub(super) cost_context: cost::CostContext<'a>,
    pub(super) loads: Loads,
    /// Whether a filter of the run left events out.
    pub(super) is_filtered: bool,
    pub(super) texts: HashMap<&'a str, RuleTexts>,
    pub(super) example: &'a (dyn Fn(&crate::ledger::Exemplar) -> v1::Example + Sync),
}

/// The texts that all findings of a rule share.
pub(super) struct RuleTexts {
    rule: v1::RuleRef,
    why: v1::Shared<str>,
}

impl RuleTexts {
    pub(super) fn by_id(rules: &[Rule]) -> HashMap<&str, Self> {
        let texts = |rule: &Rule| Self {
            rule: v1::RuleRef { id: rule.id.as_str().into(), name: rule.name.as_str().into() },
            why: rule.why.as_str().into(),
        };
        rules.iter().map(|rule| (rule.id.as_str(), texts(rule))).collect()
    }
}

/// The sections of the report that come from rules.
#[derive(Debug, Default)]
pub(super) struct ReportedFindings {
    pub(super) cases: Vec<v1::Case>,
    /// For each case: `what` without the client.
    pub(super) actions: Vec<String>,
    pub(super) findings: Vec<v1::Finding>,
    pub(super) policy: v1::Policy,
}

/// Sorts findings. Findings on the input come first. Then the findings of each client follow, starting with the client
/// that has the worst finding. `positions` has the position of each client in the report.
fn sorted(findings: Vec<rules::Finding>, positions: &[usize]) -> Vec<rules::Finding> {
    let mut worst: Vec<Option<Severity>> = vec![None; positions.len()];
    for finding in &findings {
        if let Some(client) = finding.client {
            worst[client] = worst[client].max(Some(finding.severity));
        }
    }
    let key = |index: &usize| {
        let finding = &findings[*index];
        let client = finding.client.map(|client| (Reverse(worst[client]), positions[client]));
        (client, Reverse(finding.severity), &finding.rule, &finding.key, &finding.shape)
    };
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut findings: Vec<Option<rules::Finding>> = findings.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| findings[index].take()).collect()
}

impl Findings<'_> {
    pub(super) fn to_v1(&self, judged: RuleResults, positions: &[usize], cases: &[Case]) -> ReportedFindings {
        let policy = self.policy(&judged);
        let findings = sorted(judged.findings, positions).into_par_iter();
        let findings: Vec<_> = findings.map(|finding| (finding.hit, self.finding(finding))).collect();
        let (cases, actions) = case_texts::to_v1(cases, &findings, self.loads, &self.policy.sources);
        let findings = findings.into_iter().map(|(_, finding)| finding).collect();
        ReportedFindings { cases, actions, findings, policy }
    }

    fn rule(&self, id: &str) -> &Rule {
        self.rules.iter().find(|rule| rule.id == id).expect("findings are of these rules")
    }

    fn client_summary(&self, finding: &rules::Finding) -> Option<&ClientSummary> {
        finding.client.map(|index| &self.judged_clients.clients[index])
    }

    fn finding(&self, finding: rules::Finding) -> v1::Finding {
        let texts = &self.texts[&*finding.rule];
        let summary = self.client_summary(&finding);
        let mut evidence = finding.evidence.iter().map(|one| v1::Evidence::from((self.example)(one)));
        let first = evidence.next();
        let more_evidence = evidence.collect();
        let etcd_slow = self.etcd_slow(&finding);
        v1::Finding {
            verify: verify(summary, &finding, first.as_ref()),
            who: summary.map(|summary| who(summary, &finding, &texts.rule.name)),
            fingerprint: fingerprint(summary, &finding),
            path: finding.verdict,
            rule: texts.rule.clone(),
            severity: finding.severity.as_str(),
            client: summary.map(ClientSummary::identity),
            resource: finding.resource,
            shape: finding.shape,
            message: finding.message,
            why: texts.why.clone(),
            fix: finding.fix,
            tradeoff: finding.tradeoff,
            look_for: finding.look_for,
            stats: finding.stats.iter().map(|(name, value)| (*name, value.to_json())).collect(),
            pattern: finding.pattern.as_deref().and_then(patterns::pattern),
            load: summary.map(|_| self.loads.to_v1(finding.load)),
            cost: summary.map(|_| cost::from_basis(&finding.cost, self.cost_context)),
            evidence: first,
            more_evidence,
            etcd_slow,
            permission: finding.permission.as_ref().map(permission),
            rivals: finding.rivals.iter().map(|rival| self.rival(rival)).collect(),
            budget: None,
        }
    }

    fn rival(&self, rival: &Rival) -> v1::Rival {
        v1::Rival {
            client: self.judged_clients.clients[rival.client].identity(),
            name: rival.name.clone(),
            objects: rival.objects,
            writes: rival.writes,
        }
    }

    /// Returns the slow reads in etcd's own log that match the finding's LISTs.
    fn etcd_slow(&self, finding: &rules::Finding) -> Option<v1::EtcdSlow> {
        Some(self.etcd?.slow(finding.resource.as_deref()?, finding.slow_reads.as_ref()?))
    }

    fn policy(&self, judged: &RuleResults) -> v1::Policy {
        // A filter hides a part of the log. A suppression that matches nothing may match the hidden part.
        let is_unmatched = |index: &usize, one: &rules::Suppression| {
            !one.is_expired && !judged.used.contains(index) && !self.is_filtered
        };
        let info = |one: &rules::Suppression| v1::SuppressionInfo {
            rule: one.rule.clone(),
            client: one.client.clone(),
            shape: one.shape.clone(),
            reason: one.reason.clone(),
            expires: one.expires.to_string(),
            line: one.at.line,
        };
        let all = self.policy.suppressions.iter().enumerate();
        v1::Policy {
            file: Some(self.policy.file.clone()).filter(|file| !file.is_empty()),
            suppressed: judged
                .suppressed
                .iter()
                .map(|(index, finding)| {
                    let (rule, suppression) = (self.rule(&finding.rule), &self.policy.suppressions[*index]);
                    v1::Suppressed {
                        rule: self.texts[&*rule.id].rule.clone(),
                        severity: finding.severity.to_string(),
                        client: self.client_summary(finding).map(ClientSummary::identity),
                        shape: finding.shape.clone(),
                        fingerprint: fingerprint(self.client_summary(finding), finding),
                        message: finding.message.clone(),
                        reason: suppression.reason.clone(),
                        expires: suppression.expires.to_string(),
                    }
                })
                .collect(),
            expired: all.clone().filter(|(_, one)| one.is_expired).map(|(_, one)| info(one)).collect(),
            unmatched: all
                .filter(|(index, one)| is_unmatched(index, one))
                .map(|(_, one)| info(one))
                .collect(),
            unmatched_sources: self
                .policy
                .sources
                .iter()
                .filter(|one| {
                    !self.is_filtered && !self.judged_clients.clients.iter().any(|client| one.is_of(client))
                })
                .map(|one| v1::SourceInfo {
                    client: one.client.clone(),
                    path: one.path.clone(),
                    line: one.at.line,
                })
                .collect(),
        }
    }
}

fn who(summary: &ClientSummary, finding: &rules::Finding, rule: &str) -> v1::Who {
    let product =
        finding.product.as_deref().or(finding.user_agents.first().map(|(product, _)| product.as_str()));
    let at = |micros: fn((i64, i64)) -> i64| finding.span.map(|span| timestamp::format_micros(micros(span)));
    // For a finding on a program, leave out the ServiceAccount and the impersonator: the program's clients have
    // different ones.
    let program = finding.program.as_ref();
    let service_account = summary.service_account().filter(|_| program.is_none());
    let impersonated_by = summary.impersonated_by().filter(|_| program.is_none());
    v1::Who {
        name: program.map_or_else(|| summary.short_name(), |program| program.sentence.clone()),
        program: program.map(|program| v1::Program { name: program.short.clone(), clients: program.clients }),
        kind: summary.kind(),
        service_account: service_account
            .map(|(namespace, name)| v1::ServiceAccount { namespace: namespace.into(), name: name.into() }),
        impersonated_by: impersonated_by.map(str::to_owned),
        library: product.map_or("unknown", |product| summary.library(product).as_str()),
        product: finding.known_product.map(|(product, by)| v1::KnownProduct {
            name: &product.name,
            title: &product.title,
            kind: product.kind.as_str(),
            recognized_by: by.as_str(),
            source: product.fix(rule).map(|fix| &*fix.source),
        }),
        user_agents: finding.user_agents.iter().cloned().collect(),
        pods: named(program.map_or(&summary.pods, |program| &program.pods)),
        nodes: named(program.map_or(&summary.nodes, |program| &program.nodes)),
        first_timestamp: at(|span| span.0),
        last_timestamp: at(|span| span.1),
    }
}

fn permission(missing: &Permission) -> v1::Permission {
    let (api_group, resource, subresource, path, namespaces) = match &missing.on {
        PermissionTarget::Path(path) => (None, None, None, Some(path.clone()), Vec::new()),
        PermissionTarget::Resource { group, resource, subresource, namespaces, .. } => {
            let subresource = Some(subresource.clone()).filter(|subresource| !subresource.is_empty());
            let namespaces = namespaces.iter().cloned().collect();
            (Some(group.clone()), Some(resource.clone()), subresource, None, namespaces)
        }
    };
    v1::Permission {
        verb: missing.verb,
        api_group,
        resource,
        subresource,
        non_resource_url: path,
        namespaces,
        role: missing.role(),
        rule: missing.rule(),
        check: missing.check.clone(),
    }
}

fn named(set: &DistinctSet) -> v1::Named {
    let (count, more) = set.count();
    v1::Named { count, more, examples: set.examples().map(str::to_owned).collect() }
}

fn fingerprint(summary: Option<&ClientSummary>, finding: &rules::Finding) -> String {
    let identity = summary.map(ClientSummary::identity);
    let client_parts = match &finding.program {
        // The fingerprint has no client: a program's members change over time, and each member may have its own
        // finding.
        Some(OnProgram { name, .. }) => name.fingerprint_parts().to_vec(),
        None => identity
            .iter()
            .map(String::as_str)
            .chain(summary.and_then(ClientSummary::impersonated_by))
            .map(str::to_owned)
            .collect(),
    };
    let parts = client_parts.iter().chain(&finding.key).map(String::as_str);
    hashed(std::iter::once(finding.rule.as_str()).chain(parts))
}

/// Returns the commands that show a finding. Texts that clients chose may be hostile, so they are quoted for the shell.
fn verify(
    summary: Option<&ClientSummary>,
    finding: &rules::Finding,
    evidence: Option<&v1::Evidence>,
) -> String {
    let mut commands: Vec<String> = finding.permission.iter().map(|missing| missing.check.clone()).collect();
    if let (Some(evidence), Some(verb), Some(verdict)) = (evidence, finding.verb, &finding.verdict) {
        let uri = without_token(&evidence.uri);
        // The commands repeat only GETs, because a LIST is a load on the server. They do not repeat a refused
        // request. The person who runs the command may have other rights, and get another response.
        let is_safe = verb == "get" && evidence.status.is_none_or(|status| !matches!(status, 401 | 403));
        if is_safe && uri.starts_with('/') {
            commands.push(format!("kubectl get --raw {}", quoted(&uri)));
        }
        if matches!(verb, "get" | "list" | "watch") && uri.starts_with('/') {
            let request = quoted(&format!("GET {uri}"));
            commands.push(format!("kubetoll classify {request} --kube-version {}", verdict.kube_version));
        }
    }
    if let (Some(summary), Some(verb)) = (summary, finding.verb) {
        let file = evidence.map_or("LOG".to_owned(), |evidence| operand(&evidence.file));
        let filter = match summary.kind() {
            _ if let Some(OnProgram { name, .. }) = &finding.program => program_flags(name),
            "user-agent" => option("client", finding.product.as_deref().unwrap_or_default()),
            _ => option("user", &summary.identity()),
        };
        let resource = finding.resource.as_deref().filter(|resource| !resource.starts_with('('));
        let resource =
            resource.map_or(String::new(), |resource| format!(" {}", option("resource", resource)));
        commands.push(format!("kubetoll scan {file} {filter} --verb {verb}{resource}"));
    }
    commands.join("\n")
}

/// Returns the flags that select the clients of a program.
fn program_flags(name: &ProgramName) -> String {
    let service_account =
        name.service_account.as_ref().map(|name| option("user", &format!("system:serviceaccount:*:{name}")));
    let product = name.product.as_ref().map(|product| option("client", product));
    service_account.into_iter().chain(product).collect::<Vec<_>>().join(" ")
}

/// Returns the request URI without the parameters whose values kubetoll removed.
fn without_token(uri: &str) -> String {
    let Some((path, query)) = uri.split_once('?') else { return uri.to_owned() };
    let pairs: Vec<&str> = query.split('&').filter(|pair| !pair.contains('…')).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_differs_between_product_and_service_account_of_one_name() {
        let name = || Some("lister".to_owned());
        let parts = [(name(), None), (None, name()), (name(), name())].map(|(product, service_account)| {
            ProgramName { kind: "user", product, service_account }.fingerprint_parts()
        });
        assert!(parts[0] != parts[1] && parts[1] != parts[2] && parts[0] != parts[2], "{parts:?}");
    }

    #[test]
    fn verify_command_drops_the_continue_token() {
        assert_eq!(without_token("/api/v1/pods?continue=…&limit=5"), "/api/v1/pods?limit=5");
        assert_eq!(without_token("/api/v1/pods?continue=…"), "/api/v1/pods");
    }
}
