//! An audit event, borrowed from the line that holds it.

mod caller;
mod text;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

pub use caller::{Caller, CallerCache, CallerId, CallerRef, Extra, User};
pub use text::{First, Raw, Text};

/// When in a request's life an event was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The request arrived.
    RequestReceived,
    /// A long-running request began to answer (twice per watch in some releases since 1.30).
    ResponseStarted,
    /// The request ended.
    ResponseComplete,
    /// The request ended in a panic of the server.
    Panic,
}

/// An audit event, reduced to what a verdict and a report need.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event`.
#[derive(Debug, Default, PartialEq)]
pub struct Event<'a> {
    /// `Event`, or empty where an exporter dropped it.
    pub kind: Text<'a>,
    /// `audit.k8s.io/v1`, or empty where an exporter dropped it.
    pub api_version: Text<'a>,
    /// The request's ID; may be chosen by the client, so not surely unique.
    pub audit_id: Text<'a>,
    /// One of the four stages; see [`Event::stage`].
    pub stage_name: Text<'a>,
    /// The request line's target: encoded path and raw query.
    pub request_uri: Text<'a>,
    /// The verb that the server resolved.
    pub verb: Text<'a>,
    /// Who asked, and from where.
    pub caller: CallerRef<'a>,
    /// The object or collection; read only where there is no `requestURI`.
    pub object_ref: Option<Raw<'a>>,
    /// The object or collection, where an event is made of another form than the API's JSON.
    pub object: Option<Box<ObjectRef<'a>>>,
    /// When the request was received, in events of `v1alpha1` (1.7).
    pub timestamp_v1alpha1: Option<Raw<'a>>,
    /// There where OpenShift's collector has taken `level` for the severity.
    pub k8s_audit_level: Option<IgnoredAny>,
    /// The answer, absent at RequestReceived.
    pub response_status: Option<ResponseStatus>,
    /// RFC 3339 with microseconds.
    pub request_received_timestamp: Text<'a>,
    /// RFC 3339 with microseconds.
    pub stage_timestamp: Text<'a>,
    /// The server's own measurements, among others; absent if none of those that are needed is there.
    pub annotations: Option<Annotations<'a>>,
    /// It has `authenticationMetadata` (1.35+).
    pub has_authentication_metadata: bool,
    /// What stands between the stage and the answer, all that it says of what is asked and by whom, if it is written to
    /// the letter as the log backend does. Nothing that it says.
    pub request_bytes: Option<&'a str>,
}

/// An event's fields as they are written beside each other.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written<'a> {
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
        let own = Written::deserialize(deserializer)?;
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

/// The HTTP status of requests that authorization or admission refuses.
pub const FORBIDDEN: i32 = 403;

/// The answer's status.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ResponseStatus {
    /// HTTP status code; 0 and absent stand for unknown.
    #[serde(default)]
    pub code: Option<i32>,
}

/// Annotations with which the server says how long the parts of a slow request took (Go durations).
///
/// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:writeLatencyToAnnotation`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Annotations<'a> {
    /// The whole request; present only above 500 ms.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/total")]
    pub total: Text<'a>,
    /// All calls to etcd; absent if there was none.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/etcd")]
    pub etcd: Text<'a>,
    /// Decoding of objects that etcd returned to a LIST (1.30+).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/decode-response-object")]
    pub decode_response_object: Text<'a>,
    /// All mutating admission webhooks; absent if none was called.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/mutating-webhook")]
    pub mutating_webhook: Text<'a>,
    /// All validating admission webhooks; absent if none was called.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/validating-webhook")]
    pub validating_webhook: Text<'a>,
    /// Wait in a queue of API Priority and Fairness (1.31+).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/apf-queue-wait")]
    pub queue_wait: Text<'a>,
    /// Authentication (1.33+).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/authentication")]
    pub authentication: Text<'a>,
    /// Impersonation (1.36+).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/impersonation")]
    pub impersonation: Text<'a>,
    /// `true` for a request of an API version that is deprecated.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/metrics/metrics.go:deprecatedAnnotationKey`.
    #[serde(borrow, default, rename = "k8s.io/deprecated")]
    pub deprecated: Text<'a>,
    /// `true` for an event that the server cut.
    ///
    /// Source: k8s.io/apiserver `plugin/pkg/audit/truncate/truncate.go:annotationKey`.
    #[serde(borrow, default, rename = "audit.k8s.io/truncated")]
    pub truncated: Text<'a>,
    /// The release that removes it, such as `1.25`.
    #[serde(borrow, default, rename = "k8s.io/removed-release")]
    pub removed_release: Text<'a>,
    /// What authorization decided on a request that was answered with 403: `allow` or `forbid`; empty for others.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/filters/authorization.go:decisionAnnotationKey`.
    #[serde(borrow, default, rename = "authorization.k8s.io/decision")]
    pub decision: Text<'a>,
}

/// What an event without a `requestURI` still says about its request.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef<'a> {
    /// Resource, such as `pods`.
    #[serde(borrow, default)]
    pub resource: Text<'a>,
    /// Namespace, if any.
    #[serde(borrow, default)]
    pub namespace: Text<'a>,
    /// Object's name, if any.
    #[serde(borrow, default)]
    pub name: Text<'a>,
    /// API group.
    #[serde(borrow, default)]
    pub api_group: Text<'a>,
    /// Subresource, if any.
    #[serde(borrow, default)]
    pub subresource: Text<'a>,
}

impl Event<'_> {
    /// The stage, or `None` if it is none of the four.
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

    /// When the request was received, as it is written; empty if the event does not say.
    #[must_use]
    pub fn received(&self) -> &str {
        let old = || self.timestamp_v1alpha1.map_or("", |raw| raw.0.trim_matches('"'));
        if self.request_received_timestamp.is_empty() { old() } else { &self.request_received_timestamp }
    }

    /// The HTTP status of the answer, if the event has one.
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
    fn borrows_unless_there_is_an_escape() {
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
    fn a_number_where_a_string_belongs_is_an_error() {
        assert!(serde_json::from_str::<Event<'_>>(r#"{"verb":1}"#).is_err());
    }
}
