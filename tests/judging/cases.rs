//! Cases: findings with one cause are one case. One program under many names is one case too.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

/// Requests that a client repeats.
#[derive(Debug, Clone)]
struct Repeated {
    user: String,
    agent: &'static str,
    verb: &'static str,
    uri: String,
    status: u16,
    /// Seconds between two of them.
    every: u32,
    times: u32,
}

fn list(user: &str, agent: &'static str, uri: &str) -> Repeated {
    Repeated {
        user: user.to_owned(),
        agent,
        verb: "list",
        uri: uri.to_owned(),
        status: 200,
        every: 5,
        times: 60,
    }
}

fn lines(all: &[Repeated]) -> Vec<String> {
    let mut lines = Vec::new();
    for Repeated { user, agent, verb, uri, status, every, times } in all {
        for second in (0..*times).map(|number| number * every) {
            let received = u64::from(second % 3_600) * 1_000_000 + 1_000;
            let id = lines.len().to_string();
            let event = AuditEvent::new(&id, verb, uri).by(user, agent).code(*status).at(received, 20_000);
            lines.push(event.line());
        }
    }
    lines
}

fn report_of(log: &str) -> Value {
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    dir.report(&["audit.log", "--kube-version", "1.30.4"])
}

fn report(all: &[Repeated]) -> Value {
    report_of(&lines(all).concat())
}

