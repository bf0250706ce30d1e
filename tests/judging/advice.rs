//! Advice is right for the server's version: the model gives a verdict on each request that a fix names.

use kubetoll::apiserver::{LimitVerdict, ParsedTarget, RequestShape, ServedFrom, Server, judge};
use kubetoll::k8s::KubeVersion;
use kubetoll::k8s::request_info::Method;
use serde_json::Value;

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

const NEXT: &str = "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NzcsInN0YXJ0IjoiYS9iXHUwMDAwIn0";

/// Clients: the ServiceAccount, its user agent, and its pod.
const CLIENTS: [(&str, &str, &str); 10] = [
    ("go", "agent/v1.0.0 (linux/amd64) kubernetes/1a2b3c4", "agent-x2x8q"),
    ("runtime", "manager/v0.0.0 (linux/amd64) kubernetes/$Format", "manager-6d4cf56db6-x2x8q"),
    ("python", "OpenAPI-Generator/29.0.0/python", "poller-6d4cf56db6-x2x8q"),
    ("java", "okhttp/4.12.0", "driver-6d4cf56db6-x2x8q"),
    ("rust", "kube-rs/0.88", "thing-6d4cf56db6-x2x8q"),
    ("unknown", "thing/1.0", "other-6d4cf56db6-x2x8q"),
    ("cron", "OpenAPI-Generator/29.0.0/python", "nightly-28412345-b8xqz"),
    ("kubectl", "kubectl/v1.30.0 (linux/amd64) kubernetes/7c48c2b", "script-6d4cf56db6-x2x8q"),
    ("helm", "Helm/3.14.0", "deploy-6d4cf56db6-x2x8q"),
    ("terraform", "HashiCorp/1.0 Terraform/1.7.0", "plan-6d4cf56db6-x2x8q"),
];
/// Clients that run and end.
const JOBS: [&str; 4] = ["cron", "kubectl", "helm", "terraform"];

fn queries() -> Vec<String> {
    let mut queries: Vec<String> = ["", "labelSelector=app%3Dx", "fieldSelector=spec.nodeName%3Dn1"]
        .iter()
        .flat_map(|selector| {
            ["", "limit=500", "limit=5", "resourceVersion=0&limit=500"]
                .map(|rest| format!("{selector}&{rest}"))
        })
        .collect();
    queries.extend(
        ["", "&fieldSelector=spec.nodeName%3Dn1"].map(|selector| format!("limit=500&{NEXT}{selector}")),
    );
    queries.push("resourceVersion=7&limit=500".to_owned());
    queries.into_iter().map(|query| query.trim_matches('&').to_owned()).collect()
}

/// Each client sends each query repeatedly, under its own ServiceAccount.
fn log() -> String {
    let mut log = String::new();
    for (client, agent, pod) in CLIENTS {
        for (number, query) in queries().iter().enumerate() {
            for second in 0..70 {
                let uri = if query.is_empty() {
                    "/api/v1/pods".to_owned()
                } else {
                    format!("/api/v1/pods?{query}")
                };
                let event = AuditEvent::new(&format!("{client}-{number}-{second}"), "list", &uri)
                    .by(&format!("system:serviceaccount:{client}:q{number}"), agent)
                    .pod(pod)
                    .ip("10.0.0.1")
                    .with("objectRef", serde_json::json!({ "resource": "pods", "apiVersion": "v1" }))
                    .since("2026-03-02T10:00:00Z")
                    .at(second * 1_000_000, 2_000);
                log.push_str(&event.line());
            }
        }
    }
    log
}

/// Whether a text advises a request that the watch cache serves. Each library writes it in its own way.
fn asks_for_any_state(sentence: &str) -> bool {
    [
        "resourceVersion=0",
        "ersion: \"0\"",
        "ersion=\"0\"",
        "resourceVersion \"0\"",
        "resourceVersion to \"0\"",
        "match_any()",
    ]
    .iter()
    .any(|word| sentence.contains(word))
}

