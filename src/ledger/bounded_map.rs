//! A map with a maximum number of keys. Its result does not depend on the order of insertion.
//!
//! Above the maximum, the map keeps the keys with the smallest weights (rank, then hash) and evicts the others. The
//! values of evicted keys are merged into one overflow value. Keys with a weight above a cutoff are evicted, and the
//! cutoff never rises. So an evicted key never comes back, and the value of a kept key is complete. The result is the
//! same for every order of the input, and for every way to split it among workers.
//!
//! A key type can define overflow keys ([`BoundedKey::overflow_key`]). The values of evicted keys are then merged by
//! overflow key. The maximum number of overflow keys is [`MAX_OVERFLOW_KEYS`].

use std::hash::Hash;

use hashbrown::{Equivalent, HashTable};

use super::Merge;
use crate::requests::stable_hash;

/// A key's rank, then its hash. The map keeps the keys with the smallest weights.
pub(super) type Weight = (u8, u64);

pub trait BoundedKey: Eq + Clone {
    /// Returns the overflow key of this key, together with the overflow key's hash. If this key is evicted, its value
    /// is merged into the value of the overflow key. Keys without an overflow key return `None`. If they are evicted,
    /// they share one overflow value. The result must depend on this key only.
    fn overflow_key(&self) -> Option<(u64, Self)> {
        None
    }
}

impl BoundedKey for Box<str> {}
impl BoundedKey for u32 {}
impl<A: Eq + Clone, B: Eq + Clone> BoundedKey for (A, B) {}
impl<A: Eq + Clone, B: Eq + Clone, C: Eq + Clone, D: Eq + Clone> BoundedKey for (A, B, C, D) {}

/// The maximum number of overflow keys.
pub(crate) const MAX_OVERFLOW_KEYS: usize = 128;

#[derive(Debug, Clone)]
struct Slot<K, V> {
    weight: Weight,
    key: K,
    value: V,
}

/// The largest of the `bound` smallest weights. Keys with a larger weight are evicted.
pub(super) fn cutoff_for(mut weights: Vec<Weight>, bound: usize) -> Weight {
    *weights.select_nth_unstable(bound - 1).1
}

/// A map that keeps at most `BOUND` keys, which must not be 0; see the module's description.
#[derive(Debug, Clone)]
pub struct BoundedMap<K, V, const BOUND: usize> {
    table: HashTable<Slot<K, V>>,
    bound: usize,
    /// Keys with a larger weight are evicted. `None` until the first eviction.
    cutoff: Option<Weight>,
    /// The values of evicted keys, merged by overflow key.
    by_overflow_key: Option<Box<Self>>,
    /// The merged value of evicted keys that have no overflow key.
    overflow: Option<Box<V>>,
    /// True if this map is the `by_overflow_key` of another map. If this map evicts a key, the value goes to
    /// `overflow`.
    is_overflow_map: bool,
}

/// The index of a key's slot. It is valid until the next insertion or eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotIndex(usize);

impl<K: BoundedKey, V: Default + Merge, const BOUND: usize> Default for BoundedMap<K, V, BOUND> {
    fn default() -> Self {
        Self::within(BOUND)
    }
}

impl<K: BoundedKey, V: Default + Merge, const BOUND: usize> BoundedMap<K, V, BOUND> {
    /// Creates a map that keeps at most `bound` keys, instead of `BOUND`. `bound` must not be 0.
    #[must_use]
    pub(super) fn within(bound: usize) -> Self {
        Self {
            table: HashTable::new(),
            bound,
            cutoff: None,
            by_overflow_key: None,
            overflow: None,
            is_overflow_map: false,
        }
    }

    /// Returns the value of a key, and inserts the key if it is missing. Returns the overflow value if the key is
    /// evicted. `hash` is the hash of the key. `rank` must depend on the key only. The map evicts keys with the
    /// highest rank first.
    pub(crate) fn entry_with_hash(
        &mut self,
        hash: u64,
        key: &(impl Equivalent<K> + ?Sized),
        rank: impl FnOnce() -> u8,
        owned: impl FnOnce() -> K,
    ) -> &mut V {
        let index = self.find_or_insert(hash, key, rank, owned);
        self.value_at(index)
    }

