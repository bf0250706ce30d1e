//! Finds quotes, brackets and strings in 64 bytes of JSON at once.
//!
//! Source: G. Langdale, D. Lemire, "Parsing gigabytes of JSON per second", 2019.

use wide::u8x16;

/// The number of bytes that one mask covers. Each byte has one bit.
pub(super) const BLOCK: usize = 64;
/// The number of bytes in a vector.
const STEP: usize = 16;
/// `[` and `{` differ only in this bit, and so do `]` and `}`.
const BRACE: u8 = 0x20;

/// The positions of special bytes in a block. The lowest bit is the first byte.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Masks {
    pub(crate) quote: u64,
    pub(crate) backslash: u64,
    pub(crate) open: u64,
    pub(crate) close: u64,
}

impl Masks {
    pub(crate) fn new(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self::default();
        for (index, bytes) in block.as_chunks::<STEP>().0.iter().enumerate() {
            let bytes = u8x16::new(*bytes);
            let braces = bytes | u8x16::splat(BRACE);
            let is = |bytes: u8x16, byte: u8| {
                u64::from(bytes.simd_eq(u8x16::splat(byte)).to_bitmask()) << (index * STEP)
            };
            masks.quote |= is(bytes, b'"');
            masks.backslash |= is(bytes, b'\\');
            masks.open |= is(braces, b'{');
            masks.close |= is(braces, b'}');
        }
        masks
    }
}

/// The state that passes from one block to the next.
#[derive(Debug, Default)]
pub(super) struct QuoteState {
    /// All bits are set if the next byte is inside a string, otherwise 0.
    inside: u64,
    /// 1 if the next byte is escaped, else 0.
    escaped: u64,
}

impl QuoteState {
    /// Returns a mask of the bytes in strings. It includes the opening quotes, but not the closing quotes.
    pub(crate) fn inside(&mut self, quote: u64, backslash: u64) -> u64 {
        let quote = quote & !self.escaped(backslash);
        let inside = prefix_xor(quote) ^ self.inside;
        self.inside = if inside >> 63 == 1 { u64::MAX } else { 0 };
        inside
    }

    /// Returns a mask of the escaped bytes: those after a backslash that is not escaped itself.
    fn escaped(&mut self, mut backslash: u64) -> u64 {
        let mut escaped = self.escaped;
        backslash &= !escaped;
        self.escaped = 0;
        while backslash != 0 {
            let at = backslash.trailing_zeros();
            if at == 63 {
                self.escaped = 1;
                break;
            }
            let next = 2 << at;
            escaped |= next;
            backslash &= !(next | (next - 1));
        }
        escaped
    }
}

/// Sets each bit to the parity of itself and all lower bits.
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
