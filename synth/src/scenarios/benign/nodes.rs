//! Nodes that join, leave, and are upgraded.

use std::rc::Rc;

use super::super::background::{self, Start, register, run_kubelet, start_daemons};
use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{LEASES, NODES, PODS, SIGNING_REQUESTS};
use crate::scenarios::cluster::{Workload, node};
use crate::scenarios::identity::{self, Who, kubelet, person};
use crate::scenarios::life::Life;
use crate::scenarios::planned_request::{create, delete, get, list, patch, update, watch};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        scenario("cluster-start", "All nodes and controllers start within minutes.", |world| {
            background::add(world, Start::Cold);
        }),
        scenario(
            "rolling-upgrade",
            "Each node is drained and comes back with a newer kubelet.",
            rolling_upgrade,
        ),
        scenario("node-autoscaling", "50 nodes join, and leave again.", node_autoscaling),
        scenario(
            "certificate-rotation",
            "All kubelets renew their certificates within 10 minutes.",
            certificates,
        ),
        scenario(
            "daemon-set-rollout",
            "A new version of the log agent reaches all nodes.",
            daemon_set_rollout,
        ),
    ]
}

fn rolling_upgrade(world: &mut World) {
    let old = world.version.previous();
    for node in &mut world.cluster.nodes {
        let address = node.kubelet.client.address.clone();
        node.kubelet = kubelet(old, &node.name, &address);
    }
    normal(world);
    let agent = identity::kubectl(world.version);
    let admin = person("platform-admin", agent);
    let nodes = i64::try_from(world.cluster.nodes.len()).expect("few nodes");
    let pause = (world.span() - 4 * MINUTE) / nodes;
    for index in 0..world.cluster.nodes.len() {
        let admin = admin.clone();
        let at = MINUTE + pause * i64::try_from(index).expect("few nodes");
        world.after(at, move |world| upgrade(world, index, &admin));
    }
}

/// Drains a node, and starts its kubelet again in the new version.
fn upgrade(world: &mut World, index: usize, admin: &Who) {
    let name = world.cluster.nodes[index].name.clone();
    world.send(admin, list(PODS).q("fieldSelector", format!("spec.nodeName={name}")).q("limit", "500"));
    drain(world, index, admin, SECOND);
    let admin = admin.clone();
    world.after(70 * SECOND, move |world| {
        let old = world.cluster.nodes[index].clone();
        old.life.end(world);
        let version = world.version;
        let node = &mut world.cluster.nodes[index];
        node.kubelet = kubelet(version, &old.name, &old.kubelet.client.address);
        node.life = Life::default();
        let node = node.clone();
        world.after(15 * SECOND, move |world| {
            run_kubelet(world, &node, Start::Cold);
            start_daemons(world, index, Start::Cold);
            world.send(&admin, get(NODES).name(&*node.name));
            world.send(&admin, patch(NODES).name(&*node.name).q("fieldManager", "kubectl-drain"));
        });
    });
}

/// Evictions. A PodDisruptionBudget refuses some of them for a while. kubectl drain reads each pod until it is gone.
fn drain(world: &mut World, index: usize, admin: &Who, pause: i64) {
    let name = world.cluster.nodes[index].name.clone();
    world.send(admin, get(NODES).name(&*name));
    world.send(admin, patch(NODES).name(&*name).q("fieldManager", "kubectl-drain"));
    let sets = world.cluster.controller("replicaset-controller");
    for number in 0..12 {
        let workload: Workload = world.rng.pick(&world.cluster.workloads).clone();
        let owner = format!("{}-{}", workload.name, workload.hash);
        let pod = world.old_pod(&workload.namespace, &owner);
        let refused = if number % 4 == 0 { 1 + world.rng.below(3) } else { 0 };
        let (admin, sets) = (admin.clone(), Rc::clone(&sets));
        let mut tries = 0;
        world.repeat(SECOND / 20, move |world| {
            let eviction = create(PODS).ns(&*pod.namespace).name(&*pod.name).sub("eviction");
            tries += 1;
            if tries <= refused {
                world.send(&admin, eviction.status(429));
                return Some(5 * SECOND);
            }
            world.send(&admin, eviction);
            world.end_pod(&pod);
            world.create_pod(&sets, &workload.namespace, &owner);
            world.replicas_change(&workload, &workload.hash);
            wait_for_end(world, &admin, &pod.namespace, &pod.name, pause);
            None
        });
    }
}

