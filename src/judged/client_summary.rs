//! One client, and who it is in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;

use super::{ShapeKey, ShapeSummary};
use crate::k8s::Library;
use crate::k8s::identity::service_account;
use crate::k8s::pod_name::is_of_cron_job;
use crate::ledger::{ClientKey, DistinctSet};
use crate::patterns::Running;
use crate::products::{self, Product, RecognizedBy};

/// The name of everything beyond the number of clients that are told apart.
const OTHER_CLIENTS: &str = "(other clients)";

/// Whether a client runs and ends, so that a WATCH is no use to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    /// It runs on.
    #[default]
    No,
    /// The log does not show that it runs on.
    Perhaps,
    /// It most likely ends.
    Likely,
    /// It ends: a command, a backup tool or another known job, or the pods of a `CronJob`.
    Yes,
}

/// A product of a client's user agents.
#[derive(Debug, Clone)]
pub struct Agent {
    /// One of the user agents.
    pub example: String,
    /// The library that it shows.
    pub library: Library,
    /// The known product, and what shows it.
    pub known: Option<(&'static Product, RecognizedBy)>,
    /// Whether it runs and ends.
    pub job: Job,
}

/// One client: an identity.
#[derive(Debug)]
pub struct ClientSummary {
    /// Who it is; `None` for all that are not told apart.
    pub key: Option<ClientKey>,
    /// The nodes it was seen on.
    pub nodes: DistinctSet,
    /// The names of the nodes whose kubelets it is, as far as they are followed.
    pub kubelets: Vec<CompactString>,
    /// The pods its tokens were bound to.
    pub pods: DistinctSet,
    /// The workloads of these pods.
    pub workloads: DistinctSet,
    /// The namespaces that its requests name, other than for its own upkeep.
    pub namespaces: DistinctSet,
    /// The products of its user agents, by name.
    pub agents: BTreeMap<String, Agent>,
    /// What it asked. Many clients ask alike, and share the names.
    pub entries: BTreeMap<Arc<ShapeKey>, ShapeSummary>,
}

impl ClientSummary {
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
        self.agents.get(product).map_or(Library::Unknown, |agent| agent.library)
    }

    /// Whether a product of the client runs and ends.
    #[must_use]
    pub fn job(&self, product: &str) -> Job {
        self.agents.get(product).map_or(Job::No, |agent| agent.job)
    }

    /// The known product, and what shows it.
    #[must_use]
    pub fn known(&self, product: &str) -> Option<(&'static Product, RecognizedBy)> {
        self.agents.get(product)?.known
    }

    /// Adds a product of the client's user agents. `running` is how long its instances run.
    pub(super) fn add_agent(&mut self, name: &str, example: &str, running: Running) {
        let library = Library::from_product(name, example);
        let known = products::recognize(example, self.service_account());
        let mut pods = self.pods.examples().peekable();
        let is_cron_job = pods.peek().is_some() && pods.all(is_of_cron_job);
        let job = match (known, running) {
            _ if library.is_command() || is_cron_job => Job::Yes,
            (Some((known, _)), _) if known.kind.is_job() => Job::Yes,
            (_, Running::Ends) => Job::Yes,
            // A product that is known to run on, and one of the cluster's own components.
            (Some(_), _) => Job::No,
            _ if matches!(library, Library::ControlPlane | Library::Kubelet) => Job::No,
            (None, Running::LikelyEnds) => Job::Likely,
            (None, Running::MayEnd) => Job::Perhaps,
            (None, Running::On) => Job::No,
        };
        self.agents.insert(name.to_owned(), Agent { example: example.to_owned(), library, known, job });
    }

    /// Namespace and name, if it is a ServiceAccount.
    #[must_use]
    pub fn service_account(&self) -> Option<(&str, &str)> {
        service_account(&self.key.as_ref()?.identity)
    }
}
