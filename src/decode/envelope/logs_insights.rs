//! The output of `aws logs get-query-results`: rows of fields, in which `@message` holds the event.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Content, Inner, JsonObject};
use super::json_array;
use crate::decode::envelope_keys::plain;

#[derive(Deserialize)]
struct Field<'a> {
    #[serde(borrow)]
    field: &'a RawValue,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// Returns the messages of a query's rows. A row without a message yields its first field, so that the report counts
/// the row.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let rows =
        object.keys.results.filter(|rows| json_array::begins_with(rows, |row| fields(row).is_some()))?;
    Some(Content::Elements(rows, message))
}

/// Returns the message from a single `@message` field, outside of a row.
#[must_use]
pub(crate) fn field(text: &str) -> Option<Inner<'_>> {
    let Field { field, value } = serde_json::from_str(text).ok()?;
    value.filter(|_| plain(field) == Some("@message")).map(Inner::bare)
}

fn fields(row: &RawValue) -> Option<Vec<Field<'_>>> {
    serde_json::from_str(row.get()).ok()
}

fn message(row: &RawValue) -> Inner<'_> {
    let fields = fields(row).unwrap_or_default();
    let message = fields.iter().find(|field| plain(field.field) == Some("@message"));
    let value = message.and_then(|field| field.value).or(fields.first().map(|field| field.field));
    Inner::bare(value.unwrap_or(row))
}
