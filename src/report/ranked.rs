//! Requests counted by one of their properties, most first: what `--by` prints.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::ledger::{Ledger, ProductRows};

/// The value for requests without a status: the log has no end of the request, or no status.
const NO_CODE: &str = "(no code)";

/// The values of a property, with the number of requests of each.
#[derive(Debug, Serialize)]
pub(crate) struct Ranked {
    /// The property, as named by `--by`.
    pub(crate) by: &'static str,
    /// The number of all requests.
    pub(crate) requests: u64,
    /// The values with the most requests. Values with the same number of requests are sorted by name.
    pub(crate) rows: Vec<RankedRow>,
    pub(crate) others: RankedOthers,
}

#[derive(Debug, Serialize)]
pub(crate) struct RankedRow {
    pub(crate) value: String,
    pub(crate) requests: u64,
    /// The share of all requests that have this value, from 0 to 1.
    pub(crate) share: f64,
}

/// The sum over the values without a row.
#[derive(Debug, Serialize)]
pub(crate) struct RankedOthers {
    /// The number of values without a row.
    pub(crate) values: u64,
    /// Whether the log has more such values than `values` counts. If so, the ledger reached its limit and counted the
    /// other values together.
    pub(crate) more: bool,
    /// The number of requests with a value that has no row.
    pub(crate) requests: u64,
}

impl Ranked {
    /// Ranks the values of a property by their number of requests, and keeps the first `top`. The ledger must come
    /// from a run with `Settings::by`, which stores each value as a client. If `is_code`, the property is the status
    /// code. Then the ledger has one client, and the status codes of its rows are the values.
    pub(crate) fn from_ledger(ledger: Ledger, by: &'static str, is_code: bool, top: usize) -> Self {
        let received_only = ledger.input.received_only();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut folded = 0;
        let (clients, rest) = ledger.clients.into_parts();
        let clients = clients.into_iter().map(|(key, client)| (Some(key), client));
        for (key, client) in clients.chain(rest.map(|rest| (None, rest))) {
            let (products, others) = client.products.into_parts();
            for product in products.into_iter().map(|(_, product)| product).chain(others) {
                let ProductRows { rows, overflow } = ProductRows::from_product(product, received_only);
                for row in rows.into_iter().map(|(_, row)| row).chain(overflow) {
                    let requests = row.requests(received_only);
                    let mut add = |value: &str, count: u64| {
                        if count > 0 {
                            *counts.entry(value.to_owned()).or_default() += count;
                        }
                    };
                    match &key {
                        None => folded += requests,
                        Some(_) if is_code => {
                            let mut left = requests;
                            for (code, count) in row.statuses.iter().filter(|(code, _)| *code != 0) {
                                add(&code.to_string(), count);
                                left = left.saturating_sub(count);
                            }
                            add(NO_CODE, left);
                        }
                        Some(key) => add(&key.identity, requests),
                    }
                }
            }
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        let requests = folded + counts.iter().map(|(_, count)| count).sum::<u64>();
        let others = counts.split_off(top.min(counts.len()));
        let others = RankedOthers {
            values: others.len() as u64,
            more: folded > 0,
            requests: folded + others.iter().map(|(_, count)| count).sum::<u64>(),
        };
        #[allow(clippy::cast_precision_loss, reason = "a share needs no more than 52 bits")]
        let row = |(value, count): (String, u64)| RankedRow {
            value,
            requests: count,
            share: count as f64 / requests as f64,
        };
        Self { by, requests, rows: counts.into_iter().map(row).collect(), others }
    }
}
