//! A client, its products and its rows.

use hashbrown::Equivalent;

use super::bounded_map::BoundedKey;
use super::merge::merge_fields;
use super::{BoundedMap, DistinctSet, EventsBeforeEnd, Merge, SharedRow};
use crate::apiserver::Target;
use crate::k8s::identity::service_account;
use crate::k8s::text::prefix;
use crate::k8s::user_agent::AgentForm;
use crate::k8s::{self, AddressClass, Kind, Verb};
use crate::requests::{ClientRef, Request, RowKey};

/// The maximum number of products of a client. A limit is necessary, because a client can choose any product in its
/// user agent.
pub const MAX_PRODUCTS: usize = 16;
/// The maximum number of rows of a product. A limit is necessary, because a client can choose any resource name in
/// its requests.
pub const MAX_SHAPES: usize = 1_024;
/// Length limit of an example user agent, in bytes.
const MAX_AGENT: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientKey {
    pub kind: Kind,
    /// The user that the requests act as. All nodes share one identity. If the log names no user, this is the product
    /// in the user agent.
    pub(crate) identity: Box<str>,
    /// The user that authenticated, if the request impersonates another one.
    pub(crate) impersonator: Option<Box<str>>,
    /// The class of the source address; `None` if the log names the user.
    pub(crate) address: Option<AddressClass>,
}

/// The rank of a client's key; see [`BoundedMap`]. Anyone can invent a user agent. So clients without a user never
/// evict a user that the server authenticated.
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

/// If rows are evicted, those with the same overflow key are merged. The overflow key is the row key without the
/// names that clients choose. The verdict does not depend on these names, so the merged rows have the same verdict.
impl BoundedKey for RowKey {
    fn overflow_key(&self) -> Option<(u64, Self)> {
        let folded = self.without_names();
        Some((folded.stable_hash(), folded))
    }
}

#[derive(Debug, Default)]
pub struct Client {
    /// The products in the client's user agents.
    pub products: BoundedMap<Box<str>, ClientProduct, MAX_PRODUCTS>,
    /// The nodes that the client's tokens name. For a kubelet, this is its own node.
    pub(crate) nodes: DistinctSet,
    /// The pods that the client's tokens name.
    pub(crate) pods: DistinctSet,
    /// The workloads of these pods, inferred from the pods' names.
    pub(crate) workloads: DistinctSet,
    /// The namespaces in which the client works. `namespace_of` finds them in the client's requests.
    pub namespaces: DistinctSet,
    /// One hash for each pair of product and row key, even if the row was evicted. `MAX_ROWS` limits the number of
    /// these hashes over all clients. It does not limit the number of kept rows, because that number depends on the
    /// order of the input.
    pub(super) row_hashes: DistinctSet<{ MAX_PRODUCTS * MAX_SHAPES }>,
}

/// Returns the namespace of a request, or `None` if it does not show where the client works. Requests for Leases
/// never show it. In the namespace of the client's own ServiceAccount, two more groups do not show it. These are
/// GETs, and requests for configmaps, secrets, events, endpoints and endpointslices. Clients need them for
/// configuration, events and leader election.
pub(super) fn namespace_of<'r>(request: &Request<'r>) -> Option<&'r str> {
    let namespace = request.spec.namespace;
    (!namespace.is_empty() && !is_upkeep(request, namespace)).then_some(namespace)
}

fn is_upkeep(request: &Request<'_>, namespace: &str) -> bool {
    let Target::Resource { group, resource, .. } = request.shape().target else { return false };
    if (group, resource) == ("coordination.k8s.io", "leases") {
        return true;
    }
    let is_lookup = request.spec.shape.verb == Verb::Get
        || matches!(resource, "configmaps" | "secrets" | "events" | "endpoints" | "endpointslices");
    is_lookup && service_account(request.client.identity()).is_some_and(|(own, _)| own == namespace)
}

impl Merge for Client {
    fn merge(&mut self, mut other: Self) {
        // This client may be the overflow, which has the requests of all evicted clients. Workers must not count into
        // the overflow through cached handles of one client's rows.
        other.products.values_mut().for_each(ClientProduct::detach_handles);
        merge_fields!(self, other: products, nodes, pods, workloads, namespaces, row_hashes);
    }
}

#[derive(Debug, Default)]
pub struct ClientProduct {
    /// An example of a user agent: the first one in byte order.
    pub(crate) example: Box<str>,
    pub(crate) rows: BoundedMap<RowKey, SharedRow, MAX_SHAPES>,
    /// Events before the end of their request. Their row keys have no response class.
    pub(crate) begun: BoundedMap<RowKey, SharedRow<EventsBeforeEnd>, MAX_SHAPES>,
}

impl ClientProduct {
    /// Makes all cached handles of the product's rows yield `None`.
    fn detach_handles(&mut self) {
        self.rows.values_mut().for_each(SharedRow::detach_handles);
        self.begun.values_mut().for_each(SharedRow::detach_handles);
    }

    pub(super) fn note_agent(&mut self, agent: &str) {
        let agent = prefix(agent, MAX_AGENT);
        if !agent.is_empty() && (self.example.is_empty() || *agent < *self.example) {
            self.example = agent.into();
        }
    }
}

impl Merge for ClientProduct {
    fn merge(&mut self, mut other: Self) {
        other.detach_handles();
        self.note_agent(&other.example);
        merge_fields!(self, other: rows, begun);
    }
}
