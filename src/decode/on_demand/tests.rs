//! Compares the on-demand parser with `serde_json`.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{CachedCallers, EventFields};
use crate::k8s::Event;

/// Parses a text with the on-demand parser and with `serde_json`, and compares the results. Returns whether the
/// on-demand parser accepted the text.
fn check(text: &str) -> bool {
    check_after(&mut CachedCallers::default(), text)
}

/// Like [`check`], with a cache of clients from earlier texts.
fn check_after(recent: &mut CachedCallers, text: &str) -> bool {
    let mut unescaped = String::new();
    let mut fields = EventFields::default();
    if fields.find_in_server_order(text, recent).is_some() {
        let any_order = EventFields::in_any_order(text).expect("both orders accept the text");
        (fields.0.request_bytes, fields.0.caller_id) = (None, None);
        assert_eq!(fields, any_order, "{text}");
    }
    let Some(mut fields) = EventFields::find(text, recent) else { return false };
    let Some(parsed) = fields.event(text, &mut unescaped) else { return false };
    match serde_json::from_str::<Event<'_>>(text) {
        Ok(event) => {
            let parsed = Event { request_bytes: None, caller_id: None, ..parsed };
            assert_eq!(parsed, event, "{text}");
        }
        // The on-demand parser does not check skipped values.
        Err(error) => assert!(error.is_syntax(), "{error}: {text}"),
    }
    true
}

const EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"a0c2f5ae-32a5-4ad6-95c9-ca3e1a16e9d9","stage":"ResponseComplete","requestURI":"/api/v1/pods?limit=500\u0026resourceVersion=0","verb":"list","user":{"username":"system:serviceaccount:a:b","uid":"1","groups":["system:serviceaccounts","x"],"extra":{"authentication.kubernetes.io/credential-id":["JTI=1"],"authentication.kubernetes.io/node-name":["n1"],"authentication.kubernetes.io/pod-name":["p1"]}},"impersonatedUser":{"username":"u\"v"},"sourceIPs":["10.0.0.1"],"userAgent":"kubectl/v1.30.0 (linux/amd64) kubernetes/7c48c2b","objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestObject":{"kind":"X","verb":"get","a":["}","\\","\"{"]},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z","annotations":{"apiserver.latency.k8s.io/total":"1s","authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: \"x\""}}"#;

#[test]
fn server_format_is_parsed_on_demand() {
    assert!(check(EVENT));
    assert!(EventFields::default().find_in_server_order(EVENT, &mut CachedCallers::default()).is_some());
    let refused = EVENT.replacen("\"code\":200", "\"code\":403", 1);
    assert!(check(&refused), "403 needs the authorization decision");
    let indented = serde_json::to_string_pretty(&serde_json::from_str::<Value>(EVENT).expect("JSON"));
    assert!(check(&indented.expect("JSON")), "other white space and order");
}

#[test]
fn other_formats_are_left_to_serde_json() {
    for (from, to) in [
        ("\"kind\"", "\"k\\u0069nd\""),
        ("\"level\"", "\"verb\""),
        ("200", "\"200\""),
        ("200", "2e2"),
        ("[\"p1\"]", "\"p1\""),
        ("[\"p1\"]", "[]"),
        ("[\"p1\"]", "[\"p1\",\"p2\"]"),
        ("\"verb\":\"list\"", "\"verb\":null"),
        ("\"verb\":\"list\"", "\"verb\":7"),
        ("{\"resource\":\"pods\",\"apiVersion\":\"v1\"}", "null"),
        ("\"stage\"", "\"timestamp\":\"x\",\"stage\""),
        ("\"stage\"", "\"k8s_audit_level\":\"Metadata\",\"stage\""),
        ("\\u0026", "\\ud800"),
        ("\\u0026", "\\x"),
        ("\\u0026", "\u{1}"),
    ] {
        assert!(EVENT.contains(from));
        assert!(!check(&EVENT.replacen(from, to, 1)), "{to}");
    }
    for cut in 0..EVENT.len() {
        assert!(!check(&EVENT[..cut]));
    }
    assert!(!check(&format!("{EVENT}x")));
    assert!(check(&format!("{EVENT} \n")));
}

fn fields() -> Vec<(String, Value)> {
    let Value::Object(fields) = serde_json::from_str(EVENT).expect("JSON") else { unreachable!("an object") };
    fields.into_iter().collect()
}

fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<String>().prop_map(Value::from),
        "[\"\\\\{}\\[\\]:,a-z]{0,90}".prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(null)),
        Just(
            json!({"code": 404, "username": "n", "extra": {"authentication.kubernetes.io/pod-name": ["q", "r"]}})
        ),
        Just(json!({"stage": "Panic", "user": {"verb": ["get", {"auditID": "x"}]}})),
        Just(json!(["x"])),
        Just(json!(1.5)),
    ]
}

proptest! {
    #[test]
    fn any_order_and_values_match_serde_json(
        fields in Just(fields()).prop_shuffle(),
        odd in prop::collection::vec((0_usize..30, odd()), 0..3),
        keep in 0_usize..20,
        spaces: bool,
    ) {
        let mut event: Map<String, Value> = Map::new();
        let mut names = Vec::new();
        for (name, value) in fields.into_iter().take(keep) {
            names.push(name.clone());
            event.insert(name, value);
        }
        for (at, value) in odd {
            let name = names.get(at).cloned().unwrap_or_else(|| format!("unknown{at}"));
            event.insert(name, value);
        }
        // A map sorts its keys, but the text must keep the shuffled order.
        let sep = if spaces { [" : ", " ,\n\t"] } else { [":", ","] };
        let pairs: Vec<String> = names
            .iter()
            .chain(event.keys().filter(|key| !names.contains(key)))
            .map(|name| format!("{}{}{}", json!(name), sep[0], event[name]))
            .collect();
        check(&format!("{{{}}}", pairs.join(sep[1])));
    }

    #[test]
    fn damaged_bytes_match_serde_json(flips in prop::collection::vec((0_usize..EVENT.len(), any::<char>()), 0..4), cut in 0_usize..2_000) {
        let mut text: Vec<char> = EVENT.chars().collect();
        for (at, with) in flips {
            text[at] = with;
        }
        text.truncate(cut);
        check(&text.into_iter().collect::<String>());
    }

    #[test]
    fn cached_clients_match_serde_json(
        clients in prop::collection::vec(
            (0_u8..2, 0_u8..9, "[a\\\\]?", 0_u8..9, 0_u8..5, 0_u8..4, 0_usize..20),
            1..150,
        ),
    ) {
        let mut recent = CachedCallers::default();
        for (user, pod, agent, damage, lacks, annotations, before) in clients {
            let agent = json!(agent).to_string();
            let text = EVENT
                .replace("serviceaccount:a:b", &format!("serviceaccount:a:{user}"))
                // Changes the offsets of the fields after the URI.
                .replace("limit=500", &"x".repeat(before))
                .replace("p1", &format!("pod-{pod}"))
                .replace("JTI=1", &format!("JTI={}", u32::from(pod) * 7919 % 101))
                // Removes an escape, because a client's text with escapes is not cached.
                .replace("u\\\"v", "uv")
                .replace("kubectl/v1.30.0", &agent[1..agent.len() - 1]);
            let cut = |text: &str, from: &str, to: &str| {
                let (from, to) = (text.find(from).expect("the text contains it"), text.find(to).expect("the text contains it"));
                format!("{}{}", &text[..from], &text[to..])
            };
            let text = match lacks {
                0 => cut(&text, ",\"extra\"", "},\"impersonatedUser\""),
                1 => cut(&text, ",\"impersonatedUser\"", ",\"sourceIPs\""),
                2 => cut(&text, ",\"userAgent\"", ",\"objectRef\""),
                3 => cut(&text, ",\"authentication.kubernetes.io/node-name", "}},\"impersonatedUser\""),
                _ => text,
            };
            let quick = text.replace("\"apiserver.latency.k8s.io/total\":\"1s\",", "");
            let text = match annotations {
                0 => text,
                1 => quick.replace("RBAC", "Node"),
                _ => quick,
            };
            let text = match damage {
                0 => text.replace("\"objectRef\"", "\"objectRef"),
                1 => text.replace(",\"sourceIPs\"", "x,\"sourceIPs\""),
                _ => text,
            };
            prop_assert_eq!(check_after(&mut recent, &text), damage > 1, "{}", text);
        }
    }

    #[test]
    fn repeated_parts_match_serde_json(parts in prop::collection::vec((0_usize..EVENT.len(), 0_usize..80), 1..6)) {
        let mut text = String::from("{");
        for (start, length) in parts {
            text.push_str(&EVENT[start..(start + length).min(EVENT.len())]);
        }
        check(&text);
    }
}
