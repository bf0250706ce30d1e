//! Converts facts that only the apiserver's own log has: traces, and API Priority and Fairness.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::sums::latency;
use super::v1;
use crate::judged::shape_text;
use crate::ledger::traces::TraceGroup;
use crate::ledger::{self, Flows, Histogram, Merge, Traces};

/// The maximum number of trace groups. Each product has its own groups, and clients choose the product in their user
/// agents. So nothing else limits the number.
const MAX_GROUPS: usize = 500;
/// The name for the sum of the other groups.
const OTHER_OPERATIONS: &str = "(other operations)";
/// The name for the sum of the flows beyond the limit.
const OTHER_FLOWS: &str = "(other)";

#[derive(Debug, Default)]
struct TraceSums {
    traces: u64,
    items: ledger::Items,
    latency: Histogram,
}

impl Merge for TraceSums {
    fn merge(&mut self, other: Self) {
        self.traces += other.traces;
        self.items.merge(other.items);
        self.latency.merge(other.latency);
    }
}

/// Groups the traces and sorts the groups by total time.
pub(super) fn traces(traces: &mut Traces) -> Vec<v1::TraceGroup> {
    let mut groups: HashMap<&TraceGroup, TraceSums> = HashMap::new();
    for trace in traces.assembled() {
        let group = groups.entry(trace.group).or_default();
        group.traces += 1;
        if let Some(count) = trace.items {
            group.items.record(count);
        }
        if let Some(micros) = trace.micros {
            group.latency.record(micros);
        }
    }
    // Different keys in the ledger can have equal texts. For example, the keys of a path with and without the
    // `/watch/` prefix.
    let mut by_name: BTreeMap<TraceGroupName, TraceSums> = BTreeMap::new();
    for (about, group) in groups {
        by_name.entry(TraceGroupName::new(about)).or_default().merge(group);
    }
    let mut named: Vec<(TraceGroupName, TraceSums)> = by_name.into_iter().collect();
    named.sort_by_key(|(_, group)| Reverse((group.latency.sum(), group.traces)));
    let others = named.split_off(named.len().min(MAX_GROUPS));
    if !others.is_empty() {
        let mut folded = TraceSums::default();
        for (_, group) in others {
            folded.merge(group);
        }
        let name = TraceGroupName { operation: OTHER_OPERATIONS.to_owned(), ..TraceGroupName::default() };
        named.push((name, folded));
    }
    named
        .into_iter()
        .map(|(name, group)| v1::TraceGroup {
            operation: name.operation,
            resource: name.resource,
            subresource: name.subresource,
            scope: name.scope.map(str::to_owned),
            product: name.product,
            traces: group.traces,
            items: items(group.items),
            latency: latency(&group.latency),
        })
        .collect()
}

#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct TraceGroupName {
    operation: String,
    resource: Option<String>,
    subresource: Option<String>,
    scope: Option<&'static str>,
    product: String,
}

impl TraceGroupName {
    fn new(about: &TraceGroup) -> Self {
        let target = about.target.as_ref();
        Self {
            operation: about.operation.to_string(),
            resource: target.map(shape_text::resource),
            subresource: target.and_then(shape_text::subresource),
            scope: target.and_then(shape_text::scope).map(crate::k8s::Scope::as_str),
            product: about.product.to_string(),
        }
    }
}

pub(super) fn flows(flows: Option<&Flows>) -> Vec<v1::PriorityAndFairness> {
    let sorted = flows.map_or_else(Vec::new, |flows| flows.clone().into_sorted());
    let flow = |(key, load): (Option<ledger::apf::FlowKey>, ledger::apf::FlowLoad)| {
        let (priority_level, flow_schema) = match key {
            Some(key) => (key.priority_level.into(), key.flow_schema.into()),
            None => (OTHER_FLOWS.to_owned(), OTHER_FLOWS.to_owned()),
        };
        v1::PriorityAndFairness {
            priority_level,
            flow_schema,
            requests: load.requests,
            seats: load.seats,
            max_seats: load.max_seats,
            execution_micros: load.execution_micros,
        }
    };
    sorted.into_iter().map(flow).collect()
}

pub(super) fn items(items: ledger::Items) -> Option<v1::Items> {
    let ledger::Items { requests, sum, max } = items;
    (requests > 0).then_some(v1::Items { requests, sum, max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::klog::{Apf, TraceFragment};
    use crate::input::SourcePosition;

    fn trace_groups(lines: &[&str]) -> Vec<v1::TraceGroup> {
        let mut all = Traces::default();
        for (line, offset) in lines.iter().zip(0..) {
            let place = SourcePosition { source: 0, offset, line: 1 };
            all.observe(place, &TraceFragment::read(line).expect("a fragment"));
        }
        traces(&mut all)
    }

    #[test]
    fn trace_groups_omit_namespaces_and_object_names() {
        let groups = trace_groups(&[
            r#"Trace[1]: "List" url:/api/v1/namespaces/a/pods,user-agent:kubectl/v1 (x) (total time: 600ms):"#,
            r#"Trace[2]: "List" url:/api/v1/namespaces/b/pods,user-agent:kubectl/v2 (x) (total time: 700ms):"#,
            r#"Trace[2]: ---"Writing http response done" count:9 1ms (y)"#,
            r#"Trace[3]: "Get" url:/apis/apps/v1/namespaces/b/deployments/d,user-agent:x (x) (total time: 900ms):"#,
            r#"Trace[4]: "GuaranteedUpdate etcd3" type:*core.Pod (x) (total time: 100ms):"#,
        ]);
        let words: Vec<_> = groups
            .iter()
            .map(|group| (&*group.operation, group.resource.as_deref(), group.scope.as_deref(), group.traces))
            .collect();
        assert_eq!(
            words,
            [
                ("List", Some("pods"), Some("namespace"), 2),
                ("Get", Some("deployments.apps"), Some("object"), 1),
                ("GuaranteedUpdate etcd3", None, None, 1),
            ]
        );
        assert_eq!(groups[0].items, Some(v1::Items { requests: 1, sum: 9, max: 9 }));
        assert_eq!(groups[0].latency.map(|latency| latency.sum_micros), Some(1_300_000));
        assert_eq!((&*groups[0].product, groups[1].items), ("kubectl", None));
    }

    #[test]
    fn trace_groups_beyond_the_limit_are_summed() {
        let lines: Vec<String> = (0..MAX_GROUPS + 7)
            .map(|n| format!(r#"Trace[{n}]: "List" url:/api/v1/r{n} (x) (total time: {}ms):"#, 600 + n))
            .collect();
        let groups = trace_groups(&lines.iter().map(|line| &**line).collect::<Vec<_>>());
        assert_eq!(groups.len(), MAX_GROUPS + 1);
        assert_eq!((&*groups[MAX_GROUPS].operation, groups[MAX_GROUPS].traces), (OTHER_OPERATIONS, 7));
    }

    #[test]
    fn flows_beyond_the_limit_are_summed() {
        let mut all = Flows::default();
        for n in 0..20 {
            all.record(&Apf { flow_schema: n.to_string().into(), ..Apf::default() });
        }
        let flows = flows(Some(&all));
        assert_eq!((flows.len(), &*flows[8].flow_schema, flows[8].requests), (9, OTHER_FLOWS, 12));
        assert_eq!(super::flows(None), []);
    }
}
