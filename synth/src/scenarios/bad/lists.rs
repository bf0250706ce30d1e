//! LISTs that should not be: R01 to R06, R09, R15, R25, R30 and R31.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{again_and_again, bad, cluster_with};
use crate::scenarios::Scenario;
use crate::scenarios::World;
use crate::scenarios::api::{CONFIG_MAPS, DEPLOYMENTS, PODS, SECRETS, SERVICES};
use crate::scenarios::background::{self, Start, daemon_pod};
use crate::scenarios::identity::Who;
use crate::scenarios::planned_request::{PlannedRequest, list, update};
use crate::scenarios::tested_operator;
use crate::scenarios::world::{MINUTE, SECOND};

pub fn all() -> Vec<Scenario> {
    vec![
        bad(
            "r01-list-from-etcd",
            "A controller lists with its API reader in each reconciliation.",
            "apps:scaler",
            &["KT101"],
            list_from_etcd,
        )
        .until(30),
        bad(
            "tested-operator-defect",
            "The operator in a test LISTs ConfigMaps in each reconciliation.",
            "shop-system:order-operator",
            &["KT101"],
            tested_operator::with_defect,
        )
        .until(30),
        bad(
            "r02-limit-ignored",
            "An agent lists pods in pages at resourceVersion=0.",
            "argo:workflow-controller",
            &["KT201", "KT307"],
            limit_ignored,
        ),
        bad(
            "r03-poll-list",
            "A planner lists all pods every second.",
            "dynamo:planner",
            &["KT307"],
            poll_list,
        )
        .error(),
        bad(
            "r04-node-herd",
            "Agents on all nodes list the same within a second, every minute.",
            "telemetry:collector",
            &["KT308"],
            node_herd,
        )
        .error()
        .until(30),
        bad(
            "r05-selector-scan",
            "A job server lists pods by a label every five seconds.",
            "livy:livy",
            &["KT104", "KT307"],
            selector_scan,
        ),
        bad(
            "r06-cluster-wide-list",
            "An operator of one namespace lists services everywhere.",
            "spark:spark-operator",
            &["KT205", "KT307"],
            cluster_wide,
        ),
        bad(
            "r09-deep-paging",
            "A cache walks through all pods by pages, each minute.",
            "ops:inventory",
            &["KT311", "KT202"],
            deep_paging,
        )
        .until(33),
        bad(
            "r09-small-pages",
            "A script walks through ConfigMaps in pages of 10.",
            "ops:auditor",
            &["KT202"],
            small_pages,
        ),
        bad(
            "r15-release-secrets",
            "An operator lists all release Secrets in each reconciliation.",
            "helm:helm-operator",
            &["KT206", "KT307"],
            release_secrets,
        ),
        bad(
            "r25-exact-revision",
            "A client lists at the revision of its last LIST.",
            "sync:differ",
            &["KT105", "KT307"],
            exact_revision,
        )
        .until(33),
        bad("r30-abandoned-list", "LISTs that run into the timeout.", "kubeshark:hub", &["KT305"], abandoned),
        bad(
            "r31-unpaged-list",
            "Large LISTs from etcd in one piece, each of some seconds.",
            "cmdb:exporter",
            &["KT106", "KT307"],
            unpaged,
        )
        .until(30),
    ]
}

fn list_from_etcd(world: &mut World) {
    let who = cluster_with(world, ("apps", "scaler"), "scaler/v0.3.0 (linux/amd64) kubernetes/$Format");
    world.repeat(SECOND, move |world| {
        world.send(&who, list(DEPLOYMENTS));
        Some(world.between(SECOND, 12 * SECOND))
    });
}

fn limit_ignored(world: &mut World) {
    let agent = "workflow-controller/v3.4.4 (linux/amd64) argo-workflows/3b2626f";
    let who = cluster_with(world, ("argo", "workflow-controller"), agent);
    again_and_again(world, who, 5 * SECOND, |_| list(PODS).first_list());
}