/// The requests that a sentence advises, each as a query. `own` is the query that the client sends.
fn advised(sentence: &str, own: &str) -> Vec<String> {
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    if has(&["Do not", "do not", "Never", "cannot", "No setting", "makes the server ignore", "is ignored"]) {
        return Vec::new();
    }
    let selector: Vec<&str> = own.split('&').filter(|pair| pair.contains("Selector=")).collect();
    let with = |more: &str| [selector.as_slice(), &[more]].concat().join("&");
    let unpaged = has(&[
        "no limit",
        "no Limit",
        "ithout a limit",
        "ithout limit",
        "ithout Limit",
        "rop the limit",
        "rop Limit",
        "rop limit",
    ]);
    let paged = has(&[
        "limit=500",
        "Limit: 500",
        "Limit 500",
        "limit(500)",
        "PageSize 500",
        "pages of",
        "eep limit",
        "eep Limit",
    ]);
    let drops = has(&["rop resourceVersion=0", "rop ResourceVersion", "rop match_any()"]);
    let mut queries = Vec::new();
    if asks_for_any_state(sentence) && !drops {
        queries.push(with(if paged && !unpaged {
            "resourceVersion=0&limit=500"
        } else {
            "resourceVersion=0"
        }));
    } else if sentence.contains("NotOlderThan") {
        let limit = if has(&["honors", "may stay"]) { "&limit=500" } else { "" };
        queries.push(with(&format!("resourceVersion=7&resourceVersionMatch=NotOlderThan{limit}")));
    } else if unpaged {
        let kept = own.split('&').filter(|pair| pair.starts_with("resourceVersion=0"));
        queries.push(with(&kept.collect::<Vec<_>>().join("&")));
    } else if paged || drops {
        queries.push(with("limit=500"));
        queries.push(with(&format!("limit=500&{NEXT}")));
    }
    queries
}

/// The errors of a text, by the model: it names a request that is read from etcd without a note, or a limit
/// that is ignored.
fn wrong(text: &str, own: &str, server: &Server) -> Vec<String> {
    let sentences = text.split(". ").flat_map(|part| part.split("; "));
    let advised =
        sentences.flat_map(|sentence| advised(sentence, own).into_iter().map(move |query| (sentence, query)));
    let mut wrong = Vec::new();
    for (sentence, query) in advised {
        let uri = format!("/api/v1/pods?{query}");
        let target = ParsedTarget::parse(&uri).expect("a target");
        let verdict = judge(server, &RequestShape::new(Method::Get, &target.path, &target.options), None);
        let admits = sentence.contains("etcd");
        if verdict.likely_served_from() == ServedFrom::Etcd && !admits {
            wrong.push(format!("1.{} reads {query} from etcd: {sentence}", server.version.minor));
        }
        if verdict.limit == LimitVerdict::Ignored {
            wrong.push(format!("1.{} ignores the limit of {query}: {sentence}", server.version.minor));
        }
    }
    wrong
}

/// Advice to watch, in any library's words.
fn advises_a_watch(text: &str) -> bool {
    ["WATCH", "--watch", "a watch.", "atch.Watch", "nformer", "watcher", "watch with"]
        .iter()
        .any(|word| text.contains(word))
}

