//! Adds the events in [`EventsBeforeEnd`](super::EventsBeforeEnd) to the rows of a product.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{ClientProduct, Merge, Row};
use crate::requests::{RowKey, StatusClass};

/// The rows of a product, including the events in [`EventsBeforeEnd`](super::EventsBeforeEnd).
#[derive(Debug, Default)]
pub struct ProductRows {
    /// Sorted by number of requests, largest first.
    pub rows: Vec<(RowKey, Box<Row>)>,
    /// The sum of those evicted rows that are not in `rows`. Other evicted rows are in `rows`, merged under their
    /// overflow keys. `None` if `rows` contains all requests.
    pub overflow: Option<Box<Row>>,
}

impl ProductRows {
    /// Adds the events in `product.begun` to the rows whose keys differ only in the response class. A key without
    /// such a row gets a new row. Its requests did not end in the log, or their later events name an impersonated
    /// user. With `received_only`, the log has only RequestReceived events, so all rows are new.
    #[must_use]
    pub fn from_product(product: ClientProduct, received_only: bool) -> Self {
        let ClientProduct { rows, begun, .. } = product;
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
        let mut by_key: HashMap<u64, Vec<usize>, FxBuildHasher> = HashMap::default();
        for (at, (row_key, _)) in rows.iter().enumerate() {
            by_key.entry(begun_hash(row_key)).or_default().push(at);
        }
        let (begun, begun_overflow) = begun.into_parts();
        let with_requests = rows.len();
        for (row_key, begun) in begun {
            let begun = begun.into_inner();
            let hash = begun_hash(&row_key);
            let folded = || by_key.get(&begun_hash(&row_key.without_names()));
            match (by_key.get(&hash).or_else(folded), &mut overflow) {
                (Some(with_key), _) => begun.distribute(&mut rows[..with_requests], with_key),
                // The ended requests with this key may be in the overflow row.
                (None, Some(overflow)) => begun.add_to_row(overflow),
                (None, None) => rows.push((row_key, begun.into_row())),
            }
        }
        if let Some(begun) = begun_overflow {
            let (begun, overflow) = (begun.into_inner(), overflow.get_or_insert_default());
            if received_only {
                overflow.merge(*begun.into_row());
            } else {
                begun.add_to_row(overflow);
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
