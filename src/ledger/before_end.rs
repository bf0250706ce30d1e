//! Events of requests before their end: RequestReceived, and a ResponseStarted that counts no request.
//!
//! They are counted apart from the rows of requests. Such an event does not say how the server answered, and the
//! RequestReceived event of an impersonated request does not say as whom it acts. In the rows it would make shapes
//! without a request, which would take places from shapes that have some.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Merge, Product, Row};
use crate::k8s::Stage;
use crate::requests::{Answer, Request, RowKey};

/// The events of one request shape.
#[derive(Debug, Default)]
pub struct EventsBeforeEnd {
    /// All events.
    events: u64,
    /// Events at RequestReceived.
    received: u64,
    /// A request of the shape ended, and its RequestReceived event was next to it or the shape has a row.
    has_ended: bool,
    /// Evidence, which is needed only if no request of the shape ended. `None` once one did.
    row: Option<Box<Row>>,
}

impl EventsBeforeEnd {
    /// Counts the RequestReceived event of a request whose end is counted too.
    pub(super) fn add_of_ended(&mut self) {
        self.events += 1;
        self.received += 1;
        self.end();
    }

    /// Takes note that a row of the shape holds evidence.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.row = None;
    }

    /// Counts an event whose request may never end.
    pub(super) fn add(&mut self, request: &Request<'_>) {
        self.events += 1;
        self.received += u64::from(request.stage == Stage::RequestReceived);
        if !self.has_ended {
            self.row.get_or_insert_default().observe(request);
        }
    }

    /// Takes note of another copy of an event that was counted.
    pub(super) fn show(&mut self, request: &Request<'_>) {
        if !self.has_ended {
            self.row.get_or_insert_default().show(request);
        }
    }

    /// Whether it holds evidence of its own.
    #[cfg(test)]
    pub(super) fn has_evidence(&self) -> bool {
        self.row.is_some()
    }

    /// Events at RequestReceived.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// The row of a shape without an ended request.
    fn into_row(self) -> Box<Row> {
        let mut row = self.row.unwrap_or_default();
        (row.events, row.received) = (self.events, self.received);
        row
    }

    /// Adds the events to a row. Evidence stays behind: how much there is depends on where blocks end.
    fn give_to(self, row: &mut Row) {
        row.events += self.events;
        row.received += self.received;
    }

    /// Adds the events to the rows of the same shape. Each request has one RequestReceived event; the first row gets
    /// what is left.
    fn give(self, rows: &mut [(RowKey, Box<Row>)], of_shape: &[usize]) {
        let mut left = self.received;
        for at in of_shape {
            let row = &mut rows[*at].1;
            let own = left.min(row.requests(false));
            row.received += own;
            row.events += own;
            left -= own;
        }
        if let Some(first) = of_shape.first() {
            let row = &mut rows[*first].1;
            row.received += left;
            row.events += left + (self.events - self.received);
        }
    }
}

impl Merge for EventsBeforeEnd {
    fn merge(&mut self, other: Self) {
        self.events += other.events;
        self.received += other.received;
        self.has_ended |= other.has_ended;
        match other.row {
            _ if self.has_ended => self.row = None,
            Some(row) => self.row.get_or_insert_default().merge(row),
            None => {}
        }
    }
}

/// The rows of a product, with the events of [`EventsBeforeEnd`].
#[derive(Debug, Default)]
pub struct ProductRows {
    /// The rows that are kept apart. Those with the most requests come first.
    pub rows: Vec<(RowKey, Box<Row>)>,
    /// What all other rows are folded into.
    pub overflow: Option<Box<Row>>,
}

impl ProductRows {
    /// Adds the events to the rows of their shapes. A shape without a row gets one: its requests did not end in the log,
    /// or they ended as another user. With `received_only`, no request did, and these are the rows.
    #[must_use]
    pub fn of(product: Product, received_only: bool) -> Self {
        let Product { rows, begun, .. } = product;
        let (rows, overflow) = rows.into_parts();
        let mut rows: Vec<(RowKey, Box<Row>)> =
            rows.into_iter().map(|(shape, row)| (shape, Box::new(row.into_inner()))).collect();
        let mut overflow: Option<Box<Row>> = overflow.map(|row| Box::new(row.into_inner()));
        let by_requests = |rows: &mut Vec<(RowKey, Box<Row>)>| {
            rows.sort_by_cached_key(|(shape, row)| {
                (std::cmp::Reverse(row.requests(received_only)), shape.stable_hash())
            });
        };
        by_requests(&mut rows);
        let mut by_shape: HashMap<u64, Vec<usize>, FxBuildHasher> = HashMap::default();
        for (at, (shape, _)) in rows.iter().enumerate() {
            by_shape.entry(begun_hash(shape)).or_default().push(at);
        }
        let (begun, rest_begun) = begun.into_parts();
        let known = rows.len();
        for (shape, begun) in begun {
            let begun = begun.into_inner();
            let hash = begun_hash(&shape);
            let folded = || by_shape.get(&begun_hash(&shape.without_names()));
            match (by_shape.get(&hash).or_else(folded), &mut overflow) {
                (Some(of_shape), _) => begun.give(&mut rows[..known], of_shape),
                // The requests of the shape may be among those that are folded.
                (None, Some(overflow)) => begun.give_to(overflow),
                (None, None) => rows.push((shape, begun.into_row())),
            }
        }
        if let Some(begun) = rest_begun {
            let (begun, overflow) = (begun.into_inner(), overflow.get_or_insert_default());
            if received_only {
                overflow.merge(begun.into_row());
            } else {
                begun.give_to(overflow);
            }
        }
        by_requests(&mut rows);
        Self { rows, overflow }
    }
}

/// The hash of a shape by which its events before the end are counted: that without a status.
fn begun_hash(shape: &RowKey) -> u64 {
    RowKey { answer: Answer::Served, ..shape.clone() }.stable_hash()
}
