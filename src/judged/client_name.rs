//! The names of a client in reports.

use crate::k8s::identity;
use crate::ledger::ClientKey;

/// The name of the sum of clients beyond the limit.
const OTHER_CLIENTS: &str = "(other clients)";

/// The names of a client in reports.
#[derive(Debug)]
pub(crate) struct ClientName<'k> {
    /// The user name. A client without a user is named by product and address class.
    pub(crate) identity: String,
    key: Option<&'k ClientKey>,
}

impl<'k> ClientName<'k> {
    /// `key` is `None` for the sum of clients beyond the limit.
    #[must_use]
    pub(crate) fn new(key: Option<&'k ClientKey>) -> Self {
        let identity = match key {
            None => OTHER_CLIENTS.to_owned(),
            Some(ClientKey { identity, address: Some(address), .. }) => {
                format!("{identity} ({address} address)")
            }
            Some(key) => key.identity.to_string(),
        };
        Self { identity, key }
    }

    /// The short name, such as `namespace/name` for a ServiceAccount.
    #[must_use]
    pub(crate) fn short(&self) -> String {
        let kind = self.key.map_or("user", |key| key.kind.as_str());
        let base = identity::short_name(kind, &self.identity);
        match self.key.and_then(|key| key.impersonator.as_deref()) {
            Some(real) => format!("{base} (by {real})"),
            None => base.into_owned(),
        }
    }
}