    /// Returns the slot of a key, and inserts the key if it is missing. Returns `None` if the key is evicted.
    pub(crate) fn find_or_insert(
        &mut self,
        hash: u64,
        key: &(impl Equivalent<K> + ?Sized),
        rank: impl FnOnce() -> u8,
        owned: impl FnOnce() -> K,
    ) -> Option<SlotIndex> {
        let is_it = |slot: &Slot<K, V>| slot.weight.1 == hash && key.equivalent(&slot.key);
        match self.table.find_bucket_index(hash, is_it) {
            Some(at) => Some(SlotIndex(at)),
            None => self.insert(Slot { weight: (rank(), hash), key: owned(), value: V::default() }),
        }
    }

    pub(super) fn get_mut(&mut self, hash: u64, key: &(impl Equivalent<K> + ?Sized)) -> Option<&mut V> {
        let slot = self.table.find_mut(hash, |slot| slot.weight.1 == hash && key.equivalent(&slot.key))?;
        Some(&mut slot.value)
    }

    /// Returns the value in a slot. If `index` is `None`, returns the overflow value.
    ///
    /// # Panics
    /// If the key was evicted after the index was found.
    pub(crate) fn value_at(&mut self, index: Option<SlotIndex>) -> &mut V {
        let Some(SlotIndex(at)) = index else { return self.overflow.get_or_insert_default() };
        &mut self.table.get_bucket_mut(at).expect("no eviction since the index was found").value
    }

    /// Returns the value in a slot, like [`BoundedMap::value_at`]. If `index` is `None`, returns the value of the
    /// key's overflow key.
    pub(crate) fn value_at_or_overflow(
        &mut self,
        index: Option<SlotIndex>,
        key: impl FnOnce() -> K,
    ) -> &mut V {
        if index.is_some() {
            return self.value_at(index);
        }
        self.overflow_of(&key())
    }

    /// Returns the overflow value into which the value of an evicted key is merged.
    fn overflow_of(&mut self, key: &K) -> &mut V {
        match key.overflow_key() {
            Some((hash, key)) if !self.is_overflow_map => {
                self.overflow_map().entry_with_hash(hash, &key, || 0, || key.clone())
            }
            _ => self.overflow.get_or_insert_default(),
        }
    }

    fn overflow_map(&mut self) -> &mut Self {
        self.by_overflow_key.get_or_insert_with(|| {
            Box::new(Self { is_overflow_map: true, ..Self::within(MAX_OVERFLOW_KEYS) })
        })
    }

    fn insert(&mut self, slot: Slot<K, V>) -> Option<SlotIndex> {
        if self.table.len() >= 2 * self.bound {
            self.evict();
        }
        if self.cutoff.is_some_and(|cutoff| slot.weight > cutoff) {
            self.overflow_of(&slot.key).merge(slot.value);
            return None;
        }
        let hash = slot.weight.1;
        Some(SlotIndex(self.table.insert_unique(hash, slot, |slot| slot.weight.1).bucket_index()))
    }

