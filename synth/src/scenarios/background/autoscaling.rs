//! cluster-autoscaler, the cloud controller manager, and a CSI driver's controller.

use super::Start;
use super::addons::addon;
use super::operators::elect;
use crate::scenarios::api::{
    ATTACHMENTS, BUDGETS, CLAIMS, CONFIG_MAPS, CSI_NODES, DAEMON_SETS, NAMESPACES, NODES, PODS, REPLICA_SETS,
    SERVICES, STATEFUL_SETS, STORAGE_CLASSES, VOLUMES,
};
use crate::scenarios::planned_request::{get, update};
use crate::scenarios::world::{SECOND, World};

pub fn add(world: &mut World, start: Start) {
    let version = world.version;
    let agent = format!("cluster-autoscaler/v1.{}.2 (linux/amd64) kubernetes/$Format", version.minor);
    let autoscaler = addon(
        world,
        ("kube-system", "cluster-autoscaler"),
        &agent,
        start,
        &[
            BUDGETS,
            CLAIMS,
            CSI_NODES,
            DAEMON_SETS,
            NAMESPACES,
            NODES,
            PODS,
            REPLICA_SETS,
            SERVICES,
            STATEFUL_SETS,
            STORAGE_CLASSES,
            VOLUMES,
        ],
    );
    elect(world, &autoscaler, "kube-system", "cluster-autoscaler", true);
    world.every(10 * SECOND, move |world| {
        let status = |planned: crate::scenarios::planned_request::PlannedRequest| {
            planned.ns("kube-system").name("cluster-autoscaler-status")
        };
        world.send(&autoscaler, status(get(CONFIG_MAPS)));
        world.send(&autoscaler, status(update(CONFIG_MAPS)));
    });
    let agent = format!(
        "aws-cloud-controller-manager/v1.{}.1 (linux/amd64) cloud-provider-aws/6b7a1c0",
        version.minor
    );
    let cloud = addon(world, ("kube-system", "cloud-controller-manager"), &agent, start, &[NODES, SERVICES]);
    elect(world, &cloud, "kube-system", "cloud-controller-manager", true);
    let agent = "csi-provisioner/v4.0.1 (linux/amd64) kubernetes/$Format";
    let provisioner = addon(
        world,
        ("kube-system", "ebs-csi-controller-sa"),
        agent,
        start,
        &[ATTACHMENTS, CLAIMS, CSI_NODES, NODES, STORAGE_CLASSES, VOLUMES],
    );
    elect(world, &provisioner, "kube-system", "ebs-csi-aws-com", true);
}
