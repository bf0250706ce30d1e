//! Clients and their rows.

use std::sync::Arc;

use super::bounded_map::Weight;
use super::client::{namespace_of, rank};
use super::{
    Additions, BoundedMap, Client, ClientKey, ClientProduct, DistinctSet, EventsBeforeEnd, Merge, Row,
    RowHash, SharedRow, SlotIndex,
};
use crate::apiserver::ConfiguredNames;
use crate::k8s::pod_name;
use crate::k8s::user_agent::AgentForm;
use crate::requests::{Request, RowKey, RowKeyRef, StatusClass, stable_hash};

/// The maximum number of clients. Clients cannot invent authenticated names, because the cluster's operators create
/// these names. So a log has at most as many authenticated names as the cluster has users.
pub const MAX_CLIENTS: usize = 20_000;

/// The maximum number of rows of all clients, including keys of [`EventsBeforeEnd`] that have no row. Each row or key
/// takes up to 3 KB.
pub(crate) const MAX_ROWS: usize = 80_000;

#[derive(Debug)]
pub struct Clients {
    pub(super) by_key: BoundedMap<ClientKey, Client, MAX_CLIENTS>,
    /// The number of rows that were added since [`SharedClients`](super::shared_clients::SharedClients) last read this
    /// field.
    pub(super) added: usize,
    max_rows: usize,
    names: Arc<ConfiguredNames>,
}

/// Returns the cutoff that leaves clients with at most `max_rows` rows in total. The client with the smallest weight
/// stays even if it alone has more rows. Returns `None` if all clients stay.
///
/// The cutoff is directly below the weight of the first client that does not fit. The weight of the last client that
/// fits would be too low. A client that is read later may have a weight between these two weights. Such a client must
/// not be evicted.
pub(super) fn row_cutoff(mut clients: Vec<(Weight, usize)>, max_rows: usize) -> Option<Weight> {
    clients.sort_unstable();
    let mut all = 0;
    let mut fits = |rows: usize| {
        all += rows;
        all <= max_rows
    };
    let over = clients.iter().position(|(_, rows)| !fits(*rows))?;
    match (over, clients[over].0) {
        (0, first) => Some(first),
        (_, (rank, 0)) => Some((rank.saturating_sub(1), u64::MAX)),
        (_, (rank, hash)) => Some((rank, hash - 1)),
    }
}

impl Default for Clients {
    fn default() -> Self {
        Self::new(MAX_CLIENTS)
    }
}

impl Clients {
    /// Keeps at most `bound` clients.
    #[must_use]
    pub(crate) fn new(bound: usize) -> Self {
        Self { by_key: BoundedMap::within(bound), added: 0, max_rows: MAX_ROWS, names: Arc::default() }
    }

    #[must_use]
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// See [`SharedLedger::new`](super::SharedLedger::new).
    #[must_use]
    pub(crate) fn with_names(self, names: Arc<ConfiguredNames>) -> Self {
        Self { names, ..self }
    }

