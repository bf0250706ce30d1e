//! AKS diagnostics after a pipeline that parsed them: `properties.log` is the event itself.

use super::{Content, azure_record};
use crate::decode::outer::{Outer, instant, is_string};

/// The event of a record.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    let log = azure_record::log(outer).filter(|log| !is_string(log))?;
    Some(Content::one(log, instant(outer.time)))
}
