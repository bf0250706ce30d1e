//! The key under which a report shows request shapes.

use std::sync::Arc;

use compact_str::CompactString;

use super::shape_text;
use crate::apiserver::{LimitVerdict, RequestShape, ServedFrom, Server, Verdict, judge};
use crate::k8s::{KubeVersion, Scope, Verb};
use crate::requests::StatusClass;

/// The text of a request shape in the report, with its verdict. Rows with equal keys are one shape in the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShapeKey {
    /// The verb; `None` for the overflow row.
    pub(crate) verb: Option<Verb>,
    /// The resource with its group, or the class of a path that is not a resource.
    pub resource: Option<Arc<str>>,
    pub(crate) subresource: Option<Arc<str>>,
    pub(crate) scope: Option<Scope>,
    /// The list options as a query string. Placeholders such as `…` and `N` replace values that differ between
    /// requests.
    pub(crate) parameters: Arc<str>,
    /// The list options that clients likely meant with misspelled query keys, which the server ignores.
    pub misspelled: Vec<String>,
    pub(crate) served_from: ServedFrom,
    /// If `served_from` is `depends`: where most of these requests are served from.
    pub(crate) likely: Option<ServedFrom>,
    pub(crate) limit: LimitVerdict,
    /// The status with which the server refuses such requests.
    pub(crate) rejected: Option<u16>,
    /// The code of the verdict's reason, such as `list-any-ignores-limit`.
    pub reason: &'static str,
    /// The Kubernetes version for which the verdict was computed.
    pub(crate) kube_version: KubeVersion,
}

/// See [`ShapeKey::request`].
pub(crate) type RequestKey<'a> = (Option<Verb>, Option<&'a str>, Option<&'a str>, Option<Scope>, &'a str);

impl ShapeKey {
    /// The key of a request shape with this verdict, for a server of this version.
    pub(super) fn new(shape: &RequestShape<CompactString>, verdict: Verdict, version: KubeVersion) -> Self {
        Self {
            verb: Some(shape.verb),
            resource: Some(shape_text::resource(&shape.target).into()),
            subresource: shape_text::subresource(&shape.target).map(Into::into),
            scope: shape_text::scope(&shape.target),
            parameters: shape_text::parameters(shape).into(),
            misspelled: shape_text::misspelled(shape),
            served_from: verdict.served_from,
            likely: verdict.likely,
            limit: verdict.limit,
            rejected: verdict.rejected,
            reason: verdict.reason.code(),
            kube_version: version,
        }
    }

    /// The key of a request on a server. If `received_only`, the response is unknown.
    pub(crate) fn from_request(
        server: &Server,
        shape: &RequestShape<CompactString>,
        status_class: StatusClass,
        received_only: bool,
    ) -> Self {
        let status = status_class.status().filter(|_| !received_only);
        Self::new(shape, judge(server, &shape.as_borrowed(), status), server.version)
    }

    /// The parts of the key that do not depend on its verdict.
    pub(crate) fn request(&self) -> RequestKey<'_> {
        let (resource, subresource) = (self.resource.as_deref(), self.subresource.as_deref());
        (self.verb, resource, subresource, self.scope, &self.parameters)
    }

    pub(super) fn folded(version: KubeVersion) -> Self {
        Self {
            verb: None,
            resource: None,
            subresource: None,
            scope: None,
            parameters: Arc::default(),
            misspelled: Vec::new(),
            served_from: ServedFrom::NotObservable,
            likely: None,
            limit: LimitVerdict::Absent,
            rejected: None,
            reason: "folded",
            kube_version: version,
        }
    }

    /// Whether such requests read from etcd. If `served_from` is `depends`, whether most such requests read from
    /// etcd.
    pub(crate) fn is_from_etcd(&self) -> bool {
        self.likely.unwrap_or(self.served_from) == ServedFrom::Etcd
    }

    /// Whether such requests count as reads from etcd. LISTs and GETs that read from etcd count, with any response
    /// status. A request that the server refuses before it calls etcd does not count. A WATCH never counts, even if
    /// it reads from etcd.
    pub(crate) fn reads_etcd(&self) -> bool {
        self.is_from_etcd() && matches!(self.verb, Some(Verb::List | Verb::Get))
    }

    /// Whether such requests are worth showing. They read from etcd, or the server ignored their limit or a
    /// parameter.
    pub(crate) fn is_costly(&self) -> bool {
        let etcd = self.served_from == ServedFrom::Etcd || self.likely == Some(ServedFrom::Etcd);
        let ignored = self.limit == LimitVerdict::Ignored && self.verb == Some(Verb::List);
        etcd || ignored || !self.misspelled.is_empty()
    }

    /// The shape in one line, such as `list pods ?limit=500&resourceVersion=0`. The text must stay stable, because suppressions
    /// and fingerprints contain it.
    #[must_use]
    pub fn name(&self) -> String {
        let Some(verb) = self.verb else { return shape_text::OTHER_SHAPES.to_owned() };
        let resource = self.resource.as_deref().unwrap_or("(unknown)");
        let scope = self.scope.map(Scope::as_str);
        shape_text::name(verb.as_str(), resource, self.subresource.as_deref(), scope, &self.parameters)
    }
}