    /// Evicts keys until at most `bound` keys are left.
    fn evict(&mut self) {
        let is_above = self.table.len() > self.bound;
        let cutoff =
            if is_above { Some(cutoff_for(self.weights().collect(), self.bound)) } else { self.cutoff };
        if let Some(cutoff) = cutoff {
            self.evict_above(cutoff);
        }
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = Weight> {
        self.table.iter().map(|slot| slot.weight)
    }

    pub(super) fn iter_with_weight(&self) -> impl Iterator<Item = (Weight, &V)> {
        self.table.iter().map(|slot| (slot.weight, &slot.value))
    }

    /// Whether inserting a key with this hash would evict the key at once.
    pub(super) fn is_evicted(&self, hash: u64, rank: impl FnOnce() -> u8) -> bool {
        self.cutoff.is_some_and(|cutoff| (rank(), hash) > cutoff)
    }

    /// Moves the overflow values to another map, which must have the same cutoff.
    pub(super) fn move_overflow_to(&mut self, to: &mut Self) {
        to.overflow.merge(self.overflow.take());
        if let Some(by_overflow_key) = self.by_overflow_key.take() {
            to.overflow_map().merge(*by_overflow_key);
        }
    }

    /// Lowers the cutoff and evicts the keys with a larger weight.
    pub(super) fn evict_above(&mut self, cutoff: Weight) {
        let cutoff = self.cutoff.map_or(cutoff, |own| own.min(cutoff));
        self.cutoff = Some(cutoff);
        let evicted: Vec<Slot<K, V>> = self.table.extract_if(|slot| slot.weight > cutoff).collect();
        for slot in evicted {
            self.overflow_of(&slot.key).merge(slot.value);
        }
    }

    /// Returns the kept keys and the overflow keys with their values. Also returns the overflow value of all evicted
    /// keys without an overflow key.
    #[must_use]
    pub fn into_parts(mut self) -> (Vec<(K, V)>, Option<V>) {
        self.evict();
        let mut parts: Vec<(K, V)> = self.table.into_iter().map(|slot| (slot.key, slot.value)).collect();
        if let Some(by_overflow_key) = self.by_overflow_key {
            let (merged, others) = by_overflow_key.into_parts();
            parts.extend(merged);
            self.overflow.merge(others.map(Box::new));
        }
        (parts, self.overflow.map(|overflow| *overflow))
    }

    /// Iterates over the kept keys and the overflow keys with their values, in no order.
    pub(crate) fn entries(&mut self) -> impl Iterator<Item = (&K, &V)> {
        self.evict();
        self.slots().map(|slot| (&slot.key, &slot.value))
    }

    /// Like [`BoundedMap::entries`], with mutable values.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.evict();
        let merged = self.by_overflow_key.iter_mut().flat_map(|map| map.table.iter_mut());
        self.table.iter_mut().chain(merged).map(|slot| (&slot.key, &mut slot.value))
    }

    fn slots(&self) -> impl Iterator<Item = &Slot<K, V>> {
        self.table.iter().chain(self.by_overflow_key.iter().flat_map(|map| map.table.iter()))
    }

    /// Iterates over all values in no order, including overflow values.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        let overflow = self.by_overflow_key.as_ref().and_then(|map| map.overflow.as_deref());
        self.slots().map(|slot| &slot.value).chain(overflow).chain(self.overflow.as_deref())
    }

    /// Like [`BoundedMap::values`], with mutable values.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let merged = self.by_overflow_key.iter_mut().flat_map(|map| {
            map.table.iter_mut().map(|slot| &mut slot.value).chain(map.overflow.as_deref_mut())
        });
        self.table.iter_mut().map(|slot| &mut slot.value).chain(merged).chain(self.overflow.as_deref_mut())
    }

    /// The number of keys now. It may exceed the maximum until the next eviction.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }
}

impl<K: Hash + BoundedKey, V: Default + Merge, const BOUND: usize> BoundedMap<K, V, BOUND> {
    /// Like [`BoundedMap::entry_with_hash`], but hashes the key with [`stable_hash`].
    pub(crate) fn entry<Q>(&mut self, key: &Q, rank: u8, owned: impl FnOnce() -> K) -> &mut V
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.entry_with_hash(stable_hash(key), key, || rank, owned)
    }
}

