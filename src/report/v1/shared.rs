//! Values that many parts of a report share, and compact timestamps. A report may have a hundred thousand request
//! shapes, so memory per shape matters.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::k8s::timestamp;

// A value that several parts of a report share. Its schema is that of the value. Here and below, a doc comment would
// be a description in the schema.
#[derive(Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, rename = "{T}")]
pub struct Shared<T: ?Sized>(Arc<T>);

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> From<Arc<T>> for Shared<T> {
    fn from(held: Arc<T>) -> Self {
        Self(held)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(held: T) -> Self {
        Self(Arc::new(held))
    }
}

impl From<String> for Shared<str> {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Shared<str> {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Shared<str> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<T: ?Sized + Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

// A timestamp in microseconds since 1970. It is serialized as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(inline, rename = "string")]
pub struct Timestamp(#[schemars(with = "String")] pub i64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        timestamp::with_micros(self.0, |text| f.pad(text))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        timestamp::with_micros(self.0, |text| serializer.serialize_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_values_and_timestamps_have_the_schema_of_strings() {
        let shared: Shared<str> = "a".into();
        assert_eq!(
            serde_json::to_string(&(shared, Timestamp(1))).expect("JSON"),
            r#"["a","1970-01-01T00:00:00.000001Z"]"#
        );
        assert_eq!(schemars::schema_for!(Option<Shared<str>>), schemars::schema_for!(Option<String>));
        assert_eq!(schemars::schema_for!(Vec<Timestamp>), schemars::schema_for!(Vec<String>));
    }
}
