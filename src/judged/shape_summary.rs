//! What a client asked in one shape: its verdict, and the numbers of each product.

use std::sync::Arc;

use compact_str::CompactString;

use super::{Agreement, etcd};
use crate::apiserver::{Certainty, RequestShape, Verdict};
use crate::cost::{Cost, Minutes, Work, page_limit};
use crate::k8s::Verb;
use crate::ledger::{Merge, Row};
use crate::patterns::{Listed, Pattern};

/// The rows of one shape.
#[derive(Debug)]
pub struct ShapeSummary {
    /// What is asked: of one of the ledger's shapes. What it and the others differ in is in no word and no verdict.
    pub asked: Option<Arc<RequestShape<CompactString>>>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Of all rows that hold requests the least certain, or of all rows if none does: a total order, as rows come
    /// in none.
    pub(super) certainty: (bool, Certainty),
    /// Durations are lifetimes.
    pub long_running: bool,
    /// How the server's own measurements fit.
    pub agreement: Agreement,
    /// What one of its requests costs, the costliest; `None` without an inventory.
    pub work: Option<Box<Work>>,
    /// The numbers by product, in the order of their names. Most shapes are one product's: a map's node would take
    /// the room of eleven.
    pub rows: Vec<ProductRow>,
}

/// The numbers of one product's requests of a shape.
#[derive(Debug)]
pub struct ProductRow {
    /// The product.
    pub product: String,
    /// The numbers.
    pub row: Box<Row>,
    /// How the server's own measurements fit.
    pub agreement: Agreement,
    /// What the requests show when they are put in order.
    pub pattern: Option<Box<Pattern>>,
    /// Its LISTs, as far as they are followed; none without etcd's own log.
    pub lists: Vec<Listed>,
    /// The slow reads in etcd's own log during which they were.
    pub slow_reads: Box<[etcd::SlowRead]>,
    /// What its requests cost; `None` without an inventory.
    pub cost: Option<Box<Cost>>,
    /// The same by the minutes in which they began; `None` too where they cost nothing.
    pub minutes: Option<Box<Minutes>>,
}

impl ShapeSummary {
    /// The most objects of one answer by the limit that was asked for, if the server honors it.
    #[must_use]
    pub fn page_limit(&self) -> Option<u64> {
        let asked = self.asked.as_ref().filter(|asked| asked.verb == Verb::List)?;
        page_limit(&asked.options, &self.verdict?)
    }

    /// Events of requests that arrived, and of those that ended.
    #[must_use]
    pub fn arrived_and_ended(&self) -> (u64, u64) {
        let rows = self.rows.iter().map(|one| &one.row);
        rows.fold((0, 0), |(arrived, ended), row| (arrived + row.received, ended + row.ended))
    }

    /// How sure the verdict is.
    #[must_use]
    pub fn certainty(&self) -> Certainty {
        self.certainty.1
    }
}

impl Merge for ProductRow {
    fn merge(&mut self, other: Self) {
        self.row.merge(other.row);
        self.agreement.merge(other.agreement);
        if let Some(pattern) = other.pattern {
            self.pattern.get_or_insert_default().merge(*pattern);
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

impl ShapeSummary {
    pub(super) fn folded() -> Self {
        Self {
            asked: None,
            verdict: None,
            certainty: (false, Certainty::Certain),
            long_running: false,
            agreement: Agreement::default(),
            work: None,
            rows: Vec::new(),
        }
    }
}
