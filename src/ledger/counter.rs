//! One worker's way to the rows that all workers count into. Most requests belong to rows that it counted into a short
//! while ago: these it remembers, and comes to them without the tables of clients, products and shapes.
//!
//! The naive twin is going through the tables each time.

use super::client::namespace_of;
use super::{EventsBeforeEnd, Namespaces, RowHash, SharedLedger, SharedRow};
use crate::requests::{Request, stable_hash};

/// How many rows, askers and namespaces are remembered.
const ROWS: usize = 1 << 14;
const ASKERS: usize = 1 << 13;
const NAMESPACES: usize = 1 << 11;

/// Counts requests.
#[derive(Debug)]
pub struct Counter<'c> {
    shared: &'c SharedLedger,
    /// The rows that it counted into last, by their names: hashes, which to choose so that two of one's own names share
    /// them takes 2^32 tries, and a stranger's takes 2^64.
    rows: Vec<Option<(RowHash, SharedRow)>>,
    /// The same of the events before the end of a request.
    begun: Vec<Option<(RowHash, SharedRow<EventsBeforeEnd>)>>,
    /// Askers that their clients know of, by what they are known by.
    askers: Vec<u64>,
    /// Namespaces that are noted, by their hashes with their clients'.
    namespaces: Vec<(u64, u64)>,
    /// How many different objects of each namespace requests name.
    objects: Namespaces,
}

impl<'c> Counter<'c> {
    /// A worker's.
    #[must_use]
    pub fn new(shared: &'c SharedLedger) -> Self {
        Self {
            shared,
            rows: Vec::new(),
            begun: Vec::new(),
            askers: Vec::new(),
            namespaces: Vec::new(),
            objects: Namespaces::default(),
        }
    }

    /// Counts one event of a request. Returns the name of its row.
    pub fn observe(&mut self, request: &Request<'_>) -> RowHash {
        if request.is_before_end() {
            self.begin(request, |begun| begun.add(request));
            return RowHash::new(request);
        }
        let name = RowHash::new(request);
        let row = place_of(name.hash(), ROWS);
        if let Some(Some((own, known))) = self.rows.get(row)
            && *own == name
            && self.is_noted(request)
            && let Some(is_new_target) = known.count(|row| row.observe(request))
        {
            if is_new_target == Some(true) {
                self.note_namespace(request);
                self.objects.note(request);
            }
            return name;
        }
        self.objects.note(request);
        let own = self.shared.clients.observe_in(request, name);
        self.rows.resize_with(ROWS, || None);
        self.rows[row] = own.map(|own| (name, own));
        self.note_asker(request);
        name
    }

    /// Counts the RequestReceived event of a request, and another event of the request that is next to it.
    pub fn observe_with(&mut self, arrival: &Request<'_>, request: &Request<'_>) -> RowHash {
        self.begin(arrival, EventsBeforeEnd::add_of_ended);
        self.observe(request)
    }

    fn begin(&mut self, request: &Request<'_>, count: impl Fn(&mut EventsBeforeEnd)) {
        let name = RowHash::before_end(request);
        let place = place_of(name.hash(), ROWS);
        if let Some(Some((own, known))) = self.begun.get(place)
            && *own == name
            && self.is_noted(request)
            && known.count(&count).is_some()
        {
            return;
        }
        let own = self.shared.clients.begin(request, name, count);
        self.begun.resize_with(ROWS, || None);
        self.begun[place] = own.map(|own| (name, own));
        self.note_asker(request);
    }

    /// Whether the client of a request knows its asker.
    fn is_noted(&self, request: &Request<'_>) -> bool {
        let asker = request.client_key();
        self.askers.get(place_of(asker, ASKERS)) == Some(&asker)
    }

    fn note_asker(&mut self, request: &Request<'_>) {
        self.askers.resize(ASKERS, 0);
        let asker = request.client_key();
        self.askers[place_of(asker, ASKERS)] = asker;
    }

    /// The namespaces of the requests that it counted.
    #[must_use]
    pub fn into_namespaces(self) -> Namespaces {
        self.objects
    }

    /// Takes note of another copy of an event that was counted.
    pub fn observe_copy(&self, request: &Request<'_>) {
        self.shared.clients.observe_copy(request);
    }

    /// Keeps of a request of a row what patterns over time are rebuilt from.
    pub fn follow(&self, request: &Request<'_>, row: RowHash) {
        self.shared.histories.note(row, request);
    }

    fn note_namespace(&mut self, request: &Request<'_>) {
        let Some(namespace) = namespace_of(request) else { return };
        let noted = (request.client.client_hash, stable_hash(namespace));
        self.namespaces.resize(NAMESPACES, (0, 0));
        let known = &mut self.namespaces[place_of(noted.0 ^ noted.1, NAMESPACES)];
        if *known != noted {
            *known = noted;
            self.shared.clients.note_namespace(request, namespace);
        }
    }
}

/// The place that a hash chooses of so many, a power of two.
fn place_of(hash: u64, places: usize) -> usize {
    (hash >> 32) as usize & (places - 1)
}
