//! The platform itself: a restart of the apiserver, backups, monitoring that starts.

use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    BACKUPS, CERTIFICATE_REQUESTS, CERTIFICATES, CLAIMS, CONFIG_MAPS, CRDS, CRON_JOBS, DAEMON_SETS,
    DEPLOYMENTS, ENDPOINTS, EVENTS, INGRESSES, JOBS, Kind, LEASES, NAMESPACES, NODES, PODS, QUOTAS,
    REPLICA_SETS, ROLE_BINDINGS, ROLES, SCALERS, SCHEDULES, SECRETS, SERVICE_ACCOUNTS, SERVICES,
    STATEFUL_SETS, VOLUMES,
};
use crate::scenarios::background::{Start, addon, begin};
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::{create, get, list, patch, path, update};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        scenario("apiserver-restart", "The apiserver restarts, and all informers list once more.", |world| {
            world.down = Some((world.begin + 10 * MINUTE, world.begin + 10 * MINUTE + 20 * SECOND));
            normal(world);
        }),
        scenario(
            "prometheus-restart",
            "Prometheus starts, with informers in each namespace.",
            prometheus_restart,
        ),
        scenario("kube-state-metrics-start", "kube-state-metrics starts.", kube_state_metrics_start),
        scenario("nightly-backup", "Velero backs up all namespaces.", nightly_backup),
        scenario("certificate-renewals", "cert-manager renews 60 certificates.", certificate_renewals),
    ]
}

fn prometheus_restart(world: &mut World) {
    normal(world);
    world.after(6 * MINUTE, |world| {
        let who = world.deployed(("monitoring", "prometheus-k8s"), "Prometheus/2.53.1");
        for namespace in world.cluster.namespaces.clone() {
            for kind in [ENDPOINTS, PODS, SERVICES] {
                begin(world, Informer::new(&who, kind).ns(&*namespace), Start::Cold, 0);
            }
        }
        begin(world, Informer::new(&who, NODES), Start::Cold, 0);
    });
}

const METERED: [Kind; 20] = [
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
    SERVICE_ACCOUNTS,
    STATEFUL_SETS,
    VOLUMES,
];

fn kube_state_metrics_start(world: &mut World) {
    normal(world);
    world.after(6 * MINUTE, |world| {
        let agent = "kube-state-metrics/v2.12.0 (linux/amd64) kube-state-metrics/0b01e3a";
        addon(world, ("monitoring", "kube-state-metrics"), agent, Start::Cold, &METERED);
    });
}

fn nightly_backup(world: &mut World) {
    normal(world);
    let agent = "velero-server/v1.14.0 (linux/amd64) 2fc6300f2239f250b40b0488c35feae59520f2d3";
    let who = addon(world, ("velero", "velero"), agent, Start::Running, &[BACKUPS, SCHEDULES]);
    world.after(5 * MINUTE, move |world| {
        world.send(&who, create(BACKUPS).ns("velero").name("nightly-20260701"));
        for document in ["/api", "/apis", "/openapi/v2?timeout=32s"] {
            world.send(&who, path(document));
        }
        let mut at = SECOND;
        for kind in METERED.into_iter().chain([CERTIFICATES, CRDS, EVENTS, ROLES, ROLE_BINDINGS]) {
            for page in 0..3 {
                let who = who.clone();
                world.after(at, move |world| {
                    let planned = list(kind).q("limit", "500");
                    let token =
                        format!("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDgwMDAwMDAsInN0YXJ0Ijoi{page}In0");
                    let planned = if page == 0 { planned } else { planned.q("continue", token) };
                    world.send(&who, planned.millis(220));
                });
                at += SECOND;
                if kind != PODS && kind != SECRETS && kind != EVENTS {
                    break;
                }
            }
        }
        // The backup reads each item with a volume, and writes its progress every few seconds.
        for item in 0..120 {
            let who = who.clone();
            world.after(at + item * SECOND, move |world| {
                let namespace = world.rng.pick(&world.cluster.namespaces).clone();
                world.send(&who, get(CLAIMS).ns(namespace).name(format!("data-{item}")));
                world.send(&who, get(VOLUMES).name(format!("pvc-{item}")));
                if item % 5 == 0 {
                    world.send(&who, patch(BACKUPS).ns("velero").name("nightly-20260701"));
                }
            });
        }
    });
}

fn certificate_renewals(world: &mut World) {
    normal(world);
    let agent = "cert-manager-certificates-issuing/v1.15.1 (linux/amd64) cert-manager/3b0e3ed";
    let who = world.deployed(("cert-manager", "cert-manager"), agent);
    for number in 0..60 {
        let who = who.clone();
        let at = 3 * MINUTE + number * 5 * SECOND;
        world.after(at, move |world| {
            let namespace = world.rng.pick(&world.cluster.namespaces).clone();
            let (ns, name) = (&*namespace, format!("tls-{number}"));
            world.send(&who, update(CERTIFICATES).ns(ns).name(&*name).sub("status"));
            world.send(&who, create(SECRETS).ns(ns).name(format!("{name}-x7k2p")));
            world.send(&who, create(CERTIFICATE_REQUESTS).ns(ns).name(&*name));
            for _ in 0..2 {
                world.send(&who, update(CERTIFICATE_REQUESTS).ns(ns).name(&*name).sub("status"));
            }
            world.send(
                &who,
                patch(SECRETS).ns(ns).name(&*name).q("fieldManager", "cert-manager-certificates-issuing"),
            );
            world.send(&who, update(CERTIFICATES).ns(ns).name(&*name).sub("status"));
            world.send(&who, create(EVENTS).ns(ns).name(format!("{name}.{:x}", world.revision)));
        });
    }
}
