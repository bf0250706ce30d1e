//! Pseudonyms: keyed hashes of names. A pseudonym is valid wherever the original name is valid.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use super::Anonymizer;

/// The number of letters of a pseudonym. Each letter carries 4.7 bits.
const WORD: usize = 12;
/// The letters in suffixes that Kubernetes generates.
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

    pub(super) fn integer(&self, text: &str) -> u32 {
        (self.hash(5, text) & 0x7fff_ffff) as u32
    }

    /// Returns a pseudonym of lowercase letters. It is valid as a DNS label, a path segment, a label key and a user
    /// agent product. It never looks like a name that Kubernetes generates.
    pub(super) fn word(&self, text: &str) -> String {
        let mut hash = self.hash(0, text);
        let mut letter = || {
            let letter = (hash % 26) as u8;
            hash /= 26;
            char::from(b'a' + letter)
        };
        (0..WORD).map(|_| letter()).collect()
    }

    pub(super) fn uuid(&self, text: &str) -> String {
        let hex = format!("{:032x}", self.hash(1, text));
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Returns the hash of a text as four 16-bit groups of an IPv6 address.
    pub(super) fn groups(&self, text: &str) -> [u16; 4] {
        let hash = self.hash(2, text);
        [0, 16, 32, 48].map(|shift| (hash >> shift & 0xffff) as u16)
    }

    /// Replaces a generated suffix with another of the same length: letters with letters, digits with digits. Each new
    /// character depends on all other characters and on the text before the suffix. Different suffixes stay different.
    pub(super) fn generated(&self, before: &str, ending: &str) -> String {
        let all_digits = ending.bytes().all(|byte| byte.is_ascii_digit());
        // A suffix of 8 or 10 digits is a time in minutes or seconds, so it may contain any digit. Other suffixes
        // contain only digits that do not look like letters.
        let digits = if all_digits && matches!(ending.len(), 8 | 10) { &b"0123456789"[..] } else { DIGITS };
        let mut bytes = ending.as_bytes().to_vec();
        for at in (0..bytes.len()).chain(0..bytes.len()).chain(0..bytes.len()) {
            let alphabet = if bytes[at].is_ascii_digit() { digits } else { LETTERS };
            let Some(own) = alphabet.iter().position(|letter| *letter == bytes[at]) else { continue };
            // This step changes only one character, by an amount that depends on the other characters. So the step is
            // reversible, and different suffixes stay different.
            bytes[at] = 0;
            let by =
                self.hash_of(3, &[before.as_bytes(), &bytes, &at.to_be_bytes()]) % alphabet.len() as u128;
            bytes[at] = alphabet[(own + by as usize) % alphabet.len()];
        }
        bytes.into_iter().map(char::from).collect()
    }

    /// Replaces an ordinal of one to four digits in a pod's name. Different ordinals of a workload stay different.
    pub(super) fn ordinal(&self, before: &str, text: &str) -> String {
        // Ordinals with leading zeros are different texts, so each text of one to four digits gets its own number.
        // For example, `0` gets 0, `00` gets 10, `000` gets 110. `STARTS[length - 1]` is the first number for texts
        // of this length.
        const STARTS: [u32; 5] = [0, 10, 110, 1_110, 11_110];
        let of = |text: &str| Some(STARTS[..4].get(text.len().checked_sub(1)?)? + text.parse::<u32>().ok()?);
        let Some(mut number) = of(text) else { return self.word(text) };
        // A Feistel network over two halves of seven bits, so different numbers stay different. It runs again until
        // the result is the number of an ordinal.
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
    use crate::anonymize::Key;

    #[test]
    fn pseudonyms_depend_only_on_the_key_and_the_name() {
        let of = |key: &str| Anonymizer::new(Key::from_text(key), &[]);
        assert_eq!(of("a").word("shop"), of("a").word("shop"));
        assert_ne!(of("a").word("shop"), of("b").word("shop"));
        assert_ne!(of("a").word("shop"), of("a").word("shops"));
        let random = || Anonymizer::new(Key::random(), &[]).word("shop");
        assert_ne!(random(), random());
        let words: BTreeSet<String> = (0..10_000).map(|name| of("a").word(&name.to_string())).collect();
        assert_eq!(words.len(), 10_000);
    }

    #[test]
    fn generated_names_stay_generated_and_different() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
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
    fn one_suffix_does_not_reveal_another() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        // How far the first letter of a suffix moves in `LETTERS`. The distance must depend on the later letters and
        // on the text before the suffix.
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
    fn pod_numbers_stay_different_and_lose_their_order() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
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
