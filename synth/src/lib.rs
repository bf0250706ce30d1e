//! An audit log as an apiserver writes it, made up from a seed: the same seed gives the same bytes on every machine.
//!
//! `examples/generate_log.rs`, the benchmarks and the tests each use a part of it.

pub mod acts;
pub mod amplify;
mod body;
pub mod cast;
pub mod event;
pub mod fleet;
mod rng;
pub mod scenarios;
pub mod time;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use rng::Rng;

use body::Bodies;
use cast::Client;
use event::{Event, Stages};

/// When all logs begin, in microseconds since 1970: 2026-07-01T08:00:00Z.
pub const BEGIN: i64 = 1_782_892_800_000_000;
/// Twice the mean time between two requests, in microseconds: about 120 requests a second.
const PAUSE: u64 = 16_000;
/// How many of a hundred requests are the control plane's.
const CONTROL_PLANE_SHARE: u64 = 35;

/// An endless log: an iterator over its lines.
///
/// Lines are in the order in which the server writes them, that of their stages, so the lines of one request lie
/// apart, and many a watch has not ended when the log does.
pub struct Log {
    rng: Rng,
    clients: Vec<Client>,
    /// The number of control plane clients, which come first.
    control_plane: usize,
    now: i64,
    /// The cluster's resourceVersion.
    revision: u64,
    requests: u64,
    /// At the level `RequestResponse`, what bodies are drawn from; with numbers of its own, so that both levels hold the
    /// same requests.
    bodies: Option<Rng>,
    pending: BinaryHeap<Reverse<(i64, u64, String)>>,
}

impl Log {
    /// A log of the control plane and of `clients` other clients.
    pub fn new(seed: u64, clients: usize) -> Self {
        let mut rng = Rng::new(seed);
        let (clients, control_plane) = cast::cast(&mut rng, clients);
        Self {
            rng,
            clients,
            control_plane,
            now: BEGIN,
            revision: 480_000,
            requests: 0,
            bodies: None,
            pending: BinaryHeap::new(),
        }
    }

    /// The same log at the level `RequestResponse`.
    pub fn with_bodies(seed: u64, clients: usize) -> Self {
        Self { bodies: Some(Rng::new(!seed)), ..Self::new(seed, clients) }
    }

    fn request(&mut self) {
        let pause = self.rng.below(PAUSE);
        self.now += i64::try_from(pause).expect("a pause is short");
        self.requests += 1;
        self.revision += self.rng.below(3);
        let others = self.clients.len() - self.control_plane;
        let client = if others == 0 || self.rng.percent(CONTROL_PLANE_SHARE) {
            self.rng.index(self.control_plane)
        } else {
            self.control_plane + self.rng.index(others)
        };
        let client = &self.clients[client];
        let request = acts::act(client, self.revision, &mut self.rng);
        let id = self.rng.uuid();
        let responded = self.now + micros(self.rng.below(4_000) + 60);
        let ended = match request.stages {
            Stages::Three => responded + micros(request.micros),
            Stages::Two | Stages::Refused => self.now + micros(request.micros),
        };
        let bodies = self.bodies.as_mut().map(|rng| Bodies::new(&request, rng));
        let bodies = bodies.as_ref();
        let received = self.now;
        let event = |stage, at| Event { client, request: &request, id: &id, stage, received, at, bodies };
        let events = match request.stages {
            Stages::Two => {
                [Some(event("RequestReceived", self.now)), None, Some(event("ResponseComplete", ended))]
            }
            Stages::Three => [
                Some(event("RequestReceived", self.now)),
                Some(event("ResponseStarted", responded)),
                Some(event("ResponseComplete", ended)),
            ],
            Stages::Refused => [None, Some(event("ResponseStarted", ended)), None],
        };
        for event in events.into_iter().flatten() {
            self.pending.push(Reverse((event.at, self.requests, event.to_line())));
        }
    }
}

impl Iterator for Log {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.pending.peek().is_none_or(|Reverse((at, ..))| *at > self.now) {
            self.request();
        }
        self.pending.pop().map(|Reverse((.., line))| line)
    }
}

/// The first lines of a log, as many as make up the size, each with its line feed.
pub fn log(seed: u64, clients: usize, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size + 4_096);
    for line in Log::new(seed, clients) {
        if bytes.len() >= size {
            break;
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn micros(duration: u64) -> i64 {
    i64::try_from(duration).expect("requests end within an hour")
}
