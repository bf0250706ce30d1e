//! A worker's cache of handles to shared rows. Most requests belong to rows that the worker counted recently. For
//! these requests, the cache avoids lookups in the tables of clients, products and rows.
//!
//! Tests compare it with [`Clients`](super::Clients), which looks up all tables for each request.

use super::client::namespace_of;
use super::shared_histories::WaitingEntries;
use super::{EventsBeforeEnd, Namespaces, RowHash, SharedLedger, SharedRow};
use crate::requests::{Request, stable_hash};

/// Cache sizes, in entries. Each is a power of two.
const ROWS: usize = 1 << 14;
const CLIENTS: usize = 1 << 13;
const NAMESPACES: usize = 1 << 11;

/// Counts requests into the shared ledger through cached handles.
#[derive(Debug)]
pub(crate) struct Counter<'c> {
    shared: &'c SharedLedger,
    /// The rows of recent requests, in slots chosen by row hash. A cached row is used only if its three hashes are
    /// equal to those of the request. A client needs 2^32 tries to make two of its own rows collide. It needs 2^64
    /// tries to collide with another client's row.
    rows: Vec<Option<(RowHash, SharedRow)>>,
    /// Like `rows`, for events before the end of their request.
    begun: Vec<Option<(RowHash, SharedRow<EventsBeforeEnd>)>>,
    /// Keys of clients whose node, pod and user agent are recorded already.
    clients: Vec<u64>,
    /// Namespaces that are recorded already: hashes of the client and the namespace.
    namespaces: Vec<(u64, u64)>,
    /// The number of distinct objects that requests name, by namespace.
    objects: Namespaces,
    /// Requests that wait for the lock of an instance history.
    waiting: WaitingEntries,
}

impl<'c> Counter<'c> {
    #[must_use]
    pub(crate) fn new(shared: &'c SharedLedger) -> Self {
        Self {
            shared,
            rows: Vec::new(),
            begun: Vec::new(),
            clients: Vec::new(),
            namespaces: Vec::new(),
            objects: Namespaces::default(),
            waiting: WaitingEntries::default(),
        }
    }

    /// Counts one event. Returns the hash of the request's row.
    pub(crate) fn observe(&mut self, request: &Request<'_>) -> RowHash {
        if request.is_before_end() {
            self.begin(request, |begun| begun.add(request));
            return RowHash::new(request);
        }
        let row_hash = RowHash::new(request);
        let row = place_of(row_hash.hash(), ROWS);
        if let Some(Some((own, handle))) = self.rows.get(row)
            && *own == row_hash
            && self.is_noted(request)
            && let Some(is_new_target) = handle.count(|row| row.observe(request))
        {
            if is_new_target == Some(true) {
                self.note_namespace(request);
                self.objects.note(request);
            }
            return row_hash;
        }
        self.objects.note(request);
        let own = self.shared.clients.observe_in(request, row_hash);
        self.rows.resize_with(ROWS, || None);
        self.rows[row] = own.map(|own| (row_hash, own));
        self.note_client(request);
        row_hash
    }

    /// Counts a RequestReceived event and a later event of the same request. Returns the hash of the request's row.
    pub(crate) fn observe_with(&mut self, received: &Request<'_>, request: &Request<'_>) -> RowHash {
        self.begin(received, EventsBeforeEnd::add_of_ended);
        self.observe(request)
    }

    fn begin(&mut self, request: &Request<'_>, count: impl Fn(&mut EventsBeforeEnd)) {
        let row_hash = RowHash::before_end(request);
        let place = place_of(row_hash.hash(), ROWS);
        if let Some(Some((own, handle))) = self.begun.get(place)
            && *own == row_hash
            && self.is_noted(request)
            && handle.count(&count).is_some()
        {
            return;
        }
        let own = self.shared.clients.begin(request, row_hash, count);
        self.begun.resize_with(ROWS, || None);
        self.begun[place] = own.map(|own| (row_hash, own));
        self.note_client(request);
    }

    /// Whether the client's node, pod and user agent are recorded already.
    fn is_noted(&self, request: &Request<'_>) -> bool {
        let client = request.client_key();
        self.clients.get(place_of(client, CLIENTS)) == Some(&client)
    }

    fn note_client(&mut self, request: &Request<'_>) {
        self.clients.resize(CLIENTS, 0);
        let client = request.client_key();
        self.clients[place_of(client, CLIENTS)] = client;
    }

    /// Adds the requests that still wait to the shared histories. Returns the number of distinct objects by namespace.
    #[must_use]
    pub(crate) fn into_namespaces(self) -> Namespaces {
        self.shared.histories.flush(self.waiting);
        self.objects
    }

    /// Records a duplicate of a counted event. The duplicate does not count, but it may become an exemplar.
    pub(crate) fn observe_duplicate(&self, request: &Request<'_>) {
        self.shared.clients.observe_duplicate(request);
    }

    /// Adds the request to the history of its instance, for patterns over time.
    pub(crate) fn follow(&mut self, request: &Request<'_>, row: RowHash) {
        self.shared.histories.note(row, request, &mut self.waiting);
    }

    fn note_namespace(&mut self, request: &Request<'_>) {
        let Some(namespace) = namespace_of(request) else { return };
        let noted = (request.client.client_hash, stable_hash(namespace));
        self.namespaces.resize(NAMESPACES, (0, 0));
        let cached = &mut self.namespaces[place_of(noted.0 ^ noted.1, NAMESPACES)];
        if *cached != noted {
            *cached = noted;
            self.shared.clients.note_namespace(request, namespace);
        }
    }
}

/// The cache slot of a hash. `places` is the number of slots, a power of two.
fn place_of(hash: u64, places: usize) -> usize {
    (hash >> 32) as usize & (places - 1)
}
