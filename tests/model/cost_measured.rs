//! The cost of requests compared with the counters of real kube-apiservers (`fixtures/truth/measured-*`):
//! objects fetched from etcd and from the watch cache, objects in the response, and seats.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use kubetoll::apiserver::{ParsedTarget, RequestShape, ServedFrom, Server, judge};
use kubetoll::cost::{Amount, Bound, Inventory, InventoryEntry, Prices};
use kubetoll::k8s::request_info::Method;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    #[serde(rename = "auditID")]
    audit_id: String,
    k8s: String,
    etcd: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    #[serde(rename = "auditID")]
    audit_id: String,
    resource: String,
    etcd_fetched: u64,
    cache_fetched: u64,
    items: Option<u64>,
    seats: Option<u64>,
}

/// Tolerance, because objects may appear and disappear while the probes run.
const DRIFT: u64 = 16;

fn stored(resource: &str) -> u64 {
    match resource {
        "pods" | "configmaps" => 2_046,
        "events" => 448,
        "widgets" => 246,
        "nodes" => 50,
        "leases" => 51,
        "namespaces" => 19,
        "secrets" => 1,
        other => panic!("{other} was not probed"),
    }
}

/// The bytes of an object, inferred from the largest seats of 1.36. The server had no size for some resources.
fn holding(resource: &str) -> InventoryEntry {
    let bytes_per_object = match resource {
        "pods" => Some(910),
        "configmaps" => Some(285),
        _ => None,
    };
    InventoryEntry { objects: Some(stored(resource)), bytes_per_object, is_size_unknown_to_server: false }
}

fn inventory() -> Inventory {
    let plain = ["pods", "configmaps", "events", "nodes", "namespaces", "secrets"];
    let named = plain.map(|name| (name.to_owned(), holding(name)));
    let others = [("leases", "leases.coordination.k8s.io"), ("widgets", "widgets.example.com")]
        .map(|(name, full)| (full.to_owned(), holding(name)));
    Inventory::from_entries(named.into_iter().chain(others))
}

fn lines(path: &Path) -> impl Iterator<Item = String> + use<> {
    let file = File::open(path).expect("a fixture");
    BufReader::new(MultiGzDecoder::new(file)).lines().map(|line| line.expect("a line"))
}

fn fixtures(prefix: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/truth")).expect("fixtures/truth");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(prefix))
    });
    paths.sort();
    paths
}

fn fits(estimate: Amount, measured: u64, all: u64) -> bool {
    let Some(objects) = estimate.objects else { return false };
    match estimate.bound {
        Bound::AtMost => measured <= objects + DRIFT,
        // The size of a whole collection is approximate, the size of a page exact.
        Bound::Exact if objects == all => measured.abs_diff(objects) <= DRIFT,
        Bound::Exact => measured == objects,
        // This test has no log, so all namespaces have the same weight.
        Bound::Estimate => false,
        // Pods are spread evenly over nodes. Namespaces have different sizes.
        Bound::Mean => objects != all.div_ceil(stored("nodes")) || measured <= objects,
    }
}

#[test]
fn objects_and_seats_match_the_servers_counters() {
    let inventory = inventory();
    let prices = Prices { inventory: &inventory, nodes_in_log: 0 };
    let (mut wrong, mut seen, mut exact, mut seats_seen) = (Vec::new(), 0, 0, 0);
    for (probes, measured) in fixtures("probes-").iter().zip(fixtures("measured-")) {
        let probes: HashMap<String, Probe> = lines(probes)
            .map(|line| serde_json::from_str::<Probe>(&line).expect("a probe"))
            .map(|probe| (probe.audit_id.clone(), probe))
            .collect();
        let mut reader =
            csv::Reader::from_reader(MultiGzDecoder::new(File::open(measured).expect("a fixture")));
        for row in reader.deserialize() {
            let row: Measured = row.expect("a row");
            let probe = &probes[&row.audit_id];
            let server = Server {
                etcd: Some(probe.etcd.parse().expect("etcd's version")),
                ..Server::with_defaults(probe.k8s.parse().expect("Kubernetes' version"))
            };
            let target = ParsedTarget::parse(&probe.request_uri).expect("a target");
            let shape = RequestShape::new(Method::Get, &target.path, &target.options);
            let verdict = judge(&server, &shape, Some(200));
            let name = match row.resource.as_str() {
                "leases" => "leases.coordination.k8s.io",
                "widgets" => "widgets.example.com",
                other => other,
            };
            let work = prices.work(&server, &shape, verdict, name);
            let all = stored(&row.resource);
            let is_likely = verdict.served_from != ServedFrom::Depends
                || (verdict.likely == Some(ServedFrom::Etcd)) == (row.etcd_fetched > 0);
            let through = row.etcd_fetched + row.cache_fetched;
            let objects = fits(work.etcd, row.etcd_fetched, all) && fits(work.filtered, through, all);
            let items = row.items.is_none_or(|items| fits(work.received, items, all));
            if is_likely && !(objects && items) {
                wrong.push(format!("{} {}: {row:?} {work:?}", probe.k8s, probe.request_uri));
            }
            exact += usize::from(work.etcd.bound == Bound::Exact && row.etcd_fetched > 0);
            seen += usize::from(is_likely);
            // 1.36 charged the seats of large requests while it had no sizes yet.
            let is_steady = !server.version.at_least(34, 0) && through <= all;
            if let Some(seats) = row.seats.filter(|_| is_steady) {
                seats_seen += 1;
                if work.seats != Some(seats) {
                    wrong
                        .push(format!("{} {}: {row:?} seats {:?}", probe.k8s, probe.request_uri, work.seats));
                }
            }
        }
    }
    assert!(seen > 5_000 && exact > 1_000 && seats_seen > 3_000, "{seen} {exact} {seats_seen}");
    assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
}
