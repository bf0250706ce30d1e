//! Watches: R10 to R14, and R32.

use super::{bad, cluster_with};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{CONFIG_MAPS, DEPLOYMENTS, NODES, PODS, SECRETS, SERVICES, STATEFUL_SETS};
use crate::scenarios::background::{self, Start, daemon_pod};
use crate::scenarios::identity::{Identity, Who};
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::{list, watch};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        bad(
            "r10-relist-loop",
            "WATCHes expire at once, and a LIST follows each.",
            "metrics:kube-state-metrics",
            &["KT309"],
            relist_loop,
        ),
        bad(
            "r11-watch-churn",
            "WATCHes that end after 10 seconds.",
            "capi:capi-controller",
            &["KT310"],
            watch_churn,
        ),
        bad(
            "r12-duplicate-informers",
            "A pod watches all pods four times.",
            "net:operator",
            &["KT312"],
            duplicates,
        ),
        bad(
            "r13-per-object-watches",
            "A controller watches 400 Secrets one by one.",
            "vault:injector",
            &["KT301"],
            per_object,
        ),
        bad(
            "r14-watch-list-fallback",
            "Agents ask for streams that the server refuses.",
            "edge:agent",
            &["KT314"],
            fallback,
        )
        .unless_streams(),
        bad(
            "r32-double-start",
            "Each pod of a DaemonSet lists twice when it starts.",
            "logs:shipper",
            &["KT313"],
            double_start,
        ),
    ]
}

fn open_for(
    world: &mut World,
    who: &Who,
    planned: crate::scenarios::planned_request::PlannedRequest,
    life: i64,
) {
    let planned = planned.q("resourceVersion", (world.revision - 20).to_string()).q("watch", "true");
    let open = world.open(who, planned.q("allowWatchBookmarks", "true"));
    let who = who.clone();
    world.after(life, move |world| world.close(&who, open));
}

fn relist_loop(world: &mut World) {
    let agent = "kube-state-metrics/v1.9.7 (linux/amd64) kube-state-metrics/e4cde0c";
    let who = cluster_with(world, ("metrics", "kube-state-metrics"), agent);
    world.clock(MINUTE, 15 * SECOND, move |world| {
        world.send(&who, list(PODS).q("limit", "500"));
        let who = who.clone();
        world.after(SECOND, move |world| open_for(world, &who, watch(PODS), SECOND / 50));
    });
}

fn watch_churn(world: &mut World) {
    let who = cluster_with(
        world,
        ("capi", "capi-controller"),
        "capi-controller/v0.4.2 (linux/amd64) kubernetes/$Format",
    );
    world.clock(SECOND, 10 * SECOND, move |world| {
        let planned = watch(DEPLOYMENTS).q("timeoutSeconds", "10").q("timeout", "10s");
        open_for(world, &who, planned, 10 * SECOND - SECOND / 100);
    });
}

fn duplicates(world: &mut World) {
    let who = cluster_with(world, ("net", "operator"), "net-operator/v1.0 (linux/amd64) kubernetes/$Format");
    for _ in 0..4 {
        drop(Informer::new(&who, PODS).start(world, MINUTE));
    }
}

fn per_object(world: &mut World) {
    let who =
        cluster_with(world, ("vault", "injector"), "vault-injector/v1.4 (linux/amd64) kubernetes/$Format");
    for object in 0..400 {
        drop(
            Informer::new(&who, SECRETS)
                .ns("shop")
                .fields(format!("metadata.name=secret-{object}"))
                .running(world),
        );
    }
}

/// A pod of a DaemonSet that is built with a newer client-go than the cluster is.
fn streaming(world: &mut World, node: &str) -> Who {
    let agent = "edge-agent/v4.0.0 (linux/amd64) kubernetes/$Format";
    let who = daemon_pod(world.version, ("edge", "agent"), node, agent, &mut world.rng);
    let Ok(identity) = std::rc::Rc::try_unwrap(who) else { unreachable!("nobody else has it yet") };
    Who::new(Identity { streams: true, ..identity })
}

fn fallback(world: &mut World) {
    background::add(world, Start::Running);
    for node in world.cluster.nodes.clone() {
        let who = streaming(world, &node.name);
        for kind in [CONFIG_MAPS, NODES, SERVICES, STATEFUL_SETS] {
            let delay = world.between(MINUTE, 5 * MINUTE);
            drop(Informer::new(&who, kind).ns(if kind.namespaced { "edge" } else { "" }).start(world, delay));
        }
    }
}

fn double_start(world: &mut World) {
    background::add(world, Start::Running);
    for node in world.cluster.nodes.clone() {
        let agent = "log-shipper/v5.2.0 (linux/amd64) kubernetes/$Format";
        let who = daemon_pod(world.version, ("logs", "shipper"), &node.name, agent, &mut world.rng);
        let at = world.between(2 * MINUTE, 20 * MINUTE);
        world.after(at, move |world| {
            world.send(&who, list(PODS).first_list());
            drop(Informer::new(&who, PODS).start(world, 2 * SECOND));
        });
    }
}
