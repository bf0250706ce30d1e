//! The counts that all workers share.

use std::sync::Arc;

use super::shared_clients::SharedClients;
use super::shared_histories::SharedHistoriesByKind;
use super::{Ledger, Merge};
use crate::apiserver::ConfiguredNames;

/// The clients and the instance histories that all workers share.
#[derive(Debug, Default)]
pub(crate) struct SharedLedger {
    pub(super) clients: SharedClients,
    pub(super) histories: SharedHistoriesByKind,
}

impl SharedLedger {
    /// `names` comes from the server's configuration. It contains the resources without a watch cache, and the API
    /// groups of aggregated servers. Each row key records whether its resource or group is in `names`, because the
    /// verdict depends on that.
    #[must_use]
    pub(crate) fn new(names: &Arc<ConfiguredNames>) -> Self {
        Self { clients: SharedClients::default().with_names(Arc::clone(names)), ..Self::default() }
    }

    /// Moves all counts to a ledger.
    pub(crate) fn move_to(&self, ledger: &mut Ledger) {
        ledger.clients.merge(self.clients.take());
        ledger.histories.merge(self.histories.take());
    }
}
