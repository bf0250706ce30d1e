//! String types for serde that borrow from the log line where they can.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string that borrows from the line unless it has an escape. `null` becomes the empty string.
///
/// serde's derive never borrows for `Option<Cow<str>>`, and a plain `&str` cannot hold an unescaped copy. The
/// apiserver writes `&` as `\u0026`, so nearly every `requestURI` has an escape.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<'de: 'a, 'a> From<Cow<'de, str>> for Text<'a> {
    fn from(text: Cow<'de, str>) -> Self {
        Self(text)
    }
}

/// A text that serde can parse from a JSON string and from the text of any JSON value.
pub trait JsonText<'de>: Default + Deserialize<'de> + From<Cow<'de, str>> {}

impl<'de: 'a, 'a> JsonText<'de> for Text<'a> {}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Parses the first string of an array. The values of `user.extra` are arrays.
pub(super) fn first<'de, D: Deserializer<'de>, T: JsonText<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct FirstVisitor;
    impl<'de> Visitor<'de> for FirstVisitor {
        type Value = Text<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of strings")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Text<'de>, A::Error> {
            let first = values.next_element::<Text<'de>>()?.unwrap_or_default();
            while values.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
        // Some exporters write an array of one string as a plain string.
        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
            Ok(Text(Cow::Borrowed(text)))
        }
        fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
            Ok(text.to_owned().into())
        }
        fn visit_unit<E>(self) -> Result<Text<'de>, E> {
            Ok(Text::default())
        }
    }
    deserializer.deserialize_any(FirstVisitor).map(|text| T::from(text.0))
}

/// Keeps the text of a JSON value.
pub(super) fn raw<'de, D: Deserializer<'de>, T: JsonText<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(raw.map(|raw| T::from(Cow::Borrowed(raw.get()))))
}
