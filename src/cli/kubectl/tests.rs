//! Tests of kubectl commands.

use super::*;

fn sent_by(text: &str) -> anyhow::Result<SentRequests> {
    sent(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn each_command_sends_its_requests() {
    for (command, expected) in [
        ("get pods -A", "GET /api/v1/pods?limit=500"),
        ("get po --all-namespaces | grep x", "GET /api/v1/pods?limit=500"),
        ("get pods", "GET /api/v1/namespaces/default/pods?limit=500"),
        ("-n shop get pods", "GET /api/v1/namespaces/shop/pods?limit=500"),
        ("get deploy -nshop -owide", "GET /apis/apps/v1/namespaces/shop/deployments?limit=500"),
        (
            "get pods -A -l app=web,tier!=db --field-selector=spec.nodeName=a",
            "GET /api/v1/pods?fieldSelector=spec.nodeName%3Da&labelSelector=app%3Dweb%2Ctier%21%3Ddb&limit=500",
        ),
        ("get no --chunk-size 50", "GET /api/v1/nodes?limit=50"),
        ("get no -n shop --chunk-size=0", "GET /api/v1/nodes"),
        ("get cm -A --sort-by=.metadata.name", "GET /api/v1/configmaps"),
        ("get pods -Aw", "GET /api/v1/pods?limit=500; GET /api/v1/pods?resourceVersion=123456&watch=true"),
        ("get pod a b -n n", "GET /api/v1/namespaces/n/pods/a; GET /api/v1/namespaces/n/pods/b"),
        ("get pod a?b=c", "GET /api/v1/namespaces/default/pods/a%3Fb%3Dc"),
        ("get svc/a no/b", "GET /api/v1/namespaces/default/services/a; GET /api/v1/nodes/b"),
        (
            "get pod a -w",
            "GET /api/v1/namespaces/default/pods/a; \
             GET /api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Da&resourceVersion=0&watch=true",
        ),
        ("get svc,ns -A", "GET /api/v1/services?limit=500; GET /api/v1/namespaces?limit=500"),
        (
            "get deployments.apps web --subresource scale",
            "GET /apis/apps/v1/namespaces/default/deployments/web/scale",
        ),
        ("get --raw /apis/apps/v1?x=1", "GET /apis/apps/v1?x=1"),
        ("delete --raw /api/v1/namespaces/n/pods/a", "DELETE /api/v1/namespaces/n/pods/a"),
        ("create --raw=/api/v1/namespaces", "POST /api/v1/namespaces"),
        ("delete pods --all -n n", "GET /api/v1/namespaces/n/pods; DELETE /api/v1/namespaces/n/pods/NAME"),
        ("delete pod a -n n --wait=false", "DELETE /api/v1/namespaces/n/pods/a"),
        (
            "describe pod a",
            "GET /api/v1/namespaces/default/pods/a; \
             GET /api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da%2CinvolvedObject.namespace%3Ddefault%2CinvolvedObject.uid%3DUID&limit=500",
        ),
        (
            "describe nodes --show-events=false",
            "GET /api/v1/nodes?limit=500; GET /api/v1/nodes/NAME; \
             GET /api/v1/pods?fieldSelector=spec.nodeName%3DNAME%2Cstatus.phase%21%3DFailed%2Cstatus.phase%21%3DSucceeded&limit=500",
        ),
    ] {
        let sent = sent_by(command).expect(command);
        let requests = sent.requests.iter().map(|(method, target)| format!("{method} {target}"));
        assert_eq!(requests.collect::<Vec<_>>().join("; "), expected, "{command}");
    }
    assert_eq!(sent_by("get all -A").expect("a command").requests.len(), ALL.split(' ').count());
}

#[test]
fn note_names_the_assumed_namespace() {
    let notes = |command| sent_by(command).expect("a command").notes.concat();
    assert!(notes("get pods").contains("namespace default"));
    assert_eq!((notes("get pods -n a"), notes("get no"), notes("get po -A")), <_>::default());
}

#[test]
fn errors_suggest_a_request() {
    for (command, message) in [
        ("get widgets.example.com", "GET /apis/example.com/VERSION/namespaces/default/widgets?limit=500"),
        ("get widgets", "\"widgets\" is not a built-in resource; type the request instead"),
        ("logs web", "such as 'GET /api/v1/namespaces/default/pods/NAME/log'"),
        ("get pod a/../b", "is not TYPE/NAME"),
        ("get pod a%2e", "a name has no / and no %"),
        ("apply -f web", "kubectl apply: kubetoll reads get, describe, delete and --raw"),
        ("expose deploy web", "such as 'POST /api/v1/namespaces/default/services'"),
        ("cordon n1", "such as 'PATCH /api/v1/nodes/NAME'"),
        ("uncordon n1", "such as 'PATCH /api/v1/nodes/NAME'"),
        ("taint nodes n1 a=b:NoSchedule", "such as 'PATCH /api/v1/nodes/NAME'"),
        ("pods get", "kubectl \"pods\": type the command first"),
        ("get", "kubectl get needs a resource, such as kubectl get pods"),
        ("get pods -n", "kubectl --namespace needs a value"),
        ("get pods --chunk-size=x", "\"x\" is not a number"),
        ("get pods a -A", "leave out -A, or the name"),
        ("get pods --filename=x", "option \"--filename\""),
        ("get pods -z", "option \"-z\""),
        ("get pods/ x", "is not TYPE/NAME"),
        ("get --raw pods", "takes a path, such as --raw /api/v1/pods"),
        ("delete pods", "needs a name, --all or a selector"),
    ] {
        let error = sent_by(command).expect_err(command).to_string();
        assert!(error.contains(message), "{command}: {error}");
    }
}

#[test]
fn commands_without_a_known_request_have_no_example() {
    for command in ["explain pods", "config view", "cluster-info", "plugin list"] {
        let error = sent_by(command).expect_err(command).to_string();
        assert!(error.ends_with("type the request instead"), "{command}: {error}");
    }
}
