//! One client, and who it is in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Entry, ShapeKey};
use crate::k8s::Library;
use crate::k8s::identity::service_account;
use crate::k8s::pod_name::is_of_cron_job;
use crate::ledger::{ClientKey, DistinctSet};
use crate::products;

/// The name of everything beyond the number of clients that are told apart.
const OTHER_CLIENTS: &str = "(other clients)";
/// One client: an identity.
#[derive(Debug)]
pub struct Account {
    /// Who it is; `None` for all that are not told apart.
    pub key: Option<ClientKey>,
    /// The nodes it was seen on.
    pub nodes: DistinctSet,
    /// The pods its tokens were bound to.
    pub pods: DistinctSet,
    /// The workloads of these pods.
    pub workloads: DistinctSet,
    /// The namespaces that its requests name, other than for its own upkeep.
    pub namespaces: DistinctSet,
    /// A user agent of each product, and the library that it tells.
    pub agents: BTreeMap<String, (String, Library)>,
    /// What it asked. Many clients ask alike, and share the names.
    pub entries: BTreeMap<Arc<ShapeKey>, Entry>,
}

impl Account {
    /// The client in words: without a user, its product and where it comes from.
    #[must_use]
    pub fn identity(&self) -> String {
        match &self.key {
            None => OTHER_CLIENTS.to_owned(),
            Some(ClientKey { identity, address: Some(address), .. }) => {
                format!("{identity} ({address} address)")
            }
            Some(key) => key.identity.to_string(),
        }
    }

    /// What kind of client it is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.key.as_ref().map_or("user", |key| key.kind.as_str())
    }

    /// Who asked, where the requests impersonate.
    #[must_use]
    pub fn impersonated_by(&self) -> Option<&str> {
        self.key.as_ref()?.impersonator.as_deref()
    }

    /// The library that a product is built on, as far as a user agent of it tells.
    #[must_use]
    pub fn library(&self, product: &str) -> Library {
        self.agents.get(product).map_or(Library::Unknown, |(_, library)| *library)
    }

    /// Whether a product of the client runs and ends: a command-line tool, or pods that a `CronJob` made.
    #[must_use]
    pub fn is_job(&self, product: &str) -> bool {
        let mut workloads = self.workloads.examples().peekable();
        self.library(product).is_command()
            || products::of(self, product).is_some_and(|(known, _)| known.kind.is_job())
            || (workloads.peek().is_some() && workloads.all(is_of_cron_job))
    }

    /// Namespace and name, if it is a ServiceAccount.
    #[must_use]
    pub fn service_account(&self) -> Option<(&str, &str)> {
        service_account(&self.key.as_ref()?.identity)
    }
}
