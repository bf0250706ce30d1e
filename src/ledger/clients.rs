//! Clients and the rows of their requests.

use super::client::{is_upkeep, rank};
use super::{Additions, Bounded, Client, ClientKey, DistinctSet, Merge, Row, RowName, Seat};
use crate::classify::{Request, Shape, ShapeRef, stable_hash};
use crate::k8s::pod_name;
use crate::k8s::user_agent::Form;

/// Identities that are counted apart. Authenticated names are given out by the cluster's operators, so there are
/// as many as the cluster has users.
pub const MAX_CLIENTS: usize = 20_000;
/// How many askers' seats are remembered.
const SEATS: usize = 1 << 7;

/// All clients.
#[derive(Debug)]
pub struct Clients {
    pub(super) by_key: Bounded<ClientKey, Client>,
    /// Where the last askers are counted, by what they are known by.
    seats: Vec<AskerSeat>,
}

/// Where a request is counted.
struct Counted<'l> {
    row: &'l mut Row,
    /// The namespaces that its client names.
    namespaces: &'l mut DistinctSet,
    /// It stands for requests that are not told apart by client, product and shape.
    is_mixed: bool,
}

/// Where an asker is counted.
#[derive(Debug, Clone, Copy, Default)]
struct AskerSeat {
    /// See [`Request::asker_key`]; 0 for none.
    asker: u64,
    client: Seat,
    product: Seat,
}

impl Default for Clients {
    fn default() -> Self {
        Self::new(MAX_CLIENTS)
    }
}

impl Clients {
    /// No clients, of which so many will be kept apart.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        Self { by_key: Bounded::new(bound), seats: Vec::new() }
    }

    /// Counts one event of a request. Returns the name of its row.
    pub fn observe(&mut self, request: &Request<'_>) -> RowName {
        self.observe_with(None, request)
    }

    /// Counts the event of a request's arrival, if there is one, and another event of the request.
    pub fn observe_with(&mut self, arrival: Option<&Request<'_>>, request: &Request<'_>) -> RowName {
        let name = RowName::of(request);
        // They share asker and question.
        let is_other_row =
            |arrival: &&Request<'_>| (arrival.answer, arrival.era) != (request.answer, request.era);
        let other_row = arrival.filter(is_other_row);
        if let Some(arrival) = other_row {
            self.observe(arrival);
        }
        let Counted { row, namespaces, is_mixed } = self.row(request, name);
        // Where requests of all kinds are counted together, of one target some may be upkeep and some not.
        if row.observe(request).is_some_and(|is_new| is_new || is_mixed) {
            let namespace = request.question.namespace;
            if !namespace.is_empty() && !is_upkeep(request, namespace) {
                namespaces.insert(namespace);
            }
        }
        if let Some(arrival) = arrival.filter(|_| other_row.is_none()) {
            row.observe(arrival);
        }
        name
    }

    /// Takes note of another copy of an event that was counted: the evidence that is shown must not depend on which
    /// of them came first.
    pub fn observe_copy(&mut self, request: &Request<'_>) {
        self.row(request, RowName::of(request)).row.show(request);
    }

    /// Where a request is counted.
    fn row(&mut self, request: &Request<'_>, name: RowName) -> Counted<'_> {
        let (client_seat, product_seat) = self.seats(request, name);
        let client = self.by_key.at(client_seat);
        let rows = &mut client.products.at(product_seat).rows;
        let seat = rows.seat_of(
            name.shape,
            &ShapeRef::of(request),
            || 0,
            || Shape { asked: request.question.asked.clone(), answer: request.answer, era: request.era },
        );
        let is_mixed = client_seat.is_none() || product_seat.is_none() || seat.is_none();
        Counted { row: rows.at(seat), namespaces: &mut client.namespaces, is_mixed }
    }

    /// The seats of a request's client and of its product there. What the asker tells of its client is noted once.
    fn seats(&mut self, request: &Request<'_>, name: RowName) -> (Option<Seat>, Option<Seat>) {
        let asker = request.asker_key();
        let slot = usize::try_from(asker % SEATS as u64).expect("smaller than their number");
        if let Some(known) = self.seats.get(slot).filter(|known| known.asker == asker)
            && let Some(client) = self.by_key.seated(known.client)
            && client.products.seated(known.product).is_some()
        {
            return (Some(known.client), Some(known.product));
        }
        let seats = self.enter(request, name);
        if let (Some(client), Some(product)) = seats {
            self.seats.resize(SEATS, AskerSeat::default());
            self.seats[slot] = AskerSeat { asker, client, product };
        }
        seats
    }

    /// Enters a request's client and its product.
    fn enter(&mut self, request: &Request<'_>, name: RowName) -> (Option<Seat>, Option<Seat>) {
        let asker = request.asker;
        let key = asker.client();
        let client_seat = self.by_key.seat_of(
            name.client,
            &key,
            || rank(&key),
            || ClientKey {
                kind: key.kind,
                identity: key.identity.into(),
                impersonator: key.impersonator.map(Into::into),
                address: key.address,
            },
        );
        let client = self.by_key.at(client_seat);
        if let Some(node) = asker.node() {
            client.nodes.insert_of(asker.node_hash, node);
        }
        if let Some(pod) = asker.pod().filter(|pod| client.pods.insert_of(asker.pod_hash, pod)) {
            client.workloads.insert(pod_name::workload(pod));
        }
        let product = asker.product();
        let product_rank = || match product.form {
            Form::Known => 0,
            Form::Versioned => 1,
            Form::Bare | Form::Unnamed => 2,
        };
        let product_seat =
            client.products.seat_of(name.product, product.name, product_rank, || product.name.into());
        client.products.at(product_seat).note_agent(asker.user_agent(), asker.agent_hash);
        (client_seat, product_seat)
    }

    /// Adds to rows what another log tells of their requests.
    pub fn add(&mut self, mut additions: Additions) {
        if additions.is_empty() {
            return;
        }
        for (key, client) in self.by_key.kept_mut() {
            let client_hash = stable_hash(key);
            for (name, product) in client.products.kept_mut() {
                for (shape, row) in product.rows.kept_mut() {
                    let (product, shape) = (stable_hash(name), shape.stable_hash());
                    let name = RowName { client: client_hash, product, shape };
                    additions.give(stable_hash(&name), row);
                }
            }
        }
    }

    /// Whether a request is one of a client that is not kept apart.
    pub(super) fn is_folded(&self, request: &Request<'_>) -> bool {
        self.by_key.is_folded(request.asker.client_hash, || rank(&request.asker.client()))
    }

    /// The clients that are kept apart, in no order, and what all others are folded into.
    #[must_use]
    pub fn into_parts(self) -> (Vec<(ClientKey, Client)>, Option<Client>) {
        self.by_key.into_parts()
    }

    /// The clients that are kept apart, in no order.
    pub fn kept(&mut self) -> impl Iterator<Item = (&ClientKey, &Client)> {
        self.by_key.kept()
    }
}

impl Merge for Clients {
    fn merge(&mut self, other: Self) {
        self.by_key.merge(other.by_key);
    }
}
