//! Writes: R16 to R19, R24, and events.

use super::{again_and_again, bad, cluster_with, some_namespace};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    CERTIFICATES, CONFIG_MAPS, CRDS, DATABASES, DEPLOYMENTS, EVENTS, Kind, LEASES, PODS, namespaced,
};
use crate::scenarios::planned_request::{create, delete, get, patch, update};
use crate::scenarios::world::{MINUTE, SECOND};

const POLICY_REPORTS: Kind = namespaced("wgpolicyk8s.io", "v1alpha2", "policyreports");

pub fn all() -> Vec<Scenario> {
    vec![
        bad(
            "r16-write-hot-loop",
            "A provider writes the same definition four times a second.",
            "crossplane:crossplane",
            &["KT401"],
            hot_loop,
        ),
        bad(
            "r16-write-rate",
            "A controller patches 3,000 objects, 50 a second.",
            "kyverno:reports",
            &["KT407"],
            write_rate,
        )
        .error(),
        bad(
            "r17-conflict-storm",
            "Two writers of the same objects meet all the time.",
            "rollouts:syncer",
            &["KT402"],
            conflicts,
        ),
        bad(
            "r18-already-exists",
            "A controller creates what exists, every second.",
            "kubewarden:policy-server",
            &["KT403"],
            already_exists,
        ),
        bad(
            "r19-lease-pressure",
            "A lock is renewed four times a second.",
            "secrets:operator",
            &["KT405"],
            lease_pressure,
        ),
        bad(
            "r24-bulk-delete",
            "A script deletes pods one by one, 200 a minute.",
            "cleanup:reaper",
            &["KT404"],
            bulk_delete,
        ),
        bad(
            "event-flood",
            "A controller writes an Event in each reconciliation.",
            "alerts:notifier",
            &["KT409"],
            event_flood,
        ),
        bad(
            "get-before-status",
            "An operator reads each object before it writes its status.",
            "db:db-operator",
            &["KT410", "KT102"],
            get_before_status,
        ),
    ]
}

fn hot_loop(world: &mut World) {
    let agent = "crossplane/v1.14.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("crossplane", "crossplane"), agent);
    again_and_again(world, who, SECOND / 4, |_| update(CRDS).name("buckets.s3.aws.example.com"));
}

fn write_rate(world: &mut World) {
    let agent = "reports-controller/v1.11.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("kyverno", "reports"), agent);
    let mut next = 0;
    world.clock(MINUTE, SECOND / 50, move |world| {
        next = (next + 1) % 3_000;
        let namespace = world.cluster.namespaces[next % world.cluster.namespaces.len()].clone();
        world.send(&who, patch(POLICY_REPORTS).ns(namespace).name(format!("report-{next}")));
    });
}

fn conflicts(world: &mut World) {
    let who = cluster_with(world, ("rollouts", "syncer"), "syncer/v0.5 (linux/amd64) kubernetes/$Format");
    again_and_again(world, who, 2 * SECOND, |world| {
        let name = format!("api-{}", world.rng.below(5));
        let status = if world.rng.percent(60) { 409 } else { 200 };
        update(DEPLOYMENTS).ns("shop").name(name).status(status)
    });
}

fn already_exists(world: &mut World) {
    let agent = "kubewarden-controller/v1.6.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("kubewarden", "policy-server"), agent);
    again_and_again(world, who, SECOND, |_| {
        create(CONFIG_MAPS).ns("kubewarden").name("policy-server-default").status(409)
    });
}

fn lease_pressure(world: &mut World) {
    let who = cluster_with(
        world,
        ("secrets", "operator"),
        "secrets-operator/v0.4 (linux/amd64) kubernetes/$Format",
    );
    again_and_again(world, who, SECOND / 4, |_| update(LEASES).ns("secrets").name("secrets-operator"));
}

fn bulk_delete(world: &mut World) {
    let who = cluster_with(world, ("cleanup", "reaper"), "python-requests/2.31.0");
    again_and_again(world, who, SECOND * 3 / 10, |world| {
        let name = format!("job-{}", world.rng.suffix(5));
        some_namespace(world, delete, PODS).name(name)
    });
}

fn event_flood(world: &mut World) {
    let who = cluster_with(world, ("alerts", "notifier"), "notifier/v3.1 (linux/amd64) kubernetes/$Format");
    again_and_again(world, who, SECOND / 10, |world| {
        let name = format!("alert.{:x}", world.revision);
        some_namespace(world, create, EVENTS).name(name)
    });
}

fn get_before_status(world: &mut World) {
    let who =
        cluster_with(world, ("db", "db-operator"), "db-operator/v0.1.0 (linux/amd64) kubernetes/$Format");
    world.repeat(MINUTE, move |world| {
        let name = format!("tls-{}", world.rng.below(20));
        world.send(&who, get(CERTIFICATES).ns("shop").name(&*name));
        world.send(&who, update(DATABASES).ns("shop").name(name).sub("status"));
        Some(world.between(SECOND / 3, SECOND))
    });
}
