//! What all workers count together.

use std::sync::Arc;

use super::{Ledger, Merge, SharedClients, SharedHistoriesByKind};
use crate::apiserver::ConfiguredNames;

/// Clients, and what patterns over time are rebuilt from.
#[derive(Debug, Default)]
pub struct SharedLedger {
    pub(super) clients: SharedClients,
    pub(super) histories: SharedHistoriesByKind,
}

impl SharedLedger {
    /// Of a server with this configuration.
    #[must_use]
    pub fn new(names: &Arc<ConfiguredNames>) -> Self {
        Self { clients: SharedClients::default().with_names(Arc::clone(names)), ..Self::default() }
    }

    /// Adds all of it to a ledger, and has nothing any more.
    pub fn give(&self, ledger: &mut Ledger) {
        ledger.clients.merge(self.clients.take());
        ledger.histories.merge(self.histories.take());
    }
}
