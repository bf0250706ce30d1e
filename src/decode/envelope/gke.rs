//! GKE through Cloud Logging: an entry of Cloud Audit Logs, which is not an audit event. It holds no request URI, so
//! neither resourceVersion nor limit are known, one instant, so no duration, and gRPC's status in place of HTTP's.
//!
//! Source: Google Kubernetes Engine documentation, "Audit logging information".

use serde::Deserialize;

use super::Content;
use crate::decode::outcome::Foreign;
use crate::k8s::event::{ObjectRef, ResponseStatus, Text, User};
use crate::k8s::verb::Method;
use crate::k8s::{Event, ListOptions, RequestInfo};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
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

/// What the entry says of a request.
#[must_use]
pub fn open(text: &str) -> Option<Content<'_>> {
    let entry: Entry<'_> = serde_json::from_str(text).ok()?;
    let payload = entry.proto_payload;
    if &*payload.service_name != "k8s.io" {
        return Some(Content::Foreign(Foreign::OtherService));
    }
    let verb = payload.method_name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    Some(Content::Event(Box::new(Event {
        audit_id: entry.insert_id,
        stage_name: Text::from("ResponseComplete".to_owned()),
        verb: verb.into(),
        user: payload.authentication_info.map(|info| User { username: info.principal_email, extra: None }),
        user_agent: payload.request_metadata.map(|data| data.caller_supplied_user_agent).unwrap_or_default(),
        object: Some(Box::new(object(&payload.resource_name))),
        response_status: Some(ResponseStatus {
            code: Some(http_status(payload.status.and_then(|s| s.code))),
        }),
        request_received_timestamp: entry.timestamp,
        ..Event::default()
    })))
}

/// The object of a name such as `core/v1/namespaces/default/pods/p/status`: a path without its first part. `readyz`
/// and the like name none.
fn object(name: &str) -> ObjectRef<'static> {
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

/// The HTTP status that a gRPC status stands for. An entry without one is of a request that was served.
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
