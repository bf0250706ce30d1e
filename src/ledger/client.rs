//! A client: whose requests are counted together, and the rows of its requests.

use hashbrown::Equivalent;

use super::bounded_map::BoundedKey;
use super::{BoundedMap, DistinctSet, EventsBeforeEnd, Merge, SharedRow};
use crate::apiserver::Target;
use crate::k8s::identity::service_account;
use crate::k8s::text::prefix;
use crate::k8s::user_agent::AgentForm;
use crate::k8s::{self, AddressClass, Kind, Verb};
use crate::requests::{ClientRef, Request, RowKey, stable_hash};

/// Products of one identity that are counted apart. A product is the client's to choose.
pub const MAX_PRODUCTS: usize = 16;
/// Shapes of one product of one identity that are counted apart. A resource's name is the client's to choose.
pub const MAX_SHAPES: usize = 1_024;
/// Nodes, pods, workloads or namespaces of one identity that are told apart.
pub const MAX_DISTINCT: usize = 16_384;
/// The longest user agent that is kept as an example, in bytes.
const MAX_AGENT: usize = 160;

/// Whose requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientKey {
    /// What kind of client.
    pub kind: Kind,
    /// The identity that the requests act as.
    pub identity: Box<str>,
    /// Who asked, where the request impersonates.
    pub impersonator: Option<Box<str>>,
    /// Where the requests come from, where there is no user.
    pub address: Option<AddressClass>,
}

/// Products of user agents, which anyone may make up, never take the place of a user whom the server knows.
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

/// Beyond the number of shapes, requests are told apart by what their verdict depends on.
impl BoundedKey for RowKey {
    fn overflow_key(&self) -> Option<(u64, Self)> {
        let folded = self.without_names();
        Some((folded.stable_hash(), folded))
    }
}

/// One identity.
#[derive(Debug)]
pub struct Client {
    /// Its requests by the product of its user agent.
    pub products: BoundedMap<Box<str>, Product>,
    /// The nodes it was seen on: of its tokens, or for kubelets its own.
    pub nodes: DistinctSet,
    /// The pods its tokens were bound to.
    pub pods: DistinctSet,
    /// The workloads of these pods, as their names tell.
    pub workloads: DistinctSet,
    /// The namespaces that its requests name, other than for its own upkeep: see `namespace_of`.
    pub namespaces: DistinctSet,
    /// Its products and shapes. Their number, unlike that of its rows, is the same in every order of the input.
    pub(super) row_names: DistinctSet,
}

/// The namespace that a request names, if that tells where its client works: not that of a Lease, whatever it is; and of a
/// `ServiceAccount`'s own namespace not what it looks up there, its configuration, certificates, events and elections.
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
        // This may stand for all clients that are not kept apart: who remembers a row of one must not count into it as
        // if it were still that.
        other.products.values_mut().for_each(Product::leave);
        self.products.merge(other.products);
        self.nodes.merge(other.nodes);
        self.pods.merge(other.pods);
        self.workloads.merge(other.workloads);
        self.namespaces.merge(other.namespaces);
        self.row_names.merge(other.row_names);
    }
}

/// One product of an identity.
#[derive(Debug)]
pub struct Product {
    /// A user agent of it: the least in the order of bytes.
    pub example: Box<str>,
    /// Hash of the user agent that was seen last; most are the same again.
    last_agent: u64,
    /// Its requests by shape.
    pub rows: BoundedMap<RowKey, SharedRow>,
    /// The events of its requests before their end, by shape without a status.
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
    /// Lets go of those who remember rows of it.
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
