//! A fleet: pods of one DaemonSet that only list and watch the pods of their node.

use super::cast::{Client, agent_of_fleet};
use super::event::{Event, Request};
use super::rng::Rng;
use super::{BEGIN, acts, micros};

/// One in this many requests of a pod is a LIST. The others are watches.
const LIST_EVERY: u64 = 10;
/// The time between two requests of the fleet, in microseconds.
const PAUSE: i64 = 150;

/// An endless log of LISTs and watches: an iterator over its lines. RequestReceived is omitted, as in many
/// policies.
pub struct Fleet {
    rng: Rng,
    pods: Vec<Client>,
    requests: u64,
    now: i64,
    second: Option<String>,
}

impl Fleet {
    /// A log of `pods` pods, each on its own node.
    pub fn new(seed: u64, pods: usize) -> Self {
        let mut rng = Rng::new(seed);
        let pods = (0..pods).map(|number| agent_of_fleet(number, &mut rng)).collect();
        Self { rng, pods, requests: 0, now: BEGIN, second: None }
    }
}

impl Iterator for Fleet {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if let Some(line) = self.second.take() {
            return Some(line);
        }
        let fleet = self.pods.len() as u64;
        let pod = &self.pods[usize::try_from(self.requests % fleet).expect("an index")];
        let is_list = (self.requests / fleet).is_multiple_of(LIST_EVERY);
        let request: Request = acts::of_fleet(is_list, &pod.name, self.requests, &mut self.rng);
        self.requests += 1;
        self.now += PAUSE;
        let id = self.rng.uuid();
        let event = |stage, at| {
            Event { client: pod, request: &request, id: &id, stage, received: self.now, at, bodies: None }
                .to_line()
        };
        let ended = event("ResponseComplete", self.now + micros(request.micros));
        if is_list {
            return Some(ended);
        }
        self.second = Some(ended);
        Some(event("ResponseStarted", self.now + 500))
    }
}
