//! AKS through an Event Hub: a batch of diagnostic records.

use super::{Content, Inner, json_array};
use crate::decode::outer::Outer;

/// The records of a batch.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    outer
        .records
        .filter(|records| json_array::is_array(records))
        .map(|records| Content::Elements(records, Inner::bare))
}