fn all<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn advice_names_no_read_from_etcd_and_no_ignored_limit() {
    let dir = Dir::with(&[("audit.log", log().as_bytes())]);
    let mut mistakes = Vec::new();
    let (mut texts, mut checked) = (0, 0);
    for (version, etcd) in [
        ("1.19.0", ""),
        ("1.26.0", ""),
        ("1.30.14", ""),
        ("1.31.0", ""),
        ("1.31.0", "3.5.1"),
        ("1.33.1", ""),
        ("1.33.13", ""),
        ("1.34.9", ""),
        ("1.34.9", "3.4.23"),
        ("1.37.0", ""),
    ] {
        let mut args = vec!["audit.log", "--kube-version", version];
        if !etcd.is_empty() {
            args.extend(["--etcd-version", etcd]);
        }
        let report = dir.report(&args);
        let minor: u16 = version.split('.').nth(1).and_then(|text| text.parse().ok()).expect("a minor");
        let patch: u16 = version.rsplit('.').next().and_then(|text| text.parse().ok()).expect("a patch");
        let mut server = Server::with_defaults(KubeVersion::new(minor, patch));
        server.etcd = (!etcd.is_empty()).then(|| etcd.parse().expect("a version"));
        let shapes = all(&report, "clients").iter().flat_map(|client| {
            all(client, "shapes").iter().map(move |shape| {
                let uri = shape["example"]["requestUri"].as_str().unwrap_or_default();
                (client["identity"].as_str(), uri, shape["advice"].as_str(), shape["reason"].to_string())
            })
        });
        let findings = all(&report, "findings").iter().map(|finding| {
            let uri = finding["evidence"]["uri"].as_str().unwrap_or_default();
            (finding["client"].as_str(), uri, finding["fix"].as_str(), finding["rule"]["id"].to_string())
        });
        for (client, uri, text, source) in shapes.chain(findings) {
            let (Some(client), Some(text)) = (client, text) else { continue };
            let place = format!("{version} {etcd} {client} {source}");
            let own = uri.split_once('?').map_or("", |(_, query)| query);
            texts += 1;
            checked += text.split(". ").flat_map(|sentence| advised(sentence, own)).count();
            mistakes.extend(wrong(text, own, &server).into_iter().map(|wrong| format!("{place}: {wrong}")));
            let kind = client.split(':').nth(2).unwrap_or_default();
            if JOBS.contains(&kind) && !uri.contains("spec.nodeName") && advises_a_watch(text) {
                mistakes.push(format!("{place}: a job is to watch: {text}"));
            }
            // Rules of the family KT5 judge names, not requests.
            if uri.contains("spec.nodeName") && !source.contains("KT5") {
                if ["in one namespace", "amespaced", "Pods(ns)", "-n <"]
                    .iter()
                    .any(|word| text.contains(word))
                {
                    mistakes.push(format!("{place}: an agent is to name a namespace: {text}"));
                }
                let reads_etcd = !server.consistent_reads_from_cache();
                if reads_etcd
                    && !uri.contains("resourceVersion=0")
                    && !text.starts_with("Send resourceVersion=0")
                {
                    mistakes.push(format!("{place}: the first step is not resourceVersion=0: {text}"));
                }
            }
        }
    }
    mistakes.sort();
    mistakes.dedup();
    assert!(mistakes.is_empty(), "{} of {texts}:\n{}", mistakes.len(), mistakes.join("\n"));
    assert!(texts > 3_000 && checked > 3_000, "{texts} texts name {checked} requests");
}

fn event(user: &str, number: usize, verb: &str, uri: &str, code: u16) -> String {
    let received = number as u64 * 1_000_000;
    AuditEvent::new(&format!("{user}-{verb}-{uri}-{number}"), verb, uri)
        .by(user, "agent/v1.0.0 (linux/amd64) kubernetes/1a2b3c4")
        .code(code)
        .ip("10.0.0.1")
        .since("2026-03-02T10:00:00Z")
        .at(received, 2_000)
        .line()
}

/// The findings of a rule on a log.
fn findings(log: &str, rule: &str) -> Vec<Value> {
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let report = dir.report(&["audit.log", "--kube-version", "1.30.14", "--select", rule]);
    all(&report, "findings").to_vec()
}

