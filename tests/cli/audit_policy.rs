//! `kubetoll audit-policy` prints a policy that kube-apiserver accepts, that logs what kubetoll needs, and no secret.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;

use super::policy::{Level, Object, Policy, Request, Stage};
use flate2::read::GzDecoder;
use kubetoll::k8s::go_url::split_target;
use kubetoll::k8s::request_info::Method;
use kubetoll::k8s::{ListOptions, RequestInfo};
use serde_json::Value;

fn printed() -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_kubetoll")).arg("audit-policy").output().expect("the binary runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn load() -> Policy {
    Policy::load(&printed()).expect("a policy that kube-apiserver accepts")
}

/// The level at which the policy logs a request.
fn level(policy: &Policy, method: &str, uri: &str, user: &str) -> Level {
    let (path, query) = split_target(uri);
    let method = Method::parse(method).expect("a method");
    let info = RequestInfo::resolve(method, path, &ListOptions::parse(query)).expect("a request");
    let resource = info.resource.as_ref().map(|resource| Object {
        group: resource.group,
        resource: resource.resource,
        subresource: resource.subresource,
        namespace: resource.namespace,
        name: &info.name,
    });
    let request = Request { user: Some(user), groups: Vec::new(), verb: info.verb.as_str(), resource, path };
    policy.level_and_stages(&request).0
}

#[test]
fn requests_are_logged_at_the_level_that_kubetoll_needs() {
    let policy = load();
    for (method, uri, expected) in [
        ("GET", "/api/v1/pods?limit=500&resourceVersion=0", Level::Metadata),
        ("GET", "/api/v1/pods?limit=500&continue=abc", Level::Metadata),
        ("GET", "/api/v1/nodes/n1", Level::Metadata),
        ("GET", "/api/v1/namespaces/shop/secrets/s1", Level::Metadata),
        ("GET", "/api/v1/secrets", Level::Metadata),
        (
            "GET",
            "/api/v1/namespaces/shop/configmaps?watch=1&fieldSelector=metadata.name%3Dc",
            Level::Metadata,
        ),
        ("GET", "/api/v1/events", Level::Metadata),
        ("GET", "/apis/events.k8s.io/v1/events?watch=true", Level::Metadata),
        ("GET", "/apis/metrics.k8s.io/v1beta1/pods", Level::Metadata),
        ("GET", "/apis/example.com/v1/widgets", Level::Metadata),
        ("GET", "/api/v1/namespaces/shop/pods/p/log?follow=true", Level::Metadata),
        ("GET", "/api/v1/nodes/n1/proxy/metrics", Level::Metadata),
        ("POST", "/api/v1/namespaces/shop/secrets", Level::Metadata),
        ("POST", "/api/v1/namespaces/shop/events", Level::Metadata),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", Level::Metadata),
        ("PATCH", "/api/v1/namespaces/shop/pods/p/status", Level::Metadata),
        ("DELETE", "/api/v1/namespaces/shop/pods", Level::Metadata),
        ("DELETE", "/api/v1/namespaces/shop/pods/p", Level::Metadata),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", Level::Metadata),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", Level::Metadata),
        ("POST", "/api/v1/namespaces/shop/serviceaccounts/a/token", Level::Metadata),
        ("POST", "/api/v1/namespaces/shop/pods/p/eviction", Level::Metadata),
        ("POST", "/api/v1/namespaces/shop/pods/p/exec?command=env", Level::None),
        ("GET", "/api/v1/namespaces/shop/pods/p/exec?command=env", Level::None),
        ("GET", "/healthz", Level::None),
        ("GET", "/livez/ping", Level::None),
        ("GET", "/readyz?verbose", Level::None),
        ("GET", "/readyz/etcd", Level::None),
        ("GET", "/api", Level::Metadata),
        ("GET", "/apis", Level::Metadata),
        ("GET", "/apis/apps/v1", Level::Metadata),
        ("GET", "/openapi/v2", Level::Metadata),
        ("GET", "/openapi/v3/apis/apps/v1?hash=1", Level::Metadata),
        ("GET", "/version", Level::Metadata),
        ("GET", "/metrics", Level::Metadata),
    ] {
        for user in ["system:apiserver", "system:node:n1", "system:serviceaccount:a:b", "alice"] {
            assert_eq!(level(&policy, method, uri, user), expected, "{method} {uri} by {user}");
        }
    }
    let refused = Request {
        verb: "list",
        resource: Some(Object::default()),
        path: "/api/v1/pods",
        ..Request::default()
    };
    assert_eq!(policy.level_and_stages(&refused).0, Level::Metadata, "a 401 has no user");
}

