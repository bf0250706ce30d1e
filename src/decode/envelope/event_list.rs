//! Batches of the audit webhook backend: an `EventList`, with or without its `kind`.
//!
//! Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:EventList`.

use super::content::{Content, Inner, JsonObject};
use super::json_array;

/// Returns the events of a list.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    // Other Kubernetes lists have `items` too. The decoder then reports each item that is not an event.
    object
        .keys
        .items
        .filter(|items| json_array::is_array(items))
        .map(|items| Content::Elements(items, Inner::bare))
}