#[test]
fn a_403_names_the_permission_the_rbac_rule_and_the_check() {
    let hostile = "system:serviceaccount:a:x'; rm -rf `pwd` #";
    for (user, verb, uri, role, rule, check) in [
        (
            "system:serviceaccount:a:b",
            "list",
            "/apis/apps/v1/namespaces/team-b/deployments?limit=500",
            "Role",
            r#"- {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"]}"#,
            "kubectl auth can-i list deployments.apps -n team-b --as=system:serviceaccount:a:b",
        ),
        (
            "system:serviceaccount:a:b",
            "list",
            "/api/v1/secrets",
            "ClusterRole",
            r#"- {apiGroups: [""], resources: ["secrets"], verbs: ["list"]}"#,
            "kubectl auth can-i list secrets -A --as=system:serviceaccount:a:b",
        ),
        (
            "alice",
            "update",
            "/apis/apps/v1/namespaces/team-b/deployments/web/scale",
            "Role",
            r#"- {apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["update"]}"#,
            "kubectl auth can-i update deployments.apps --subresource=scale -n team-b --as=alice",
        ),
        (
            "system:serviceaccount:a:b",
            "watch",
            "/api/v1/nodes?watch=true&resourceVersion=7",
            "ClusterRole",
            r#"- {apiGroups: [""], resources: ["nodes"], verbs: ["watch"]}"#,
            "kubectl auth can-i watch nodes --as=system:serviceaccount:a:b",
        ),
        (
            "system:serviceaccount:a:b",
            "get",
            "/metrics",
            "ClusterRole",
            r#"- {nonResourceURLs: ["/metrics"], verbs: ["get"]}"#,
            "kubectl auth can-i get /metrics --as=system:serviceaccount:a:b",
        ),
        (
            hostile,
            "list",
            "/api/v1/secrets",
            "ClusterRole",
            r#"- {apiGroups: [""], resources: ["secrets"], verbs: ["list"]}"#,
            r"kubectl auth can-i list secrets -A --as='system:serviceaccount:a:x'\''; rm -rf `pwd` #'",
        ),
    ] {
        let log: String = (0..60).map(|number| event(user, number, verb, uri, 403)).collect();
        let actual = findings(&log, "error-retry-loop");
        assert_eq!(actual.len(), 1, "{uri}: {actual:?}");
        let permission = &actual[0]["permission"];
        assert_eq!(permission["role"], role, "{uri}");
        assert_eq!(permission["rule"], rule, "{uri}");
        assert_eq!(permission["check"], check, "{uri}");
        let fix = actual[0]["fix"].as_str().expect("a fix");
        assert!(fix.starts_with("Grant "), "{fix}");
        assert!(fix.contains(rule) && fix.contains(&check.replace("`pwd`", "'pwd'")), "{fix}");
        assert!(actual[0]["verify"].as_str().is_some_and(|commands| commands.starts_with(check)), "{uri}");
    }
}

#[test]
fn a_403_of_admission_or_without_credentials_asks_for_no_permission() {
    let refused = |user: &str| {
        let create = |number| event(user, number, "create", "/api/v1/namespaces/team-b/pods", 403);
        (0..60).map(create).collect::<String>()
    };
    let lines: Vec<String> = refused("system:serviceaccount:a:b")
        .lines()
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).expect("an event");
            event["annotations"] = serde_json::json!({ "authorization.k8s.io/decision": "allow" });
            event.to_string()
        })
        .collect();
    let by_admission = lines.join("\n");
    for (log, step) in [
        (by_admission, "Read responseStatus.message of the event"),
        (refused("system:anonymous"), "Send credentials with each request"),
    ] {
        let actual = findings(&log, "error-retry-loop");
        assert_eq!(actual.len(), 1, "{actual:?}");
        let fix = actual[0]["fix"].as_str().expect("a fix");
        assert!(fix.starts_with(step) && !fix.contains("Grant "), "{fix}");
        assert!(actual[0]["permission"].is_null(), "{fix}");
    }
}

