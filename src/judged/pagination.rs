//! Pages that a client reads collections in, counted by what is asked for: a walk is a first page and its further ones.

use std::collections::HashMap;

use compact_str::CompactString;

use super::ProductRow;
use crate::apiserver::RequestShape;
use crate::apiserver::options::{Options, Page};
use crate::k8s::Verb;
use crate::requests::RowKey;

/// By what the first page asks for, and the version of the server.
#[derive(Debug, Default)]
pub(super) struct Pagination(HashMap<(RequestShape<CompactString>, u8), Pages>);

#[derive(Debug, Clone, Copy, Default)]
struct Pages {
    first: u64,
    further: u64,
    chains: u64,
}

impl Pagination {
    /// Those of one product of a client, of which each row has so many requests that read something.
    pub(super) fn of<'r>(rows: impl Iterator<Item = (&'r RowKey, &'r ProductRow, u64)>) -> Self {
        let mut walks = Self::default();
        for (shape, row, requests) in rows.filter(|(shape, ..)| is_page(&shape.asked)) {
            let own = walks.0.entry(key(shape)).or_default();
            if shape.asked.options.page == Page::First {
                own.first += requests;
            } else {
                own.further += requests;
                own.chains += row.pattern.as_ref().map_or(0, |pattern| pattern.chains.count);
            }
        }
        walks
    }

    /// Pagination and their pages, if the pages of any walk are known.
    pub(super) fn of_page(&self, shape: &RowKey) -> Option<(u64, u64)> {
        let pages = self.0.get(&key(shape)).filter(|pages| pages.further > 0)?;
        let walks = pages.first.max(pages.chains);
        (walks > 0).then_some((walks, pages.first + pages.further))
    }
}

fn is_page(asked: &RequestShape<CompactString>) -> bool {
    asked.verb == Verb::List && asked.options.limit.is_page()
}

fn key(shape: &RowKey) -> (RequestShape<CompactString>, u8) {
    let options = Options { page: Page::First, ..shape.asked.options };
    (RequestShape { options, ..RequestShape::clone(&shape.asked) }, shape.version_index)
}
