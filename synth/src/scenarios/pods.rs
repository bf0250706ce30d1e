//! The lifecycle of a pod: the writes when it is created, starts, and ends.

use std::rc::Rc;

use super::api::{
    CILIUM_ENDPOINTS, CONFIG_MAPS, DEPLOYMENTS, ENDPOINTS, EVENTS, NEW_EVENTS, PODS, REPLICA_SETS, SECRETS,
    SERVICE_ACCOUNTS, SLICES,
};
use super::cluster::Workload;
use super::identity::Who;
use super::informer::Informer;
use super::planned_request::{create, delete, get, patch, update};
use super::world::{SECOND, World};

/// A pod that was created while the log was written.
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub node: usize,
    watches: Vec<Informer>,
}

impl World {
    /// A controller creates a pod; the scheduler binds it and its kubelet starts it.
    pub fn create_pod(&mut self, creator: &Who, namespace: &str, owner: &str) -> Rc<Pod> {
        let name = format!("{owner}-{}", self.rng.suffix(5));
        let node = self.rng.index(self.cluster.nodes.len());
        let kubelet = Rc::clone(&self.cluster.nodes[node].kubelet);
        self.send(creator, create(PODS).ns(namespace).name(&*name));
        self.send(creator, create(EVENTS).ns(namespace).name(format!("{owner}.{}", self.revision)));
        let bound = self.between(SECOND / 50, SECOND / 2);
        let scheduler = Rc::clone(&self.cluster.scheduler);
        let (ns, pod) = (namespace.to_owned(), name.clone());
        self.after(bound, move |world| {
            world.send(&scheduler, create(PODS).ns(&*ns).name(&*pod).sub("binding"));
            world.send(&scheduler, create(NEW_EVENTS).ns(&*ns).name(format!("{pod}.{:x}", world.revision)));
        });
        let watches = [
            Informer::new(&kubelet, CONFIG_MAPS)
                .ns(namespace)
                .fields(format!("metadata.name={owner}-config")),
            Informer::new(&kubelet, SECRETS)
                .ns(namespace)
                .fields(format!("metadata.name={owner}-credentials")),
        ];
        let watches = watches.map(|watch| watch.start(self, bound + SECOND / 10)).into();
        self.start_containers(bound, namespace, &name, &kubelet);
        Rc::new(Pod { namespace: namespace.to_owned(), name, node, watches })
    }

    /// The kubelet's requests between the binding and the pod's readiness.
    fn start_containers(&mut self, bound: i64, namespace: &str, name: &str, kubelet: &Who) {
        let ready = bound + self.between(2 * SECOND, 12 * SECOND);
        let pulled = bound + (ready - bound) / 2;
        for (at, status, event) in
            [(bound + SECOND / 8, true, false), (pulled, false, true), (ready, true, true)]
        {
            let (ns, pod, kubelet) = (namespace.to_owned(), name.to_owned(), Rc::clone(kubelet));
            self.after(at, move |world| {
                if status {
                    world.pod_status(&kubelet, &ns, &pod);
                }
                if event {
                    for _ in 0..2 {
                        let event = format!("{pod}.{:x}", world.revision);
                        world.send(&kubelet, create(EVENTS).ns(&*ns).name(event));
                    }
                }
            });
        }
        let (ns, pod, kubelet) = (namespace.to_owned(), name.to_owned(), Rc::clone(kubelet));
        self.after(bound + SECOND / 9, move |world| {
            world.send(&kubelet, create(SERVICE_ACCOUNTS).ns(&*ns).name("default").sub("token"));
            let endpoint = create(CILIUM_ENDPOINTS).ns(&*ns).name(&*pod);
            let agent = world.cluster.nodes.iter().position(|node| Rc::ptr_eq(&node.kubelet, &kubelet));
            if let Some(agent) = agent.and_then(|node| world.cni_agent(node)) {
                world.send(&agent, endpoint);
            }
        });
        let ns = namespace.to_owned();
        self.after(ready + SECOND / 10, move |world| world.endpoints_change(&ns));
    }

    /// A kubelet reports the status of a pod.
    pub fn pod_status(&mut self, kubelet: &Who, namespace: &str, pod: &str) {
        self.send(kubelet, get(PODS).ns(namespace).name(pod));
        self.send(kubelet, patch(PODS).ns(namespace).name(pod).sub("status"));
    }

