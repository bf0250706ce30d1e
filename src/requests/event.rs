//! Builds a [`Request`] from an audit event.

use super::client_identity::ClientIdentity;
use super::event_fact::EventFacts;
use super::request::{CacheKeys, Deprecation, Measured, Request};
use super::request_spec::RequestSpec;
use super::status_class::StatusClass;
use crate::input::SourcePosition;
use crate::k8s::event::{Annotations, ObjectRef, Text};
use crate::k8s::timestamp::RecentMinute;
use crate::k8s::{Event, Mark, Marks, Stage, go_duration, go_url};

/// The event's object reference, if the event has no valid `requestURI`.
pub(super) fn object_without_target<'e>(event: &'e Event<'_>) -> Option<ObjectRef<Text<'e>>> {
    let uri: &str = &event.request_uri;
    let is_plain = memchr::memchr(b'%', uri.as_bytes()).is_none();
    if !uri.is_empty() && (is_plain || go_url::unescape_path(go_url::split_target(uri).0).is_some()) {
        return None;
    }
    let own = event.object.as_deref().cloned();
    let object = own.or_else(|| event.object_ref.as_ref().and_then(|raw| serde_json::from_str(raw).ok()));
    Some(object.unwrap_or_default())
}

/// When a request was received, and its duration.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTimes {
    received: Option<i64>,
    micros: Option<u64>,
}

impl RequestTimes {
    pub(crate) fn from_event(event: &Event<'_>, stage: Stage, minute: &mut RecentMinute) -> Self {
        // If a time is missing, Go writes its zero time, in the year 1. That is before 1970, so the number is
        // negative.
        let received = minute.parse_micros(event.received()).filter(|at| *at > 0);
        let micros = received.filter(|_| has_ended(stage)).and_then(|received| {
            let end = minute.parse_micros(&event.stage_timestamp)?;
            u64::try_from(end - received).ok()
        });
        Self { received, micros }
    }
}

fn has_ended(stage: Stage) -> bool {
    matches!(stage, Stage::ResponseComplete | Stage::Panic)
}

/// Builds the request of an event. `stage` is the event's stage.
pub(super) fn request<'e>(
    event: &'e Event<'_>,
    client: &'e ClientIdentity,
    spec: RequestSpec<'e>,
    keys: CacheKeys,
    stage: Stage,
    times: RequestTimes,
    place: SourcePosition,
) -> Request<'e> {
    let is_received = stage == Stage::RequestReceived;
    let status = event.status().filter(|_| !is_received);
    // A panic can end a stream after its ResponseStarted event, which has status 200. The Panic event gets the same
    // class, so that both events count in one row.
    let broke_off = stage == Stage::Panic && spec.long_running;
    let annotations = event.annotations.as_ref().filter(|_| has_ended(stage));
    Request {
        client,
        spec,
        keys,
        status_class: if is_received || broke_off {
            StatusClass::Served
        } else {
            StatusClass::from_status(spec.shape, status)
        },
        version_index: 0,
        stage,
        status,
        received: times.received,
        says_received: true,
        micros: times.micros,
        begins_again: false,
        measured: annotations.and_then(measured),
        marks: annotations
            .map_or_else(Marks::default, |annotations| marks(annotations, spec.long_running))
            .with(Mark::AuthenticationMetadata, event.authentication_metadata.is_some()),
        deprecated: annotations.and_then(deprecated),
        facts: if has_ended(stage) { EventFacts::from_event(event) } else { EventFacts::default() },
        place,
        audit_id: &event.audit_id,
        uri: &event.request_uri,
        apf: None,
    }
}

fn measured(annotations: &Annotations<Text<'_>>) -> Option<Measured> {
    Some(Measured {
        total: go_duration::parse_micros(&annotations.total)?,
        etcd: go_duration::parse_micros(&annotations.etcd),
        decoded: !annotations.decode_response_object.is_empty(),
        webhooks: [&annotations.mutating_webhook, &annotations.validating_webhook]
            .into_iter()
            .filter_map(|webhooks| go_duration::parse_micros(webhooks))
            .fold(0, u64::saturating_add),
        queued: go_duration::parse_micros(&annotations.queue_wait).unwrap_or(0),
    })
}

