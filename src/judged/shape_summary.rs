//! The requests of a client in one shape: the verdict, and the counts of each product.

use std::sync::Arc;

use compact_str::CompactString;

use super::agreement::Agreement;
use super::etcd::SlowRead;
use super::shape_key::ShapeKey;
use crate::apiserver::options::Single;
use crate::apiserver::{Certainty, RequestShape, ServedFrom, Verdict};
use crate::cost::{Cost, CostByMinute, Work, page_limit};
use crate::k8s::Verb;
use crate::ledger::{Merge, Row};
use crate::patterns::{ListInterval, Pattern};

/// The requests of a client in one shape.
#[derive(Debug)]
pub struct ShapeSummary {
    /// The request shape of one of the rows. All rows have the same text and verdict, but their request shapes may
    /// differ.
    pub(crate) request_shape: Option<Arc<RequestShape<CompactString>>>,
    pub(crate) verdict: Option<Verdict>,
    /// How certain the verdicts are: the lowest certainty of the rows that have requests. If no row has requests, it
    /// is the lowest certainty of all rows. The first field is true if a row has requests. A merge takes the maximum
    /// of these pairs, so the order of the rows does not matter.
    pub(super) certainty: (bool, Certainty),
    /// True if the durations are lifetimes of watches or connections.
    pub(crate) long_running: bool,
    pub(crate) agreement: Agreement,
    /// The cost of the most expensive request. `None` without an inventory.
    pub(crate) work: Option<Box<Work>>,
    /// The counts by product, sorted by name. Most shapes have one product. A `BTreeMap` would allocate memory for
    /// eleven products.
    pub rows: Vec<ProductRow>,
}

/// The requests of one product in a shape.
#[derive(Debug)]
pub struct ProductRow {
    pub(crate) product: String,
    pub(crate) row: Box<Row>,
    pub(crate) agreement: Agreement,
    pub(crate) pattern: Option<Box<Pattern>>,
    /// When the LISTs of this row ran. Covers only instances with a history. Empty without etcd's log.
    pub(crate) lists: Vec<ListInterval>,
    /// The slow reads in etcd's log that match LISTs of this row.
    pub(crate) slow_reads: Box<[SlowRead]>,
    /// The cost of the requests; `None` without an inventory.
    pub(crate) cost: Option<Box<Cost>>,
    /// The cost by the minute in which requests began. `None` without an inventory, or if the requests cost nothing.
    pub(crate) minutes: Option<Box<CostByMinute>>,
}

impl ShapeSummary {
    pub(super) fn folded() -> Self {
        Self {
            request_shape: None,
            verdict: None,
            certainty: (false, Certainty::Certain),
            long_running: false,
            agreement: Agreement::default(),
            work: None,
            rows: Vec::new(),
        }
    }

    /// The largest number of objects in a response, if the request has a limit that the server honors.
    pub(crate) fn page_limit(&self) -> Option<u64> {
        let shape = self.request_shape.as_ref().filter(|shape| shape.verb == Verb::List)?;
        page_limit(&shape.options, &self.verdict?)
    }

    pub(super) fn may_read_collection(&self, key: &ShapeKey) -> bool {
        let one_key = self.request_shape.as_ref().is_some_and(|shape| shape.options.single == Single::Key);
        key.verb == Some(Verb::List)
            && matches!(key.served_from, ServedFrom::Etcd | ServedFrom::Depends)
            && !one_key
    }

    /// The number of RequestReceived events, and the number of ended requests.
    pub(crate) fn received_and_ended(&self) -> (u64, u64) {
        let rows = self.rows.iter().map(|product_row| &product_row.row);
        rows.fold((0, 0), |(received, ended), row| (received + row.received, ended + row.ended))
    }

    pub(crate) fn certainty(&self) -> Certainty {
        self.certainty.1
    }
}

impl Merge for ProductRow {
    fn merge(&mut self, other: Self) {
        self.row.merge(*other.row);
        self.agreement.merge(other.agreement);
        if let Some(pattern) = other.pattern {
            self.pattern.get_or_insert_default().merge_from(&pattern);
        }
        self.lists.extend(other.lists);
        match (&mut self.cost, other.cost) {
            (Some(own), Some(cost)) => own.merge(*cost),
            (own, cost) => *own = own.take().or(cost),
        }
        if let Some(minutes) = other.minutes {
            self.minutes.get_or_insert_default().merge(*minutes);
        }
    }
}