/// Reads an evicted pod until it is gone: kubectl every second, cluster-autoscaler every five.
fn wait_for_end(world: &mut World, admin: &Who, namespace: &str, pod: &str, pause: i64) {
    let (admin, namespace, pod) = (admin.clone(), namespace.to_owned(), pod.to_owned());
    let ends = world.now + world.between(2 * SECOND, 20 * SECOND);
    world.repeat(pause, move |world| {
        let status = if world.now > ends { 404 } else { 200 };
        world.send(&admin, get(PODS).ns(&*namespace).name(&*pod).status(status));
        (status == 200).then_some(pause)
    });
}

fn node_autoscaling(world: &mut World) {
    normal(world);
    let agent = format!("cluster-autoscaler/v1.{}.2 (linux/amd64) kubernetes/$Format", world.version.minor);
    let autoscaler = world.deployed(("kube-system", "cluster-autoscaler"), &agent);
    let first = world.cluster.nodes.len();
    for number in 0..50 {
        let joins = 2 * MINUTE + i64::try_from(number).expect("few") * 8 * SECOND;
        let leaves = joins + world.span() / 2;
        world.after(joins, move |world| {
            let version = world.version;
            let node = node(first + number, version);
            world.cluster.nodes.push(node.clone());
            let index = world.cluster.nodes.len() - 1;
            register(world, &node);
            world.after(20 * SECOND, move |world| start_daemons(world, index, Start::Cold));
            for workload in world.cluster.workloads.clone().iter().take(6) {
                world.scale_up(workload, 1);
            }
        });
        let autoscaler = autoscaler.clone();
        world.after(leaves, move |world| {
            let Some(node) = world.cluster.nodes.get(first + number).cloned() else { return };
            drain(world, first + number, &autoscaler, 5 * SECOND);
            world.after(MINUTE, move |world| {
                node.life.end(world);
                world.send(&autoscaler, delete(NODES).name(&*node.name));
                let collector = world.cluster.controller("generic-garbage-collector");
                world.send(&collector, get(LEASES).ns("kube-node-lease").name(&*node.name));
                world.send(&collector, delete(LEASES).ns("kube-node-lease").name(&*node.name));
            });
        });
    }
}

fn certificates(world: &mut World) {
    normal(world);
    let approver = world.cluster.controller("certificate-controller");
    for node in world.cluster.nodes.clone() {
        let at = world.between(2 * MINUTE, 12 * MINUTE);
        let approver = approver.clone();
        world.after(at, move |world| {
            let name = format!("csr-{}", world.rng.suffix(5));
            let kubelet = node.kubelet;
            let selected = format!("metadata.name={name}");
            world.send(&kubelet, create(SIGNING_REQUESTS).name(&*name));
            world.send(&kubelet, list(SIGNING_REQUESTS).q("fieldSelector", &*selected).first_list());
            let planned = watch(SIGNING_REQUESTS)
                .q("fieldSelector", selected)
                .q("resourceVersion", world.revision.to_string())
                .q("timeout", "7m13s")
                .q("timeoutSeconds", "433")
                .q("watch", "true");
            let open = world.open(&kubelet, planned);
            world.after(SECOND, move |world| {
                world.send(&approver, update(SIGNING_REQUESTS).name(&*name).sub("approval"));
                world.send(&approver, update(SIGNING_REQUESTS).name(&*name).sub("status"));
                world.close(&kubelet, open);
            });
        });
    }
}

fn daemon_set_rollout(world: &mut World) {
    normal(world);
    let daemons = world.cluster.controller("daemon-set-controller");
    let pause = (world.span() - 8 * MINUTE) / i64::try_from(world.cluster.nodes.len()).expect("few nodes");
    for (index, node) in world.cluster.nodes.clone().into_iter().enumerate() {
        let daemons = daemons.clone();
        world.after(MINUTE + pause * i64::try_from(index).expect("few nodes"), move |world| {
            let old = world.old_pod("logging", "vector");
            world.delete_pod(&daemons, &old);
            world.create_pod(&daemons, "logging", "vector");
            let version = world.version;
            let agent = "vector/0.39.0 (x86_64-unknown-linux-gnu)";
            let who =
                background::daemon_pod(version, ("logging", "vector"), &node.name, agent, &mut world.rng);
            let pods = crate::scenarios::informer::Informer::new(&who, PODS);
            node.life.add(pods.fields(format!("spec.nodeName={}", node.name)).start(world, 4 * SECOND));
        });
    }
}
