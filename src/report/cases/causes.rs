//! Groups the findings of one client by cause.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::apiserver::ServedFrom;
use crate::judged::Job;
use crate::k8s::Verb;
use crate::named::named;
use crate::rules::HitRef;
use crate::rules::Severity;
use crate::rules::facts::{RowFacts, is_viewer};
use crate::rules::group::{GroupGetter, RowGroup};
use crate::rules::stats::STATS;
use crate::rules::value::{Variable, VariableValue};

/// The rules whose messages make the best title of a case. They are about polling, update conflicts, and workloads
/// that restart repeatedly.
const TITLE_RULES: [&str; 4] = [POLLS, "KT315", "KT402", CRASH_LOOP];

/// The rule on writes that each follow a GET.
const READS_IN_STEP: &str = "KT410";
/// The rule on workloads that restart repeatedly.
const CRASH_LOOP: &str = "KT318";
/// The rule on requests for discovery documents. A program sends these at each start.
const DISCOVERY: &str = "KT302";
/// The rule on repeated LISTs without a WATCH. When a program starts, a WATCH follows each LIST. So the LISTs that
/// this rule matches are not part of a start.
const POLLS: &str = "KT307";

/// The findings of one client with one cause, or a finding on a whole program.
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(super) struct Cause<'h, 'r> {
    pub(crate) client: usize,
    /// The indices of the clients: one, or all clients of a program.
    pub(crate) members: Vec<usize>,
    pub(crate) hits: Vec<usize>,
    pub(crate) group: RowGroup<'r>,
    pub(crate) severity: Severity,
    pub(crate) resource: Option<&'h str>,
    /// Whether all findings are by rules that judge a whole client.
    pub(crate) is_of_whole_client: bool,
    pub(crate) is_on_log: bool,
    /// Whether the requests are a job's run that reads several resources in turn, or views of several resources.
    pub(crate) is_run: bool,
    /// Whether the requests come from views that a program, such as a dashboard, shows to people.
    pub(crate) is_view: bool,
    pub(crate) is_on_sum: bool,
}

pub(super) fn causes<'h, 'r>(own: &[usize], hits: &'h [HitRef<'h, 'r>], client: usize) -> Vec<Cause<'h, 'r>> {
    let groups: Vec<&RowGroup<'r>> = own.iter().filter_map(|at| hits[*at].group).collect();
    let mut sets = DisjointSets::new(own.len());
    // The hits of each row, so that only hits with a common row are compared.
    let mut by_row: HashMap<*const RowFacts<'r>, Vec<usize>> = HashMap::new();
    let mut by_kind: HashMap<(Option<&str>, &str, RequestAction), usize> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        for facts in &group.rows {
            by_row.entry(std::ptr::from_ref(*facts)).or_default().push(index);
        }
        let lead = group.leading();
        if !is_of_whole_client(&hits[own[index]]) && has_one_resource(group) {
            let key = (lead.key.resource.as_deref(), lead.product, RequestAction::new(lead));
            let first = *by_kind.entry(key).or_insert(index);
            sets.join(first, index);
        }
    }
    for (product, with) in effects(own, hits) {
        let of_product = |index: &usize| groups[*index].leading().product == product;
        let mut with = with.into_iter().filter(of_product);
        if let Some(first) = with.next() {
            with.for_each(|index| sets.join(first, index));
        }
    }
    for (index, group) in groups.iter().enumerate() {
        if let Some(resource) = reads_in_step(&hits[own[index]], group)
            && let Some(reads) =
                by_kind.get(&(Some(resource.as_str()), group.leading().product, RequestAction::ReadsOne))
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
    members.into_values().map(|members| cause(&members, own, hits, client)).collect()
}

