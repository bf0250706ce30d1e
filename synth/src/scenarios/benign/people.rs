//! People with kubectl.

use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    CONFIG_MAPS, DEPLOYMENTS, EVENTS, JOBS, Kind, NODES, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS,
};
use crate::scenarios::identity::{Who, kubectl, person};
use crate::scenarios::planned_request::{get, list, patch, path};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        scenario("admin-day", "People use kubectl get, describe, apply, logs -f, and watch -n2.", admin_day),
        scenario("admin-watches-nodes", "`watch -n2 kubectl get nodes` for the whole time.", |world| {
            normal(world);
            let agent = kubectl(world.version);
            let who = person("kubernetes-admin", agent);
            watch_command(world, &who, NODES, "", 0, 30 * MINUTE);
        }),
    ]
}

fn admin_day(world: &mut World) {
    normal(world);
    let agent = kubectl(world.version);
    for (index, name) in ["anna@example.com", "ben@example.com", "kubernetes-admin"].into_iter().enumerate() {
        let who = person(name, agent.clone());
        let own = who.clone();
        world.every(25 * SECOND, move |world| command(world, &own));
        let minute = i64::try_from(index).expect("few");
        watch_command(world, &who, PODS, "shop", (2 + minute) * MINUTE, 12 * MINUTE);
        logs(world, &who);
        // kubectl get pods --watch: a LIST and a WATCH until the user stops it.
        world.after((3 + 2 * minute) * MINUTE, move |world| {
            let collection =
                |planned: crate::scenarios::planned_request::PlannedRequest| planned.ns("payments");
            world.send(&who, collection(list(PODS)).q("limit", "500"));
            let planned = collection(crate::scenarios::planned_request::watch(PODS)).q("watch", "true");
            let open = world.open(&who, planned.q("resourceVersion", world.revision.to_string()));
            world.after(40 * SECOND, move |world| world.close(&who, open));
        });
    }
}

/// One command that a person types.
fn command(world: &mut World, who: &Who) {
    let namespace = world.rng.pick(&world.cluster.namespaces).clone();
    let kinds: [Kind; 6] = [PODS, DEPLOYMENTS, SERVICES, CONFIG_MAPS, STATEFUL_SETS, JOBS];
    let kind = *world.rng.pick(&kinds);
    let name = format!("api-{}", world.rng.suffix(5));
    match world.rng.below(12) {
        0..5 => world.send(who, list(kind).ns(namespace).q("limit", "500")),
        5 => world.send(who, list(kind).q("limit", "500")),
        6 => world.send(who, list(NODES).q("limit", "500")),
        7 => world.send(who, list(EVENTS).ns(namespace).q("limit", "500")),
        8 => describe(world, who, &namespace, &name),
        9 => apply(world, who, &namespace),
        10 => world.send(who, get(kind).ns(namespace).name(name).status(404)),
        _ => discover(world, who),
    }
}

fn describe(world: &mut World, who: &Who, namespace: &str, pod: &str) {
    world.send(who, get(PODS).ns(namespace).name(pod));
    let selector = format!("involvedObject.name={pod},involvedObject.namespace={namespace}");
    world.send(who, list(EVENTS).ns(namespace).q("fieldSelector", selector).q("limit", "500"));
}

fn apply(world: &mut World, who: &Who, namespace: &str) {
    world.send(who, path("/openapi/v3?timeout=32s"));
    for kind in [CONFIG_MAPS, DEPLOYMENTS, SERVICES] {
        world.send(who, get(kind).ns(namespace).name("api"));
        let patch = patch(kind).ns(namespace).name("api").q("fieldManager", "kubectl-client-side-apply");
        world.send(who, patch.q("fieldValidation", "Strict"));
    }
    world.send(who, list(REPLICA_SETS).ns(namespace).q("labelSelector", "app=api").q("limit", "500"));
}

/// kubectl reads discovery again once its cache is older than 6 hours.
fn discover(world: &mut World, who: &Who) {
    world.send(who, path("/api?timeout=32s"));
    world.send(who, path("/apis?timeout=32s"));
    if world.version.minor < 27 {
        for group in ["apps/v1", "batch/v1", "events.k8s.io/v1", "networking.k8s.io/v1", "policy/v1"] {
            world.send(who, path(format!("/apis/{group}?timeout=32s")));
        }
    }
}

/// `watch -n2 kubectl get`.
fn watch_command(world: &mut World, who: &Who, kind: Kind, namespace: &str, at: i64, lasts: i64) {
    let (who, namespace) = (who.clone(), namespace.to_owned());
    let until = world.now + at + lasts;
    world.repeat(at, move |world| {
        world.send(&who, list(kind).ns(&*namespace).q("limit", "500"));
        (world.now < until).then(|| 2 * SECOND + world.between(SECOND / 20, SECOND / 5))
    });
}

/// `kubectl logs -f`.
fn logs(world: &mut World, who: &Who) {
    let who = who.clone();
    world.every(6 * MINUTE, move |world| {
        let pod = format!("api-{}", world.rng.suffix(5));
        world.send(&who, get(PODS).ns("shop").name(&*pod));
        let planned = get(PODS).ns("shop").name(&*pod).sub("log").q("container", "api").q("follow", "true");
        let open = world.open(&who, planned);
        let who = who.clone();
        world.after(3 * MINUTE, move |world| world.close(&who, open));
    });
}
