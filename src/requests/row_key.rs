//! The key of a ledger row: request shape, response class and server version. Requests with the same key get the same
//! verdict. A key contains no object name, no namespace and no token. So the number of keys depends only on the API.

use std::sync::Arc;

use compact_str::CompactString;
use hashbrown::Equivalent;

use super::request::Request;
use super::request_spec::RequestSpec;
use super::stable::stable_hash;
use super::status_class::StatusClass;
use crate::apiserver::{Configured, ConfiguredNames, RequestShape};

/// The key of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKey {
    pub(crate) shape: Arc<RequestShape<CompactString>>,
    /// The class of the response.
    pub(crate) status_class: StatusClass,
    /// The server's version, as an index into the version timeline.
    pub(crate) version_index: u8,
    /// The server's configuration of the resource.
    pub(crate) configured: Configured,
}

impl RowKey {
    /// The overflow key of this key: the same key without names. Both keys have the same verdict. If there are too
    /// many keys, evicted rows are merged under their overflow keys.
    #[must_use]
    pub(crate) fn without_names(&self) -> Self {
        Self { shape: Arc::new(self.shape.without_names(self.configured)), ..*self }
    }

    /// A hash that is the same in every run.
    #[must_use]
    pub(crate) fn stable_hash(&self) -> u64 {
        row_key_hash(stable_hash(&self.shape.as_borrowed()), self.status_class, self.version_index)
    }
}

/// Mixes response class and version into the hash of the request shape, which is already well distributed.
fn row_key_hash(shape_hash: u64, status_class: StatusClass, version_index: u8) -> u64 {
    let status_class = match status_class {
        StatusClass::Unknown => 0,
        StatusClass::Served => 1,
        StatusClass::Status(status) => u64::from(status),
    };
    let few = status_class << 8 | u64::from(version_index);
    (shape_hash ^ few.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
}

/// A borrowed key, for lookups.
#[derive(Debug)]
pub(crate) struct RowKeyRef<'a> {
    pub(crate) spec: RequestSpec<'a>,
    /// The class of the response.
    pub(crate) status_class: StatusClass,
    /// The server's version, as an index into the version timeline.
    pub(crate) version_index: u8,
}

impl<'a> RowKeyRef<'a> {
    /// The key of a request's row.
    #[must_use]
    pub(crate) fn from_request(request: &Request<'a>) -> Self {
        Self { spec: request.spec, status_class: request.status_class, version_index: request.version_index }
    }

    /// The owned key. It also contains the configuration of the resource, which comes from `names`.
    #[must_use]
    pub(crate) fn to_owned(&self, names: &ConfiguredNames) -> RowKey {
        let shape = self.spec.shape;
        let configured = names.config_of(shape);
        RowKey {
            shape: shape.clone(),
            status_class: self.status_class,
            version_index: self.version_index,
            configured,
        }
    }

    /// The hash of the owned key.
    #[must_use]
    pub(crate) fn stable_hash(&self) -> u64 {
        row_key_hash(self.spec.shape_hash, self.status_class, self.version_index)
    }
}

impl Equivalent<RowKey> for RowKeyRef<'_> {
    fn equivalent(&self, row_key: &RowKey) -> bool {
        let (shape, own) = (self.spec.shape, &row_key.shape);
        self.version_index == row_key.version_index
            && self.status_class == row_key.status_class
            && (Arc::ptr_eq(shape, own) || shape == own)
    }
}
