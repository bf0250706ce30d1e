//! Other reads: R07, R08, R20, R21, R22 and R23.

use super::{again_and_again, bad, cluster_with, some_namespace};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{ACCESS_REVIEWS, CONFIG_MAPS, EVENTS, PODS, SECRETS};
use crate::scenarios::background::{self, Start, daemon_pod};
use crate::scenarios::planned_request::{create, get, list, path};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        bad(
            "r07-events-read",
            "An exporter lists all events every five seconds.",
            "buildkite:agent-stack",
            &["KT103"],
            events_read,
        ),
        bad(
            "r08-get-poll",
            "A controller reads its ConfigMap from etcd every second.",
            "policy:gatekeeper-audit",
            &["KT315", "KT102"],
            get_poll,
        ),
        bad(
            "r08-get-sweep",
            "A controller reads 500 Secrets one by one, over and over.",
            "policy:secret-scanner",
            &["KT102", "KT315"],
            get_sweep,
        ),
        bad(
            "r08-agents-get",
            "The agent of each node reads its 60 pods one by one, over and over.",
            "logging:log-agent",
            &["KT315", "KT102"],
            agents_get,
        ),
        bad(
            "r20-review-flood",
            "A policy engine asks for a review for each request that it sees.",
            "kyverno:background",
            &["KT406"],
            review_flood,
        ),
        bad(
            "r21-discovery-storm",
            "A tool reads all discovery documents for each object that it applies.",
            "ci:applier",
            &["KT302"],
            discovery_storm,
        ),
        bad(
            "r22-retry-loop",
            "A client without rights tries again every second.",
            "team-a:reader",
            &["KT303"],
            retry_loop,
        ),
        bad(
            "r22-missing-object",
            "A client asks twice a second for an object that does not exist.",
            "team-a:waiter",
            &["KT303"],
            missing_object,
        ),
        bad(
            "r23-throttled",
            "A client is refused with 429 and tries again at once.",
            "batch:submitter",
            &["KT304"],
            throttled,
        ),
    ]
}

fn events_read(world: &mut World) {
    let who = cluster_with(
        world,
        ("buildkite", "agent-stack"),
        "agent-stack/v0.24 (linux/amd64) kubernetes/$Format",
    );
    again_and_again(world, who, 5 * SECOND, |_| list(EVENTS).q("resourceVersion", "0"));
}

fn get_poll(world: &mut World) {
    let agent = "gatekeeper/v3.11.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("policy", "gatekeeper-audit"), agent);
    again_and_again(world, who, SECOND, |_| get(CONFIG_MAPS).ns("policy").name("gatekeeper-config"));
}

fn get_sweep(world: &mut World) {
    let agent = "secret-scanner/v0.8.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("policy", "secret-scanner"), agent);
    let mut next = 0;
    world.clock(SECOND, SECOND / 20, move |world| {
        next = (next + 1) % 500;
        world.send(&who, get(SECRETS).ns("shop").name(format!("credentials-{next}")));
    });
}

fn agents_get(world: &mut World) {
    background::add(world, Start::Running);
    for node in world.cluster.nodes.clone().into_iter().take(40) {
        let agent = "Fluent-Bit";
        let who = daemon_pod(world.version, ("logging", "log-agent"), &node.name, agent, &mut world.rng);
        let mut next = 0;
        let first = world.up_to(2 * SECOND);
        world.clock(first, 2 * SECOND, move |world| {
            next = (next + 1) % 60;
            world.send(&who, get(PODS).ns("shop").name(format!("{}-{next}", node.name)));
        });
    }
}

fn review_flood(world: &mut World) {
    let agent = "kyverno/v1.12.5 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("kyverno", "background"), agent);
    again_and_again(world, who, SECOND / 3, |_| create(ACCESS_REVIEWS));
}

const DOCUMENTS: [&str; 8] = [
    "/api?timeout=32s",
    "/apis?timeout=32s",
    "/api/v1?timeout=32s",
    "/apis/apps/v1?timeout=32s",
    "/apis/batch/v1?timeout=32s",
    "/apis/networking.k8s.io/v1?timeout=32s",
    "/apis/policy/v1?timeout=32s",
    "/openapi/v2?timeout=32s",
];

fn discovery_storm(world: &mut World) {
    let agent = "applier/v0.2.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("ci", "applier"), agent);
    world.clock(SECOND, 8 * SECOND, move |world| {
        for document in DOCUMENTS {
            world.send(&who, path(document));
        }
    });
}

fn retry_loop(world: &mut World) {
    let who = cluster_with(world, ("team-a", "reader"), "OpenAPI-Generator/28.1.0/python");
    again_and_again(world, who, SECOND, |_| list(PODS).ns("team-b").status(403).millis(1));
}

fn missing_object(world: &mut World) {
    let agent = "waiter/v1.0.0 (linux/amd64) kubernetes/$Format";
    let who = cluster_with(world, ("team-a", "waiter"), agent);
    again_and_again(world, who, SECOND / 2, |_| get(CONFIG_MAPS).ns("team-a").name("ready").status(404));
}

fn throttled(world: &mut World) {
    let who = cluster_with(world, ("batch", "submitter"), "submitter/v2 (linux/amd64) kubernetes/$Format");
    let mut number = 0;
    world.repeat(4 * MINUTE, move |world| {
        number += 1;
        let planned = some_namespace(world, list, PODS).status(if number % 4 == 0 { 200 } else { 429 });
        world.send(&who, planned);
        (world.now < world.begin + 12 * MINUTE).then_some(SECOND)
    });
}
