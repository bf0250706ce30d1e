//! Builds a [`Request`] from an audit event.

use std::sync::Arc;

use compact_str::CompactString;

use super::client_identity::ClientIdentity;
use super::fingerprint::Keys;
use super::request_spec::RequestSpec;
use super::row_key::StatusClass;
use super::stable::stable_hash;
use crate::apiserver::{RequestShape, Target};
use crate::decode::klog::Apf;
use crate::input::SourcePosition;
use crate::k8s::event::{Annotations, ObjectRef};
use crate::k8s::timestamp::RecentMinute;
use crate::k8s::{Event, Kind, Mark, Marks, Stage, Verb, go_duration, go_url};

/// The product name in a kubelet's user agent.
const KUBELET: &str = "kubelet";

/// The latency annotations that the server adds to a slow request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Total latency in microseconds.
    pub total: u64,
    /// Microseconds in calls to etcd; `None` if the server made no call.
    pub etcd: Option<u64>,
    /// True if the server decoded objects that etcd returned for a LIST.
    pub decoded: bool,
    /// Microseconds in admission webhooks.
    pub webhooks: u64,
    /// Microseconds in a queue of API Priority and Fairness (1.31 and later).
    pub queued: u64,
}

/// A deprecated API version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deprecation {
    /// Major and minor version of the release that removes the API, if the server names it.
    pub removed_in: Option<(u8, u8)>,
}

/// One event of a request, ready to be counted.
#[derive(Debug)]
pub struct Request<'e> {
    pub client: &'e ClientIdentity,
    /// The parsed target.
    pub spec: RequestSpec<'e>,
    /// Cache keys of the client and the target.
    pub(super) keys: Keys,
    /// The class of the response status. A RequestReceived event has no status and counts as served, because most
    /// requests are.
    pub status_class: StatusClass,
    /// Index into the server's version timeline.
    pub version_index: u8,
    pub stage: Stage,
    /// True if this is a second ResponseStarted event of the same request. Releases since 1.30 may write two
    /// (kubernetes/kubernetes#126466).
    pub begins_again: bool,
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// The time when the server received the request, in microseconds since 1970.
    pub received: Option<i64>,
    /// True if the record contains `received`. If false, `received` is computed from the time of the access line. It
    /// then differs by some microseconds between the two lines of one request.
    pub says_received: bool,
    /// The duration of an ended request, in microseconds.
    pub micros: Option<u64>,
    pub measured: Option<Measured>,
    /// Features of the record that only some Kubernetes releases write.
    pub marks: Marks,
    /// Set if the server marks the API version as deprecated.
    pub deprecated: Option<Deprecation>,
    /// True if the status is 403 although authorization allowed the request. Then admission refused it.
    pub refused_by_admission: bool,
    /// Position of the record in its source file.
    pub place: SourcePosition,
    pub audit_id: &'e str,
    /// The request target as recorded.
    pub uri: &'e str,
    /// How API Priority and Fairness handled the request, if the record says so.
    pub apf: Option<&'e Apf<'e>>,
}

