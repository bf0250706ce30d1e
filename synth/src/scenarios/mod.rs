//! Audit logs of whole clusters: a normal control plane, and one scenario.
//!
//! An event-driven simulation: actors wake up at their times and send requests. The same seed gives the same bytes.

pub mod api;
mod background;
mod bad;
mod benign;
mod cluster;
mod identity;
mod informer;
mod life;
mod planned_request;
mod pods;
mod tested_operator;
mod version;
mod world;

pub use version::Version;
pub use world::World;

/// The cluster and the log.
#[derive(Clone, Copy)]
pub struct Settings {
    pub nodes: usize,
    pub minutes: i64,
    pub version: Version,
    pub seed: u64,
    /// Whether the audit policy logs RequestReceived.
    pub received: bool,
}

/// A scenario: one thing that happens in a cluster.
pub struct Scenario {
    pub name: &'static str,
    pub summary: &'static str,
    /// Adds the cluster and the scenario.
    pub add: fn(&mut World),
    /// The expected findings; none on a good day.
    pub expected: Option<Expected>,
}

/// The expected findings on the bad client.
pub struct Expected {
    /// The end of its identity; empty for the log itself.
    pub client: &'static str,
    /// At least one of these rules finds it.
    pub rules: &'static [&'static str],
    /// Whether one of the findings is an error.
    pub error: bool,
    /// The last minor version on which it is bad.
    pub until: u16,
    /// The pattern is harmless on servers that stream initial events.
    pub unless_streams: bool,
}

impl Scenario {
    /// A scenario without findings.
    pub const fn quiet(name: &'static str, summary: &'static str, add: fn(&mut World)) -> Self {
        Self { name, summary, add, expected: None }
    }

    /// The expected findings on a cluster of this release.
    pub fn expected_on(&self, version: Version) -> Option<&Expected> {
        let expected = self.expected.as_ref()?;
        let served_well =
            expected.until < version.minor || expected.unless_streams && version.serves_streams();
        (!served_well).then_some(expected)
    }
}

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    let mut all = benign::all();
    all.extend(bad::all());
    all
}

/// The log of a scenario.
pub fn log(scenario: &Scenario, settings: Settings) -> Vec<u8> {
    let Settings { nodes, minutes, version, seed, received } = settings;
    let mut world = World::new(seed, nodes, minutes, version, received);
    (scenario.add)(&mut world);
    world.run()
}
