//! Cutting of texts that clients choose.

/// The longest prefix of at most so many bytes that ends between characters.
#[must_use]
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
