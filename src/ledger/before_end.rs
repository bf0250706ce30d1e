//! Events before the end of a request: RequestReceived events, and ResponseStarted events of requests that are not
//! long-running. A ResponseStarted event with status 401 is not one of them: it is the last event of its request.
//!
//! These events have their own table, because they lack parts of the row key. A RequestReceived event has no response
//! status. If the request is impersonated, this event does not name the impersonated user. In the table of rows, such
//! events would add rows without requests. These rows would evict rows that have requests.

use super::merge::merge_fields;
use super::{Merge, Row};
use crate::k8s::Stage;
use crate::requests::{Request, RowKey};

/// Counts the events before the end, for all requests whose row keys differ only in the response class.
#[derive(Debug, Default)]
pub(crate) struct EventsBeforeEnd {
    events: u64,
    received: u64,
    /// True if a request with this key ended. This is known if the request's RequestReceived event was paired with a
    /// later event, or if the key has a row.
    has_ended: bool,
    /// A row with the exemplars of these events, for a key without ended requests. `None` after a request with this
    /// key ended.
    row: Option<Box<Row>>,
}

impl EventsBeforeEnd {
    /// Counts the RequestReceived event of a request that ended.
    pub(super) fn add_of_ended(&mut self) {
        self.events += 1;
        self.received += 1;
        self.end();
    }

    /// Records that a request with this key ended. The exemplars of its earlier events are then no longer needed.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.row = None;
    }

    /// Counts an event of a request whose end is unknown, because the log may not contain it.
    pub(super) fn add(&mut self, request: &Request<'_>) {
        self.events += 1;
        self.received += u64::from(request.stage == Stage::RequestReceived);
        if !self.has_ended {
            self.row.get_or_insert_default().observe(request);
        }
    }

    /// Records a duplicate of a counted event. The duplicate does not count, but it may become an exemplar.
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
    pub(super) fn into_row(self) -> Box<Row> {
        let mut row = self.row.unwrap_or_default();
        (row.events, row.received) = (self.events, self.received);
        row
    }

    /// Adds the event counts to a row. Drops the exemplars, because they depend on the boundaries of blocks. The
    /// reason is that a RequestReceived event is only paired with events of the same block.
    pub(super) fn add_to_row(self, row: &mut Row) {
        row.events += self.events;
        row.received += self.received;
    }

    /// Distributes the events over the rows whose keys differ only in the response class. `with_key` contains the
    /// indexes of these rows. A row gets at most one RequestReceived event for each of its requests. The first row
    /// also gets the remaining events.
    pub(super) fn distribute(self, rows: &mut [(RowKey, Box<Row>)], with_key: &[usize]) {
        let mut left = self.received;
        for at in with_key {
            let row = &mut rows[*at].1;
            let own = left.min(row.requests(false));
            row.received += own;
            row.events += own;
            left -= own;
        }
        if let Some(first) = with_key.first() {
            let row = &mut rows[*first].1;
            row.received += left;
            row.events += left + (self.events - self.received);
        }
    }
}

impl Merge for EventsBeforeEnd {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: events, received, has_ended, row);
        if self.has_ended {
            self.row = None;
        }
    }
}
