//! An audit event. It borrows its texts from the log line.

mod text;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

pub(crate) use text::{JsonText, Text};

use text::{first, raw};

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

/// An audit event. It borrows its texts from the log line where it can.
pub type Event<'a> = AuditEvent<Text<'a>>;

/// The fields of an audit event that kubetoll uses. `T` is a text, or the position of a text in the line.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(remote = "Self", default, rename_all = "camelCase", bound(deserialize = "T: JsonText<'de>"))]
pub struct AuditEvent<T> {
    /// `Event`. Empty if an exporter dropped the field.
    pub kind: T,
    /// `audit.k8s.io/v1`. Empty if an exporter dropped the field.
    pub api_version: T,
    /// The ID of the request. The client can choose it, so it may not be unique.
    #[serde(rename = "auditID")]
    pub audit_id: T,
    /// The name of the stage in the record; see [`Event::stage`].
    #[serde(rename = "stage")]
    pub stage_name: T,
    /// The target of the HTTP request line: encoded path and raw query.
    #[serde(rename = "requestURI")]
    pub request_uri: T,
    /// The verb that the server resolved from method, path and query.
    pub verb: T,
    /// The authenticated user.
    pub user: Option<User<T>>,
    /// The user that the client impersonates, if any.
    pub impersonated_user: Option<User<T>>,
    /// `sourceIPs` as raw JSON. The client is first, then proxies follow, and the peer of the connection is last.
    #[serde(rename = "sourceIPs", deserialize_with = "raw")]
    pub source_ips: Option<T>,
    pub user_agent: T,
    /// Set if the decoder cached the fields that describe the client.
    #[serde(skip)]
    pub caller_id: Option<CallerId>,
    /// `objectRef` as raw JSON. Parsed only if the event has no `requestURI`.
    #[serde(deserialize_with = "raw")]
    pub object_ref: Option<T>,
    /// The object or collection of the request, if the event is from a log format without `requestURI`, such as
    /// GKE's.
    #[serde(skip)]
    pub object: Option<Box<ObjectRef<T>>>,
    /// The time when the server received the request as raw JSON, in `v1alpha1` events (1.7).
    #[serde(rename = "timestamp", deserialize_with = "raw")]
    pub timestamp_v1alpha1: Option<T>,
    /// Set if OpenShift's log collector renamed `level`, because the collector uses that name for the severity.
    #[serde(rename = "k8s_audit_level")]
    pub k8s_audit_level: Option<IgnoredAny>,
    /// The HTTP status; absent at RequestReceived.
    pub response_status: Option<ResponseStatus>,
    /// The time when the server received the request, as RFC 3339 with microseconds.
    pub request_received_timestamp: T,
    /// The time of the stage, as RFC 3339 with microseconds.
    pub stage_timestamp: T,
    /// The annotations that kubetoll reads; `None` if the event has none of them.
    pub annotations: Option<Annotations<T>>,
    /// `authenticationMetadata` as raw JSON (1.35 and later).
    #[serde(deserialize_with = "raw")]
    pub authentication_metadata: Option<T>,
    /// The raw bytes from `requestURI` through `objectRef`. Set only if the line has the apiserver's field order; used
    /// to match the event with its RequestReceived event.
    #[serde(skip)]
    pub request_bytes: Option<T>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Event<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut event = AuditEvent::deserialize(deserializer)?;
        let is_forbidden = event.response_status.is_some_and(ResponseStatus::is_forbidden);
        event.annotations = event.annotations.take().and_then(|annotations| annotations.needed(is_forbidden));
        Ok(event)
    }
}

/// The ID of a cached caller. Equal IDs mean equal bytes of `user`, `impersonatedUser`, `sourceIPs` and `userAgent`.
/// Equal bytes can have different IDs, because each decoder has its own cache, which evicts entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerId(NonZeroU64);

impl CallerId {
    /// Returns an unused ID.
    #[must_use]
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// A hash of the ID. IDs are consecutive, and the product differs in the high bits, as the hashes of texts do.
    /// Different IDs have different hashes.
    #[must_use]
    pub(crate) fn hash(self) -> u64 {
        self.0.get().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The `user` or `impersonatedUser` field of an event.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, bound(deserialize = "T: JsonText<'de>"))]
pub struct User<T> {
    pub username: T,
    /// Additional facts from the authenticator.
    pub(crate) extra: Option<Extra<T>>,
}

/// The entries of `user.extra` that identify an instance of a ServiceAccount. Only tokens that are bound to a pod
/// have them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, bound(deserialize = "T: JsonText<'de>"))]
pub(crate) struct Extra<T> {
    /// The pod that the token is bound to.
    #[serde(rename = "authentication.kubernetes.io/pod-name", deserialize_with = "first")]
    pub(crate) pod_name: T,
    /// The node that this pod runs on.
    #[serde(rename = "authentication.kubernetes.io/node-name", deserialize_with = "first")]
    pub(crate) node_name: T,
}

