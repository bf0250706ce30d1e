//! Events or envelopes as the elements of a JSON array. Command-line tools of cloud providers print such arrays.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::json;

/// Passes each element of an array to `take`, one at a time, because one line may contain millions. Returns the number
/// of elements.
///
/// # Errors
/// The text is not a JSON array. Then `take` received nothing.
pub(crate) fn each<'a>(
    text: &'a str,
    take: &mut dyn FnMut(&'a RawValue),
) -> Result<usize, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    each_of(text, take)
}

/// Like [`each`], for a value that is known to be valid JSON.
///
/// # Errors
/// The value is not an array.
pub(crate) fn each_of<'a>(
    value: &'a str,
    take: &mut dyn FnMut(&'a RawValue),
) -> Result<usize, serde_json::Error> {
    Elements(take).deserialize(&mut serde_json::Deserializer::from_str(value))
}

#[must_use]
pub(crate) fn is_array(value: &RawValue) -> bool {
    value.get().starts_with('[')
}

/// Whether a value is an array that is empty, or whose first element passes the test `such`.
#[must_use]
pub(crate) fn begins_with(value: &RawValue, such: fn(&RawValue) -> bool) -> bool {
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
