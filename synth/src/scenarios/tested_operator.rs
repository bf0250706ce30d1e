//! A small test cluster in which an operator starts, and a test creates its objects.

use super::World;
use super::api::{CONFIG_MAPS, DEPLOYMENTS, EVENTS, Kind, PODS, namespaced};
use super::background::{self, Start, elect};
use super::identity::{Who, person};
use super::informer::Informer;
use super::planned_request::{create, list, path, update};
use super::world::SECOND;

const ORDERS: Kind = namespaced("shop.example.com", "v1", "orders");
const OPERATOR: (&str, &str) = ("shop-system", "order-operator");
const AGENT: &str = "order-operator/v0.4.0 (linux/amd64) kubernetes/$Format";

/// The operator as it should be, with ten orders.
pub fn good(world: &mut World) {
    add(world, 10, false);
}

/// The same with 100 orders.
pub fn with_100_orders(world: &mut World) {
    add(world, 100, false);
}

/// The operator LISTs ConfigMaps from etcd in each reconciliation, and has an informer on all pods of the cluster.
pub fn with_defect(world: &mut World) {
    add(world, 10, true);
}

fn add(world: &mut World, orders: i64, defect: bool) {
    background::add_control_plane(world, Start::Running);
    let who = world.deployed(OPERATOR, AGENT);
    world.after(10 * SECOND, move |world| start(world, &who, orders, defect));
}

fn start(world: &mut World, who: &Who, orders: i64, defect: bool) {
    for document in ["/api", "/apis", "/apis/shop.example.com/v1", "/apis/apps/v1"] {
        world.send(who, path(document));
    }
    elect(world, who, OPERATOR.0, "order-operator.shop.example.com", true);
    let informed: &[Kind] =
        if defect { &[CONFIG_MAPS, DEPLOYMENTS, ORDERS, PODS] } else { &[CONFIG_MAPS, DEPLOYMENTS, ORDERS] };
    for kind in informed {
        drop(Informer::new(who, *kind).start(world, SECOND));
    }
    let tester = person("e2e-test", "e2e.test/v0.0.0 (linux/amd64) kubernetes/$Format".to_owned());
    for order in 0..orders {
        let (who, tester) = (who.clone(), tester.clone());
        world.after(5 * SECOND + order * SECOND, move |world| {
            let object = create(ORDERS).ns("shop").name(format!("order-{order}"));
            world.send(&tester, object);
            world.after(SECOND / 20, move |world| {
                world.send(&who, create(DEPLOYMENTS).ns("shop").name(format!("order-{order}")));
                world.send(&who, create(EVENTS).ns("shop").name(format!("order-{order}.17e0")));
                reconcile(world, &who, order, defect);
                // The Deployment becomes ready.
                let again = who.clone();
                world.after(3 * SECOND, move |world| reconcile(world, &again, order, defect));
                world.every(30 * SECOND, move |world| reconcile(world, &who, order, defect));
            });
        });
    }
}

fn reconcile(world: &mut World, who: &Who, order: i64, defect: bool) {
    let name = format!("order-{order}");
    if defect {
        world.send(who, list(CONFIG_MAPS).ns("shop"));
    }
    world.send(who, update(ORDERS).ns("shop").name(&*name).sub("status"));
}
