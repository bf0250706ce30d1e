//! The parts of the cluster: nodes, namespaces, workloads, and the control plane's identities.

use std::collections::BTreeMap;

use super::identity::{self, Who};
use super::life::Life;
use super::version::Version;
use crate::Rng;

/// A node with its kubelet and its lifetime.
#[derive(Clone)]
pub struct Node {
    pub name: String,
    pub kubelet: Who,
    pub life: Life,
}

/// A Deployment.
#[derive(Clone)]
pub struct Workload {
    pub namespace: String,
    pub name: String,
    pub replicas: usize,
    /// Part of the name of its ReplicaSet.
    pub hash: String,
}

/// The cluster.
pub struct Cluster {
    pub nodes: Vec<Node>,
    pub namespaces: Vec<String>,
    pub workloads: Vec<Workload>,
    pub scheduler: Who,
    controllers: BTreeMap<&'static str, Who>,
}

const TEAMS: [&str; 12] = [
    "shop", "payments", "search", "data", "web", "batch", "ml", "mobile", "billing", "identity", "reports",
    "staging",
];
const SERVICES: [&str; 6] = ["api", "worker", "frontend", "cache", "gateway", "sync"];
const CONTROLLERS: [&str; 18] = [
    "attachdetach-controller",
    "certificate-controller",
    "cronjob-controller",
    "daemon-set-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "generic-garbage-collector",
    "horizontal-pod-autoscaler",
    "job-controller",
    "namespace-controller",
    "node-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-cert-publisher",
    "service-account-controller",
    "statefulset-controller",
];

impl Cluster {
    /// A cluster with `nodes` nodes. Each ten nodes have a namespace with up to six Deployments.
    pub fn new(nodes: usize, version: Version, rng: &mut Rng) -> Self {
        let namespaces: Vec<String> = (0..4 + nodes / 10)
            .map(|index| match index / TEAMS.len() {
                0 => TEAMS[index].to_owned(),
                round => format!("{}-{round}", TEAMS[index % TEAMS.len()]),
            })
            .collect();
        let mut workloads = Vec::new();
        for namespace in &namespaces {
            for name in &SERVICES[..3 + rng.index(4)] {
                workloads.push(Workload {
                    namespace: namespace.clone(),
                    name: (*name).to_owned(),
                    replicas: 2 + rng.index(9),
                    hash: rng.suffix(9),
                });
            }
        }
        let controllers =
            CONTROLLERS.map(|name| (name, identity::controller(version, name, rng))).into_iter().collect();
        Self {
            nodes: (0..nodes).map(|number| node(number, version)).collect(),
            namespaces,
            workloads,
            scheduler: identity::component(version, "system:kube-scheduler", "kube-scheduler", "scheduler"),
            controllers,
        }
    }

    /// A controller of kube-controller-manager.
    pub fn controller(&self, name: &str) -> Who {
        self.controllers[name].clone()
    }
}

/// A node, as cloud providers name them.
pub fn node(number: usize, version: Version) -> Node {
    let (high, low) = (number / 250, number % 250 + 2);
    let name = format!("ip-10-0-{high}-{low}.eu-west-1.compute.internal");
    let kubelet = identity::kubelet(version, &name, &format!("10.0.{high}.{low}"));
    Node { name, kubelet, life: Life::default() }
}
