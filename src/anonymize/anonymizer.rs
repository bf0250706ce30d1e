//! The anonymizer: a secret key, and the configured names that stay readable.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip128::SipHasher24;

/// Replaces names with pseudonyms.
#[derive(Debug)]
pub struct Anonymizer {
    pub(super) key: Key,
    /// API groups and resources from the server's configuration, such as `widgets.example.com`.
    pub(super) configured: BTreeSet<String>,
}

impl Anonymizer {
    /// Creates an anonymizer. `configured` are resources (`widgets.example.com`) and API groups from the server's
    /// configuration. They are kept, because verdicts depend on them.
    #[must_use]
    pub fn new(key: Key, configured: &[String]) -> Self {
        let group = |name: &String| name.split_once('.').map(|(_, group)| group.to_owned());
        let groups = configured.iter().filter_map(group);
        Self { key, configured: configured.iter().cloned().chain(groups).collect() }
    }
}

/// The secret key of the hashes. Without the key, nobody can check whether a guessed name belongs to a pseudonym.
#[derive(Clone)]
pub struct Key(pub(super) [u8; 16]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// The minimum length of a secret, in bytes. A key has the same length.
    pub(crate) const SHORTEST: usize = 16;

    /// Creates a random key for one run.
    #[must_use]
    pub(crate) fn random() -> Self {
        // `RandomState` seeds its hashes with the system's random numbers.
        let half = || RandomState::new().build_hasher().finish().to_be_bytes();
        let (first, second) = (half(), half());
        let mut key = [0; 16];
        key[..8].copy_from_slice(&first);
        key[8..].copy_from_slice(&second);
        Self(key)
    }

    /// Derives the key from a secret. Key derivation is fast and does not slow down guesses, so the secret must be
    /// random. The command refuses secrets of fewer than [`Key::SHORTEST`] bytes.
    #[must_use]
    pub(crate) fn from_secret(secret: &[u8]) -> Self {
        Self(SipHasher24::new_with_key(b"kubetoll pseudo.").hash(secret).as_bytes())
    }

    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self::from_secret(text.as_bytes())
    }
}
