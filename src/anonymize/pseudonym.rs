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
    /// The shortest secret, in bytes: a key has as many.
    pub const SHORTEST: usize = 16;

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

    /// The key that a secret stands for. Nothing makes guesses slow, so the secret must be random itself: the command
    /// refuses secrets of fewer than [`Key::SHORTEST`] bytes.
    #[must_use]
    pub fn of_secret(secret: &[u8]) -> Self {
        Self(SipHasher24::new_with_key(b"kubetoll pseudo.").hash(secret).as_bytes())
    }

    /// The key that a text stands for.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::of_secret(text.as_bytes())
    }
}

/// Letters of a word, each of which carries 4.7 bits.
const WORD: usize = 12;
/// Characters of names that Kubernetes generates: letters, then digits.
const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
const DIGITS: &[u8; 7] = b"2456789";

impl Anonymizer {
    fn hash(&self, kind: u8, text: &str) -> u128 {
        self.hash_of(kind, &[text.as_bytes()])
    }

    fn hash_of(&self, kind: u8, parts: &[&[u8]]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.key.0);
        hasher.write_u8(kind);
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                hasher.write_u64(part.len() as u64);
            }
            hasher.write(part);
        }
        hasher.finish128().as_u128()
    }

    /// An integer.
    pub(super) fn integer(&self, text: &str) -> u32 {
        (self.hash(5, text) & 0x7fff_ffff) as u32
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

    /// Another ending that Kubernetes could generate, of the same length: each letter becomes a letter and each digit a
    /// digit. How each changes depends on all the others and on what is before the ending, and two endings never become one.
    pub(super) fn generated(&self, before: &str, ending: &str) -> String {
        let all_digits = ending.bytes().all(|byte| byte.is_ascii_digit());
        // A time in minutes or seconds has all digits, other endings those that are not mistaken for letters.
        let digits = if all_digits && matches!(ending.len(), 8 | 10) { &b"0123456789"[..] } else { DIGITS };
        let mut bytes = ending.as_bytes().to_vec();
        for at in (0..bytes.len()).chain(0..bytes.len()).chain(0..bytes.len()) {
            let alphabet = if bytes[at].is_ascii_digit() { digits } else { LETTERS };
            let Some(own) = alphabet.iter().position(|letter| *letter == bytes[at]) else { continue };
            // The others do not change here, so each step can be undone: no two endings become one.
            bytes[at] = 0;
            let by =
                self.hash_of(3, &[before.as_bytes(), &bytes, &at.to_be_bytes()]) % alphabet.len() as u128;
            bytes[at] = alphabet[(own + by as usize) % alphabet.len()];
        }
        bytes.into_iter().map(char::from).collect()
    }

    /// Another number of a pod, of one to four digits. The numbers of one workload never become one.
    pub(super) fn ordinal(&self, before: &str, text: &str) -> String {
        // All texts of one to four digits, counted from the shortest.
        const STARTS: [u32; 5] = [0, 10, 110, 1_110, 11_110];
        let of = |text: &str| Some(STARTS[..4].get(text.len().checked_sub(1)?)? + text.parse::<u32>().ok()?);
        let Some(mut number) = of(text) else { return self.word(text) };
        // Two halves of seven bits, mixed again until it is such a text.
        loop {
            for round in 0..6 {
                let (left, right) = (number >> 7, number & 0x7f);
                let mixed =
                    (self.hash_of(4, &[before.as_bytes(), &[round], &right.to_be_bytes()]) & 0x7f) as u32;
                number = right << 7 | (left ^ mixed);
            }
            if number < STARTS[4] {
                let length = STARTS.iter().take_while(|start| **start <= number).count();
                return format!("{:0length$}", number - STARTS[length - 1]);
            }
        }
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
                let other = anonymizer.generated("web", &name);
                let class = |name: &str| name.bytes().map(|c| c.is_ascii_digit()).collect::<Vec<_>>();
                assert_eq!(class(&other), class(&name), "{name} {other}");
                assert!(all.insert(other));
            }
        }
    }

    #[test]
    fn one_ending_does_not_reveal_another() {
        let anonymizer = Anonymizer::new(Key::of_text("a"), &[]);
        // How far the first letter is shifted, of endings that differ behind it or in what is before them.
        let shift = |before: &str, name: &str| {
            let at = |text: &str| LETTERS.iter().position(|letter| *letter == text.as_bytes()[0]);
            let (own, other) = (at(name), at(&anonymizer.generated(before, name)));
            own.zip(other).map(|(own, other)| (LETTERS.len() + other - own) % LETTERS.len())
        };
        let behind: BTreeSet<_> =
            LETTERS.iter().map(|c| shift("web", &format!("bcdf{}", char::from(*c)))).collect();
        let before: BTreeSet<_> = (0..20).map(|number| shift(&format!("web-{number}"), "bcdfg")).collect();
        assert!(behind.len() > 5 && before.len() > 5, "{behind:?} {before:?}");
        assert!(!behind.contains(&None));
    }

    #[test]
    fn numbers_of_pods_stay_apart_and_lose_their_order() {
        let anonymizer = Anonymizer::new(Key::of_text("a"), &[]);
        let texts =
            || (0..=9999).map(|number: u32| number.to_string()).chain(["00".to_owned(), "007".to_owned()]);
        let others: Vec<String> = texts().map(|text| anonymizer.ordinal("db", &text)).collect();
        let is_ordinal =
            |text: &String| (1..=4).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        assert!(others.iter().all(is_ordinal));
        assert_eq!(others.iter().collect::<BTreeSet<_>>().len(), others.len());
        assert!(!others[..10].is_sorted());
        assert_ne!(anonymizer.ordinal("db", "7"), anonymizer.ordinal("cache", "7"));
    }
}
