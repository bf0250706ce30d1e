//! AKS through an Event Hub: a batch of diagnostic records.

use super::content::{Content, Inner, JsonObject};
use super::json_array;

/// Returns the records of a batch.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    object
        .keys
        .records
        .filter(|records| json_array::is_array(records))
        .map(|records| Content::Elements(records, Inner::bare))
}
