//! The counts of one row. A row contains the requests of one client and product that have one row key.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::exemplar::Exemplars;
use super::merge::merge_fields;
use super::open_long_running::OpenLongRunning;
use super::timeline::Windows;
use super::{
    Deprecated, EventFactCounts, Flows, Histogram, Items, Merge, Observed, Statuses, Targets, Timeline,
};
use crate::apiserver::releases::BuiltInApi;
use crate::k8s::Stage;
use crate::requests::request_spec::MAX_UNKNOWN_KEYS;
use crate::requests::{Request, RowKeyRef, StatusClass};

const ALMOST_A_MINUTE: u64 = 59_000_000;

#[derive(Debug, Clone, Default)]
pub struct Row {
    pub events: u64,
    pub(crate) received: u64,
    /// The number of ended requests. A request that failed authentication has only a
    /// ResponseStarted event, with status 401. Every other one has a ResponseComplete or a Panic event.
    pub(crate) ended: u64,
    /// The number of Panic events.
    pub(crate) panics: u64,
    /// Long-running requests; a start and an end make one request.
    pub(crate) open_long_running: Option<Box<OpenLongRunning>>,
    /// Response statuses of the ended requests.
    pub(crate) statuses: Statuses,
    /// Durations of the ended requests. For long-running requests, these are lifetimes.
    pub(crate) latency: Histogram,
    /// Receive times of the ended requests.
    pub(crate) timeline: Timeline,
    /// Receive times of requests with a 4xx status, and of requests with a 5xx status. They are separate, because
    /// such requests cost less than others.
    failed_at: Option<Box<[Timeline; 2]>>,
    /// Receive times of RequestReceived events, for logs that contain only such events. They are dropped when a
    /// request of the row ends.
    received_times: Option<Box<Timeline>>,
    /// Receive times of the first and last event, in microseconds since 1970.
    pub(crate) span: Option<(i64, i64)>,
    pub(crate) exemplars: Exemplars,
    /// The costliest requests with status 400 or above.
    pub(crate) failed: Option<Box<Exemplars>>,
    /// Targets of ended requests, and of long-running requests that began.
    pub(crate) targets: Targets,
    /// Requests that took 59 s or more. The server gives up after 60 s. Long-running requests do not count.
    pub(crate) over_59s: u64,
    rare: Option<Box<Rare>>,
}

/// Counts that few rows of an audit log have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rare {
    /// The server's measurements of slow requests.
    pub(crate) observed: Observed,
    /// Query parameters that the server ignored: the first ones in byte order.
    pub(crate) unknown_keys: BTreeSet<Box<str>>,
    /// API Priority and Fairness fields of the requests, if the log has them.
    pub(crate) flows: Option<Box<Flows>>,
    /// Objects in responses.
    pub(crate) items: Items,
    /// Requests for deprecated APIs.
    pub(crate) deprecated: Option<Box<Deprecated>>,
    pub(crate) facts: EventFactCounts,
    /// Requests for built-in APIs that a release removed, by index into `releases::BUILT_IN`: long-running requests
    /// that began, and all requests that ended.
    pub(crate) removed_apis: BTreeMap<u8, [u64; 2]>,
}

/// The hashes of a row's client, product and row key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowHash {
    pub(super) client: u64,
    pub(super) product: u64,
    pub(super) row_key: u64,
}

impl RowHash {
    #[must_use]
    pub(crate) fn new(request: &Request<'_>) -> Self {
        Self {
            client: request.client.client_hash,
            product: request.client.product_hash,
            row_key: RowKeyRef::from_request(request).stable_hash(),
        }
    }

    /// Creates the hashes for an event before the end of its request. The row key is hashed without a response class.
    pub(super) fn before_end(request: &Request<'_>) -> Self {
        let key = RowKeyRef { status_class: StatusClass::Served, ..RowKeyRef::from_request(request) };
        Self { row_key: key.stable_hash(), ..Self::new(request) }
    }

    /// Combines the three hashes into one number, which chooses a cache slot. Different rows may have the same
    /// number.
    pub(super) fn hash(self) -> u64 {
        self.client ^ self.product.rotate_left(21) ^ self.row_key.rotate_left(42)
    }
}