impl<K: BoundedKey, V: Default + Merge, const BOUND: usize> Merge for BoundedMap<K, V, BOUND> {
    fn merge(&mut self, mut other: Self) {
        if self.table.is_empty() {
            std::mem::swap(&mut self.table, &mut other.table);
        }
        self.cutoff = match (self.cutoff, other.cutoff) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for slot in other.table {
            match self.table.find_mut(slot.weight.1, |own| own.key == slot.key) {
                Some(own) => own.value.merge(slot.value),
                None => {
                    self.insert(slot);
                }
            }
        }
        self.overflow.merge(other.overflow);
        if let Some(by_overflow_key) = other.by_overflow_key {
            self.overflow_map().merge(*by_overflow_key);
        }
        if self.cutoff.is_some() {
            self.evict();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn count(keys: &[u16]) -> BoundedMap<u16, u64, 8> {
        let mut map: BoundedMap<u16, u64, 8> = BoundedMap::default();
        for key in keys {
            *map.entry(key, u8::from(key % 3 == 0), || *key) += 1;
        }
        map
    }

    fn parts(map: BoundedMap<u16, u64, 8>) -> (BTreeMap<u16, u64>, u64) {
        let (entries, overflow) = map.into_parts();
        (entries.into_iter().collect(), overflow.unwrap_or(0))
    }

    impl BoundedKey for u16 {}

    /// The overflow key of a number is its remainder modulo 5.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Number {
        Own(u16),
        Remainder(u16),
    }

    impl BoundedKey for Number {
        fn overflow_key(&self) -> Option<(u64, Self)> {
            let Self::Own(number) = self else { return None };
            let remainder = Self::Remainder(number % 5);
            Some((stable_hash(&remainder), remainder))
        }
    }

    fn count_numbers(numbers: &[u16]) -> BoundedMap<Number, u64, 8> {
        let mut map: BoundedMap<Number, u64, 8> = BoundedMap::default();
        for number in numbers {
            let own = Number::Own(*number);
            let index = map.find_or_insert(stable_hash(&own), &own, || 0, || own);
            *map.value_at_or_overflow(index, || own) += 1;
        }
        map
    }

    proptest! {
        #[test]
        fn evicted_values_are_merged_by_overflow_key(
            numbers in prop::collection::vec(0_u16..60, 0..300),
            cut in 0_usize..300,
        ) {
            let by_key = |map: BoundedMap<Number, u64, 8>| -> BTreeMap<Number, u64> {
                let (entries, overflow) = map.into_parts();
                assert_eq!(overflow, None);
                entries.into_iter().filter(|(_, sum)| *sum > 0).collect()
            };
            let whole = by_key(count_numbers(&numbers));
            let merged = crate::ledger::merge::merged_parts(&numbers, cut, count_numbers);
            prop_assert_eq!(&by_key(merged), &whole);
            let mut backwards = numbers.clone();
            backwards.reverse();
            prop_assert_eq!(&by_key(count_numbers(&backwards)), &whole);
            let remainder = |key: &Number| match key {
                Number::Own(number) => number % 5,
                Number::Remainder(remainder) => *remainder,
            };
            for wanted in 0..5 {
                let sum: u64 =
                    whole.iter().filter(|(key, _)| remainder(key) == wanted).map(|(_, sum)| sum).sum();
                prop_assert_eq!(sum, numbers.iter().filter(|number| *number % 5 == wanted).count() as u64);
            }
        }

        #[test]
        fn result_is_independent_of_order_and_split_and_counts_all(
            keys in prop::collection::vec(0_u16..60, 0..300),
            cut in 0_usize..300,
        ) {
            let whole = parts(count(&keys));
            let merged = crate::ledger::merge::merged_parts(&keys, cut, count);
            prop_assert_eq!(&parts(merged), &whole);
            let mut backwards = keys.clone();
            backwards.reverse();
            prop_assert_eq!(&parts(count(&backwards)), &whole);
            let mut naive: BTreeMap<u16, u64> = BTreeMap::new();
            for key in &keys {
                *naive.entry(*key).or_default() += 1;
            }
            prop_assert_eq!(whole.0.len(), naive.len().min(8));
            for (key, sum) in &whole.0 {
                prop_assert_eq!(sum, &naive[key], "the value of a kept key is complete");
            }
            prop_assert_eq!(whole.0.values().sum::<u64>() + whole.1, keys.len() as u64);
        }
    }
}
