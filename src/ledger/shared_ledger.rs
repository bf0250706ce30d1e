//! What all workers count together.

use super::{Ledger, Merge, SharedClients, SharedKept};

/// Clients, and what patterns over time are rebuilt from.
#[derive(Debug, Default)]
pub struct SharedLedger {
    pub(super) clients: SharedClients,
    pub(super) kept: SharedKept,
}

impl SharedLedger {
    /// Adds all of it to a ledger, and has nothing any more.
    pub fn give(&self, ledger: &mut Ledger) {
        ledger.clients.merge(self.clients.take());
        ledger.kept.merge(self.kept.take());
    }
}
