//! One bad client beside a normal cluster, for each pattern of R01 to R33 that a log can show.

mod lists;
mod other;
mod reads;
mod watches;
mod writes;

use super::api::Kind;
use super::background::{self, Start};
use super::identity::Who;
use super::planned_request::PlannedRequest;
use super::world::World;
use super::{Expected, Scenario};

pub fn all() -> Vec<Scenario> {
    let mut all = lists::all();
    all.extend(reads::all());
    all.extend(watches::all());
    all.extend(writes::all());
    all.extend(other::all());
    all
}

/// A scenario with a client that one of these rules finds.
fn bad(
    name: &'static str,
    summary: &'static str,
    client: &'static str,
    rules: &'static [&'static str],
    add: fn(&mut World),
) -> Scenario {
    let expected = Expected { client, rules, error: false, until: u16::MAX, unless_streams: false };
    Scenario { expected: Some(expected), ..Scenario::quiet(name, summary, add) }
}

impl Scenario {
    /// One of the findings is an error.
    fn error(mut self) -> Self {
        if let Some(expected) = &mut self.expected {
            expected.error = true;
        }
        self
    }

    /// It is bad up to this minor version; newer servers serve it well.
    fn until(mut self, minor: u16) -> Self {
        if let Some(expected) = &mut self.expected {
            expected.until = minor;
        }
        self
    }

    /// It is bad only where the server does not stream.
    fn unless_streams(mut self) -> Self {
        if let Some(expected) = &mut self.expected {
            expected.unless_streams = true;
        }
        self
    }
}

/// A cluster that has been running, and a pod of a bad Deployment in it.
fn cluster_with(world: &mut World, service_account: (&str, &str), agent: &str) -> Who {
    background::add(world, Start::Running);
    world.deployed(service_account, agent)
}

/// Sends the same request by a timer.
fn again_and_again(
    world: &mut World,
    who: Who,
    period: i64,
    planned: impl Fn(&mut World) -> PlannedRequest + 'static,
) {
    let first = world.up_to(period);
    world.clock(first, period, move |world| {
        let planned = planned(world);
        world.send(&who, planned);
    });
}

/// Some collection in some namespace.
fn some_namespace(world: &mut World, planned: fn(Kind) -> PlannedRequest, kind: Kind) -> PlannedRequest {
    let namespace = world.rng.pick(&world.cluster.namespaces).clone();
    planned(kind).ns(namespace)
}
