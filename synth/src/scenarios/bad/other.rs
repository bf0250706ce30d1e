//! Latency, identity, deprecated APIs, and logs that lack reads: R26 to R29, and R33.

use super::{again_and_again, bad, cluster_with, some_namespace};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{CONFIG_MAPS, DEPLOYMENTS, Kind, PODS, SECRETS, cluster};
use crate::scenarios::background::{self, Start};
use crate::scenarios::planned_request::{create, get, list, patch, update};
use crate::scenarios::world::SECOND;

pub fn all() -> Vec<Scenario> {
    vec![
        bad(
            "r26-webhook-tax",
            "A webhook takes two seconds of each write.",
            "apps:deployer",
            &["KT306", "KT411"],
            webhook,
        ),
        bad("r27-slow-writes", "Writes of one client take seconds in etcd.", "big:writer", &["KT306"], slow),
        bad(
            "r28-shared-identity",
            "Three programs use the default ServiceAccount.",
            "legacy:default",
            &["KT501"],
            shared,
        ),
        bad(
            "r29-deprecated-api",
            "A client asks for a version that the next releases remove.",
            "old:client",
            &["KT207"],
            deprecated,
        )
        .until(31),
        bad("r33-no-reads", "The audit policy drops all reads.", "", &["KT901"], no_reads),
    ]
}

fn webhook(world: &mut World) {
    let who = cluster_with(world, ("apps", "deployer"), "deployer/v1.0 (linux/amd64) kubernetes/$Format");
    again_and_again(world, who, 6 * SECOND, |world| {
        let name = format!("api-{}", world.rng.below(80));
        let planned = some_namespace(world, patch, DEPLOYMENTS).name(name).millis(2_300);
        planned.note("apiserver.latency.k8s.io/mutating-webhook", "2.013s")
    });
}

fn slow(world: &mut World) {
    let who = cluster_with(world, ("big", "writer"), "writer/v1.0 (linux/amd64) kubernetes/$Format");
    again_and_again(world, who, 8 * SECOND, |world| {
        let name = format!("model-{}", world.rng.below(100));
        some_namespace(world, update, CONFIG_MAPS).name(name).millis(3_100)
    });
}

fn shared(world: &mut World) {
    background::add(world, Start::Running);
    for (agent, pause) in [("manager/v0.0.0", 3), ("Go-http-client/2.0", 4), ("okhttp/4.9.3", 5)] {
        let who = world.deployed(("legacy", "default"), agent);
        again_and_again(world, who, pause * SECOND, move |world| {
            let name = format!("config-{}", world.rng.below(400));
            if world.rng.percent(50) {
                some_namespace(world, get, CONFIG_MAPS).name(name)
            } else {
                some_namespace(world, create, SECRETS).name(name)
            }
        });
    }
}

/// A version that the next release or the one after it no longer serves.
fn old_version(minor: u16) -> (Kind, &'static str) {
    match minor {
        ..=25 => (cluster("flowcontrol.apiserver.k8s.io", "v1beta1", "flowschemas"), "1.26"),
        26..=28 => (cluster("flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas"), "1.29"),
        _ => (cluster("flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas"), "1.32"),
    }
}

fn deprecated(world: &mut World) {
    let who = cluster_with(world, ("old", "client"), "old-client/v0.1 (linux/amd64) kubernetes/$Format");
    let (kind, removed) = old_version(world.version.minor);
    world.every(120 * SECOND, move |world| {
        let planned = get(kind).name("exempt").note("k8s.io/deprecated", "true");
        world.send(&who, planned.note("k8s.io/removed-release", removed));
        world.send(&who, list(PODS).ns("old").first_list());
    });
}

fn no_reads(world: &mut World) {
    world.writes_only = true;
    background::add(world, Start::Running);
}
