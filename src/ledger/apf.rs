//! What API Priority and Fairness did with the requests of a row.

use compact_str::CompactString;
use hashbrown::Equivalent;

use super::bounded_map::BoundedKey;
use super::{BoundedMap, Merge};
use crate::decode::klog::Apf;
use crate::k8s::text::prefix;

/// Pairs of a priority level and a flow schema that are counted apart for one row. A client's requests of one shape
/// meet one, or as many as its users have; all are the cluster's own configuration.
const MAX_FLOWS: usize = 8;
/// The longest name of an API object, in bytes.
const MAX_NAME: usize = 253;

/// Sums by priority level and flow schema.
#[derive(Debug, Clone)]
pub struct Flows(BoundedMap<FlowKey, Load>);

/// Where the requests were queued.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// The `PriorityLevelConfiguration`'s name.
    pub priority_level: CompactString,
    /// The `FlowSchema`'s name.
    pub flow_schema: CompactString,
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

/// What the requests took up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests.
    pub requests: u64,
    /// Their seats, added: of each the more of those while it is executed and those after.
    pub seats: u64,
    /// The most seats of one.
    pub max_seats: u64,
    /// How long they were executed, in microseconds.
    pub execution_micros: u64,
    /// How long they were held up before, in queues above all, in microseconds.
    pub queued_micros: u64,
}

impl Default for Flows {
    fn default() -> Self {
        Self(BoundedMap::new(MAX_FLOWS))
    }
}

impl Flows {
    /// Adds one request.
    pub fn record(&mut self, apf: &Apf<'_>) {
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
        load.merge(Load {
            requests: 1,
            seats,
            max_seats: seats,
            execution_micros: apf.execution_micros.unwrap_or(0),
            queued_micros: apf.queue_micros.unwrap_or(0),
        });
    }

    /// How long all requests were held up before they were executed, in microseconds.
    #[must_use]
    pub fn queued_micros(&self) -> u64 {
        self.0.values().map(|load| load.queued_micros).fold(0, u64::saturating_add)
    }

    /// The sums in the order of their keys; last and without a key, what all others are folded into.
    #[must_use]
    pub fn into_sorted(self) -> Vec<(Option<FlowKey>, Load)> {
        let (mut kept, overflow) = self.0.into_parts();
        kept.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let overflow = overflow.map(|overflow| (None, overflow));
        kept.into_iter().map(|(key, load)| (Some(key), load)).chain(overflow).collect()
    }
}

impl Merge for Load {
    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.seats = self.seats.saturating_add(other.seats);
        self.max_seats = self.max_seats.max(other.max_seats);
        self.execution_micros = self.execution_micros.saturating_add(other.execution_micros);
        self.queued_micros = self.queued_micros.saturating_add(other.queued_micros);
    }
}

impl Merge for Flows {
    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(requests: &[(u8, u32)]) -> Vec<(Option<FlowKey>, Load)> {
        fill(requests).into_sorted()
    }

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
        fn neither_order_nor_split_matters(
            requests in prop::collection::vec((0_u8..20, 0_u32..9), 0..80),
            cut in 0_usize..80,
        ) {
            let (left, right) = requests.split_at(cut.min(requests.len()));
            let mut merged = fill(right);
            merged.merge(fill(left));
            let merged = merged.into_sorted();
            prop_assert_eq!(&merged, &of(&requests));
            prop_assert_eq!(merged.iter().map(|(_, load)| load.requests).sum::<u64>(), requests.len() as u64);
            let seats = requests.iter().map(|(_, seats)| u64::from(*seats));
            prop_assert_eq!(merged.iter().map(|(_, load)| load.seats).sum::<u64>(), seats.clone().sum::<u64>());
            let max = merged.iter().map(|(_, load)| load.max_seats).max();
            prop_assert_eq!(max.unwrap_or(0), seats.max().unwrap_or(0));
        }
    }

    #[test]
    fn a_requests_seats_are_the_more_of_both_phases() {
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
