//! GKE through Cloud Logging. An entry of Cloud Audit Logs is not an audit event. It has no request URI, so
//! resourceVersion and limit are unknown. It has one timestamp, so the duration is unknown. Its status is a gRPC
//! status.
//!
//! Source: Google Kubernetes Engine documentation, "Audit logging information".

use serde::Deserialize;

use super::content::{Content, JsonObject};
use crate::decode::foreign::Foreign;
use crate::k8s::event::{ObjectRef, ResponseStatus, Text, User};
use crate::k8s::verb::Method;
use crate::k8s::{Event, ListOptions, RequestInfo};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry<'a> {
    #[serde(borrow)]
    proto_payload: Payload<'a>,
    #[serde(borrow, default)]
    insert_id: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload<'a> {
    #[serde(borrow, default)]
    service_name: Text<'a>,
    #[serde(borrow, default)]
    method_name: Text<'a>,
    #[serde(borrow, default)]
    resource_name: Text<'a>,
    #[serde(borrow, default)]
    authentication_info: Option<AuthenticationInfo<'a>>,
    #[serde(borrow, default)]
    request_metadata: Option<RequestMetadata<'a>>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationInfo<'a> {
    #[serde(borrow, default)]
    principal_email: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestMetadata<'a> {
    #[serde(borrow, default)]
    caller_supplied_user_agent: Text<'a>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: Option<i32>,
}

/// Builds an event from an entry.
#[must_use]
pub(crate) fn open<'a>(entry: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    entry.keys.proto_payload?;
    let entry: LogEntry<'_> = serde_json::from_str(entry.text).ok()?;
    let payload = entry.proto_payload;
    // Some exports drop the service name.
    let is_kubernetes = match &*payload.service_name {
        "" => payload.method_name.starts_with("io.k8s."),
        service => service == "k8s.io",
    };
    if !is_kubernetes {
        return Some(Content::Foreign(Foreign::OtherService));
    }
    let verb = payload.method_name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    Some(Content::Event(Box::new(Event {
        audit_id: entry.insert_id,
        stage_name: Text::from("ResponseComplete".to_owned()),
        verb: verb.into(),
        user: payload.authentication_info.map(|info| User { username: info.principal_email, extra: None }),
        user_agent: payload.request_metadata.map(|data| data.caller_supplied_user_agent).unwrap_or_default(),
        object: Some(Box::new(if payload.resource_name.is_empty() {
            object_ref_of_method(&payload.method_name)
        } else {
            object(&payload.resource_name)
        })),
        response_status: Some(ResponseStatus {
            code: Some(http_status(payload.status.and_then(|s| s.code))),
        }),
        request_received_timestamp: entry.timestamp,
        ..Event::default()
    })))
}

/// Parses a resource name such as `core/v1/namespaces/default/pods/p/status`: a path without `/api` or `/apis`. Names
/// such as `readyz` contain no object.
fn object(name: &str) -> ObjectRef<Text<'static>> {
    let path = match name.strip_prefix("core/") {
        Some(rest) => format!("/api/{rest}"),
        None => format!("/apis/{name}"),
    };
    let info = RequestInfo::resolve(Method::Get, &path, &ListOptions::default()).ok();
    let resource = info.as_ref().and_then(|info| info.resource.as_ref());
    let text = |part: &str| Text::from(part.to_owned());
    resource.map_or_else(ObjectRef::default, |resource| ObjectRef {
        resource: text(resource.resource),
        namespace: text(resource.namespace),
        name: text(info.as_ref().map_or("", |info| &info.name)),
        api_group: text(resource.group),
        subresource: text(resource.subresource),
    })
}

/// Parses the resource from a method such as `io.k8s.apps.v1.deployments.scale.update`, for entries without a
/// resource name.
fn object_ref_of_method(name: &str) -> ObjectRef<Text<'static>> {
    let parts: Vec<&str> = name.split('.').collect();
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let Some(version) = parts.iter().position(|part| is_version(part)) else { return ObjectRef::default() };
    let (group, rest) = (parts.get(2..version).unwrap_or_default(), &parts[version + 1..]);
    let group = match group {
        ["core"] => String::new(),
        // These groups are older than the rule that a group is a domain.
        [one @ ("apps" | "batch" | "autoscaling" | "policy" | "extensions")] => (*one).to_owned(),
        // The parts of a domain are in reverse: `io.k8s.authorization.rbac` is `rbac.authorization.k8s.io`.
        parts => parts.iter().rev().copied().chain(["k8s", "io"]).collect::<Vec<_>>().join("."),
    };
    // The last part is the verb.
    let part = |at: usize| {
        Text::from(rest[..rest.len().saturating_sub(1)].get(at).copied().unwrap_or_default().to_owned())
    };
    ObjectRef { resource: part(0), api_group: group.into(), subresource: part(1), ..ObjectRef::default() }
}

/// Maps a gRPC status code to an HTTP status. An entry without a code is a successful request.
///
/// Source: google.rpc.Code, "HTTP Mapping".
fn http_status(code: Option<i32>) -> i32 {
    match code.unwrap_or(0) {
        0 => 200,
        3 | 9 | 11 => 400,
        4 => 504,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        12 => 501,
        14 => 503,
        16 => 401,
        1 => 499,
        _ => 500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_comes_from_the_resource_name_or_the_method() {
        let named = |object: &ObjectRef<Text<'_>>| {
            [&object.api_group, &object.resource, &object.namespace, &object.subresource]
                .map(|text| String::from(&**text))
        };
        assert_eq!(named(&object("core/v1/namespaces/a/pods/p/status")), ["", "pods", "a", "status"]);
        assert_eq!(named(&object("apps/v1/deployments")), ["apps", "deployments", "", ""]);
        assert_eq!(named(&object("readyz")), ["", "", "", ""]);
        for (method, want) in [
            ("io.k8s.core.v1.pods.list", ["", "pods", "", ""]),
            ("io.k8s.apps.v1.deployments.scale.update", ["apps", "deployments", "", "scale"]),
            ("io.k8s.authorization.rbac.v1.roles.get", ["rbac.authorization.k8s.io", "roles", "", ""]),
            ("io.k8s.get", ["", "", "", ""]),
            ("io.k8s.core.v1", ["", "", "", ""]),
        ] {
            assert_eq!(named(&object_ref_of_method(method)), want, "{method}");
        }
    }

    #[test]
    fn other_services_are_foreign() {
        let entry = |service: &str, method: &str| {
            format!(
                r#"{{"insertId":"a","protoPayload":{{"serviceName":"{service}","methodName":"{method}"}}}}"#
            )
        };
        let is_event = |text: &str| {
            let keys = serde_json::from_str(text).expect("an object");
            matches!(open(&JsonObject { text, keys: &keys, is_in_stream: false }), Some(Content::Event(_)))
        };
        assert!(is_event(&entry("k8s.io", "io.k8s.get")) && is_event(&entry("", "io.k8s.core.v1.pods.list")));
        assert!(!is_event(&entry("compute.googleapis.com", "v1.compute.instances.list")));
        assert!(!is_event(&entry("", "v1.compute.instances.list")));
    }
}
