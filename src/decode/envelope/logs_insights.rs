//! What `aws logs get-query-results` prints: rows of fields, of which `@message` is the event.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Inner};
use crate::decode::outer::{Outer, plain};

#[derive(Deserialize)]
struct Field<'a> {
    #[serde(borrow)]
    field: &'a RawValue,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// The messages of a query's rows. Of a row without one its first field is handed over, so that it is not lost unseen.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    let rows: Vec<&RawValue> = serde_json::from_str(outer.results?.get()).ok()?;
    let inner = |row: &'a RawValue| {
        let fields: Vec<Field<'a>> = serde_json::from_str(row.get()).ok()?;
        let message = fields.iter().find(|field| plain(field.field) == Some("@message"));
        let value = message.and_then(|field| field.value).or(fields.first().map(|field| field.field));
        Some(Inner { value: value.unwrap_or(row), time: None })
    };
    Some(Content::Values(rows.into_iter().map(inner).collect::<Option<_>>()?))
}
