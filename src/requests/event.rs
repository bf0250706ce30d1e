//! An audit event as a request.

use std::sync::Arc;

use compact_str::CompactString;

use super::client_identity::ClientIdentity;
use super::fingerprint::Keys;
use super::request_spec::RequestSpec;
use super::row_key::Answer;
use super::stable::stable_hash;
use crate::apiserver::{RequestShape, Target};
use crate::decode::klog::Apf;
use crate::input::SourcePosition;
use crate::k8s::event::{Annotations, ObjectRef};
use crate::k8s::timestamp::RecentMinute;
use crate::k8s::{Event, Kind, Mark, Marks, Stage, Verb, go_duration, go_url};

/// The product of a kubelet's user agent.
const KUBELET: &str = "kubelet";

/// The server's own measurement of a slow request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Microseconds in all.
    pub total: u64,
    /// Microseconds in calls to etcd, if there was one.
    pub etcd: Option<u64>,
    /// Objects were decoded that etcd returned to a list.
    pub decoded: bool,
    /// Microseconds in admission webhooks.
    pub webhooks: u64,
    /// Microseconds in a queue of API Priority and Fairness (1.31 and later).
    pub queued: u64,
}

/// A deprecated API version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deprecation {
    /// Major and minor of the release that removes it, if the server says it.
    pub removed_in: Option<(u8, u8)>,
}

/// One event of a request, ready to be counted.
#[derive(Debug)]
pub struct Request<'e> {
    /// Who asks.
    pub client: &'e ClientIdentity,
    /// What is asked.
    pub spec: RequestSpec<'e>,
    /// What both are known by.
    pub(super) keys: Keys,
    /// What the answer tells. An arrival is counted with the requests that were served: most are, and it does
    /// not say.
    pub answer: Answer,
    /// Index into the run's timeline of versions.
    pub version_index: u8,
    /// When in the request's life the event was written.
    pub stage: Stage,
    /// The server said before that it began to answer: releases since 1.30 may say so twice
    /// (kubernetes/kubernetes#126466).
    pub begins_again: bool,
    /// The answer's HTTP status.
    pub status: Option<u16>,
    /// When the request was received, in microseconds since 1970.
    pub received: Option<i64>,
    /// The record says when that was; otherwise it is found from when it was written, and that of two records of one
    /// request differs by some microseconds.
    pub says_received: bool,
    /// From there to its end, in microseconds.
    pub micros: Option<u64>,
    /// The server's own measurement.
    pub measured: Option<Measured>,
    /// What the event has that only some releases write.
    pub marks: Marks,
    /// That the server calls the API deprecated.
    pub deprecated: Option<Deprecation>,
    /// Answered with 403 although authorization allowed the request: admission refused it.
    pub refused_by_admission: bool,
    /// Where the event stands.
    pub place: SourcePosition,
    /// The request's ID.
    pub audit_id: &'e str,
    /// The request's target as recorded.
    pub uri: &'e str,
    /// What API Priority and Fairness did with it, if the record says so.
    pub apf: Option<&'e Apf<'e>>,
}

impl<'e> Request<'e> {
    /// What is asked.
    #[must_use]
    pub fn asked(&self) -> RequestShape<&'e str> {
        self.spec.asked.as_borrowed()
    }

    /// A hash of what the request is for: its path and field selector. All kubelets are one client, so the Events that
    /// they write count by the kubelet.
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
        matches!(self.spec.asked.verb, Verb::Create | Verb::Update | Verb::Patch)
            && matches!(self.asked().target, Target::Resource { resource: "events", .. })
    }

    /// What its client is known by in this run; never 0.
    #[must_use]
    pub fn client_key(&self) -> u64 {
        self.keys.client
    }

    /// Whether authentication failed. Such a request writes a ResponseStarted event only, long-running or not, and that
    /// names no user.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:WithFailedAuthenticationAudit`.
    #[must_use]
    pub fn is_unauthenticated(&self) -> bool {
        self.stage == Stage::ResponseStarted
            && self.status == Some(401)
            && (!self.spec.long_running || self.client.has_no_user())
    }

    /// Whether the event counts no request: another event will, once the request ends.
    #[must_use]
    pub fn is_before_end(&self) -> bool {
        match self.stage {
            Stage::RequestReceived => true,
            Stage::ResponseStarted => !self.spec.long_running && !self.is_unauthenticated(),
            Stage::ResponseComplete | Stage::Panic => false,
        }
    }

    /// The same request of another client, with a shape that all of its requests share.
    #[must_use]
    pub(super) fn regrouped<'g>(
        &self,
        client: &'g ClientIdentity,
        asked: &'g Arc<RequestShape<CompactString>>,
    ) -> Request<'g>
    where
        'e: 'g,
    {
        let spec = RequestSpec { asked, asked_hash: stable_hash(&asked.as_borrowed()), ..self.spec };
        let keys = Keys { client: client.client_hash.max(1), ..self.keys };
        Request { client, spec, keys, ..*self }
    }

    /// The event that the server wrote at the request's arrival. `place` is where it stands.
    #[must_use]
    pub fn arrival(&self, place: SourcePosition) -> Self {
        Self {
            answer: Answer::Served,
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

/// What an event says of its object, where it has no target that can be read.
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

/// When a request was received, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    received: Option<i64>,
    micros: Option<u64>,
}

impl Times {
    pub fn of(event: &Event<'_>, stage: Stage, minute: &mut RecentMinute) -> Self {
        // Go's zero time stands for none.
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

/// Makes a request of an event. `stage` is the event's.
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
    // A stream that had begun: its start says 200, and both events belong to one shape.
    let broke_off = stage == Stage::Panic && spec.long_running;
    let annotations = event.annotations.as_ref().filter(|_| has_ended(stage));
    Request {
        client,
        spec,
        keys,
        answer: if arrived || broke_off { Answer::Served } else { Answer::of(spec.asked, status) },
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
    fn impersonation_acts_and_the_real_user_is_kept() {
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
    fn durations_are_of_ended_requests() {
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
    fn the_namespace_is_the_paths() {
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
                request.spec.asked.as_borrowed().target,
                request_shape::Target::Unknown { group: "", resource: "pods", unreadable: false }
            );
        });
    }
}
