//! A client, its products and its rows.

use hashbrown::Equivalent;

use super::bounded_map::BoundedKey;
use super::{BoundedMap, DistinctSet, EventsBeforeEnd, Merge, SharedRow};
use crate::apiserver::Target;
use crate::k8s::identity::service_account;
use crate::k8s::text::prefix;
use crate::k8s::user_agent::AgentForm;
use crate::k8s::{self, AddressClass, Kind, Verb};
use crate::requests::{ClientRef, Request, RowKey, stable_hash};

/// Maximum number of products of a client. A client chooses the product in its user agent.
pub const MAX_PRODUCTS: usize = 16;
/// Maximum number of rows of a product. A client chooses the resource names in its requests.
pub const MAX_SHAPES: usize = 1_024;
/// Maximum number of distinct nodes, pods, workloads or namespaces of a client.
pub const MAX_DISTINCT: usize = 16_384;
/// Length limit of an example user agent, in bytes.
const MAX_AGENT: usize = 160;

/// Identifies a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientKey {
    pub kind: Kind,
    /// The user that the requests act as.
    pub identity: Box<str>,
    /// The user that authenticated, if the request impersonates another one.
    pub impersonator: Option<Box<str>>,
    /// The class of the source address, if there is no user.
    pub address: Option<AddressClass>,
}

/// The rank of a client's key. Anyone can invent a user agent. So clients without a user never evict a user that the
/// server authenticated.
pub(super) fn rank(client: &ClientRef<'_>) -> u8 {
    match client.kind {
        Kind::UserAgent if k8s::AgentProduct::from_user_agent(client.identity).form == AgentForm::Known => 1,
        Kind::UserAgent => 2,
        _ => 0,
    }
}

impl Equivalent<ClientKey> for ClientRef<'_> {
    fn equivalent(&self, key: &ClientKey) -> bool {
        self.identity == &*key.identity
            && self.impersonator == key.impersonator.as_deref()
            && self.kind == key.kind
            && self.address == key.address
    }
}

impl BoundedKey for ClientKey {}

/// Evicted rows are merged by the part of the row key that determines the verdict.
impl BoundedKey for RowKey {
    fn overflow_key(&self) -> Option<(u64, Self)> {
        let folded = self.without_names();
        Some((folded.stable_hash(), folded))
    }
}

#[derive(Debug)]
pub struct Client {
    /// Products of its user agents.
    pub products: BoundedMap<Box<str>, Product>,
    /// Nodes from its tokens; for a kubelet, its own node.
    pub nodes: DistinctSet,
    /// Pods from its tokens.
    pub pods: DistinctSet,
    /// Workloads of these pods, inferred from their names.
    pub workloads: DistinctSet,
    /// Namespaces in its requests, without its own upkeep: see `namespace_of`.
    pub namespaces: DistinctSet,
    /// Hashes of product and row key. Unlike the number of kept rows, their number does not depend on the order of the
    /// input.
    pub(super) row_names: DistinctSet,
}

/// The namespace of a request, if it shows where the client works. Leases never do. For a ServiceAccount's own
/// namespace, neither do reads of single objects, nor requests for configuration, events and leader election.
pub(super) fn namespace_of<'r>(request: &Request<'r>) -> Option<&'r str> {
    let namespace = request.spec.namespace;
    (!namespace.is_empty() && !is_upkeep(request, namespace)).then_some(namespace)
}

fn is_upkeep(request: &Request<'_>, namespace: &str) -> bool {
    let Target::Resource { group, resource, .. } = request.asked().target else { return false };
    if (group, resource) == ("coordination.k8s.io", "leases") {
        return true;
    }
    let is_lookup = request.spec.asked.verb == Verb::Get
        || matches!(resource, "configmaps" | "secrets" | "events" | "endpoints" | "endpointslices");
    is_lookup && service_account(request.client.identity()).is_some_and(|(own, _)| own == namespace)
}

impl Default for Client {
    fn default() -> Self {
        Self {
            products: BoundedMap::new(MAX_PRODUCTS),
            nodes: DistinctSet::new(MAX_DISTINCT),
            pods: DistinctSet::new(MAX_DISTINCT),
            workloads: DistinctSet::new(MAX_DISTINCT),
            namespaces: DistinctSet::new(MAX_DISTINCT),
            row_names: DistinctSet::new(MAX_PRODUCTS * MAX_SHAPES),
        }
    }
}

impl Merge for Client {
    fn merge(&mut self, mut other: Self) {
        // This may be the overflow of all clients. Workers must not count into it through cached handles of one
        // client's rows.
        other.products.values_mut().for_each(Product::leave);
        self.products.merge(other.products);
        self.nodes.merge(other.nodes);
        self.pods.merge(other.pods);
        self.workloads.merge(other.workloads);
        self.namespaces.merge(other.namespaces);
        self.row_names.merge(other.row_names);
    }
}

#[derive(Debug)]
pub struct Product {
    /// An example user agent: the first in byte order.
    pub example: Box<str>,
    /// Hash of the last user agent. Most requests repeat it.
    last_agent: u64,
    pub rows: BoundedMap<RowKey, SharedRow>,
    /// Keyed without a response class.
    pub begun: BoundedMap<RowKey, SharedRow<EventsBeforeEnd>>,
}

impl Default for Product {
    fn default() -> Self {
        Self {
            example: Box::default(),
            last_agent: 0,
            rows: BoundedMap::new(MAX_SHAPES),
            begun: BoundedMap::new(MAX_SHAPES),
        }
    }
}

impl Product {
    /// Empties all cached handles of its rows.
    fn leave(&mut self) {
        self.rows.values_mut().for_each(SharedRow::leave);
        self.begun.values_mut().for_each(SharedRow::leave);
    }

    pub(super) fn note_agent(&mut self, agent: &str, hash: u64) {
        if hash == self.last_agent {
            return;
        }
        self.last_agent = hash;
        let agent = prefix(agent, MAX_AGENT);
        if !agent.is_empty() && (self.example.is_empty() || *agent < *self.example) {
            self.example = agent.into();
        }
    }
}

impl Merge for Product {
    fn merge(&mut self, mut other: Self) {
        other.leave();
        self.note_agent(&other.example, stable_hash(&*other.example));
        self.rows.merge(other.rows);
        self.begun.merge(other.begun);
    }
}
