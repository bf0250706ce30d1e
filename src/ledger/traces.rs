//! The apiserver's traces of slow requests, assembled from their lines. Several workers may read the lines of one
//! trace, in any order.

use compact_str::CompactString;

use super::merge::merge_fields;
use super::{BoundedMap, Merge};
use crate::apiserver::{ParsedTarget, RequestShape, Target};
use crate::decode::klog::TraceFragment;
use crate::decode::klog::trace::TracePart;
use crate::input::SourcePosition;
use crate::k8s::AgentProduct;
use crate::k8s::request_info::Method;
use crate::k8s::text::prefix;
use crate::requests::request_hash;

/// The maximum number of traces. Above it, the traces with the smallest hashes of source and number are kept.
pub(crate) const MAX_TRACES: usize = 1 << 15;
/// Length limit of an operation and of an audit ID, in bytes.
const MAX_TEXT: usize = 64;
/// Since Kubernetes 1.7, a trace has a number, such as 123 in `Trace[123]`. Older traces have only one line, so the
/// position of this line replaces the number. This bit marks such a position.
const NO_NUMBER: u64 = 1 << 63;

#[derive(Debug, Default)]
pub(crate) struct Traces(BoundedMap<(u32, u64), Trace, MAX_TRACES>);

/// One trace, with the facts from those lines that were read.
#[derive(Debug, Default, Clone)]
struct Trace {
    /// The header of the trace. If several traces of a source have the same number, the header with the smallest
    /// position.
    header: Option<Box<Header>>,
    headers: u64,
    items: Option<u64>,
    /// Total time according to the end line of the trace, in microseconds.
    end_micros: Option<u64>,
}

#[derive(Debug, Clone)]
struct Header {
    offset: u64,
    group: TraceGroup,
    request: Option<u64>,
    /// Total time according to the header, in microseconds. It is precise to the millisecond.
    total_micros: Option<u64>,
}

/// The key by which the report groups traces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TraceGroup {
    /// The traced operation, such as `List` or `SerializeObject`.
    pub(crate) operation: CompactString,
    /// The target of the request, without an object name. `None` if the trace does not show the target.
    pub(crate) target: Option<Target<CompactString>>,
    /// The product in the user agent.
    pub(crate) product: CompactString,
}

/// A trace whose header was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AssembledTrace<'a> {
    pub(crate) group: &'a TraceGroup,
    /// The hash that identifies the request in other logs. `None` if the trace has no audit ID.
    pub(crate) request: Option<u64>,
    /// The number of objects in the response.
    pub(crate) items: Option<u64>,
    /// Total time, in microseconds.
    pub(crate) micros: Option<u64>,
}

impl Traces {
    pub(crate) fn observe(&mut self, place: SourcePosition, fragment: &TraceFragment<'_>) {
        let header = fragment.part == TracePart::Header;
        let is_relevant = header || fragment.part == TracePart::End || fragment.items.is_some();
        if !is_relevant || fragment.part == TracePart::Nested {
            return;
        }
        let number = fragment.number.map_or(place.offset | NO_NUMBER, u64::from);
        let key = (place.source, number);
        self.0.entry(&key, 0, || key).merge(Trace {
            header: header.then(|| Box::new(Header::new(place.offset, fragment))),
            headers: u64::from(header),
            items: fragment.items,
            end_micros: fragment.total_micros.filter(|_| !header),
        });
    }

    /// Iterates over all traces with a header, in no order.
    pub(crate) fn assembled(&mut self) -> impl Iterator<Item = AssembledTrace<'_>> {
        self.0.entries().filter_map(|(_, trace)| {
            let header = trace.header.as_deref()?;
            Some(AssembledTrace {
                group: &header.group,
                request: header.request,
                items: trace.items,
                micros: trace.end_micros.or(header.total_micros),
            })
        })
    }

    /// Iterates over the traces with an audit ID, in no order. A request may have several traces, such as `List` and
    /// `SerializeObject`.
    pub(crate) fn by_audit_id(&mut self) -> impl Iterator<Item = AssembledTrace<'_>> {
        self.assembled().filter(|trace| trace.request.is_some())
    }

    /// The number of traces that are missing in [`Traces::assembled`]. Either there were more than [`MAX_TRACES`]
    /// traces, or another trace of the source has the same number.
    #[must_use]
    pub(crate) fn left_out(self) -> u64 {
        let (entries, overflow) = self.0.into_parts();
        let shadowed: u64 = entries.iter().map(|(_, trace)| trace.headers.saturating_sub(1)).sum();
        shadowed + overflow.map_or(0, |overflow| overflow.headers)
    }
}

impl Header {
    fn new(offset: u64, fragment: &TraceFragment<'_>) -> Self {
        Self {
            offset,
            group: TraceGroup {
                operation: prefix(&fragment.operation, MAX_TEXT).into(),
                target: target(fragment),
                product: AgentProduct::from_user_agent(&fragment.user_agent).name.into(),
            },
            request: (!fragment.audit_id.is_empty())
                .then(|| request_hash(&fragment.audit_id, &fragment.path)),
            total_micros: fragment.total_micros,
        }
    }
}

