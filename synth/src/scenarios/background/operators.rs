//! Ordinary operators: informers, leader election, an occasional reconciliation.

use super::Start;
use super::addons::addon;
use crate::scenarios::api::EVENTS;
use crate::scenarios::api::{
    CONFIG_MAPS, DATABASES, LEASES, NAMESPACES, PODS, SECRETS, SERVICE_MONITORS, SERVICES, STATEFUL_SETS,
};
use crate::scenarios::identity::{self, Who};
use crate::scenarios::life::Life;
use crate::scenarios::planned_request::{PlannedRequest, create, get, patch, update};
use crate::scenarios::world::{MINUTE, SECOND, World};

pub fn add(world: &mut World, start: Start) {
    for leads in [true, false] {
        let agent = "database-operator/v1.4.2 (linux/amd64) kubernetes/$Format/database";
        let kinds = [CONFIG_MAPS, DATABASES, PODS, SECRETS, SERVICES, STATEFUL_SETS];
        let who = addon(
            world,
            ("database-system", "database-operator"),
            agent,
            start,
            if leads { &kinds } else { &[] },
        );
        elect(world, &who, "database-system", "database-operator.example.com", leads);
        if leads {
            world.every(20 * SECOND, move |world| reconcile(world, &who));
        }
    }
    let agent = "alert-operator/v0.9.0 (linux/amd64) kubernetes/$Format";
    let who = addon(world, ("alerts", "alert-operator"), agent, start, &[NAMESPACES, SERVICE_MONITORS]);
    elect(world, &who, "alerts", "alert-operator", true);
    world.every(10 * MINUTE, move |world| {
        world.send(
            &who,
            patch(SERVICE_MONITORS).ns("alerts").name("defaults").q("fieldManager", "alert-operator"),
        );
    });
}

/// One object changed: the operator writes the objects that belong to it.
fn reconcile(world: &mut World, who: &Who) {
    let namespace = world.rng.pick(&world.cluster.namespaces).clone();
    let name = format!("db-{}", world.rng.below(4));
    world.send(who, update(STATEFUL_SETS).ns(&*namespace).name(&*name));
    world.send(who, update(DATABASES).ns(&*namespace).name(&*name).sub("status"));
    if world.rng.percent(30) {
        world.send(who, create(EVENTS).ns(&*namespace).name(format!("{name}.{:x}", world.revision)));
    }
}

/// Leader election with client-go's defaults: the leader renews every 2 s, others look as often.
pub fn elect(world: &mut World, who: &Who, namespace: &str, lease: &str, leads: bool) {
    elect_while(world, &Life::default(), who, namespace, lease, leads);
}

/// The same, for as long as a process lives.
pub fn elect_while(world: &mut World, life: &Life, who: &Who, namespace: &str, lease: &str, leads: bool) {
    let (who, namespace, lease) = (who.clone(), namespace.to_owned(), lease.to_owned());
    life.clock(world, 2 * SECOND, move |world| {
        let named = |planned: PlannedRequest| planned.ns(&*namespace).name(&*lease);
        if !leads || world.version.minor < 30 {
            world.send(&who, named(get(LEASES)));
        }
        if leads {
            world.send(&who, named(update(LEASES)));
        }
    });
}

impl World {
    /// A pod of a Deployment, on some node.
    pub fn deployed(&mut self, service_account: (&str, &str), agent: &str) -> Who {
        let node = self.rng.pick(&self.cluster.nodes).name.clone();
        let pod = format!("{}-{}-{}", service_account.1, self.rng.suffix(9), self.rng.suffix(5));
        let version = self.version;
        identity::pod(version, service_account, &pod, &node, agent, &mut self.rng)
    }
}
