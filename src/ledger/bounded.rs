//! Maps and sets whose size has a bound that does not depend on the order of what comes in.
//!
//! Of more keys than the bound, those with the least (rank, hash) are kept and all others are folded into one. A
//! key that is kept at the end was never folded on the way, so its value is whole; a key that was folded once can
//! never come back, as the bar only sinks. So the result is the same for every order and every split of the input.
//!
//! A key may name another key for what is folded: see [`Key::folded`]. Values that are folded are then told apart by these
//! keys, which are bounded in the same way.

use std::hash::Hash;

use hashbrown::{Equivalent, HashTable};

use super::Merge;
use crate::requests::stable_hash;

/// What decides whether a key is kept: its rank, then its hash.
pub(super) type Weight = (u8, u64);

/// What values are kept by.
pub trait Key: Eq + Sized {
    /// The key that a value goes to when this key is folded, and its hash. It is a function of this key; `None` if all that
    /// is folded goes together.
    fn folded(&self) -> Option<(u64, Self)> {
        None
    }
}

impl Key for Box<str> {}
impl Key for u32 {}
impl<A: Eq, B: Eq> Key for (A, B) {}
impl<A: Eq, B: Eq, C: Eq> Key for (A, B, C) {}
impl<A: Eq, B: Eq, C: Eq, D: Eq> Key for (A, B, C, D) {}

/// How many keys are told apart among those that are folded.
pub const MAX_FOLDED: usize = 128;

#[derive(Debug, Clone)]
struct Slot<K, V> {
    weight: Weight,
    key: K,
    value: V,
}

/// The bar that leaves so many of more keys.
pub(super) fn bar_of(mut weights: Vec<Weight>, bound: usize) -> Weight {
    *weights.select_nth_unstable(bound - 1).1
}

/// A map from keys to mergeable values.
#[derive(Debug, Clone)]
pub struct Bounded<K, V> {
    table: HashTable<Slot<K, V>>,
    bound: usize,
    /// Keys above it are folded; `None` as long as none had to be.
    bar: Option<Weight>,
    /// What is folded, by [`Key::folded`].
    folded: Option<Box<Self>>,
    rest: Option<Box<V>>,
    /// This map holds folded keys.
    is_folded_map: bool,
}

/// Where a key's value is, as long as no key comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat(usize);