/// The HTTP status of a request that authorization or admission refused.
const FORBIDDEN: i32 = 403;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ResponseStatus {
    /// The HTTP status code. Both 0 and `None` mean unknown.
    #[serde(default)]
    pub(crate) code: Option<i32>,
}

impl<T> User<T> {
    pub(crate) fn map<U>(self, mut convert: impl FnMut(T) -> U) -> User<U> {
        let username = convert(self.username);
        let extra = self
            .extra
            .map(|extra| Extra { pod_name: convert(extra.pod_name), node_name: convert(extra.node_name) });
        User { username, extra }
    }
}

impl ResponseStatus {
    pub(crate) fn is_forbidden(self) -> bool {
        self.code == Some(FORBIDDEN)
    }
}

/// Defines [`Annotations`]. Each row has a field and the key of the annotation.
macro_rules! annotations {
    ($($(#[$doc:meta])* $field:ident = $key:literal,)*) => {
        /// Annotations that kubetoll reads. The latencies are Go durations; the server writes them for slow requests.
        ///
        /// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:writeLatencyToAnnotation`.
        #[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
        #[serde(default, bound(deserialize = "T: JsonText<'de>"))]
        pub struct Annotations<T> {
            $($(#[$doc])* #[serde(rename = $key)] pub(crate) $field: T,)*
        }

        impl<T> Annotations<T> {
            /// The value of an annotation; `None` if kubetoll does not need the annotation.
            pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut T> {
                match key {
                    $(_ if key == $key.as_bytes() => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut T> {
                [$(&mut self.$field),*].into_iter()
            }

            pub(crate) fn map<U>(self, mut convert: impl FnMut(T) -> U) -> Annotations<U> {
                Annotations { $($field: convert(self.$field),)* }
            }
        }
    };
}

annotations! {
    /// The duration of the whole request. Present only above 500 ms.
    total = "apiserver.latency.k8s.io/total",
    /// The duration of all calls to etcd. Absent without a call.
    etcd = "apiserver.latency.k8s.io/etcd",
    /// The time to decode the objects that etcd returned for a LIST (1.30 and later).
    decode_response_object = "apiserver.latency.k8s.io/decode-response-object",
    /// The duration of all mutating admission webhooks. Absent without a call.
    mutating_webhook = "apiserver.latency.k8s.io/mutating-webhook",
    /// The duration of all validating admission webhooks. Absent without a call.
    validating_webhook = "apiserver.latency.k8s.io/validating-webhook",
    /// The waiting time in a queue of API Priority and Fairness (1.31 and later).
    queue_wait = "apiserver.latency.k8s.io/apf-queue-wait",
    /// The duration of authentication (1.33 and later).
    authentication = "apiserver.latency.k8s.io/authentication",
    /// The duration of impersonation (1.36 and later).
    impersonation = "apiserver.latency.k8s.io/impersonation",
    /// `true` for a request to a deprecated API version.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/metrics/metrics.go:deprecatedAnnotationKey`.
    deprecated = "k8s.io/deprecated",
    /// `true` for an event that the server truncated.
    ///
    /// Source: k8s.io/apiserver `plugin/pkg/audit/truncate/truncate.go:annotationKey`.
    truncated = "audit.k8s.io/truncated",
    /// The release that removes the deprecated API version, such as `1.25`.
    removed_release = "k8s.io/removed-release",
    /// The decision of authorization, `allow` or `forbid`. Set only for responses with status 403, else empty.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/filters/authorization.go:decisionAnnotationKey`.
    decision = "authorization.k8s.io/decision",
}

impl<T: Default + PartialEq> Annotations<T> {
    /// Drops the decision unless the response has status 403. Returns `None` if all annotations are empty.
    pub(crate) fn needed(mut self, is_forbidden: bool) -> Option<Self> {
        if !is_forbidden {
            self.decision = T::default();
        }
        Some(self).filter(|own| *own != Self::default())
    }
}

/// `objectRef`. In events without a `requestURI`, only `objectRef` describes the request.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "T: JsonText<'de>"))]
pub struct ObjectRef<T> {
    /// The resource, such as `pods`.
    pub resource: T,
    pub namespace: T,
    pub(crate) name: T,
    pub api_group: T,
    pub subresource: T,
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
        let old = || self.timestamp_v1alpha1.as_ref().map_or("", |raw| raw.trim_matches('"'));
        if self.request_received_timestamp.is_empty() { old() } else { &self.request_received_timestamp }
    }

    /// Returns the HTTP status; `None` if it is absent or outside of 100 to 599.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let code = self.response_status?.code?;
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
        assert_eq!(event.annotations.as_ref().map(|annotations| &*annotations.etcd), Some("1ms"));
        assert_eq!(&*event.user_agent, "");
        let extra = event.user.and_then(|user| user.extra);
        assert_eq!(&*extra.expect("extra").pod_name, "p");
    }

    #[test]
    fn a_number_in_place_of_a_string_is_an_error() {
        assert!(serde_json::from_str::<Event<'_>>(r#"{"verb":1}"#).is_err());
    }
}
