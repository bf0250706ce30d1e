//! kube-controller-manager: informers, leader election, discovery, and the regular writes of its controllers.

use super::Start;
use crate::scenarios::api::{
    ATTACHMENTS, BUDGETS, CLAIMS, CLUSTER_ROLES, CONFIG_MAPS, CRDS, CRON_JOBS, CSI_DRIVERS, CSI_NODES,
    DAEMON_SETS, DEPLOYMENTS, ENDPOINTS, INGRESS_CLASSES, INGRESSES, JOBS, Kind, LEASES, NAMESPACES, NODES,
    POD_METRICS, PODS, POLICIES, QUOTAS, REPLICA_SETS, ROLE_BINDINGS, ROLES, RUNTIME_CLASSES, SCALERS,
    SECRETS, SERVICE_ACCOUNTS, SERVICES, SIGNING_REQUESTS, SLICES, STATEFUL_SETS, STORAGE_CLASSES, VOLUMES,
};
use crate::scenarios::identity::component;
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::{create, get, list, path, update};
use crate::scenarios::world::{MINUTE, SECOND, World};

const SHARED: [Kind; 31] = [
    ATTACHMENTS,
    BUDGETS,
    CLAIMS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRON_JOBS,
    CSI_DRIVERS,
    CSI_NODES,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    INGRESSES,
    INGRESS_CLASSES,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    POLICIES,
    QUOTAS,
    REPLICA_SETS,
    ROLES,
    ROLE_BINDINGS,
    RUNTIME_CLASSES,
    SECRETS,
    SERVICES,
    SERVICE_ACCOUNTS,
    SIGNING_REQUESTS,
    SLICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
];
const GROUPS: [&str; 14] = [
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "storage.k8s.io/v1",
];

pub fn add(world: &mut World, start: Start) {
    let user = "system:kube-controller-manager";
    let product = "kube-controller-manager";
    let shared = component(world.version, user, product, "shared-informers");
    let metadata = component(world.version, user, product, "metadata-informers");
    for kind in SHARED.into_iter().chain([SCALERS, VOLUMES]) {
        begin(world, Informer::new(&shared, kind), start, 3 * SECOND);
    }
    for kind in [CRDS, SECRETS, CONFIG_MAPS, PODS, REPLICA_SETS] {
        begin(world, Informer::new(&metadata, kind), start, 4 * SECOND);
    }
    lead(world, user, product);
    if start == Start::Cold {
        first_tokens(world);
    }
    discover(world);
    autoscale(world);
    run_cron_jobs(world);
}

/// Starts an informer, or lets it run as it did before the log began.
pub fn begin(world: &mut World, informer: Informer, start: Start, delay: i64) -> Informer {
    match start {
        Start::Running => informer.running(world),
        Start::Cold => {
            let delay = delay + world.up_to(2 * SECOND);
            informer.start(world, delay)
        }
    }
}

/// Leader election of a control plane component, every 2 seconds.
pub fn lead(world: &mut World, user: &str, product: &'static str) {
    let election = component(world.version, user, product, "leader-election");
    world.clock(2 * SECOND, 2 * SECOND, move |world| {
        let lease = |planned: crate::scenarios::planned_request::PlannedRequest| {
            planned.ns("kube-system").name(product).q("timeout", "5s")
        };
        // Since 1.30 a leader that knows its lease does not read it first.
        if world.version.minor < 30 {
            world.send(&election, lease(get(LEASES)));
        }
        world.send(&election, lease(update(LEASES)));
    });
}

/// Each controller requests its token when it starts.
fn first_tokens(world: &mut World) {
    let manager = component(
        world.version,
        "system:kube-controller-manager",
        "kube-controller-manager",
        "kube-controller-manager",
    );
    for name in 0..30 {
        let manager = manager.clone();
        world.after(2 * SECOND + name * SECOND / 20, move |world| {
            let service_account = format!("controller-{name}");
            world.send(&manager, get(SERVICE_ACCOUNTS).ns("kube-system").name(&*service_account));
            world.send(
                &manager,
                create(SERVICE_ACCOUNTS).ns("kube-system").name(service_account).sub("token"),
            );
        });
    }
}

/// The garbage collector and the quota controller look for new resources.
fn discover(world: &mut World) {
    let collector = world.cluster.controller("generic-garbage-collector");
    let quota = world.cluster.controller("resourcequota-controller");
    world.every(30 * SECOND, move |world| {
        for who in [&collector, &quota] {
            world.send(who, path("/api"));
            world.send(who, path("/apis"));
            // Before aggregated discovery (beta in 1.27) each group was read.
            if world.version.minor < 27 {
                for group in GROUPS {
                    world.send(who, path(format!("/apis/{group}")).status(304));
                }
            }
        }
    });
}

/// The HorizontalPodAutoscaler controller looks at each autoscaler every 15 s.
fn autoscale(world: &mut World) {
    let controller = world.cluster.controller("horizontal-pod-autoscaler");
    for index in 0..world.cluster.workloads.len() / 4 {
        let workload = world.cluster.workloads[index * 4].clone();
        let controller = controller.clone();
        world.every(15 * SECOND, move |world| {
            let (ns, name) = (&*workload.namespace, &*workload.name);
            world.send(&controller, get(DEPLOYMENTS).ns(ns).name(name).sub("scale"));
            let metrics = list(POD_METRICS).ns(ns).q("labelSelector", format!("app={name}"));
            world.send(&controller, metrics.millis(12));
            if world.rng.percent(40) {
                world.send(&controller, update(SCALERS).ns(ns).name(name).sub("status"));
            }
        });
    }
}

/// A CronJob in every third namespace runs every minute or every five.
fn run_cron_jobs(world: &mut World) {
    let (crons, jobs) =
        (world.cluster.controller("cronjob-controller"), world.cluster.controller("job-controller"));
    for (index, namespace) in world.cluster.namespaces.clone().into_iter().step_by(3).enumerate() {
        let (crons, jobs) = (crons.clone(), jobs.clone());
        let period = if index == 0 { MINUTE } else { 5 * MINUTE };
        world.clock(MINUTE / 20, period, move |world| {
            let name = format!("cleanup-{}", 29_000_000 + (world.now / MINUTE) % 1_000_000);
            world.send(&crons, create(JOBS).ns(&*namespace).name(&*name));
            world.send(&crons, update(CRON_JOBS).ns(&*namespace).name("cleanup").sub("status"));
            world.run_job(&jobs, &namespace, &name);
        });
    }
}

impl World {
    /// The Job controller creates the pod of a Job, and notes its end.
    pub fn run_job(&mut self, jobs: &crate::scenarios::identity::Who, namespace: &str, name: &str) {
        let pod = self.create_pod(jobs, namespace, name);
        let (jobs, ns, name) = (jobs.clone(), namespace.to_owned(), name.to_owned());
        self.send(&jobs, update(JOBS).ns(&*ns).name(&*name).sub("status"));
        let ends = self.between(15 * SECOND, 40 * SECOND);
        self.after(ends, move |world| {
            let kubelet = world.cluster.nodes[pod.node].kubelet.clone();
            world.pod_status(&kubelet, &ns, &pod.name);
            world.send(&jobs, update(JOBS).ns(&*ns).name(&*name).sub("status"));
            world.end_pod(&pod);
        });
    }
}
