//! Hashes by which what is counted is named, the same in every run.

use std::hash::{BuildHasher, Hash};

use rustc_hash::FxBuildHasher;

/// A hash that is the same in every run and spread well enough to pick by.
#[must_use]
pub fn stable_hash<Q: Hash + ?Sized>(key: &Q) -> u64 {
    FxBuildHasher.hash_one(key).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
