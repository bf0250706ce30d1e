//! Mergeable numbers per client and shape. Integers only; every part merges in any order to the same result.

pub mod activity;
pub mod apf;
pub mod bounded;
pub mod counts;
pub mod etcd;
pub mod exemplar;
pub mod histogram;
pub mod index;
pub mod input;
pub mod live;
pub mod lives;
mod load;
mod packed;
pub mod row;
pub mod row_name;
pub mod seen;
mod sorted;
pub mod targets;
pub mod timeline;
pub mod traces;
pub mod versions;
pub mod waiting;

use hashbrown::Equivalent;

pub use activity::{Activity, Gap};
pub use apf::Flows;
pub use bounded::{Bounded, DistinctSet, Seat};
pub use counts::{Deprecated, Items, Observed, Statuses};
pub use etcd::{EtcdLines, EtcdLog};
pub use exemplar::{Exemplar, Exemplars};
pub use histogram::Histogram;
pub use index::{Additions, Index};
pub use input::{InputCounts, SkipAt, SourceCounts};
pub use lives::{Followed, Kept, Life};
pub use load::{Busiest, Load, Step};
pub use row::Row;
pub use row_name::RowName;
pub use seen::{Dedup, Seen};
pub use targets::Targets;
pub use timeline::Timeline;
pub use traces::Traces;
pub use versions::{ServerTimeline, VersionEvidence};
pub use waiting::Waiting;

use crate::apiserver::Target;
use crate::classify::{ClientRef, Request, Shape, ShapeRef, stable_hash};
use crate::decode::klog::TraceFragment;
use crate::input::Place;
use crate::k8s::identity::service_account;
use crate::k8s::text::prefix;
use crate::k8s::user_agent::Form;
use crate::k8s::{self, AddressClass, Kind, Verb, pod_name};

/// A commutative and associative sum.
pub trait Merge {
    /// Adds the other's numbers to this one's.
    fn merge(&mut self, other: Self);
}

/// Identities that are counted apart. Authenticated names are given out by the cluster's operators, so there are
/// as many as the cluster has users.
pub const MAX_CLIENTS: usize = 20_000;
/// Products of one identity that are counted apart. A product is the client's to choose.
pub const MAX_PRODUCTS: usize = 16;
/// Shapes of one product of one identity that are counted apart. A resource's name is the client's to choose.
pub const MAX_SHAPES: usize = 1_024;
/// Nodes, pods, workloads or namespaces of one identity that are told apart.
pub const MAX_DISTINCT: usize = 16_384;
/// The longest user agent that is kept as an example, in bytes.
const MAX_AGENT: usize = 160;

