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

/// The messages of a query's rows.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    let rows: Vec<Vec<Field<'a>>> = serde_json::from_str(outer.results?.get()).ok()?;
    let find = |row: &[Field<'a>], name: &str| {
        row.iter().find(|field| plain(field.field) == Some(name)).and_then(|field| field.value)
    };
    Some(Content::Values(
        rows.iter().filter_map(|row| Some(Inner { value: find(row, "@message")?, time: None })).collect(),
    ))
}