impl<K: Key, V: Default + Merge> Bounded<K, V> {
    /// An empty map that keeps at most `bound` keys apart.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        Self { table: HashTable::new(), bound, bar: None, folded: None, rest: None, is_folded_map: false }
    }

    /// The value of a key with this hash, or of all that are folded if the key is one of those. `rank` must be a function
    /// of the key: keys of a lower rank are kept before all of a higher.
    pub fn entry_of<Q>(
        &mut self,
        hash: u64,
        key: &Q,
        rank: impl FnOnce() -> u8,
        owned: impl FnOnce() -> K,
    ) -> &mut V
    where
        Q: Equivalent<K> + ?Sized,
    {
        let seat = self.seat_of(hash, key, rank, owned);
        self.at(seat)
    }

    /// The seat of a key, which is entered if it was not there; `None` for one that is folded.
    pub fn seat_of<Q>(
        &mut self,
        hash: u64,
        key: &Q,
        rank: impl FnOnce() -> u8,
        owned: impl FnOnce() -> K,
    ) -> Option<Seat>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let is_it = |slot: &Slot<K, V>| slot.weight.1 == hash && key.equivalent(&slot.key);
        match self.table.find_bucket_index(hash, is_it) {
            Some(at) => Some(Seat(at)),
            None => self.insert(Slot { weight: (rank(), hash), key: owned(), value: V::default() }),
        }
    }

    /// The value of a key that is held apart at this moment.
    pub(super) fn held<Q>(&mut self, hash: u64, key: &Q) -> Option<&mut V>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let slot = self.table.find_mut(hash, |slot| slot.weight.1 == hash && key.equivalent(&slot.key))?;
        Some(&mut slot.value)
    }

    /// Whether a key is held apart at this moment.
    pub(super) fn holds<Q>(&self, hash: u64, key: &Q) -> bool
    where
        Q: Equivalent<K> + ?Sized,
    {
        self.table.find(hash, |slot| slot.weight.1 == hash && key.equivalent(&slot.key)).is_some()
    }

    /// What has a seat that was just found; without one, what all others are folded into.
    ///
    /// # Panics
    /// If the key went since.
    pub fn at(&mut self, seat: Option<Seat>) -> &mut V {
        let Some(Seat(at)) = seat else { return self.rest.get_or_insert_default() };
        &mut self.table.get_bucket_mut(at).expect("it was just found there").value
    }

    /// As [`Bounded::at`]. Without a seat, what the key goes to when it is folded.
    pub fn at_folded(&mut self, seat: Option<Seat>, key: impl FnOnce() -> K) -> &mut V {
        if seat.is_some() {
            return self.at(seat);
        }
        self.rest_of(&key())
    }

    /// What a key goes to when it is folded.
    fn rest_of(&mut self, key: &K) -> &mut V {
        match key.folded() {
            Some((hash, key)) if !self.is_folded_map => self.folded().own(hash, key),
            _ => self.rest.get_or_insert_default(),
        }
    }

    fn folded(&mut self) -> &mut Self {
        self.folded.get_or_insert_with(|| Box::new(Self { is_folded_map: true, ..Self::new(MAX_FOLDED) }))
    }

    /// The value of a key without a rank.
    fn own(&mut self, hash: u64, key: K) -> &mut V {
        let seat = match self.table.find_bucket_index(hash, |slot| slot.weight.1 == hash && key == slot.key) {
            Some(at) => Some(Seat(at)),
            None => self.insert(Slot { weight: (0, hash), key, value: V::default() }),
        };
        self.at(seat)
    }

    fn insert(&mut self, slot: Slot<K, V>) -> Option<Seat> {
        if self.table.len() >= 2 * self.bound {
            self.fold();
        }
        if self.bar.is_some_and(|bar| slot.weight > bar) {
            self.rest_of(&slot.key).merge(slot.value);
            return None;
        }
        let hash = slot.weight.1;
        Some(Seat(self.table.insert_unique(hash, slot, |slot| slot.weight.1).bucket_index()))
    }

    /// Folds what is above the bound.
    fn fold(&mut self) {
        let is_above = self.table.len() > self.bound;
        let bar = if is_above { Some(bar_of(self.weights().collect(), self.bound)) } else { self.bar };
        if let Some(bar) = bar {
            self.lower(bar);
        }
    }

    /// What decides for each key that is held whether it is kept.
    pub(super) fn weights(&self) -> impl Iterator<Item = Weight> {
        self.table.iter().map(|slot| slot.weight)
    }

    /// The values that are held, with what decides whether they are kept.
    pub(super) fn weighed(&self) -> impl Iterator<Item = (Weight, &V)> {
        self.table.iter().map(|slot| (slot.weight, &slot.value))
    }

    /// Whether a key with this hash would be folded.
    pub(super) fn is_folded(&self, hash: u64, rank: impl FnOnce() -> u8) -> bool {
        self.bar.is_some_and(|bar| (rank(), hash) > bar)
    }

    /// Takes what was folded to another map, whose bar is as low.
    pub(super) fn give_rest(&mut self, to: &mut Self) {
        if let Some(rest) = self.rest.take() {
            to.rest.get_or_insert_default().merge(*rest);
        }
        if let Some(folded) = self.folded.take() {
            to.folded().merge(*folded);
        }
    }

    /// Folds what is above a bar, now and from now on.
    pub(super) fn lower(&mut self, bar: Weight) {
        let bar = self.bar.map_or(bar, |own| own.min(bar));
        self.bar = Some(bar);
        let folded: Vec<Slot<K, V>> = self.table.extract_if(|slot| slot.weight > bar).collect();
        for slot in folded {
            self.rest_of(&slot.key).merge(slot.value);
        }
    }

    /// All (key, value) pairs, folded keys included, and the remaining sum.
    #[must_use]
    pub fn into_parts(mut self) -> (Vec<(K, V)>, Option<V>) {
        self.fold();
        let mut parts: Vec<(K, V)> = self.table.into_iter().map(|slot| (slot.key, slot.value)).collect();
        let mut rest = self.rest.map(|rest| *rest);
        if let Some(folded) = self.folded {
            let (folded, others) = folded.into_parts();
            parts.extend(folded);
            if let Some(others) = others {
                match &mut rest {
                    Some(rest) => rest.merge(others),
                    None => rest = Some(others),
                }
            }
        }
        (parts, rest)
    }

    /// The keys and values that are kept, and those of [`Key::folded`], in no order.
    pub fn kept(&mut self) -> impl Iterator<Item = (&K, &V)> {
        self.fold();
        self.slots().map(|slot| (&slot.key, &slot.value))
    }

    /// As [`Bounded::kept`].
    pub fn kept_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.fold();
        let folded = self.folded.iter_mut().flat_map(|folded| folded.table.iter_mut());
        self.table.iter_mut().chain(folded).map(|slot| (&slot.key, &mut slot.value))
    }

    fn slots(&self) -> impl Iterator<Item = &Slot<K, V>> {
        self.table.iter().chain(self.folded.iter().flat_map(|folded| folded.table.iter()))
    }

    /// All values, that of what is folded too, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        let rest = self.folded.as_ref().and_then(|folded| folded.rest.as_deref());
        self.slots().map(|slot| &slot.value).chain(rest).chain(self.rest.as_deref())
    }

    /// As [`Bounded::values`].
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let folded = self.folded.iter_mut().flat_map(|folded| {
            folded.table.iter_mut().map(|slot| &mut slot.value).chain(folded.rest.as_deref_mut())
        });
        self.table.iter_mut().map(|slot| &mut slot.value).chain(folded).chain(self.rest.as_deref_mut())
    }

    /// The number of keys that are held apart at this moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty() && self.folded.is_none() && self.rest.is_none()
    }
}

