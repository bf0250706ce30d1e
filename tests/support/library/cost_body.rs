//! Properties of any text that is read as an inventory.

use kubetoll::apiserver::{ParsedTarget, RequestShape, Server, judge};
use kubetoll::cost::{Bound, Cost, Inventory, Prices, read};
use kubetoll::k8s::KubeVersion;
use kubetoll::k8s::request_info::Method;

const REQUESTS: [&str; 7] = [
    "/api/v1/pods",
    "/api/v1/pods?limit=500&labelSelector=a",
    "/api/v1/pods?fieldSelector=spec.nodeName%3Da&resourceVersion=0",
    "/api/v1/namespaces/a/pods?limit=7",
    "/api/v1/namespaces/a/pods/b",
    "/api/v1/events?watch=1",
    "/apis/apps/v1/deployments",
];

/// The text is an inventory that can price requests, or every error has a place.
pub fn inventory(bytes: &[u8]) {
    let read = || {
        let mut inventory = Inventory::default();
        let result = read(&mut inventory, "inventory", bytes);
        (inventory, result)
    };
    let (inventory, result) = read();
    assert_eq!(read().1, result);
    if let Err(errors) = result {
        assert!(inventory.is_empty() && !errors.0.is_empty());
        let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
        for error in &errors.0 {
            assert!((1..=lines + 1).contains(&error.at.line) && error.at.column >= 1, "{error}");
        }
        return;
    }
    assert_eq!(inventory.files.len(), 1);
    for minor in [19, 24, 30, 31, 36] {
        for uri in REQUESTS {
            priced(&inventory, KubeVersion::new(minor, 0), uri);
        }
    }
}

/// Received objects were filtered, decoded objects came from etcd, and no sum overflows.
fn priced(inventory: &Inventory, version: KubeVersion, uri: &str) {
    let server = Server::with_defaults(version);
    let target = ParsedTarget::parse(uri).expect("a target");
    let shape = RequestShape::new(Method::Get, &target.path, &target.options);
    let verdict = judge(&server, &shape, None);
    let resource = ["pods", "events", "deployments.apps"].into_iter().find(|name| uri.contains(&name[..4]));
    let prices = Prices { inventory, nodes_in_log: 3 };
    let work = prices.work(&server, &shape, verdict, resource.expect("one of them"));
    assert_eq!(work.etcd, work.decoded);
    if let (Some(received), Some(filtered)) = (work.received.objects, work.filtered.objects) {
        assert!(received <= filtered || work.filtered.bound == Bound::Mean, "{version} {uri}: {work:?}");
    }
    let all = Cost::new(&work, u64::MAX);
    assert!(all.etcd.objects >= work.etcd.objects.unwrap_or(0));
}
