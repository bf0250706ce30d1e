//! Events, or envelopes, as the elements of a JSON array: what command-line tools of clouds print.

use serde_json::value::RawValue;

/// The elements of an array.
///
/// # Errors
/// Where the text is no JSON array.
pub fn elements(text: &str) -> Result<Vec<&RawValue>, serde_json::Error> {
    serde_json::from_str(text)
}
