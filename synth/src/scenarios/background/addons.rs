//! Add-ons of most clusters: CoreDNS, metrics-server, ingress-nginx, cert-manager.

use super::Start;
use super::controllers::begin;
use super::operators::elect;
use crate::scenarios::api::{
    ACCESS_REVIEWS, CERTIFICATE_REQUESTS, CERTIFICATES, CONFIG_MAPS, CRDS, EVENTS, INGRESS_CLASSES,
    INGRESSES, ISSUERS, Kind, NAMESPACES, NODES, PODS, SECRETS, SERVICES, SLICES,
};
use crate::scenarios::identity::Who;
use crate::scenarios::informer::Informer;
use crate::scenarios::life::Life;
use crate::scenarios::planned_request::{create, path, update};
use crate::scenarios::world::{MINUTE, SECOND, World};

pub fn add(world: &mut World, start: Start) {
    for _ in 0..2 {
        addon(
            world,
            ("kube-system", "coredns"),
            "coredns/v0.0.0 (linux/amd64) kubernetes/$Format",
            start,
            &[NAMESPACES, SERVICES, SLICES],
        );
    }
    metrics_server(world, start);
    for leads in [true, false] {
        let agent = "nginx-ingress-controller/v1.10.1 (linux/amd64) ingress-nginx/4fb5aac1dd3669daa3a14d9de3e3cdb371b4c518";
        let who = addon(
            world,
            ("ingress-nginx", "ingress-nginx"),
            agent,
            start,
            &[CONFIG_MAPS, INGRESSES, INGRESS_CLASSES, SECRETS, SERVICES, SLICES],
        );
        elect(world, &who, "ingress-nginx", "ingress-nginx-leader", leads);
        if leads {
            world.every(10 * MINUTE, move |world| {
                let ingress = update(INGRESSES).ns("web").name("gateway").sub("status");
                world.send(&who, ingress);
                world.send(&who, create(EVENTS).ns("web").name("gateway.17e0"));
            });
        }
    }
    let controller = addon(
        world,
        ("cert-manager", "cert-manager"),
        "cert-manager-certificates-trigger/v1.15.1 (linux/amd64) cert-manager/3b0e3ed",
        start,
        &[CERTIFICATES, CERTIFICATE_REQUESTS, ISSUERS, SECRETS, INGRESSES],
    );
    elect(world, &controller, "kube-system", "cert-manager-controller", true);
    let injector = addon(
        world,
        ("cert-manager", "cert-manager-cainjector"),
        "cainjector/v1.15.1 (linux/amd64) cert-manager/3b0e3ed/leader-election",
        start,
        &[CERTIFICATES, CRDS, SECRETS],
    );
    elect(world, &injector, "kube-system", "cert-manager-cainjector-leader-election", true);
}

/// A pod of a Deployment that watches these resources.
pub fn addon(
    world: &mut World,
    service_account: (&str, &str),
    agent: &str,
    start: Start,
    kinds: &[Kind],
) -> Who {
    addon_with_life(world, service_account, agent, start, kinds).0
}

/// A pod as [`addon`] starts it, with its process.
pub fn addon_with_life(
    world: &mut World,
    service_account: (&str, &str),
    agent: &str,
    start: Start,
    kinds: &[Kind],
) -> (Who, Life) {
    let (who, life) = (world.deployed(service_account, agent), Life::default());
    let delay = if start == Start::Cold && world.now == world.begin { 30 * SECOND } else { SECOND };
    for kind in kinds {
        life.add(begin(world, Informer::new(&who, *kind), start, delay));
    }
    (who, life)
}

fn metrics_server(world: &mut World, start: Start) {
    let agent = "metrics-server/v0.7.1 (linux/amd64) kubernetes/a0b9d8a";
    let who = addon(world, ("kube-system", "metrics-server"), agent, start, &[NODES, PODS]);
    let config = Informer::new(&who, CONFIG_MAPS)
        .ns("kube-system")
        .fields("metadata.name=extension-apiserver-authentication");
    begin(world, config, start, 30 * SECOND);
    // It checks who may read metrics, and caches the result for 10 s.
    world.every(15 * SECOND, move |world| {
        world.send(&who, create(ACCESS_REVIEWS));
        if world.rng.percent(2) {
            world.send(&who, path("/version"));
        }
    });
}
