//! A trait for counts that can be added to each other.

use std::collections::BTreeMap;

/// Adds another value of the same type. The result does not depend on the order or the grouping of the additions.
pub trait Merge {
    fn merge(&mut self, other: Self);
}

impl Merge for u64 {
    fn merge(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl Merge for () {
    fn merge(&mut self, (): Self) {}
}

impl Merge for bool {
    fn merge(&mut self, other: Self) {
        *self |= other;
    }
}

/// A span, which becomes the shortest one that contains both.
impl<T: Ord + Copy> Merge for Option<(T, T)> {
    fn merge(&mut self, other: Self) {
        *self = match (*self, other) {
            (Some(own), Some(other)) => Some((own.0.min(other.0), own.1.max(other.1))),
            (own, other) => own.or(other),
        };
    }
}

impl<T: Default + Merge> Merge for Option<Box<T>> {
    fn merge(&mut self, other: Self) {
        if let Some(other) = other {
            self.get_or_insert_default().merge(*other);
        }
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.merge(other));
    }
}

impl<K: Ord, V: Default + Merge> Merge for BTreeMap<K, V> {
    fn merge(&mut self, other: Self) {
        for (key, value) in other {
            self.entry(key).or_default().merge(value);
        }
    }
}

/// Merges fields of a value into the same fields of another value. With a type, implements [`Merge`] for it.
macro_rules! merge_fields {
    ($own:ident, $other:ident: $($field:ident),+) => {
        $($crate::ledger::Merge::merge(&mut $own.$field, $other.$field);)+
    };
    ($type:ty: $($field:tt),+) => {
        impl $crate::ledger::Merge for $type {
            fn merge(&mut self, other: Self) {
                $($crate::ledger::Merge::merge(&mut self.$field, other.$field);)+
            }
        }
    };
}
pub(crate) use merge_fields;

/// Counts both parts of a list apart, and merges the counts of the first part into those of the second.
#[cfg(test)]
pub(crate) fn merged_parts<I, T: Merge>(items: &[I], cut: usize, count: impl Fn(&[I]) -> T) -> T {
    let (left, right) = items.split_at(cut.min(items.len()));
    let mut merged = count(right);
    merged.merge(count(left));
    merged
}
