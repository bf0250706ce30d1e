//! Computes the fingerprints of findings and cases, which are hashes.

/// Returns the fingerprint of the parts.
pub(super) fn hashed<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let text = parts.collect::<Vec<_>>().join("\0");
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}
