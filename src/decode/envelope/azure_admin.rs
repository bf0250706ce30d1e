//! Azure's records of the category `kube-audit-admin`. This category has its own format because it contains no get and
//! no list requests.

use super::content::{Content, JsonObject};
use super::{azure_parsed, azure_record};
use crate::decode::envelope_keys::plain;

/// Returns the event of a record of this category.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let is_admin = object.keys.category.and_then(plain) == Some("kube-audit-admin");
    is_admin.then(|| azure_parsed::open(object).or_else(|| azure_record::open(object))).flatten()
}
