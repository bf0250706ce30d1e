//! The scenarios of good days: none gives a warning or an error.

mod gitops;
mod helm;
mod nodes;
mod operators;
mod people;
mod platform;
mod workloads;

use super::background::{self, Start};
use super::{Scenario, World};

/// A scenario beside a cluster that has been running for weeks.
pub const fn scenario(name: &'static str, summary: &'static str, add: fn(&mut World)) -> Scenario {
    Scenario::quiet(name, summary, add)
}

pub fn all() -> Vec<Scenario> {
    let mut all = vec![scenario("normal", "Nothing special happens.", normal)];
    all.extend(nodes::all());
    all.extend(workloads::all());
    all.extend(helm::all());
    all.extend(gitops::all());
    all.extend(people::all());
    all.extend(operators::all());
    all.extend(platform::all());
    all
}

/// The cluster as it is every day.
pub fn normal(world: &mut World) {
    background::add(world, Start::Running);
}