    /// Iterates over the clients: the weight of each, and its number of rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Weight, usize)> {
        let rows = |client: &Client| usize::try_from(client.row_hashes.count().0).unwrap_or(usize::MAX);
        self.by_key.iter_with_weight().map(move |(weight, client)| (weight, rows(client)))
    }

    /// Evicts clients until at most `max_rows` rows are left.
    fn evict_rows(&mut self) {
        // `entries` evicts the clients above the maximum number of clients. Do this first.
        drop(self.by_key.entries());
        if let Some(cutoff) = row_cutoff(self.rows().collect(), self.max_rows) {
            self.by_key.evict_above(cutoff);
        }
    }

    pub fn observe(&mut self, request: &Request<'_>) {
        if request.is_before_end() {
            self.begin(request, RowHash::before_end(request), |begun| begun.add(request));
        } else {
            self.observe_in(request, RowHash::new(request));
        }
    }

    /// Counts one event of a request. Returns the row of the request, or `None` if an overflow row counts the event.
    pub(super) fn observe_in(&mut self, request: &Request<'_>, row_hash: RowHash) -> Option<SharedRow> {
        let (row, namespaces, is_mixed) = self.row(request, row_hash);
        let is_new_target = row.count_in_table(|row| row.observe(request));
        // A normal row has one verb and one resource. So all requests for a target show where the client works, or
        // none of them does. It is enough to check the first one. An overflow row mixes verbs and resources, so check
        // each request.
        if is_new_target.is_some_and(|is_new| is_new || is_mixed)
            && let Some(namespace) = namespace_of(request)
        {
            namespaces.insert(namespace);
        }
        (!is_mixed).then(|| row.new_handle())
    }

    /// Counts an event in [`EventsBeforeEnd`]. Returns the shared counter of the event's key, or `None` if an
    /// overflow row counts the event.
    pub(super) fn begin(
        &mut self,
        request: &Request<'_>,
        row_hash: RowHash,
        count: impl FnOnce(&mut EventsBeforeEnd),
    ) -> Option<SharedRow<EventsBeforeEnd>> {
        let (client_slot, product_slot) = self.enter(request, row_hash);
        let client = self.by_key.value_at(client_slot);
        let ClientProduct { rows, begun, .. } = client.products.value_at(product_slot);
        let before = begun.len();
        let row_key = RowKeyRef { status_class: StatusClass::Served, ..RowKeyRef::from_request(request) };
        let names = &self.names;
        let owned = || row_key.to_owned(names);
        let slot = begun.find_or_insert(row_hash.row_key, &row_key, || 0, owned);
        let is_entered = slot.is_none() || begun.len() != before;
        let own = begun.value_at_or_overflow(slot, owned);
        if is_entered {
            if slot.is_some() && rows.get_mut(row_hash.row_key, &row_key).is_some() {
                own.count_in_table(EventsBeforeEnd::end);
            }
            let is_new = client.row_hashes.insert_hash(stable_hash(&(row_hash.product, row_hash.row_key)));
            self.added += usize::from(is_new && client_slot.is_some() && !client.row_hashes.count().1);
        }
        own.count_in_table(count);
        (client_slot.is_some() && product_slot.is_some() && slot.is_some()).then(|| own.new_handle())
    }

    /// Records a duplicate of a counted event. The duplicate does not count, but it may become an exemplar. Otherwise
    /// the exemplars would depend on which of the duplicates came first.
    pub(crate) fn observe_duplicate(&mut self, request: &Request<'_>) {
        if request.is_before_end() {
            self.begin(request, RowHash::before_end(request), |begun| begun.show(request));
            return;
        }
        let (row, ..) = self.row(request, RowHash::new(request));
        row.count_in_table(|row| row.show(request));
    }

    /// Records a namespace for the client of a request.
    pub(super) fn note_namespace(&mut self, request: &Request<'_>, namespace: &str) {
        let (client, _) = self.enter(request, RowHash::new(request));
        self.by_key.value_at(client).namespaces.insert(namespace);
    }

    /// Returns three values: the row of a request, the namespaces of its client, and whether the row is an overflow
    /// row.
    fn row(&mut self, request: &Request<'_>, row_hash: RowHash) -> (&mut SharedRow, &mut DistinctSet, bool) {
        let (client_slot, product_slot) = self.enter(request, row_hash);
        let client = self.by_key.value_at(client_slot);
        let ClientProduct { rows, begun, .. } = client.products.value_at(product_slot);
        let before = rows.len();
        let row_key = RowKeyRef::from_request(request);
        let names = &self.names;
        let owned = || row_key.to_owned(names);
        let slot = rows.find_or_insert(row_hash.row_key, &row_key, || 0, owned);
        if slot.is_none() || rows.len() != before {
            // The new row has its own exemplars. So the [`EventsBeforeEnd`] with the same key need none.
            if let Some(begun) = begun.get_mut(row_hash.row_key, &row_key) {
                begun.count_in_table(EventsBeforeEnd::end);
            }
            let is_new = client.row_hashes.insert_hash(stable_hash(&(row_hash.product, row_hash.row_key)));
            self.added += usize::from(is_new && client_slot.is_some() && !client.row_hashes.count().1);
        }
        let is_mixed = client_slot.is_none() || product_slot.is_none() || slot.is_none();
        (rows.value_at_or_overflow(slot, owned), &mut client.namespaces, is_mixed)
    }

    /// Inserts the client and the product of a request. Returns their slots; `None` for an evicted client or product.
    fn enter(&mut self, request: &Request<'_>, row_hash: RowHash) -> (Option<SlotIndex>, Option<SlotIndex>) {
        let identity = request.client;
        let key = identity.client_ref();
        let client_slot = self.by_key.find_or_insert(
            row_hash.client,
            &key,
            || rank(&key),
            || ClientKey {
                kind: key.kind,
                identity: key.identity.into(),
                impersonator: key.impersonator.map(Into::into),
                address: key.address,
            },
        );
        let client = self.by_key.value_at(client_slot);
        if let Some(node) = identity.node() {
            client.nodes.insert_of(identity.node_hash, node);
        }
        if let Some(pod) = identity.pod().filter(|pod| client.pods.insert_of(identity.pod_hash, pod)) {
            client.workloads.insert(pod_name::workload(pod));
        }
        let product = identity.product();
        let product_rank = || match product.form {
            AgentForm::Known => 0,
            AgentForm::Versioned => 1,
            AgentForm::Bare | AgentForm::Unnamed => 2,
        };
        let product_slot =
            client
                .products
                .find_or_insert(row_hash.product, product.name, product_rank, || product.name.into());
        client.products.value_at(product_slot).note_agent(identity.user_agent());
        (client_slot, product_slot)
    }

    /// Adds the facts that other logs contain about requests of these rows.
    pub(crate) fn add(&mut self, mut additions: Additions) {
        if additions.is_empty() {
            return;
        }
        for (key, client) in self.by_key.entries_mut() {
            let client_hash = stable_hash(key);
            for (name, product) in client.products.entries_mut() {
                for (row_key, row) in product.rows.entries_mut() {
                    let (product, row_key) = (stable_hash(name), row_key.stable_hash());
                    let row_hash = RowHash { client: client_hash, product, row_key };
                    row.show(|row| additions.add_to_row(stable_hash(&row_hash), row));
                }
            }
        }
    }

    /// Iterates over all clients, including the overflow that sums the evicted clients.
    fn each_client(&mut self) -> impl Iterator<Item = &mut Client> {
        self.evict_rows();
        self.by_key.values_mut()
    }

    /// Calls `show` for each row, in no order. Skips overflow rows that have no row key.
    pub(crate) fn each_row(&mut self, mut show: impl FnMut(&RowKey, &Row)) {
        for client in self.each_client() {
            for product in client.products.values_mut() {
                for (row_key, row) in product.rows.entries_mut() {
                    row.show(|row| show(row_key, row));
                }
            }
        }
    }

    /// Calls `show` for each row key with the number of its RequestReceived events, in no order.
    pub(crate) fn each_received(&mut self, mut show: impl FnMut(&RowKey, u64)) {
        for client in self.each_client() {
            for product in client.products.values_mut() {
                for (row_key, begun) in product.begun.entries_mut() {
                    begun.show(|begun| show(row_key, begun.received()));
                }
            }
        }
    }

    /// Whether a request's client is evicted.
    pub(super) fn is_evicted(&self, request: &Request<'_>) -> bool {
        self.by_key.is_evicted(request.client.client_hash, || rank(&request.client.client_ref()))
    }

    /// Returns the kept clients in no order, and the overflow.
    #[must_use]
    pub fn into_parts(mut self) -> (Vec<(ClientKey, Client)>, Option<Client>) {
        self.evict_rows();
        self.by_key.into_parts()
    }

    pub fn entries(&mut self) -> impl Iterator<Item = (&ClientKey, &Client)> {
        self.evict_rows();
        self.by_key.entries()
    }
}

impl Merge for Clients {
    fn merge(&mut self, other: Self) {
        self.by_key.merge(other.by_key);
        self.added += other.added;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_cutoff_leaves_room_for_later_clients() {
        let weight = |hash| (0, hash);
        assert_eq!(row_cutoff(vec![(weight(5), 2), (weight(9), 2)], 3), Some(weight(8)));
        assert_eq!(row_cutoff(vec![(weight(5), 4), (weight(9), 1)], 3), Some(weight(5)));
        assert_eq!(row_cutoff(vec![(weight(5), 2), ((1, 0), 2)], 3), Some(weight(u64::MAX)));
        assert_eq!(row_cutoff(vec![(weight(9), 1), (weight(5), 2)], 3), None);
    }
}
