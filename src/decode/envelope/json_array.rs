//! Events, or envelopes, as the elements of a JSON array: what command-line tools of clouds print.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::json;

/// Hands over the elements of an array, one after the other: there may be millions on a line. Their number.
///
/// # Errors
/// Where the text is no JSON array; then none was handed over.
pub fn each<'a>(text: &'a str, take: &mut dyn FnMut(&'a RawValue)) -> Result<usize, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    each_of(text, take)
}

/// The same of a value, which is JSON.
///
/// # Errors
/// Where it is no array.
pub fn each_of<'a>(value: &'a str, take: &mut dyn FnMut(&'a RawValue)) -> Result<usize, serde_json::Error> {
    Elements(take).deserialize(&mut serde_json::Deserializer::from_str(value))
}

/// Whether a value is an array.
#[must_use]
pub fn is_array(value: &RawValue) -> bool {
    value.get().starts_with('[')
}

/// Whether a value is an array that is empty or begins with such a value.
#[must_use]
pub fn begins_with(value: &RawValue, such: fn(&RawValue) -> bool) -> bool {
    let inside = value.get().strip_prefix('[');
    inside.is_some_and(|inside| json::values(inside).next().is_none_or(|first| first.map_or(true, such)))
}

struct Elements<'a, 't>(&'t mut dyn FnMut(&'a RawValue));

impl<'a> DeserializeSeed<'a> for Elements<'a, '_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for Elements<'a, '_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut elements: S) -> Result<usize, S::Error> {
        let mut count: usize = 0;
        while let Some(element) = elements.next_element()? {
            (self.0)(element);
            count = count.checked_add(1).ok_or_else(|| S::Error::custom("too many"))?;
        }
        Ok(count)
    }
}
