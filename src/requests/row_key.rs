//! The fingerprint of a request: what it asks, and what its answer changes in the verdict. Two requests of one
//! shape get the same verdict. It holds no object's name, no namespace and no token, so that the number of shapes
//! is bounded by what the API offers.

use std::sync::Arc;

use compact_str::CompactString;
use hashbrown::Equivalent;

use super::event::Request;
use super::request_spec::RequestSpec;
use super::stable::stable_hash;
use crate::apiserver::{Configured, ConfiguredNames, RequestShape, Target};
use crate::k8s::Verb;

/// A shape. `version_index` is the server's version, as an index into the run's timeline of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKey {
    /// What is asked.
    pub asked: Arc<RequestShape<CompactString>>,
    /// What the answer tells.
    pub answer: Answer,
    /// Which of the versions that the log shows.
    pub version_index: u8,
    /// What the server's configuration says of the resource.
    pub configured: Configured,
}

impl RowKey {
    /// The overflow shape that counts this one once there are too many shapes. It gets the same verdict.
    #[must_use]
    pub fn without_names(&self) -> Self {
        Self { asked: Arc::new(self.asked.without_names(self.configured)), ..*self }
    }

    /// A hash that is the same in every run.
    #[must_use]
    pub fn stable_hash(&self) -> u64 {
        row_key_hash(stable_hash(&self.asked.as_borrowed()), self.answer, self.version_index)
    }
}

/// What is asked is hashed well; few bits are added to it for each event.
fn row_key_hash(asked: u64, answer: Answer, version_index: u8) -> u64 {
    let answer = match answer {
        Answer::Unknown => 0,
        Answer::Served => 1,
        Answer::Status(status) => u64::from(status),
    };
    let few = answer << 8 | u64::from(version_index);
    (asked ^ few.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
}

/// A shape to look for.
#[derive(Debug)]
pub struct RowKeyRef<'a> {
    /// What is asked.
    pub spec: RequestSpec<'a>,
    /// What the answer tells.
    pub answer: Answer,
    /// Which of the versions that the log shows.
    pub version_index: u8,
}

impl<'a> RowKeyRef<'a> {
    /// The shape of a request.
    #[must_use]
    pub fn of(request: &Request<'a>) -> Self {
        Self { spec: request.spec, answer: request.answer, version_index: request.version_index }
    }

    /// The shape itself, on a server with this configuration.
    #[must_use]
    pub fn to_owned(&self, names: &ConfiguredNames) -> RowKey {
        let asked = self.spec.asked;
        let configured = names.config_of(asked);
        RowKey { asked: asked.clone(), answer: self.answer, version_index: self.version_index, configured }
    }

    /// That of the shape.
    #[must_use]
    pub fn stable_hash(&self) -> u64 {
        row_key_hash(self.spec.asked_hash, self.answer, self.version_index)
    }
}

impl Equivalent<RowKey> for RowKeyRef<'_> {
    fn equivalent(&self, shape: &RowKey) -> bool {
        let (asked, own) = (self.spec.asked, &shape.asked);
        self.version_index == shape.version_index
            && self.answer == shape.answer
            && (Arc::ptr_eq(asked, own) || asked == own)
    }
}

/// What an answer tells about where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// There is none yet, or it has no status.
    Unknown,
    /// The server took the request on, whatever came of it.
    Served,
    /// A status that says more.
    Status(u16),
}

impl Answer {
    /// What a status tells of a request. Statuses that don't change a verdict are folded.
    #[must_use]
    pub fn of<S>(asked: &RequestShape<S>, status: Option<u16>) -> Self {
        let collection = matches!(asked.verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
        let non_resource = matches!(asked.target, Target::NonResource(_) | Target::Unresolvable);
        match status {
            None => Self::Unknown,
            Some(status @ (400 | 401 | 403 | 405 | 406 | 410 | 413 | 415 | 422 | 429)) => {
                Self::Status(status)
            }
            // 404 says that there is no such resource, or no such object; 500 may be how a bad resourceVersion ends.
            Some(404) if collection || non_resource => Self::Status(404),
            Some(500) if collection || asked.verb == Verb::Get => Self::Status(500),
            Some(_) => Self::Served,
        }
    }

    /// The status for the judge: one that the folded ones share.
    #[must_use]
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Unknown => None,
            Self::Served => Some(200),
            Self::Status(status) => Some(status),
        }
    }
}