fn cases(report: &Value) -> &Vec<Value> {
    report["cases"].as_array().expect("cases")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// The cases on clients.
fn of_clients(report: &Value) -> Vec<&Value> {
    cases(report).iter().filter(|case| !case["client"].is_null()).collect()
}

#[test]
fn findings_on_the_same_requests_are_one_case() {
    let result = report(&[list("system:serviceaccount:a:poller", "poller/v1.2", "/api/v1/pods")]);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{cases:?}") };
    let rules = case["rules"].as_array().expect("rules");
    assert!(rules.contains(&json!("KT101")) && rules.contains(&json!("KT307")), "{rules:?}");
    assert_eq!(
        (&case["rank"], &case["client"], &case["resource"]),
        (&json!(1), &json!("a/poller"), &json!("pods"))
    );
    assert_eq!((&case["requests"], &case["members"]["count"]), (&json!(60), &json!(1)));
    assert_eq!((&case["load"]["amount"], &case["load"]["share"]), (&json!(1_200_000), &json!(1.0)));
    assert!(text(&case["what"]).starts_with("a/poller LISTs pods every"), "{}", case["what"]);
    assert!(!text(&case["fix"]).is_empty());
    let worst = result["findings"].as_array().expect("findings").iter();
    let worst = worst.filter(|finding| finding["severity"] == case["severity"]).count();
    assert!(worst > 0, "the case is as severe as its worst finding");
}

#[test]
fn reads_of_a_missing_object_are_one_case_that_says_so() {
    let uri = "/apis/example.com/v1/namespaces/a/widgets/none";
    let result = report(&[Repeated {
        verb: "get",
        status: 404,
        every: 1,
        times: 300,
        ..list("system:serviceaccount:a:waiter", "waiter/v1.2", uri)
    }]);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{cases:?}") };
    assert_eq!((&case["rules"], &case["severity"]), (&json!(["KT303"]), &json!("warning")));
    assert!(text(&case["what"]).ends_with("GETs widgets.example.com and gets 404"), "{}", case["what"]);
    assert!(text(&case["fix"]).starts_with("Create the object"), "{}", case["fix"]);
}

#[test]
fn reviews_of_tokens_and_of_access_are_one_case() {
    let review = |uri| Repeated {
        verb: "create",
        status: 201,
        every: 1,
        times: 300,
        ..list("system:serviceaccount:a:proxy", "kube-rbac-proxy/v0.18.0", uri)
    };
    let result = report(&[
        review("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        review("/apis/authentication.k8s.io/v1/tokenreviews"),
    ]);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{cases:?}") };
    assert_eq!((&case["rules"], &case["requests"]), (&json!(["KT406"]), &json!(600)));
}

#[test]
fn polls_by_many_selectors_do_not_count_as_namespaces() {
    let polls: Vec<Repeated> = (0..14)
        .map(|number| {
            let uri = format!("/apis/apps/v1/namespaces/a/deployments?labelSelector=app%3Dapp-{number}");
            list("system:serviceaccount:a:poller", "poller/v1.2", &uri)
        })
        .collect();
    let result = report(&polls);
    let findings = result["findings"].as_array().expect("findings").iter();
    let polls: Vec<&str> =
        findings.filter(|one| one["rule"]["id"] == "KT307").map(|one| text(&one["message"])).collect();
    let [poll] = polls[..] else { panic!("{polls:?}") };
    assert!(
        poll.contains("every 5.0 s without a WATCH (840 LISTs across 14 namespaces or selectors)"),
        "{poll}"
    );
}

#[test]
fn one_program_in_many_namespaces_is_one_case() {
    let jobs: Vec<Repeated> = (0..40)
        .map(|number| Repeated {
            times: 60 + u32::from(number == 7),
            ..list(
                &format!("system:serviceaccount:team-{number}:cleanup"),
                "curl/8.5.0",
                &format!("/api/v1/namespaces/team-{number}/pods"),
            )
        })
        .collect();
    let result = report(&jobs);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases", cases.len()) };
    assert_eq!((&case["client"], &case["members"]["kind"]), (&json!("cleanup"), &json!("namespace")));
    assert_eq!((&case["members"]["count"], &case["requests"]), (&json!(40), &json!(2_401)));
    let worst = case["members"]["worst"].as_array().expect("members");
    assert_eq!((worst.len(), &worst[0]["name"]), (3, &json!("team-7/cleanup")));
    // 12 LISTs per minute from etcd have the severity info. The sum is an error.
    assert_eq!((&case["severity"], &worst[0]["severity"]), (&json!("error"), &json!("error")));
    let what = "cleanup in 40 namespaces LISTs pods from etcd 2,401 times, up to 480 a minute";
    assert_eq!(case["what"], what);
    let of_rule = |finding: &&Value| finding["rule"]["id"] == "KT101";
    let findings: Vec<&Value> =
        result["findings"].as_array().expect("findings").iter().filter(of_rule).collect();
    let (sums, own): (Vec<&Value>, Vec<&Value>) =
        findings.into_iter().partition(|finding| finding["severity"] == "error");
    let [sum] = sums[..] else { panic!("{} sums", sums.len()) };
    let who = &sum["who"];
    assert_eq!((&who["name"], &sum["stats"]["clients"]), (&json!("cleanup in 40 namespaces"), &json!(40)));
    assert_eq!(who["program"], json!({"name": "cleanup", "clients": 40}));
    assert_eq!(who["serviceAccount"], Value::Null);
    assert!(own.iter().all(|finding| finding["who"]["program"].is_null()));
    let check = text(&sum["verify"]);
    assert!(
        check.contains("--user 'system:serviceaccount:*:cleanup'") && check.contains("--client"),
        "{check}"
    );
    assert_eq!(own.iter().filter(|finding| finding["severity"] == "info").count(), 40);
    let dir = Dir::with(&[("audit.log", lines(&jobs).concat().as_bytes())]);
    let page = dir.text(&["audit.log", "--kube-version", "1.30.4", "--details"]);
    assert!(page.contains("cleanup (40 namespaces)"), "{page}");
}

#[test]
fn a_finding_on_a_sum_shows_the_facts_of_all_clients() {
    let log: Vec<String> = (0..480_u32)
        .map(|number| {
            let tenant = number % 40;
            AuditEvent::new(&number, "list", "/api/v1/nodes")
                .by(&format!("system:serviceaccount:team-{tenant}:lister"), "")
                .pod(&format!("lister-6d4cf56db6-x2x{tenant}"))
                .at(u64::from(number) * 1_000_000 + 1_000, 1_000)
                .line()
        })
        .collect();
    let log = log.concat();
    let result = report_of(&log);
    let findings = result["findings"].as_array().expect("findings");
    let is_sum = |finding: &&Value| !finding["who"]["program"].is_null() && finding["rule"]["id"] == "KT101";
    let sums: Vec<&Value> = findings.iter().filter(is_sum).collect();
    let [sum] = sums[..] else { panic!("{findings:?}") };
    assert_eq!((&sum["stats"]["peakPerMinute"], &sum["who"]["pods"]["count"]), (&json!(60), &json!(40)));
    let check = text(&sum["verify"]);
    assert!(
        check.contains("--user 'system:serviceaccount:*:lister'") && !check.contains("--client"),
        "{check}"
    );
    // A finding on all clients must not show the series of one client.
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let page = dir.text(&["audit.log", "--kube-version", "1.30.4", "--details"]);
    assert!(page.contains("lister in 40 namespaces") && page.contains("40 pods"), "{page}");
    assert!(!page.contains("peak 1 a minute"), "{page}");
}

#[test]
fn a_dashboard_that_many_people_use_is_one_case() {
    let people: Vec<Repeated> =
        (0..15).map(|number| list(&format!("person-{number}"), "headlamp/0.24", "/api/v1/pods")).collect();
    let result = report(&people);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases", cases.len()) };
    assert_eq!((&case["client"], &case["members"]["kind"]), (&json!("headlamp"), &json!("person")));
    assert_eq!(case["members"]["count"], 15);
}

/// Clients that each make few requests, at different times.
fn many(count: u32, user: impl Fn(u32) -> String, agent: &'static str, uri: &str) -> Vec<Repeated> {
    let one = |number| Repeated { every: 60 + number % 7, times: 4, ..list(&user(number), agent, uri) };
    (0..count).map(one).collect()
}

#[test]
fn program_has_a_finding_although_no_member_has_one() {
    let users = |number| format!("system:serviceaccount:team-{number}:lister");
    let few = report(&many(1, users, "lister/v1", "/api/v1/pods"));
    assert!(of_clients(&few).is_empty(), "{:?}", few["cases"]);
    let result = report(&many(120, users, "lister/v1", "/api/v1/pods"));
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases: {:?}", cases.len(), result["cases"]) };
    assert_eq!((&case["severity"], &case["client"]), (&json!("error"), &json!("lister")));
    assert_eq!((&case["members"]["count"], &case["requests"]), (&json!(120), &json!(480)));
    assert_eq!(case["load"]["share"], 1.0);
    let clients = result["clients"].as_array().expect("clients");
    assert!(clients.iter().all(|client| client["worstSeverity"] == "error"), "each of them takes part");
}

#[test]
fn different_programs_are_not_summed() {
    let users = |number| format!("system:serviceaccount:team-{number}:lister-{number}");
    let result = report(&many(120, users, "python-requests/2.31", "/api/v1/pods"));
    assert!(of_clients(&result).is_empty(), "{:?}", result["cases"]);
}

/// ServiceAccounts in `count` namespaces that send the same requests.
fn tenants(count: u32, service_account: &str, requests: &Repeated) -> Vec<Repeated> {
    let one = |number| Repeated {
        user: format!("system:serviceaccount:team-{number}:{service_account}"),
        uri: requests.uri.replace("NS", &format!("team-{number}")),
        ..requests.clone()
    };
    (0..count).map(one).collect()
}

/// The findings above the severity info, as `KT101 warning`.
fn loud(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let loud = findings.filter(|finding| finding["severity"] != "info");
    loud.map(|finding| format!("{} {}", text(&finding["rule"]["id"]), text(&finding["severity"]))).collect()
}

#[test]
fn products_of_many_programs_are_not_summed() {
    const CONTROLLER: &str = "controller/v0.0.0 (linux/amd64) kubernetes/$Format";
    for (service_account, agent, every) in [
        ("default", "python-requests/2.31.0", 70),
        ("default", "kubectl/v1.30.2 (linux/amd64) kubernetes/abc", 70),
        ("default", CONTROLLER, 70),
    ] {
        let lists = Repeated { every, times: 4, ..list("", agent, "/api/v1/nodes") };
        let result = report(&tenants(70, service_account, &lists));
        assert!(loud(&result).is_empty(), "{service_account} {agent}: {:?}", result["cases"]);
        // The same requests under a distinct name come from one program.
        let result = report(&tenants(70, "lister", &lists));
        assert!(loud(&result).contains(&"KT101 error".to_owned()), "{agent}: {:?}", result["cases"]);
    }
    let others: Vec<Repeated> = (0..70)
        .map(|number| Repeated {
            every: 70,
            times: 4,
            ..list(&format!("system:serviceaccount:team-{number}:ctl-{number}"), CONTROLLER, "/api/v1/nodes")
        })
        .collect();
    assert!(loud(&report(&others)).is_empty());
}

#[test]
fn clients_that_repeat_nothing_are_not_summed() {
    let once = Repeated { times: 1, ..list("", "op/v1 (linux/amd64) kubernetes/abc", "/api/v1/nodes") };
    assert!(loud(&report(&tenants(330, "op", &once))).is_empty());
}

#[test]
fn well_behaved_tenants_are_quiet_in_any_number() {
    const OPERATOR: &str = "op/v1 (linux/amd64) kubernetes/abc";
    let events = "/api/v1/namespaces/NS/events";
    let informer = [
        Repeated { times: 1, ..list("", OPERATOR, &format!("{events}?limit=500&resourceVersion=0")) },
        Repeated {
            verb: "watch",
            every: 290,
            times: 4,
            ..list("", OPERATOR, &format!("{events}?allowWatchBookmarks=true&resourceVersion=7&watch=true"))
        },
    ];
    let get = |uri: &str| Repeated { verb: "get", ..list("", OPERATOR, uri) };
    let missing = Repeated {
        times: 4,
        status: 404,
        ..get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com")
    };
    let refused = Repeated { status: 403, every: 60, times: 10, ..get("/api/v1/namespaces/NS/secrets/key") };
    let poll = Repeated { every: 60, times: 20, ..get("/api/v1/namespaces/kube-system") };
    for requests in [&informer[..], &[missing], &[refused], &[poll]] {
        let all: Vec<Repeated> = requests.iter().flat_map(|one| tenants(40, "op", one)).collect();
        let result = report(&all);
        assert!(loud(&result).is_empty(), "{requests:?}: {:?}", result["cases"]);
    }
}

#[test]
fn modest_writers_of_one_program_are_a_warning_at_most() {
    let writes = Repeated {
        verb: "patch",
        every: 1,
        times: 600,
        ..list("", "op/v1 (linux/amd64) kubernetes/abc", "/api/v1/namespaces/NS/configmaps/state")
    };
    let sum =
        |result: &Value| loud(result).into_iter().filter(|one| one.starts_with("KT407")).collect::<Vec<_>>();
    assert_eq!(sum(&report(&tenants(41, "op", &writes))), ["KT407 warning"]);
}

#[test]
fn tenants_that_list_their_own_configmaps_are_not_an_error() {
    let lists = Repeated {
        every: 60,
        times: 20,
        ..list("", "op/v1 (linux/amd64) kubernetes/abc", "/api/v1/namespaces/NS/configmaps")
    };
    let result = loud(&report(&tenants(35, "op", &lists)));
    assert!(!result.is_empty() && result.iter().all(|one| one.ends_with("warning")), "{result:?}");
}

#[test]
fn a_daemonset_with_few_reviews_for_each_pod_is_quiet() {
    let mut log = String::new();
    for number in 0..12_000_u32 {
        let (node, second) = (number % 400, u64::from(number / 40));
        log += &AuditEvent::new(&number, "create", "/apis/authentication.k8s.io/v1/tokenreviews")
            .by(
                "system:serviceaccount:monitoring:node-exporter",
                "kube-rbac-proxy/v0.18 (linux/amd64) kubernetes/abc",
            )
            .pod(&format!("node-exporter-{node:05}"))
            .node(&format!("node-{node}"))
            .code(201)
            .at(second * 1_000_000 + 1_000, 1_000)
            .line();
    }
    let reviews = |result: &Value| loud(result).into_iter().filter(|one| one.starts_with("KT406")).count();
    assert_eq!(reviews(&report_of(&log)), 0);
    // The same reviews by one pod are an error.
    let one: String = log.lines().map(|line| by_one_pod(line) + "\n").collect();
    assert_eq!(reviews(&report_of(&one)), 1);
}

/// An audit event as of the first pod on the first node.
fn by_one_pod(line: &str) -> String {
    let mut event: Value = serde_json::from_str(line).expect("an event");
    let extra = &mut event["user"]["extra"];
    extra["authentication.kubernetes.io/pod-name"] = json!(["node-exporter-00000"]);
    extra["authentication.kubernetes.io/node-name"] = json!(["node-0"]);
    event.to_string()
}

#[test]
fn agents_that_watch_are_not_summed_to_a_finding() {
    let mut all = Vec::new();
    for number in 0..80 {
        let user = format!("system:serviceaccount:team-{number}:agent");
        let lists = list(&user, "agent/v1 (linux/amd64) kubernetes/abc", "/api/v1/pods?resourceVersion=0");
        all.push(Repeated { times: 1, ..lists.clone() });
        let uri = "/api/v1/pods?resourceVersion=7&watch=true&timeoutSeconds=400".to_owned();
        all.push(Repeated { verb: "watch", uri, every: 290, times: 2, ..lists });
    }
    let result = report(&all);
    let loud = of_clients(&result).into_iter().filter(|case| case["severity"] != "info");
    assert_eq!(loud.count(), 0, "{:?}", result["cases"]);
}

/// People with `watch -n2 kubectl get`.
fn watchers(count: u32, uri: &str) -> Vec<Repeated> {
    let one = |number| Repeated {
        every: 2,
        times: 300,
        ..list(&format!("person-{number}"), "kubectl/v1.30.2 (darwin/arm64) kubernetes/abc", uri)
    };
    (0..count).map(one).collect()
}

#[test]
fn people_who_watch_a_list_with_kubectl_are_a_warning_from_ten_on() {
    let result = report(&watchers(15, "/api/v1/pods?limit=500"));
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{:?}", result["cases"]) };
    assert_eq!((&case["severity"], &case["members"]["kind"]), (&json!("warning"), &json!("person")));
    assert!(text(&case["what"]).starts_with("kubectl used by 15 people LISTs pods from etcd 4,500 times"));
    for (people, uri) in [
        (1, "/api/v1/pods?limit=500"),
        (8, "/api/v1/pods?limit=500"),
        (8, "/api/v1/pods?labelSelector=app%3Dweb&limit=500"),
        (8, "/api/v1/events?limit=500"),
        (8, "/api/v1/secrets?limit=500"),
        (15, "/api/v1/namespaces/team/pods?limit=500"),
        (15, "/api/v1/namespaces/team/pods?labelSelector=app%3Dweb&limit=500"),
    ] {
        let result = report(&watchers(people, uri));
        let quiet = of_clients(&result).iter().all(|case| case["severity"] == "info");
        assert!(quiet, "{people} with {uri}: {:?}", result["cases"]);
    }
}

#[test]
fn requests_in_a_namespace_get_no_advice_to_name_one() {
    for uri in ["/api/v1/namespaces/team/pods", "/api/v1/namespaces/team/pods?labelSelector=app%3Dweb"] {
        for agent in ["kubectl/v1.30.2 (darwin/arm64) kubernetes/abc", "Helm/3.14.0"] {
            let one = Repeated { every: 1, times: 600, ..list("anna", agent, uri) };
            let result = report(&[one.clone(), Repeated { user: "ben".to_owned(), ..one }]);
            let findings = result["findings"].as_array().expect("findings");
            let lists = |finding: &&Value| ["KT101", "KT104"].contains(&text(&finding["rule"]["id"]));
            let fixes: Vec<&str> =
                findings.iter().filter(lists).map(|finding| text(&finding["fix"])).collect();
            assert!(!fixes.is_empty(), "{agent} {uri}");
            for fix in fixes {
                assert!(!fix.to_lowercase().contains("name the namespace"), "{agent} {uri}: {fix}");
                assert!(!fix.contains("in one namespace"), "{agent} {uri}: {fix}");
            }
        }
    }
}

#[test]
fn client_rule_on_clients_of_one_program_is_one_case() {
    let all: Vec<Repeated> = (0..20)
        .map(|number| Repeated {
            verb: "watch",
            status: 422,
            every: 60,
            times: 12,
            ..list(
                &format!("system:serviceaccount:team-{number}:operator-{number}"),
                "dataop/v2.1 (linux/amd64) kubernetes/abc",
                "/api/v1/configmaps?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true",
            )
        })
        .collect();
    let lists = all.iter().map(|watch| Repeated {
        verb: "list",
        status: 200,
        uri: "/api/v1/configmaps?limit=500&resourceVersion=0".to_owned(),
        ..watch.clone()
    });
    let result = report(&lists.chain(all.iter().cloned()).collect::<Vec<_>>());
    let with_rule =
        |case: &&Value| case["rules"].as_array().is_some_and(|rules| rules.contains(&json!("KT314")));
    let fallbacks: Vec<&Value> = of_clients(&result).into_iter().filter(with_rule).collect();
    let [case] = fallbacks[..] else { panic!("{:?}", result["cases"]) };
    assert_eq!((&case["client"], &case["members"]["count"]), (&json!("dataop"), &json!(20)));
}

#[test]
fn a_backup_is_one_case_with_the_products_own_setting_first() {
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NzcsInN0YXJ0IjoiYS9iXHUwMDAwIn0";
    let all: Vec<Repeated> = (0..9)
        .map(|number| Repeated {
            every: 1,
            times: 120,
            ..list(
                "system:serviceaccount:velero:velero",
                "velero-server/v1.13.0 (linux/amd64) abcdef",
                &format!("/apis/g{number}.example.com/v1/things?limit=50&continue={token}"),
            )
        })
        .collect();
    let result = report(&all);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases: {:?}", cases.len(), result["cases"]) };
    assert!(result["findings"].as_array().expect("findings").len() > 9);
    assert!(
        text(&case["what"]).ends_with("; with 8 other resources, 1,080 reads in all"),
        "{}",
        case["what"]
    );
    assert!(text(&case["fix"]).contains("--client-page-size"), "{}", case["fix"]);
    assert_eq!(case["resource"], Value::Null);
}

#[test]
fn a_case_of_refused_writes_says_so_and_names_the_rival() {
    let update = |user: &str, agent, status, every| Repeated {
        verb: "update",
        status,
        every,
        times: 240 / every,
        ..list(user, agent, "/apis/apps/v1/namespaces/team/deployments/web")
    };
    let result = report(&[
        update("system:serviceaccount:team:op-a", "op-a/v1 (linux/amd64) kubernetes/abc", 409, 1),
        update("system:serviceaccount:team:op-b", "op-b/v1 (linux/amd64) kubernetes/abc", 200, 4),
    ]);
    let cases = of_clients(&result);
    let case = cases.iter().find(|case| case["client"] == "team/op-a").expect("a case");
    assert_eq!(
        case["what"],
        "team/op-a UPDATEs one deployments.apps object 240 times and gets 409 Conflict 240 times"
    );
    assert!(
        text(&case["fix"]).contains("other writers: team/op-b (60 writes to 1 shared object)"),
        "{}",
        case["fix"]
    );
}

#[test]
fn a_crash_loop_is_one_case_with_the_lists_that_it_repeats() {
    let mut log = String::new();
    let mut event = |second: u32, node: u32, verb: &str, uri: &str, lasts: u32| {
        log += &AuditEvent::new(&format!("{node}-{second}-{uri}"), verb, uri)
            .by("system:serviceaccount:logging:agent", "agent/v0.3.1 (linux/amd64) kubernetes/abc")
            .pod(&format!("agent-{node:05}"))
            .node(&format!("node-{node}"))
            .ip(&format!("10.0.0.{node}"))
            .at(u64::from(second) * 1_000_000 + u64::from(node) * 997, u64::from(lasts) * 1_000_000)
            .line();
    };
    for node in 0..20 {
        let mut second = 10 + node % 3;
        for pause in [10, 20, 40, 80, 160, 300, 300] {
            for document in ["/api", "/apis", "/apis/apps/v1"] {
                event(second, node, "get", document, 0);
            }
            for collection in ["/api/v1/pods", "/api/v1/namespaces"] {
                event(second, node, "list", &format!("{collection}?limit=500"), 0);
                let watch = format!("{collection}?allowWatchBookmarks=true&resourceVersion=7&watch=true");
                event(second + 1, node, "watch", &watch, 4);
            }
            second += 5 + pause;
        }
    }
    let result = report_of(&log);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases: {:?}", cases.len(), result["cases"]) };
    let rules = case["rules"].as_array().expect("rules");
    assert!(rules.contains(&json!("KT318")) && rules.len() > 1, "{rules:?}");
    assert!(text(&case["what"]).contains(" within an hour in one instance"), "{}", case["what"]);
}

#[test]
fn across_an_upgrade_a_case_counts_what_its_sentence_counts() {
    let stated = |version: &str, minute: u64| {
        let agent = format!("kube-apiserver/{version} (linux/amd64) kubernetes/abcdef0");
        let event = AuditEvent::new(&version, "get", "/readyz").by("system:apiserver", &agent);
        event.at(minute * 60_000_000 + 500, 100).line()
    };
    let polls = lines(&[list("system:serviceaccount:a:poller", "poller/v1.2", "/api/v1/pods")]);
    let log =
        [stated("v1.30.4", 0), polls[..24].concat(), stated("v1.31.1", 2), polls[24..].concat()].concat();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let result = dir.report(&["audit.log"]);
    assert_eq!(result["server"]["kubeVersions"], json!(["1.30.4", "1.31.1"]));
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases: {:?}", cases.len(), result["cases"]) };
    assert_eq!(case["requests"], 60);
    assert!(text(&case["what"]).starts_with("a/poller LISTs pods every"), "{}", case["what"]);
}

#[test]
fn different_programs_are_not_one_case() {
    let script = "OpenAPI-Generator/29.0.0/python";
    for (all, expected) in [
        // The user agent is the default of every Python script.
        (
            vec![
                list("system:serviceaccount:a:x", script, "/api/v1/pods"),
                list("system:serviceaccount:b:y", script, "/api/v1/pods"),
            ],
            2,
        ),
        (
            vec![
                list("system:serviceaccount:a:x", script, "/api/v1/pods"),
                list("system:serviceaccount:b:x", script, "/api/v1/pods"),
            ],
            1,
        ),
        (vec![list("anna", script, "/api/v1/pods"), list("ben", script, "/api/v1/pods")], 2),
        // One program with two kinds of requests.
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                list("system:serviceaccount:b:y", "op/1.0", "/api/v1/services"),
            ],
            2,
        ),
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                list("system:serviceaccount:b:y", "op/1.0", "/api/v1/pods"),
            ],
            1,
        ),
        // One client with two causes.
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/services"),
            ],
            2,
        ),
        // Refused requests have another cause than served ones.
        (
            vec![
                list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods"),
                Repeated { status: 403, ..list("system:serviceaccount:b:x", "op/1.0", "/api/v1/pods") },
            ],
            2,
        ),
    ] {
        let result = report(&all);
        assert_eq!(of_clients(&result).len(), expected, "{all:?}: {:?}", result["cases"]);
    }
}

