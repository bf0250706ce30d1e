//! Operators and other controllers that start, restart, and elect leaders.

use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    CONFIG_MAPS, CRDS, DATABASES, DEPLOYMENTS, EVENTS, JOBS, Kind, LEASES, NAMESPACES, NODES, PODS, SECRETS,
    SERVICES, STATEFUL_SETS,
};
use crate::scenarios::background::{Start, addon_with_life, daemon_pod, elect_while};
use crate::scenarios::identity::{Who, kubectl, person};
use crate::scenarios::informer::Informer;
use crate::scenarios::life::Life;
use crate::scenarios::planned_request::{create, get, patch, path, update};
use crate::scenarios::tested_operator;
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        scenario("operator-rollouts", "An operator with 200 objects is rolled out twice.", operator_rollouts),
        scenario(
            "leader-election",
            "The leader of three replicas dies, and another takes over.",
            leader_election,
        ),
        scenario("agents-rollout", "The agents of all nodes are rolled out, four at a time.", agents_rollout),
        scenario(
            "tested-operator",
            "A test creates ten objects of an operator in a small cluster.",
            tested_operator::good,
        ),
        scenario("tested-operator-100", "The same test with 100 objects.", tested_operator::with_100_orders),
        scenario("crd-installation", "40 CustomResourceDefinitions are applied.", crd_installation),
    ]
}

const OWNED: [Kind; 9] =
    [CONFIG_MAPS, DATABASES, DEPLOYMENTS, JOBS, NAMESPACES, PODS, SECRETS, SERVICES, STATEFUL_SETS];
const AGENT: &str = "queue-operator/v2.3.0 (linux/amd64) kubernetes/$Format";

fn operator_rollouts(world: &mut World) {
    normal(world);
    let mut old = addon_with_life(world, ("queues", "queue-operator"), AGENT, Start::Running, &OWNED).1;
    for rollout in 0..2 {
        let new = Life::default();
        let (before, after) = (old, new.clone());
        old = new;
        world.after((4 + 10 * rollout) * MINUTE, move |world| {
            start_operator(world, &after);
            // The new pod waits until the old one releases the lease.
            world.after(2 * SECOND, move |world| before.end(world));
        });
    }
}

/// A start: discovery, the lease, informers, and then each object once.
fn start_operator(world: &mut World, life: &Life) {
    let who = world.deployed(("queues", "queue-operator"), AGENT);
    for document in ["/api", "/apis", "/version"] {
        world.send(&who, path(document));
    }
    for group in
        ["apps", "batch", "coordination.k8s.io", "postgresql.example.com", "rbac.authorization.k8s.io"]
    {
        world.send(&who, path(format!("/apis/{group}/v1")));
    }
    let (leader, led) = (who.clone(), life.clone());
    life.after(world, 4 * SECOND, move |world| {
        elect_while(world, &led, &leader, "queues", "queue-operator", true);
    });
    for kind in OWNED {
        life.add(Informer::new(&who, kind).start(world, 4 * SECOND));
    }
    for object in 0..200 {
        let who = who.clone();
        life.after(world, 6 * SECOND + object * SECOND / 20, move |world| reconcile(world, &who, object));
    }
}

fn reconcile(world: &mut World, who: &Who, object: i64) {
    let (ns, name) = ("queues", format!("queue-{object}"));
    world.send(who, get(SECRETS).ns(ns).name(format!("{name}-password")));
    world.send(who, update(STATEFUL_SETS).ns(ns).name(&*name));
    world.send(who, update(DATABASES).ns(ns).name(&*name).sub("status"));
}

fn leader_election(world: &mut World) {
    normal(world);
    let lives = [Life::default(), Life::default(), Life::default()];
    let agent = "backup-operator/v1.1.0 (linux/amd64) kubernetes/$Format/leader-election";
    let replicas: Vec<Who> = (0..3).map(|_| world.deployed(("backup", "backup-operator"), agent)).collect();
    for (index, (who, life)) in replicas.iter().zip(&lives).enumerate() {
        elect_while(world, life, who, "backup", "backup-operator", index == 0);
    }
    for kind in OWNED {
        lives[0].add(Informer::new(&replicas[0], kind).running(world));
    }
    let (who, loser) = (replicas[1].clone(), replicas[2].clone());
    world.after(10 * MINUTE, move |world| {
        lives[0].end(world);
        world.after(15 * SECOND, move |world| {
            let lease = || update(LEASES).ns("backup").name("backup-operator");
            world.send(&who, lease());
            world.send(&loser, lease().status(409));
            world.send(&who, create(EVENTS).ns("backup").name("backup-operator.17e0"));
            let led = Life::default();
            elect_while(world, &led, &who, "backup", "backup-operator", true);
            for kind in OWNED {
                led.add(Informer::new(&who, kind).start(world, SECOND));
            }
        });
    });
}

/// Each pod reads discovery once, at its start.
fn agents_rollout(world: &mut World) {
    normal(world);
    let agent = "node-driver/v2.1.0 (linux/amd64) kubernetes/$Format";
    for (number, node) in (0..).zip(world.cluster.nodes.clone()) {
        let who = daemon_pod(world.version, ("storage", "node-driver"), &node.name, agent, &mut world.rng);
        let at = 3 * MINUTE + number / 4 * 25 * SECOND + world.up_to(5 * SECOND);
        world.after(at, move |world| {
            for document in ["/api", "/apis", "/api/v1", "/apis/storage.k8s.io/v1"] {
                for part in ["", "?timeout=32s"] {
                    world.send(&who, path(format!("{document}{part}")));
                }
            }
            drop(
                Informer::new(&who, NODES)
                    .fields(format!("metadata.name={}", node.name))
                    .start(world, SECOND),
            );
        });
    }
}

fn crd_installation(world: &mut World) {
    normal(world);
    let agent = kubectl(world.version);
    let admin = person("platform-admin", agent);
    let server =
        crate::scenarios::identity::component(world.version, "system:apiserver", "kube-apiserver", "");
    for number in 0..40 {
        let (admin, server) = (admin.clone(), server.clone());
        world.after(5 * MINUTE + number * SECOND / 3, move |world| {
            let name = format!("things-{number}.example.com");
            world.send(&admin, get(CRDS).name(&*name).status(404));
            world.send(&admin, create(CRDS).name(&*name).q("fieldManager", "kubectl-client-side-apply"));
            for _ in 0..3 {
                world.send(&server, update(CRDS).name(&*name).sub("status"));
            }
            world.send(&server, path("/openapi/v2"));
            let collector = world.cluster.controller("generic-garbage-collector");
            world.send(&collector, path("/apis/example.com/v1"));
            drop(
                Informer::new(&collector, DATABASES)
                    .fields(format!("metadata.name={name}"))
                    .start(world, SECOND),
            );
        });
    }
    world.after(6 * MINUTE, move |world| world.send(&admin, patch(NODES).name("node-0")));
}