#[test]
fn conflicts_name_the_other_writer_of_the_same_objects() {
    let uri = "/apis/apps/v1/namespaces/team-a/deployments/web";
    let write = |user: &str, number: usize, uri: &str| {
        event(
            &format!("system:serviceaccount:{user}"),
            number,
            "update",
            uri,
            if number.is_multiple_of(2) { 409 } else { 200 },
        )
    };
    let mut log: String = (0..60).map(|number| write("a:loser", number, uri)).collect();
    log.extend((0..60).map(|number| event("system:serviceaccount:b:winner", number, "update", uri, 200)));
    log.extend(
        (0..60)
            .map(|number| event("system:serviceaccount:c:far", number, "update", &format!("{uri}-2"), 200)),
    );
    let actual = findings(&log, "conflict-storm");
    assert_eq!(actual.len(), 1);
    let rivals = all(&actual[0], "rivals");
    assert_eq!(rivals.len(), 1, "{rivals:?}");
    assert_eq!(rivals[0]["client"], "system:serviceaccount:b:winner");
    assert_eq!((rivals[0]["objects"].as_u64(), rivals[0]["writes"].as_u64()), (Some(1), Some(60)));
    let fix = actual[0]["fix"].as_str().expect("a fix");
    assert!(
        fix.starts_with("Give each object one owner; other writers: b/winner (60 writes to 1 shared object)"),
        "{fix}"
    );
    assert!(actual[0]["message"].as_str().is_some_and(|message| message.contains("b/winner")));

    let alone: String = (0..60).map(|number| write("a:loser", number, uri)).collect();
    let actual = findings(&alone, "conflict-storm");
    assert_eq!(all(&actual[0], "rivals").len(), 0);
    let fix = actual[0]["fix"].as_str().expect("a fix");
    assert!(fix.contains("No other client in the log writes these objects"), "{fix}");
}

#[test]
fn a_finding_names_the_product_and_begins_with_its_own_setting() {
    let list = |user: &str, agent: &str| -> String {
        let one = |number| event(user, number, "list", "/api/v1/pods", 200);
        (0..60).map(one).collect::<String>().replace("agent/v1.0.0 (linux/amd64) kubernetes/1a2b3c4", agent)
    };
    let log =
        list("system:serviceaccount:a:ksm", "kube-state-metrics/v2.15.0 (linux/amd64) kubernetes/1a2b3c4")
            + &list("system:serviceaccount:jobs:spark", "okhttp/4.12.0")
            + &list("system:serviceaccount:a:other", "thing/1.0");
    let actual = findings(&log, "poll-list");
    let of = |name: &str| {
        let is_of =
            |finding: &&Value| finding["client"].as_str().is_some_and(|client| client.ends_with(name));
        actual.iter().find(is_of).expect("a finding")
    };
    let (ksm, spark, other) = (of(":ksm"), of(":spark"), of(":other"));
    assert_eq!(ksm["who"]["product"]["name"], "kube-state-metrics");
    assert_eq!(ksm["who"]["product"]["recognizedBy"], "user-agent");
    assert!(
        ksm["fix"].as_str().is_some_and(|fix| fix.starts_with("Set --use-apiserver-cache")),
        "{}",
        ksm["fix"]
    );
    assert_eq!(spark["who"]["product"]["recognizedBy"], "service-account");
    assert!(!advises_a_watch(spark["fix"].as_str().expect("a fix")), "{}", spark["fix"]);
    assert!(other["who"]["product"].is_null());
}

