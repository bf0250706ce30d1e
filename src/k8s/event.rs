//! An audit event. It borrows its texts from the log line.

mod caller;
mod text;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

pub(crate) use caller::{Caller, CallerCache, CallerId, CallerRef, Extra, User};
pub(crate) use text::{First, Raw, Text};

/// The audit stage of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The server received the request.
    RequestReceived,
    /// The response of a long-running request began. Some releases since 1.30 write it twice for each watch.
    ResponseStarted,
    /// The response is complete.
    ResponseComplete,
    /// The server panicked while it handled the request.
    Panic,
}

/// The fields of an audit event that kubetoll uses.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event`.
#[derive(Debug, Default, PartialEq)]
pub struct Event<'a> {
    /// `Event`. Empty if an exporter dropped the field.
    pub kind: Text<'a>,
    /// `audit.k8s.io/v1`. Empty if an exporter dropped the field.
    pub api_version: Text<'a>,
    /// The ID of the request. The client can choose it, so it may not be unique.
    pub audit_id: Text<'a>,
    /// The name of the stage in the record; see [`Event::stage`].
    pub stage_name: Text<'a>,
    /// The target of the HTTP request line: encoded path and raw query.
    pub request_uri: Text<'a>,
    /// The verb that the server resolved from method, path and query.
    pub verb: Text<'a>,
    /// The user, the source addresses and the user agent.
    pub caller: CallerRef<'a>,
    /// `objectRef` as raw JSON. Parsed only if the event has no `requestURI`.
    pub object_ref: Option<Raw<'a>>,
    /// The object or collection of the request, if the event is from a log format without `requestURI`, such as
    /// GKE's.
    pub object: Option<Box<ObjectRef<'a>>>,
    /// The time when the server received the request, in `v1alpha1` events (1.7).
    pub timestamp_v1alpha1: Option<Raw<'a>>,
    /// Set if OpenShift's log collector renamed `level`, because the collector uses that name for the severity.
    pub k8s_audit_level: Option<IgnoredAny>,
    /// The HTTP status; absent at RequestReceived.
    pub response_status: Option<ResponseStatus>,
    /// The time when the server received the request, as RFC 3339 with microseconds.
    pub request_received_timestamp: Text<'a>,
    /// The time of the stage, as RFC 3339 with microseconds.
    pub stage_timestamp: Text<'a>,
    /// The annotations that kubetoll reads; `None` if the event has none of them.
    pub annotations: Option<Annotations<'a>>,
    /// Whether the event has `authenticationMetadata` (1.35 and later).
    pub has_authentication_metadata: bool,
    /// The raw bytes from `requestURI` through `objectRef`. Set only if the line has the apiserver's field order; used
    /// to match the event with its RequestReceived event.
    pub request_bytes: Option<&'a str>,
}

/// The JSON fields of an event.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SerdeFields<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    api_version: Text<'a>,
    #[serde(borrow, rename = "auditID")]
    audit_id: Text<'a>,
    #[serde(borrow)]
    stage: Text<'a>,
    #[serde(borrow, rename = "requestURI")]
    request_uri: Text<'a>,
    #[serde(borrow)]
    verb: Text<'a>,
    #[serde(borrow)]
    user: Option<User<'a>>,
    #[serde(borrow)]
    impersonated_user: Option<User<'a>>,
    #[serde(borrow)]
    user_agent: Text<'a>,
    #[serde(borrow)]
    object_ref: Option<Raw<'a>>,
    #[serde(borrow, rename = "sourceIPs")]
    source_ips: Option<Raw<'a>>,
    #[serde(borrow)]
    timestamp: Option<Raw<'a>>,
    #[serde(rename = "k8s_audit_level")]
    k8s_audit_level: Option<IgnoredAny>,
    response_status: Option<ResponseStatus>,
    #[serde(borrow)]
    request_received_timestamp: Text<'a>,
    #[serde(borrow)]
    stage_timestamp: Text<'a>,
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
    authentication_metadata: Option<IgnoredAny>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Event<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let own = SerdeFields::deserialize(deserializer)?;
        let code = own.response_status.as_ref().and_then(|status| status.code);
        let mut annotations = own.annotations;
        if let Some(own) = annotations.as_mut().filter(|_| code != Some(FORBIDDEN)) {
            own.decision = Text::default();
        }
        let annotations = annotations.filter(|own| *own != Annotations::default());
        Ok(Self {
            kind: own.kind,
            api_version: own.api_version,
            audit_id: own.audit_id,
            stage_name: own.stage,
            request_uri: own.request_uri,
            verb: own.verb,
            caller: CallerRef::Read(Caller {
                user: own.user,
                impersonated_user: own.impersonated_user,
                source_ips: own.source_ips,
                user_agent: own.user_agent,
            }),
            object_ref: own.object_ref,
            object: None,
            timestamp_v1alpha1: own.timestamp,
            k8s_audit_level: own.k8s_audit_level,
            response_status: own.response_status,
            request_received_timestamp: own.request_received_timestamp,
            stage_timestamp: own.stage_timestamp,
            annotations,
            has_authentication_metadata: own.authentication_metadata.is_some(),
            request_bytes: None,
        })
    }
}

