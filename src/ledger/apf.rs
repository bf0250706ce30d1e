//! Seats and queue time of a row's requests in API Priority and Fairness.

use compact_str::CompactString;
use hashbrown::Equivalent;

use super::bounded_map::BoundedKey;
use super::merge::merge_fields;
use super::{BoundedMap, Merge};
use crate::decode::klog::Apf;
use crate::k8s::text::prefix;

/// The maximum number of pairs of priority level and flow schema for each row. The cluster's configuration defines
/// the priority levels and flow schemas. Most rows have one pair.
const MAX_FLOWS: usize = 8;
/// Length limit of an API object's name, in bytes.
const MAX_NAME: usize = 253;

#[derive(Debug, Clone, Default)]
pub(crate) struct Flows(BoundedMap<FlowKey, FlowLoad, MAX_FLOWS>);

/// A flow schema of API Priority and Fairness, with its priority level.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FlowKey {
    pub(crate) priority_level: CompactString,
    pub(crate) flow_schema: CompactString,
}

impl BoundedKey for FlowKey {}

#[derive(Hash)]
struct FlowRef<'a> {
    priority_level: &'a str,
    flow_schema: &'a str,
}

impl Equivalent<FlowKey> for FlowRef<'_> {
    fn equivalent(&self, key: &FlowKey) -> bool {
        self.priority_level == key.priority_level && self.flow_schema == key.flow_schema
    }
}

/// Sums over the requests of one flow schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FlowLoad {
    pub(crate) requests: u64,
    /// The sum of seats over the requests. A request can occupy different numbers of seats during and after its
    /// execution. The larger number counts.
    pub(crate) seats: u64,
    /// The largest number of seats of one request.
    pub(crate) max_seats: u64,
    /// Sum of execution times, in microseconds.
    pub(crate) execution_micros: u64,
    /// Sum of delays before execution, in microseconds. Requests spend most of this time in queues.
    pub(crate) queued_micros: u64,
}

impl Flows {
    pub(crate) fn record(&mut self, apf: &Apf<'_>) {
        let key = FlowRef {
            priority_level: prefix(&apf.priority_level, MAX_NAME),
            flow_schema: prefix(&apf.flow_schema, MAX_NAME),
        };
        let load = self.0.entry(&key, 0, || FlowKey {
            priority_level: key.priority_level.into(),
            flow_schema: key.flow_schema.into(),
        });
        // Source: k8s.io/apiserver `pkg/util/flowcontrol/request/width.go:MaxSeats`.
        let seats = u64::from(apf.initial_seats.max(apf.final_seats).unwrap_or(0));
        load.merge(FlowLoad {
            requests: 1,
            seats,
            max_seats: seats,
            execution_micros: apf.execution_micros.unwrap_or(0),
            queued_micros: apf.queue_micros.unwrap_or(0),
        });
    }

    #[must_use]
    pub(crate) fn queued_micros(&self) -> u64 {
        self.0.values().map(|load| load.queued_micros).fold(0, u64::saturating_add)
    }

    /// Returns the loads, sorted by key. If a row has more than `MAX_FLOWS` keys, the last load has no key. It sums
    /// the loads of the other keys.
    #[must_use]
    pub(crate) fn into_sorted(self) -> Vec<(Option<FlowKey>, FlowLoad)> {
        let (mut flows, overflow) = self.0.into_parts();
        flows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let overflow = overflow.map(|overflow| (None, overflow));
        flows.into_iter().map(|(key, load)| (Some(key), load)).chain(overflow).collect()
    }
}

impl Merge for FlowLoad {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: requests, seats, execution_micros, queued_micros);
        self.max_seats = self.max_seats.max(other.max_seats);
    }
}

merge_fields!(Flows: 0);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(requests: &[(u8, u32)]) -> Flows {
        let mut flows = Flows::default();
        for (schema, seats) in requests {
            flows.record(&Apf {
                priority_level: "system".into(),
                flow_schema: schema.to_string().into(),
                initial_seats: Some(*seats),
                execution_micros: Some(5),
                ..Apf::default()
            });
        }
        flows
    }

    proptest! {
        #[test]
        fn flows_are_independent_of_order_and_split(
            requests in prop::collection::vec((0_u8..20, 0_u32..9), 0..80),
            cut in 0_usize..80,
        ) {
            let merged = crate::ledger::merge::merged_parts(&requests, cut, fill).into_sorted();
            prop_assert_eq!(&merged, &fill(&requests).into_sorted());
            prop_assert_eq!(merged.iter().map(|(_, load)| load.requests).sum::<u64>(), requests.len() as u64);
            let seats = requests.iter().map(|(_, seats)| u64::from(*seats));
            prop_assert_eq!(merged.iter().map(|(_, load)| load.seats).sum::<u64>(), seats.clone().sum::<u64>());
            let max = merged.iter().map(|(_, load)| load.max_seats).max();
            prop_assert_eq!(max.unwrap_or(0), seats.max().unwrap_or(0));
        }
    }

    #[test]
    fn seats_of_a_request_are_the_larger_of_both_phases() {
        let mut flows = Flows::default();
        flows.record(&Apf {
            initial_seats: Some(1),
            final_seats: Some(5),
            queue_micros: Some(9),
            ..Apf::default()
        });
        assert_eq!(flows.queued_micros(), 9);
        flows.record(&Apf::default());
        let load = flows.into_sorted()[0].1;
        assert_eq!((load.requests, load.seats, load.max_seats), (2, 5, 5));
    }
}
