//! The hash of clients, rows and names. It is the same in every run.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// A hash that is the same in every run and evenly distributed. The function is `SipHash`, because clients choose
/// names. For a weaker function, they could compute thousands of names with the same hash.
#[must_use]
pub(crate) fn stable_hash<Q: Hash + ?Sized>(key: &Q) -> u64 {
    let mut hasher = SipHasher13::new();
    key.hash(&mut hasher);
    hasher.finish()
}