fn marks(annotations: &Annotations<Text<'_>>, long_running: bool) -> Marks {
    Marks::default()
        .with(Mark::LatencyAnnotation, !annotations.total.is_empty() && !long_running)
        .with(Mark::DecodeAnnotation, !annotations.decode_response_object.is_empty())
        .with(Mark::QueueAnnotation, !annotations.queue_wait.is_empty())
        .with(Mark::AuthenticationAnnotation, !annotations.authentication.is_empty())
        .with(Mark::ImpersonationAnnotation, !annotations.impersonation.is_empty())
}

fn deprecated(annotations: &Annotations<Text<'_>>) -> Option<Deprecation> {
    let removed = || {
        let (major, minor) = annotations.removed_release.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    (&*annotations.deprecated == "true").then(|| Deprecation { removed_in: removed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::apiserver::request_shape;
    use crate::k8s::Kind;
    use crate::requests::Classifier;

    fn with<R>(json: &str, check: impl FnOnce(&Request<'_>) -> R) -> R {
        let event: Event<'_> = serde_json::from_str(json).expect("an event");
        let place = SourcePosition { source: 0, offset: 0, line: 1 };
        check(&Classifier::default().event(&event, event.stage().expect("a stage"), place))
    }

    #[test]
    fn impersonated_user_is_the_identity_and_the_real_user_the_impersonator() {
        let json = r#"{"auditID":"a","stage":"ResponseComplete","verb":"list","requestURI":"/api/v1/pods",
            "user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:a:b"}}"#;
        with(json, |request| {
            let client = request.client.client_ref();
            assert_eq!(client.kind, Kind::ServiceAccount);
            assert_eq!(client.identity, "system:serviceaccount:a:b");
            assert_eq!(client.impersonator, Some("admin"));
        });
    }

    #[test]
    fn only_ended_requests_have_durations_and_measurements() {
        let json = |stage: &str| {
            format!(
                r#"{{"auditID":"a","stage":"{stage}","verb":"get","requestURI":"/healthz",
                "requestReceivedTimestamp":"2024-01-01T00:00:00.000000Z",
                "stageTimestamp":"2024-01-01T00:00:01.500000Z",
                "annotations":{{"apiserver.latency.k8s.io/total":"1.5s",
                "apiserver.latency.k8s.io/mutating-webhook":"800ms",
                "apiserver.latency.k8s.io/validating-webhook":"100.5ms",
                "apiserver.latency.k8s.io/apf-queue-wait":"1.2s"}}}}"#
            )
        };
        with(&json("ResponseComplete"), |request| {
            assert_eq!(request.micros, Some(1_500_000));
            let measured = Measured {
                total: 1_500_000,
                etcd: None,
                decoded: false,
                webhooks: 900_500,
                queued: 1_200_000,
            };
            assert_eq!(request.measured, Some(measured));
        });
        with(&json("ResponseStarted"), |request| {
            assert_eq!((request.micros, request.measured), (None, None));
        });
    }

    #[test]
    fn namespace_comes_from_the_path() {
        for (uri, namespace) in [
            ("/api/v1/namespaces/n/pods", "n"),
            ("/apis/apps/v1/namespaces/n/deployments/d", "n"),
            ("/api/v1/watch/namespaces/n/pods", "n"),
            ("/api/v1/namespaces", ""),
            ("/api/v1/nodes/namespaces", ""),
            ("/apis/x/v1/things/namespaces/n", ""),
        ] {
            let json = format!(r#"{{"auditID":"a","stage":"Panic","verb":"get","requestURI":"{uri}"}}"#);
            with(&json, |request| assert_eq!(request.spec.namespace, namespace, "{uri}"));
        }
    }

    #[test]
    fn without_a_uri_the_object_reference_names_the_resource() {
        let json = r#"{"auditID":"a","stage":"Panic","verb":"list","objectRef":{"resource":"pods"}}"#;
        with(json, |request| {
            assert_eq!(
                request.spec.shape.as_borrowed().target,
                request_shape::Target::Unknown { group: "", resource: "pods", unreadable: false }
            );
        });
    }
}
