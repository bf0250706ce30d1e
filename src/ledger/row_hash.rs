//! Identifies a row by three hashes.

use crate::requests::{Request, RowKeyRef, StatusClass};

/// The hashes of a row's client, product and row key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowHash {
    pub(super) client: u64,
    pub(super) product: u64,
    pub(super) row_key: u64,
}

impl RowHash {
    #[must_use]
    pub(crate) fn new(request: &Request<'_>) -> Self {
        Self {
            client: request.client.client_hash,
            product: request.client.product_hash,
            row_key: RowKeyRef::from_request(request).stable_hash(),
        }
    }

    /// Creates the hashes for an event before the end of its request. The row key is hashed without a response class.
    pub(super) fn before_end(request: &Request<'_>) -> Self {
        let key = RowKeyRef { status_class: StatusClass::Served, ..RowKeyRef::from_request(request) };
        Self { row_key: key.stable_hash(), ..Self::new(request) }
    }

    /// Combines the three hashes into one number, which chooses a cache slot. Different rows may have the same
    /// number.
    pub(super) fn hash(self) -> u64 {
        self.client ^ self.product.rotate_left(21) ^ self.row_key.rotate_left(42)
    }
}