#[test]
fn a_user_adds_products_beside_rules() {
    let product = "name: acme\ntitle: Acme\nkind: controller\nuserAgents: [\"acme/*\"]\nexample: acme/1\n";
    let bad = product.replace("kind", "kinds");
    let dir = Dir::with(&[
        ("own/products/acme.yaml", product.as_bytes()),
        ("bad/products/acme.yaml", bad.as_bytes()),
    ]);
    let (code, out, err) = dir.run_with(&["products", "explain", "acme", "--rules", "own"], b"");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("acme/*"), "{out}");
    let log: String = (0..60).map(|number| event("a:acme", number, "list", "/api/v1/pods", 200)).collect();
    let log = log.replace("agent/v1.0.0 (linux/amd64) kubernetes/1a2b3c4", "acme/1");
    let (_, out, err) = dir.run_with(
        &["scan", "-", "--rules", "own", "--select", "poll-list", "--format", "json"],
        log.as_bytes(),
    );
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
    assert_eq!(report["findings"][0]["who"]["product"]["name"], "acme", "{out}");
    let (code, _, err) = dir.run_with(&["products", "list", "--rules", "bad"], b"");
    assert!(code == Some(2) && err.contains("bad/products/acme.yaml"), "{err}");
    let (code, _, err) = dir.run_with(&["products", "explain", "velro"], b"");
    assert!(code == Some(2) && err.contains("did you mean 'velero'?"), "{err}");
    let (code, out, _) = dir.run_with(&["products", "list", "--format", "json"], b"");
    let list: Value = serde_json::from_str(&out).expect("JSON");
    assert!(code == Some(0) && list.as_array().is_some_and(|list| list.len() >= 40));
}

#[test]
fn tenants_that_request_in_their_own_namespace_need_a_role_in_each() {
    let tenant = |number: usize, namespace: usize, seconds: std::ops::Range<usize>| {
        let uri = format!("/api/v1/namespaces/team-{namespace}/secrets");
        let user = format!("system:serviceaccount:team-{number}:op");
        seconds.map(|second| event(&user, second * 5, "list", &uri, 403)).collect::<String>()
    };
    let log: String = (0..40).map(|number| tenant(number, number, 0..12)).collect();
    // A user's rule may judge the clients of a program together.
    let rule = include_str!("../../rules/error-retry-loop.yaml")
        .replace("id: KT303\nname: error-retry-loop", "id: OWN303\nname: own-retry-loop")
        .replace("resource, shape]", "resource, shape, program]");
    let of_all = |log: &str| {
        let dir = Dir::with(&[("audit.log", log.as_bytes()), ("own/own-retry-loop.yaml", rule.as_bytes())]);
        let own = ["--rules", "own", "--select", "own-retry-loop"];
        let report = dir.report(&[&["audit.log", "--kube-version", "1.30.14"][..], &own[..]].concat());
        let actual = all(&report, "findings").to_vec();
        actual
            .into_iter()
            .find(|finding| finding["stats"]["clients"] == 40)
            .expect("a finding on the program")
    };
    let actual = of_all(&log);
    let (permission, fix) = (&actual["permission"], actual["fix"].as_str().expect("a fix"));
    assert_eq!(permission["role"], "Role");
    assert_eq!(permission["namespaces"].as_array().map(Vec::len), Some(40));
    assert!(fix.contains("a Role in each of these namespaces") && !fix.contains("ClusterRole"), "{fix}");
    let check = permission["check"].as_str().expect("a command");
    let tenant_of = |before: &str| {
        let rest = check.split(before).nth(1).expect("a name");
        rest.split([' ', ':']).next().map(str::to_owned)
    };
    assert_eq!(
        tenant_of("-n "),
        tenant_of("system:serviceaccount:"),
        "a client in its own namespace: {check}"
    );
    // One of them also sends requests in the namespace of another.
    let log: String = (0..40)
        .map(|number| {
            let own = if number == 3 { 6 } else { 12 };
            tenant(number, number, 0..own) + &tenant(number, 7, own..12)
        })
        .collect();
    assert_eq!(of_all(&log)["permission"]["role"], "ClusterRole");
}

