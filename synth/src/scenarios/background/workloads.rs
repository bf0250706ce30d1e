//! The usual change: a rollout every few minutes, a pod that fails its probe, autoscalers that scale.

use crate::scenarios::world::{MINUTE, World};

pub fn add(world: &mut World) {
    world.every(4 * MINUTE, |world| {
        let workload = world.rng.pick(&world.cluster.workloads).clone();
        world.roll_out(&workload);
    });
    world.every(MINUTE, |world| {
        let workload = world.rng.pick(&world.cluster.workloads).clone();
        let kubelet = world.rng.pick(&world.cluster.nodes).kubelet.clone();
        let pod = format!("{}-{}-{}", workload.name, workload.hash, world.rng.suffix(5));
        for _ in 0..2 {
            world.pod_status(&kubelet, &workload.namespace, &pod);
        }
        world.endpoints_change(&workload.namespace);
    });
    world.every(2 * MINUTE, |world| {
        let workload = world.rng.pick(&world.cluster.workloads).clone();
        world.scale_up(&workload, 1);
    });
}
