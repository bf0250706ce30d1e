//! Removes the escapes of JSON strings that contain JSON.

/// The number of bytes that one step copies and checks.
const WORD: usize = 8;
/// The number of bytes by which the output grows. It is small, because growth first sets the new bytes to zero.
const GROWTH: usize = 2 << 10;

/// Appends the value of a JSON string to `out`. `text` begins after the opening quote. Returns the offset of the
/// closing quote. Returns `None` if the string is invalid or does not end; then the appended bytes are meaningless.
///
/// In logs with nested strings, nearly every byte passes through here. In such logs, escapes are only a few bytes
/// apart. So a vectorized search for each escape costs more than it saves. Instead, each step copies and checks eight
/// bytes.
pub(crate) fn unescape(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    let source = text.as_bytes();
    let (mut read, mut write) = (0, out.len());
    let end = loop {
        // There must be room for one word, and for the character of an escape after it.
        if out.len() < write + 2 * WORD {
            out.resize(write + GROWTH, 0);
        }
        if let Some(word) = source.get(read..).and_then(|rest| rest.first_chunk::<WORD>()) {
            out[write..write + WORD].copy_from_slice(word);
            let special = special(u64::from_le_bytes(*word));
            let plain = special.trailing_zeros() as usize / 8;
            read += plain;
            write += plain;
            if special == 0 {
                continue;
            }
        }
        match *source.get(read)? {
            b'"' => break read,
            b'\\' => {
                let (character, length) = decode_escape(&source[read..])?;
                let mut utf8 = [0; 4];
                let utf8 = character.encode_utf8(&mut utf8).as_bytes();
                out[write..write + utf8.len()].copy_from_slice(utf8);
                read += length;
                write += utf8.len();
            }
            0..0x20 => return None,
            byte => {
                out[write] = byte;
                read += 1;
                write += 1;
            }
        }
    };
    out.truncate(write);
    Some(end)
}

/// Appends the value of a JSON string, given without its quotes. It searches for each escape, so it is for strings
/// with few escapes. Returns `None` at an invalid escape.
pub(crate) fn append(body: &str, out: &mut String) -> Option<()> {
    let mut done = 0;
    for at in memchr::memchr_iter(b'\\', body.as_bytes()) {
        // This backslash is the second character of an escape.
        if at < done {
            continue;
        }
        out.push_str(&body[done..at]);
        let (character, length) = decode_escape(&body.as_bytes()[at..])?;
        out.push(character);
        done = at + length;
    }
    out.push_str(&body[done..]);
    Some(())
}

/// Returns the character of an escape, and the escape's length in bytes.
fn decode_escape(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return code_point(text),
        _ => return None,
    };
    Some((character, 2))
}

/// Sets the highest bit of each byte that is a quote, a backslash or a control character. Only the lowest set bit is
/// exact; bits above it may be false positives.
///
/// Source: "Determine if a word has a byte less than n", Bit Twiddling Hacks, Sean Eron Anderson.
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let is = |byte: u8| zero(word ^ (ONES * u64::from(byte)));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (is(b'"') | is(b'\\') | control) & (ONES * 0x80)
}

/// Decodes `\u` with four hexadecimal digits, or two such escapes that form a surrogate pair. Returns the character,
/// and the length in bytes.
fn code_point(text: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let [b'\\', b'u', digits @ ..] = text.get(at..)?.first_chunk::<6>()? else { return None };
        digits.iter().try_fold(0, |unit, digit| {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                b'A'..=b'F' => digit - b'A' + 10,
                _ => return None,
            };
            Some(unit << 4 | u16::from(value))
        })
    };
    let first = unit(0)?;
    if first < 0x80 {
        return Some((char::from(first.to_le_bytes()[0]), 6));
    }
    if !(0xd800..0xe000).contains(&first) {
        return Some((char::from_u32(u32::from(first))?, 6));
    }
    let pair = [first, unit(6)?];
    Some((char::decode_utf16(pair).next()?.ok()?, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes the same string with `serde_json`, for comparison.
    fn naive(text: &str) -> Option<(String, usize)> {
        let text = format!("\"{text}");
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<String>();
        let value = values.next()?.ok()?;
        Some((value, values.byte_offset() - 2))
    }

    fn quick(text: &str) -> Option<(String, usize)> {
        let mut out = b"x".to_vec();
        let end = unescape(text, &mut out)?;
        assert_eq!(out[0], b'x');
        Some((String::from_utf8(out[1..].to_vec()).expect("UTF-8"), end))
    }

    proptest! {
        #[test]
        fn unescape_matches_serde_json(text in prop_oneof![any::<String>(), "[\"\\\\/\n\t\u{8}a-c{}ü]{0,40}"], rest in ".{0,20}") {
            let raw = serde_json::to_string(&text).expect("JSON")[1..].to_owned();
            let end = raw.len() - 1;
            prop_assert_eq!(quick(&(raw + &rest)), Some((text, end)));
        }

        #[test]
        fn unescape_rejects_what_serde_json_rejects(
            text in prop_oneof![".{0,30}", "(\\\\[\"\\\\/bfnrtux]|[0-9a-fD]|\u{1}|ü|x){0,30}\"?", "(\\\\u[d0-9][89abcdef0-3][0-9a-f]{2}|y){0,6}\""],
        ) {
            prop_assert_eq!(quick(&text), naive(&text));
        }
    }
}