impl Row {
    #[must_use]
    pub(crate) fn rare(&self) -> &Rare {
        static NONE: LazyLock<Rare> = LazyLock::new(Rare::default);
        self.rare.as_deref().unwrap_or(&NONE)
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Counts one event. Returns whether the target of the request may be new to the row. Returns `None` if the row
    /// does not count the target of this event.
    pub(crate) fn observe(&mut self, request: &Request<'_>) -> Option<bool> {
        self.events += 1;
        let mut is_new_target = None;
        self.span.merge(request.received.map(|received| (received, received)));
        match request.stage {
            Stage::RequestReceived => self.count_received(request),
            Stage::ResponseStarted if request.is_unauthenticated() => is_new_target = Some(self.end(request)),
            // Do not count the request here, because its ResponseComplete event counts it.
            Stage::ResponseStarted if !request.spec.long_running => {}
            Stage::ResponseStarted => {
                if !request.begins_again {
                    self.open_long_running.get_or_insert_default().start(request);
                    self.count_removed_api(request, 0);
                }
                is_new_target = Some(self.targets.record(request.target_hash(), 0));
            }
            Stage::ResponseComplete | Stage::Panic => is_new_target = Some(self.end(request)),
        }
        self.show(request);
        for key in request.spec.unknown_keys {
            self.rare_mut().keep_key(key);
        }
        if let Some(apf) = request.apf {
            self.rare_mut().flows.get_or_insert_default().record(apf);
        }
        is_new_target
    }

    /// Keeps the request as an exemplar if it is one of the costliest.
    pub(crate) fn show(&mut self, request: &Request<'_>) {
        self.exemplars.show(request);
        if request.status.is_some_and(|status| status >= 400) {
            self.failed.get_or_insert_default().show(request);
        }
        if let Some(deprecation) = request.deprecated {
            let deprecated = self.rare_mut().deprecated.get_or_insert_default();
            deprecated.removed_in = deprecated.removed_in.into_iter().chain(deprecation.removed_in).min();
            deprecated.exemplars.show(request);
        }
    }

    /// Adds API Priority and Fairness fields and object counts from other logs.
    pub(crate) fn add_facts(&mut self, flows: Flows, items: Items) {
        let rare = self.rare_mut();
        rare.flows.get_or_insert_default().merge(flows);
        rare.items.merge(items);
    }

    /// `stage` is 0 for the start of a long-running request, and 1 for the end of a request.
    fn count_removed_api(&mut self, request: &Request<'_>, stage: usize) {
        if let Some(api) = request.spec.api.filter(|api| BuiltInApi::is_removed(*api)) {
            self.rare_mut().removed_apis.entry(api).or_default()[stage] += 1;
        }
    }

    fn count_received(&mut self, request: &Request<'_>) {
        self.received += 1;
        if let Some(received) = request.received.filter(|_| self.ended == 0) {
            self.received_times.get_or_insert_default().record(received);
        }
    }

    fn end(&mut self, request: &Request<'_>) -> bool {
        self.ended += 1;
        self.received_times = None;
        self.panics += u64::from(request.stage == Stage::Panic);
        self.statuses.record(request.status);
        if request.spec.long_running {
            self.open_long_running.get_or_insert_default().end(request);
        }
        if let Some(micros) = request.micros {
            self.latency.record(micros);
            self.over_59s += u64::from(micros >= ALMOST_A_MINUTE && !request.spec.long_running);
        }
        if let Some(received) = request.received {
            self.timeline.record(received);
            if let Some(class @ (4 | 5)) = request.status.map(|status| status / 100) {
                self.failed_at.get_or_insert_default()[usize::from(class) - 4].record(received);
            }
        }
        if let Some(measured) = request.measured {
            self.rare_mut().observed.record(measured);
        }
        if request.deprecated.is_some() {
            self.rare_mut().deprecated.get_or_insert_default().requests += 1;
        }
        if request.facts.any() {
            self.rare_mut().facts.record(request.facts);
        }
        self.count_removed_api(request, 1);
        self.targets.record(request.target_hash(), 1)
    }

    /// Moves the counts of current windows to their tables. Call it after the last event.
    pub(crate) fn settle(&mut self) {
        self.timeline.settle();
        if let Some(received_times) = &mut self.received_times {
            received_times.settle();
        }
    }

    /// The sum of the durations of ended requests, without their time in queues of API Priority and Fairness, in
    /// microseconds. If the log has no queue time, nothing is subtracted. If both the audit log and the access log
    /// have it, the larger one is subtracted.
    #[must_use]
    pub(crate) fn served_micros(&self) -> u64 {
        let Rare { observed, flows, .. } = self.rare();
        let queued = flows.as_ref().map_or(0, |flows| flows.queued_micros()).max(observed.queued_micros);
        self.latency.sum().saturating_sub(queued)
    }

    /// The number of ended requests and open long-running requests. With `received_only`, the number of RequestReceived
    /// events.
    #[must_use]
    pub(crate) fn requests(&self, received_only: bool) -> u64 {
        if received_only { self.received } else { self.ended + self.open() }
    }

    /// The number of long-running requests without an end.
    #[must_use]
    pub(crate) fn open(&self) -> u64 {
        self.open_long_running.as_ref().map_or(0, |long_running| long_running.open())
    }

    /// Receive times of the requests that [`Row::requests`] counts.
    #[must_use]
    pub(crate) fn times(&self, received_only: bool) -> Cow<'_, Timeline> {
        if received_only {
            return self.received_times.as_deref().map_or_else(Cow::default, Cow::Borrowed);
        }
        match &self.open_long_running {
            Some(long_running) if long_running.open() > 0 => Cow::Owned(self.whole_timeline()),
            _ => Cow::Borrowed(&self.timeline),
        }
    }

