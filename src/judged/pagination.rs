//! Counts the pages that a client reads for a paginated LIST of a collection. First pages and later pages are counted
//! separately.

use std::collections::HashMap;

use compact_str::CompactString;

use super::ProductRow;
use crate::apiserver::RequestShape;
use crate::apiserver::options::{Options, Page};
use crate::k8s::Verb;
use crate::requests::RowKey;

/// Page counts by the request shape of the first page, and by version index.
#[derive(Debug, Default)]
pub(super) struct Pagination(HashMap<(RequestShape<CompactString>, u8), Pages>);

#[derive(Debug, Clone, Copy, Default)]
struct Pages {
    first: u64,
    further: u64,
    chains: u64,
}

impl Pagination {
    /// Counts the pages of one product of a client. Each row comes with its number of served requests.
    pub(super) fn new<'r>(rows: impl Iterator<Item = (&'r RowKey, &'r ProductRow, u64)>) -> Self {
        let mut pagination = Self::default();
        for (row_key, row, requests) in rows.filter(|(row_key, ..)| is_page(&row_key.shape)) {
            let own = pagination.0.entry(key(row_key)).or_default();
            if row_key.shape.options.page == Page::First {
                own.first += requests;
            } else {
                own.further += requests;
                own.chains += row.pattern.as_ref().map_or(0, |pattern| pattern.chains.count);
            }
        }
        pagination
    }

    /// The number of paginated LISTs, and the number of their pages. `None` if the log has no later pages.
    pub(super) fn pages_of(&self, row_key: &RowKey) -> Option<(u64, u64)> {
        let pages = self.0.get(&key(row_key)).filter(|pages| pages.further > 0)?;
        let lists = pages.first.max(pages.chains);
        (lists > 0).then_some((lists, pages.first + pages.further))
    }
}

fn is_page(shape: &RequestShape<CompactString>) -> bool {
    shape.verb == Verb::List && shape.options.limit.is_page()
}

fn key(row_key: &RowKey) -> (RequestShape<CompactString>, u8) {
    let options = Options { page: Page::First, ..row_key.shape.options };
    (RequestShape { options, ..RequestShape::clone(&row_key.shape) }, row_key.version_index)
}
