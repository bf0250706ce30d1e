//! Pseudonyms: keyed hashes of names, in the alphabets of the names that they replace.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip128::{Hasher128, SipHasher24};

use super::Anonymizer;

/// What pseudonyms depend on. Without it a guessed name can't be checked against its pseudonym.
#[derive(Clone)]
pub struct Key([u8; 16]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// A key that no other run has.
    #[must_use]
    pub fn random() -> Self {
        // The system's own random numbers: the standard library seeds its hashes with them.
        let half = || RandomState::new().build_hasher().finish().to_be_bytes();
        let (first, second) = (half(), half());
        let mut key = [0; 16];
        key[..8].copy_from_slice(&first);
        key[8..].copy_from_slice(&second);
        Self(key)
    }

    /// The key that a text stands for.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self(SipHasher24::new_with_key(b"kubetoll pseudo.").hash(text.as_bytes()).as_bytes())
    }
}

/// Letters of a word, each of which carries 4.7 bits.
const WORD: usize = 12;
/// Characters of names that Kubernetes generates: letters, then digits.
const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
const DIGITS: &[u8; 7] = b"2456789";

impl Anonymizer {
    fn hash(&self, kind: u8, text: &str) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.key.0);
        hasher.write_u8(kind);
        hasher.write(text.as_bytes());
        hasher.finish128().as_u128()
    }

    /// A word of letters: as a DNS label, a path segment, a label's key and a product it is valid, and no generated name.
    pub(super) fn word(&self, text: &str) -> String {
        let mut hash = self.hash(0, text);
        let mut letter = || {
            let letter = (hash % 26) as u8;
            hash /= 26;
            char::from(b'a' + letter)
        };
        (0..WORD).map(|_| letter()).collect()
    }

    /// A UUID.
    pub(super) fn uuid(&self, text: &str) -> String {
        let hex = format!("{:032x}", self.hash(1, text));
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Four groups of an IPv6 address.
    pub(super) fn groups(&self, text: &str) -> [u16; 4] {
        let hash = self.hash(2, text);
        [0, 16, 32, 48].map(|shift| (hash >> shift & 0xffff) as u16)
    }

    /// Another generated name of the same length: each letter becomes a letter and each digit a digit, and two names never
    /// become one.
    pub(super) fn generated(&self, text: &str) -> String {
        let shifted = |alphabet: &[u8], byte: u8, at: usize| {
            let own = alphabet.iter().position(|letter| *letter == byte)?;
            let by = (self.hash(3, "") >> (at % 16 * 8) & 0xff) as usize;
            Some(char::from(alphabet[(own + by) % alphabet.len()]))
        };
        let one = |(at, byte): (usize, u8)| {
            let known = shifted(LETTERS, byte, at).or_else(|| shifted(DIGITS, byte, at));
            known.unwrap_or(char::from(byte))
        };
        text.bytes().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pseudonyms_depend_on_the_key_and_on_nothing_else() {
        let of = |key: &str| Anonymizer::new(Key::of_text(key), &[]);
        assert_eq!(of("a").word("shop"), of("a").word("shop"));
        assert_ne!(of("a").word("shop"), of("b").word("shop"));
        assert_ne!(of("a").word("shop"), of("a").word("shops"));
        let random = || Anonymizer::new(Key::random(), &[]).word("shop");
        assert_ne!(random(), random());
        let words: BTreeSet<String> = (0..10_000).map(|name| of("a").word(&name.to_string())).collect();
        assert_eq!(words.len(), 10_000);
    }

    #[test]
    fn generated_names_stay_generated_names_and_apart() {
        let anonymizer = Anonymizer::new(Key::of_text("a"), &[]);
        let mut all = BTreeSet::new();
        for first in LETTERS {
            for second in LETTERS.iter().chain(DIGITS) {
                let name = format!("{}{}4x2", char::from(*first), char::from(*second));
                let other = anonymizer.generated(&name);
                let class = |name: &str| name.bytes().map(|c| c.is_ascii_digit()).collect::<Vec<_>>();
                assert_eq!(class(&other), class(&name), "{name} {other}");
                assert!(all.insert(other));
            }
        }
    }
}
