//! kube-scheduler: its informers and leader election. Bindings follow from pods.

use super::Start;
use super::controllers::{begin, lead};
use crate::scenarios::api::{
    BUDGETS, CLAIMS, CSI_DRIVERS, CSI_NODES, NAMESPACES, NODES, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS,
    STORAGE_CLASSES, VOLUMES,
};
use crate::scenarios::informer::Informer;
use crate::scenarios::world::{SECOND, World};

pub fn add(world: &mut World, start: Start) {
    let scheduler = world.cluster.scheduler.clone();
    for kind in [
        BUDGETS,
        CLAIMS,
        CSI_DRIVERS,
        CSI_NODES,
        NAMESPACES,
        NODES,
        REPLICA_SETS,
        SERVICES,
        STATEFUL_SETS,
        STORAGE_CLASSES,
        VOLUMES,
    ] {
        begin(world, Informer::new(&scheduler, kind), start, 3 * SECOND);
    }
    let pods = Informer::new(&scheduler, PODS).fields("status.phase!=Succeeded,status.phase!=Failed");
    begin(world, pods, start, 3 * SECOND);
    lead(world, "system:kube-scheduler", "kube-scheduler");
}
