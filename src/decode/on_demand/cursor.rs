//! Moves through a JSON text in steps of sixteen bytes. It finds strings, and skips other values without parsing them.

use std::ops::Range;

use wide::u8x16;

use super::masks::{BLOCK, Masks, QuoteState};

/// How many bytes of a string one step checks.
const STEP: usize = 16;

/// A position in a JSON text. Each method moves over the value that it expects, or returns `None` if the text is
/// different.
#[derive(Debug)]
pub(super) struct JsonCursor<'t> {
    text: &'t [u8],
    at: usize,
}

/// The text between a string's quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextSpan {
    /// Offset of the first byte.
    pub(crate) start: u32,
    /// Offset after the last byte.
    pub(crate) end: u32,
    /// The text contains escapes.
    pub(crate) has_escapes: bool,
}

impl TextSpan {
    /// Moves the span `by` bytes to the right. An empty span stays empty.
    pub(crate) fn moved(self, by: u32) -> Self {
        if self == Self::default() {
            return self;
        }
        Self { start: self.start.wrapping_add(by), end: self.end.wrapping_add(by), ..self }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl<'t> JsonCursor<'t> {
    /// Creates a cursor. Returns `None` if the text is longer than a four-byte offset can address.
    pub(crate) fn new(text: &'t str) -> Option<Self> {
        Self::from_bytes(text.as_bytes())
    }

    /// Like [`JsonCursor::new`], for bytes that may not be UTF-8.
    pub(crate) fn from_bytes(text: &'t [u8]) -> Option<Self> {
        u32::try_from(text.len()).ok().map(|_| Self { text, at: 0 })
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The offset of the cursor, in the integer type of spans.
    #[allow(clippy::cast_possible_truncation, reason = "`new` rejects longer texts")]
    pub(crate) fn mark(&self) -> u32 {
        self.at as u32
    }

    /// The text after the cursor.
    pub(crate) fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    /// The text between a position and the cursor.
    pub(crate) fn since(&self, start: u32) -> &'t [u8] {
        &self.text[start as usize..self.at]
    }

    pub(crate) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn bytes(&self, span: TextSpan) -> &'t [u8] {
        &self.text[span.range()]
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Moves over one byte.
    pub(crate) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Moves over a string.
    pub(crate) fn string(&mut self) -> Option<TextSpan> {
        self.expect(b'"')?;
        self.string_end()
    }

    /// Moves over a literal, if the text continues with it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "comparing with a constant takes a few instructions")]
    pub(crate) fn take_literal(&mut self, literal: &[u8]) -> bool {
        let is_here = self.text[self.at..].starts_with(literal);
        if is_here {
            self.at += literal.len();
        }
        is_here
    }

    /// Moves over a literal that ends with an opening quote, and over the string after it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "comparing with a constant takes a few instructions")]
    pub(crate) fn string_after(&mut self, literal: &[u8]) -> Option<TextSpan> {
        if self.take_literal(literal) { self.string_end() } else { None }
    }

    /// Moves over the rest of a string, after its opening quote.
    pub(crate) fn string_end(&mut self) -> Option<TextSpan> {
        let start = self.mark();
        let (mut at, mut escaped) = (self.at, false);
        loop {
            let rest = self.text.get(at..)?;
            let positions = match rest.first_chunk::<STEP>() {
                Some(chunk) => special(u8x16::new(*chunk)),
                // Fewer than sixteen bytes remain, at the end of the line.
                None => {
                    rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ')).map_or(0, |at| 1 << at)
                }
            };
            if positions == 0 {
                at += STEP;
                continue;
            }
            at += positions.trailing_zeros() as usize;
            match self.text[at] {
                b'"' => {
                    self.at = at;
                    let end = self.mark();
                    self.at += 1;
                    return Some(TextSpan { start, end, has_escapes: escaped });
                }
                b'\\' => {
                    escaped = true;
                    at += 2;
                }
                _ => return None,
            }
        }
    }

    /// Moves over an object. `take` moves over the value of each key.
    pub(crate) fn object(&mut self, mut take: impl FnMut(&mut Self, &'t [u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        self.skip_space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.string()?;
            // JSON allows escapes in keys, but no server writes them.
            if key.has_escapes {
                return None;
            }
            self.skip_space();
            self.expect(b':')?;
            self.skip_space();
            take(self, self.bytes(key))?;
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
            self.skip_space();
        }
    }

    /// Moves over an integer. Fractions and exponents return `None`.
    pub(crate) fn integer(&mut self) -> Option<i32> {
        // The fast path for an HTTP status: three digits.
        if let [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b',' | b'}', ..] = self.rest()
        {
            let digit = |byte: &u8| i32::from(byte - b'0');
            self.at += 3;
            return Some(100 * digit(hundreds) + 10 * digit(tens) + digit(ones));
        }
        let start = self.at;
        self.scalar()?;
        std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok()
    }

    /// Moves over any value. In objects and arrays it looks only at brackets and strings.
    pub(crate) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b'{' | b'[' => self.container(),
            _ => self.scalar(),
        }
    }

