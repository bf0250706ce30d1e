//! Small sums of a row: answers by status, the server's own measurements, and objects in answers.

use super::Merge;
use crate::classify::Measured;

/// Answers by HTTP status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statuses {
    /// 1xx to 5xx, in this order.
    pub classes: [u64; 5],
    /// Without a status.
    pub none: u64,
    /// 409 Conflict.
    pub conflict: u64,
    /// 410 Gone.
    pub gone: u64,
    /// 429 Too Many Requests.
    pub too_many_requests: u64,
}

impl Statuses {
    /// Counts an answer.
    pub fn record(&mut self, status: Option<u16>) {
        let Some(status) = status else {
            self.none += 1;
            return;
        };
        match self.classes.get_mut(usize::from(status / 100).wrapping_sub(1)) {
            Some(class) => *class += 1,
            None => self.none += 1,
        }
        match status {
            409 => self.conflict += 1,
            410 => self.gone += 1,
            429 => self.too_many_requests += 1,
            _ => {}
        }
    }
}

impl Merge for Statuses {
    fn merge(&mut self, other: Self) {
        for (own, other) in self.classes.iter_mut().zip(other.classes) {
            *own += other;
        }
        self.none += other.none;
        self.conflict += other.conflict;
        self.gone += other.gone;
        self.too_many_requests += other.too_many_requests;
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
