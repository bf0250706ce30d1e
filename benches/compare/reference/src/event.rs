//! The fields of an audit event that kubetoll reads, as serde's derive decodes them: borrowed where it can.

#![allow(dead_code, reason = "they are decoded, and nothing else is done")]

use std::borrow::Cow;

use serde::Deserialize;

/// An audit event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow, rename = "auditID")]
    audit_id: Cow<'a, str>,
    #[serde(borrow)]
    stage: Cow<'a, str>,
    #[serde(borrow, rename = "requestURI")]
    request_uri: Cow<'a, str>,
    #[serde(borrow)]
    verb: Cow<'a, str>,
    #[serde(borrow, default)]
    user: User<'a>,
    #[serde(borrow, default)]
    impersonated_user: Option<User<'a>>,
    #[serde(borrow, default, rename = "sourceIPs")]
    source_ips: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    user_agent: Cow<'a, str>,
    #[serde(default)]
    response_status: Option<ResponseStatus>,
    #[serde(borrow)]
    request_received_timestamp: Cow<'a, str>,
    #[serde(borrow)]
    stage_timestamp: Cow<'a, str>,
    #[serde(borrow, default)]
    annotations: Annotations<'a>,
}

#[derive(Default, Deserialize)]
struct User<'a> {
    #[serde(borrow, default)]
    username: Cow<'a, str>,
    #[serde(borrow, default)]
    extra: Extra<'a>,
}

#[derive(Default, Deserialize)]
struct Extra<'a> {
    #[serde(borrow, default, rename = "authentication.kubernetes.io/pod-name")]
    pod_name: Vec<Cow<'a, str>>,
    #[serde(borrow, default, rename = "authentication.kubernetes.io/node-name")]
    node_name: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: Option<i32>,
}

#[derive(Default, Deserialize)]
struct Annotations<'a> {
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/total")]
    total: Cow<'a, str>,
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/etcd")]
    etcd: Cow<'a, str>,
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/decode-response-object")]
    decode: Cow<'a, str>,
    #[serde(borrow, default, rename = "k8s.io/deprecated")]
    deprecated: Cow<'a, str>,
}
