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

/// The first string of an array. The values of `user.extra` are arrays.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct First<'a>(pub(crate) Text<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FirstVisitor;
        impl<'de> Visitor<'de> for FirstVisitor {
            type Value = First<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of strings")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<First<'de>, A::Error> {
                let first = values.next_element::<Text<'de>>()?.unwrap_or_default();
                while values.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
            // Some exporters write an array of one string as a plain string.
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<First<'de>, E> {
                Ok(First(Text(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<First<'de>, E> {
                Ok(First(text.to_owned().into()))
            }
            fn visit_unit<E>(self) -> Result<First<'de>, E> {
                Ok(First::default())
            }
        }
        deserializer.deserialize_any(FirstVisitor)
    }
}

/// The raw text of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a str);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self(raw.get()))
    }
}
