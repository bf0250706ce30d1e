//! The summary of one client: its identity and its request shapes.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;

use super::client_name::ClientName;
use super::{ShapeKey, ShapeSummary};
use crate::k8s::Library;
use crate::k8s::identity::service_account;
use crate::k8s::pod_name::is_cron_job_pod;
use crate::ledger::{ClientKey, DistinctSet};
use crate::patterns::Running;
use crate::products::{self, Product, RecognizedBy};

/// Whether a client is a job. A job ends after its work, so a WATCH does not help it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Job {
    /// The client keeps running.
    #[default]
    No,
    /// The log does not show that the client keeps running.
    Perhaps,
    /// The client most likely ends.
    Likely,
    /// The client ends: it is a command, a known job such as a backup tool, or a pod of a `CronJob`.
    Yes,
}

/// A product in a client's user agents.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    /// One of the user agents with this product, as an example.
    pub(crate) example: String,
    pub(crate) library: Library,
    /// The known product, with the evidence that identifies it.
    pub(crate) known_product: Option<(&'static Product, RecognizedBy)>,
    pub(crate) job: Job,
}

#[derive(Debug)]
pub struct ClientSummary {
    /// The key of the client; `None` for the overflow row.
    pub(crate) key: Option<ClientKey>,
    /// The nodes on which the client ran.
    pub(crate) nodes: DistinctSet,
    /// For kubelets: the names of their nodes. Contains only kubelets with an instance history.
    pub(crate) kubelets: Vec<CompactString>,
    /// The pods to which the client's tokens are bound.
    pub(crate) pods: DistinctSet,
    /// The workloads of these pods.
    pub(crate) workloads: DistinctSet,
    /// The namespaces of the client's requests. Requests that do not show where the client works do not count, such
    /// as requests for Leases; see `namespace_of`.
    pub(crate) namespaces: DistinctSet,
    /// The products in the client's user agents, by product name.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// The client's request shapes. Clients with equal shapes share the keys.
    pub shapes: BTreeMap<Arc<ShapeKey>, ShapeSummary>,
}

impl ClientSummary {
    /// The client's name in reports. A client without a user is named by product and address class.
    pub(crate) fn identity(&self) -> String {
        ClientName::new(self.key.as_ref()).identity
    }

    /// Returns a client's short name, such as `namespace/name` for a ServiceAccount.
    pub(crate) fn short_name(&self) -> String {
        ClientName::new(self.key.as_ref()).short()
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.key.as_ref().map_or("user", |key| key.kind.as_str())
    }

    /// The authenticated user, if the requests impersonate another user.
    pub(crate) fn impersonated_by(&self) -> Option<&str> {
        self.key.as_ref()?.impersonator.as_deref()
    }

    /// The client library of a product, if the product's user agents show it.
    pub(crate) fn library(&self, product: &str) -> Library {
        self.agents.get(product).map_or(Library::Unknown, |agent| agent.library)
    }

    pub(crate) fn job(&self, product: &str) -> Job {
        self.agents.get(product).map_or(Job::No, |agent| agent.job)
    }

    /// The known product, with the evidence that identifies it.
    pub(crate) fn known_product(&self, product: &str) -> Option<(&'static Product, RecognizedBy)> {
        self.agents.get(product)?.known_product
    }

    /// Adds a product of the client's user agents. `running` says whether the instances with this product keep
    /// running.
    pub(super) fn add_agent(&mut self, name: &str, example: &str, running: Running) {
        let library = Library::from_product(name, example);
        let known_product = products::recognize(example, self.service_account());
        let mut pods = self.pods.examples().peekable();
        let is_cron_job = pods.peek().is_some() && pods.all(is_cron_job_pod);
        let job = match (known_product, running) {
            _ if library.is_command() || is_cron_job => Job::Yes,
            (Some((product, _)), _) if product.kind.is_job() => Job::Yes,
            (_, Running::Ends) => Job::Yes,
            // A known product that keeps running, or a component of the cluster itself, is not a job.
            (Some(_), _) => Job::No,
            _ if matches!(library, Library::ControlPlane | Library::Kubelet) => Job::No,
            (None, Running::LikelyEnds) => Job::Likely,
            (None, Running::MayEnd) => Job::Perhaps,
            (None, Running::On) => Job::No,
        };
        self.agents
            .insert(name.to_owned(), Agent { example: example.to_owned(), library, known_product, job });
    }

    /// Namespace and name of the ServiceAccount, if the client is one.
    pub(crate) fn service_account(&self) -> Option<(&str, &str)> {
        service_account(&self.key.as_ref()?.identity)
    }
}
