//! The one cache of values that were parsed from recent records. It has a bounded size. Keys are hashes of the parsed
//! text. Each key can be in two slots (two-way set-associative).
//!
//! Its users' tests compare their results with parsing without a cache.

/// The number of slots after the first insertion. The cache then grows up to `SLOTS` slots, which take some
/// megabytes.
const FIRST_SLOTS: usize = 1 << 4;
const SLOTS: usize = 1 << 13;
/// The maximum length of a text whose parsed value is cached, in bytes.
const MAX_TEXT: usize = 2 << 10;

/// A cache of parsed values. The hash of a key selects a pair of slots.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    pairs: Vec<SlotPair>,
    /// The cached values. The pair with index `n` has the values `2 * n` and `2 * n + 1`.
    values: Vec<V>,
    /// The number of insertions since the cache last grew.
    filled: usize,
    /// The value of the last text that was too long for the cache. The next such text replaces it.
    passing: V,
}

/// The keys of two slots; 0 marks an empty slot, so no key is 0.
#[derive(Debug, Default, Clone, Copy)]
struct SlotPair {
    keys: [u64; 2],
    /// The index of the slot that was used last. The other slot is replaced next.
    last: usize,
}

impl<V: Default> Default for Cache<V> {
    fn default() -> Self {
        Self { pairs: Vec::new(), values: Vec::new(), filled: 0, passing: V::default() }
    }
}

impl<V: Default> Cache<V> {
    /// Returns the cached value of `key`, or the value that `fill` produces. `size` is the length of the parsed text in
    /// bytes.
    pub(crate) fn get(&mut self, key: u64, size: usize, fill: impl FnOnce(&mut V)) -> &V {
        if size > MAX_TEXT {
            self.passing = V::default();
            fill(&mut self.passing);
            return &self.passing;
        }
        let slot = self.slot(key).unwrap_or_else(|| {
            let slot = self.free(key);
            fill(&mut self.values[slot]);
            slot
        });
        &self.values[slot]
    }

    /// The value in a slot.
    pub(crate) fn at(&self, slot: usize) -> &V {
        &self.values[slot]
    }

    /// The value in a slot, to change it.
    pub(crate) fn at_mut(&mut self, slot: usize) -> &mut V {
        &mut self.values[slot]
    }

    /// Whether a slot holds the value of `key`.
    pub(crate) fn holds(&self, slot: usize, key: u64) -> bool {
        self.pairs.get(slot / 2).is_some_and(|pair| pair.keys[slot % 2] == key)
    }

    /// Assigns a slot to `key`, which is not cached, and returns the slot. It takes the less recently used of the two
    /// slots that may hold the key. The caller then replaces the value in the slot.
    pub(crate) fn free(&mut self, key: u64) -> usize {
        self.grow();
        let at = self.pair(key);
        let pair = &mut self.pairs[at];
        pair.last = 1 - pair.last;
        pair.keys[pair.last] = key;
        2 * at + pair.last
    }

    /// The slot of `key`, if it is cached.
    pub(crate) fn slot(&mut self, key: u64) -> Option<usize> {
        let at = self.pair(key);
        let pair = self.pairs.get_mut(at)?;
        pair.last = pair.keys.iter().position(|own| *own == key)?;
        Some(2 * at + pair.last)
    }

    /// The index of the pair of slots that may hold a key. The number of pairs is a power of two, so a bit mask
    /// selects the pair.
    fn pair(&self, key: u64) -> usize {
        (key >> 32) as usize & self.pairs.len().saturating_sub(1)
    }

    /// Doubles the size when insertions exceed half of the slots, so that few keys share a slot. Drops the cached
    /// values.
    fn grow(&mut self) {
        self.filled += 1;
        if 2 * self.filled > self.values.len() && self.values.len() < SLOTS {
            let slots = (2 * self.values.len()).max(FIRST_SLOTS);
            self.pairs = vec![SlotPair::default(); slots / 2];
            self.values.resize_with(slots, V::default);
            self.filled = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_key_has_its_own_value(keys in prop::collection::vec((1_u64..60_000, 0_usize..3_000), 1..3_000)) {
            let mut cache = Cache::<u64>::default();
            for (key, size) in keys {
                let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if let Some(slot) = cache.slot(hash) {
                    prop_assert!(cache.holds(slot, hash));
                    prop_assert_eq!(*cache.at(slot), key);
                }
                prop_assert_eq!(*cache.get(hash, size, |value| *value = key), key);
                prop_assert!(size > MAX_TEXT || cache.slot(hash).is_some());
                prop_assert!(cache.values.len() <= SLOTS);
            }
        }
    }

    #[test]
    fn a_new_key_replaces_the_less_recently_used_of_two() {
        let mut cache = Cache::<u64>::default();
        // These keys share a pair of slots. The first insertions let the cache grow to its final number of pairs.
        for key in 1..=SLOTS as u64 * 2 {
            cache.get(key << 32, 0, |value| *value = key);
        }
        let [first, second, third] = [1, 2, 3].map(|n| n << 50);
        for key in [first, second] {
            cache.get(key, 0, |value| *value = key);
        }
        assert!(cache.slot(first).is_some());
        cache.get(third, 0, |value| *value = third);
        assert_eq!([first, second, third].map(|key| cache.slot(key).is_some()), [true, false, true]);
    }
}
