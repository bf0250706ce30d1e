//! Events before the end of a request: RequestReceived events, and ResponseStarted events that do not count as a
//! request.
//!
//! These events have their own table, because they lack parts of the row key. They have no response status. The
//! RequestReceived event of an impersonated request does not name the impersonated user. In the table of rows, they
//! would add rows without requests, and evict rows that have requests.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Merge, Product, Row};
use crate::k8s::Stage;
use crate::requests::{Request, RowKey, StatusClass};

/// The events of requests whose row keys differ only in the response class.
#[derive(Debug, Default)]
pub struct EventsBeforeEnd {
    events: u64,
    received: u64,
    /// True if a request with this key ended: its RequestReceived event was next to a later event, or the key has a
    /// row.
    has_ended: bool,
    /// Evidence for a key without ended requests. `None` after a request with this key ended.
    row: Option<Box<Row>>,
}

impl EventsBeforeEnd {
    /// Counts the RequestReceived event of a request that ended.
    pub(super) fn add_of_ended(&mut self) {
        self.events += 1;
        self.received += 1;
        self.end();
    }

    /// Records that a request with this key ended. The evidence is then no longer needed.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.row = None;
    }

    /// Counts an event of a request that may never end.
    pub(super) fn add(&mut self, request: &Request<'_>) {
        self.events += 1;
        self.received += u64::from(request.stage == Stage::RequestReceived);
        if !self.has_ended {
            self.row.get_or_insert_default().observe(request);
        }
    }

    /// Records a duplicate of a counted event. The duplicate may become evidence, but does not count.
    pub(super) fn show(&mut self, request: &Request<'_>) {
        if !self.has_ended {
            self.row.get_or_insert_default().show(request);
        }
    }

    #[cfg(test)]
    pub(super) fn has_evidence(&self) -> bool {
        self.row.is_some()
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Creates the row of a key without ended requests.
    fn into_row(self) -> Box<Row> {
        let mut row = self.row.unwrap_or_default();
        (row.events, row.received) = (self.events, self.received);
        row
    }

    /// Adds the event counts to a row. Drops the evidence, because it depends on block boundaries.
    fn give_to(self, row: &mut Row) {
        row.events += self.events;
        row.received += self.received;
    }

    /// Distributes the events over the rows with the same key. Each request gets one RequestReceived event. The first
    /// row also gets the events that are left.
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

/// The rows of a product, after the events of [`EventsBeforeEnd`] were added to them.
#[derive(Debug, Default)]
pub struct ProductRows {
    /// Sorted by number of requests, largest first.
    pub rows: Vec<(RowKey, Box<Row>)>,
    /// The sum of all evicted rows; `None` if no row was evicted.
    pub overflow: Option<Box<Row>>,
}

impl ProductRows {
    /// Adds the events of each key to the rows with this key. A key without a row gets a new row: its requests did not
    /// end in the log, or they ended as another user. With `received_only`, no request ended, so all rows are new.
    #[must_use]
    pub fn of(product: Product, received_only: bool) -> Self {
        let Product { rows, begun, .. } = product;
        let (rows, overflow) = rows.into_parts();
        let mut rows: Vec<(RowKey, Box<Row>)> =
            rows.into_iter().map(|(row_key, row)| (row_key, Box::new(row.into_inner()))).collect();
        let mut overflow: Option<Box<Row>> = overflow.map(|row| Box::new(row.into_inner()));
        let by_requests = |rows: &mut Vec<(RowKey, Box<Row>)>| {
            rows.sort_by_cached_key(|(row_key, row)| {
                (std::cmp::Reverse(row.requests(received_only)), row_key.stable_hash())
            });
        };
        by_requests(&mut rows);
        let mut by_shape: HashMap<u64, Vec<usize>, FxBuildHasher> = HashMap::default();
        for (at, (row_key, _)) in rows.iter().enumerate() {
            by_shape.entry(begun_hash(row_key)).or_default().push(at);
        }
        let (begun, rest_begun) = begun.into_parts();
        let known = rows.len();
        for (row_key, begun) in begun {
            let begun = begun.into_inner();
            let hash = begun_hash(&row_key);
            let folded = || by_shape.get(&begun_hash(&row_key.without_names()));
            match (by_shape.get(&hash).or_else(folded), &mut overflow) {
                (Some(of_shape), _) => begun.give(&mut rows[..known], of_shape),
                // The ended requests with this key may be in the overflow row.
                (None, Some(overflow)) => begun.give_to(overflow),
                (None, None) => rows.push((row_key, begun.into_row())),
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

/// The hash of the row key without the response class.
fn begun_hash(row_key: &RowKey) -> u64 {
    RowKey { status_class: StatusClass::Served, ..row_key.clone() }.stable_hash()
}
