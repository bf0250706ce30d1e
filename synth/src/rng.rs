//! `SplitMix64`: small, fast, and the same everywhere.
//!
//! Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators* (2014).

use std::fmt::Write;

/// A stream of random numbers from a seed.
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.draw()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("a 64-bit number times another, over 2^64")
    }

    /// An index into something of that length, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        let index = self.below(u64::try_from(length).expect("lengths fit"));
        usize::try_from(index).expect("below a length")
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.index(from.len())]
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A random UUID (version 4).
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.draw(), self.draw());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// Letters and digits, as in the suffixes of generated Kubernetes names.
    pub fn suffix(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(*self.pick(b"bcdfghjklmnpqrstvwxz2456789"))).collect()
    }

    /// Lower-case hexadecimal digits.
    pub fn hex(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            write!(text, "{:016x}", self.draw()).expect("a string takes everything");
        }
        text.truncate(length);
        text
    }
}