#[test]
fn refused_requests_in_several_namespaces_need_the_right_in_each() {
    let own = |uri: &dyn Fn(usize) -> String, verb: &str| -> Value {
        let log: String = (0..60).map(|number| event("bob", number, verb, &uri(number), 403)).collect();
        findings(&log, "error-retry-loop").remove(0)
    };
    let gets = own(&|n| format!("/apis/apps/v1/namespaces/n{}/deployments/app{}", n % 4, n % 7), "get");
    let lists = own(&|n| format!("/api/v1/namespaces/n{}/pods?limit=500", n % 4), "list");
    let one = own(&|n| format!("/apis/apps/v1/namespaces/n/deployments/app{}", n % 7), "get");
    for (finding, place) in [(&gets, "in up to 4 namespaces"), (&lists, "in 4 namespaces")] {
        let fix = finding["fix"].as_str().expect("a fix");
        assert!(fix.contains(place) && fix.contains("a RoleBinding in each of these namespaces"), "{fix}");
        assert_eq!(finding["permission"]["role"], "ClusterRole");
    }
    let fix = one["fix"].as_str().expect("a fix");
    assert!(fix.contains("in namespace `n`") && fix.contains("a Role in that namespace"), "{fix}");
    for finding in [&gets, &lists, &one] {
        let verify = finding["verify"].as_str().expect("commands");
        assert!(verify.contains("auth can-i") && !verify.contains("--raw"), "{verify}");
    }
}

#[test]
fn a_refused_exec_in_an_access_log_names_the_verbs_of_both_methods() {
    let line = |second: usize| {
        format!(
            "I0302 10:00:{second:02}.000000       1 httplog.go:132] \"HTTP\" verb=\"CONNECT\" \
             URI=\"/api/v1/namespaces/n/pods/p/exec?command=x\" latency=\"2ms\" \
             userAgent=\"kubectl/v1.32.1 (linux/amd64) kubernetes/abc\" audit-ID=\"{second}\" \
             srcIP=\"10.0.0.1:5\" resp=403\n"
        )
    };
    let log: String = (0..60).map(line).collect();
    for (version, words) in
        [("1.30.4", "the verb `get` or `create`"), ("1.35.0", "the verbs `get` and `create`")]
    {
        let dir = Dir::with(&[("apiserver.log", log.as_bytes())]);
        let report =
            dir.report(&["apiserver.log", "--kube-version", version, "--select", "error-retry-loop"]);
        let finding = &report["findings"][0];
        let rule = r#"- {apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"]}"#;
        assert_eq!(finding["permission"]["rule"], rule, "{version}");
        let fix = finding["fix"].as_str().expect("a fix");
        assert!(fix.contains(words), "{version}: {fix}");
    }
}

#[test]
fn unreadable_records_get_advice_on_the_files_and_not_on_the_policy() {
    let log: String = (0..60).map(|number| event("bob", number, "list", "/api/v1/pods", 200)).collect();
    let actual = findings(&(log + &"{broken\n".repeat(30)), "not-observable");
    let fix = actual[0]["fix"].as_str().expect("a fix");
    assert!(fix.starts_with("Find the unreadable records") && !fix.contains("level Metadata"), "{fix}");
}

/// The finding on what a log does not show.
fn not_observable(dir: &Dir, log: &str) -> Value {
    let report = dir.report(&[log, "--kube-version", "1.30.14", "--select", "not-observable"]);
    all(&report, "findings").first().cloned().expect("a finding")
}

#[test]
fn a_gap_asks_for_the_missing_files_and_not_for_another_policy() {
    let after = |minutes: usize| -> String {
        let numbers = (0..60).chain(60 + minutes * 60..120 + minutes * 60);
        numbers.map(|number| event("bob", number, "list", "/api/v1/pods", 200)).collect()
    };
    let finding = not_observable(&Dir::with(&[("audit.log", after(22).as_bytes())]), "audit.log");
    assert_eq!(finding["message"], "The log has a gap of 22 minutes (of 24), so totals are too low.");
    assert_eq!(finding["fix"], "Add the files of the missing time, from all apiservers.");
    assert_eq!(finding["tradeoff"], "None.");
    // Two days without a line, and a filter that explains a gap.
    let days = after(22).replace("2026-03-02T10:2", "2026-03-05T10:2")
        + &event("ann", 0, "list", "/api/v1/pods", 200);
    let dir = Dir::with(&[("audit.log", days.as_bytes())]);
    let finding = not_observable(&dir, "audit.log");
    let message = finding["message"].as_str().expect("a message");
    assert!(message.starts_with("The log has a gap of 3 days (of 3), so totals are too low."), "{message}");
    let own = ["audit.log", "--kube-version", "1.30.14", "--select", "not-observable", "--user", "bob"];
    assert_eq!(all(&dir.report(&own), "findings").len(), 0);
}

