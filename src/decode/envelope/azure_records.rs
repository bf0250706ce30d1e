//! AKS through an Event Hub: a batch of diagnostic records.

use super::{Content, Inner, json_array};
use crate::decode::outer::Outer;

/// The records of a batch.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    let records = json_array::elements(outer.records?.get()).ok()?;
    Some(Content::Values(records.into_iter().map(|value| Inner { value, time: None }).collect()))
}