#[test]
fn client_rule_does_not_join_cases() {
    let agents = ["one/1", "two/1", "three/1", "four/1", "five/1", "six/1"];
    let resources = ["pods", "services", "secrets", "configmaps", "nodes", "endpoints"];
    let all: Vec<Repeated> = agents
        .iter()
        .zip(resources)
        .map(|(agent, resource)| {
            list("system:serviceaccount:a:default", agent, &format!("/api/v1/{resource}"))
        })
        .collect();
    let result = report(&all);
    let shared: Vec<&Value> = of_clients(&result)
        .into_iter()
        .filter(|case| case["rules"].as_array().is_some_and(|rules| rules.contains(&json!("KT501"))))
        .collect();
    let [shared] = shared[..] else { panic!("{:?}", result["cases"]) };
    assert_eq!(shared["rules"], json!(["KT501"]));
    assert!(of_clients(&result).len() > resources.len());
    let sum: f64 = cases(&result).iter().filter_map(|case| case["load"]["share"].as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-4, "requests count for one case: {sum}");
}

/// The rules that judge all requests of a client together.
const WHOLE_CLIENT: &[&str] =
    &["KT302", "KT314", "KT317", "KT318", "KT406", "KT407", "KT408", "KT409", "KT501"];

fn any_requests() -> impl Strategy<Value = Repeated> {
    let users = prop::sample::select(vec![
        "system:serviceaccount:a:x",
        "system:serviceaccount:b:x",
        "system:serviceaccount:c:y",
        "anna",
        "ben",
        "system:node:n-1",
    ]);
    let agents = prop::sample::select(vec!["op/1.0", "python-requests/2.31", "kubectl/v1.30.0", "tool/2"]);
    let uris = prop::sample::select(vec![
        ("list", "/api/v1/pods", 200),
        ("list", "/api/v1/pods?labelSelector=a%3Db", 200),
        ("list", "/api/v1/pods?limit=500&resourceVersion=0", 200),
        ("list", "/api/v1/services", 403),
        ("get", "/api/v1/namespaces/a/configmaps/c", 200),
        ("update", "/api/v1/namespaces/a/configmaps/c", 409),
        ("patch", "/api/v1/namespaces/a/configmaps/c", 200),
    ]);
    (users, agents, uris, 1_u32..8, 10_u32..80).prop_map(
        |(user, agent, (verb, uri, status), every, times)| Repeated {
            user: user.to_owned(),
            agent,
            verb,
            uri: uri.to_owned(),
            status,
            every,
            times,
        },
    )
}

