//! Counts for CI gates: reads from etcd, ignored limits, and findings by rule.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::rows::Rows;
use super::rule::{Rule, Severity};
use crate::judged::ShapeKey;
use crate::k8s::Verb;

/// Suppressions of these rule families do not affect gates that count requests. These rules are about shared identities
/// and incomplete logs, not about requests.
const NOT_OF_REQUESTS: [&str; 2] = ["KT5", "KT9"];

/// The client and shape with the most requests: among a gate's requests, or in a rule's worst finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worst {
    pub(crate) client: String,
    /// The shape. For a finding with several shapes, the shape with the most requests.
    pub(crate) shape: String,
    pub(crate) requests: u64,
}

/// The requests that a gate counts, and the requests that it leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GateRequests {
    pub(crate) requests: u64,
    /// LISTs of informers (a WATCH follows each of them). The gate does not count them.
    pub(crate) informers: u64,
    /// Requests that a suppression covers. The gate does not count them.
    pub(crate) suppressed: u64,
    /// The client and shape with the most counted requests.
    pub(crate) worst: Option<Worst>,
}

/// The findings of a rule, without suppressed ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleFindings {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) counts: BTreeMap<Severity, u64>,
    /// The worst finding: its severity, and its client and shape. A finding on the input has only a severity.
    pub(crate) worst: Option<(Severity, Option<Worst>)>,
}

impl RuleFindings {
    /// Adds a finding.
    pub(crate) fn add(&mut self, severity: Severity, worst: Option<Worst>) {
        *self.counts.entry(severity).or_default() += 1;
        let one = (severity, worst);
        if self.worst.as_ref().is_none_or(|worst| order(&one) < order(worst)) {
            self.worst = Some(one);
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Gates {
    pub(crate) etcd_list: GateRequests,
    pub(crate) etcd_get: GateRequests,
    pub(crate) limit_ignored: GateRequests,
    /// One entry for each rule, including rules without a finding.
    pub(crate) rules: Vec<RuleFindings>,
}

/// Whether a suppression of the rule affects gates that count requests.
pub(super) fn is_of_requests(rule: &Rule) -> bool {
    rule.matches.is_some() && !NOT_OF_REQUESTS.iter().any(|family| rule.id.starts_with(family))
}

/// Counts the requests of a gate: those of the shapes that `is_counted` accepts. `is_accepted` is indexed by row, and
/// true for rows that a suppression covers.
pub(super) fn requests(
    is_counted: fn(&ShapeKey) -> bool,
    rows: &Rows<'_>,
    is_accepted: &[bool],
) -> GateRequests {
    let mut all = GateRequests::default();
    let mut by_shape: BTreeMap<(u32, u32), (u64, usize)> = BTreeMap::new();
    let counted = rows.facts.iter().enumerate().filter(|(_, facts)| is_counted(facts.key));
    for (at, facts) in counted {
        let informers = facts.pattern.map_or(0, |pattern| {
            let informers = &pattern.informers;
            informers.starts + informers.relists() + informers.further_pages
        });
        let informers = if facts.key.verb == Some(Verb::List) { informers.min(facts.requests) } else { 0 };
        let others = facts.requests - informers;
        all.informers += informers;
        if is_accepted.get(at) == Some(&true) {
            all.suppressed += others;
            continue;
        }
        all.requests += others;
        let ids = &rows.ids[at];
        by_shape.entry((ids.client, ids.shape)).or_insert((0, at)).0 += others;
    }
    let named = |(requests, at): (u64, usize)| {
        let facts = &rows.facts[at];
        Worst { client: facts.client.identity(), shape: facts.key.name(), requests }
    };
    let most = by_shape.values().map(|(requests, _)| *requests).max().filter(|most| *most > 0);
    let worst = by_shape.into_values().filter(|(requests, _)| Some(*requests) == most).map(named);
    all.worst = worst.min_by(|one, other| (&one.client, &one.shape).cmp(&(&other.client, &other.shape)));
    all
}

/// Returns the sort key for the findings of a rule. The worst finding sorts first.
fn order((severity, worst): &(Severity, Option<Worst>)) -> impl Ord {
    let worst = worst.as_ref().map(|one| (Reverse(one.requests), &*one.client, &*one.shape));
    (Reverse(*severity), worst)
}

/// Summarizes the findings of a rule.
pub(super) fn findings(rule: &Rule, hits: impl Iterator<Item = (Severity, Option<Worst>)>) -> RuleFindings {
    let mut all =
        RuleFindings { id: rule.id.clone(), name: rule.name.clone(), counts: BTreeMap::new(), worst: None };
    for (severity, worst) in hits {
        all.add(severity, worst);
    }
    all
}
