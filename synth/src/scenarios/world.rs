//! The simulated cluster's clock. Actors wake up at their times, in one order. Their requests become the log.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cluster::Cluster;
use super::identity::Who;
use super::planned_request::PlannedRequest;
use super::version::Version;
use crate::acts::response::failure;
use crate::event::{Event, Failure, Object, Request, Stages};
use crate::{BEGIN, Rng};

/// Microseconds.
pub const SECOND: i64 = 1_000_000;
pub const MINUTE: i64 = 60 * SECOND;

type Step = Box<dyn FnMut(&mut World) -> Option<i64>>;

/// State that all actors share.
pub struct World {
    pub rng: Rng,
    /// Microseconds since 1970.
    pub now: i64,
    /// When the log begins and ends.
    pub begin: i64,
    pub end: i64,
    pub version: Version,
    /// The cluster's resourceVersion.
    pub revision: u64,
    pub cluster: Cluster,
    /// While the apiserver is down, it serves and logs nothing.
    pub down: Option<(i64, i64)>,
    /// The audit policy drops reads.
    pub writes_only: bool,
    /// Whether RequestReceived events are logged.
    received: bool,
    queue: BinaryHeap<Reverse<(i64, u64)>>,
    steps: Vec<Option<Step>>,
    lines: Vec<(i64, u64, String)>,
    requests: u64,
}

/// An open WATCH.
pub struct Open {
    planned: PlannedRequest,
    id: String,
    received: i64,
}

impl World {
    /// A cluster at the start of the log.
    pub fn new(seed: u64, nodes: usize, minutes: i64, version: Version, received: bool) -> Self {
        let mut rng = Rng::new(seed);
        let cluster = Cluster::new(nodes, version, &mut rng);
        Self {
            rng,
            now: BEGIN,
            begin: BEGIN,
            end: BEGIN + minutes * MINUTE,
            version,
            revision: 48_000_000,
            cluster,
            down: None,
            writes_only: false,
            received,
            queue: BinaryHeap::new(),
            steps: Vec::new(),
            lines: Vec::new(),
            requests: 0,
        }
    }

    /// Runs all actors to the end of the log, and returns its lines.
    pub fn run(mut self) -> Vec<u8> {
        while let Some(Reverse((at, step))) = self.queue.pop() {
            if at > self.end {
                break;
            }
            self.now = at;
            let index = usize::try_from(step).expect("an index");
            let Some(mut act) = self.steps[index].take() else { continue };
            if let Some(delay) = act(&mut self) {
                self.steps[index] = Some(act);
                self.queue.push(Reverse((at + delay.max(1), step)));
            }
        }
        self.lines.retain(|(at, ..)| (self.begin..=self.end).contains(at));
        self.lines.sort_unstable_by_key(|(at, order, _)| (*at, *order));
        let size = self.lines.iter().map(|(.., line)| line.len() + 1).sum();
        let mut log = Vec::with_capacity(size);
        for (.., line) in &self.lines {
            log.extend_from_slice(line.as_bytes());
            log.push(b'\n');
        }
        log
    }

    /// Calls a step after a delay, and again after each delay that it returns.
    pub fn repeat(&mut self, delay: i64, step: impl FnMut(&mut Self) -> Option<i64> + 'static) {
        let index = self.steps.len() as u64;
        self.steps.push(Some(Box::new(step)));
        self.queue.push(Reverse((self.now + delay, index)));
    }

    /// Calls a step once.
    pub fn after(&mut self, delay: i64, step: impl FnOnce(&mut Self) + 'static) {
        let mut step = Some(step);
        self.repeat(delay, move |world| {
            if let Some(step) = step.take() {
                step(world);
            }
            None
        });
    }

    /// Calls a step at a period with up to a tenth of jitter, the first time within the first period.
    pub fn every(&mut self, period: i64, mut step: impl FnMut(&mut Self) + 'static) {
        let first = self.up_to(period);
        self.repeat(first, move |world| {
            step(world);
            Some(period - period / 20 + world.up_to(period / 10))
        });
    }

    /// Calls a step by a timer without jitter.
    pub fn clock(&mut self, first: i64, period: i64, mut step: impl FnMut(&mut Self) + 'static) {
        self.repeat(first, move |world| {
            step(world);
            Some(period + world.up_to(3_000))
        });
    }

    /// A random time below a bound.
    pub fn up_to(&mut self, bound: i64) -> i64 {
        let bound = u64::try_from(bound.max(1)).expect("positive");
        i64::try_from(self.rng.below(bound)).expect("below a time")
    }