/// The HTTP status of a request that authorization or admission refused.
pub(crate) const FORBIDDEN: i32 = 403;

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ResponseStatus {
    /// The HTTP status code. Both 0 and `None` mean unknown.
    #[serde(default)]
    pub(crate) code: Option<i32>,
}

/// Annotations that kubetoll reads. The latencies are Go durations; the server writes them for slow requests.
///
/// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:writeLatencyToAnnotation`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Annotations<'a> {
    /// The duration of the whole request. Present only above 500 ms.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/total")]
    pub(crate) total: Text<'a>,
    /// The duration of all calls to etcd. Absent without a call.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/etcd")]
    pub(crate) etcd: Text<'a>,
    /// The time to decode the objects that etcd returned for a LIST (1.30 and later).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/decode-response-object")]
    pub(crate) decode_response_object: Text<'a>,
    /// The duration of all mutating admission webhooks. Absent without a call.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/mutating-webhook")]
    pub(crate) mutating_webhook: Text<'a>,
    /// The duration of all validating admission webhooks. Absent without a call.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/validating-webhook")]
    pub(crate) validating_webhook: Text<'a>,
    /// The waiting time in a queue of API Priority and Fairness (1.31 and later).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/apf-queue-wait")]
    pub(crate) queue_wait: Text<'a>,
    /// The duration of authentication (1.33 and later).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/authentication")]
    pub(crate) authentication: Text<'a>,
    /// The duration of impersonation (1.36 and later).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/impersonation")]
    pub(crate) impersonation: Text<'a>,
    /// `true` for a request to a deprecated API version.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/metrics/metrics.go:deprecatedAnnotationKey`.
    #[serde(borrow, default, rename = "k8s.io/deprecated")]
    pub(crate) deprecated: Text<'a>,
    /// `true` for an event that the server truncated.
    ///
    /// Source: k8s.io/apiserver `plugin/pkg/audit/truncate/truncate.go:annotationKey`.
    #[serde(borrow, default, rename = "audit.k8s.io/truncated")]
    pub(crate) truncated: Text<'a>,
    /// The release that removes the deprecated API version, such as `1.25`.
    #[serde(borrow, default, rename = "k8s.io/removed-release")]
    pub(crate) removed_release: Text<'a>,
    /// The decision of authorization, `allow` or `forbid`. Set only for responses with status 403, else empty.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/filters/authorization.go:decisionAnnotationKey`.
    #[serde(borrow, default, rename = "authorization.k8s.io/decision")]
    pub(crate) decision: Text<'a>,
}

/// `objectRef`. In events without a `requestURI`, only `objectRef` describes the request.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef<'a> {
    /// The resource, such as `pods`.
    #[serde(borrow, default)]
    pub resource: Text<'a>,
    #[serde(borrow, default)]
    pub namespace: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    #[serde(borrow, default)]
    pub api_group: Text<'a>,
    #[serde(borrow, default)]
    pub subresource: Text<'a>,
}

impl Event<'_> {
    /// Returns the stage, or `None` for an unknown name.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        Some(match &*self.stage_name {
            "RequestReceived" => Stage::RequestReceived,
            "ResponseStarted" => Stage::ResponseStarted,
            "ResponseComplete" => Stage::ResponseComplete,
            "Panic" => Stage::Panic,
            _ => return None,
        })
    }

    /// Returns the text of the receive time; empty if the event has none.
    #[must_use]
    pub fn received(&self) -> &str {
        let old = || self.timestamp_v1alpha1.map_or("", |raw| raw.0.trim_matches('"'));
        if self.request_received_timestamp.is_empty() { old() } else { &self.request_received_timestamp }
    }

    /// Returns the HTTP status; `None` if it is absent or outside of 100 to 599.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let code = self.response_status.as_ref()?.code?;
        u16::try_from(code).ok().filter(|code| (100..600).contains(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn texts_borrow_from_the_line_unless_they_have_an_escape() {
        let line = r#"{"requestURI":"/a?b\u0026c","verb":"list","userAgent":null,"user":{"username":"u","extra":{
            "authentication.kubernetes.io/pod-name":["p","q"],"x":[1]}},"responseStatus":{"code":200},
            "annotations":{"apiserver.latency.k8s.io/etcd":"1ms"},"objectRef":{"resource":"pods"}}"#;
        let event: Event<'_> = serde_json::from_str(line).expect("an event");
        assert_eq!(&*event.request_uri, "/a?b&c");
        assert!(matches!(event.verb.0, Cow::Borrowed("list")));
        assert_eq!(event.status(), Some(200));
        assert_eq!(&*event.annotations.expect("annotations").etcd, "1ms");
        event.caller.with(|caller| {
            assert_eq!(&*caller.user_agent, "");
            let extra = caller.user.as_ref().and_then(|user| user.extra.as_ref());
            assert_eq!(&*extra.expect("extra").pod_name.0, "p");
        });
    }

    #[test]
    fn a_number_in_place_of_a_string_is_an_error() {
        assert!(serde_json::from_str::<Event<'_>>(r#"{"verb":1}"#).is_err());
    }
}
