//! Prometheus and kube-state-metrics.

use super::Start;
use super::addons::addon;
use super::controllers::begin;
use crate::scenarios::api::{
    CLAIMS, CONFIG_MAPS, CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, ENDPOINTS, INGRESSES, JOBS, LEASES, NAMESPACES,
    NODES, PODS, PROMETHEUSES, QUOTAS, REPLICA_SETS, SCALERS, SECRETS, SERVICE_MONITORS, SERVICES,
    STATEFUL_SETS, STORAGE_CLASSES, VOLUMES,
};
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::path;
use crate::scenarios::world::{SECOND, World};

pub fn add(world: &mut World, start: Start) {
    for _ in 0..2 {
        let who = world.deployed(("monitoring", "prometheus-k8s"), "Prometheus/2.53.1");
        begin(world, Informer::new(&who, NODES), start, 60 * SECOND);
        for namespace in
            world.cluster.namespaces.clone().into_iter().chain(["kube-system".to_owned()]).step_by(2)
        {
            for kind in [ENDPOINTS, PODS, SERVICES] {
                begin(world, Informer::new(&who, kind).ns(&*namespace), start, 60 * SECOND);
            }
        }
        world.every(30 * SECOND, move |world| world.send(&who, path("/metrics").millis(180)));
    }
    let operator = addon(
        world,
        ("monitoring", "prometheus-operator"),
        "PrometheusOperator/0.75.1",
        start,
        &[CONFIG_MAPS, NAMESPACES, PROMETHEUSES, SECRETS, SERVICE_MONITORS, STATEFUL_SETS],
    );
    world.every(300 * SECOND, move |world| world.send(&operator, path("/version")));
    addon(
        world,
        ("monitoring", "kube-state-metrics"),
        "kube-state-metrics/v2.12.0 (linux/amd64) kube-state-metrics/0b01e3a",
        start,
        &[
            CLAIMS,
            CONFIG_MAPS,
            CRON_JOBS,
            DAEMON_SETS,
            DEPLOYMENTS,
            ENDPOINTS,
            INGRESSES,
            JOBS,
            LEASES,
            NAMESPACES,
            NODES,
            PODS,
            QUOTAS,
            REPLICA_SETS,
            SCALERS,
            SECRETS,
            SERVICES,
            STATEFUL_SETS,
            STORAGE_CLASSES,
            VOLUMES,
        ],
    );
}