impl<'e> Request<'e> {
    /// The request's shape.
    #[must_use]
    pub fn shape(&self) -> RequestShape<&'e str> {
        self.spec.shape.as_borrowed()
    }

    /// A hash of the path and the field selector. All kubelets are one client, so
    /// their Event writes are hashed by kubelet.
    #[must_use]
    pub fn target_hash(&self) -> u64 {
        if !self.writes_event() {
            return self.spec.target_hash;
        }
        match self.client.kind() {
            Kind::Node => self.client.node_hash,
            Kind::UserAgent if self.client.product().name == KUBELET => self.client.instance_hash,
            _ => self.spec.target_hash,
        }
    }

    fn writes_event(&self) -> bool {
        matches!(self.spec.shape.verb, Verb::Create | Verb::Update | Verb::Patch)
            && matches!(self.shape().target, Target::Resource { resource: "events", .. })
    }

    /// The cache key of the client in this run; never 0.
    #[must_use]
    pub fn client_key(&self) -> u64 {
        self.keys.client
    }

    /// Whether authentication failed. The server then writes only a ResponseStarted event, which names no user.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:WithFailedAuthenticationAudit`.
    #[must_use]
    pub fn is_unauthenticated(&self) -> bool {
        self.stage == Stage::ResponseStarted
            && self.status == Some(401)
            && (!self.spec.long_running || self.client.has_no_user())
    }

    /// Whether the event precedes the end of its request. Such an event does not count as a request.
    #[must_use]
    pub fn is_before_end(&self) -> bool {
        match self.stage {
            Stage::RequestReceived => true,
            Stage::ResponseStarted => !self.spec.long_running && !self.is_unauthenticated(),
            Stage::ResponseComplete | Stage::Panic => false,
        }
    }

    /// The same request with another client and another shape.
    #[must_use]
    pub(super) fn regrouped<'g>(
        &self,
        client: &'g ClientIdentity,
        shape: &'g Arc<RequestShape<CompactString>>,
    ) -> Request<'g>
    where
        'e: 'g,
    {
        let spec = RequestSpec { shape, shape_hash: stable_hash(&shape.as_borrowed()), ..self.spec };
        let keys = Keys { client: client.client_hash.max(1), ..self.keys };
        Request { client, spec, keys, ..*self }
    }

    /// The RequestReceived event of the same request. `place` is the position of that event.
    #[must_use]
    pub fn request_received(&self, place: SourcePosition) -> Self {
        Self {
            status_class: StatusClass::Served,
            stage: Stage::RequestReceived,
            begins_again: false,
            status: None,
            micros: None,
            measured: None,
            marks: Marks::default(),
            deprecated: None,
            refused_by_admission: false,
            place,
            apf: None,
            ..*self
        }
    }
}

/// The event's object reference, if the event has no valid `requestURI`.
pub(super) fn object_without_target<'e>(event: &'e Event<'_>) -> Option<ObjectRef<'e>> {
    let uri: &str = &event.request_uri;
    let is_plain = memchr::memchr(b'%', uri.as_bytes()).is_none();
    if !uri.is_empty() && (is_plain || go_url::unescape_path(go_url::split_target(uri).0).is_some()) {
        return None;
    }
    let own = event.object.as_deref().cloned();
    let object = own.or_else(|| event.object_ref.and_then(|raw| serde_json::from_str(raw.0).ok()));
    Some(object.unwrap_or_default())
}

/// When a request was received, and its duration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    received: Option<i64>,
    micros: Option<u64>,
}

impl Times {
    pub fn from_event(event: &Event<'_>, stage: Stage, minute: &mut RecentMinute) -> Self {
        // Go writes its zero time for a missing time.
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
    keys: Keys,
    stage: Stage,
    times: Times,
    place: SourcePosition,
) -> Request<'e> {
    let arrived = stage == Stage::RequestReceived;
    let status = event.status().filter(|_| !arrived);
    // A panic can end a stream after its ResponseStarted event with status 200. Both events must count in one row.
    let broke_off = stage == Stage::Panic && spec.long_running;
    let annotations = event.annotations.as_ref().filter(|_| has_ended(stage));
    Request {
        client,
        spec,
        keys,
        status_class: if arrived || broke_off {
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
            .with(Mark::AuthenticationMetadata, event.has_authentication_metadata),
        deprecated: annotations.and_then(deprecated),
        refused_by_admission: annotations.is_some_and(|annotations| &*annotations.decision == "allow"),
        place,
        audit_id: &event.audit_id,
        uri: &event.request_uri,
        apf: None,
    }
}

fn measured(annotations: &Annotations<'_>) -> Option<Measured> {
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

fn marks(annotations: &Annotations<'_>, long_running: bool) -> Marks {
    Marks::default()
        .with(Mark::LatencyAnnotation, !annotations.total.is_empty() && !long_running)
        .with(Mark::DecodeAnnotation, !annotations.decode_response_object.is_empty())
        .with(Mark::QueueAnnotation, !annotations.queue_wait.is_empty())
        .with(Mark::AuthenticationAnnotation, !annotations.authentication.is_empty())
        .with(Mark::ImpersonationAnnotation, !annotations.impersonation.is_empty())
}

fn deprecated(annotations: &Annotations<'_>) -> Option<Deprecation> {
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
