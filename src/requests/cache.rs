//! What was found out of the last records, by keyed hashes of what it was found out from.
//!
//! The naive twin is one that remembers nothing.

/// How many values are remembered at first, and at most: some megabytes.
const FIRST_SLOTS: usize = 1 << 4;
const SLOTS: usize = 1 << 13;
/// What is made of longer texts, in bytes, is not remembered.
const MAX_TEXT: usize = 2 << 10;

/// What was made of the texts of the last records, in pairs of slots that their hashes choose.
#[derive(Debug)]
pub(super) struct Cache<V> {
    pairs: Vec<Pair>,
    /// Two for each pair.
    values: Vec<V>,
    /// How often a slot was filled.
    filled: usize,
    /// What is not remembered.
    passing: V,
}

/// Of what two slots hold; 0 for nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Pair {
    keys: [u64; 2],
    /// The slot that was asked for last: the other one gives way.
    last: usize,
}

impl<V: Default> Default for Cache<V> {
    fn default() -> Self {
        Self { pairs: Vec::new(), values: Vec::new(), filled: 0, passing: V::default() }
    }
}

impl<V: Default> Cache<V> {
    /// What was made of the texts with this hash, or what `fill` makes of them. `size` says how long they are, in bytes.
    pub fn get(&mut self, key: u64, size: usize, fill: impl FnOnce(&mut V)) -> &V {
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

    /// What a slot holds.
    pub fn at(&self, slot: usize) -> &V {
        &self.values[slot]
    }

    /// Whether a slot holds what was made of the texts with this hash.
    pub fn holds(&self, slot: usize, key: u64) -> bool {
        self.pairs.get(slot / 2).is_some_and(|pair| pair.keys[slot % 2] == key)
    }

    /// A slot for what is not known.
    fn free(&mut self, key: u64) -> usize {
        self.grow();
        let at = self.pair(key);
        let pair = &mut self.pairs[at];
        pair.last = 1 - pair.last;
        pair.keys[pair.last] = key;
        2 * at + pair.last
    }

    /// The slot that holds what was made of the texts with this hash.
    pub fn slot(&mut self, key: u64) -> Option<usize> {
        let at = self.pair(key);
        let pair = self.pairs.get_mut(at)?;
        pair.last = pair.keys.iter().position(|own| *own == key)?;
        Some(2 * at + pair.last)
    }

    /// The pair of a key; there is a power of two of them.
    fn pair(&self, key: u64) -> usize {
        (key >> 32) as usize & self.pairs.len().saturating_sub(1)
    }

    /// Makes room where half as many slots were filled as there are, as few must share one, and forgets what they held.
    fn grow(&mut self) {
        self.filled += 1;
        if 2 * self.filled > self.values.len() && self.values.len() < SLOTS {
            let slots = (2 * self.values.len()).max(FIRST_SLOTS);
            self.pairs = vec![Pair::default(); slots / 2];
            self.values.resize_with(slots, V::default);
            self.filled = 1;
        }
    }
}
