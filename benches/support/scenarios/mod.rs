//! Audit logs of whole clusters: a normal control plane, and beside it one thing that happens.
//!
//! An event-driven simulation: actors wake up at their times and send requests. The same seed gives the same bytes.

pub mod api;
mod ask;
mod background;
mod benign;
mod cluster;
mod identity;
mod informer;
mod life;
mod pods;
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

/// What happens in a log.
pub struct Scenario {
    pub name: &'static str,
    pub summary: &'static str,
    /// Adds the cluster and what happens in it.
    pub add: fn(&mut World),
}

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    benign::all()
}

/// The log of a scenario.
pub fn log(scenario: &Scenario, settings: Settings) -> Vec<u8> {
    let Settings { nodes, minutes, version, seed, received } = settings;
    let mut world = World::new(seed, nodes, minutes, version, received);
    (scenario.add)(&mut world);
    world.run()
}