fn poll_list(world: &mut World) {
    let who = cluster_with(world, ("dynamo", "planner"), "OpenAPI-Generator/29.0.0/python");
    again_and_again(world, who, SECOND, |_| list(PODS));
}

fn node_herd(world: &mut World) {
    background::add(world, Start::Running);
    for node in world.cluster.nodes.clone() {
        let agent = "otel-collector/0.88.0 (linux/amd64)";
        let who = daemon_pod(world.version, ("telemetry", "collector"), &node.name, agent, &mut world.rng);
        let late = world.up_to(SECOND);
        world.repeat(20 * SECOND + late, move |world| {
            world.send(&who, list(SERVICES).millis(400));
            Some(MINUTE)
        });
    }
}

fn selector_scan(world: &mut World) {
    let who = cluster_with(world, ("livy", "livy"), "fabric8-kubernetes-client/6.7.2");
    again_and_again(world, who, 5 * SECOND, |_| {
        list(PODS).q("labelSelector", "spark-app-tag=livy-batch-17,spark-role=driver").millis(300)
    });
}

fn cluster_wide(world: &mut World) {
    let who = cluster_with(world, ("spark", "spark-operator"), "okhttp/4.12.0");
    let writer = who.clone();
    world.every(20 * SECOND, move |world| {
        world.send(&writer, update(PODS).ns("spark").name("driver-1").sub("status"));
    });
    again_and_again(world, who, 12 * SECOND, |_| list(SERVICES));
}

/// Sends the pages of one LIST, one after the other, with tokens as the server makes them.
fn pages(world: &mut World, who: &Who, first: &PlannedRequest, limit: &'static str, count: u64) {
    let revision = world.revision;
    for page in 0..count {
        let (who, planned) = (who.clone(), first.clone().q("limit", limit).millis(60));
        let delay = i64::try_from(page).expect("few pages") * SECOND / 4;
        world.after(delay, move |world| {
            let start = format!("shop/pod-{page:05}\\u0000");
            let token = format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":"{start}"}}"#);
            let planned =
                if page == 0 { planned } else { planned.q("continue", URL_SAFE_NO_PAD.encode(token)) };
            world.send(&who, planned);
        });
    }
}

fn deep_paging(world: &mut World) {
    let who = cluster_with(world, ("ops", "inventory"), "inventory/v1.0.0 (linux/amd64) kubernetes/$Format");
    world.clock(10 * SECOND, MINUTE, move |world| pages(world, &who, &list(PODS), "250", 60));
}

fn small_pages(world: &mut World) {
    let who = cluster_with(world, ("ops", "auditor"), "python-requests/2.31.0");
    world.clock(10 * SECOND, 2 * MINUTE, move |world| pages(world, &who, &list(CONFIG_MAPS), "10", 80));
}

fn release_secrets(world: &mut World) {
    let who = cluster_with(
        world,
        ("helm", "helm-operator"),
        "helm-operator/v1.33.0 (linux/amd64) kubernetes/$Format",
    );
    again_and_again(world, who, 4 * SECOND, |_| list(SECRETS).millis(900));
}

fn exact_revision(world: &mut World) {
    let who = cluster_with(world, ("sync", "differ"), "differ/v0.1.0 (linux/amd64) kubernetes/$Format");
    again_and_again(world, who, 6 * SECOND, |world| {
        let revision = (world.revision - 40).to_string();
        list(PODS).q("resourceVersion", revision).q("resourceVersionMatch", "Exact")
    });
}

fn abandoned(world: &mut World) {
    let who = cluster_with(world, ("kubeshark", "hub"), "hub/v52.3 (linux/amd64) kubernetes/$Format");
    world.clock(30 * SECOND, 75 * SECOND, move |world| {
        world.send(&who, list(PODS).status(504).millis(60_000));
    });
}

fn unpaged(world: &mut World) {
    let who = cluster_with(world, ("cmdb", "exporter"), "cmdb-exporter/2.1 (linux/amd64)");
    world.clock(20 * SECOND, 45 * SECOND, move |world| {
        world.send(&who, list(PODS).millis(7_000));
    });
}
