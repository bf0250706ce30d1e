//! Hashes by which what is counted is named, the same in every run.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// A hash that is the same in every run and spread well enough to pick by. Names are the client's to choose: of a weaker
/// function it could find thousands with the same hash.
#[must_use]
pub fn stable_hash<Q: Hash + ?Sized>(key: &Q) -> u64 {
    let mut hasher = SipHasher13::new();
    key.hash(&mut hasher);
    hasher.finish()
}
