//! Batches of the audit webhook backend: an `EventList`, with or without its `kind`.
//!
//! Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:EventList`.

use super::{Content, Inner, json_array};
use crate::decode::envelope_keys::EnvelopeKeys;

/// Returns the events of a list.
#[must_use]
pub(crate) fn open<'a>(keys: &EnvelopeKeys<'a>) -> Option<Content<'a>> {
    // Other Kubernetes lists have `items` too. The decoder then reports each item that is not an event.
    keys.items.filter(|items| json_array::is_array(items)).map(|items| Content::Elements(items, Inner::bare))
}
