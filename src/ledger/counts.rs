//! Small counts of a row: response statuses, the server's measurements, objects in responses, deprecated APIs.

use smallvec::SmallVec;

use super::merge::merge_fields;
use super::{Exemplars, Merge};
use crate::requests::{EventFact, EventFacts, Measured};

/// The number of responses for each HTTP status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Statuses {
    /// One entry for each status, sorted by status. The upper 16 bits contain the status (0 for none), the lower 48
    /// bits the count. Most rows have one or two statuses, which need no allocation.
    packed: SmallVec<[u64; 2]>,
}

const STATUS_SHIFT: u32 = 48;
const STATUS_COUNT: u64 = (1 << STATUS_SHIFT) - 1;

impl Statuses {
    pub(crate) fn record(&mut self, status: Option<u16>) {
        self.add(status.unwrap_or(0), 1);
    }

    fn add(&mut self, status: u16, count: u64) {
        let wanted = u64::from(status);
        let at = self.packed.partition_point(|packed| packed >> STATUS_SHIFT < wanted);
        match self.packed.get_mut(at) {
            Some(packed) if *packed >> STATUS_SHIFT == wanted => *packed += count,
            _ => {
                self.packed.insert(at, wanted << STATUS_SHIFT | count);
            }
        }
    }

    /// The number of responses whose status `is_wanted` accepts.
    #[must_use]
    pub(crate) fn count(&self, is_wanted: impl Fn(u16) -> bool) -> u64 {
        self.iter().filter(|(status, _)| is_wanted(*status)).map(|(_, count)| count).sum()
    }

    /// Iterates over the statuses (0 for none) in ascending order, each with its number of responses.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.packed.iter().map(|packed| ((packed >> STATUS_SHIFT) as u16, packed & STATUS_COUNT))
    }
}

impl Merge for Statuses {
    fn merge(&mut self, other: Self) {
        for packed in other.packed {
            self.add((packed >> STATUS_SHIFT) as u16, packed & STATUS_COUNT);
        }
    }
}

/// For each [`EventFact`]: the number of ended requests whose event has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EventFactCounts([u64; EventFact::COUNT]);

impl EventFactCounts {
    pub(crate) fn record(&mut self, facts: EventFacts) {
        for (count, has_fact) in self.0.iter_mut().zip(facts.0) {
            *count += u64::from(has_fact);
        }
    }

    #[must_use]
    pub(crate) fn count(&self, fact: EventFact) -> u64 {
        self.0[fact as usize]
    }
}

merge_fields!(EventFactCounts: 0);

/// Requests for an API version that a later Kubernetes release removes. The server marks such requests with an
/// annotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Deprecated {
    pub(crate) requests: u64,
    /// The earliest release that removes one of these API versions, as major and minor.
    pub(crate) removed_in: Option<(u8, u8)>,
    /// The costliest of these requests.
    pub(crate) exemplars: Exemplars,
}

impl Merge for Deprecated {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: requests, exemplars);
        self.removed_in = self.removed_in.into_iter().chain(other.removed_in).min();
    }
}

/// The server's measurements of slow requests (annotations `apiserver.latency.k8s.io/*`). The server writes these
/// annotations only if a request takes more than 500 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Measured requests for which the server did not call etcd.
    pub(crate) without_etcd: u64,
    /// Measured requests for which the server called etcd, but decoded no objects for a LIST.
    pub(crate) etcd_only: u64,
    /// Measured requests for which the server decoded objects from etcd for a LIST.
    pub(crate) decoded: u64,
    /// Sum of time in calls to etcd, in microseconds.
    pub(crate) etcd_micros: u64,
    /// Sum of durations of measured requests, in microseconds.
    pub(crate) total_micros: u64,
    /// Sum of time in admission webhooks, in microseconds.
    pub(crate) webhook_micros: u64,
    /// Measured requests that spent at least half of their time in admission webhooks.
    pub(crate) mostly_webhooks: u64,
    /// Sum of time in queues of API Priority and Fairness, in microseconds.
    pub(crate) queued_micros: u64,
}

impl Observed {
    pub(crate) fn record(&mut self, measured: Measured) {
        match (measured.decoded, measured.etcd) {
            (true, _) => self.decoded += 1,
            (false, Some(_)) => self.etcd_only += 1,
            (false, None) => self.without_etcd += 1,
        }
        self.etcd_micros = self.etcd_micros.saturating_add(measured.etcd.unwrap_or(0));
        self.total_micros = self.total_micros.saturating_add(measured.total);
        self.webhook_micros = self.webhook_micros.saturating_add(measured.webhooks);
        self.mostly_webhooks += u64::from(measured.webhooks > 0 && measured.webhooks >= measured.total / 2);
        self.queued_micros = self.queued_micros.saturating_add(measured.queued);
    }

    #[must_use]
    pub(crate) fn measured(&self) -> u64 {
        self.without_etcd + self.etcd_only + self.decoded
    }
}

merge_fields!(Observed: without_etcd, etcd_only, decoded, etcd_micros, total_micros, webhook_micros,
    mostly_webhooks, queued_micros);

/// Objects in responses to LIST requests. Only traces of slow requests contain this number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Items {
    /// Requests whose number of objects is known.
    pub(crate) requests: u64,
    /// The number of objects in the responses to these requests.
    pub(crate) sum: u64,
    /// The largest number of objects in one response.
    pub(crate) max: u64,
}

impl Items {
    /// Adds one response that has `count` objects.
    pub(crate) fn record(&mut self, count: u64) {
        self.merge(Self { requests: 1, sum: count, max: count });
    }
}

impl Merge for Items {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: requests, sum);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn observed(measured: &[Measured]) -> Observed {
        let mut observed = Observed::default();
        for one in measured {
            observed.record(*one);
        }
        observed
    }

    prop_compose! {
        fn measured()(
            total in 0_u64..3_000_000,
            etcd in prop::option::of(0_u64..1_000_000),
            decoded in any::<bool>(),
            webhooks in 0_u64..2_000_000,
        ) -> Measured {
            Measured { total, etcd, decoded, webhooks, queued: 0 }
        }
    }

    proptest! {
        #[test]
        fn counts_are_independent_of_order_and_split(
            measured in prop::collection::vec(measured(), 0..40),
            cut in 0_usize..40,
        ) {
            let merged = crate::ledger::merge::merged_parts(&measured, cut, observed);
            prop_assert_eq!(merged, observed(&measured));
            let waits = |one: &&Measured| one.webhooks > 0 && one.webhooks * 2 + 1 >= one.total;
            prop_assert_eq!(merged.mostly_webhooks, measured.iter().filter(waits).count() as u64);
        }
    }
}