    /// A controller or a person deletes a pod, and its kubelet ends it.
    pub fn delete_pod(&mut self, deleter: &Who, pod: &Rc<Pod>) {
        self.send(deleter, delete(PODS).ns(&*pod.namespace).name(&*pod.name));
        self.send(
            deleter,
            create(EVENTS).ns(&*pod.namespace).name(format!("{}.{}", pod.name, self.revision)),
        );
        self.end_pod(pod);
    }

    /// The kubelet ends a pod that was deleted or evicted.
    pub fn end_pod(&mut self, pod: &Rc<Pod>) {
        let Some(kubelet) = self.cluster.nodes.get(pod.node).map(|node| Rc::clone(&node.kubelet)) else {
            return;
        };
        let gone = self.between(SECOND, 6 * SECOND);
        let pod = Rc::clone(pod);
        self.endpoints_change(&pod.namespace);
        self.after(gone, move |world| {
            let (ns, name) = (&*pod.namespace, &*pod.name);
            world.send(&kubelet, create(EVENTS).ns(ns).name(format!("{name}.{:x}", world.revision)));
            world.pod_status(&kubelet, ns, name);
            world.send(&kubelet, delete(PODS).ns(ns).name(name));
            for watch in &pod.watches {
                watch.stop(world);
            }
            if let Some(agent) = world.cni_agent(pod.node) {
                world.send(&agent, delete(CILIUM_ENDPOINTS).ns(ns).name(name));
            }
        });
    }

    /// A pod that ran when the log began.
    pub fn old_pod(&mut self, namespace: &str, owner: &str) -> Rc<Pod> {
        let name = format!("{owner}-{}", self.rng.suffix(5));
        let node = self.rng.index(self.cluster.nodes.len());
        Rc::new(Pod { namespace: namespace.to_owned(), name, node, watches: Vec::new() })
    }

    /// kube-controller-manager writes the endpoints of a service.
    pub fn endpoints_change(&mut self, namespace: &str) {
        let service = format!("service-{}", self.rng.below(3));
        let slices = self.cluster.controller("endpointslice-controller");
        self.send(&slices, update(SLICES).ns(namespace).name(format!("{service}-x7k2p")));
        let endpoints = self.cluster.controller("endpoint-controller");
        self.send(&endpoints, update(ENDPOINTS).ns(namespace).name(service));
    }

    /// The controllers of Deployments and ReplicaSets write their status. Sometimes their writes conflict.
    pub fn replicas_change(&mut self, workload: &Workload, hash: &str) {
        let sets = self.cluster.controller("replicaset-controller");
        let set = format!("{}-{hash}", workload.name);
        self.send(&sets, update(REPLICA_SETS).ns(&*workload.namespace).name(set).sub("status"));
        let deployments = self.cluster.controller("deployment-controller");
        let status = if self.rng.percent(8) { 409 } else { 200 };
        let update = update(DEPLOYMENTS).ns(&*workload.namespace).name(&*workload.name).sub("status");
        self.send(&deployments, update.status(status));
    }

    /// A Deployment replaces its pods, one after the other.
    pub fn roll_out(&mut self, workload: &Workload) {
        let hash = self.rng.suffix(9);
        let sets = self.cluster.controller("replicaset-controller");
        let deployments = self.cluster.controller("deployment-controller");
        let owner = format!("{}-{hash}", workload.name);
        self.send(&deployments, create(REPLICA_SETS).ns(&*workload.namespace).name(&*owner));
        self.send(&deployments, create(EVENTS).ns(&*workload.namespace).name(format!("{owner}.1")));
        let mut at = SECOND;
        for _ in 0..workload.replicas {
            let (workload, owner, hash) = (workload.clone(), owner.clone(), hash.clone());
            let (sets, old) = (Rc::clone(&sets), format!("{}-{}", workload.name, workload.hash));
            self.after(at, move |world| {
                world.create_pod(&sets, &workload.namespace, &owner);
                world.replicas_change(&workload, &hash);
                let old = world.old_pod(&workload.namespace, &old);
                world.delete_pod(&sets, &old);
                world.replicas_change(&workload, &workload.hash);
            });
            at += self.between(4 * SECOND, 15 * SECOND);
        }
    }

    /// A Deployment gets more replicas.
    pub fn scale_up(&mut self, workload: &Workload, replicas: usize) {
        let sets = self.cluster.controller("replicaset-controller");
        let owner = format!("{}-{}", workload.name, workload.hash);
        for _ in 0..replicas {
            self.create_pod(&sets, &workload.namespace, &owner);
            self.replicas_change(workload, &workload.hash);
        }
    }
}
