//! Numbers for the rows that rules evaluate. Rows with the same data share a number.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::facts::RowFacts;
use crate::apiserver::ServedFrom;
use crate::judged::{ClientSummary, JudgedClients, ShapeKey};

#[derive(Debug, Clone, Copy)]
pub(super) struct RowIds {
    /// The index of the client.
    pub(super) client: u32,
    /// The number of the shape, unique over all clients.
    pub(super) shape: u32,
    /// The number of the request shape and verdict, which determine `request.*` and `server.*`. All clients with this
    /// shape and verdict share the number.
    pub(super) request_id: u32,
    /// The number of the client and product, which determine `client.*`.
    pub(super) client_id: u32,
}

#[derive(Default)]
pub(super) struct IndexedRows<'a> {
    pub(super) facts: Vec<RowFacts<'a>>,
    /// The ids of each row, by its index.
    pub(super) ids: Vec<RowIds>,
    /// For each request id: the index of one of its rows, and a number for its resource.
    pub(super) requests: Vec<(u32, u32)>,
    /// For each client id: the index of one of its rows.
    pub(super) clients: Vec<u32>,
}

impl<'a> IndexedRows<'a> {
    pub(super) fn new(judged: &'a JudgedClients) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut indexed = Self::default();
        let mut requests: HashMap<_, u32, FxBuildHasher> = HashMap::default();
        let mut resources: HashMap<&str, u32, FxBuildHasher> = HashMap::default();
        let mut clients: HashMap<&str, u32, FxBuildHasher> = HashMap::default();
        let mut shape = 0;
        for (client_index, client) in judged.clients.iter().enumerate() {
            clients.clear();
            let mut shapes = ShapeIds { alike: Vec::new(), next: shape };
            let is_upgraded = has_versions(client);
            for (key, shape_summary) in &client.shapes {
                let shape = shapes.number(key, is_upgraded);
                let spec = shape_summary.request_shape.as_deref().map(std::ptr::from_ref);
                // Shape keys and requests are interned, so pointers identify them.
                let request_id =
                    (std::ptr::from_ref(&**key), spec, shape_summary.certainty(), shape_summary.long_running);
                let row = number(indexed.facts.len());
                let request_id = *requests.entry(request_id).or_insert_with(|| {
                    let next = number(resources.len());
                    let resource = key.resource.as_deref().unwrap_or_default();
                    indexed.requests.push((row, *resources.entry(resource).or_insert(next)));
                    number(indexed.requests.len() - 1)
                });
                for product_row in &shape_summary.rows {
                    let client_id = *clients.entry(&product_row.product).or_insert_with(|| {
                        indexed.clients.push(number(indexed.facts.len()));
                        number(indexed.clients.len() - 1)
                    });
                    indexed.facts.push(RowFacts::new(judged, client, (key, shape_summary), product_row));
                    indexed.ids.push(RowIds { client: number(client_index), shape, request_id, client_id });
                }
            }
            shape = shapes.next;
        }
        indexed
    }
}

/// Whether servers of different versions served a client.
fn has_versions(client: &ClientSummary) -> bool {
    let mut versions = client.shapes.keys().map(|key| key.kube_version);
    versions.next().is_some_and(|first| versions.any(|other| other != first))
}

/// Assigns numbers to the shapes of a client, in their order.
struct ShapeIds<'a> {
    /// The preceding shapes with the same verb, resource and parameters, each with its number.
    alike: Vec<(&'a ShapeKey, u32)>,
    next: u32,
}

impl<'a> ShapeIds<'a> {
    /// Returns the number of the next shape.
    ///
    /// After an upgrade, a request has one shape for each server version. These shapes get the same number, so
    /// that rules evaluate them together.
    fn number(&mut self, key: &'a ShapeKey, is_upgraded: bool) -> u32 {
        if !is_upgraded {
            self.next += 1;
            return self.next - 1;
        }
        let is_other =
            |before: &ShapeKey| before.request() != key.request() || before.misspelled != key.misspelled;
        if self.alike.last().is_some_and(|(before, _)| is_other(before)) {
            self.alike.clear();
        }
        let end = |key: &ShapeKey| (key.served_from == ServedFrom::Rejected, key.rejected);
        let mut same = self
            .alike
            .iter()
            .filter(|(before, _)| before.kube_version != key.kube_version && end(before) == end(key));
        let number = same.next().map_or(self.next, |(_, number)| *number);
        self.next = self.next.max(number + 1);
        self.alike.push((key, number));
        number
    }
}