impl<K: Hash + Key, V: Default + Merge> Bounded<K, V> {
    /// As [`Bounded::entry_of`], of a key that is not hashed yet.
    pub fn entry<Q>(&mut self, key: &Q, rank: u8, owned: impl FnOnce() -> K) -> &mut V
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.entry_of(stable_hash(key), key, || rank, owned)
    }
}

impl<K: Key, V: Default + Merge> Merge for Bounded<K, V> {
    fn merge(&mut self, mut other: Self) {
        if self.table.is_empty() {
            std::mem::swap(&mut self.table, &mut other.table);
        }
        self.bar = match (self.bar, other.bar) {
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
        if let Some(rest) = other.rest {
            self.rest.get_or_insert_default().merge(*rest);
        }
        if let Some(folded) = other.folded {
            self.folded().merge(*folded);
        }
        if self.bar.is_some() {
            self.fold();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
    struct Sum(u64);

    impl Merge for Sum {
        fn merge(&mut self, other: Self) {
            self.0 += other.0;
        }
    }

    fn count(keys: &[u16]) -> Bounded<u16, Sum> {
        let mut map: Bounded<u16, Sum> = Bounded::new(8);
        for key in keys {
            map.entry(key, u8::from(key % 3 == 0), || *key).0 += 1;
        }
        map
    }

    fn parts(map: Bounded<u16, Sum>) -> (BTreeMap<u16, u64>, u64) {
        let (kept, rest) = map.into_parts();
        (kept.into_iter().map(|(key, sum)| (key, sum.0)).collect(), rest.map_or(0, |sum| sum.0))
    }

    impl Key for u16 {}

    /// A number that is folded with those of the same remainder.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Number {
        Own(u16),
        Remainder(u16),
    }

    impl Key for Number {
        fn folded(&self) -> Option<(u64, Self)> {
            let Self::Own(number) = self else { return None };
            let folded = Self::Remainder(number % 5);
            Some((stable_hash(&folded), folded))
        }
    }

    fn count_numbers(numbers: &[u16]) -> Bounded<Number, Sum> {
        let mut map: Bounded<Number, Sum> = Bounded::new(8);
        for number in numbers {
            let own = Number::Own(*number);
            let seat = map.seat_of(stable_hash(&own), &own, || 0, || own);
            map.at_folded(seat, || own).0 += 1;
        }
        map
    }

    proptest! {
        #[test]
        fn what_is_folded_is_told_apart_by_folded_keys(
            numbers in prop::collection::vec(0_u16..60, 0..300),
            cut in 0_usize..300,
        ) {
            let by_key = |map: Bounded<Number, Sum>| -> BTreeMap<Number, u64> {
                let (kept, rest) = map.into_parts();
                assert_eq!(rest, None);
                kept.into_iter().map(|(key, sum)| (key, sum.0)).filter(|(_, sum)| *sum > 0).collect()
            };
            let whole = by_key(count_numbers(&numbers));
            let (left, right) = numbers.split_at(cut.min(numbers.len()));
            let mut merged = count_numbers(right);
            merged.merge(count_numbers(left));
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
        fn neither_order_nor_split_matters_and_nothing_is_lost(
            keys in prop::collection::vec(0_u16..60, 0..300),
            cut in 0_usize..300,
        ) {
            let whole = parts(count(&keys));
            let (left, right) = keys.split_at(cut.min(keys.len()));
            let mut merged = count(right);
            merged.merge(count(left));
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
                prop_assert_eq!(sum, &naive[key], "a key that is kept is whole");
            }
            prop_assert_eq!(whole.0.values().sum::<u64>() + whole.1, keys.len() as u64);
        }
    }
}
