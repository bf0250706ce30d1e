//! Percent-encodes parts of a URL.

use std::fmt::Write as _;

/// `name=value` with the value percent-encoded.
pub(super) fn encoded(pair: &str) -> String {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    format!("{name}={}", percent_encoded(value, b"-._~%"))
}

/// Percent-encodes all bytes except ASCII letters, digits and `literal`.
pub(super) fn percent_encoded(text: &str, literal: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || literal.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
