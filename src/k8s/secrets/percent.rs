//! Decodes percent-escapes in texts that can be truncated or damaged. Invalid escapes stay unchanged.

use std::borrow::Cow;

pub(super) fn is_encoded(text: &str) -> bool {
    memchr::memchr(b'%', text.as_bytes()).is_some()
}

/// Decodes the escapes of a text. Invalid UTF-8 becomes U+FFFD.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !is_encoded(text) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let (byte, length) = escape(&bytes[at..]).map_or((*byte, 1), |byte| (byte, 3));
        out.push(byte);
        at += length;
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Returns start and end of the first `?`, `&` or `;` at or after `from`, escaped or not.
pub(super) fn separator(text: &str, from: usize) -> Option<(usize, usize)> {
    find(text, from, |byte| matches!(byte, b'?' | b'&' | b';'))
}

/// Returns the start of the first of `signs` at or after `from`, escaped or not. With `or_space`, a space counts as a
/// sign, too. Returns the length of the text if none follows.
pub(super) fn end(text: &str, from: usize, signs: &[u8], or_space: bool) -> usize {
    let bytes = text.as_bytes();
    let is_end = |at: &usize| match bytes[*at] {
        b'%' => escape(&bytes[*at..]).is_some_and(|byte| signs.contains(&byte)),
        byte => signs.contains(&byte) || (or_space && byte.is_ascii_whitespace()),
    };
    (from..bytes.len()).find(is_end).unwrap_or(bytes.len())
}

/// Returns start and end of the first `=`, escaped or not.
pub(super) fn equals(text: &str) -> Option<(usize, usize)> {
    find(text, 0, |byte| byte == b'=')
}

fn find(text: &str, from: usize, is_wanted: fn(u8) -> bool) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    (from..bytes.len()).find_map(|at| match bytes[at] {
        b'%' => escape(&bytes[at..]).filter(|byte| is_wanted(*byte)).map(|_| (at, at + 3)),
        byte => is_wanted(byte).then_some((at, at + 1)),
    })
}

/// Decodes the percent-escape at the start of `bytes`.
fn escape(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
