//! JSON documents that are not one per line: pretty-printed, or one after another without line feeds.

use serde_json::value::RawValue;

/// The values that follow each other in a text. The last item is an error if the text does not end with a value.
pub(crate) fn values(text: &str) -> impl Iterator<Item = Result<&RawValue, serde_json::Error>> {
    serde_json::Deserializer::from_str(text).into_iter::<&RawValue>()
}
