//! Tests for masked and unmasked texts.

use proptest::prelude::*;

use super::*;

const JWT: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
const BASE64: &str = "c3VwZXItc2VjcmV0LXZhbHVlLW9mLWEtdGVzdC0x";

#[test]
fn values_of_secret_parameters_are_masked() {
    for (target, shown) in [
        ("/x?access_token=hunter2&limit=5", "/x?access_token=…&limit=5"),
        ("/x?limit=5&ID-Token=hunter2", "/x?limit=5&ID-Token=…"),
        ("/x?token=a&token=b", "/x?token=…&token=…"),
        ("/x?%61ccess%5Ftoken=hunter2", "/x?%61ccess%5Ftoken=…"),
        ("/x%3Ftoken%3Dhunter2%26limit=5", "/x%3Ftoken%3D…%26limit=5"),
        ("/x?limit=5;continue=hunter2", "/x?limit=5;continue=…"),
        ("/x?limit=5&amp;continue=hunter2", "/x?limit=5&amp;continue=…"),
        ("/x?contineu=hunter2", "/x?contineu=…"),
        ("/x?password=a;b c?d&limit=5", "/x?password=…&limit=5"),
        (
            "/exec?command=sh&command=-c&container=c&stdin=true",
            "/exec?command=…&command=…&container=c&stdin=true",
        ),
        ("/x?X-Amz-Signature=ab&sig=c%2Fd&input=e", "/x?X-Amz-Signature=…&sig=…&input=…"),
        ("/x?client.secret=", "/x?client.secret="),
        ("/x?redirect=%2Fy%3Ftoken%3Dhunter2", "/x?redirect=%2Fy%3Ftoken%3D…"),
        ("/x?redirect=%252Fy%253Ftoken%253Dhunter2", "/x?redirect=…"),
        ("/x?url=https%3A%2F%2Fu%3Ahunter2%40host", "/x?url=…"),
    ] {
        assert_eq!(masked_target(target), shown, "{target}");
        assert_eq!(masked(shown), shown, "masked again");
    }
}

#[test]
fn values_that_look_like_secrets_are_masked() {
    for (target, shown) in [
        (format!("/x?a={JWT}&b=1"), "/x?a=…&b=1"),
        (format!("/x/{JWT}/y?{JWT}"), "/x/…/y?…"),
        (format!("/x?a={}", JWT.replace('.', "%2E")), "/x?a=…"),
        (format!("/x?a=%65{}", &JWT[1..]), "/x?a=…"),
        (format!("/x?a={BASE64}"), "/x?a=…"),
        (format!("/x?a={}%3D%3D&b", BASE64.replace('W', "%57")), "/x?a=…&b"),
        (format!("/x?labelSelector=a%3D{BASE64}"), "/x?labelSelector=…"),
        (format!("/x?a={}", "0123456789abcdef".repeat(4)), "/x?a=…"),
        ("https://user:hunter2@host/api?limit=5".to_owned(), "https://…@host/api?limit=5"),
        ("https://hunter2@host".to_owned(), "https://…@host"),
        ("https://user:hun/ter2@host/x".to_owned(), "https://…@host/x"),
        ("https://user:hunte".to_owned(), "https://…"),
    ] {
        assert_eq!(masked_target(&target), shown, "{target}");
        assert_eq!(masked(shown), shown, "masked again");
    }
}

#[test]
fn texts_without_secrets_stay_unchanged() {
    for text in [
        "/api/v1/namespaces/kube-system/pods/etcd-0?limit=500&resourceVersion=0&resourceVersionMatch=NotOlderThan",
        "/api/v1/pods?fieldSelector=metadata.name%3Da-deployment-with-a-long-name-7d9f8b6c5d-x2k4q,spec.nodeName%3Dip-10-0-0-1.eu.internal",
        "/api/v1/pods?labelSelector=uid%3D550e8400-e29b-41d4-a716-446655440000",
        "/openapi/v3/apis/apps/v1?hash=9C480966E6DB37553A96AA4296738F3D11598F2717445E9EF23BDCCBD72D072Fab&timeout=32s",
        "/x?allowWatchBookmarks=true&sendInitialEvents=true&timeoutSeconds=540&watch=true&keys=1",
        "kubelet/v1.29.4 (linux/amd64) kubernetes/55019c83b0fd51ef4ced8c29eec2c4847f896e74",
        "alice@example.com",
        "http://10.0.0.1:8080/x and https://[::1]:443/",
        "see https://kubernetes.io/docs; a?b=c",
        "eyJacks",
        "größe?x=…",
    ] {
        assert!(matches!(masked(text), Cow::Borrowed(_)), "{text}");
        assert_eq!(masked_target(text), text);
    }
}

#[test]
fn the_quote_after_an_empty_value_stays() {
    for text in ["get --raw '/api/v1/pods?continue='\nnext", "(\"/x?token=\")", "`/x?token=`"] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn a_text_is_masked_up_to_the_next_space() {
    let text = format!("agent/1 (+https://u:p@host/ {JWT}) 'GET /x?token=a%20b&limit=5' ok");
    assert_eq!(masked(&text), "agent/1 (+https://…@host/ …) 'GET /x?token=…&limit=5' ok");
}

proptest! {
    #[test]
    fn a_masked_target_never_contains_the_secret(
        before in "(/[a-z]{1,5}){1,3}[?&;]([a-zA-Z]{1,9}=[^&=]{0,9}[&;]){0,3}",
        key in prop::sample::select(vec!["access_token", "Password", "SIG", "%63ommand", "input", "continue"]),
        separator in prop::sample::select(vec!["=", "%3d", "%3D"]),
        after in "(&[^ ]{0,20})?",
    ) {
        let target = format!("{before}{key}{separator}hunter2{after}");
        prop_assert!(!masked_target(&target).contains("hunter2"), "{}", target);
    }
}

#[test]
fn masking_takes_linear_time() {
    for piece in ["://", "://a:b/", "?", "&a=b", ";", "%3F", "eyJ", "eyJ/", "?a=%253D", "://a:b@c "] {
        let text = piece.repeat(50_000);
        let begun = std::time::Instant::now();
        let _ = masked(&text);
        let _ = masked_target(&text);
        // Linear time takes less than a second; quadratic time would take minutes.
        assert!(begun.elapsed().as_secs() < 30, "{piece}");
    }
}
