//! GitOps: Argo CD and Flux at their usual intervals.

use super::{normal, scenario};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{
    APP_PROJECTS, APPLICATIONS, BUDGETS, CERTIFICATES, CLUSTER_ROLES, CONFIG_MAPS, CRDS, CRON_JOBS,
    DAEMON_SETS, DEPLOYMENTS, ENDPOINTS, EVENTS, GIT_REPOSITORIES, HELM_RELEASES, INGRESSES, JOBS,
    KUSTOMIZATIONS, Kind, NAMESPACES, NODES, PODS, POLICIES, REPLICA_SETS, ROLE_BINDINGS, ROLES, SCALERS,
    SECRETS, SERVICE_ACCOUNTS, SERVICES, SLICES, STATEFUL_SETS, STORAGE_CLASSES,
};
use crate::scenarios::background::{Start, addon, begin, elect};
use crate::scenarios::informer::Informer;
use crate::scenarios::planned_request::{create, get, list, patch, path};
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        scenario("argo-cd", "Argo CD reconciles 60 applications.", argo_cd),
        scenario("flux", "Flux reconciles 40 releases and 20 kustomizations.", flux),
    ]
}

const MANAGED: [Kind; 25] = [
    BUDGETS,
    CERTIFICATES,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRDS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    INGRESSES,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    POLICIES,
    REPLICA_SETS,
    ROLES,
    ROLE_BINDINGS,
    SCALERS,
    SECRETS,
    SERVICES,
    SERVICE_ACCOUNTS,
    SLICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
];

fn argo_cd(world: &mut World) {
    normal(world);
    let agent = "argocd-application-controller/v2.11.3 (linux/amd64) kubernetes/$Format";
    let who = addon(world, ("argocd", "argocd-application-controller"), agent, Start::Running, &MANAGED);
    for kind in [APPLICATIONS, APP_PROJECTS, SECRETS, CONFIG_MAPS] {
        begin(world, Informer::new(&who, kind).ns("argocd"), Start::Running, 0);
    }
    for app in 0..60 {
        let who = who.clone();
        world.every(3 * MINUTE, move |world| {
            let name = format!("app-{app}");
            world.send(&who, patch(APPLICATIONS).ns("argocd").name(&*name));
            if world.rng.percent(10) {
                sync(world, &who, &name);
            }
        });
    }
    let agent = "argocd-server/v2.11.3 (linux/amd64) kubernetes/$Format";
    let server = world.deployed(("argocd", "argocd-server"), agent);
    for kind in [APPLICATIONS, APP_PROJECTS, CONFIG_MAPS, SECRETS] {
        begin(world, Informer::new(&server, kind).ns("argocd"), Start::Running, 0);
    }
    world.every(25 * SECOND, move |world| {
        let name = format!("app-{}", world.rng.below(60));
        world.send(&server, get(APPLICATIONS).ns("argocd").name(name));
    });
}

/// Argo CD applies an application's objects.
fn sync(world: &mut World, who: &crate::scenarios::identity::Who, name: &str) {
    for discovery in
        ["/version?timeout=32s", "/api?timeout=32s", "/apis?timeout=32s", "/openapi/v2?timeout=32s"]
    {
        world.send(who, path(discovery));
    }
    let namespace = world.rng.pick(&world.cluster.namespaces).clone();
    for kind in [CONFIG_MAPS, SECRETS, SERVICES, DEPLOYMENTS, INGRESSES, SERVICE_ACCOUNTS] {
        for number in 0..2 {
            let object = format!("{name}-{number}");
            world.send(who, get(kind).ns(&*namespace).name(&*object));
            world
                .send(who, patch(kind).ns(&*namespace).name(&*object).q("fieldManager", "argocd-controller"));
        }
    }
    world.send(who, create(EVENTS).ns("argocd").name(format!("{name}.{:x}", world.revision)));
    world.send(who, patch(APPLICATIONS).ns("argocd").name(name));
}

fn flux(world: &mut World) {
    normal(world);
    kustomizations(world);
    releases(world);
    let agent = "source-controller/v1.3.0 (linux/amd64) kubernetes/$Format";
    let source =
        addon(world, ("flux-system", "source-controller"), agent, Start::Running, &[GIT_REPOSITORIES]);
    elect(world, &source, "flux-system", "source-controller-leader-election", true);
    world.every(15 * SECOND, move |world| {
        let name = format!("repository-{}", world.rng.below(8));
        let query = patch(GIT_REPOSITORIES).ns("flux-system").name(name).sub("status");
        world.send(&source, query.q("fieldManager", "gotk-source-controller"));
    });
}

fn kustomizations(world: &mut World) {
    let agent = "kustomize-controller/v1.3.0 (linux/amd64) kubernetes/$Format";
    let who = addon(
        world,
        ("flux-system", "kustomize-controller"),
        agent,
        Start::Running,
        &[KUSTOMIZATIONS, GIT_REPOSITORIES],
    );
    elect(world, &who, "flux-system", "kustomize-controller-leader-election", true);
    for kustomization in 0..20 {
        let who = who.clone();
        let namespace = world.rng.pick(&world.cluster.namespaces).clone();
        // Each reconciliation is a dry run of a server-side apply of each object.
        world.every(5 * MINUTE, move |world| {
            for kind in [CONFIG_MAPS, DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS, ROLE_BINDINGS] {
                for number in 0..4 {
                    let name = format!("k{kustomization}-{number}");
                    let apply = patch(kind).ns(&*namespace).name(name).q("dryRun", "All");
                    let apply = apply.q("fieldManager", "kustomize-controller").q("force", "true");
                    world.send(&who, apply);
                }
            }
            let name = format!("k{kustomization}");
            for _ in 0..2 {
                world.send(&who, patch(KUSTOMIZATIONS).ns("flux-system").name(&*name).sub("status"));
            }
            world.send(&who, create(EVENTS).ns("flux-system").name(format!("{name}.{:x}", world.revision)));
        });
    }
}

fn releases(world: &mut World) {
    let agent = "helm-controller/v1.0.1 (linux/amd64) kubernetes/$Format";
    let who = addon(world, ("flux-system", "helm-controller"), agent, Start::Running, &[HELM_RELEASES]);
    elect(world, &who, "flux-system", "helm-controller-leader-election", true);
    for release in 0..40 {
        let who = who.clone();
        let namespace = world.rng.pick(&world.cluster.namespaces).clone();
        world.every(5 * MINUTE, move |world| {
            let name = format!("release-{release}");
            world.send(
                &who,
                list(SECRETS).ns(&*namespace).q("labelSelector", format!("name={name},owner=helm")),
            );
            world.send(&who, get(SECRETS).ns(&*namespace).name(format!("sh.helm.release.v1.{name}.v4")));
            for _ in 0..2 {
                world.send(&who, patch(HELM_RELEASES).ns(&*namespace).name(&*name).sub("status"));
            }
        });
    }
}