#[test]
fn a_fingerprint_survives_a_second_namespace() {
    let in_namespace = |namespace: &str| {
        list(&format!("system:serviceaccount:{namespace}:backup"), "backup/1.0", "/api/v1/pods")
    };
    let prints = |all: &[Repeated]| -> Vec<String> {
        of_clients(&report(all)).iter().map(|case| text(&case["fingerprint"]).to_owned()).collect()
    };
    let alone = prints(&[in_namespace("team-a")]);
    assert_eq!(alone.len(), 1);
    assert_eq!(prints(&[in_namespace("team-a"), in_namespace("team-b")]), alone);
    assert_eq!(prints(&[in_namespace("preview-x7k2f")]), alone, "the program moved to another namespace");
    let other = list("system:serviceaccount:team-a:backup", "backup/1.0", "/api/v1/secrets");
    assert_ne!(prints(&[other]), alone);
}

#[test]
fn a_fingerprint_does_not_change_with_one_request_more_or_with_a_rule_on_the_client() {
    let uri = "/api/v1/namespaces/ops/configmaps/flags";
    let deleter = |writes: u32, gets: u32| {
        let user = "system:serviceaccount:ops:deleter";
        let one = |verb: &'static str, status: u16, times: u32| Repeated {
            verb,
            status,
            every: 1,
            times,
            ..list(user, "python-requests/2.31.0", uri)
        };
        let result =
            report(&[one("get", 200, gets), one("update", 409, writes), one("update", 200, writes / 2)]);
        let with = |rule: &str| {
            let has = |case: &&&Value| case["rules"].as_array().expect("rules").contains(&json!(rule));
            let of_clients = of_clients(&result);
            of_clients.iter().find(has).map(|case| text(&case["fingerprint"]).to_owned())
        };
        (with("KT401"), with("KT501"))
    };
    let (conflicts, shared) = deleter(200, 300);
    assert!(conflicts.is_some());
    assert_ne!(conflicts, shared);
    for (writes, gets) in [(200, 299), (200, 301), (240, 300), (160, 300)] {
        assert_eq!(deleter(writes, gets).0, conflicts, "{writes} writes, {gets} GETs");
    }
}

