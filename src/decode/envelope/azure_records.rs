//! AKS through an Event Hub: a batch of diagnostic records.

use super::{Content, Inner, json_array};
use crate::decode::envelope_keys::EnvelopeKeys;

/// Returns the records of a batch.
#[must_use]
pub(crate) fn open<'a>(keys: &EnvelopeKeys<'a>) -> Option<Content<'a>> {
    keys.records
        .filter(|records| json_array::is_array(records))
        .map(|records| Content::Elements(records, Inner::bare))
}