    /// Like [`Row::times`], but moves the times out of the row.
    #[must_use]
    pub(crate) fn take_times(&mut self, received_only: bool) -> Timeline {
        if received_only {
            return self
                .received_times
                .take()
                .map_or_else(Timeline::default, |received_times| *received_times);
        }
        let mut timeline = std::mem::take(&mut self.timeline);
        if let Some(long_running) = &self.open_long_running {
            long_running.add_open_to(&mut timeline);
        }
        timeline
    }

    /// Splits [`Row::times`] into two parts: the times of requests without an error status, and the times of requests
    /// with a 5xx status. Requests with a 4xx status are in neither part.
    #[must_use]
    pub(crate) fn served_and_failed_times(&self, received_only: bool) -> (Windows, Windows) {
        let mut served = self.times(received_only).windows();
        let Some(failed_at) = &self.failed_at else { return (served, Windows::default()) };
        let [refused, failed] = [0, 1].map(|class| failed_at[class].windows());
        served.subtract(&refused);
        served.subtract(&failed);
        (served, failed)
    }

    /// Receive times of all ended and open requests.
    #[must_use]
    pub(crate) fn whole_timeline(&self) -> Timeline {
        let mut timeline = self.timeline.clone();
        if let Some(long_running) = &self.open_long_running {
            long_running.add_open_to(&mut timeline);
        }
        timeline
    }
}

impl Merge for Row {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: events, received, ended, panics, open_long_running, statuses, latency,
            timeline, failed_at, span, exemplars, failed, targets, over_59s, rare);
        if self.ended > 0 {
            self.received_times = None;
        } else {
            self.received_times.merge(other.received_times);
        }
    }
}

impl Rare {
    fn keep_key(&mut self, key: &str) {
        let wanted = self.unknown_keys.len() < MAX_UNKNOWN_KEYS
            || self.unknown_keys.last().is_some_and(|last| *key < **last);
        if wanted && !self.unknown_keys.contains(key) {
            self.unknown_keys.insert(key.into());
            if self.unknown_keys.len() > MAX_UNKNOWN_KEYS {
                self.unknown_keys.pop_last();
            }
        }
    }
}

impl Merge for Rare {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: observed, flows, items, deprecated, facts, removed_apis);
        other.unknown_keys.iter().for_each(|key| self.keep_key(key));
    }
}
