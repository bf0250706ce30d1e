//! AKS diagnostics that a pipeline parsed: `properties.log` is the event as an object.

use super::azure_record;
use super::content::{Content, JsonObject};
use crate::decode::envelope_keys::{is_string, timestamp};

/// Returns the event of a record.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let keys = object.keys;
    let log = azure_record::log(keys).filter(|log| !is_string(log))?;
    Some(Content::one(log, timestamp(keys.time)))
}
