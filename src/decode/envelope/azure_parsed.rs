//! AKS diagnostics that a pipeline parsed: `properties.log` is the event as an object.

use super::{Content, azure_record};
use crate::decode::envelope_keys::{EnvelopeKeys, is_string, timestamp};

/// Returns the event of a record.
#[must_use]
pub(crate) fn open<'a>(keys: &EnvelopeKeys<'a>) -> Option<Content<'a>> {
    let log = azure_record::log(keys).filter(|log| !is_string(log))?;
    Some(Content::one(log, timestamp(keys.time)))
}