/// Collects the findings that have one crash loop or one job's run as their cause. Each entry has the product, and
/// the positions of the findings in `own`.
fn effects<'r>(own: &[usize], hits: &[HitRef<'_, 'r>]) -> Vec<(&'r str, Vec<usize>)> {
    let mut effects: Vec<(&'r str, Vec<usize>)> = Vec::new();
    let all = || own.iter().enumerate().filter_map(|(index, at)| Some((index, &hits[*at], hits[*at].group?)));
    for (index, hit, group) in all() {
        let lead = group.leading();
        if hit.rule.id == CRASH_LOOP {
            let repeated = all().filter(|(_, other, others)| {
                let is_start = other.rule.id == DISCOVERY
                    || RequestAction::new(others.leading()) == RequestAction::ReadsMany;
                is_start && other.rule.id != POLLS && other.severity <= hit.severity
            });
            let repeated = repeated.map(|(index, ..)| index);
            effects.push((lead.product, std::iter::once(index).chain(repeated).collect()));
        } else if is_run(hit, group) && !effects.iter().any(|(product, _)| *product == lead.product) {
            let reads = all().filter(|(_, hit, group)| is_run(hit, group)).map(|(index, ..)| index);
            effects.push((lead.product, reads.collect()));
        }
    }
    effects
}

/// Whether the requests are reads by a job, or come from views that a program shows to people. Commands do not count
/// as jobs: a person or a script runs each command for its own reason.
pub(super) fn is_run(hit: &HitRef<'_, '_>, group: &RowGroup<'_>) -> bool {
    let lead = group.leading();
    let reads = matches!(RequestAction::new(lead), RequestAction::ReadsMany | RequestAction::ReadsOne)
        && !is_of_whole_client(hit);
    let is_job =
        || lead.client.job(lead.product) >= Job::Likely && !lead.client.library(lead.product).is_command();
    is_view(hit, group) || (reads && is_job())
}

/// Whether the requests are LISTs or watches of a program that shows objects to people. The fix is the same for each
/// resource: people close views.
pub(super) fn is_view(hit: &HitRef<'_, '_>, group: &RowGroup<'_>) -> bool {
    let lead = group.leading();
    RequestAction::new(lead) == RequestAction::ReadsMany && !is_of_whole_client(hit) && is_viewer(lead)
}

pub(super) fn cause<'h, 'r>(
    members: &[usize],
    own: &[usize],
    hits: &'h [HitRef<'h, 'r>],
    client: usize,
) -> Cause<'h, 'r> {
    let mut of_cause: Vec<usize> = members.iter().map(|member| own[*member]).collect();
    let severity = of_cause.iter().map(|at| hits[*at].severity).max().unwrap_or(Severity::Info);
    // The leading finding has the worst severity. Among findings of equal severity, a finding of one of the
    // `TITLE_RULES` leads. Among several of them, or without one, the finding with the most requests leads.
    of_cause.sort_by_cached_key(|at| {
        let hit = &hits[*at];
        let is_title_rule = TITLE_RULES.contains(&hit.rule.id.as_str());
        let requests = hit.group.map_or(0, RowGroup::requests);
        let shape = hit.group.map(|group| group.leading().key.name());
        (Reverse((hit.severity, is_title_rule, requests)), hit.rule.id.clone(), shape)
    });
    let mut seen = HashSet::new();
    let groups: Vec<&'h RowGroup<'r>> = of_cause.iter().filter_map(|at| hits[*at].group).collect();
    let mut rows: Vec<&'r RowFacts<'r>> =
        groups.iter().flat_map(|group| group.rows.iter().copied()).collect();
    rows.retain(|facts| seen.insert(std::ptr::from_ref(*facts)));
    // Sort by key first. `RowGroup::new` then keeps this order for rows with equal numbers of requests.
    rows.sort_by_key(|facts| facts.key);
    let lead = groups[0];
    let resource = has_one_resource(lead).then(|| lead.leading().key.resource.as_deref()).flatten();
    let resources: BTreeSet<Option<&str>> = rows.iter().map(|facts| facts.key.resource.as_deref()).collect();
    let is_run =
        resources.len() > 1 && groups.iter().zip(&of_cause).all(|(group, at)| is_run(&hits[*at], group));
    let is_view = groups.iter().zip(&of_cause).all(|(group, at)| is_view(&hits[*at], group));
    let resource = resource.filter(|_| !is_run);
    let group = RowGroup::new(rows, client, lead.totals);
    let is_of_whole_client = of_cause.iter().all(|at| is_of_whole_client(&hits[*at]));
    let is_on_log = of_cause.iter().all(|at| is_on_log(&hits[*at]));
    Cause {
        client,
        members: vec![client],
        hits: of_cause,
        group,
        severity,
        resource,
        is_of_whole_client,
        is_on_log,
        is_run,
        is_view,
        is_on_sum: false,
    }
}

pub(super) fn has_one_resource(group: &RowGroup<'_>) -> bool {
    let resource = &group.leading().key.resource;
    group.rows.iter().all(|facts| facts.key.resource == *resource)
}

/// The resource that the client reads before each write, if the finding is about such writes. The GETs and the writes
/// are one loop.
fn reads_in_step(hit: &HitRef<'_, '_>, group: &RowGroup<'_>) -> Option<String> {
    let is_name =
        |name: &&Variable<GroupGetter>| name.name == "readsInStepResource" && hit.rule.id == READS_IN_STEP;
    match (STATS.iter().find(is_name)?.get)(group) {
        VariableValue::Text(resource) if !resource.is_empty() => Some(resource.into_owned()),
        _ => None,
    }
}

/// Whether a finding is about the log and not about a client.
pub(super) fn is_on_log(hit: &HitRef<'_, '_>) -> bool {
    hit.rule.id.starts_with("KT9")
}

/// Whether a rule judges all requests of a client together, for all resources.
pub(super) fn is_of_whole_client(hit: &HitRef<'_, '_>) -> bool {
    !hit.rule.group_by.resource && !hit.rule.group_by.shape
}

named! {
    /// The kind of requests for a resource.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(super) enum RequestAction {
        ReadsMany = "lists",
        ReadsOne = "gets",
        Writes = "writes",
        Refused = "refused",
        Other = "other",
    }
    /// The value in fingerprints. If it changes, code scanning closes every open alert.
    pub(super) fn as_str;
}

impl RequestAction {
    pub(super) fn new(facts: &RowFacts<'_>) -> Self {
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

/// Disjoint sets (union-find).
struct DisjointSets(Vec<usize>);

impl DisjointSets {
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
