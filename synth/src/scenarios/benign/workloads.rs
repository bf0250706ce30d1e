//! Workloads that are created and deleted in large numbers.

use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    CONFIG_MAPS, CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, INGRESSES, JOBS, Kind, NAMESPACES, PODS, QUOTAS,
    REPLICA_SETS, ROLE_BINDINGS, SCALERS, SECRETS, SERVICE_ACCOUNTS, SERVICES, STATEFUL_SETS,
};
use crate::scenarios::identity::{kubectl, person};
use crate::scenarios::planned_request::{
    create, delete, delete_collection, get, list, patch, path, update, watch,
};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "autoscaler-storm",
            "All HorizontalPodAutoscalers scale up within minutes, and down again.",
            autoscalers,
        ),
        scenario("job-burst", "500 pods of Jobs run within a few minutes.", job_burst),
        scenario(
            "namespace-deletion",
            "Three namespaces with all they hold are deleted.",
            namespace_deletion,
        ),
        scenario(
            "ci-namespaces",
            "A CI system makes a namespace for each of its runs, and deletes it.",
            ci_namespaces,
        ),
    ]
}

fn autoscalers(world: &mut World) {
    normal(world);
    let controller = world.cluster.controller("horizontal-pod-autoscaler");
    for workload in world.cluster.workloads.clone().into_iter().step_by(4) {
        for step in 0..4 {
            let at = 3 * MINUTE + step * 40 * SECOND + world.up_to(30 * SECOND);
            let (workload, controller) = (workload.clone(), controller.clone());
            world.after(at, move |world| {
                let (ns, name) = (&*workload.namespace, &*workload.name);
                world.send(&controller, update(DEPLOYMENTS).ns(ns).name(name).sub("scale"));
                world.send(&controller, update(SCALERS).ns(ns).name(name).sub("status"));
                world.scale_up(&workload, 3);
            });
        }
        let sets = world.cluster.controller("replicaset-controller");
        let at = world.between(14 * MINUTE, 18 * MINUTE);
        world.after(at, move |world| {
            for _ in 0..8 {
                let pod = world.old_pod(&workload.namespace, &format!("{}-{}", workload.name, workload.hash));
                world.delete_pod(&sets, &pod);
                world.replicas_change(&workload, &workload.hash);
            }
        });
    }
}

fn job_burst(world: &mut World) {
    normal(world);
    let agent = kubectl(world.version);
    let analyst = person("analyst@example.com", agent);
    let jobs = world.cluster.controller("job-controller");
    for job in 0..10 {
        let name = format!("render-{job}");
        let at = 4 * MINUTE + job * 5 * SECOND;
        let (analyst, jobs) = (analyst.clone(), jobs.clone());
        world.after(at, move |world| {
            world.send(&analyst, create(JOBS).ns("batch").name(&*name).q("fieldManager", "kubectl-create"));
            for _ in 0..50 {
                let (jobs, name) = (jobs.clone(), name.clone());
                let delay = world.up_to(2 * MINUTE);
                world.after(delay, move |world| world.run_job(&jobs, "batch", &name));
            }
        });
    }
}

/// Resources that a namespace deletion removes.
const CONTENTS: [Kind; 14] = [
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    INGRESSES,
    JOBS,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    ROLE_BINDINGS,
    SECRETS,
    SERVICES,
    SERVICE_ACCOUNTS,
    STATEFUL_SETS,
];

/// The namespace controller deletes the objects of a namespace, and checks twice until it is empty.
fn end_namespace(world: &mut World, namespace: &str) {
    let controller = world.cluster.controller("namespace-controller");
    let namespace = namespace.to_owned();
    let mut rounds = 0;
    world.repeat(SECOND / 10, move |world| {
        rounds += 1;
        world.send(&controller, get(NAMESPACES).name(&*namespace));
        world.send(&controller, path("/apis"));
        for kind in CONTENTS {
            world.send(&controller, delete_collection(kind).ns(&*namespace));
            world.send(&controller, list(kind).ns(&*namespace));
        }
        world.send(&controller, update(NAMESPACES).name(&*namespace).sub("finalize"));
        (rounds < 3).then_some(8 * SECOND)
    });
}

fn namespace_deletion(world: &mut World) {
    normal(world);
    let agent = kubectl(world.version);
    let admin = person("platform-admin", agent);
    for (index, namespace) in world.cluster.namespaces.clone().into_iter().take(3).enumerate() {
        let admin = admin.clone();
        world.after(5 * MINUTE + i64::try_from(index).expect("few") * 20 * SECOND, move |world| {
            world.send(&admin, delete(NAMESPACES).name(&*namespace));
            world.send(&admin, list(NAMESPACES).q("fieldSelector", format!("metadata.name={namespace}")));
            for number in 0..20 {
                let pod = world.old_pod(&namespace, &format!("api-{number}"));
                world.end_pod(&pod);
            }
            end_namespace(world, &namespace);
        });
    }
}

fn ci_namespaces(world: &mut World) {
    normal(world);
    let agent = kubectl(world.version);
    let mut run = 0;
    world.clock(MINUTE, 40 * SECOND, move |world| {
        run += 1;
        let runner = world.deployed(("ci", "runner"), &agent);
        let namespace = format!("ci-{run}");
        world.send(&runner, create(NAMESPACES).name(&*namespace).q("fieldManager", "kubectl-create"));
        for path_ in ["/openapi/v3?timeout=32s", "/api?timeout=32s", "/apis?timeout=32s"] {
            world.send(&runner, path(path_));
        }
        for (kind, name) in [(CONFIG_MAPS, "app"), (SECRETS, "app"), (SERVICES, "app"), (DEPLOYMENTS, "app")]
        {
            world.send(&runner, get(kind).ns(&*namespace).name(name).status(404));
            let apply = create(kind).ns(&*namespace).name(name);
            world.send(&runner, apply.q("fieldManager", "kubectl-client-side-apply"));
        }
        for service_account in ["root-ca-cert-publisher", "service-account-controller"] {
            let controller = world.cluster.controller(service_account);
            let kind = if service_account.starts_with("root") { CONFIG_MAPS } else { SERVICE_ACCOUNTS };
            world.send(&controller, create(kind).ns(&*namespace).name("default"));
        }
        let sets = world.cluster.controller("replicaset-controller");
        let pods = [world.create_pod(&sets, &namespace, "app"), world.create_pod(&sets, &namespace, "app")];
        // kubectl rollout status: a LIST and a WATCH of one object.
        let selected = "metadata.name=app";
        world.send(&runner, list(DEPLOYMENTS).ns(&*namespace).q("fieldSelector", selected).first_list());
        let planned = watch(DEPLOYMENTS).ns(&*namespace).q("fieldSelector", selected).q("watch", "true");
        let planned = planned.q("resourceVersion", world.revision.to_string());
        let open = world.open(&runner, planned);
        world.after(14 * SECOND, move |world| {
            world.close(&runner, open);
            world.send(&runner, patch(NAMESPACES).name(&*namespace));
            world.after(50 * SECOND, move |world| {
                world.send(&runner, delete(NAMESPACES).name(&*namespace));
                for pod in &pods {
                    world.end_pod(pod);
                }
                end_namespace(world, &namespace);
            });
        });
    });
}