/// Returns the target of a trace's request: from its path, or from the resource that the server names.
fn target(fragment: &TraceFragment<'_>) -> Option<Target<CompactString>> {
    if let Some(parsed) = ParsedTarget::parse(&fragment.path).filter(|_| !fragment.path.is_empty()) {
        return Some(RequestShape::new(Method::Get, &parsed.path, &parsed.options).to_owned().target);
    }
    (!fragment.resource.is_empty()).then(|| Target::Unknown {
        group: CompactString::new(prefix(&fragment.group, MAX_TEXT)),
        resource: CompactString::new(prefix(&fragment.resource, MAX_TEXT)),
        unreadable: false,
    })
}

impl Merge for Trace {
    fn merge(&mut self, other: Self) {
        let headers = self.header.take().into_iter().chain(other.header);
        self.header = headers.min_by_key(|header| header.offset);
        self.headers += other.headers;
        self.items = self.items.max(other.items);
        self.end_micros = self.end_micros.max(other.end_micros);
    }
}

merge_fields!(Traces: 0);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn place(offset: usize) -> SourcePosition {
        SourcePosition { source: 3, offset: offset as u64, line: 1 }
    }

    fn lines(number: u32) -> [String; 3] {
        [
            format!(
                r#"Trace[{number}]: "List" url:/api/v1/namespaces/n{number}/pods,user-agent:kubectl/v1,audit-id:id{number},client:::1 (x) (total time: {}ms):"#,
                600 + number
            ),
            format!(r#"Trace[{number}]: ---"Writing http response done" count:{number} 9ms (y)"#),
            format!("Trace[{number}]: [{}.5ms] [9ms] END", 600 + number),
        ]
    }

    fn fill(lines: &[(usize, String)]) -> Traces {
        let mut traces = Traces::default();
        for (offset, line) in lines {
            traces.observe(place(*offset), &TraceFragment::read(line).expect("a fragment"));
        }
        traces
    }

    fn contents(mut traces: Traces) -> (BTreeSet<String>, u64) {
        let assembled = traces.assembled().map(|trace| format!("{trace:?}")).collect();
        (assembled, traces.left_out())
    }

    proptest! {
        #[test]
        fn traces_are_assembled_in_any_order_and_split(
            numbers in prop::collection::vec(0_u32..40, 0..40),
            seed in any::<prop::sample::Index>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let all: Vec<(usize, String)> =
                numbers.iter().flat_map(|number| lines(*number)).enumerate().collect();
            let mut turned = all.clone();
            if !turned.is_empty() {
                turned.rotate_left(seed.index(all.len()));
                turned.reverse();
            }
            let (left, right) = turned.split_at(if all.is_empty() { 0 } else { cut.index(all.len()) });
            let mut merged = fill(right);
            merged.merge(fill(left));
            let (traces, left_out) = contents(merged);
            prop_assert_eq!((&traces, left_out), (&contents(fill(&all)).0, contents(fill(&all)).1));
            let distinct: BTreeSet<_> = numbers.iter().collect();
            prop_assert_eq!(traces.len(), distinct.len());
            prop_assert_eq!(left_out, (numbers.len() - distinct.len()) as u64);
        }
    }

    #[test]
    fn trace_lines_are_assembled_into_one_trace() {
        let mut traces = fill(&lines(7).into_iter().enumerate().collect::<Vec<_>>());
        let trace = traces.by_audit_id().next().expect("a trace");
        assert!(trace.request.is_some());
        assert_eq!((trace.items, trace.micros), (Some(7), Some(607_500)));
        assert_eq!((&*trace.group.operation, &*trace.group.product), ("List", "kubectl"));
        assert!(matches!(&trace.group.target, Some(Target::Resource { resource, .. }) if resource == "pods"));
    }

    #[test]
    fn traces_above_the_limit_are_counted_in_any_order() {
        let header =
            |number: usize| (number, format!(r#"Trace[{number}]: "Get{number}" (x) (total time: 600ms):"#));
        let mut all: Vec<_> = (0..3 * MAX_TRACES).map(header).collect();
        let forwards = contents(fill(&all));
        all.reverse();
        let (left, right) = all.split_at(MAX_TRACES);
        let mut merged = fill(left);
        merged.merge(fill(right));
        assert!(forwards == contents(merged));
        assert_eq!((forwards.0.len(), forwards.1), (MAX_TRACES, 2 * MAX_TRACES as u64));
    }

    #[test]
    fn traces_without_a_number_have_no_audit_id() {
        let old = r#"Trace "List *api.PodList" (started 2016-05-17 20:10:11 +0800 CST):"#.to_owned();
        let mut traces = fill(&[(0, old.clone()), (9, old), (20, lines(1)[1].clone())]);
        assert_eq!(traces.assembled().count(), 2);
        assert_eq!(traces.by_audit_id().count(), 0);
    }
}
