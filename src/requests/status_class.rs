//! The class of a response status.

use crate::apiserver::{RequestShape, Target};
use crate::k8s::Verb;

/// What the response status shows about where the request was served from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusClass {
    /// The request has no response yet, or its response has no status.
    Unknown,
    /// The server accepted the request. Also includes all statuses that do not change a verdict.
    Served,
    /// A status that changes the verdict.
    Status(u16),
}

impl StatusClass {
    /// Classifies a status. The result depends on the verb and the target.
    #[must_use]
    pub fn from_status<S>(shape: &RequestShape<S>, status: Option<u16>) -> Self {
        let collection = matches!(shape.verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
        let non_resource = matches!(shape.target, Target::NonResource(_) | Target::Unresolvable);
        match status {
            None => Self::Unknown,
            Some(status @ (400 | 401 | 403 | 405 | 406 | 410 | 413 | 415 | 422 | 429)) => {
                Self::Status(status)
            }
            // For a collection, 404 means that the server does not serve the resource. For one object, 404 only means
            // that the object does not exist, so it counts as served. A bad resourceVersion may cause 500.
            Some(404) if collection || non_resource => Self::Status(404),
            Some(500) if collection || shape.verb == Verb::Get => Self::Status(500),
            Some(_) => Self::Served,
        }
    }

    /// The status used to compute verdicts. All statuses of the class `Served` become 200.
    #[must_use]
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Unknown => None,
            Self::Served => Some(200),
            Self::Status(status) => Some(status),
        }
    }
}
