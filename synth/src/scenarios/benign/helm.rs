//! Helm releases.

use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    CONFIG_MAPS, CRDS, DEPLOYMENTS, INGRESSES, REPLICA_SETS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS,
    SERVICES, STATEFUL_SETS,
};
use crate::scenarios::identity::{Who, person};
use crate::scenarios::planned_request::{create, get, list, patch, path, update};
use crate::scenarios::world::{MINUTE, SECOND};

const AGENT: &str = "Helm/3.14.4";

pub fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "helm-upgrades",
            "A person runs three `helm upgrade --wait`, each of a minute or two.",
            |world| {
                normal(world);
                let who = person("deployer@example.com", AGENT.to_owned());
                for run in 0..3 {
                    upgrade(
                        world,
                        &who,
                        2 * MINUTE + run * 8 * MINUTE,
                        40 + 15 * u64::try_from(run).expect("few"),
                    );
                }
            },
        ),
        scenario(
            "helm-upgrades-in-ci",
            "A CI job runs `helm upgrade --wait` three times, up to its timeout.",
            |world| {
                normal(world);
                for run in 0..3 {
                    let who = world.deployed(("ci", "deployer"), AGENT);
                    upgrade(world, &who, MINUTE + run * 9 * MINUTE, 148);
                }
            },
        ),
    ]
}

/// `helm upgrade --wait`, which looks at its objects every 2 s.
pub fn upgrade(world: &mut World, who: &Who, at: i64, mut looks: u64) {
    let who = who.clone();
    world.after(at, move |world| {
        history(world, &who);
        for discovery in ["/version", "/api?timeout=32s", "/apis?timeout=32s", "/openapi/v2?timeout=32s"] {
            world.send(&who, path(discovery));
        }
        world.send(&who, create(SECRETS).ns("shop").name("sh.helm.release.v1.shop.v8"));
        for (kind, count) in [
            (SERVICE_ACCOUNTS, 2),
            (CONFIG_MAPS, 5),
            (SECRETS, 2),
            (ROLES, 2),
            (ROLE_BINDINGS, 2),
            (SERVICES, 4),
            (DEPLOYMENTS, 4),
            (STATEFUL_SETS, 1),
            (INGRESSES, 2),
        ] {
            for number in 0..count {
                let name = format!("shop-{number}");
                world.send(&who, get(kind).ns("shop").name(&*name));
                world.send(&who, get(kind).ns("shop").name(&*name));
                world.send(&who, patch(kind).ns("shop").name(&*name));
            }
        }
        for workload in world.cluster.workloads.clone().iter().filter(|workload| workload.namespace == "shop")
        {
            world.roll_out(workload);
        }
        world.repeat(2 * SECOND, move |world| {
            look(world, &who);
            looks -= 1;
            if looks > 0 {
                return Some(2 * SECOND + world.up_to(SECOND / 10));
            }
            history(world, &who);
            world.send(&who, update(SECRETS).ns("shop").name("sh.helm.release.v1.shop.v8"));
            world.send(&who, update(SECRETS).ns("shop").name("sh.helm.release.v1.shop.v7"));
            None
        });
    });
}

fn history(world: &mut World, who: &Who) {
    for selector in ["name=shop,owner=helm", "name=shop,owner=helm,status=deployed"] {
        world.send(who, list(SECRETS).ns("shop").q("labelSelector", selector));
    }
    world.send(who, get(SECRETS).ns("shop").name("sh.helm.release.v1.shop.v7"));
    world.send(who, get(CRDS).name("databases.postgresql.example.com"));
}

/// A check ends at the first Deployment that is not ready.
fn look(world: &mut World, who: &Who) {
    for number in 0..2 {
        let name = format!("shop-{number}");
        world.send(who, get(DEPLOYMENTS).ns("shop").name(&*name));
        world.send(who, list(REPLICA_SETS).ns("shop").q("labelSelector", format!("app={name}")));
    }
    world.send(who, get(SERVICES).ns("shop").name("shop-0"));
}
