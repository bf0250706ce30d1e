//! JSON documents that are not one to a line: pretty-printed ones, and ones behind each other without a line feed.

use serde_json::value::RawValue;

/// The values that stand behind each other in a text; the last is an error if the text does not end with a value.
pub fn values(text: &str) -> impl Iterator<Item = Result<&RawValue, serde_json::Error>> {
    serde_json::Deserializer::from_str(text).into_iter::<&RawValue>()
}