#[test]
fn no_body_is_logged_and_only_request_received_is_omitted() {
    let policy = load();
    assert!(policy.rules.iter().all(|rule| rule.level <= Level::Metadata));
    assert_eq!(policy.omit_stages, [Stage::RequestReceived]);
    assert!(policy.rules.iter().all(|rule| rule.omit_stages.is_empty()));
    // These fields are about bodies, and the policy logs none.
    assert!(
        !policy.omit_managed_fields && policy.rules.iter().all(|rule| rule.omit_managed_fields.is_none())
    );
    let last = policy.rules.last().expect("a rule");
    assert_eq!(last.level, Level::Metadata, "what no rule names is logged");
}

#[test]
fn each_policy_rule_has_a_comment() {
    let text = printed();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for (above, line) in lines.iter().zip(&lines[1..]) {
        let begins = line.starts_with("- level:") || ["omitStages:", "rules:"].contains(line);
        assert!(!begins || above.starts_with('#'), "no reason above '{line}'");
    }
    assert!(text.lines().all(|line| line.len() <= 120 && line == line.trim_end()));
}

/// The log was recorded with everything at Metadata. So each line shows one request that the policy decides on.
#[test]
fn recorded_reads_are_kept_and_the_volume_is_what_the_policy_says() {
    let text = printed();
    let policy = load();
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/traffic/kube-apiserver-1.36.2.jsonl.gz");
    let traffic = BufReader::new(GzDecoder::new(File::open(path).expect("the recorded traffic")));
    let (mut all, mut kept) = ((0_u64, 0_u64), (0, 0));
    for line in traffic.lines() {
        let line = line.expect("a line");
        let size = line.len() as u64 + 1;
        let event: Value = serde_json::from_str(&line).expect("an event");
        let field = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let resource = event.get("objectRef").map(|_| Object {
            group: field("/objectRef/apiGroup"),
            resource: field("/objectRef/resource"),
            subresource: field("/objectRef/subresource"),
            namespace: field("/objectRef/namespace"),
            name: field("/objectRef/name"),
        });
        let request = Request {
            user: event.pointer("/user/username").and_then(Value::as_str),
            groups: event
                .pointer("/user/groups")
                .and_then(Value::as_array)
                .map(|groups| groups.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default(),
            verb: field("/verb"),
            path: split_target(field("/requestURI")).0,
            resource,
        };
        let (level, omitted) = policy.level_and_stages(&request);
        if request.resource.is_some() && ["get", "list", "watch"].contains(&request.verb) {
            assert_eq!(level, Level::Metadata, "{line}");
        }
        let stage: Stage = serde_json::from_value(event["stage"].clone()).expect("a stage");
        all = (all.0 + 1, all.1 + size);
        if level > Level::None && !omitted.contains(&stage) {
            kept = (kept.0 + 1, kept.1 + size);
        }
    }
    let thousands = |n: u64| format!("{},{:03}", n / 1000, n % 1000);
    let megabytes = |bytes: u64| {
        let tenths = (bytes + 50_000) / 100_000;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    let said = format!(
        "it keeps {} of {} lines and {} of {} MB",
        thousands(kept.0),
        thousands(all.0),
        megabytes(kept.1),
        megabytes(all.1)
    );
    let flat = text.replace("\n# ", " ");
    assert!(flat.contains(&said), "the policy should say: {said}");
    assert!((950..=1050).contains(&(kept.1 / kept.0)) && flat.contains("about 1,000 bytes a line"));
}

#[test]
fn policies_that_kube_apiserver_rejects_are_rejected() {
    let with = |rules: &str| format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{rules}");
    for (yaml, message) in [
        (with(""), "rules"),
        (with("- level: Metadat\n"), "Metadat"),
        (with("- verbs: [get]\n"), "level"),
        (with("- level: None\n  verb: [get]\n"), "verb"),
        (with("- level: None\n  omitStages: [ResponseEnded]\n"), "ResponseEnded"),
        (with("- level: None\n  nonResourceURLs: [healthz]\n"), "begins with '/'"),
        (with("- level: None\n  nonResourceURLs: [/a*/b]\n"), "last character"),
        (with("- level: None\n  nonResourceURLs: [/a]\n  namespaces: [b]\n"), "for resources or for"),
        (with("- level: None\n  resources: [{group: apps/v1}]\n"), "no name of a group"),
        (with("- level: None\n  resources: [{resourceNames: [a]}]\n"), "at least one resource"),
        (with("- level: None\n").replace("/v1", "/v2"), "audit.k8s.io/v1"),
    ] {
        let refused = Policy::load(&yaml).expect_err(&yaml);
        assert!(refused.contains(message), "{yaml}\n{refused}");
    }
}

/// Cases that upstream's source decides.
#[test]
fn first_matching_policy_rule_sets_the_level() {
    let decided = |rule: &str, request: &Request| {
        let yaml = format!(
            "{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{{level: Request, {rule}}}, {{level: Metadata}}]}}"
        );
        Policy::load(&yaml).expect(&yaml).level_and_stages(request).0 == Level::Request
    };
    let resource = Object {
        group: "apps",
        resource: "deployments",
        subresource: "scale",
        namespace: "shop",
        name: "web",
    };
    let scale = Request {
        user: Some("alice"),
        groups: vec!["dev"],
        verb: "get",
        path: "/apis",
        resource: Some(resource.clone()),
    };
    for (rule, expected) in [
        ("users: [alice]", true),
        ("users: [bob]", false),
        ("userGroups: [ops, dev]", true),
        ("userGroups: [ops]", false),
        ("verbs: [get]", true),
        ("verbs: [list]", false),
        ("users: [alice], verbs: [list]", false),
        ("namespaces: [shop]", true),
        ("namespaces: ['']", false),
        ("resources: [{group: apps}]", true),
        ("resources: [{group: ''}]", false),
        ("resources: [{group: apps, resources: [deployments]}]", false),
        ("resources: [{group: apps, resources: [deployments/scale]}]", true),
        ("resources: [{group: apps, resources: [deployments/*]}]", true),
        ("resources: [{group: apps, resources: ['*/scale']}]", true),
        ("resources: [{group: apps, resources: ['*/status']}]", false),
        ("resources: [{group: apps, resources: ['*']}]", true),
        ("resources: [{group: apps, resources: ['*'], resourceNames: [web]}]", true),
        ("resources: [{group: apps, resources: ['*'], resourceNames: [api]}]", false),
        ("nonResourceURLs: ['*']", false),
    ] {
        assert_eq!(decided(rule, &scale), expected, "{rule}");
    }
    let plain = Request { resource: Some(Object { subresource: "", ..resource }), ..scale.clone() };
    assert!(
        decided("resources: [{group: apps, resources: [deployments/*]}]", &plain),
        "upstream matches it too"
    );
    let health = Request { resource: None, path: "/healthz/etcd", ..scale };
    for (rule, expected) in [
        ("nonResourceURLs: [/healthz*]", true),
        ("nonResourceURLs: [/healthz]", false),
        ("nonResourceURLs: [/healthz/etcd]", true),
        ("nonResourceURLs: ['*']", true),
        ("resources: [{group: ''}]", false),
        ("namespaces: ['']", false),
    ] {
        assert_eq!(decided(rule, &health), expected, "{rule}");
    }
    let nobody = Request { user: None, ..health };
    assert!(!decided("users: [alice]", &nobody) && !decided("userGroups: [dev]", &nobody));
}

#[test]
fn policy_is_written_to_a_file_completely() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |path: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
            .args(["audit-policy", "-o", path])
            .current_dir(dir.path())
            .output()
            .expect("the binary runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    assert_eq!(run("policy.yaml"), (Some(0), String::new()));
    assert_eq!(std::fs::read_to_string(dir.path().join("policy.yaml")).expect("a policy"), printed());
    assert_eq!(run("no/such/policy.yaml"), (Some(2), String::new()));
}
