//! What a row is known by, beside its place in the ledger.

use crate::requests::{Answer, Request, RowKeyRef};

/// The hashes that name a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowName {
    pub(super) client: u64,
    pub(super) product: u64,
    pub(super) shape: u64,
}

impl RowName {
    /// The name of a request's row.
    #[must_use]
    pub fn of(request: &Request<'_>) -> Self {
        Self {
            client: request.client.client_hash,
            product: request.client.product_hash,
            shape: RowKeyRef::from_request(request).stable_hash(),
        }
    }

    /// The name of what counts the events of a request before its end: that of a row without a status.
    pub(super) fn of_begun(request: &Request<'_>) -> Self {
        let shape = RowKeyRef { answer: Answer::Served, ..RowKeyRef::from_request(request) };
        Self { shape: shape.stable_hash(), ..Self::of(request) }
    }

    /// A hash that spreads rows.
    pub(super) fn hash(self) -> u64 {
        self.client ^ self.product.rotate_left(21) ^ self.shape.rotate_left(42)
    }
}