    /// A random time in a range.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.up_to(high - low)
    }

    /// The length of the log.
    pub fn span(&self) -> i64 {
        self.end - self.begin
    }

    /// Sends a request that ends soon.
    #[allow(clippy::needless_pass_by_value, reason = "a request is built to be sent once")]
    pub fn send(&mut self, who: &Who, planned: PlannedRequest) {
        if self.is_down() {
            return;
        }
        if planned.is_write() && planned.status < 300 {
            self.revision += 1;
        }
        let duration =
            i64::try_from(planned.duration.unwrap_or_else(|| self.usual(&planned))).expect("a duration");
        let id = self.rng.uuid();
        let (now, ends) = (self.now, self.now + duration);
        let request = self.request(who, &planned, duration, Stages::Two);
        if matches!(request.stages, Stages::Refused) {
            self.write(who, &request, &id, "ResponseStarted", now, ends);
            return;
        }
        if self.received {
            self.write(who, &request, &id, "RequestReceived", now, now);
        }
        self.write(who, &request, &id, "ResponseComplete", now, ends);
    }

    /// Begins a long-running request; `close` ends it.
    pub fn open(&mut self, who: &Who, planned: PlannedRequest) -> Open {
        let open = Open { planned, id: self.rng.uuid(), received: self.now };
        if self.is_down() {
            return open;
        }
        let request = self.request(who, &open.planned, 0, Stages::Three);
        let now = self.now;
        if self.received {
            self.write(who, &request, &open.id, "RequestReceived", now, now);
        }
        let started = now + self.between(300, 4_000);
        self.write(who, &request, &open.id, "ResponseStarted", now, started);
        open
    }

    /// Ends a long-running request now.
    #[allow(clippy::needless_pass_by_value, reason = "what is closed is no longer open")]
    pub fn close(&mut self, who: &Who, open: Open) {
        let lived = self.now - open.received;
        let request = self.request(who, &open.planned, lived, Stages::Three);
        let now = self.now;
        self.write(who, &request, &open.id, "ResponseComplete", open.received, now);
    }

    /// A request that began before the log did; only its end is in the log.
    pub fn opened_before(&mut self, planned: PlannedRequest, received: i64) -> Open {
        Open { planned, id: self.rng.uuid(), received }
    }

    pub fn is_down(&self) -> bool {
        self.down.is_some_and(|(from, until)| (from..until).contains(&self.now))
    }

    fn usual(&mut self, planned: &PlannedRequest) -> u64 {
        let usual = match planned.verb {
            "list" => 3_000 + self.rng.below(40_000),
            "get" => 700 + self.rng.below(5_000),
            _ => 3_500 + self.rng.below(14_000),
        };
        // One request in a few thousand waits for a disk or a garbage collection.
        if self.rng.below(3_000) == 0 { usual + 200_000 } else { usual }
    }

    fn request(&self, who: &Who, planned: &PlannedRequest, duration: i64, stages: Stages) -> Request {
        let object = planned.kind.map(|kind| Object {
            group: kind.group,
            version: kind.version,
            resource: kind.resource,
            subresource: planned.subresource,
            namespace: if kind.namespaced { planned.namespace.clone() } else { String::new() },
            name: planned.object_name(),
        });
        let mut request = Request {
            verb: planned.verb,
            uri: planned.uri(),
            object,
            stages: if planned.status == 401 { Stages::Refused } else { stages },
            status: planned.status,
            failure: None,
            micros: u64::try_from(duration).expect("not negative"),
            etcd: !planned.is_at_any_revision(),
            decoded: planned.verb == "list"
                && self.version.lists_from_etcd()
                && !planned.is_at_any_revision(),
            annotations: planned.annotations.clone(),
        };
        request.failure = failure(&who.client, &request, self.revision)
            .map(|(reason, message)| (reason, message, u8::from(planned.status == 429)))
            .or_else(|| other_failure(&request))
            .map(|(reason, message, retry_after)| Failure { message, reason, retry_after });
        request
    }

    fn write(&mut self, who: &Who, request: &Request, id: &str, stage: &'static str, received: i64, at: i64) {
        let dropped = self.writes_only && matches!(request.verb, "get" | "list" | "watch");
        if dropped || at > self.end || at < self.begin {
            return;
        }
        let event = Event { client: &who.client, request, id, stage, received, at, bodies: None };
        self.requests += 1;
        self.lines.push((at, self.requests, event.to_line()));
    }
}

/// Refusals that the other generator does not make.
fn other_failure(request: &Request) -> Option<(&'static str, String, u8)> {
    Some(match request.status {
        422 => (
            "Invalid",
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden \
             for watch unless the WatchList feature gate is enabled"
                .to_owned(),
            0,
        ),
        500 => ("InternalError", "an error on the server has prevented the request from succeeding".to_owned(), 0),
        504 => (
            "Timeout",
            "Timeout: request did not complete within the allotted timeout - context deadline exceeded".to_owned(),
            0,
        ),
        _ => return None,
    })
}
