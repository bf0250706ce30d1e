//! One event of a request, parsed and ready to be counted.

use std::sync::Arc;

use compact_str::CompactString;

use super::client_identity::ClientIdentity;
use super::event_fact::EventFacts;
use super::request_spec::RequestSpec;
use super::stable::stable_hash;
use super::status_class::StatusClass;
use crate::apiserver::{RequestShape, Target};
use crate::decode::klog::Apf;
use crate::input::SourcePosition;
use crate::k8s::{Kind, Marks, Stage, Verb};

/// The product name in a kubelet's user agent.
const KUBELET: &str = "kubelet";

/// The cache keys of a request's client and target; never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CacheKeys {
    pub(crate) client: u64,
    pub(crate) spec: u64,
}

/// The latency annotations that the server adds to a slow request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Total latency in microseconds.
    pub(crate) total: u64,
    /// Microseconds in calls to etcd; `None` if the server made no call.
    pub(crate) etcd: Option<u64>,
    /// True if the server decoded objects that etcd returned for a LIST.
    pub(crate) decoded: bool,
    /// Microseconds in admission webhooks.
    pub(crate) webhooks: u64,
    /// Microseconds in a queue of API Priority and Fairness (1.31 and later).
    pub(crate) queued: u64,
}

/// A deprecated API version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deprecation {
    /// Major and minor version of the release that removes the API, if the server names it.
    pub(crate) removed_in: Option<(u8, u8)>,
}

/// One event of a request, parsed and ready to be counted.
#[derive(Debug)]
pub struct Request<'e> {
    pub(crate) client: &'e ClientIdentity,
    /// The parsed target.
    pub(crate) spec: RequestSpec<'e>,
    /// Cache keys of the client and the target.
    pub(super) keys: CacheKeys,
    /// The class of the response status. A RequestReceived event has no status and counts as served, because most
    /// requests are.
    pub(crate) status_class: StatusClass,
    /// Index into the server's version timeline.
    pub(crate) version_index: u8,
    pub(crate) stage: Stage,
    /// True if this is a second ResponseStarted event of the same request. Releases since 1.30 may write two
    /// (kubernetes/kubernetes#126466).
    pub(crate) begins_again: bool,
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// The time when the server received the request, in microseconds since 1970.
    pub(crate) received: Option<i64>,
    /// True if the record contains `received`. If false, `received` is computed from the time and the latency of the
    /// access line. The result then differs by some microseconds between the two lines of one request.
    pub(crate) says_received: bool,
    /// The duration of an ended request, in microseconds.
    pub micros: Option<u64>,
    pub measured: Option<Measured>,
    /// Features of the record that only some Kubernetes releases write.
    pub(crate) marks: Marks,
    /// Set if the server marks the API version as deprecated.
    pub(crate) deprecated: Option<Deprecation>,
    /// Facts of an event that ends a request.
    pub(crate) facts: EventFacts,
    /// Position of the record in its source file.
    pub(crate) place: SourcePosition,
    pub(crate) audit_id: &'e str,
    /// The request target as recorded.
    pub(crate) uri: &'e str,
    /// How API Priority and Fairness handled the request, if the record says so.
    pub(crate) apf: Option<&'e Apf<'e>>,
}

impl<'e> Request<'e> {
    #[must_use]
    pub fn shape(&self) -> RequestShape<&'e str> {
        self.spec.shape.as_borrowed()
    }

    /// A hash that identifies what the request reads or writes: a hash of the path and the field selector. An Event
    /// that a kubelet writes is an exception: the hash identifies the kubelet, because all kubelets are one client.
    #[must_use]
    pub(crate) fn target_hash(&self) -> u64 {
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
    pub(crate) fn client_key(&self) -> u64 {
        self.keys.client
    }

    /// Whether authentication failed. In this case, the server writes only a ResponseStarted event, which names no
    /// user.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:WithFailedAuthenticationAudit`.
    #[must_use]
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.stage == Stage::ResponseStarted
            && self.status == Some(401)
            && (!self.spec.long_running || self.client.has_no_user())
    }

    /// Whether the event precedes the end of its request. Such an event does not count as a request.
    #[must_use]
    pub(crate) fn is_before_end(&self) -> bool {
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
        let keys = CacheKeys { client: client.client_hash.max(1), ..self.keys };
        Request { client, spec, keys, ..*self }
    }

    /// The RequestReceived event of the same request. `place` is the position of that event.
    #[must_use]
    pub(crate) fn request_received(&self, place: SourcePosition) -> Self {
        Self {
            status_class: StatusClass::Served,
            stage: Stage::RequestReceived,
            begins_again: false,
            status: None,
            micros: None,
            measured: None,
            marks: Marks::default(),
            deprecated: None,
            facts: EventFacts::default(),
            place,
            apf: None,
            ..*self
        }
    }
}