/// Everything that a run has counted.
#[derive(Debug)]
pub struct Ledger {
    /// What was read.
    pub input: InputCounts,
    /// What the log says of the server's version.
    pub versions: VersionEvidence,
    /// The clients.
    pub clients: Bounded<ClientKey, Client>,
    /// The server's traces of slow requests.
    pub traces: Traces,
    /// What each instance read and watched.
    pub kept: Kept,
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

/// How many askers' seats are remembered.
const SEATS: usize = 1 << 10;

impl Default for Ledger {
    fn default() -> Self {
        Self {
            input: InputCounts::default(),
            versions: VersionEvidence::default(),
            clients: Bounded::new(MAX_CLIENTS),
            traces: Traces::default(),
            kept: Kept::default(),
            seats: Vec::new(),
        }
    }
}

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
fn rank(client: &ClientRef<'_>) -> u8 {
    match client.kind {
        Kind::UserAgent if k8s::Product::of(client.identity).form == Form::Known => 1,
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

/// One identity.
#[derive(Debug)]
pub struct Client {
    /// Its requests by the product of its user agent.
    pub products: Bounded<Box<str>, Product>,
    /// The nodes it was seen on: of its tokens, or for kubelets its own.
    pub nodes: DistinctSet,
    /// The pods its tokens were bound to.
    pub pods: DistinctSet,
    /// The workloads of these pods, as their names tell.
    pub workloads: DistinctSet,
    /// The namespaces that its requests name, other than for its own upkeep: see [`is_upkeep`].
    pub namespaces: DistinctSet,
}

/// Whether a request tells nothing of where its client works: a Lease, of whatever namespace; and in a
/// `ServiceAccount`'s own namespace what it looks up there, its configuration, certificates, events and elections.
fn is_upkeep(request: &Request<'_>, namespace: &str) -> bool {
    let Target::Resource { group, resource, .. } = request.asked().target else { return false };
    if (group, resource) == ("coordination.k8s.io", "leases") {
        return true;
    }
    let is_lookup = request.question.asked.verb == Verb::Get
        || matches!(resource, "configmaps" | "secrets" | "events" | "endpoints" | "endpointslices");
    is_lookup && service_account(request.asker.identity()).is_some_and(|(own, _)| own == namespace)
}

impl Default for Client {
    fn default() -> Self {
        Self {
            products: Bounded::new(MAX_PRODUCTS),
            nodes: DistinctSet::new(MAX_DISTINCT),
            pods: DistinctSet::new(MAX_DISTINCT),
            workloads: DistinctSet::new(MAX_DISTINCT),
            namespaces: DistinctSet::new(MAX_DISTINCT),
        }
    }
}

impl Merge for Client {
    fn merge(&mut self, other: Self) {
        self.products.merge(other.products);
        self.nodes.merge(other.nodes);
        self.pods.merge(other.pods);
        self.workloads.merge(other.workloads);
        self.namespaces.merge(other.namespaces);
    }
}

/// One product of an identity.
#[derive(Debug)]
pub struct Product {
    /// A user agent of it: the least in the order of bytes.
    pub example: Box<str>,
    /// Hash of the user agent that was seen last; most are the same again.
    last_agent: u64,
    /// Its requests by shape. A row has its own memory: a table's slots stand half empty.
    pub rows: Bounded<Shape, Box<Row>>,
}

impl Default for Product {
    fn default() -> Self {
        Self { example: Box::default(), last_agent: 0, rows: Bounded::new(MAX_SHAPES) }
    }
}

impl Product {
    fn note_agent(&mut self, agent: &str, hash: u64) {
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
    fn merge(&mut self, other: Self) {
        self.note_agent(&other.example, stable_hash(&*other.example));
        self.rows.merge(other.rows);
    }
}

impl Ledger {
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
        if row.observe(request) || is_mixed {
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

    /// Keeps of a request what patterns over time are rebuilt from.
    pub fn follow(&mut self, request: &Request<'_>, row: RowName) {
        self.kept.note(row, request);
    }

    /// Takes note of another copy of an event that was counted: the evidence that is shown must not depend on which
    /// of them came first.
    pub fn observe_copy(&mut self, request: &Request<'_>) {
        self.row(request, RowName::of(request)).row.show(request);
    }

    /// Where a request is counted.
    fn row(&mut self, request: &Request<'_>, name: RowName) -> Counted<'_> {
        let (client_seat, product_seat) = self.seats(request, name);
        let client = self.clients.at(client_seat);
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
            && let Some(client) = self.clients.seated(known.client)
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
        let client_seat = self.clients.seat_of(
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
        let client = self.clients.at(client_seat);
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

    /// A hash of the row that a request belongs to.
    #[must_use]
    pub fn row_hash(request: &Request<'_>) -> u64 {
        stable_hash(&RowName::of(request))
    }

    /// Adds to rows what another log tells of their requests.
    pub fn add(&mut self, mut additions: Additions) {
        if additions.is_empty() {
            return;
        }
        for (key, client) in self.clients.kept_mut() {
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

    /// Counts one line of a trace.
    pub fn observe_trace(&mut self, place: Place, fragment: &TraceFragment<'_>) {
        self.traces.observe(place, fragment);
    }
}

impl Merge for Ledger {
    fn merge(&mut self, other: Self) {
        self.input.merge(other.input);
        self.versions.merge(other.versions);
        self.traces.merge(other.traces);
        let (clients, kept) = (&mut self.clients, &mut self.kept);
        rayon::join(|| clients.merge_side_by_side(other.clients), || kept.merge(other.kept));
    }
}