#[test]
fn views_of_several_resources_are_one_case() {
    let lens = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Lens/6.5.2 Chrome/102";
    let all: Vec<Repeated> = (0..15)
        .flat_map(|person| {
            ["pods", "nodes", "services", "endpoints"].map(|resource| {
                list(&format!("person-{person}@example.com"), lens, &format!("/api/v1/{resource}"))
            })
        })
        .collect();
    let result = report(&all);
    let cases = of_clients(&result);
    let [case] = cases[..] else { panic!("{} cases: {:?}", cases.len(), result["cases"]) };
    assert_eq!((&case["members"]["count"], &case["resource"]), (&json!(15), &Value::Null));
    assert_eq!(case["requests"], 15 * 4 * 60);
    assert!(text(&case["what"]).contains("; with 3 other resources"), "{}", case["what"]);
    // The case keeps its fingerprint if the next log shows one view.
    let one: Vec<Repeated> = all.into_iter().filter(|one| one.uri.ends_with("/pods")).collect();
    assert_eq!(of_clients(&report(&one))[0]["fingerprint"], case["fingerprint"]);
}

#[test]
fn every_format_names_the_rule_that_the_case_describes() {
    let hot = list("system:serviceaccount:ops:hot", "hot/v1", "/api/v1/pods?labelSelector=app%3Dx&limt=500");
    let log = lines(&[Repeated { every: 1, times: 300, ..hot }]).concat();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let of = |format: &str| dir.text(&["audit.log", "--kube-version", "1.30.4", "--format", format]);
    let result = dir.report(&["audit.log", "--kube-version", "1.30.4"]);
    let case = of_clients(&result)[0];
    let rule = text(&case["rules"][0]);
    let is_lead = |finding: &&Value| finding["fingerprint"] == case["findings"][0];
    let lead = result["findings"].as_array().expect("findings").iter().find(is_lead).expect("a finding");
    assert_eq!((&lead["rule"]["id"], rule), (&json!(rule), "KT307"));
    assert!(case["rules"].as_array().expect("rules").contains(&json!("KT101")), "{case}");
    let sarif: Value = serde_json::from_str(&of("sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], rule);
    assert!(of("junit").contains(&format!("<testcase name=\"{rule} ")), "{}", of("junit"));
    assert!(of("github").contains(&format!("ops/hot%3A {rule} ")), "{}", of("github"));
    assert!(of("text").contains(&format!("kubetoll rules explain {rule}")), "{}", of("text"));
}

#[test]
fn a_line_of_cases_with_several_severities_counts_each() {
    let error = list("system:serviceaccount:a:x", "op/1.0", "/api/v1/pods");
    let warning =
        Repeated { status: 403, times: 30, ..list("system:serviceaccount:b:y", "other/1.0", "/api/v1/pods") };
    let log = lines(&[Repeated { every: 1, times: 300, ..error }, warning]).concat();
    let dir = Dir::with(&[("audit.log", log.as_bytes())]);
    let page = dir.text(&["audit.log", "--kube-version", "1.30.4", "--top", "0"]);
    assert!(page.contains("2 more cases (1–2: 1 error, 1 warning)"), "{page}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn each_finding_is_in_one_case_for_any_order_of_the_log(
        all in prop::collection::vec(any_requests(), 1..8),
        seed in any::<u64>(),
    ) {
        let mut lines = lines(&all);
        let result = report_of(&lines.concat());
        let mut in_cases: BTreeMap<&str, usize> = BTreeMap::new();
        for print in cases(&result).iter().flat_map(|case| case["findings"].as_array().expect("findings")) {
            *in_cases.entry(text(print)).or_default() += 1;
        }
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in result["findings"].as_array().expect("findings") {
            *found.entry(text(&finding["fingerprint"])).or_default() += 1;
        }
        prop_assert_eq!(&in_cases, &found);
        let shares: f64 = cases(&result).iter().filter_map(|case| case["load"]["share"].as_f64()).sum();
        prop_assert!(shares <= 1.0 + 1e-4, "{}", shares);
        for (before, after) in cases(&result).iter().zip(cases(&result).iter().skip(1)) {
            let order = |case: &Value| {
                let severity = ["error", "warning", "info"].iter().position(|name| case["severity"] == *name);
                (severity, std::cmp::Reverse(case["load"]["amount"].as_u64()))
            };
            prop_assert!(order(before) <= order(after), "{} before {}", before, after);
        }
        // Any order of the same lines.
        let hash = |line: &String| {
            line.bytes().fold(seed | 1, |hash, byte| hash.rotate_left(7) ^ u64::from(byte).wrapping_mul(0x9e37_79b9))
        };
        lines.sort_by_key(hash);
        prop_assert_eq!(&report_of(&lines.concat())["cases"], &result["cases"]);
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_the_rules_that_fire(
        all in prop::collection::vec(any_requests(), 1..6),
    ) {
        let log = lines(&all).concat();
        let full = report_of(&log);
        let rules = |case: &Value| -> Vec<String> {
            let mut rules: Vec<String> =
                case["rules"].as_array().expect("rules").iter().map(|rule| text(rule).to_owned()).collect();
            rules.sort_unstable();
            rules
        };
        let Some(several) = of_clients(&full).into_iter().find(|case| rules(case).len() > 1) else {
            return Ok(());
        };
        for rule in rules(several) {
            let dir = Dir::with(&[("audit.log", log.as_bytes())]);
            let fewer = dir.report(&["audit.log", "--kube-version", "1.30.4", "--ignore", &rule]);
            let found = |print: &&Value| {
                let mut findings = fewer["findings"].as_array().expect("findings").iter();
                findings.any(|finding| finding["fingerprint"] == **print)
            };
            let left: Vec<&Value> =
                several["findings"].as_array().expect("findings").iter().filter(found).collect();
            let whole = |case: &&&Value| {
                let findings = case["findings"].as_array().expect("findings");
                findings.len() == left.len() && left.iter().all(|print| findings.contains(print))
            };
            // Without its other rules, a case is about the whole client, and not about a resource.
            let is_of_whole_client = |print: &&&Value| {
                let mut findings = full["findings"].as_array().expect("findings").iter();
                let one = findings.find(|finding| finding["fingerprint"] == ***print).expect("a finding");
                WHOLE_CLIENT.contains(&text(&one["rule"]["id"]))
            };
            if left.iter().all(|print| is_of_whole_client(&print)) {
                continue;
            }
            // Without the rule that joins the others, these are several cases.
            if let Some(same) = of_clients(&fewer).iter().find(whole) {
                prop_assert_eq!(&same["fingerprint"], &several["fingerprint"], "without {}", rule);
            }
        }
    }
}
