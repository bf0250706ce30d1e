//! Values of variables in conditions and texts.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::named::named;

named! {
    /// The type of a value.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Kind {
        Bool = "bool",
        Int = "int",
        Double = "double",
        Text = "string",
        Texts = "list(string)",
    }
    /// Returns CEL's name of the type.
    pub(crate) fn as_str;
}

impl Kind {
    /// Returns the value of this type that is zero, false or empty.
    pub(crate) fn unset(self) -> VariableValue<'static> {
        match self {
            Self::Bool => VariableValue::Bool(false),
            Self::Int => VariableValue::Int(0),
            Self::Double => VariableValue::Double(0.0),
            Self::Text => VariableValue::Text("".into()),
            Self::Texts => VariableValue::Texts(Vec::new()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum VariableValue<'a> {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    Texts(Vec<Cow<'a, str>>),
}

impl VariableValue<'_> {
    /// Whether the value is not zero, false or empty.
    pub(crate) fn is_set(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Double(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Texts(texts) => !texts.is_empty(),
        }
    }

    pub(crate) fn to_cel(&self) -> cel::Value {
        let text = |text: &str| cel::Value::String(Arc::new(text.to_owned()));
        match self {
            Self::Bool(value) => cel::Value::Bool(*value),
            Self::Int(value) => cel::Value::Int(*value),
            Self::Double(value) => cel::Value::Float(*value),
            Self::Text(value) => text(value),
            Self::Texts(values) => {
                cel::Value::List(Arc::new(values.iter().map(|value| text(value)).collect()))
            }
        }
    }

    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.converted()
    }

    pub(crate) fn to_template(&self) -> minijinja::Value {
        self.converted()
    }

    /// Converts the value. Whole doubles become integers.
    fn converted<T>(&self) -> T
    where
        T: From<bool> + From<i64> + From<f64> + for<'t> From<&'t str> + for<'t> FromIterator<&'t str>,
    {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Int(value) => (*value).into(),
            #[allow(clippy::cast_possible_truncation, reason = "it is whole and far from the ends")]
            Self::Double(value) if value.fract() == 0.0 && value.abs() < 1e15 => (*value as i64).into(),
            Self::Double(value) => (*value).into(),
            Self::Text(value) => value.as_ref().into(),
            Self::Texts(values) => values.iter().map(AsRef::as_ref).collect(),
        }
    }

    #[must_use]
    pub fn as_borrowed(&self) -> VariableValue<'_> {
        match self {
            Self::Bool(value) => VariableValue::Bool(*value),
            Self::Int(value) => VariableValue::Int(*value),
            Self::Double(value) => VariableValue::Double(*value),
            Self::Text(value) => VariableValue::Text(value.as_ref().into()),
            Self::Texts(values) => {
                VariableValue::Texts(values.iter().map(|value| value.as_ref().into()).collect())
            }
        }
    }

    #[must_use]
    pub fn into_owned(self) -> VariableValue<'static> {
        match self {
            Self::Bool(value) => VariableValue::Bool(value),
            Self::Int(value) => VariableValue::Int(value),
            Self::Double(value) => VariableValue::Double(value),
            Self::Text(value) => VariableValue::Text(value.into_owned().into()),
            Self::Texts(values) => {
                VariableValue::Texts(values.into_iter().map(|value| value.into_owned().into()).collect())
            }
        }
    }
}

macro_rules! from {
    ($($from:ty: |$value:ident| $into:expr;)*) => {
        $(impl<'a> From<$from> for VariableValue<'a> {
            fn from($value: $from) -> Self {
                $into
            }
        })*
    };
}

from! {
    bool: |value| Self::Bool(value);
    i64: |value| Self::Int(value);
    u64: |value| Self::Int(i64::try_from(value).unwrap_or(i64::MAX));
    f64: |value| Self::Double(value);
    &'a str: |value| Self::Text(value.into());
    String: |value| Self::Text(value.into());
    Vec<Cow<'a, str>>: |value| Self::Texts(value);
}

/// Doubles are compared by their bits. They come from deterministic sums, so equal values have equal bits.
impl Eq for VariableValue<'_> {}

impl Hash for VariableValue<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Bool(value) => value.hash(state),
            Self::Int(value) => value.hash(state),
            Self::Double(value) => value.to_bits().hash(state),
            Self::Text(value) => value.hash(state),
            Self::Texts(values) => values.hash(state),
        }
    }
}

/// A variable that rules may use.
#[derive(Debug, Clone, Copy)]
pub struct Variable<Get> {
    /// The name after the dot, such as `verb` of `request.verb`.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Description with the unit.
    pub(crate) doc: &'static str,
    pub get: Get,
}

/// Makes a list of variables. Each entry has the description of a variable, its name, its type, and its value for the
/// facts in `|…|`.
macro_rules! variables {
    (|$facts:ident| $($(#[doc = $doc:literal])+ $name:ident: $kind:ident = $value:expr;)+) => {
        &[$($crate::rules::value::Variable {
            name: stringify!($name),
            kind: $crate::rules::value::Kind::$kind,
            doc: concat!($($doc),+).trim_ascii_start(),
            get: |$facts| $crate::rules::value::VariableValue::from($value),
        }),+]
    };
}
pub(super) use variables;
