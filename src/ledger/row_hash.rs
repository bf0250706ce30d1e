//! What a row is known by, beside its place in the ledger.

use crate::requests::{Answer, Request, RowKeyRef};

/// The hashes that name a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowHash {
    pub(super) client: u64,
    pub(super) product: u64,
    pub(super) row_key: u64,
}

impl RowHash {
    /// The name of a request's row.
    #[must_use]
    pub fn new(request: &Request<'_>) -> Self {
        Self {
            client: request.client.client_hash,
            product: request.client.product_hash,
            row_key: RowKeyRef::from_request(request).stable_hash(),
        }
    }

    /// The name of what counts the events of a request before its end: that of a row without a status.
    pub(super) fn before_end(request: &Request<'_>) -> Self {
        let key = RowKeyRef { answer: Answer::Served, ..RowKeyRef::from_request(request) };
        Self { row_key: key.stable_hash(), ..Self::new(request) }
    }

    /// A hash that spreads rows.
    pub(super) fn hash(self) -> u64 {
        self.client ^ self.product.rotate_left(21) ^ self.row_key.rotate_left(42)
    }
}
