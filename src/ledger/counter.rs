//! One worker's way to the rows that all workers count into. Most requests belong to rows that it counted into a short
//! while ago: these it remembers, and comes to them without the tables of clients, products and shapes.
//!
//! The naive twin is going through the tables each time.

use super::client::namespace_of;
use super::{RowName, SharedLedger, SharedRow};
use crate::classify::{Request, stable_hash};

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
    rows: Vec<Option<(RowName, SharedRow)>>,
    /// Askers that their clients know of, by what they are known by.
    askers: Vec<u64>,
    /// Namespaces that are noted, by their hashes with their clients'.
    namespaces: Vec<(u64, u64)>,
}

impl<'c> Counter<'c> {
    /// A worker's.
    #[must_use]
    pub fn new(shared: &'c SharedLedger) -> Self {
        Self { shared, rows: Vec::new(), askers: Vec::new(), namespaces: Vec::new() }
    }

    /// Counts one event of a request. Returns the name of its row.
    pub fn observe(&mut self, request: &Request<'_>) -> RowName {
        self.observe_with(None, request)
    }

    /// Counts the event of a request's arrival, if there is one, and another event of the request.
    pub fn observe_with(&mut self, arrival: Option<&Request<'_>>, request: &Request<'_>) -> RowName {
        // They share asker and question.
        let is_other_row =
            |arrival: &&Request<'_>| (arrival.answer, arrival.era) != (request.answer, request.era);
        let other_row = arrival.filter(is_other_row);
        if let Some(arrival) = other_row {
            self.observe(arrival);
        }
        let arrival = arrival.filter(|_| other_row.is_none());
        let name = RowName::of(request);
        let row = place_of(name.hash(), ROWS);
        let asker = request.asker_key();
        let asker_place = place_of(asker, ASKERS);
        if let Some(Some((own, known))) = self.rows.get(row)
            && *own == name
            && self.askers[asker_place] == asker
            && let Some(is_new_target) = known.count(|row| row.observe_with(arrival, request))
        {
            if is_new_target == Some(true) {
                self.note_namespace(request);
            }
            return name;
        }
        let own = self.shared.clients.observe_with(arrival, request, name);
        self.rows.resize_with(ROWS, || None);
        self.askers.resize(ASKERS, 0);
        self.rows[row] = own.map(|own| (name, own));
        self.askers[asker_place] = asker;
        name
    }

    /// Takes note of another copy of an event that was counted.
    pub fn observe_copy(&self, request: &Request<'_>) {
        self.shared.clients.observe_copy(request);
    }

    /// Keeps of a request of a row what patterns over time are rebuilt from.
    pub fn follow(&self, request: &Request<'_>, row: RowName) {
        self.shared.kept.note(row, request);
    }

    fn note_namespace(&mut self, request: &Request<'_>) {
        let Some(namespace) = namespace_of(request) else { return };
        let noted = (request.asker.client_hash, stable_hash(namespace));
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
