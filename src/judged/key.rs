//! The name of a shape in the report.

use std::sync::Arc;

use compact_str::CompactString;

use super::shape_text;
use crate::apiserver::{LimitVerdict, RequestShape, ServedFrom, Server, Verdict, judge};
use crate::k8s::{KubeVersion, Scope, Verb};
use crate::requests::Answer;

/// What a shape looks like in the report, and its verdict. Shapes of the ledger for which these are equal are one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShapeKey {
    /// Verb; `None` for what is beyond the number of shapes that are told apart.
    pub verb: Option<Verb>,
    /// Resource with its group, or the class of another path.
    pub resource: Option<Arc<str>>,
    /// Subresource.
    pub subresource: Option<Arc<str>>,
    /// How much of the resource the path names.
    pub scope: Option<Scope>,
    /// The list options in classes.
    pub parameters: Arc<str>,
    /// List options that ignored keys were likely meant to be.
    pub misspelled: Vec<String>,
    /// Where it was served from.
    pub served_from: ServedFrom,
    /// For `depends`, which it was in most cases.
    pub likely: Option<ServedFrom>,
    /// What became of its limit.
    pub limit: LimitVerdict,
    /// The status with which the server refuses it.
    pub rejected: Option<u16>,
    /// The verdict's code.
    pub reason: &'static str,
    /// The version of Kubernetes by which it is judged.
    pub kube_version: KubeVersion,
}

impl ShapeKey {
    /// The name of what is asked and judged so by a server of this version.
    pub(super) fn of(asked: &RequestShape<CompactString>, verdict: Verdict, version: KubeVersion) -> Self {
        Self {
            verb: Some(asked.verb),
            resource: Some(shape_text::resource(&asked.target).into()),
            subresource: shape_text::subresource(&asked.target).map(Into::into),
            scope: shape_text::scope(&asked.target),
            parameters: shape_text::parameters(asked).into(),
            misspelled: shape_text::misspelled(asked),
            served_from: verdict.served_from,
            likely: verdict.likely,
            limit: verdict.limit,
            rejected: verdict.rejected,
            reason: verdict.reason.code(),
            kube_version: version,
        }
    }

    /// The name of a request's shape on a server. With `received_only` no answer is known.
    #[must_use]
    pub fn of_request(
        server: &Server,
        asked: &RequestShape<CompactString>,
        answer: Answer,
        received_only: bool,
    ) -> Self {
        let status = answer.status().filter(|_| !received_only);
        Self::of(asked, judge(server, &asked.as_borrowed(), status), server.version)
    }

    /// The name of all shapes beyond the number that is told apart.
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

    /// Whether etcd answered, for `depends` in most cases.
    #[must_use]
    pub fn is_from_etcd(&self) -> bool {
        self.likely.unwrap_or(self.served_from) == ServedFrom::Etcd
    }

    /// Whether its requests count as reads from etcd: LISTs and GETs that etcd answered, whatever it said. What the
    /// server refuses before it asks etcd is served from nowhere, and a watch is no read, even if etcd feeds it.
    #[must_use]
    pub fn reads_etcd(&self) -> bool {
        self.is_from_etcd() && matches!(self.verb, Some(Verb::List | Verb::Get))
    }

    /// Whether a client is best told of it: etcd answered, or the server ignored its limit or a parameter.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        let etcd = self.served_from == ServedFrom::Etcd || self.likely == Some(ServedFrom::Etcd);
        let ignored = self.limit == LimitVerdict::Ignored && self.verb == Some(Verb::List);
        etcd || ignored || !self.misspelled.is_empty()
    }

    /// The shape in one line, such as `list pods ?limit=500&resourceVersion=0`. Stable: suppressions and
    /// fingerprints hold it.
    #[must_use]
    pub fn name(&self) -> String {
        let Some(verb) = self.verb else { return "(other shapes)".to_owned() };
        let mut name = format!("{verb} {}", self.resource.as_deref().unwrap_or("(unknown)"));
        if let Some(subresource) = &self.subresource {
            name.push('/');
            name.push_str(subresource);
        }
        match self.scope {
            Some(Scope::Namespace) => name.push_str(" in a namespace"),
            Some(Scope::Cluster) if matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection) => {
                name.push_str(" cluster-wide");
            }
            _ => {}
        }
        if !self.parameters.is_empty() {
            name.push_str(" ?");
            name.push_str(&self.parameters);
        }
        name
    }
}
