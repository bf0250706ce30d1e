//! The apiserver's own loopback client, and probes of its health.

use super::Start;
use crate::scenarios::api::{
    CLUSTER_ROLES, CONFIG_MAPS, CRDS, ENDPOINTS, LEASES, NAMESPACES, NODES, PODS, QUOTAS, ROLE_BINDINGS,
    ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES, SLICES,
};
use crate::scenarios::identity::{component, named};
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::{get, path, update};
use crate::scenarios::world::{SECOND, World};

const WATCHED: [super::super::api::Kind; 12] = [
    CLUSTER_ROLES,
    CRDS,
    ENDPOINTS,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    ROLES,
    ROLE_BINDINGS,
    SECRETS,
    SERVICES,
    SERVICE_ACCOUNTS,
];

pub fn add(world: &mut World, start: Start) {
    let server = component(world.version, "system:apiserver", "kube-apiserver", "");
    for kind in WATCHED {
        let informer = Informer::new(&server, kind);
        match start {
            Start::Running => drop(informer.running(world)),
            Start::Cold => drop(informer.start(world, SECOND)),
        }
    }
    let own = server.clone();
    let lease = format!("apiserver-{}", world.rng.suffix(26));
    world.every(10 * SECOND, move |world| {
        world.send(&own, update(LEASES).ns("kube-system").name(&*lease));
        world.send(&own, get(SERVICES).ns("default").name("kubernetes"));
        world.send(&own, get(ENDPOINTS).ns("default").name("kubernetes"));
        world.send(&own, get(SLICES).ns("default").name("kubernetes"));
    });
    world.every(60 * SECOND, move |world| {
        world.send(&server, get(CONFIG_MAPS).ns("kube-system").name("extension-apiserver-authentication"));
    });
    let agent = format!("kube-probe/1.{}", world.version.minor);
    let probe = named("system:anonymous", &["system:unauthenticated"], "10.0.0.10", agent, false);
    let live = probe.clone();
    world.clock(SECOND, 10 * SECOND, move |world| world.send(&live, path("/livez")));
    world.clock(SECOND / 2, SECOND, move |world| world.send(&probe, path("/readyz")));
}
