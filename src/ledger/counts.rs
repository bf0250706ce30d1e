//! Small sums of a row: answers by status, the server's own measurements, objects in answers, deprecated APIs.

use smallvec::SmallVec;

use super::{Exemplars, Merge};
use crate::requests::Measured;

/// Answers by HTTP status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statuses {
    /// Statuses that were seen, ascending: the status in the upper 16 bits, 0 for none, its count in the lower 48.
    /// Most rows see one or two, which are at hand in the row.
    packed: SmallVec<[u64; 2]>,
}

const STATUS_SHIFT: u32 = 48;
const STATUS_COUNT: u64 = (1 << STATUS_SHIFT) - 1;

impl Statuses {
    /// Counts an answer.
    pub fn record(&mut self, status: Option<u16>) {
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

    /// The answers whose status a condition holds for.
    #[must_use]
    pub fn count(&self, is_wanted: impl Fn(u16) -> bool) -> u64 {
        self.iter().filter(|(status, _)| is_wanted(*status)).map(|(_, count)| count).sum()
    }

    /// The statuses, 0 for none, ascending, and how many answers have each.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
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

/// Requests for an API that a later release of Kubernetes removes, as the server says in an annotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deprecated {
    /// Requests.
    pub requests: u64,
    /// The least release that removes such an API, as major and minor.
    pub removed_in: Option<(u8, u8)>,
    /// One of the requests.
    pub exemplars: Exemplars,
}

impl Merge for Deprecated {
    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.removed_in = self.removed_in.into_iter().chain(other.removed_in).min();
        self.exemplars.merge(other.exemplars);
    }
}

/// What the server measured of its slow requests (`apiserver.latency.k8s.io/*`, above 500 ms only).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Observed {
    /// Requests with a measurement that name no call to etcd.
    pub without_etcd: u64,
    /// Requests with a call to etcd, and no object decoded for a list.
    pub etcd_only: u64,
    /// Requests for which objects were decoded that etcd returned to a list.
    pub decoded: u64,
    /// Time spent in calls to etcd, in microseconds.
    pub etcd_micros: u64,
    /// Whole time of the measured requests, in microseconds.
    pub total_micros: u64,
    /// Time spent in admission webhooks, in microseconds.
    pub webhook_micros: u64,
    /// Requests with a measurement that spent half of their time or more in admission webhooks.
    pub mostly_webhooks: u64,
    /// Time that they waited in queues of API Priority and Fairness, in microseconds.
    pub queued_micros: u64,
}

impl Observed {
    /// Adds a measurement.
    pub fn record(&mut self, measured: Measured) {
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

    /// Requests with a measurement.
    #[must_use]
    pub fn measured(&self) -> u64 {
        self.without_etcd + self.etcd_only + self.decoded
    }
}

impl Merge for Observed {
    fn merge(&mut self, other: Self) {
        self.without_etcd += other.without_etcd;
        self.etcd_only += other.etcd_only;
        self.decoded += other.decoded;
        self.etcd_micros = self.etcd_micros.saturating_add(other.etcd_micros);
        self.total_micros = self.total_micros.saturating_add(other.total_micros);
        self.webhook_micros = self.webhook_micros.saturating_add(other.webhook_micros);
        self.mostly_webhooks += other.mostly_webhooks;
        self.queued_micros = self.queued_micros.saturating_add(other.queued_micros);
    }
}

/// Objects in the answers to lists, as far as traces of slow requests count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Items {
    /// Requests whose answer's objects are counted.
    pub requests: u64,
    /// Objects in all of these answers.
    pub sum: u64,
    /// The most in one answer.
    pub max: u64,
}

impl Items {
    /// Adds an answer of so many objects.
    pub fn record(&mut self, count: u64) {
        self.merge(Self { requests: 1, sum: count, max: count });
    }
}

impl Merge for Items {
    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(measured: &[Measured]) -> Observed {
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
        fn neither_order_nor_split_matters(
            measured in prop::collection::vec(measured(), 0..40),
            cut in 0_usize..40,
        ) {
            let (left, right) = measured.split_at(cut.min(measured.len()));
            let mut merged = of(right);
            merged.merge(of(left));
            prop_assert_eq!(merged, of(&measured));
            let waits = |one: &&Measured| one.webhooks > 0 && one.webhooks * 2 + 1 >= one.total;
            prop_assert_eq!(merged.mostly_webhooks, measured.iter().filter(waits).count() as u64);
        }
    }
}
