//! A normal cluster: the requests of its control plane, its nodes and the usual add-ons.

mod addons;
mod apiserver;
mod autoscaling;
mod controllers;
mod daemons;
mod kubelet;
mod monitoring;
mod operators;
mod scheduler;
mod workloads;

pub use addons::{addon, addon_with_life};
pub use controllers::begin;
pub use daemons::{daemon_pod, start_daemons};
pub use kubelet::{register, run_kubelet};
pub use operators::{elect, elect_while};

use super::world::World;

/// The state of the cluster at the start of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The cluster has been running for weeks.
    Running,
    /// Everything starts within the first minutes.
    Cold,
}

/// Adds a cluster without add-ons, as tests have.
pub fn add_control_plane(world: &mut World, start: Start) {
    apiserver::add(world, start);
    controllers::add(world, start);
    scheduler::add(world, start);
    for node in 0..world.cluster.nodes.len() {
        kubelet::add(world, node, start);
    }
}

/// Adds a normal cluster.
pub fn add(world: &mut World, start: Start) {
    add_control_plane(world, start);
    for node in 0..world.cluster.nodes.len() {
        daemons::add(world, node, start);
    }
    addons::add(world, start);
    autoscaling::add(world, start);
    monitoring::add(world, start);
    operators::add(world, start);
    workloads::add(world);
}