    /// Moves over `null`, `true`, `false` or an integer.
    fn scalar(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')?;
        let digits = |text: &[u8]| match text {
            [b'0'] => true,
            [b'1'..=b'9', more @ ..] => more.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        let is_scalar = match &rest[..end] {
            b"null" | b"true" | b"false" => true,
            [b'-', number @ ..] => digits(number),
            number => digits(number),
        };
        // If another character follows, as in `1.5`, the value is not an integer.
        (is_scalar && matches!(rest[end], b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
            .then(|| self.at += end)
    }

    /// Moves over an object or an array.
    fn container(&mut self) -> Option<()> {
        let mut quotes = QuoteState::default();
        let mut depth = 0_usize;
        loop {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let mut padded = [b' '; BLOCK];
            let block = if let Some(block) = rest.first_chunk::<BLOCK>() {
                block
            } else {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            };
            let masks = Masks::new(block);
            let outside = !quotes.inside(masks.quote, masks.backslash);
            let (open, mut close) = (masks.open & outside, masks.close & outside);
            let (opened, closed) = (open.count_ones() as usize, close.count_ones() as usize);
            // Fewer brackets close in this block than are open, so the container does not end here.
            if closed < depth {
                depth = depth + opened - closed;
            } else {
                let before = depth;
                let mut ended = 0;
                while close != 0 {
                    let at = close.trailing_zeros();
                    ended += 1;
                    if before + (open & ((1 << at) - 1)).count_ones() as usize == ended {
                        self.at += at as usize + 1;
                        return Some(());
                    }
                    close &= close - 1;
                }
                depth = before + opened - closed;
            }
            self.at += BLOCK;
        }
    }
}

/// Returns one bit for each of sixteen bytes. The bit is set for a quote, a backslash or a control character.
fn special(bytes: u8x16) -> u32 {
    let control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    /// The end of the value at the start of a text, according to `serde_json`.
    fn naive(text: &str) -> Option<usize> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        Some(values.byte_offset())
    }

    fn skipped(text: &str) -> Option<usize> {
        let mut cursor = JsonCursor::new(text)?;
        cursor.skip().map(|()| cursor.at())
    }

    #[test]
    fn skip_accepts_only_known_scalars() {
        for text in ["null,", "true}", "false]", "0,", "-7 ", "120,"] {
            assert_eq!(skipped(text), Some(text.len() - 1), "{text}");
        }
        for text in ["nul,", "01,", "-,", "1.5,", "1e3,", "1", "x,", ",", ""] {
            assert_eq!(skipped(text), None, "{text}");
        }
    }

    #[test]
    fn integer_accepts_only_integers() {
        for (text, number) in
            [("200}", 200), ("404,", 404), ("200 ,", 200), ("0,", 0), ("-1}", -1), ("1000,", 1000)]
        {
            let mut cursor = JsonCursor::new(text).expect("short");
            assert_eq!(cursor.integer(), Some(number), "{text}");
            assert!(matches!(cursor.peek(), Some(b',' | b'}' | b' ')), "{text}");
        }
        for text in ["007,", "20x}", "2.5,", "99999999999,", "200"] {
            assert_eq!(JsonCursor::new(text).expect("short").integer(), None, "{text}");
        }
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let text = prop_oneof!["[a-z\"\\\\{}\\[\\]:, ]{0,40}", "\\\\{0,130}", any::<String>()];
        let leaf = prop_oneof![text.prop_map(Into::into), any::<i64>().prop_map(Into::into), Just(().into())];
        leaf.prop_recursive(6, 60, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::vec(("[a-z\"\\\\{}]{0,20}", inner), 0..5)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn skip_ends_where_serde_json_ends(value in value(), behind in "[,}\\] ][ -~]{0,80}") {
            let own = value.to_string();
            let text = format!("{own}{behind}");
            prop_assert_eq!(skipped(&text), Some(own.len()), "{}", text);
            prop_assert_eq!(naive(&text), Some(own.len()));
            if own.len() > 1 {
                let cut = own.len() - 1;
                if own.is_char_boundary(cut) && own.starts_with(['{', '[', '"']) {
                    prop_assert_eq!(skipped(&own[..cut]), None, "the value is cut");
                }
            }
        }

        #[test]
        fn skip_accepts_what_serde_json_accepts(text in "[\\[{\"][\\[\\]{}\":,\\\\a0 ]{0,150}") {
            if let (Some(own), Some(end)) = (skipped(&text), naive(&text)) {
                prop_assert_eq!(own, end);
            }
            prop_assert!(naive(&text).is_none() || skipped(&text).is_some(), "{}", text);
        }
    }
}
