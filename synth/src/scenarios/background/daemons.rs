//! The daemons of each node: kube-proxy, the network's agent, a log agent, node-problem-detector.

use super::Start;
use super::controllers::begin;
use crate::Rng;
use crate::scenarios::api::{
    CILIUM_ENDPOINTS, CILIUM_IDENTITIES, CILIUM_NODES, CILIUM_POLICIES, NAMESPACES, NODES, PODS, POLICIES,
    SERVICES, SLICES,
};
use crate::scenarios::cluster::Node;
use crate::scenarios::identity::{self, Who};
use crate::scenarios::informer::Informer;
use crate::scenarios::life::Life;
use crate::scenarios::planned_request::{get, patch, update};
use crate::scenarios::version::Version;
use crate::scenarios::world::{MINUTE, SECOND, World};

const NO_HEADLESS: &str = "!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name";

pub fn add(world: &mut World, index: usize, start: Start) {
    let delay = if start == Start::Cold { world.between(20 * SECOND, 3 * MINUTE) } else { 0 };
    if start == Start::Cold {
        world.after(delay, move |world| start_daemons(world, index, start));
    } else {
        start_daemons(world, index, start);
    }
}

/// Starts the daemons of a node.
pub fn start_daemons(world: &mut World, index: usize, start: Start) {
    let Some(Node { name: node, life, .. }) = world.cluster.nodes.get(index).cloned() else { return };
    proxy(world, &node, &life, start);
    network(world, index, &node, &life, start);
    let logs = daemon(world, ("logging", "promtail"), &node, "promtail/3.1.0");
    life.add(begin(world, Informer::new(&logs, PODS).fields(format!("spec.nodeName={node}")), start, SECOND));
    let detector = daemon(
        world,
        ("kube-system", "node-problem-detector"),
        &node,
        "node-problem-detector/v0.8.19 (linux/amd64) kubernetes/$Format",
    );
    life.every(world, 5 * MINUTE, move |world| {
        world.send(&detector, get(NODES).name(&*node));
        world.send(&detector, patch(NODES).name(&*node).sub("status"));
    });
}

fn proxy(world: &mut World, node: &str, life: &Life, start: Start) {
    let agent = format!("kube-proxy/{}", world.version.release());
    let who = daemon(world, ("kube-system", "kube-proxy"), node, &agent);
    for informer in [
        Informer::new(&who, SERVICES).labels(NO_HEADLESS),
        Informer::new(&who, SLICES).labels(NO_HEADLESS),
        Informer::new(&who, NODES).fields(format!("metadata.name={node}")),
    ] {
        life.add(begin(world, informer, start, SECOND));
    }
}

fn network(world: &mut World, index: usize, node: &str, life: &Life, start: Start) {
    let Some(who) = world.cni_agent(index) else { return };
    for kind in [CILIUM_IDENTITIES, CILIUM_NODES, CILIUM_POLICIES, NAMESPACES, POLICIES, SERVICES, SLICES] {
        life.add(begin(world, Informer::new(&who, kind), start, 2 * SECOND));
    }
    for (kind, field) in [(PODS, "spec.nodeName"), (NODES, "metadata.name")] {
        let informer = Informer::new(&who, kind).fields(format!("{field}={node}"));
        life.add(begin(world, informer, start, 2 * SECOND));
    }
    let node = node.to_owned();
    life.every(world, 7 * MINUTE, move |world| {
        world.send(&who, update(CILIUM_NODES).name(&*node));
        let namespace = world.rng.pick(&world.cluster.namespaces).clone();
        let name = format!("worker-{}", world.rng.suffix(5));
        world.send(&who, patch(CILIUM_ENDPOINTS).ns(namespace).name(name));
    });
}

impl World {
    /// The network's agent of a node.
    pub fn cni_agent(&mut self, index: usize) -> Option<Who> {
        let node = self.cluster.nodes.get(index)?.name.clone();
        let agent = "cilium-agent/1.15.6 a09e05e6 2024-06-11T15:20:11+00:00 go version go1.21.11 linux/amd64";
        // The same pod for the lifetime of the node. Its numbers come from the node's name.
        let seed = node.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) ^ u64::from(byte));
        Some(daemon_pod(self.version, ("kube-system", "cilium"), &node, agent, &mut Rng::new(seed)))
    }
}

fn daemon(world: &mut World, service_account: (&str, &str), node: &str, agent: &str) -> Who {
    let version = world.version;
    daemon_pod(version, service_account, node, agent, &mut world.rng)
}

/// A pod of a DaemonSet.
pub fn daemon_pod(
    version: Version,
    service_account: (&str, &str),
    node: &str,
    agent: &str,
    rng: &mut Rng,
) -> Who {
    let pod = format!("{}-{}", service_account.1, rng.suffix(5));
    identity::pod(version, service_account, &pod, node, agent, rng)
}
