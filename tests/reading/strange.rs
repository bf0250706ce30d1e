//! Strange requests, made of valid and invalid parts that a server parses.

use proptest::prelude::*;

const PATHS: &str = "/api/v1/pods /api/v1/namespaces/n/pods /api/v1/namespaces/n/pods/p /api/v1/nodes /api/v1/events \
    /apis/apps/v1/deployments /apis/apps/v1/namespaces/n/deployments/d/status /apis/example.com/v1/widgets \
    /api/v1/watch/pods /api/v1/namespaces/n/pods/p/log /apis/metrics.k8s.io/v1beta1/pods //api/v1/pods /healthz";
const SEGMENTS: &str = "api apis v1 apps batch namespaces n pods deployments events nodes watch proxy status log exec \
    metrics.k8s.io %2e%2e % API healthz example.com ü %FF";
const KEYS: &str = "labelSelector fieldSelector watch allowWatchBookmarks resourceVersion timeoutSeconds limit \
    resourceVersionMatch continue sendInitialEvents timeout labelselector %6cimit ?limit pretty x ü";
const VALUES: &str = "0 1 00 -1 500 true false 99999999999999999999 NotOlderThan Exact metadata.name%3Dx \
    metadata.name=x,metadata.namespace=n spec.nodeName%3Dn a+in+(b,c) a%3Db a!%3D !ü ü!=ü %FF 5s 1h1µs ; %zz + \
    eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhL2IifQ \
    eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYS9iIn0";

/// One of these words, or an empty string.
fn word(words: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.split_whitespace().chain([""]).collect::<Vec<_>>())
}

/// A request target.
pub fn target() -> impl Strategy<Value = String> {
    let path = prop_oneof![
        3 => word(PATHS).prop_map(str::to_owned),
        1 => prop::collection::vec(word(SEGMENTS), 0..8).prop_map(|path| format!("/{}", path.join("/"))),
    ];
    let pair = (word(KEYS), word(VALUES)).prop_map(|(key, value)| format!("{key}={value}"));
    (path, prop::collection::vec(pair, 0..6)).prop_map(|(path, query)| format!("{path}?{}", query.join("&")))
}

/// An event of such a request, as a line.
pub fn line() -> impl Strategy<Value = String> {
    let stage = prop::sample::select(vec!["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]);
    let verb =
        prop::sample::select(vec!["get", "list", "watch", "create", "deletecollection", "connect", "x"]);
    let agent = prop::sample::select(vec!["", "a/1", "a/2", "kubectl/v1.34.0 (x) kubernetes/y", "b", "<c>"]);
    let code = prop::sample::select(vec![0, 101, 200, 304, 400, 401, 403, 404, 409, 410, 429, 500, 999]);
    (target(), stage, verb, agent, code, 0_u64..600, 0_u32..4).prop_map(
        |(uri, stage, verb, agent, code, second, id)| {
            let at = format!("2026-07-01T08:{:02}:{:02}.00000", second / 60, second % 60);
            serde_json::json!({
                "kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": format!("id-{id}"), "stage": stage,
                "requestURI": uri, "verb": verb, "user": {"username": "mallory"}, "userAgent": agent,
                "responseStatus": {"code": code}, "requestReceivedTimestamp": format!("{at}0Z"),
                "stageTimestamp": format!("{at}9Z"),
            })
            .to_string()
        },
    )
}
