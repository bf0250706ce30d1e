//! Kubelets: leases, status, informers, the ConfigMaps and Secrets of their pods, tokens and reviews.

use super::Start;
use super::controllers::begin;
use crate::scenarios::api::{
    ACCESS_REVIEWS, CONFIG_MAPS, CSI_DRIVERS, CSI_NODES, LEASES, NODES, PODS, RUNTIME_CLASSES, SECRETS,
    SERVICE_ACCOUNTS, SERVICES, TOKEN_REVIEWS,
};
use crate::scenarios::cluster::Node;
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::{create, get, patch, update};
use crate::scenarios::world::{MINUTE, SECOND, World};

pub fn add(world: &mut World, index: usize, start: Start) {
    let node = world.cluster.nodes[index].clone();
    match start {
        Start::Running => run_kubelet(world, &node, Start::Running),
        Start::Cold => {
            let delay = world.between(5 * SECOND, 2 * MINUTE);
            world.after(delay, move |world| register(world, &node));
        }
    }
}

/// A node joins the cluster.
pub fn register(world: &mut World, node: &Node) {
    let kubelet = &node.kubelet;
    world.send(kubelet, get(CSI_NODES).name(&*node.name).status(404));
    world.send(kubelet, create(NODES).name(&*node.name));
    world.send(kubelet, create(CSI_NODES).name(&*node.name));
    let leases = LEASES;
    world.send(kubelet, get(leases).ns("kube-node-lease").name(&*node.name).q("timeout", "10s").status(404));
    world.send(kubelet, create(leases).ns("kube-node-lease").name(&*node.name).q("timeout", "10s"));
    let controller = world.cluster.controller("node-controller");
    world.send(&controller, patch(NODES).name(&*node.name));
    run_kubelet(world, node, Start::Cold);
}

/// The requests of a running kubelet.
pub fn run_kubelet(world: &mut World, node: &Node, start: Start) {
    let kubelet = node.kubelet.clone();
    for informer in [
        Informer::new(&kubelet, PODS).fields(format!("spec.nodeName={}", node.name)),
        Informer::new(&kubelet, NODES).fields(format!("metadata.name={}", node.name)),
        Informer::new(&kubelet, SERVICES),
        Informer::new(&kubelet, CSI_DRIVERS),
        Informer::new(&kubelet, RUNTIME_CLASSES),
    ] {
        node.life.add(begin(world, informer, start, 0));
    }
    mount(world, node, start);
    let (own, name) = (kubelet.clone(), node.name.clone());
    node.life.every(world, 10 * SECOND, move |world| {
        let lease = update(LEASES).ns("kube-node-lease").name(&*name).q("timeout", "10s");
        world.send(&own, lease);
        // Since 1.29, a kubelet reads its node from its informer.
        if world.version.minor < 29 {
            world.send(&own, get(NODES).name(&*name).q("resourceVersion", "0").q("timeout", "10s"));
        }
    });
    let (own, name) = (kubelet.clone(), node.name.clone());
    node.life.every(world, 5 * MINUTE, move |world| {
        world.send(&own, patch(NODES).name(&*name).sub("status").q("timeout", "10s"));
    });
    let own = kubelet.clone();
    node.life.every(world, 3 * MINUTE, move |world| {
        let namespace = world.rng.pick(&world.cluster.namespaces).clone();
        world.send(&own, create(SERVICE_ACCOUNTS).ns(namespace).name("default").sub("token"));
    });
    node.life.every(world, 2 * MINUTE, move |world| {
        world.send(&kubelet, create(TOKEN_REVIEWS));
        world.send(&kubelet, create(ACCESS_REVIEWS));
    });
}

/// Watches the ConfigMaps and Secrets of the pods that run on the node.
fn mount(world: &mut World, node: &Node, start: Start) {
    let kubelet = &node.kubelet;
    for _ in 0..7 {
        let workload = world.rng.pick(&world.cluster.workloads).clone();
        let (ns, app) = (&*workload.namespace, &*workload.name);
        for informer in [
            Informer::new(kubelet, CONFIG_MAPS).ns(ns).fields("metadata.name=kube-root-ca.crt"),
            Informer::new(kubelet, CONFIG_MAPS).ns(ns).fields(format!("metadata.name={app}-config")),
            Informer::new(kubelet, SECRETS).ns(ns).fields(format!("metadata.name={app}-credentials")),
        ] {
            let delay = 5 * SECOND + world.up_to(20 * SECOND);
            node.life.add(begin(world, informer, start, delay));
        }
        if start == Start::Cold {
            let (kubelet, workload) = (kubelet.clone(), workload.clone());
            let delay = world.between(5 * SECOND, 40 * SECOND);
            let pod = format!("{}-{}-{}", workload.name, workload.hash, world.rng.suffix(5));
            world.after(delay, move |world| world.pod_status(&kubelet, &workload.namespace, &pod));
        }
    }
}