#[test]
fn a_day_cut_short_asks_for_the_file_again() {
    let log: String = (0..60).map(|number| event("bob", number, "list", "/api/v1/pods", 200)).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, log.as_bytes()).expect("writes to memory");
    let complete = encoder.finish().expect("writes to memory");
    let short = &complete[..complete.len() - 12];
    let finding =
        not_observable(&Dir::with(&[("audit-2026-03-02.log.gz", short)]), "audit-2026-03-02.log.gz");
    let message = finding["message"].as_str().expect("a message");
    assert!(message.ends_with("1 compressed file ends too early."), "{message}");
    let fix = finding["fix"].as_str().expect("a fix");
    assert!(fix.starts_with("Copy the compressed files again: they end too early."), "{fix}");
    assert!(!fix.contains("level Metadata"), "{fix}");
}

#[test]
fn a_person_with_a_dashboard_gets_no_advice_to_change_code() {
    let lists: String = (0..300)
        .map(|number| event("dev@example.com", number, "list", "/api/v1/pods", 200))
        .collect::<String>()
        .replace(
            "agent/v1.0.0 (linux/amd64) kubernetes/1a2b3c4",
            "k9s/v0.32.5 (linux/amd64) kubernetes/1a2b3c4",
        );
    for rule in ["poll-list", "list-from-etcd"] {
        let finding = findings(&lists, rule).remove(0);
        let text = |key: &str| finding[key].as_str().expect("a text").to_owned();
        for key in ["fix", "tradeoff", "lookFor"] {
            for word in ["informer", "Informer", "WATCH", "resourceVersion"] {
                assert!(!text(key).contains(word), "{rule} {key}: {}", text(key));
            }
        }
        assert!(text("fix").contains("Close views that you do not need"), "{}", text("fix"));
        assert!(text("fix").contains("refreshRate"), "the setting of K9s: {}", text("fix"));
    }
}

#[test]
fn a_message_and_its_page_escape_a_name_alike() {
    let log: String =
        (0..60).map(|number| event("u\n::error::hi", number, "list", "/api/v1/secrets", 403)).collect();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let (_, page, _) = dir.run_with(&["scan", "audit.log", "--kube-version", "1.30.14"], b"");
    assert!(page.contains(r"u\u{a}::error::hi"), "{page}");
    assert!(!page.contains("u ::error"), "{page}");
}

#[test]
fn fixes_for_polls_with_an_ignored_limit_agree() {
    let uri = "/api/v1/pods?limit=500&resourceVersion=0";
    let log: String = (0..120).map(|number| event("u", number * 5, "list", uri, 200)).collect();
    for (version, pages) in [("1.30.14", false), ("1.32.5", false), ("1.34.2", true)] {
        let dir = Dir::with(&[("audit.log", log.as_bytes())]);
        let report = dir.report(&["audit.log", "--kube-version", version]);
        let fix = |rule: &str| {
            let finding = all(&report, "findings").iter().find(|finding| finding["rule"]["id"] == rule);
            let finding = finding.unwrap_or_else(|| panic!("{rule} for {version}"));
            finding["fix"].as_str().expect("a fix").to_lowercase()
        };
        let (polls, limits) = (fix("KT307"), fix("KT201"));
        assert_eq!(limits.contains("keep limit"), pages, "{version}: {limits}");
        assert_eq!(polls.contains("no limit"), !pages, "{version}: {polls}");
    }
}
