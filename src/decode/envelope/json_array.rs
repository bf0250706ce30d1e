//! Events, or envelopes, as the elements of a JSON array: what command-line tools of clouds print.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Hands over the elements of an array, one after the other: there may be millions on a line. Their number.
///
/// # Errors
/// Where the text is no JSON array; then none was handed over.
pub fn each<'a>(text: &'a str, take: &mut dyn FnMut(&'a RawValue)) -> Result<usize, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    Elements(take).deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// Whether a value is an array of values that are all such.
#[must_use]
pub fn all<'a>(value: &'a RawValue, such: fn(&'a RawValue) -> bool) -> bool {
    let mut all = is_array(value);
    all && each(value.get(), &mut |element| all &= such(element)).is_ok() && all
}

/// Whether a value is an array.
#[must_use]
pub fn is_array(value: &RawValue) -> bool {
    value.get().starts_with('[')
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
