//! Bounded sets of strings, with a few of them as examples.

use std::collections::BTreeSet;

use hashbrown::HashTable;

use super::Merge;
use crate::k8s::text::prefix;
use crate::requests::stable_hash;

/// The maximum number of distinct nodes, pods, workloads or namespaces that are counted for each client.
pub const MAX_DISTINCT: usize = 16_384;
/// The maximum number of examples. `MAX_TEXT` is the length limit of each example, in bytes.
const KEPT_TEXTS: usize = 3;
const MAX_TEXT: usize = 253;

/// Counts at most `BOUND` distinct strings by their hashes. Keeps the first strings in byte order as examples.
#[derive(Debug, Clone, Default)]
pub struct DistinctSet<const BOUND: usize = MAX_DISTINCT> {
    hashes: HashTable<u64>,
    full: bool,
    examples: BTreeSet<Box<str>>,
}

impl<const BOUND: usize> DistinctSet<BOUND> {
    /// Adds a string. Returns whether the string is new. Also returns true for a string beyond `BOUND`, which the set
    /// does not count.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        self.insert_of(stable_hash(text), text)
    }

    /// Like [`DistinctSet::insert`], for a string with a known [`stable_hash`].
    pub(crate) fn insert_of(&mut self, hash: u64, text: &str) -> bool {
        let is_new = self.insert_hash(hash);
        if is_new {
            self.keep(prefix(text, MAX_TEXT));
        }
        is_new
    }

    /// Like [`DistinctSet::insert`], for a hash alone. Keeps no example.
    pub(crate) fn insert_hash(&mut self, hash: u64) -> bool {
        if self.hashes.find(hash, |own| *own == hash).is_some() {
            return false;
        }
        if self.hashes.len() == BOUND {
            self.full = true;
        } else {
            self.hashes.insert_unique(hash, hash, |hash| *hash);
        }
        true
    }

    fn keep(&mut self, text: &str) {
        let wanted =
            self.examples.len() < KEPT_TEXTS || self.examples.last().is_some_and(|last| *text < **last);
        if wanted && self.examples.insert(text.into()) && self.examples.len() > KEPT_TEXTS {
            self.examples.pop_last();
        }
    }

    /// The examples, in byte order.
    pub(crate) fn examples(&self) -> impl Iterator<Item = &str> {
        self.examples.iter().map(|text| &**text)
    }

    /// Returns the number of distinct strings. Also returns true if the set has `BOUND` strings and refused others.
    #[must_use]
    pub fn count(&self) -> (u64, bool) {
        (self.hashes.len() as u64, self.full)
    }
}

impl<const BOUND: usize> Merge for DistinctSet<BOUND> {
    fn merge(&mut self, other: Self) {
        self.full |= other.full;
        for hash in other.hashes {
            self.insert_hash(hash);
        }
        for text in &other.examples {
            self.keep(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distinct_sets_count_up_to_their_limit(keys in prop::collection::vec(0_u16..40, 0..80), cut in 0_usize..80) {
            let (left, right) = keys.split_at(cut.min(keys.len()));
            let fill = |keys: &[u16]| {
                let mut set = DistinctSet::<16>::default();
                for key in keys {
                    set.insert(&key.to_string());
                }
                set
            };
            let mut set = fill(left);
            set.merge(fill(right));
            let texts: BTreeSet<String> = keys.iter().map(ToString::to_string).collect();
            let distinct = texts.len() as u64;
            prop_assert_eq!(set.count(), (distinct.min(16), distinct > 16));
            prop_assert!(set.examples().eq(texts.iter().take(KEPT_TEXTS)), "the first ones in any order");
        }
    }
}
